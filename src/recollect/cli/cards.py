"""Cards: a proposal as a reviewer sees it, whose words may be an attack on whoever reads them, and move nothing.

All that comes from a proposal stands behind a bar of its own, line by line, with every character that cannot be seen
written out. So nothing in it can pass for a line of the program, whatever it holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

BAR = "│"
_LABEL = 11
_NARROWEST = 24
_LINES = {"says": 3, "known": 3}
_MOST_LINES = 2
"""So many lines a field has, unless it is one of those above: a card fits a small terminal."""
_MOST_MARKS = 2
_UNSEEN = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))
    for code in range(first, last + 1)
}
"""Characters that are letters or marks by their class and yet show nothing."""
_TRUST = {
    "untrusted": "anybody can write there",
    "inferred": "a model concluded it",
    "asserted": "a user said it of themself",
    "verified": "a tool that is known to be right returned it",
    "imposed": "an operator or the system set it",
}
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def bare(text: str) -> str:
    """The text on one line with everything written out that could not be seen, or would do something."""
    found: list[str] = []
    marks = _MOST_MARKS  # nothing stands before the first character that a mark could belong to
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        seen = character.isprintable() and character not in _UNSEEN and marks <= _MOST_MARKS
        found.append(character if seen else _written_out(character))
    return "".join(found)


def _written_out(character: str) -> str:
    code = ord(character)
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return short.get(character) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")


def written(value: Any) -> str:
    """A value on one line: text as it is, all else as JSON; written out like `bare`."""
    return bare(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def age(seconds: int) -> str:
    """A length of time, in its largest unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            count = seconds // length
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def card(told: Mapping[str, Any], existing: str | None, width: int, *, whole: bool = False) -> Iterator[str]:
    """The lines of a card: its labels are ours, what stands behind the bars is the proposal's.

    `existing` is what the record says that it contradicts. What is long is cut unless it is to be `whole`.
    """
    for label, text in _fields(told, existing):
        yield from _rows(label, text, width, whole=whole)


def is_cut(told: Mapping[str, Any], existing: str | None, width: int) -> bool:
    """True when the card does not show everything."""
    return any(len(_pieces(text, width)) > _most(label) for label, text in _fields(told, existing))


def _fields(told: Mapping[str, Any], existing: str | None) -> Iterator[tuple[str, str]]:
    candidate, check = told["candidate"], told["contradiction_check"]
    yield "says", bare(told["text"])
    yield "about", bare(candidate["entity_ceid"])
    yield "predicate", bare(candidate["predicate"])
    yield "value", written(candidate["value"])
    yield "class", bare(f"{told['class']}, as {told['event_type']}; kept in the {told['tier_target']} tier")
    yield "space", bare(f"{told['space']}, from {told['user_id']}; {told['classification'].lower()}")
    yield "from", bare(", ".join(candidate["evidence_refs"]) or "nothing that shows it")
    yield (
        "trust",
        bare(f"{told['trust']}: {_TRUST.get(told['trust'], 'unknown')}; sure to {candidate['confidence']:.0%}"),
    )
    yield "risk", bare(": ".join(part for part in (told["risk"], ", ".join(told["risk_reasons"])) if part))
    yield "waits", bare(f"{told['rule']}: {told['reason']}")
    if told["consent_check"] != "not_required":
        yield "consent", bare(told["consent_check"])
    if check["existing"] is not None:
        yield "differs", bare(f"{check['verdict']} {check['existing']}")
        yield "known", "(it cannot be shown to you)" if existing is None else bare(existing)
    if told["approvals_needed"] > 1:
        names = f": {', '.join(told['approvals'])}" if told["approvals"] else ""
        yield "approvals", bare(f"{len(told['approvals'])} of {told['approvals_needed']}{names}")
    yield "age", age(told["age_seconds"])


def _rows(label: str, text: str, width: int, *, whole: bool) -> Iterator[str]:
    pieces = _pieces(text, width)
    shown = pieces if whole else pieces[: _most(label)]
    for number, piece in enumerate(shown):
        yield f"{label if number == 0 else '':<{_LABEL}}{BAR} {piece}"
    if len(shown) < len(pieces):
        left = len(text) - sum(map(len, shown))
        yield f"{'(cut)':<{_LABEL}}{left:,} more characters: m shows all of it"


def _most(label: str) -> int:
    return _LINES.get(label, _MOST_LINES)


def _pieces(text: str, width: int) -> list[str]:
    """The text in pieces that fit beside the label, in cells of the terminal; between words where it can be."""
    room = max(width - _LABEL - 3, _NARROWEST)
    pieces, cells = [""], 0
    for character in text:
        size = _cells(character)
        if cells + size > room:
            head, space, tail = pieces[-1].rpartition(" ")
            kept = head + space if len(tail) < len(pieces[-1]) // 2 else pieces[-1]
            pieces[-1:] = [kept, pieces[-1][len(kept) :]]
            cells = sum(map(_cells, pieces[-1]))
        pieces[-1] += character
        cells += size
    return pieces


def _cells(character: str) -> int:
    """How much room a character takes at most: what a terminal wraps by itself would begin before the bar."""
    if character.isascii():
        return 1
    wide = unicodedata.east_asian_width(character) in "WFA" or unicodedata.category(character) == "So"
    return 2 if wide else 1
