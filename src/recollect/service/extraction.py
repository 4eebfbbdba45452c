"""Extraction anew: when the policy extracts other attributes, what is stored already is brought up to date."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from recollect.domain.address import ROOT, Address, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Expect, Operation, Put, Relabel
from recollect.domain.errors import Contention, InvalidInput, PolicyTrouble, RevisionConflict
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import encode_value, stored_value
from recollect.ports.clock import Clock
from recollect.ports.policy import Engine
from recollect.ports.store import Store
from recollect.service.guard import InForce, Policies, extracted, given_in
from recollect.service.views import Extraction

PLACE = Address(Plane.POLICY, namespace(("policy",)), "extraction")
_BATCH = 100
_MOST_LOST = 20
_ACTOR = "extraction"


_NEVER = Extraction(False, 0, 0, 0, 0, None, None)


class Extractor:
    """Goes through a tenant's items once for every change of what is extracted; it can stop anywhere and go on."""

    def __init__(self, store: Store, policies: Policies, engine: Engine, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._engine = engine
        self._clock = clock

    async def status(self, tenant: str) -> Extraction:
        """How far it got."""
        row = await self._store.get(tenant, PLACE)
        state = _state(row)
        if await self._is_due(tenant, state) and not (state and state["finished_at"] is None):
            return Extraction(True, 0, await self._store.count(tenant, Plane.ITEM), 0, 0, None, None)
        return _shown(state)

    async def round(
        self, tenant: str, after_batch: Callable[[int], Awaitable[bool]] | None = None, *, asked: bool = False
    ) -> int:
        """Bring a tenant up to date and say how many items were looked at; `after_batch` may end it early.

        When somebody `asked` for it, also where nothing tells whether it is due: before any pass, and when the policy
        is kept elsewhere.
        """
        if asked:
            await self._begin_if_unsure(tenant)
        looked_at = lost = 0
        while True:
            try:
                done = await self._batch(tenant)
            except Contention:  # somebody else did it, or the policy changed
                lost += 1
                if lost > _MOST_LOST:
                    raise
                await self._store.pause(0.01 * lost)
                continue
            lost = 0
            looked_at += done or 0
            if done is None or (after_batch is not None and not await after_batch(done)):
                return looked_at

    async def _batch(self, tenant: str) -> int | None:
        """One batch of a pass, and its progress, in one commit; None when nothing is left to do."""
        in_force = await self._policies.in_force(tenant)
        row = await self._store.get(tenant, PLACE)
        state = _state(row)
        if not await self._is_due(tenant, state):
            return None
        if state is None or state["extraction"] != _aim(in_force):
            state = await self._begun(tenant, in_force)
        query = Find(Plane.ITEM, ROOT, order=Order.KEY, limit=_BATCH, cursor=state["cursor"], archived=Archived.INCLUDE)
        page = await self._store.find(tenant, query)
        relabelled: list[Operation] = []
        failed = 0
        for item in page.rows:
            try:
                relabel = await _relabel(in_force, item)
            except (PolicyTrouble, InvalidInput):
                failed += 1
                continue
            if relabel is not None:
                relabelled.append(relabel)
        state |= {
            "cursor": page.cursor,
            "done": state["done"] + len(page.rows),
            "changed": state["changed"] + len(relabelled),
            "failed": state["failed"] + failed,
            "finished_at": self._clock() if page.cursor is None else None,
        }
        conditions = (*in_force.conditions, Expect(PLACE, 0 if row is None else row.revision))
        operations = (*relabelled, Put(PLACE, encode_value(state)))
        await self._store.commit(Commit(tenant, operations, conditions, _ACTOR))
        return len(page.rows)

    async def _is_due(self, tenant: str, state: Mapping[str, Any] | None) -> bool:
        wanted = _aim(await self._policies.in_force(tenant))
        if state is None:
            # Nothing was ever extracted by another policy than the one that everybody begins with.
            return wanted != f"{await self._engine.baseline()}@0"
        return bool(state["extraction"] != wanted or state["finished_at"] is None)

    async def _begin_if_unsure(self, tenant: str) -> None:
        row = await self._store.get(tenant, PLACE)
        state = _state(row)
        if state is None or (not self._engine.manages and state["finished_at"] is not None):
            in_force = await self._policies.in_force(tenant)
            put = Put(PLACE, encode_value(await self._begun(tenant, in_force)))
            put = replace(put, expected_revision=0 if row is None else row.revision)
            with suppress(RevisionConflict):  # somebody else began it
                await self._store.commit(Commit(tenant, (put,), (), _ACTOR))

    async def _begun(self, tenant: str, in_force: InForce) -> dict[str, Any]:
        return {
            "extraction": _aim(in_force),
            "cursor": None,
            "done": 0,
            "total": await self._store.count(tenant, Plane.ITEM),
            "changed": 0,
            "failed": 0,
            "started_at": self._clock(),
            "finished_at": None,
        }


def _aim(in_force: InForce) -> str:
    """What a pass is for: how attributes are extracted, since which activation.

    A policy that comes back is another aim: something may have been written while another one was in force.
    """
    revisions = [condition.revision for condition in in_force.conditions if isinstance(condition, Expect)]
    return f"{in_force.policy.extraction}@{max(revisions, default=0)}"


async def _relabel(in_force: InForce, row: Row) -> Relabel | None:
    if row.value is None:
        return None
    sealed = None if row.attributes is None else stored_value(row.attributes)
    place, key = row.address.namespace.segments, row.address.key
    given = given_in(row.policy_attributes)
    plain = await extracted(in_force.policy, place, key, stored_value(row.value), sealed, given)
    text = encode_attributes(plain)
    return None if text == row.policy_attributes else Relabel(row.address, row.revision, text)


def _state(row: Row | None) -> dict[str, Any] | None:
    return None if row is None or row.value is None else dict(stored_value(row.value))


def _shown(state: Mapping[str, Any] | None) -> Extraction:
    if state is None:
        return _NEVER
    return Extraction(
        state["finished_at"] is None,
        state["done"],
        max(state["total"], state["done"]),
        state["changed"],
        state["failed"],
        datetime_of(Instant(state["started_at"])),
        None if state["finished_at"] is None else datetime_of(Instant(state["finished_at"])),
    )
