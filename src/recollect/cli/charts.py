"""Charts: bars and columns as SVG, each with the same figures as a table beside it for those who cannot see it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 560
_LABEL = 150
_VALUE = 74
_BAR = 20
_GAP = 12
_HIGH = 150
_FOOT = 26
_MOST_LABEL = 60
_SHOWN_LABEL = 22


def plain(text: object) -> str:
    """Text as it may stand on a page: escaped, in one line, short, and without characters that are not seen."""
    seen = "".join(each for each in str(text) if unicodedata.category(each)[0] != "C" and each not in "\u2028\u2029")
    short = seen if len(seen) <= _MOST_LABEL else f"{seen[: _MOST_LABEL - 1]}…"
    return escape(short, quote=True)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it stands for, how long it is, and what is written at its end."""

    label: str
    size: float
    said: str
    tone: str = "a"


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; the first column names the row."""
    if not rows:
        return '<p class="none">Nothing in this time.</p>'
    head = "".join(f'<th scope="col">{plain(each)}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{plain(row[0])}</th>{"".join(f"<td>{plain(each)}</td>" for each in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{plain(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bars(title: str, given: Sequence[Bar], most: float | None = None) -> str:
    """Bars below each other, as long as their size is beside `most`, or beside the longest."""
    if not given:
        return ""
    whole = max((each.size for each in given), default=0) if most is None else most
    room = _WIDTH - _LABEL - _VALUE
    height = len(given) * (_BAR + _GAP) + _GAP
    parts = []
    for number, each in enumerate(given):
        top = _GAP + number * (_BAR + _GAP)
        length = room * min(1.0, each.size / whole) if whole > 0 else 0.0
        shown = each.label if len(each.label) <= _SHOWN_LABEL else f"{each.label[: _SHOWN_LABEL - 1]}…"
        parts.append(
            f'<text class="label" x="{_LABEL - 10}" y="{top + 14}" text-anchor="end">{plain(shown)}</text>'
            f'<rect class="rail" x="{_LABEL}" y="{top}" width="{room}" height="{_BAR}" rx="4"/>'
            f'<rect class="{plain(each.tone)}" x="{_LABEL}" y="{top}" width="{length:.1f}" height="{_BAR}" rx="4"/>'
            f'<text class="value" x="{_LABEL + room + 10}" y="{top + 14}">{plain(each.said)}</text>'
        )
    return _framed(title, height, "".join(parts))


def columns(title: str, given: Sequence[tuple[str, int]]) -> str:
    """Columns beside each other, one for each day or the like; the first, the last and the highest are named."""
    if not given:
        return ""
    most = max(count for _, count in given) or 1
    step = (_WIDTH - 40) / len(given)
    width = max(1.0, min(36.0, step * 0.72))
    named = {0, len(given) - 1}
    peak = max(range(len(given)), key=lambda place: given[place][1])
    parts = [f'<line class="axis" x1="20" x2="{_WIDTH - 20}" y1="{_HIGH}" y2="{_HIGH}"/>']
    for place, (label, count) in enumerate(given):
        high = (_HIGH - 24) * count / most
        middle = 20 + step * (place + 0.5)
        parts.append(
            f'<rect class="a" x="{middle - width / 2:.1f}" y="{_HIGH - high:.1f}" width="{width:.1f}" '
            f'height="{high:.1f}" rx="2"/>'
        )
        if place == peak:
            parts.append(
                f'<text class="value" x="{middle:.1f}" y="{_HIGH - high - 7:.1f}" text-anchor="middle">{count:,}</text>'
            )
        if place in named:
            side = "middle" if len(given) < 4 else ("start" if place == 0 else "end")
            at = middle if side == "middle" else middle + (-width / 2 if side == "start" else width / 2)
            parts.append(
                f'<text class="label" x="{at:.1f}" y="{_HIGH + 18}" text-anchor="{side}">{plain(label)}</text>'
            )
    return _framed(title, _HIGH + _FOOT, "".join(parts))


def _framed(title: str, height: int, inside: str) -> str:
    name = plain(title)
    return (
        f'<svg role="img" aria-label="{name}" viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="xMinYMin meet">'
        f"<title>{name}</title>{inside}</svg>"
    )
