"""Scope: which spaces a recall may look into, and the phases that they are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.address import Namespace
from recollect.domain.callers import Action
from recollect.domain.filters import EVERYTHING, Filter
from recollect.domain.governance.phases import Phase
from recollect.domain.governance.spaces import CLOSED, OPEN, Border
from recollect.domain.governance.terms import Space
from recollect.domain.instants import Instant
from recollect.domain.recall.asking import CURRENT, Asked
from recollect.domain.values import stored_value
from recollect.ports.store import Store
from recollect.service.guard import Ruling
from recollect.service.pipeline.places import Places


@dataclass(frozen=True, slots=True)
class Crossing:
    """The border of a space that was asked for; where it is open, what lies behind it."""

    space: Space
    border: Border
    root: Namespace | None = None
    filter: Filter = EVERYTHING

    def told(self) -> dict[str, Any]:
        """The border as callers see it."""
        return {"space": self.space.value, "allowed": self.border.allowed, "reason": self.border.reason.value}


@dataclass(frozen=True, slots=True)
class Behind:
    """A space that may be read."""

    space: Space
    root: Namespace
    filter: Filter
    """What the policy lets the caller see there."""


async def crossings(ruling: Ruling, places: Places, spaces: tuple[Space, ...]) -> list[Crossing]:
    """The borders of these spaces. One that the call does not have, or may not read wholly, is closed."""
    return [await _crossing(ruling, places, space) for space in spaces]


async def _crossing(ruling: Ruling, places: Places, space: Space) -> Crossing:
    if not places.has(space):
        return Crossing(space, CLOSED)
    root = places.root(space)
    view = await ruling.view(root.segments, None)
    if view is None or view.prefix != root.segments:
        return Crossing(space, CLOSED)
    if not await ruling.allows(Action.READ, root.segments, "records"):
        return Crossing(space, CLOSED)
    return Crossing(space, OPEN, root, view.filter)


def behind(found: list[Crossing]) -> list[Behind]:
    """The spaces whose borders are open."""
    return [Behind(each.space, each.root, each.filter) for each in found if each.root is not None]


async def phases_of(
    store: Store, tenant: str, places: Places, spaces: list[Space], as_of: Instant | None
) -> dict[Space, Phase | None]:
    """The phase that each space is in, or was in at a moment; None where nothing was written yet."""
    found: dict[Space, Phase | None] = {}
    for space in spaces:
        row = await store.get(tenant, places.counters(space), as_of=as_of)
        told = [] if row is None or row.value is None else stored_value(row.value)["phases"]
        found[space] = msgspec.convert(told[-1], Phase) if told else None
    return found


def asked_for_phases(asked: Asked, opened: list[Behind]) -> list[Space]:
    """The spaces whose phase matters: that of the session is told, and all where the current one is asked for."""
    if asked.phase == CURRENT:
        return [each.space for each in opened]
    return [each.space for each in opened if each.space is Space.SESSION]
