"""The engine of the way in: begins transactions, and looks into what was captured, whoever captured it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from recollect.domain.address import Address, namespace
from recollect.domain.callers import Caller, local_caller
from recollect.domain.commits import Commit, Delete, Put
from recollect.domain.errors import AccessRefused, InvalidInput, PolicyTrouble
from recollect.domain.governance.gate import Candidate as Attempt
from recollect.domain.governance.gate import Verdict as Gated
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.redaction import WITHHELD
from recollect.domain.governance.terms import EventType, Kind, Space
from recollect.domain.promotion.standing import Trust
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import Capture
from recollect.domain.remembering.deciding import Outcome
from recollect.domain.rows import Row
from recollect.domain.statements import Statement
from recollect.domain.values import stored_value
from recollect.ports.clock import Clock, Ids
from recollect.ports.extractor import Extracted, Extractor, Passage
from recollect.ports.keys import Keyring
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork
from recollect.service.conversation.places import DUE, OPEN
from recollect.service.conversation.registers import note_spoken_of
from recollect.service.guard import Guard
from recollect.service.pipeline.draft import Draft
from recollect.service.pipeline.lapsing import Lapsing
from recollect.service.pipeline.places import (
    CONSENTED,
    ENDINGS,
    LAPSES,
    PENDING,
    QUEUE,
    QUEUED,
    TICK,
    Places,
    places_at,
)
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Remembered, origin_of
from recollect.service.pipeline.terms import USUAL, Terms
from recollect.service.turns import Turns

Result = TypeVar("Result")
_PURPOSE = "claims"
_ATTEMPTS = 200
_BATCH = 100


class Pending(msgspec.Struct, frozen=True):
    """Where a capture lies that was not looked into yet, and who captured it."""

    user: str
    capture: str
    caller: Caller


@dataclass(slots=True)
class Remembering:
    """What the way in needs of the service, for all callers."""

    store: Store
    keyring: Keyring
    guard: Guard
    clock: Clock
    ids: Ids
    turns: Turns
    extractor: Extractor
    terms: Terms = USUAL
    stir: Callable[[], None] = lambda: None
    """Called when the search index has something to do."""
    wake: Callable[[], None] = lambda: None
    """Called when something waits to be looked into."""
    _keys: dict[str, bytes] = field(default_factory=dict)

    async def key(self, tenant: str) -> bytes:
        """What blinds keys in a tenant."""
        known = self._keys.get(tenant)
        if known is None:
            known = self._keys[tenant] = await self.store.aside(lambda: self.keyring.derive(tenant, _PURPOSE))
        return known

    async def within(
        self, caller: Caller, places: Places, work: Callable[[Promoting], Awaitable[Result]], cause: str | None = None
    ) -> Result:
        """Decide and write in one transaction, one at a time in a tenant; again whenever what it rests on changed."""
        key = await self.key(caller.tenant)

        async def decided(unit: UnitOfWork) -> Result:
            ruling = await self.guard.begin(caller)
            unit.require(*ruling.conditions)
            under_way = Promoting(
                tenant=caller.tenant,
                draft=Draft(unit),
                ruling=ruling,
                terms=self.terms,
                places=places,
                now=self.clock(),
                ids=self.ids,
                key=key,
            )
            result = await work(under_way)
            await note_spoken_of(under_way)
            under_way.finish(cause)
            return result

        async with self.turns.of(caller.tenant, TICK):
            result = await self.store.transact(caller.tenant, decided, actor=caller.actor, attempts=_ATTEMPTS)
        self.stir()
        return result

    # -- looking into captures

    async def extracted(self, capture: Capture, recorded: str | None = None) -> Extracted:
        """The statements in a capture. The rules do not look into what anybody can write."""
        if capture.trust is Trust.UNTRUSTED and not self.extractor.asks:
            return Extracted(statements=(), by=self.extractor.name)
        text = capture.text.replace(WITHHELD, " ").strip()
        if not text:
            return Extracted(statements=(), by=self.extractor.name)
        passage = Passage(text=text, source=capture.source, subject=capture.about, at=capture.at)
        if not self.extractor.asks:
            return self.extractor.extract(passage, recorded)
        if self.store.direct:
            return self.extractor.extract(passage, recorded)
        # On a thread of its own: the store's few have other work, and this may take its time.
        return await asyncio.to_thread(self.extractor.extract, passage, recorded)

    async def look_into(
        self, under_way: Promoting, capture: Capture, extracted: Extracted, persona: str | None = None
    ) -> list[Remembered]:
        """Consider everything that was found in a capture, and note what became of it.

        With a persona, nobody but that one of the user's is to know it.
        """
        found: list[Remembered] = []
        if capture.withheld:
            found.append(await _withheld(under_way, capture))
        origin = origin_of(capture, persona)
        for statement in extracted.statements:
            found.append(await under_way.consider(statement, origin))  # noqa: PERF401 - each sees the ones before
        told = {
            "by": extracted.by,
            "trouble": extracted.trouble,
            "tokens": extracted.tokens,
            "remembered": [each.told() for each in found],
        }
        under_way.draft.put(under_way.places.work(capture.id), told)
        if extracted.answer is not None:
            under_way.draft.put(under_way.places.answers(capture.id), {"answer": extracted.answer})
        return found

    async def pending(self, tenant: str, *, limit: int = _BATCH) -> list[str]:
        """Captures that wait, oldest first."""
        query = Find(Plane.LINK, PENDING, order=Order.OLDEST, limit=limit)
        return [row.address.key for row in (await self.store.find(tenant, query)).rows]

    async def round(self, tenant: str, after_each: Callable[[int], Awaitable[bool]] | None = None) -> int:
        """Look into what waits in a tenant, and say how much that was."""
        done = 0
        while waiting := await self.pending(tenant):
            for capture_id in waiting:
                try:
                    await self.look_at(tenant, capture_id)
                except (InvalidInput, AccessRefused, PolicyTrouble) as problem:
                    await self._give_up(tenant, capture_id, problem.code)
                done += 1
                if after_each is not None and not await after_each(done):
                    return done
        return done + await self.forget_due(tenant) + await self.lapsing.due(tenant)

    @property
    def lapsing(self) -> Lapsing:
        """What ends when the consent that it rests on does."""
        return Lapsing(self.store, self.clock, self.within)

    async def forget_due(self, tenant: str) -> int:
        """End the records whose time is up, and tell so; they are invisible from that moment on in any case."""
        done = 0
        while due := await self._due(tenant):
            by_place: dict[Places, list[Row]] = {}
            for row in due:
                told = stored_value(row.value or b"{}")
                by_place.setdefault(places_at(namespace(told["root"]), told["user"]), []).append(row)
            for places, mine in by_place.items():

                async def work(under_way: Promoting, mine: list[Row] = mine) -> int:
                    ended = 0
                    for row in mine:
                        told = await under_way.draft.at(row.address)
                        if told is not None:
                            await under_way.forget(row.address, told)
                            ended += 1
                    return ended

                caller = local_caller(tenant, "rememberer")
                done += await self.within(caller, places, work, "retention")
        return done

    async def _due(self, tenant: str) -> list[Row]:
        page = await self.store.find(tenant, Find(Plane.LINK, ENDINGS, order=Order.KEY, limit=_BATCH))
        now = self.clock()
        return [row for row in page.rows if row.value is not None and int(row.address.key.partition(" ")[0]) <= now]

    async def _give_up(self, tenant: str, capture_id: str, code: str) -> None:
        """Note that a capture cannot be looked into, so that it does not hold up the others."""
        row = await self.store.get(tenant, pointer(capture_id))
        if row is None or row.value is None:
            return
        user = msgspec.json.decode(row.value, type=Pending).user
        told = msgspec.json.encode({"by": self.extractor.name, "trouble": code, "remembered": []})
        operations = (Delete(pointer(capture_id)), Put(Places(user).work(capture_id), told))
        await self.store.commit(Commit(tenant, operations, actor="rememberer"))

    async def look_at(self, tenant: str, capture_id: str) -> list[Remembered]:
        """Look into one capture that waits; nothing when somebody else did already."""
        row = await self.store.get(tenant, pointer(capture_id))
        if row is None or row.value is None:
            return []
        pending = msgspec.json.decode(row.value, type=Pending)
        places = Places(pending.user)
        kept = await self.store.get(tenant, places.captures(capture_id))
        capture = None if kept is None or kept.value is None else msgspec.json.decode(kept.value, type=Capture)
        answer = await self.store.get(tenant, places.answers(capture_id))
        recorded = None if answer is None or answer.value is None else stored_value(answer.value)["answer"]
        extracted = None if capture is None else await self.extracted(capture, recorded)
        if capture is not None:
            places = Places(pending.user, capture.session, capture.project)

        async def work(under_way: Promoting) -> list[Remembered]:
            if await under_way.draft.bytes_at(pointer(capture_id)) is None:
                return []  # somebody else looked into it
            under_way.draft.delete(pointer(capture_id))
            if capture is None or extracted is None:
                return []  # it was erased
            return await self.look_into(under_way, capture, extracted)

        return await self.within(pending.caller, places, work, capture_id)

    async def forget(self, tenant: str, user: str) -> int:
        """Drop what is kept of a user beside their own things, once those are erased; say how much that was."""
        gone: list[Address] = []
        for shelf in (PENDING, QUEUE, QUEUED, CONSENTED, ENDINGS, LAPSES, OPEN, DUE):
            cursor: str | None = None
            while True:
                query = Find(Plane.LINK, shelf, order=Order.KEY, limit=_BATCH * 10, cursor=cursor)
                page = await self.store.find(tenant, query)
                gone += [row.address for row in page.rows if row.value and _is_of(stored_value(row.value), user)]
                cursor = page.cursor
                if cursor is None:
                    break
        for start in range(0, len(gone), _BATCH):
            deletes = tuple(Delete(each) for each in gone[start : start + _BATCH])
            await self.store.commit(Commit(tenant, deletes, actor="rememberer"))
        return len(gone)


def _is_of(told: Mapping[str, Any], user: str) -> bool:
    return told.get("user") == user or told.get("subject") == f"user:{user}"


def pointer(capture_id: str) -> Address:
    """The note that a capture waits to be looked into."""
    return Address(Plane.LINK, PENDING, capture_id)


async def _withheld(under_way: Promoting, capture: Capture) -> Remembered:
    """Tell that something was said that may not be kept; what it was, nobody is told."""
    statement = Statement(
        text=WITHHELD,
        event_type=EventType.CONTEXT,
        entity=capture.about,
        predicate="said",
        value=WITHHELD,
        confidence=1.0,
    )
    made = await under_way.withheld_item(Space.USER, statement, origin_of(capture))
    gated = Gated(False, Reason.PRIVACY_DENY_SENSITIVE, ())
    attempt = Attempt(kind=Kind.SEMANTIC, event_type=EventType.CONTEXT, text=WITHHELD)
    under_way.traces.append(under_way.teller.denied(made, attempt, gated))
    return Remembered(Outcome.DENIED, statement, Reason.PRIVACY_DENY_SENSITIVE)
