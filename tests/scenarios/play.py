"""How a scenario is played at a door, and what is written down of it: every call and every answer, names made alike."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.scenarios.door import PEOPLE, Door, House, Refused

from recollect.domain.errors import InvalidCursor
from recollect.domain.queries import parse_event_cursor

_GIVEN = re.compile(r"(?<=_)[0-9a-f]{40}|(?<=_)[0-9a-f]{32}")
"""An id that the service gives out, as a part of one with a prefix, wherever it is told."""
Line = tuple[str, str, Any]
"""Who asked, for what, and what they were told."""


class Ids(dict[Any, str]):
    """Identities and moments by the order in which they first appear, since they differ from run to run."""

    def alike(self, told: Any, name: str = "") -> Any:
        if isinstance(told, dict):
            return {key: self.alike(value, key) for key, value in told.items()}
        if isinstance(told, list):
            return [self.alike(each, name) for each in told]
        if isinstance(told, datetime):
            return self.setdefault(told, f"moment {len(self) + 1}")
        if isinstance(told, float):
            return round(told, 4)  # vectors are turned by a key of the tenant, and rounded after that
        if isinstance(told, str) and _GIVEN.search(told):
            return _GIVEN.sub(lambda found: self.setdefault(found[0], f"id {len(self) + 1}"), told)
        if name == "id" and isinstance(told, str):
            return self.setdefault(told, f"id {len(self) + 1}")
        return told


class Noted:
    """A door at which everything is written down."""

    def __init__(self, who: str, door: Door, lines: list[Line], ids: Ids) -> None:
        self._who, self._door, self._lines, self._ids = who, door, lines, ids

    def justified(self, why: str, **named: Any) -> Noted:
        return Noted(self._who, self._door.justified(why, **named), self._lines, self._ids)

    def __getattr__(self, call: str) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            try:
                told = getattr(self._door, call)(*given, **named)
            except Refused as refusal:
                self._lines.append((self._who, call, f"refused: {refusal.code}"))
                raise
            self._lines.append((self._who, call, self._ids.alike(told)))
            return told

        return noted


class Cast:
    """Those who take part, by name, each at their own door."""

    alice: Door
    bob: Door
    aliced: Door
    reader: Door
    writer: Door
    admin: Door
    auditor: Door
    operator: Door
    reviewer: Door
    second: Door
    member: Door

    def __init__(self, house: House, tenant: str) -> None:
        self._house, self._tenant = house, tenant
        self._ids = Ids()
        self.lines: list[Line] = []

    def __getattr__(self, who: str) -> Any:
        door = Noted(who, self._house.door(self._tenant, PEOPLE[who]), self.lines, self._ids)
        setattr(self, who, door)
        return door

    def pass_time(self, seconds: float) -> None:
        self._house.pass_time(seconds)


Play = Callable[[Cast], None]


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario, and which calls only some doors offer it needs."""

    name: str
    play: Play
    needs: frozenset[str] = frozenset()

    def at(self, house: House, door: str) -> list[Line]:
        """Play it in a tenant of its own, and say all that was told."""
        cast = Cast(house, f"{self.play.__name__}.{door}")
        self.play(cast)
        return ranked(cast.lines)


def ranked(lines: list[Line]) -> list[Line]:
    """The lines with places in the log by their order: the service writes things of its own in between."""
    seen = sorted(set(_sequences([told for _, _, told in lines])))
    return [(who, call, _ranked(told, seen)) for who, call, told in lines]


def _sequences(told: Any) -> Iterator[int]:
    if isinstance(told, dict):
        if isinstance(told.get("sequence"), int):
            yield told["sequence"]
        told = list(told.values())
    for each in told if isinstance(told, list) else ():
        yield from _sequences(each)


def _ranked(told: Any, seen: list[int], name: str = "") -> Any:
    if isinstance(told, dict):
        return {key: _ranked(value, seen, key) for key, value in told.items()}
    if isinstance(told, list):
        return [_ranked(each, seen, name) for each in told]
    if name == "sequence" and told is not None:
        return seen.index(told) + 1
    if name == "cursor" and told is not None:
        try:
            return f"after {bisect_right(seen, parse_event_cursor(told))} events"
        except InvalidCursor:
            return "somewhere in a search"
    return told


SCENES: list[Scene] = []


def scene(name: str, *needs: str) -> Callable[[Play], Play]:
    """Put a scenario on the list."""

    def listed(play: Play) -> Play:
        SCENES.append(Scene(name, play, frozenset(needs)))
        return play

    return listed


@contextmanager
def refused(*codes: str) -> Iterator[None]:
    """What is asked within must be refused with this code."""
    try:
        yield
        code = "nothing"
    except Refused as refusal:
        code = refusal.code
    assert code in (*codes, "usage"), f"refused with {code}, not with {' or '.join(codes)}"


def differences(one: list[Line], other: list[Line], untold: frozenset[str] = frozenset()) -> list[str]:
    """Where two doors told something different; `untold` are fields that one of them never tells."""
    found = [
        f"{number}. {mine[0]} {mine[1]}: {mine[2]!r} here, {theirs[2]!r} there"
        for number, (mine, theirs) in enumerate(zip(one, other, strict=False), 1)
        if not _same(_without(mine, untold), _without(theirs, untold))
    ]
    return found if len(one) == len(other) else [*found, f"{len(one)} answers here, {len(other)} there"]


def _same(mine: Any, theirs: Any) -> bool:
    if mine == theirs:
        return True
    # A command line refuses what it cannot read before there is anything to ask for.
    codes = {mine[2], theirs[2]} if isinstance(mine[2], str) and isinstance(theirs[2], str) else set()
    early = "refused: usage" in codes and any(code.startswith("refused: invalid_") for code in codes)
    return bool(mine[:2] == theirs[:2] and early)


def _without(told: Any, names: frozenset[str]) -> Any:
    if isinstance(told, dict):
        return {name: _without(value, names) for name, value in told.items() if name not in names}
    if isinstance(told, list | tuple):
        return [_without(each, names) for each in told]
    return told
