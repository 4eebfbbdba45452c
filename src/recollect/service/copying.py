"""Copying a whole deployment from one engine to another, exactly as it is stored.

1.  What is there is copied shelf by shelf, in the order of names. How far one is, is noted in the target with every
    batch, so that a copy that was broken off goes on there. Until the end the target is marked: nobody can serve it.
2.  Then both sides are read again, side by side, and what differs is put right: what was written to the source
    meanwhile, and what a crash left half done. This is repeated until nothing differs and the source has held still.
3.  In the end every log of the target is verified, unless told not to, its head is compared with the source's, and its
    versions are counted. Only then is the mark taken away.

No value is opened, so no key is needed; the master key that serves the source serves the target as well. The target
must be empty, or hold an earlier state of the same source and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from recollect.domain.errors import CursorExpired, LeaseLost, NotAStore, StoreBusy, StoreCorrupt
from recollect.domain.events import Head
from recollect.domain.queries import EventQuery
from recollect.domain.stored import Name, Shelf, Stored, StoredTenant
from recollect.ports.keys import KeyStore, WrappedKey
from recollect.ports.store import Lease, Store

Tell = Callable[[str, int, int], None]
"""Called now and then with what is being done, how much of it is done, and how much there is to do."""
LEASE = "copy"
LEASE_SECONDS = 3.0
"""How long one who was killed keeps others out. One who is slow may lose it, and takes it again if nobody else did."""
ROUNDS = 5
"""How often both sides are compared before the source counts as one that does not hold still."""
_LOOK_SECONDS = 0.25
_KEYS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Side:
    """One deployment: its store, and the wrapped keys that belong to it."""

    store: Store
    keys: KeyStore


@dataclass(frozen=True, slots=True)
class CopiedTenant:
    """What the copy of a tenant has; the same as the source."""

    tenant: str
    versions: int
    events: int
    head: str


@dataclass(frozen=True, slots=True)
class Copied:
    """What there is now on both sides, and how many records were written to bring that about."""

    tenants: tuple[CopiedTenant, ...]
    keys: int
    written: int


class _Anchor(msgspec.Struct, frozen=True):
    """A point of the source's log, by which it is known again."""

    tenant: str
    sequence: int
    hash: bytes


class _Mark(msgspec.Struct, frozen=True):
    """How far a copy is: which shelf, and after which name; whether everything was copied once; and from where."""

    anchor: _Anchor | None
    shelf: str = Shelf.VERSIONS.value
    after: list[Any] = []
    """A name."""
    filled: bool = False

    def encoded(self) -> bytes:
        return msgspec.msgpack.encode(self)


async def copy(
    source: Side,
    target: Side,
    *,
    holder: str,
    tell: Tell,
    verify: bool = True,
    lease_seconds: float = LEASE_SECONDS,
) -> Copied:
    """Bring the target to what the source has; go on with it, if that was begun before.

    Records are compared in any case. Without `verify`, the target's logs are not recomputed as well.
    """
    copying = _Copying(source, target, holder, tell, lease_seconds)
    await copying.take_lease()
    try:
        await copying.begin()
        await copying.fill()
        counts = await copying.agree()
        copied = await copying.verified(counts) if verify else await copying.counted(counts)
        await target.store.set_mark(None)
        return copied
    finally:
        await copying.release()


