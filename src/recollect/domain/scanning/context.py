"""What stands around a find: whether a value is one, whether a word before it says what it is, where a block ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address

from recollect.domain.scanning.checks import entropy, iban_prefix, is_random, is_random_mixed
from recollect.domain.scanning.rules import Check, Span

_PLACEHOLDER = re.compile(
    r"\[?redacted\]?|[*x.\-_#?]+|<[^>]*>|\[[^\]]*\]|\{+[^}]*\}+|\$\{?[a-z_][\w.]*\}?|%[a-z_]\w*%?"
    r"|(?:your|my|the|some|example|sample|dummy|fake|test)[-_]?(?:[a-z]+[-_]){0,4}"
    r"(?:password|passwd|secret|token|api[-_]?key|key|value|here)?(?:[-_]?here)?"
    r"|os\.environ.*|process\.env.*|getenv.*|env\..*|settings\..*|config\..*|self\..*|secrets\..*|vault:.*",
    re.IGNORECASE,
)
_ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
        about also always an anything asked at authentication available based been being between blank by can cannot
        case changed checked correct different empty encrypted entered expired false field fine for forgotten from
        generated given good handled hashed here hidden in in-memory incorrect invalid just kept least less long longer
        lost managed manager may mine missing more most must n/a needed never none not nothing null okay on only
        optional our policy private protected public random redacted required reset right rotated safe same saved secret
        see sensitive sent set shared short shorter should something still stored string strong tbd text than that the
        their theirs there this todo too true typed unique unknown unset updated use used uses using valid varchar very
        weak what when where which will with without written wrong your yours
        """,
    )
)
"""Words that follow "password is" or "password:" and are none."""
_WORD = re.compile(r"[A-Za-z]+(?:['-][a-z]+)*")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CLOSING = ".,;:!?)]}>\"'`"


def is_placeholder(value: str) -> bool:
    """True for what stands where a secret would stand: a mask, a variable, an example."""
    return _PLACEHOLDER.fullmatch(value) is not None


def password(text: str, begin: int, end: int) -> Span | None:
    """The value itself, where it can be one: not a placeholder, and not the next word of a sentence."""
    value = text[begin:end].rstrip(_CLOSING)
    if not value or is_placeholder(value) or is_placeholder(text[begin:end]) or value.lower() in _ORDINARY:
        return None
    before = text[max(0, begin - 4) : begin]
    assigned = before.endswith(("'", '"', "`")) or before.rstrip().endswith("=")
    if not assigned and _WORD.fullmatch(value):
        follows = text[begin + len(value) : begin + len(value) + 8]
        if follows and follows[0] not in ".,;!)\n" and not follows.startswith((" and ", " for ", " but ", " on ")):
            return None  # the sentence goes on: it tells about the password
    return Span(begin, begin + len(value)) if len(value) >= 4 else Span(begin, end)


def quoted(text: str, begin: int, end: int) -> Span | None:
    """All that is between the quotes, spaces as well, unless it is a word that says something else."""
    value = text[begin:end].strip()
    return None if is_placeholder(value) or value.lower() in _ORDINARY else Span(begin, end)


def token(text: str, begin: int, end: int) -> Span | None:
    """A value of a named secret: drawn by chance, no placeholder, no identifier, no path."""
    value = text[begin:end].rstrip(".-/")
    if is_placeholder(value) or _UUID.fullmatch(value) or value.count("/") > 3 or value.count(".") > 3:
        return None
    return Span(begin, begin + len(value)) if len(value) >= 12 and is_random(value) else None


def named_key(text: str, begin: int, end: int) -> Span | None:
    """A value of a key that is called a key: no placeholder, and neither a word nor a path."""
    value = text[begin:end].rstrip(".-/")
    if is_placeholder(value) or len(value) < 12:
        return None
    ordinary = re.fullmatch(r"[a-z]+(?:[-_./][a-z]+)*|[A-Z]+(?:[-_][A-Z]+)*", value) is not None
    return None if ordinary and entropy(value) < 3.6 else Span(begin, begin + len(value))


