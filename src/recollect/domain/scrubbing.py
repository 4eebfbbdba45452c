"""Scrubbing: which characters of a text could mislead its reader, and which parts of it look like credentials.

Memory is untrusted wherever it is read. What cannot be seen is taken out, so that it cannot carry a message of its own;
what opens doors is neither kept nor shown.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from recollect.domain.scanning import REDACTED as REDACTED
from recollect.domain.scanning import SECRET_KINDS, Class, scan
from recollect.domain.scanning import redacted as without

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


CREDENTIAL_KINDS = SECRET_KINDS
"""The kinds of credentials that are known, in the order in which they are looked for."""
_SECRETS = frozenset({Class.SECRET})


def credentials_in(text: str) -> list[Credential]:
    """Every part that looks like a credential, from left to right, none overlapping another."""
    return [Credential(each.kind, each.begin, each.end) for each in scan(text, _SECRETS)]


def redacted(text: str) -> str:
    """The text with every credential replaced."""
    return without(text, _SECRETS)
