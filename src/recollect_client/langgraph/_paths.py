"""What `index` of LangGraph says, as the `index_fields` of the service.

Most paths mean the same in both. Those that only LangGraph knows (`[-1]`, `*`, `{a,b}`) are followed through the value
that is written, and become the paths of what they lead to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import tokenize_path

_EVERYTHING = "$"
_OWN = re.compile(r"\{|\[-|(^|\.)\*(\.|\[|$)")
"""What only LangGraph understands."""


def index_fields(
    index: Literal[False] | Sequence[str] | None, default: Sequence[str] | None, value: Mapping[str, Any]
) -> list[str] | None:
    """The fields of a value that queries find: None for every text, an empty list for none."""
    if index is False:
        return []
    wanted = default if index is None else index
    if wanted is None or _EVERYTHING in wanted or "" in wanted:
        return None
    found = [place for path in wanted for place in _places(path, value)]
    return list(dict.fromkeys(found))


def _places(path: str, value: Mapping[str, Any]) -> Iterator[str]:
    if _OWN.search(path):
        yield from _followed("", value, tokenize_path(path))
    else:
        yield path


def _followed(place: str, part: Any, steps: Sequence[str]) -> Iterator[str]:
    """The paths of all that a path leads to."""
    if not steps:
        yield place
        return
    step, rest = steps[0], steps[1:]
    for below, found in _taken(step, part):
        yield from _followed(_joined(place, below), found, rest)


def _taken(step: str, part: Any) -> Iterator[tuple[str, Any]]:
    if step.startswith("{") and step.endswith("}"):
        for field in step[1:-1].split(","):
            names = field.strip()
            found = part
            for name in tokenize_path(names):
                found = found.get(name) if isinstance(found, Mapping) else None
            if names and found is not None:
                yield names, found
    elif step.startswith("["):
        if isinstance(part, list):
            yield from ((f"[{number}]", part[number]) for number in _numbers(step[1:-1], len(part)))
    elif step == "*":
        if isinstance(part, Mapping):
            yield from part.items()
        elif isinstance(part, list):
            yield from ((f"[{number}]", found) for number, found in enumerate(part))
    elif isinstance(part, Mapping) and step in part:
        yield step, part[step]


def _numbers(index: str, length: int) -> range:
    if index == "*":
        return range(length)
    try:
        number = int(index)
    except ValueError:
        return range(0)
    number += length if number < 0 else 0
    return range(number, number + 1) if 0 <= number < length else range(0)


def _joined(place: str, below: str) -> str:
    return f"{place}.{below}" if place and not below.startswith("[") else place + below
