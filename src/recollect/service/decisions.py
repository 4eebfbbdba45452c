"""Decisions: what was asked of the policy lately, kept so that a new one can be tried on it before it decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from recollect.domain.address import Address, Namespace, namespace
from recollect.domain.callers import LOCAL, SYSTEM_TENANT, Action, Caller, Scope
from recollect.domain.commits import Commit, Delete, Put
from recollect.domain.errors import RecollectError
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import encode_value, stored_value
from recollect.ports.store import Store

MOST_KEPT = 1_000
"""How many different decisions are kept in a tenant."""
KEPT_SECONDS = 7 * 86_400
MOST_WAITING = 200
"""How many new ones of a tenant are noted between two times of writing down."""
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """That a caller wanted to do something; of all keys in a namespace, one stands for the others."""

    caller: Caller
    action: Action
    namespace: tuple[str, ...]
    key: str


class Decisions:
    """Notes what is new, in memory; `keep` writes it down now and then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: set[tuple[str, str, str, Action, tuple[str, ...]]] = set()
        self._waiting: dict[str, list[Asked]] = {}

    def note(self, caller: Caller, action: Action, place: Sequence[str], key: str) -> None:
        """That this was asked; cheap when it was asked before. What the process asks of itself tells nothing."""
        if caller.credential == LOCAL:
            return
        segments = tuple(place)
        question = (caller.tenant, caller.user_id, caller.client_id, action, segments)
        waiting = self._waiting.get(caller.tenant)
        if question in self._seen or (waiting is not None and len(waiting) >= MOST_WAITING):
            return
        if len(self._seen) >= 10 * MOST_KEPT:
            self._seen.clear()
        self._seen.add(question)
        self._waiting.setdefault(caller.tenant, []).append(Asked(caller, action, segments, key))

    async def keep(self) -> int:
        """Write down what is new, and say how much that was. What a tenant has no more room for is dropped."""
        waiting = {tenant: tuple(mine) for tenant, mine in self._waiting.items()}
        kept = 0
        for tenant, mine in sorted(waiting.items()):
            for start in range(0, len(mine), _BATCH):
                kept += await self._write(tenant, mine[start : start + _BATCH])
            # They stay until they are written, so that nobody who keeps meanwhile misses them.
            left = [each for each in self._waiting.get(tenant, ()) if each not in mine]
            if left:
                self._waiting[tenant] = left
            else:
                self._waiting.pop(tenant, None)
        return kept

    async def _write(self, tenant: str, asked: Sequence[Asked]) -> int:
        known = {_identity(each) for each in await self.of(tenant)}
        room = MOST_KEPT - len(known)
        fresh = [each for each in asked if _identity(each) not in known][: max(0, room)]
        puts: list[Put] = []
        for each in fresh:
            with suppress(RecollectError):  # claims may hold what cannot be kept
                puts.append(_put(each))
        if not puts:
            return 0
        try:
            await self._store.commit(Commit(SYSTEM_TENANT, tuple(puts), actor="recorder"))
        except RecollectError:
            return 0  # they will be asked again
        return len(puts)

    async def of(self, tenant: str) -> list[Asked]:
        """What was asked in a tenant lately."""
        found: list[Asked] = []
        cursor: str | None = None
        while len(found) < MOST_KEPT:
            query = Find(Plane.DECISION, _shelf(tenant), order=Order.KEY, limit=500, cursor=cursor)
            page = await self._store.find(SYSTEM_TENANT, query)
            found += [_asked(tenant, row) for row in page.rows]
            cursor = page.cursor
            if cursor is None:
                break
        return found

    async def forget(self, tenant: str, user_id: str) -> int:
        """Drop what a user asked for, and what was asked about theirs; the next sweep takes the rest of it away."""
        for waiting in self._waiting.values():
            waiting[:] = [each for each in waiting if not _concerns(each, tenant, user_id)]
        gone = [each for each in await self.of(tenant) if _concerns(each, tenant, user_id)]
        for start in range(0, len(gone), _BATCH):
            deletes = tuple(Delete(_address(each)) for each in gone[start : start + _BATCH])
            await self._store.commit(Commit(SYSTEM_TENANT, deletes, actor="recorder"))
        return len(gone)


def _identity(asked: Asked) -> tuple[object, ...]:
    """What makes two of them the same."""
    return asked.caller.user_id, asked.caller.client_id, asked.action, asked.namespace


def _put(asked: Asked) -> Put:
    caller = asked.caller
    said: dict[str, Any] = {
        "user_id": caller.user_id,
        "client_id": caller.client_id,
        "roles": sorted(caller.roles),
        "scopes": sorted(scope.value for scope in caller.scopes),
        "claims": dict(caller.claims),
        "action": asked.action.value,
        "namespace": list(asked.namespace),
        "key": asked.key,
    }
    return Put(_address(asked), encode_value(said), ttl=KEPT_SECONDS * 1_000_000)


def _address(asked: Asked) -> Address:
    caller = asked.caller
    said = (caller.user_id, caller.client_id, asked.action.value, asked.namespace)
    return Address(Plane.DECISION, _shelf(caller.tenant), sha256(msgspec.msgpack.encode(said)).hexdigest())


def _shelf(tenant: str) -> Namespace:
    """Where the service keeps what was asked in a tenant: not in the tenant's own log, which tells of memories."""
    return namespace(("decision", tenant))


def _concerns(asked: Asked, tenant: str, user_id: str) -> bool:
    mine = asked.caller.user_id == user_id or asked.namespace[:2] == ("user", user_id)
    return mine and asked.caller.tenant == tenant


def _asked(tenant: str, row: Row) -> Asked:
    said: Mapping[str, Any] = stored_value(row.value or b"{}")
    caller = Caller(
        tenant,
        said["user_id"],
        said["client_id"],
        frozenset(said["roles"]),
        frozenset(Scope(scope) for scope in said["scopes"]),
        said["claims"],
        "recorded",
    )
    return Asked(caller, Action(said["action"]), tuple(said["namespace"]), said["key"])
