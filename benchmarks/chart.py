"""The ratios as a bar chart: one SVG text, on a scale where twice as fast and half as fast look alike."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log10

from benchmarks.report import Report
from benchmarks.rows import ROWS

_SHOWN = {
    "SqliteStore": "#2a6f97",
    "SqliteStore WAL+FULL": "#61a5c2",
    "InMemoryStore": "#b8b8b8",
    "floor": "#e09f3e",
}
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 210, 640, 13, 12, 74
_LEAST, _MOST = 0.01, 100.0


def chart(found: Report) -> str:
    """The whole picture."""
    shown = [(row, [name for name in _SHOWN if (row.name, name) in found.ratios]) for row in ROWS]
    shown = [(row, names) for row, names in shown if names]
    height = _TOP + sum(len(names) * _BAR + _GAP for _, names in shown) + 30
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 90}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="12">'
        ),
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="12" y="22" font-size="15" font-weight="bold">Throughput of recollect, as a multiple of</text>',
        *_legend(),
        *_scale(height),
    ]
    goals = {(verdict.goal.row, verdict.goal.against): verdict.goal.bound for verdict in found.verdicts}
    y = _TOP
    for row, names in shown:
        middle = y + len(names) * _BAR / 2 + 4
        lines.append(f'<text x="{_LEFT - 10}" y="{middle:.0f}" text-anchor="end">{escape(row.title)}</text>')
        for name in names:
            lines += _bar(y, name, found.ratios[row.name, name], goals.get((row.name, name)))
            y += _BAR
        y += _GAP
    return "\n".join([*lines, "</svg>"]) + "\n"


def _x(ratio: float) -> float:
    share = (log10(min(max(ratio, _LEAST), _MOST)) - log10(_LEAST)) / (log10(_MOST) - log10(_LEAST))
    return _LEFT + share * _WIDTH


def _legend() -> Iterator[str]:
    x = 12.0
    for name, colour in _SHOWN.items():
        yield f'<rect x="{x:.0f}" y="34" width="11" height="11" fill="{colour}"/>'
        yield f'<text x="{x + 16:.0f}" y="44">{escape(name)}</text>'
        x += 40 + len(name) * 7
    yield f'<text x="{x:.0f}" y="44">│ the goal</text>'


def _scale(height: int) -> Iterator[str]:
    for ratio in (0.01, 0.1, 1.0, 10.0, 100.0):
        x, colour = _x(ratio), "#444" if ratio == 1.0 else "#ddd"
        yield f'<line x1="{x:.1f}" y1="{_TOP - 8}" x2="{x:.1f}" y2="{height - 22}" stroke="{colour}"/>'
        yield f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="#555">{ratio:g}×</text>'


def _bar(y: float, name: str, ratio: float, goal: float | None) -> Iterator[str]:
    low, high = sorted((_x(1.0), _x(ratio)))
    yield (
        f'<rect x="{low:.1f}" y="{y}" width="{max(high - low, 1):.1f}" height="{_BAR - 2}" fill="{_SHOWN[name]}">'
        f"<title>{escape(name)}: {ratio:.2f}×</title></rect>"
    )
    yield f'<text x="{max(high, _x(1.0)) + 4:.1f}" y="{y + 10}" font-size="10">{ratio:.2f}×</text>'
    if goal is not None:
        x = _x(goal)
        yield f'<line x1="{x:.1f}" y1="{y - 2}" x2="{x:.1f}" y2="{y + _BAR}" stroke="black" stroke-width="2"/>'
