"""Promoting: one transaction of the way in, from statements to proposals, records and traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.conversation.describing import described
from recollect.domain.conversation.weighing import mentioned
from recollect.domain.errors import NotFound
from recollect.domain.governance.axes import AXES
from recollect.domain.governance.conflicts import Conflict
from recollect.domain.governance.gate import Verdict as Gated
from recollect.domain.governance.items import Item
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.spaces import (
    PromotionRequest,
    hinted,
    promotion,
    write_border,
)
from recollect.domain.governance.terms import BorderAction, EventType, Kind, Source, Space, Tier
from recollect.domain.governance.traces import as_json, ids_in, type_of
from recollect.domain.instants import Instant
from recollect.domain.promotion import proposals
from recollect.domain.promotion.claims import Candidate
from recollect.domain.promotion.codes import ContradictionVerdict
from recollect.domain.promotion.consents import Ledger
from recollect.domain.promotion.contradictions import event_of
from recollect.domain.promotion.gate import Queued, Submission, Surroundings, needed
from recollect.domain.promotion.review import Rejection
from recollect.domain.promotion.signals import on_promotion
from recollect.domain.promotion.standing import Standing, inherited
from recollect.domain.remembering.deciding import (
    AUTHORITY_OF,
    Considered,
    Outcome,
    asked_of_policy,
    attempt_of,
    considered,
    decided_conflict,
    key_for,
    kind_for,
)
from recollect.domain.remembering.records import Record, lineage_of
from recollect.domain.statements import Statement
from recollect.ports.policy import Review, Verdict
from recollect.service.guard import Ruling
from recollect.service.pipeline.places import places_of
from recollect.service.pipeline.proposals import Origin, Remembered, Waiting
from recollect.service.pipeline.shelving import Shelving


@dataclass(slots=True, kw_only=True)
class Promoting(Shelving):
    """The transaction under way: what it decides by, and what it has decided so far."""

    ruling: Ruling
    written: list[Item] = field(default_factory=list)
    promoted: list[Record] = field(default_factory=list)
    mentioned: list[Record] = field(default_factory=list)
    """Records that say what was said once more."""
    moment: Instant | None = None
    """When what is considered was said, where that was not now."""
    origin: str | None = None
    """How what is considered came to be found, in the words of conversations."""

    # -- one statement

    async def consider(self, statement: Statement, origin: Origin) -> Remembered:
        """Decide what becomes of a statement, and draft it."""
        space, request = self._space_for(origin)
        if space in (Space.PROJECT, Space.SYSTEM) and not await self._knows(space):
            return Remembered(Outcome.DENIED, statement, Reason.WRITE_SPACE_DISALLOWED)
        candidate = Candidate(
            statement.entity, statement.predicate, statement.value, origin.evidence, statement.confidence
        )
        rivals = await self._rivals(space, statement, candidate, origin)
        kind = kind_for(statement, rivals[0] if rivals else None)
        await self._enter(space)
        made = await self._made(space, kind, statement, origin)
        written_to = self._from_space(origin) if request else space
        border = write_border(self.terms.contract, written_to)
        if origin.moved_from is None:  # what is there already was let in
            self.traces.append(self.teller.checked(BorderAction.WRITE, border, written_to, written_to, made.id))
        if not border.allowed and origin.moved_from is None:
            return Remembered(Outcome.DENIED, statement, border.reason)
        cross = request is not None and request.to_space in (Space.PROJECT, Space.SYSTEM)
        submission = self._submission(statement, candidate, origin, rivals, cross=cross)
        found = considered(
            statement,
            submission,
            await self._surroundings(submission, candidate, rivals, origin.persona),
            rivals,
            self.terms.contract,
            self.terms.policy,
            source=origin.source,
            made=made,
            said=origin.said,
            proposal_id=self.new_id("mwp"),
        )
        if found.reason is not None:
            return self._denied(found, made, origin)
        if request is not None and (refusal := self._kept_back(made, origin, request)) is not None:
            return Remembered(Outcome.DENIED, statement, refusal)
        return await self._reviewed(found, submission, origin, made, rivals, request)

    async def _knows(self, space: Space) -> bool:
        """Whether the caller may know what a space holds: what is proposed for it is compared with that."""
        return await self.ruling.allows(Action.READ, self.places.root(space).segments, "records")

    async def derived(self, origin: Origin, parents: Sequence[str]) -> Origin:
        """The origin of what was derived from records: no more trusted, and no less secret, than any of them."""
        found: list[Record] = []
        for each in parents:
            place = places_of(each, self.places)
            if place is not None and not await self.ruling.allows(
                Action.READ, place[0].record(place[1], place[2]).namespace.segments, place[2]
            ):
                place = None
            record = None if place is None else await self._named(each)
            if record is None:
                raise NotFound("one of the records that it is derived from was not found", field="derived_from")
            found.append(record)
        if not found:
            return origin
        own = Standing(origin.trust, origin.classification)
        standing = inherited([own, *(each.standing for each in found)])
        return msgspec.structs.replace(
            origin,
            trust=standing.trust,
            classification=standing.classification,
            derived_from=tuple(dict.fromkeys(parents)),
            lineage=lineage_of(*origin.lineage, parents=[each.lineage for each in found]),
        )

    def _space_for(self, origin: Origin) -> tuple[Space, PromotionRequest | None]:
        """The space that a statement is for, and what asked for one beyond the user's own."""
        asked = hinted(origin.said) if origin.source is Source.USER and origin.space is None else None
        target = origin.space or (asked.to_space if asked else Space.USER)
        if origin.moved_from is not None:
            return target, PromotionRequest(target, Reason.META_PROMOTION_TARGET)
        if target in (Space.PROJECT, Space.SYSTEM) and self.places.has(target):
            return target, asked or PromotionRequest(target, Reason.META_PROMOTION_TARGET)
        if target is Space.SESSION and self.places.has(Space.SESSION):
            return Space.SESSION, None
        return Space.USER, None

    def _submission(
        self, statement: Statement, candidate: Candidate, origin: Origin, rivals: Sequence[Record], *, cross: bool
    ) -> Submission:
        write_class = AXES[statement.event_type].write_class
        if write_class is None:
            raise AssertionError("every event type has a write class; only turns have none")
        return Submission(
            self.tenant,
            candidate,
            write_class,
            Standing(origin.trust, origin.classification),
            self.now,
            origin.subject,
            origin.purpose,
            origin.tier,
            rivals[0].tier if rivals else None,
            statement.event_type not in (EventType.CONTEXT, EventType.EXECUTION),
            cross,
            origin.corrects,
        )

    async def _reviewed(
        self,
        found: Considered,
        submission: Submission,
        origin: Origin,
        made: Item,
        rivals: tuple[Record, ...],
        request: PromotionRequest | None,
    ) -> Remembered:
        """Let the policy say what becomes of a proposal."""
        queued, space = found.passed, made.meta.space or Space.USER
        if not isinstance(queued, Queued):
            raise AssertionError("what was refused is not reviewed")
        check = queued.proposal.contradiction_check
        same = check.existing if check.verdict is ContradictionVerdict.SAME_VALUE else _same(made, rivals)
        if same is not None:
            await self._mention(same, rivals, origin)
            return Remembered(Outcome.KNOWN, found.statement, Reason.ALREADY_KNOWN, existing=same)
        if check.verdict is ContradictionVerdict.RESOLVED_FOR_EXISTING:
            if found.conflict is not None:
                self._tell_conflict(found.conflict, personal=queued.consent.consent_id is not None, rivals=rivals)
            return Remembered(Outcome.OUTRANKED, found.statement, Reason.EXISTING_PREFERRED, existing=check.existing)
        review = await self.ruling.review(asked_of_policy(found, queued, submission, space))
        durable = queued.proposal.tier_target is Tier.DURABLE
        unsettled = check.verdict is ContradictionVerdict.CONTRADICTS
        if review.verdict is Verdict.APPROVE and (durable or unsettled):
            # Nobody but people lets something in for good, or in place of what it contradicts.
            review = Review(Verdict.REVIEW, "a person decides about this", "people_only")
        approved = review.verdict is Verdict.APPROVE
        proposal = replace(queued.proposal, auto_promote_eligible=approved)
        waiting = Waiting(
            proposal=proposals.as_json(proposal),
            statement=found.statement,
            origin=origin,
            places=self.places,
            space=space,
            made=made,
            at=self.now,
            status={Verdict.REVIEW: "waiting", Verdict.APPROVE: "approved"}.get(review.verdict, "rejected"),
            verdict=review.verdict.value,
            rule=review.rule,
            reason=review.reason,
            risk=queued.risk.risk.value,
            risk_reasons=tuple(each.value for each in queued.risk.reasons),
            subject=None if queued.consent.consent_id is None else needed(submission).subject_ceid,
            consent_id=queued.consent.consent_id,
        )
        waiting = self._contradicted(waiting, queued, approved=approved)
        if approved:
            record = await self.promote(waiting, rivals, consent_id=queued.consent.consent_id, request=request)
            return Remembered(
                Outcome.PROMOTED, found.statement, review.reason, review.rule, record, waiting.id, check.existing
            )
        if review.verdict is Verdict.REJECT:
            self.keep(waiting)
            return Remembered(Outcome.REJECTED, found.statement, review.reason, review.rule, None, waiting.id)
        self.enqueue(waiting)
        return Remembered(
            Outcome.WAITING, found.statement, review.reason, review.rule, None, waiting.id, check.existing
        )

    async def _mention(self, record_id: str, rivals: Sequence[Record], origin: Origin) -> None:
        """Count that a user said once more what a record says; what others repeat makes nothing weigh more."""
        record = next((each for each in rivals if each.id == record_id), None)
        if record is None or origin.source is not Source.USER or origin.moved_from is not None:
            return
        counted = mentioned(record, self.moment or self.now)
        await self.write(counted)
        self.mentioned.append(counted)

    # -- what is refused

    def _denied(self, found: Considered, made: Item, origin: Origin) -> Remembered:
        reason = found.reason or Reason.NOT_APPROVED
        attempt = attempt_of(found.statement, found.kind, origin.said)
        self.traces.append(self.teller.denied(made, attempt, Gated(False, reason, found.verdict.tags)))
        return Remembered(Outcome.DENIED, found.statement, reason)

    def _tell_conflict(self, conflict: Conflict, *, personal: bool, rivals: Sequence[Record]) -> None:
        """Tell which of two is kept; in no words of theirs where one of them rests on somebody's consent."""
        if personal or any(each.consent_id is not None for each in rivals):
            hidden = self.teller.redaction.hidden
            conflict = Conflict(hidden(conflict.winner), hidden(conflict.loser), conflict.rule)
        self.traces.append(self.teller.conflicted(conflict))

    def _from_space(self, origin: Origin) -> Space:
        """The space that something comes from which is to be known elsewhere."""
        named = None if origin.moved_from is None else places_of(origin.moved_from, self.places)
        if named is not None:
            return named[1]
        return Space.SESSION if self.places.session is not None else Space.USER

    def _kept_back(self, made: Item, origin: Origin, request: PromotionRequest) -> Reason | None:
        """Why an item may not go to the space that was asked for; None when it may."""
        from_space = self._from_space(origin)
        passage = promotion(self.terms.contract, made, from_space, request.to_space)
        self.traces.append(self.teller.checked(BorderAction.PROMOTE, passage, from_space, request.to_space, made.id))
        if passage.allowed:
            return None
        self.traces.append(self.teller.kept_back(from_space, request.to_space, made, passage))
        return passage.reason

    def _contradicted(self, waiting: Waiting, queued: Queued, *, approved: bool) -> Waiting:
        """Open a contradiction where there is one; what a rule settles is settled at once, and told all the same."""
        event = event_of(
            queued.proposal.contradiction_check,
            queued.proposal.candidate,
            event_id=self.new_id("ctr"),
            tenant_id=self.tenant,
            proposal_id=waiting.id,
            at=self.now,
        )
        if event is None:
            return waiting
        resolved = {"status": "resolved", "resolved_by": f"rule:{waiting.rule}", "winner": waiting.id}
        told: dict[str, Any] = event.as_json() | {"space": waiting.space.value, "opened_at": int(self.now)}
        told |= {} if waiting.origin.persona is None else {"persona": waiting.origin.persona}
        told |= resolved | {"resolved_at": int(self.now)} if approved else {"status": "open"}
        self.draft.put(
            self.places.contradiction(event.event_id),
            told,
            {"status": told["status"], "proposal": waiting.id, "event": event.event_id},
            new=True,
        )
        return msgspec.structs.replace(waiting, contradiction=event.event_id)

    # -- records

    async def promote(
        self,
        waiting: Waiting,
        rivals: tuple[Record, ...],
        *,
        consent_id: str | None = None,
        approved_by: tuple[str, ...] = (),
        request: PromotionRequest | None = None,
    ) -> Record:
        """Make a record of a proposal, in place of the rivals that it contradicts."""
        statement, origin, space = waiting.statement, waiting.origin, waiting.space
        proposal = proposals.proposal_of(waiting.proposal)
        made, kind = waiting.made, waiting.made.kind
        await self._enter(space)
        conflict = decided_conflict(made, rivals, self.terms.contract)
        if conflict is not None and conflict.winner.id == made.id and not approved_by:
            self._tell_conflict(conflict, personal=consent_id is not None, rivals=rivals)
        ends_at = self.terms.lifetimes.ends(proposal.tier_target, proposal.write_class, self.now)
        importance = max([made.importance, *(each.importance for each in rivals)])
        merged = ("conflict_merge",) if importance > made.importance else ()
        record = Record(
            id=made.id,
            space=space,
            owner=self.places.owners.of(space),
            kind=kind,
            event_type=statement.event_type,
            write_class=proposal.write_class,
            tier=proposal.tier_target,
            entity=statement.entity,
            predicate=statement.predicate,
            value=statement.value,
            text=statement.text,
            dedup_key=key_for(statement, kind),
            source=origin.source,
            authority=AUTHORITY_OF[origin.trust],
            authority_reason=f"source:{origin.source.value}",
            trust=origin.trust,
            classification=origin.classification,
            confidence=proposal.candidate.confidence,
            importance=importance,
            importance_reason=(*made.meta.importance_reason, *merged),
            tick=made.created_at,
            promoted_at=self.now,
            evidence_refs=proposal.candidate.evidence_refs,
            proposal_id=waiting.id,
            principal=origin.principal,
            captures=origin.captures,
            approved_by=approved_by,
            rule=None if approved_by else waiting.rule,
            consent_id=consent_id,
            purpose=origin.purpose,
            subject=waiting.subject,
            supersedes=tuple(each.id for each in rivals),
            derived_from=origin.derived_from,
            lineage=lineage_of(*origin.lineage, *(f"principal:{each}" for each in (origin.principal, *approved_by))),
            key=statement.key,
            session=origin.session,
            ends_at=ends_at,
            policy_tags=made.meta.policy_tags,
            phase=await self._phase_of(space),
            promoted_from=origin.moved_from,
            promotion_reason=None if request is None else str(request.reason),
            persona=origin.persona,
        )
        record = described(record, rivals, self.origin)
        for rival in rivals:
            await self.end(rival, Reason.SUPERSEDED, record.id)
        await self.write(record)
        item = record.item()
        self.written.append(item if consent_id is None else self.teller.redaction.hidden(item))
        self.promoted.append(record)
        await self._passed_on(record, origin, request)
        kept = msgspec.structs.replace(waiting, status="approved", record_id=record.id)
        self.keep(kept)
        for signal in on_promotion(self.tenant, proposal, self.now, edited=bool(waiting.editors)):
            self.signal(signal)
        return record

    async def _passed_on(self, record: Record, origin: Origin, request: PromotionRequest | None) -> None:
        """Tell that something went to another space; what it was in its own is gone."""
        if request is None and origin.moved_from is None and record.space not in (Space.PROJECT, Space.SYSTEM):
            return
        asked = request or PromotionRequest(record.space, Reason.META_PROMOTION_TARGET)
        from_space, item = self._from_space(origin), record.item()
        passage = promotion(self.terms.contract, item, from_space, asked.to_space)
        held = None if origin.moved_from is None else await self._named(origin.moved_from)
        source = item if held is None else held.item()
        self.traces.append(self.teller.promoted(from_space, source, item, passage, asked))
        if held is not None:
            await self.end(held, Reason.PROMOTED, record.id)

    # -- consents and rejections

    async def _surroundings(
        self, submission: Submission, candidate: Candidate, rivals: Sequence[Record], persona: str | None
    ) -> Surroundings:
        personal = self.terms.policy.sensitivity.covers(candidate, submission.standing.classification)
        subject = submission.subject_ceid or candidate.entity_ceid
        ledger = await self.ledger(subject) if personal else Ledger(self.tenant)
        rejection = await self.draft.at(self.places.rejection(self.claim_digest(candidate, persona)))
        known = tuple(each.known() for each in rivals)
        return Surroundings(ledger, known, () if rejection is None else (_rejection_in(rejection),))

    # -- the end

    def finish(self, cause: str | None = None) -> None:
        """Draft the traces, and hand everything over."""
        if self.traces or self.written:
            told = [self.teller.written(tuple(self.written)), *self.traces] if self.written else self.traces
            types = sorted({type_of(type(each)) for each in told})
            value = {"events": told, "cause": cause, "at": int(self.now)}
            events = [as_json(each) for each in told]
            labels = {"types": types, "records": ids_in(events), "session": self.teller.session}
            labels |= {} if cause is None else {"cause": cause}
            ends = self.terms.traces_end(self.now)
            self.draft.put(self.places.trace(self.new_id("trc")), value, labels, expires_at=ends, new=True)
        self.draft.finish()


def _same(made: Item, rivals: Sequence[Record]) -> str | None:
    """The record that says the same in the same words."""
    alike = (each.id for each in rivals if each.dedup_key == made.meta.dedup_key and each.kind is not Kind.PROFILE)
    return next(alike, None)


def _rejection_in(told: dict[str, Any]) -> Rejection:
    return Rejection(
        told["tenant"], bytes.fromhex(told["claim"]), told["proposal_id"], told["reviewer_id"], Instant(told["at"])
    )
