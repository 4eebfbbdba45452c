"""Shelving: records, proposals and what goes with them, drafted so that each can be found again by what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.domain.address import Address
from recollect.domain.commits import Expire
from recollect.domain.governance.items import Item
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.redaction import WITHHELD
from recollect.domain.governance.retention import Forgotten
from recollect.domain.governance.terms import Kind, Space
from recollect.domain.instants import Instant
from recollect.domain.promotion import consent_checks, proposals
from recollect.domain.promotion.claims import Candidate, normalised
from recollect.domain.promotion.consent_checks import Need
from recollect.domain.promotion.consents import Consent, Ledger, consent_of
from recollect.domain.promotion.signals import Signal
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.deciding import key_for
from recollect.domain.remembering.records import Record, live_record, read_record
from recollect.domain.statements import Statement
from recollect.domain.values import stored_value
from recollect.ports.policy import Verdict
from recollect.service.pipeline.counting import Counting
from recollect.service.pipeline.places import blinded, consents_of, ending, places_of, queued
from recollect.service.pipeline.proposals import Origin, Waiting

FIELDS = '["text"]'
"""What of a record can be searched for."""
_KEPT = frozenset({Reason.SUPERSEDED, Reason.PROMOTED, Reason.CURATED})
"""Why a record is past and not gone."""
_CONSENTS = 1_000
"""So many consents are read at once."""


@dataclass(slots=True, kw_only=True)
class Shelving(Counting):
    """A transaction that keeps and ends records and proposals."""

    ended: list[str] = field(default_factory=list)

    async def write(self, record: Record) -> None:
        """Draft a record, and that it says something about what it is about."""
        space, key = record.space, record.id.split(":", 2)[2]
        self.draft.put(
            self.places.record(space, key),
            msgspec.json.encode(record),
            record.labels(),
            expires_at=None if record.pinned else record.ends_at,
            fields=FIELDS,
        )
        for digest in self._digests(record.entity, record.predicate, record.value, record.dedup_key):
            address = self.places.claim(space, digest)
            ids = (await self.draft.at(address) or {}).get("ids", [])
            if key not in ids:
                self.draft.put(address, {"ids": [*ids, key]})
        if record.ends_at is not None:
            self._note_ending(record, record.ends_at)

    def _note_ending(self, record: Record, ends_at: Instant) -> None:
        """Draft the note that a record will be over, so that it is told when it is."""
        address = ending(record.id, ends_at)
        if record.pinned:
            self.draft.delete(address)
            return
        item = msgspec.structs.replace(record.item(), text=WITHHELD).with_meta(dedup_key=None)
        digests = self._digests(record.entity, record.predicate, record.value, record.dedup_key)
        root = self.places.root(record.space).segments
        told = {"user": self.places.user, "root": root, "item": item, "digests": digests}
        self.draft.put(address, told)

    async def forget(self, address: Address, told: Mapping[str, Any]) -> None:
        """End a record whose time is up, if nobody did yet, and tell that it was forgotten."""
        item, space = msgspec.convert(told["item"], Item), Space(told["item"]["meta"]["space"])
        key = item.id.split(":", 2)[2]
        self.draft.delete(address)
        self.draft.unit.write(Expire(self.places.record(space, key)))
        await self._unclaim(space, key, told["digests"])
        self.traces.append(self.teller.forgot(Forgotten(item, Reason.TTL_EXPIRED)))
        phase_id = (await self._phase_of(space)).get("phase_id", "phase-unknown")
        owner = item.meta.owner or ""
        self.traces.append(self.teller.deleted(space, owner, phase_id, item, Reason.EXPIRED))

    async def end(self, record: Record, reason: Reason, replaced_by: str | None = None) -> None:
        """Draft the end of a record, and tell of it."""
        await self.shelve(record, reason, replaced_by)
        if record.ended_at is not None:
            return  # it was told before that it is gone, and now nothing is left of it
        phase_id = (await self._phase_of(record.space)).get("phase_id", "phase-unknown")
        self.traces.append(
            self.teller.deleted(record.space, record.owner, phase_id, record.item(), reason, replaced_by)
        )
        self.ended.append(record.id)

    async def shelve(self, record: Record, reason: Reason, replaced_by: str | None = None) -> None:
        """Draft the end of a record. What another stands in place of is kept for those who ask for history."""
        space, key = record.space, record.id.split(":", 2)[2]
        address = self.places.record(space, key)
        if reason in _KEPT:
            past = msgspec.structs.replace(record, ended_at=self.now, ended_reason=reason, superseded_by=replaced_by)
            until = None if record.pinned else record.ends_at
            self.draft.put(
                address, msgspec.json.encode(past), past.labels(), expires_at=until, fields=FIELDS, archived=True
            )
        else:
            self.draft.delete(address)
        if record.ended_at is not None:
            return
        if record.ends_at is not None:
            self.draft.delete(ending(record.id, record.ends_at))
        digests = self._digests(record.entity, record.predicate, record.value, record.dedup_key)
        await self._unclaim(space, key, digests)

    async def restore(self, past: Record) -> Record:
        """Draft that a record which was put away is there again, exactly as it was."""
        record = msgspec.structs.replace(past, ended_at=None, ended_reason=None, superseded_by=None)
        await self.write(record)
        return record

    async def beside(self, record: Record) -> tuple[Record, ...]:
        """The other live records of the space and persona about the same thing, where it has one value at a time."""
        if record.predicate in self.terms.policy.contradictions.many_valued:
            return ()
        about = blinded(self.key, "about", record.entity, record.predicate)
        found = await self.draft.at(self.places.claim(record.space, about)) or {}
        live = []
        for key in found.get("ids", ()):
            raw = await self.draft.bytes_at(self.places.record(record.space, key))
            other = None if raw is None else live_record(raw)
            if other is not None and other.id != record.id and other.persona == record.persona:
                live.append(other)
        return tuple(live)

    async def _unclaim(self, space: Space, key: str, digests: Iterable[str]) -> None:
        """Draft that a record no longer says anything about what it was about."""
        for digest in digests:
            address = self.places.claim(space, digest)
            ids = [each for each in (await self.draft.at(address) or {}).get("ids", []) if each != key]
            if ids:
                self.draft.put(address, {"ids": ids})
            else:
                self.draft.delete(address)

    def _digests(self, entity: str, predicate: str, value: Any, dedup: str) -> tuple[str, ...]:
        """What stands for what a record is about, and for what it says."""
        many = predicate in self.terms.policy.contradictions.many_valued
        about = (entity, predicate, normalised(value)) if many else (entity, predicate)
        return tuple(dict.fromkeys((blinded(self.key, "about", *about), blinded(self.key, "says", dedup))))

    async def rivals_of(self, waiting: Waiting) -> tuple[Record, ...]:
        """The records that a proposal would take the place of."""
        candidate = proposals.proposal_of(waiting.proposal).candidate
        return await self._rivals(waiting.space, waiting.statement, candidate, waiting.origin)

    async def _rivals(
        self, space: Space, statement: Statement, candidate: Candidate, origin: Origin
    ) -> tuple[Record, ...]:
        """The live records about the same thing, or that say the same, and the one that is to be put right.

        What one persona alone knows is no rival of what all of them do, nor of what another knows.
        """
        corrects = origin.corrects
        keys: dict[str, None] = {} if corrects is None else {corrects.split(":", 2)[2]: None}
        digests = {
            digest
            for kind in (Kind.SEMANTIC, Kind.PROFILE)
            for digest in self._digests(
                candidate.entity_ceid, candidate.predicate, candidate.value, key_for(statement, kind)
            )
        }
        for digest in sorted(digests):
            found = await self.draft.at(self.places.claim(space, digest)) or {}
            keys |= dict.fromkeys(found.get("ids", ()))
        records = []
        for key in keys:
            raw = await self.draft.bytes_at(self.places.record(space, key))
            record = None if raw is None else live_record(raw)
            if record is not None and record.persona == origin.persona:
                records.append(record)
        return tuple(sorted(records, key=lambda each: each.tick))

    async def _named(self, record_id: str) -> Record | None:
        """The live record of an id."""
        found = places_of(record_id, self.places)
        raw = None if found is None else await self.draft.bytes_at(found[0].record(found[1], found[2]))
        return None if raw is None else live_record(raw)

    async def kept(self, record: Record) -> Record | None:
        """The record as it is now, though another may stand in its place; None once nothing is left of it."""
        raw = await self.draft.bytes_at(self.places.record(record.space, record.id.split(":", 2)[2]))
        return None if raw is None else read_record(raw)

    async def still_there(self, record: Record) -> Record | None:
        """The record as it is now; None once it is gone."""
        held = await self.kept(record)
        return held if held is not None and held.ended_at is None else None

    async def ledger(self, subject: str) -> Ledger:
        """The consents of a subject; the transaction rests on none being added or revoked meanwhile."""
        found: list[Consent] = []
        cursor: str | None = None
        while True:
            query = Find(Plane.CONSENT, consents_of(subject), order=Order.OLDEST, limit=_CONSENTS, cursor=cursor)
            page = await self.draft.unit.find(query)
            found += [consent_of(stored_value(row.value)["consent"]) for row in page.rows if row.value is not None]
            cursor = page.cursor
            if cursor is None:
                return Ledger(self.tenant, tuple(found))

    async def covered(self, need: Need) -> consent_checks.Checked:
        """What the look for a consent says now."""
        return consent_checks.checked(await self.ledger(need.subject_ceid), need, self.now)

    def claim_digest(self, candidate: Candidate, persona: str | None = None) -> str:
        """What stands for a claim, to remember that it was rejected."""
        about = (candidate.entity_ceid, candidate.predicate, normalised(candidate.value))
        return blinded(self.key, "claim", *about, *(() if persona is None else (persona,)))

    def signal(self, signal: Signal) -> None:
        """Draft something to learn from."""
        self.draft.put(self.places.signal(self.new_id("sig")), signal.as_json(), new=True)

    def keep(self, waiting: Waiting) -> None:
        """Draft the proposal as it is now."""
        address = waiting.places.proposal(waiting.id)
        self.draft.put(address, msgspec.json.encode(waiting), waiting.labels())
        if waiting.status != "waiting" and waiting.verdict == Verdict.REVIEW.value:
            self.draft.delete(queued(waiting.id))

    def enqueue(self, waiting: Waiting) -> None:
        """Draft a proposal that waits for a person; its place in the queue is where it was put first."""
        self.keep(waiting)
        sort = {"class": waiting.proposal["class"], "tier": waiting.proposal["tier_target"], "risk": waiting.risk}
        for pointer in (queued(waiting.id), queued(waiting.id, decided=True)):
            self.draft.put(pointer, {"user": waiting.places.user, **sort})

    async def resolve_contradiction(self, waiting: Waiting, *, winner: str | None, by: str) -> None:
        """Note who settled the contradiction that a proposal opened, and in whose favour."""
        if waiting.contradiction is None:
            return
        address = waiting.places.contradiction(waiting.contradiction)
        told = await self.draft.at(address)
        if told is not None and told["status"] == "open":
            settled = {"status": "resolved", "resolved_by": by, "winner": winner, "resolved_at": int(self.now)}
            labels = {"status": "resolved", "proposal": waiting.id, "event": waiting.contradiction}
            self.draft.put(address, told | settled, labels)
