"""Check digits, on numbers that their issuers publish as examples, and on every one of them with a digit changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.domain.scanning import checks

EXAMPLES: list[tuple[Callable[[str], object], str]] = [
    (checks.is_payment_card, "4111 1111 1111 1111"),
    (checks.is_payment_card, "378282246310005"),
    (checks.is_payment_card, "5555-5555-5555-4444"),
    (checks.iban_prefix, "DE89370400440532013000"),
    (checks.iban_prefix, "GB82WEST12345698765432"),
    (checks.is_uk_nhs, "943 476 5919"),
    (checks.is_de_tax_id, "86095742719"),
    (checks.is_fr_nir, "2 55 08 14 168 025 38"),
    (checks.is_es_dni, "12345678Z"),
    (checks.is_it_fiscal_code, "RSSMRA85T10A562S"),
    (checks.is_nl_bsn, "111222333"),
    (checks.is_be_number, "85.07.30-033.28"),
    (checks.is_pl_pesel, "44051401359"),
    (checks.is_se_number, "811218-9876"),
    (checks.is_fi_hetu, "131052-308T"),
    (checks.is_br_cpf, "529.982.247-25"),
    (checks.is_au_tfn, "123456782"),
    (checks.verhoeff, "2363"),
    (checks.is_cn_id, "11010519491231002X"),
    (checks.is_ch_ahv, "756.9217.0769.85"),
]


@pytest.mark.parametrize(("holds", "number"), EXAMPLES, ids=lambda each: getattr(each, "__name__", each))
def test_a_published_example_holds_and_no_neighbour_of_it_does(holds: Callable[[str], object], number: str) -> None:
    assert holds(number)
    places = [at for at, each in enumerate(number) if each.isdigit()]
    assert places
    for at in places:
        for digit in "0123456789":
            changed = number[:at] + digit + number[at + 1 :]
            assert bool(holds(changed)) is (digit == number[at]), changed


@pytest.mark.parametrize("number", ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000"])
def test_social_security_numbers_that_nobody_has_are_none(number: str) -> None:
    assert not checks.is_us_ssn(number)
    assert checks.is_us_ssn("123-45-6789")


def test_an_account_number_ends_where_its_country_says() -> None:
    assert checks.iban_prefix("DE89 3704 0044 0532 0130 00 AND MORE") == len("DE89 3704 0044 0532 0130 00")
    assert checks.iban_prefix("ZZ89 3704 0044 0532 0130 00") is None
    assert checks.iban_prefix("DE89 3704") is None
    assert checks.iban_prefix("DE893704004405320130001") is None


def test_entropy_tells_chance_from_words() -> None:
    assert checks.entropy("") == checks.entropy("aaaa") == 0.0
    assert checks.entropy("ab") == 1.0
    assert checks.is_random("q7Zk2Rv9TbX4")
    assert not checks.is_random("internationalisation")
    assert not checks.is_random("aaaaaaaaaaa1")
    assert not checks.is_mixed("some-long-class-name")