class _Copying:
    """One run."""

    def __init__(self, source: Side, target: Side, holder: str, tell: Tell, lease_seconds: float) -> None:
        self._source = source.store
        self._target = target.store
        self._keys = (source.keys, target.keys)
        self._holder = holder
        self._tell = tell
        self._seconds = lease_seconds
        self._lease: Lease | None = None
        self._mark = _Mark(None)
        self._written = 0

    # -- one at a time

    async def take_lease(self) -> None:
        """Be the only one who copies to the target; one that was killed is waited for until its lease runs out."""
        for _ in range(round(self._seconds / _LOOK_SECONDS) + 2):
            self._lease = await self._target.acquire(LEASE, self._holder, self._seconds)
            if self._lease is not None:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        raise StoreBusy("another copy to the same place is under way: let it finish")

    async def _still_alone(self) -> None:
        self._lease = await self._target.acquire(LEASE, self._holder, self._seconds)
        if self._lease is None:
            raise StoreBusy("this copy stood still for so long that another one took over: let that one finish")

    async def release(self) -> None:
        """Let others copy."""
        if self._lease is not None:
            with suppress(LeaseLost):
                await self._target.release(self._lease)

    # -- what is there

    async def begin(self) -> None:
        """Mark the target, unless it holds something else than an earlier state of the source."""
        noted = await self._target.mark()
        for tenant in await _heads(self._target):
            if not await self._knows(_Anchor(tenant.tenant, tenant.sequence, tenant.hash)):
                raise NotAStore(
                    f"the target holds something else: the log of tenant {tenant.tenant} is not the source's; "
                    "nothing was changed, so name an empty place"
                )
        if noted is not None:
            mark = msgspec.msgpack.decode(noted, type=_Mark)
            if mark.anchor is not None and not await self._knows(mark.anchor):
                raise NotAStore("a copy of another source was begun in the target: name that source, or an empty place")
            self._mark = mark
            return
        heads = await _heads(self._source)
        anchor = _Anchor(heads[0].tenant, heads[0].sequence, heads[0].hash) if heads else None
        # What was copied before is only compared.
        self._mark = _Mark(anchor, filled=bool(await _heads(self._target)))
        await self._check_empty()
        await self._target.set_mark(self._mark.encoded())

    async def _check_empty(self) -> None:
        """Refuse a target without any log that holds records or keys all the same."""
        if self._mark.filled:
            return
        for shelf in Shelf:
            async with aclosing(self._target.stored(shelf)) as batches:
                if await anext(batches, None):
                    raise NotAStore(f"the target holds {shelf} of something else: name an empty place")

    async def _knows(self, anchor: _Anchor) -> bool:
        """True when the source's log has that very event, or ends or begins with it."""
        head = await self._source.head(anchor.tenant)
        if (anchor.sequence, anchor.hash) in ((head.sequence, head.hash), (head.trimmed, head.trimmed_hash)):
            return True
        if anchor.sequence > head.sequence:
            return False
        try:
            page = await self._source.events(
                anchor.tenant, EventQuery(after=anchor.sequence - 1, limit=1, values=False)
            )
        except CursorExpired:
            return False
        return [(each.event.sequence, each.event.hash) for each in page.entries] == [(anchor.sequence, anchor.hash)]

    # -- copying

    async def fill(self) -> None:
        """Copy everything once, from where an earlier run was."""
        await self._copy_keys()
        if self._mark.filled:
            return
        shelves = list(Shelf)
        for shelf in shelves[shelves.index(Shelf(self._mark.shelf)) :]:
            after = tuple(self._mark.after) if shelf == self._mark.shelf else ()
            total = await self._source.amount(shelf)
            done = await self._target.amount(shelf) if after else 0
            async with aclosing(_ahead(self._source.stored(shelf, after))) as batches:
                async for batch in batches:
                    await self._still_alone()
                    self._mark = msgspec.structs.replace(self._mark, shelf=shelf.value, after=list(batch[-1].name))
                    await self._target.take_over(shelf, batch, mark=self._mark.encoded())
                    self._written += len(batch)
                    done += len(batch)
                    self._tell(f"copying {shelf}", min(done, total), total)
        self._mark = _Mark(self._mark.anchor, filled=True)
        await self._target.set_mark(self._mark.encoded())

    async def agree(self) -> dict[Shelf, Counter[str]]:
        """Put right what differs, until nothing does; return how many records each tenant has."""
        for _ in range(ROUNDS):
            before = await _heads(self._source)
            wrong = await self._copy_keys()
            counts: dict[Shelf, Counter[str]] = {shelf: Counter() for shelf in Shelf}
            for shelf in Shelf:
                wrong += await self._correct(shelf, counts[shelf])
            if not wrong and await _heads(self._source) == before:
                return counts
        raise StoreBusy("the source is still being written to: stop its services, and run the same command again")

    async def _correct(self, shelf: Shelf, counts: Counter[str]) -> int:
        """Compare a shelf of both sides, record by record, and return how many had to be put right."""
        wrong, done, total = 0, 0, await self._source.amount(shelf)
        async with (
            aclosing(_ahead(self._source.stored(shelf))) as batches,
            aclosing(_ahead(self._target.stored(shelf))) as there,
        ):
            others = _Reading(there)
            async for batch in batches:
                await self._still_alone()
                found = {each.name: each for each in await others.upto(batch[-1].name)}
                differ = [each for each in batch if found.pop(each.name, None) != each]
                if differ or found:
                    await self._target.take_over(shelf, differ, list(found))
                    wrong += len(differ) + len(found)
                counts.update(each.tenant for each in batch)
                done += len(batch)
                self._tell(f"comparing {shelf}", min(done, total), total)
            left = [each.name for each in await others.upto(None)]
            if left:
                await self._target.take_over(shelf, [], left)
        self._written += wrong + len(left)
        return wrong + len(left)

    async def _copy_keys(self) -> int:
        return await self._target.aside(lambda: copy_keys(*self._keys))

    # -- the end

    async def verified(self, counts: dict[Shelf, Counter[str]]) -> Copied:
        """Verify every log of the target, and compare it with what the source has."""
        copied = []
        for head in await _heads(self._source):
            await self._still_alone()
            tenant = head.tenant
            told = partial(self._tell, f"verifying {tenant}")
            found = await self._target.verify(tenant, expected=(head.sequence, head.hash), progress=told)
            if not found.sound:
                raise StoreCorrupt(
                    f"the log of tenant {tenant} does not verify where it was copied to: {found.problems[0].message}; "
                    "run `recollect verify` on the source"
                )
            versions, events = counts[Shelf.VERSIONS][tenant], counts[Shelf.EVENTS][tenant]
            if (found.head.sequence, found.head.hash) != (head.sequence, head.hash) or (
                found.versions,
                found.events,
            ) != (versions, events):
                raise StoreCorrupt(f"tenant {tenant} is not the same on both sides: run the same command again")
            copied.append(CopiedTenant(tenant, versions, events, found.head.text()))
        return Copied(tuple(copied), _amount(self._keys[1]), self._written)

    async def counted(self, counts: dict[Shelf, Counter[str]]) -> Copied:
        """What the target has, which was found to be the same."""
        copied = [
            CopiedTenant(
                head.tenant,
                counts[Shelf.VERSIONS][head.tenant],
                counts[Shelf.EVENTS][head.tenant],
                Head(head.sequence, head.hash).text(),
            )
            for head in await _heads(self._target)
        ]
        return Copied(tuple(copied), _amount(self._keys[1]), self._written)


