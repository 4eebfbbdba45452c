"""Scrubbing: which characters of a text could mislead its reader, and which parts of it look like credentials.

Memory is untrusted wherever it is read. What cannot be seen is taken out, so that it cannot carry a message of its own;
what opens doors is neither kept nor shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

REDACTED = "[REDACTED]"
_UNSEEN = frozenset("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0\ufff9\ufffa\ufffb")
"""Characters of other classes that show nothing, or turn what follows them."""
_ODD = re.compile(f"[{''.join(sorted(_UNSEEN))}\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Those that show nothing although Unicode calls them printable, variation selectors among them."""
_CLASSES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_KEPT = frozenset("\n\t")
_BREAKS = re.compile("\r\n|[\r\n\v\f\x85\u2028\u2029]")


def cleaned(text: str) -> str:
    """The text without control, formatting, tag and zero-width characters; line ends are `\\n`, tabs stay."""
    if text.replace("\n", "").replace("\t", "").isprintable() and _ODD.search(text) is None:
        return text  # as nearly all are
    joined = _BREAKS.sub("\n", text)
    return "".join(each for each in joined if each in _KEPT or not _is_unseen(each))


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _CLASSES or _ODD.match(character) is not None


def on_one_line(text: str) -> str:
    """The text with one space in place of every line end."""
    return _BREAKS.sub(" ", text)


class Credential(NamedTuple):
    """A part of a text that looks like something that opens a door."""

    kind: str
    begin: int
    end: int


_NAMED = r"(?i:\b(?:x-api-key|api[_-]?key|apikey|access[_-]?token|auth[_-]?token|client[_-]?secret))"
_KINDS: tuple[tuple[str, str], ...] = (
    (
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.{0,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
    ),
    ("github_token", r"\b(?:ghp|gho|ghs|ghu|ghr)_[A-Za-z0-9]{20,255}\b"),
    ("github_token", r"\bgithub_pat_[A-Za-z0-9_]{20,255}\b"),
    ("gitlab_token", r"\bglpat-[A-Za-z0-9_-]{20,64}\b"),
    ("google_token", r"\bya29\.[A-Za-z0-9_-]{20,500}"),
    ("google_api_key", r"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("aws_access_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("slack_token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    ("stripe_key", r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,250}\b"),
    ("secret_key", r"\b(?:sk|pk)-(?:live-|test-|proj-|ant-)?[A-Za-z0-9_-]{20,250}"),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi_token", r"\bpypi-[A-Za-z0-9_-]{50,250}"),
    ("recollect_key", r"\brk_[A-Za-z0-9]{4,40}_[A-Za-z0-9]{20,100}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,1000}"),
    ("bearer_token", r"(?i:\bbearer)\s{1,3}[A-Za-z0-9._~+/-]{16,2000}=*"),
    ("url_with_password", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,200}:[^\s/@]{1,200}@[^\s]{1,200}"),
    ("api_key", _NAMED + r"\s{0,3}[=:]\s{0,3}[\"']?[A-Za-z0-9._~+/-]{12,250}"),
    ("password", r"(?i:\b(?:password|passwd|pwd|passphrase))\s{0,3}(?:[=:]|\bis\b)\s{0,3}[\"']?[^\s\"']{4,250}"),
)
CREDENTIAL_KINDS = tuple(dict.fromkeys(kind for kind, _ in _KINDS))
"""The kinds of credentials that are known, in the order in which they are looked for."""
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)


def credentials_in(text: str) -> list[Credential]:
    """Every part that looks like a credential, from left to right, none overlapping another."""
    found: list[Credential] = []
    for each in sorted(_candidates(text), key=lambda one: (one.begin, -one.end)):
        if not found or each.begin >= found[-1].end:
            found.append(each)
    return found


def _candidates(text: str) -> Iterator[Credential]:
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(text):
            yield Credential(kind, match.start(), match.end())


def redacted(text: str) -> str:
    """The text with every credential replaced."""
    parts, at = [], 0
    for each in credentials_in(text):
        parts += [text[at : each.begin], REDACTED]
        at = each.end
    return "".join([*parts, text[at:]])
