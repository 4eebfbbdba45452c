"""Check digits and entropy: what tells a number or a token from others of the same shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log2

_SEPARATORS = re.compile(r"[ .\-/]")


def entropy(text: str) -> float:
    """How many bits one character of the text carries, on average."""
    counts = Counter(text)
    return -sum(each / len(text) * log2(each / len(text)) for each in counts.values()) if text else 0.0


def is_mixed(text: str) -> bool:
    """True when there is a digit, or a capital after a small letter: words joined by hyphens have neither."""
    return any(each.isdigit() for each in text) or re.search("[a-z][A-Z]", text) is not None


def is_random(text: str) -> bool:
    """True for what looks drawn by chance: digits, letters of more than one sort or few vowels, many characters."""
    if not any(each.isdigit() for each in text) or not any(each.isalpha() for each in text):
        return False
    return entropy(text) >= min(3.4, log2(len(text)) - 0.9)


def is_random_mixed(text: str) -> bool:
    """True for forty characters of base64 as chance gives them: both cases, digits, few slashes, high entropy."""
    digits = sum(each.isdigit() for each in text)
    cases = any(each.islower() for each in text) and any(each.isupper() for each in text)
    return digits >= 2 and cases and text.count("/") <= 4 and entropy(text) >= 4.1


def digits_of(text: str) -> str:
    """The text without the separators that people put into numbers."""
    return _SEPARATORS.sub("", text)


def luhn(text: str) -> bool:
    """The check of payment cards, and of several national numbers."""
    digits = [int(each) for each in digits_of(text)]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def is_payment_card(text: str) -> bool:
    """A number of a known network, of its length, with its check digit."""
    number = digits_of(text)
    lengths = {"4": (13, 16, 19), "5": (16,), "2": (16,), "3": (14, 15, 16), "6": (16, 17, 18, 19)}
    if len(number) not in lengths.get(number[0], ()):
        return False
    known = (
        number[0] == "4"
        or 51 <= int(number[:2]) <= 55
        or 2221 <= int(number[:4]) <= 2720
        or number[:2] in ("34", "37", "36", "38", "30", "35", "62", "65", "60", "64")
    )
    return known and luhn(number)


IBAN_LENGTHS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "FO", "GL", "NL", "SD"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    **dict.fromkeys(("LC",), 32),
    **dict.fromkeys(("RU",), 33),
}
"""How long the account numbers of each country are."""


def iban_prefix(text: str) -> int | None:
    """How many characters at the beginning are an IBAN, spaces counted; None when none are."""
    wanted = IBAN_LENGTHS.get(text[:2].upper())
    if wanted is None:
        return None
    seen = 0
    for at, each in enumerate(text, 1):
        seen += each != " "
        if seen == wanted:
            number = text[:at].replace(" ", "").upper()
            turned = "".join(str(int(each, 36)) for each in number[4:] + number[:4])
            return at if int(turned) % 97 == 1 and text[at : at + 1].strip() == "" else None
    return None


def weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    """The sum of digits, each times its weight."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def _numbers(text: str, count: int) -> list[int] | None:
    """The digits, when there are so many and not all are the same."""
    plain = digits_of(text)
    return [int(each) for each in plain] if len(plain) == count and len(set(plain)) > 1 else None


