"""The curator: carries out what the rules plan, one action in one transaction, and takes it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import msgspec

from recollect.domain.address import Address
from recollect.domain.callers import Action as Act
from recollect.domain.callers import Caller, local_caller
from recollect.domain.conversation.curating import (
    ARCHIVED_AFTER_DAYS,
    EVERY_SECONDS,
    Action,
    Due,
    Skipped,
    due,
    fold_of,
    made_of,
    plan,
)
from recollect.domain.conversation.curations import Curation, Done, NotRestored, proposed
from recollect.domain.conversation.sessions import CuratorState, SessionState
from recollect.domain.conversation.weighing import CURATED_FOLD
from recollect.domain.errors import NotFound
from recollect.domain.governance.axes import AXES
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Space
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.deciding import key_for
from recollect.domain.remembering.records import Record
from recollect.service.conversation.kept import Open, keep_state, kept, state_of
from recollect.service.conversation.places import OPEN, Talks
from recollect.service.conversation.registers import all_canonical
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Origin
from recollect.service.workings import Workings

REQUEST = "request"
_ACTOR = "curator"
_BATCH = 100
_MICROSECONDS = 1_000_000


def curation_at(user: str, curation_id: str) -> Address:
    """Where it is kept what one run did."""
    return Address(Plane.LINK, Talks(user).own("curations"), curation_id)


@dataclass(frozen=True, slots=True)
class Curator:
    """Curates the memories of a user, for whoever may or has to."""

    workings: Workings

    # -- looking

    async def active(self, tenant: str, user: str, persona: str | None) -> list[Record]:
        """The active memories of a user: all, or those that one persona knows."""
        own = Places(user).own()
        space = await self.workings.spaces.fresh(tenant, own)
        found = [each.record for each in space.at(own, self.workings.clock())]
        return [each for each in found if persona is None or each.persona in (None, persona)]

    async def planned(
        self, tenant: str, user: str, records: Sequence[Record]
    ) -> tuple[tuple[Action, ...], Mapping[str, str]]:
        """What is to be done now, and whom the refs of entities mean."""
        canonical = await all_canonical(self.workings.store, tenant, user)
        actions = plan(
            records,
            canonical,
            self.workings.clock(),
            recalled=await self._recalled(tenant, user, records),
            many_valued=self.workings.remembering.terms.policy.contradictions.many_valued,
        )
        return actions, canonical

    async def _recalled(self, tenant: str, user: str, records: Sequence[Record]) -> frozenset[str]:
        """Which of the old memories that weigh nothing were given to somebody."""
        before = self.workings.clock() - ARCHIVED_AFTER_DAYS * EVERY_SECONDS * _MICROSECONDS
        old = [each for each in records if each.weight == 0 and each.promoted_at < before]
        places = Places(user)
        wanted = [(tenant, places.record(each.space, _key(each.id))) for each in old]
        rows = await self.workings.store.get_each(wanted)
        there = [(each, row) for each, row in zip(old, rows, strict=True) if row is not None]
        usage = await self.workings.usage.of([row for _, row in there])
        # What cannot be told is taken for used: nothing is put away on a guess.
        return frozenset(
            each.id for (each, _), used in zip(there, usage, strict=True) if used is None or used["fetch_count"]
        )

    # -- running

    async def curate_late(self, tenant: str, after_each: Callable[[int], Awaitable[bool]] | None = None) -> int:
        """Curate for everybody in a tenant who talks with a persona, where that is wanted and due; say for how many."""
        done, cursor = 0, None
        while self.workings.rules.curator:
            query = Find(Plane.LINK, OPEN, order=Order.KEY, limit=_BATCH, cursor=cursor)
            page = await self.workings.store.find(tenant, query)
            for row in page.rows:
                note = msgspec.json.decode(row.value or b"{}", type=Open)
                done += "reason" in await self.curate_due(tenant, note.user, note.persona)
                if after_each is not None and not await after_each(done):
                    return done
            cursor = page.cursor
            if cursor is None:
                break
        return done

    async def curate_due(self, tenant: str, user: str, persona: str) -> dict[str, Any]:
        """Curate what a persona knows of a user, if that is wanted and due; else say why not."""
        if not self.workings.rules.curator:
            return {"skipped": Skipped.OFF.value}
        row = await self.workings.store.get(tenant, Talks(user).state(persona))
        state = (
            SessionState() if row is None or row.value is None else msgspec.json.decode(row.value, type=SessionState)
        )
        if due(state.curator, 0, self.workings.clock()) is Skipped.COOLDOWN:
            return {"skipped": Skipped.COOLDOWN.value}
        records = await self.active(tenant, user, persona)
        last = state.curator.last_run_at
        new = sum(each.origin != CURATED_FOLD and (last is None or each.promoted_at > last) for each in records)
        found = due(state.curator, new, self.workings.clock())
        if not isinstance(found, Due):
            return {"skipped": found.value}
        return {"reason": found.value} | await self.run(local_caller(tenant, _ACTOR), user, persona, found.value)

    async def run(self, caller: Caller, user: str, persona: str | None, by: str) -> dict[str, Any]:
        """Do everything that is to be done; what changed meanwhile is left to the next run."""
        records = await self.active(caller.tenant, user, persona)
        actions, canonical = await self.planned(caller.tenant, user, records)
        now = self.workings.clock()
        curation = Curation(id=f"cur_{UUID(bytes=self.workings.ids(now)).hex}", at=now, by=by, persona=persona)
        by_id = {each.id: each for each in records}
        done, skipped = [], []
        for action in actions:
            carried = await self._carry_out(caller, user, curation, action, by_id, canonical)
            told = proposed(action)
            if carried is None:
                skipped.append(told)
            else:
                done.append(told | {"made": carried.made})
        if persona is not None:
            await self._note(caller, user, persona, len(records) - sum(len(each["archived"]) for each in done))
        return {"id": curation.id if done else None, "actions": done, "skipped_actions": skipped}

    async def _note(self, caller: Caller, user: str, persona: str, left: int) -> None:
        """Keep when the curator ran last, and how much it left."""
        talks = Talks(user)

        async def work(under_way: Promoting) -> None:
            state = await state_of(under_way.draft, talks, persona)
            ran = CuratorState(last_run_at=under_way.now, last_memory_count_at_run=left)
            keep_state(under_way.draft, talks, persona, msgspec.structs.replace(state, curator=ran))

        await self.workings.remembering.within(caller, Places(user), work, _ACTOR)

    async def _carry_out(
        self,
        caller: Caller,
        user: str,
        curation: Curation,
        action: Action,
        by_id: Mapping[str, Record],
        canonical: Mapping[str, str],
    ) -> Done | None:
        """Carry out one action, and note it with the others of its run; None when what it rests on changed."""
        sources = [by_id[each] for each in action.archived]
        stays = [*sources, *([] if action.keep is None else [by_id[action.keep]])]
        address = curation_at(user, curation.id)

        async def work(under_way: Promoting) -> Done | None:
            for each in stays:
                if await under_way.kept(each) != each:
                    return None
            await self._allow(under_way, sources, address)
            fold = None if action.text is None else await _folded(under_way, action.text, sources, canonical)
            for each in sources:
                await under_way.end(each, Reason.CURATED, action.keep if fold is None else fold.id)
            done = Done(
                kind=action.kind,
                reason=action.reason,
                archived=action.archived,
                at=under_way.now,
                keep=action.keep,
                made=None if fold is None else fold.id,
                mark=None if fold is None else _mark(fold),
            )
            held = await kept(under_way.draft, address, Curation) or curation
            under_way.draft.put(address, msgspec.json.encode(held.did(done)))
            return done

        return await self.workings.remembering.within(caller, Places(user), work, curation.id)

    async def _allow(self, under_way: Promoting, sources: Sequence[Record], address: Address) -> None:
        root = under_way.places.root(Space.USER).segments
        for each in sources:
            await under_way.ruling.allow(Act.DELETE, root, _key(each.id))
        await under_way.ruling.allow(Act.WRITE, address.namespace.segments, address.key)

    # -- taking back

    async def undo(self, caller: Caller, user: str, curation_id: str) -> dict[str, Any]:
        """Bring back what one run put away, as it was, and say what could not be brought back and why."""
        address = curation_at(user, curation_id)
        row = await self.workings.store.get(caller.tenant, address)
        if row is None or row.value is None:
            raise NotFound("curation not found")
        curation = msgspec.json.decode(row.value, type=Curation)
        restored: list[str] = []
        removed: list[str] = []
        left: list[dict[str, str]] = []
        for place in reversed(range(len(curation.actions))):
            back = await self._take_back(caller, user, address, place)
            restored += back.restored
            removed += back.removed
            left += [{"id": name, "reason": reason.value} for name, reason in back.left]
        return {"id": curation_id, "restored": restored, "removed": removed, "not_restored": left}

    async def _take_back(self, caller: Caller, user: str, address: Address, place: int) -> _Back:
        async def work(under_way: Promoting) -> _Back:
            back = _Back([], [], [])
            curation = await kept(under_way.draft, address, Curation)
            if curation is None or curation.actions[place].undone:
                return back
            await under_way.ruling.allow(Act.WRITE, address.namespace.segments, address.key)
            done = curation.actions[place]
            if done.made is not None and not await _unfolded(under_way, done, back):
                back.left.extend((each, NotRestored.CHANGED) for each in done.archived)
                return back
            for each in done.archived:
                await _restored(under_way, each, done, back)
            after = curation.took_back(place, under_way.now)
            under_way.draft.put(address, msgspec.json.encode(after))
            return back

        return await self.workings.remembering.within(caller, Places(user), work, address.key)


@dataclass(frozen=True, slots=True)
class _Back:
    """What was taken back of one action."""

    restored: list[str]
    removed: list[str]
    left: list[tuple[str, NotRestored]]


async def _folded(under_way: Promoting, text: str, sources: Sequence[Record], canonical: Mapping[str, str]) -> Record:
    """Draft the record that some are told together by. Each of them was let in; it says nothing that they do not."""
    newest = sources[-1]
    statement = made_of(sources, canonical, text)
    origin = Origin(
        source=newest.source,
        trust=min(each.trust for each in sources),
        evidence=newest.evidence_refs,
        principal=newest.principal,
        said=text,
        persona=newest.persona,
    )
    await under_way.begin_phase(Space.USER, None)
    await under_way.ruling.allow(Act.WRITE, under_way.places.root(Space.USER).segments, "records")
    item = await under_way.item_of(Space.USER, statement, origin)
    write_class = AXES[statement.event_type].write_class or newest.write_class
    made = msgspec.structs.replace(
        newest,
        id=item.id,
        kind=item.kind,
        event_type=statement.event_type,
        write_class=write_class,
        entity=statement.entity,
        predicate=statement.predicate,
        value=statement.value,
        text=statement.text,
        dedup_key=key_for(statement, item.kind),
        confidence=statement.confidence,
        importance=max(each.importance for each in sources),
        importance_reason=(CURATED_FOLD,),
        tick=item.created_at,
        promoted_at=under_way.now,
        proposal_id=None,
        rule=_ACTOR,
        supersedes=(),
        memory_key=None,
        session=None,
        policy_tags=tuple(dict.fromkeys(tag for each in sources for tag in each.policy_tags)),
        phase={name: getattr(item.meta, name) for name in newest.phase if getattr(item.meta, name, None) is not None},
        promoted_from=None,
        promotion_reason=None,
        promotion_target=None,
    )
    fold = fold_of(made, sources, canonical)
    await under_way.write(fold)
    under_way.written.append(fold.item())
    return fold


async def _unfolded(under_way: Promoting, done: Done, back: _Back) -> bool:
    """Draft the end of a fold, unless it changed since it was made; one that is gone is no hindrance."""
    raw = await under_way.draft.bytes_at(under_way.places.record(Space.USER, _key(done.made or "")))
    fold = None if raw is None else msgspec.json.decode(raw, type=Record)
    if fold is None:
        return True
    if _mark(fold) != done.mark:
        return False
    await under_way.ruling.allow(Act.DELETE, under_way.places.root(Space.USER).segments, _key(fold.id))
    await under_way.end(fold, Reason.UNDONE)
    back.removed.append(fold.id)
    return True


async def _restored(under_way: Promoting, record_id: str, done: Done, back: _Back) -> None:
    """Draft that a record is there again, if nothing speaks against it."""
    root, key = under_way.places.root(Space.USER).segments, _key(record_id)
    raw = await under_way.draft.bytes_at(under_way.places.record(Space.USER, key))
    past = None if raw is None else msgspec.json.decode(raw, type=Record)
    if past is None:
        back.left.append((record_id, NotRestored.GONE))
        return
    if past.ended_reason is not Reason.CURATED or past.ended_at != done.at:
        back.left.append((record_id, NotRestored.CHANGED))
        return
    if any(other.value != past.value and other.id != done.keep for other in await under_way.beside(past)):
        back.left.append((record_id, NotRestored.OUTDATED))
        return
    await under_way.ruling.allow(Act.WRITE, root, key)
    record = await under_way.restore(past)
    hidden = under_way.teller.redaction.hidden
    under_way.written.append(record.item() if record.consent_id is None else hidden(record.item()))
    back.restored.append(record_id)


def _mark(record: Record) -> str:
    """What stands for a record as it is."""
    return sha256(msgspec.json.encode(record)).hexdigest()


def _key(record_id: str) -> str:
    return record_id.split(":", 2)[2]
