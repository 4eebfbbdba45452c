"""What of a value a search can find: its texts, each with where it stands, and its plain leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.filters import same

Scalar = str | int | float | bool | None
MAX_PASSAGES = 256
"""Texts of one value that are looked at; what comes after them is not found by its words."""
MAX_LEAVES = 1_024
_STEP = re.compile(r"\[(\*|[0-9]{1,6})\]|([^.\[\]]+)|(.)")
_EVERY = "*"


NOTHING = "[]"
"""How it is kept that no field is to be found."""


def wants_index(fields: str | None) -> bool:
    """Whether there is anything to be found, going by the fields that are kept with a version."""
    return fields != NOTHING


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in a value, and the path to it, like `notes[0].text`."""

    path: str
    text: str


def passages(value: dict[str, Any], fields: str | None = None) -> list[Passage]:
    """The texts to be found, in the order of the value; `fields` are paths as kept: None stands for every text.

    A path names members with dots between them, `[0]` an element of a list and `[*]` every one. What it leads to is
    taken with all that lies below; a number or a truth that is named is a text too.
    """
    if fields is None:
        found = _texts("", value, named=False)
    else:
        wanted: list[str] = msgspec.json.decode(fields, type=list[str])
        found = (each for path in wanted for place, part in at_path(value, path) for each in _texts(place, part, True))
    unique: dict[str, Passage] = {}
    for passage in found:
        if passage.text.strip():
            unique.setdefault(passage.path, passage)
        if len(unique) == MAX_PASSAGES:
            break
    return list(unique.values())


def at_path(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What lies at a path, each with its own path; a member whose name has dots in it goes before a way down."""
    waiting: list[tuple[str, Any, str]] = [("", value, path)]
    while waiting:
        place, part, rest = waiting.pop(0)
        if not rest:
            yield place, part
        elif isinstance(part, dict) and rest in part:
            yield _member(place, rest), part[rest]
        else:
            step = _STEP.match(rest)
            if step is None or step[3]:
                continue
            below = rest[step.end() :].removeprefix(".")
            if step[1] is None:
                if isinstance(part, dict) and step[2] in part:
                    waiting.append((_member(place, step[2]), part[step[2]], below))
            elif isinstance(part, list):
                chosen = range(len(part)) if step[1] == _EVERY else range(int(step[1]), int(step[1]) + 1)
                waiting += [(f"{place}[{n}]", part[n], below) for n in chosen if n < len(part)]


def leaves(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every text, number, truth and null of a value, with its path; elements of a list all stand at the list's own."""
    found: list[tuple[str, Any]] = []
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and len(found) < MAX_LEAVES:
        place, part = waiting.pop(0)
        if isinstance(part, dict):
            waiting += [(_member(place, name), below) for name, below in part.items()]
        elif isinstance(part, list):
            waiting += [(place, below) for below in part]
        else:
            found.append((place, part))
    return found


def has_leaves(value: dict[str, Any], wanted: Mapping[str, Scalar]) -> bool:
    """True when a value has all of these leaves, without any conversion of types."""
    found = leaves(value)
    return all(
        any(place == path and (leaf is None if scalar is None else same(leaf, scalar)) for place, leaf in found)
        for path, scalar in wanted.items()
    )


def _texts(place: str, part: Any, named: bool) -> Iterator[Passage]:
    if isinstance(part, str):
        yield Passage(place, part)
    elif isinstance(part, dict):
        for name, below in part.items():
            yield from _texts(_member(place, name), below, named)
    elif isinstance(part, list):
        for number, below in enumerate(part):
            yield from _texts(f"{place}[{number}]", below, named)
    elif named and part is not None:
        yield Passage(place, msgspec.json.encode(part).decode())


def _member(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