class _Reading:
    """A stream of records, of which one takes as far as a name."""

    def __init__(self, batches: AsyncGenerator[list[Stored], None]) -> None:
        self._batches = batches
        self._held: list[Stored] = []
        self._ended = False

    async def upto(self, name: Name | None) -> list[Stored]:
        """The next records up to that name, or all that are left."""
        while not self._ended and (name is None or not self._held or self._held[-1].name <= name):
            batch = await anext(self._batches, None)
            self._ended = batch is None
            self._held += batch or []
        taken = [each for each in self._held if name is None or each.name <= name]
        self._held = self._held[len(taken) :]
        return taken


async def _ahead(batches: AsyncGenerator[list[Stored], None]) -> AsyncGenerator[list[Stored], None]:
    """The same batches, with the next one on its way while one is used."""
    following = asyncio.ensure_future(anext(batches, None))
    try:
        while (batch := await following) is not None:
            following = asyncio.ensure_future(anext(batches, None))
            yield batch
    finally:
        following.cancel()
        with suppress(BaseException):
            await following
        await batches.aclose()


async def _heads(store: Store) -> list[StoredTenant]:
    async with aclosing(store.stored(Shelf.TENANTS)) as batches:
        return [each async for batch in batches for each in batch if isinstance(each, StoredTenant)]


# -- keys


def copy_keys(source: KeyStore, target: KeyStore) -> int:
    """Bring the target's wrapped keys to what the source has, and return how many changes that took."""
    known = {each.id: each for each in target.destructions()}
    changes = 0
    for destruction in source.destructions():
        before = known.pop(destruction.id, None)
        if before is None:
            target.destroy(destruction)
        elif destruction.settled and not before.settled:
            target.settle(destruction.id)
        changes += before is None or before.settled != destruction.settled
    there = {key.id: key for key in _all(target)}
    wanted = {key.id: key for key in _all(source)}
    if known or there.keys() - wanted.keys():
        raise NotAStore("the target has keys of something else: name an empty place")
    missing = [key for key_id, key in wanted.items() if key_id not in there]
    for start in range(0, len(missing), _KEYS_AT_ONCE):
        batch = missing[start : start + _KEYS_AT_ONCE]
        target.add(partial(list, batch))
    differ = {key_id: wanted[key_id] for key_id, key in there.items() if wanted[key_id] != key}
    rewrapped = target.rewrap(partial(_wrapped_as, differ)) if differ else 0
    for key_id, key in differ.items():
        more = key.reserved - there[key_id].reserved
        if more > 0:
            target.reserve([key_id], more)
            changes += 1
    return changes + rewrapped + len(missing)


def _wrapped_as(wanted: dict[bytes, WrappedKey], key: WrappedKey) -> WrappedKey:
    """The key, wrapped like the wanted one of its id; the very same when it is already."""
    other = wanted.get(key.id, key)
    if (key.master, key.wrapped) == (other.master, other.wrapped):
        return key
    return replace(key, master=other.master, wrapped=other.wrapped)


def _all(keys: KeyStore) -> list[WrappedKey]:
    found: list[WrappedKey] = []
    while page := keys.kept(found[-1].id if found else b"", _KEYS_AT_ONCE):
        found += page
    return found


def _amount(keys: KeyStore) -> int:
    return len(_all(keys))
