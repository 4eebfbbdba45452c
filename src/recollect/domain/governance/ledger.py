"""Ledger: what the spaces hold, and every change that one call makes to it."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.governance.events import Weight
from recollect.domain.governance.ids import Numbering, Owners
from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.phases import Phase, PhaseRequest, Snapshot, begun, closed, is_new, member_of
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.spaces import phase_border
from recollect.domain.governance.telling import Teller
from recollect.domain.governance.terms import BorderAction, Kind, Space
from recollect.domain.governance.traces import Trace

NO_PHASE = "phase-unknown"
"""What a deletion names where an item was put before there were phases."""


class Store(msgspec.Struct, frozen=True):
    """What one owner's space holds, in the order in which it came."""

    items: tuple[Item, ...] = ()
    phases: tuple[Phase, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    """What there was at the end of each phase that is over; the last phase holds what there is."""

    @property
    def current(self) -> Phase | None:
        """The phase that the space is in."""
        return self.phases[-1] if self.phases else None


class State(msgspec.Struct, frozen=True):
    """All that governance decides from: how far the counters have come, and what each store holds, by its key."""

    numbering: Numbering = Numbering()
    stores: dict[str, Store] = {}

    def store(self, store_key: str) -> Store:
        """What is held under the key; an empty store where there is nothing."""
        return self.stores.get(store_key, Store())


class Put(msgspec.Struct, frozen=True, tag=True):
    """An item is there, or has something more noted about it."""

    store_key: str
    item: Item


class Drop(msgspec.Struct, frozen=True, tag=True):
    """An item is gone."""

    store_key: str
    item: Item
    reason: Reason
    replaced_by: str | None = None


class Begin(msgspec.Struct, frozen=True, tag=True):
    """A phase began."""

    store_key: str
    phase: Phase
    over: Snapshot | None = None
    """What there was at the end of the phase before."""


Change = Put | Drop | Begin


class Ledger:
    """The state in the course of one call: each change is made, noted and told here, in order."""

    def __init__(self, state: State, teller: Teller, owners: Owners) -> None:
        self.teller = teller
        self.owners = owners
        self.numbering = state.numbering
        self.traces: list[Trace] = []
        self.changes: list[Change] = []
        self._stores = dict(state.stores)

    def state(self) -> State:
        """The state as it is now."""
        return State(self.numbering, dict(self._stores))

    def store(self, space: Space) -> Store:
        """What the space holds now."""
        return self._stores.get(self.owners.store_key(space), Store())

    def tell(self, *traces: Trace) -> None:
        """Note what happened."""
        self.traces += traces

    def make(self, space: Space, kind: Kind, text: str, source: str, weight: Weight, **meta: Any) -> Item:
        """An item of the space's current phase, with an id and a tick of its own. It is not there until it is put."""
        self.numbering, item_id = self.numbering.numbered(self.owners.store_key(space), kind)
        phase = self.store(space).current
        noted = meta | (phase.noted() if phase else {}) | {"space": space, "owner": self.owners.of(space)}
        return Item(
            id=item_id,
            kind=kind,
            text=text,
            source=source,
            created_at=self.numbering.tick,
            importance=weight.importance,
            meta=Meta(importance_reason=weight.reasons, **noted),
        )

    def put(self, space: Space, item: Item) -> None:
        """Add an item to the space and to its current phase."""
        self._set(space, items=(*self.store(space).items, item))
        self.changes.append(Put(self.owners.store_key(space), item))

    def note(self, space: Space, item: Item) -> None:
        """Keep an item with something more noted about it."""
        items = self.store(space).items
        self._set(space, items=tuple(item if each.id == item.id else each for each in items))
        self.changes.append(Put(self.owners.store_key(space), item))

    def drop(self, space: Space, item: Item, reason: Reason, replaced_by: str | None = None) -> None:
        """Remove an item from the space and its current phase, and tell so."""
        store = self.store(space)
        self._set(space, items=tuple(each for each in store.items if each.id != item.id))
        self.changes.append(Drop(self.owners.store_key(space), item, reason, replaced_by))
        phase_id = store.current.id if store.current else item.meta.phase_id or NO_PHASE
        self.tell(self.teller.deleted(space, self.owners.of(space), phase_id, item, reason, replaced_by))

    def enter(self, space: Space, request: PhaseRequest | None, *, writing: bool) -> None:
        """See that the space is in the phase that is asked for.

        Where phases are disabled nothing is begun by request, but what is written needs a first phase all the same.
        """
        store = self.store(space)
        rules = self.teller.contract.phase
        if request is None and (store.phases or not writing):
            return
        border = phase_border(rules)
        self.tell(self.teller.checked(BorderAction.PHASE_START, border, space))
        if not border.allowed:
            request = None
            if store.phases or not writing:
                return
        if is_new(store.phases, request):
            self.numbering = self.numbering.ticked()
            phase = begun(store.phases, request, self.numbering.tick)
            over = self.held(space)
            snapshots = store.snapshots if over is None else closed(store.snapshots, over, rules.max_phases)
            self._set(space, phases=(*store.phases, phase), snapshots=snapshots)
            self.changes.append(Begin(self.owners.store_key(space), phase, over))
            self.tell(self.teller.began(space, self.owners.of(space), phase))

    def held(self, space: Space) -> Snapshot | None:
        """What the space holds now, as its current phase will be remembered; None where there is no phase."""
        store, shown_key = self.store(space), self.teller.redaction.shown_key
        if store.current is None:
            return None
        return Snapshot(store.current.id, tuple(member_of(each, shown_key(each)) for each in store.items))

    def _set(self, space: Space, **changes: Any) -> None:
        self._stores[self.owners.store_key(space)] = msgspec.structs.replace(self.store(space), **changes)
