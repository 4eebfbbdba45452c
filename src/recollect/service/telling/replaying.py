"""Replaying: a recorded conversation is run again from what it began with, and compared event by event.

What the conversation itself wrote is made anew, step by step. What others wrote to its spaces meanwhile is read from
the log, so that a replay does not depend on what those spaces hold today. What was forgotten for good since is missing
then, and a step that looked at it is named as one that can no longer be compared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.domain.address import Namespace
from recollect.domain.events import Entry
from recollect.domain.governance.ids import Owners
from recollect.domain.governance.items import Item
from recollect.domain.governance.ledger import State, Store
from recollect.domain.governance.taping import Difference, Step, beginning, differences, hash_of, taken
from recollect.domain.governance.terms import Kind, Space
from recollect.domain.governance.traces import as_json
from recollect.domain.instants import Instant
from recollect.domain.queries import EventQuery, Find, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.remembering.records import live_record
from recollect.domain.rows import Row, is_expired
from recollect.domain.values import stored_value
from recollect.ports.store import Store as Kept
from recollect.service.pipeline.places import Places

_PAGE = 500
_RECORDS = frozenset({Plane.RECORD})
_RULE_OF = {
    "memory_recall": "recall",
    "memory_write": "record",
    "memory_denied": "gate",
    "memory_conflict": "conflict",
    "memory_forget": "retention",
    "memory_border_check": "border",
    "memory_promoted": "promotion",
    "memory_promotion_denied": "promotion",
    "memory_phase_started": "phase",
    "memory_deleted": "deletion",
    "memory_phase_diff": "phase_diff",
}
"""Which rule each event tells of."""


@dataclass(slots=True)
class World:
    """What the spaces of a conversation hold, as others and the replay itself changed it."""

    owners: Owners
    roots: dict[Namespace, Space]
    items: dict[str, dict[str, Item]] = field(default_factory=dict)
    ends: dict[str, Instant | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Memories that were there and that nobody can read any more, by the store they were in."""
    unseen: frozenset[str] = frozenset()
    """Memories that the last step might not see."""
    unread: frozenset[str] = frozenset()
    """The stores of which the last step read nothing."""

    def tell(self, entry: Entry) -> None:
        """Take what somebody else did."""
        event = entry.event
        space = self.roots.get(event.address.namespace)
        if space is None:
            return
        store_key = self.owners.store_key(space)
        item_id = f"{store_key}:{event.address.key}"
        there = self.items.setdefault(store_key, {})
        row = entry.row
        if event.kind in (EventKind.ADD, EventKind.UPDATE) and (row is None or row.value is None):
            self.missing[item_id] = store_key
            return
        record = None if row is None or row.value is None or row.archived else live_record(row.value)
        self.missing.pop(item_id, None)
        if event.kind in (EventKind.ADD, EventKind.UPDATE) and record is not None:
            there[record.id] = record.item()
            self.ends[record.id] = None if row is None else row.expires_at
        else:
            there.pop(item_id, None)

    def take(self, state: State, turns_end: Instant | None) -> None:
        """Take what a step of the replay left, with when the turns are over that it added."""
        for store_key, store in state.stores.items():
            if store_key in self.unread:
                continue
            kept = self.items.get(store_key, {})
            new = [each.id for each in store.items if each.kind is Kind.SHORT_TERM and each.id not in kept]
            self.ends |= dict.fromkeys(new, turns_end)
            hidden = {item_id: item for item_id, item in kept.items() if item_id in self.unseen}
            self.items[store_key] = {each.id: each for each in store.items} | hidden

    def stores(self, at: Instant) -> dict[str, Store]:
        """The stores as a step at a moment sees them; what happened first comes first."""
        return {
            key: Store(
                tuple(
                    sorted(
                        (each for each in items.values() if not is_expired(self.ends.get(each.id), at)),
                        key=lambda each: each.created_at,
                    )
                )
            )
            for key, items in self.items.items()
        }


@dataclass(slots=True)
class Replay:
    """What came of a replay."""

    session: str
    turns: int = 0
    events: int = 0
    found: list[Difference] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    hashes: list[dict[str, Any]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        """As callers see it."""
        return {
            "session": self.session,
            "equal": not self.found and not self.missing,
            "turns": self.turns,
            "events": self.events,
            "hashes": self.hashes,
            "differences": [
                msgspec.to_builtins(each) | {"rule": _RULE_OF.get(each.type, each.type)} for each in self.found
            ],
            "forgotten": self.missing,
        }


class Replaying:
    """Runs a session of one tenant again, without writing anything."""

    def __init__(self, store: Kept, tenant: str, salt: str) -> None:
        self._store, self._tenant, self._salt = store, tenant, salt

    async def run(self, places: Places, session: str) -> Replay:
        """Run every step again, in order, and compare what is told."""
        done, world, after = Replay(session), None, 0
        async for row in self._steps(places):
            step = msgspec.json.decode(row.value or b"{}", type=Step)
            where = Places(step.user, step.session, step.project)
            if world is None:
                roots = {where.root(each): each for each in Space}
                world = World(step.owners, roots)
            await self._meanwhile(world, where, after, step.seen)
            await self._compare(done, world, where, step)
            after = row.sequence
        return done

    async def _steps(self, places: Places) -> AsyncIterator[Row]:
        root, cursor = places.root(Space.SESSION), None
        while True:
            query = Find(Plane.TURN, root, order=Order.KEY, limit=_PAGE, cursor=cursor)
            page = await self._store.find(self._tenant, query)
            for row in page.rows:
                if row.value is not None and row.address.namespace == root:
                    yield row
            cursor = page.cursor
            if cursor is None:
                return

    async def _meanwhile(self, world: World, places: Places, after: int, upto: int) -> None:
        """Take what others did to the spaces between two steps."""
        entries: list[Entry] = []
        for within in (places.own(), places.root(Space.PROJECT), places.root(Space.SYSTEM)):
            at = after
            while at < upto:
                page = await self._store.events(self._tenant, EventQuery(at, within, _RECORDS, limit=_PAGE))
                entries += [each for each in page.entries if each.event.sequence <= upto]
                at = page.after
                if page.complete:
                    break
        for entry in sorted(entries, key=lambda each: each.event.sequence):
            world.tell(entry)

    async def _compare(self, done: Replay, world: World, places: Places, step: Step) -> None:
        """Run one step and note where it tells something else."""
        state = beginning(step, world.stores(step.at))
        made = taken(state, step.call(self._salt), step.query, step.said)
        events = [as_json(each) for each in made.traces]
        world.unseen = frozenset(step.hidden)
        world.unread = frozenset(step.owners.store_key(each) for each in step.unread)
        world.take(made.state, step.turns_end())
        seen = [item_id for item_id, store_key in world.missing.items() if store_key in state.stores]
        done.turns += 1
        done.events += len(events)
        done.hashes.append({"turn": step.number, "recorded": step.hash, "replayed": hash_of(events)})
        if hash_of(events) == step.hash:
            return
        if seen:
            done.missing.append({"turn": step.number, "records": seen[:20]})
            return
        recorded = await self._recorded(places, step)
        unlike = [] if recorded is None else differences(step.number, recorded, events)
        if not unlike:
            unlike = [
                Difference(
                    turn=step.number, event=0, type="", path="hash", recorded=step.hash, replayed=hash_of(events)
                )
            ]
        done.found += unlike

    async def _recorded(self, places: Places, step: Step) -> list[Any] | None:
        row = await self._store.get(self._tenant, places.trace(step.trace_id))
        return None if row is None or row.value is None else list(stored_value(row.value)["events"])