def is_us_ssn(text: str) -> bool:
    """An area, a group and a serial number that are given out. There is no check digit."""
    area, group, serial = digits_of(text)[:3], digits_of(text)[3:5], digits_of(text)[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_uk_nhs(text: str) -> bool:
    """Ten digits, the last by weights 10 to 2, modulo 11."""
    digits = _numbers(text, 10)
    return digits is not None and (11 - weighted(digits, range(10, 1, -1)) % 11) % 11 == digits[9]


def is_de_tax_id(text: str) -> bool:
    """Eleven digits, not beginning with 0, the last by ISO 7064 (mod 11, 10)."""
    digits = _numbers(text, 11)
    if digits is None or digits[0] == 0:
        return False
    product = 10
    for each in digits[:10]:
        product = ((each + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def is_fr_nir(text: str) -> bool:
    """Thirteen characters and a key: 97 less the number modulo 97; Corsica counts as 19 and 18."""
    plain = digits_of(text).upper().replace("2A", "19").replace("2B", "18")
    return len(plain) == 15 and plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def is_es_dni(text: str) -> bool:
    """Eight characters and the letter that the number modulo 23 gives; X, Y and Z stand for 0, 1 and 2."""
    plain = digits_of(text).upper()
    number = plain[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


_DIGITS_AND_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD_PLACES = dict(
    zip(
        _DIGITS_AND_LETTERS,
        (*_ODD, *_ODD, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)


def is_it_fiscal_code(text: str) -> bool:
    """Sixteen characters, the last by the values of odd and even places modulo 26."""
    plain = text.upper()
    odd = sum(_ODD_PLACES[each] for each in plain[:15:2])
    even = sum(int(each) if each.isdigit() else ord(each) - 65 for each in plain[1:15:2])
    return chr(65 + (odd + even) % 26) == plain[15]


def is_nl_bsn(text: str) -> bool:
    """Nine digits, by weights 9 to 2 and -1, modulo 11."""
    digits = _numbers(text, 9)
    return digits is not None and weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_be_number(text: str) -> bool:
    """Eleven digits: a key of 97 less the rest modulo 97, with a 2 before it for those born since 2000."""
    plain = digits_of(text)
    if len(plain) != 11:
        return False
    return int(plain[9:]) in (97 - int(plain[:9]) % 97, 97 - int("2" + plain[:9]) % 97)


def is_pl_pesel(text: str) -> bool:
    """Eleven digits, the last by weights 1, 3, 7, 9, modulo 10."""
    digits = _numbers(text, 11)
    return digits is not None and (10 - weighted(digits[:10], (1, 3, 7, 9) * 3) % 10) % 10 == digits[10]


def is_se_number(text: str) -> bool:
    """Ten digits, or twelve with the century, the last ten by Luhn."""
    plain = text.replace("-", "").replace("+", "")[-10:]
    return 1 <= int(plain[2:4]) <= 12 and 1 <= int(plain[4:6]) <= 31 and luhn(plain)


def is_fi_hetu(text: str) -> bool:
    """A date, a sign for the century, three digits, and the character that all of them modulo 31 give."""
    number = int(text[:6] + text[7:10])
    return 1 <= int(text[2:4]) <= 12 and "0123456789ABCDEFHJKLMNPRSTUVWXY"[number % 31] == text[10].upper()


def is_br_cpf(text: str) -> bool:
    """Eleven digits, the last two by weights, modulo 11."""
    digits = _numbers(text, 11)
    if digits is None:
        return False
    return all(weighted(digits[:place], range(place + 1, 1, -1)) * 10 % 11 % 10 == digits[place] for place in (9, 10))


def is_au_tfn(text: str) -> bool:
    """Nine digits, by weights, modulo 11."""
    digits = _numbers(text, 9)
    return digits is not None and weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


_DIHEDRAL = tuple(
    tuple((a + b) % 5 + (5 if b >= 5 else 0) if a < 5 else ((a - b) % 5 + (0 if b >= 5 else 5)) for b in range(10))
    for a in range(10)
)
_TURNS = [tuple(range(10)), (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)]
for _ in range(6):
    _TURNS.append(tuple(_TURNS[1][each] for each in _TURNS[-1]))


def verhoeff(text: str) -> bool:
    """The check that catches every swap of neighbours: that of Aadhaar numbers."""
    rest = 0
    for place, each in enumerate(reversed(digits_of(text))):
        rest = _DIHEDRAL[rest][_TURNS[place % 8][int(each)]]
    return rest == 0


def is_cn_id(text: str) -> bool:
    """Seventeen digits with a date among them, and a last character by weights, modulo 11."""
    weights = [2**place % 11 for place in range(17, 0, -1)]
    rest = weighted([int(each) for each in text[:17]], weights) % 11
    month, day = int(text[10:12]), int(text[12:14])
    return 1 <= month <= 12 and 1 <= day <= 31 and "10X98765432"[rest] == text[17].upper()


def is_ch_ahv(text: str) -> bool:
    """Thirteen digits that begin with 756, the last as on goods: by weights 1 and 3, modulo 10."""
    digits = _numbers(text, 13)
    return digits is not None and weighted(digits, (1, 3) * 7) % 10 == 0