def aws_secret(text: str, begin: int, end: int) -> Span | None:
    """Forty characters by themselves, as chance gives them; fewer signs of it will do where AWS is named."""
    around = text[max(0, begin - 1) : begin] + text[end : end + 1]
    if end - begin != 40 or any(each.isalnum() or each in "+/_-" for each in around):
        return None
    value = text[begin:end]
    named = re.search(r"aws|secret.?(?:access)?.?key", text[max(0, begin - 60) : begin], re.IGNORECASE)
    if named:
        return Span(begin, end) if is_random(value) and not re.fullmatch("[0-9a-f]+", value) else None
    return Span(begin, end) if is_random_mixed(value) else None


def url_password(text: str, begin: int, end: int) -> Span | None:
    """The whole URL, unless something stands in place of its password."""
    value = text[begin:end].partition("://")[2].rpartition("@")[0].partition(":")[2]
    return None if not value or is_placeholder(value) else Span(begin, end)


def assigned_password(text: str, begin: int, end: int) -> Span | None:
    """The password of a connection string, unless something stands in its place."""
    return None if is_placeholder(text[begin:end]) else Span(begin, end)


_END_OF_KEY = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY = 16_000


def whole_key(text: str, begin: int, end: int) -> Span:
    """The block up to its end; without one, what the pattern took for its lines."""
    closing = _END_OF_KEY.search(text, begin, begin + _LONGEST_KEY)
    return Span(begin, max(end, closing.end()) if closing else end)


def iban(text: str, begin: int, end: int) -> Span | None:
    """As much as belongs to the country's account number, when its check digits are right."""
    length = iban_prefix(text[begin:end])
    return None if length is None else Span(begin, begin + length)


def alone(holds: Callable[[str], bool]) -> Check:
    """The check that a number passes and that it is not a part of a longer one, of a path or of a version."""

    def check(text: str, begin: int, end: int) -> Span | None:
        before, after = text[max(0, begin - 2) : begin], text[end : end + 2]
        if re.search(r"[\w./#+\-]$", before) or re.match(r"\w|[./\-:]\w", after):
            return None
        return Span(begin, end) if holds(text[begin:end]) else None

    return check


def after_words(words: str, holds: Callable[[str], bool], within: int = 40) -> Check:
    """The check that a number passes where one of the words stands shortly before it."""
    named = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    by_itself = alone(holds)

    def check(text: str, begin: int, end: int) -> Span | None:
        return by_itself(text, begin, end) if named.search(text, max(0, begin - within), begin) else None

    return check


_HOST_WORDS = re.compile(r"\b(?:ip|ipv4|address|host|server|ssh|ping|login|logged|client|peer)\b|://", re.IGNORECASE)
_LARGE = 64
"""No part of a version is that large, as a rule."""


def address_of_host(text: str, begin: int, end: int) -> Span | None:
    """An address on the public internet: those of private networks are the same everywhere, and name nobody."""
    value = text[begin:end]
    if re.match(r"[\w.:-]", text[max(0, begin - 1) : begin]) or re.match(r"\w|\.\w", text[end : end + 2]):
        return None
    try:
        address = ip_address(value)
    except ValueError:
        return None
    if not address.is_global or address.is_multicast:
        return None
    could_be_version = address.version == 4 and max(address.packed) < _LARGE
    if could_be_version and not _HOST_WORDS.search(text, max(0, begin - 30), begin):
        return None
    return Span(begin, end)


def phone(text: str, begin: int, end: int) -> Span | None:
    """Eight to fifteen digits that are not a part of something longer, and not all the same."""
    digits = [each for each in text[begin:end] if each.isdigit()]
    if not 8 <= len(digits) <= 15 or len(set(digits)) < 3:
        return None
    return alone(lambda _: True)(text, begin, end)
