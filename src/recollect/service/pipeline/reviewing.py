"""Reviewing: people decide about what waits: one at a time or many at once, nobody twice, and nothing is forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.address import ROOT
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidQuery, InvalidRequest, NotFound, RecollectError, ReviewRefused
from recollect.domain.filters import parse_filter
from recollect.domain.governance.gate import privacy_flaw
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.redaction import WITHHELD
from recollect.domain.governance.terms import Tier
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.promotion import proposals, shapes
from recollect.domain.promotion.claims import Candidate, digest, texts_in
from recollect.domain.promotion.consent_checks import Need, Rested, still_covered
from recollect.domain.promotion.gate import holds_secret
from recollect.domain.promotion.review import Approval, Authors, approvals_needed, counted, flaw_in, rejected
from recollect.domain.promotion.signals import on_rejection
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import live_record
from recollect.domain.statements import Statement
from recollect.domain.values import stored_value
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import QUEUE, Places, places_of, queued
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Waiting

STATUSES = ("waiting", "approved", "rejected", "withdrawn")
CLAIM_SECONDS = 300.0
MOST_CLAIM_SECONDS = 86_400.0
MOST_AT_ONCE = 500
MAX_NOTE = 1_000
_EDITS = frozenset({"value", "text", "predicate", "tier_target"})
_AGES = (3_600, 86_400, 7 * 86_400)


class Reviewing(Person):
    """The review queue, in the name of one reviewer."""

    # -- looking

    async def list_proposals(
        self, *, status: str = "waiting", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Proposals: for reviewers those of the whole tenant, oldest first; for others their own, newest first."""
        self._check_own_name()
        if status not in STATUSES:
            raise InvalidQuery(f"status is one of {', '.join(STATUSES)}")
        store, most = self._workings.store, checked_limit(limit)
        ruling = await self._workings.guard.begin(self._caller)
        if self._reviews and status == "waiting":
            query = Find(Plane.LINK, QUEUE, order=Order.OLDEST, limit=most, cursor=cursor)
            page = await store.find(self._tenant, query)
            found = [await self._proposal_at(row.address.key, stored_value(row.value or b"{}")) for row in page.rows]
            shown = [
                await self._shown(each)
                for each in found
                if each is not None and await ruling.allows(self._seeing, each.places.own().segments, each.id)
            ]
            return {"proposals": shown, "cursor": page.cursor}
        within = ROOT if self._reviews else Places(self._owner).own("proposals")
        if not self._reviews:
            await ruling.allow(Action.READ, within.segments, "")
        wanted = parse_filter({"status": status})
        query = Find(Plane.PROPOSAL, within, wanted, Order.NEWEST, most, cursor=cursor)
        page = await store.find(self._tenant, query)
        action = self._seeing if self._reviews else Action.READ
        shown = [
            await self._shown(_read(row.value))
            for row in page.rows
            if row.value and await ruling.allows(action, row.address.namespace.segments, row.address.key)
        ]
        return {"proposals": shown, "cursor": page.cursor}

    async def _proposal_at(self, proposal_id: str, told: Mapping[str, Any]) -> Waiting | None:
        row = await self._workings.store.get(self._tenant, Places(told["user"]).proposal(proposal_id))
        return None if row is None or row.value is None else _read(row.value)

    async def get_proposal(self, proposal_id: str) -> dict[str, Any]:
        """A proposal, with what it rests on and what was decided."""
        return await self._shown(await self._visible(proposal_id, Action.READ))

    async def _visible(self, proposal_id: str, own: Action = Action.REVIEW) -> Waiting:
        """The proposal, if the caller may know of it; `own` is what it takes where it is the caller's own."""
        self._check_own_name()
        if not isinstance(proposal_id, str) or not proposal_id.startswith("mwp_") or len(proposal_id) > 100:
            raise NotFound("proposal not found")
        store = self._workings.store
        ruling = await self._workings.guard.begin(self._caller)
        row = await store.get(self._tenant, Places(self._owner).proposal(proposal_id))
        action = own
        if row is None and self._reviews:
            action = Action.REVIEW
            pointer = await store.get(self._tenant, queued(proposal_id, decided=True))
            if pointer is not None and pointer.value is not None:
                user = stored_value(pointer.value)["user"]
                row = await store.get(self._tenant, Places(user).proposal(proposal_id))
        if row is None or row.value is None:
            raise NotFound("proposal not found")
        found = _read(row.value)
        place = row.address.namespace.segments
        if not await ruling.allows(action, place, proposal_id):
            raise NotFound("proposal not found")
        return found

    async def _shown(self, waiting: Waiting) -> dict[str, Any]:
        """A proposal as reviewers see it, beside what it would take the place of."""
        now = self._workings.clock()
        hidden = not await self._covered(waiting.rested(self._tenant), now)
        candidate = waiting.proposal["candidate"] | ({"value": WITHHELD} if hidden else {})
        claimed = waiting.claimed_until is not None and waiting.claimed_until > now
        origin = waiting.origin
        return waiting.proposal | {
            "candidate": candidate,
            "status": waiting.status,
            "text": WITHHELD if hidden else waiting.statement.text,
            "event_type": waiting.statement.event_type.value,
            "space": waiting.space.value,
            "user_id": waiting.places.user,
            "trust": origin.trust.name.lower(),
            "classification": origin.classification.name,
            "captures": list(origin.captures),
            "principal": origin.principal,
            "risk": waiting.risk,
            "risk_reasons": list(waiting.risk_reasons),
            "rule": waiting.rule,
            "reason": waiting.reason,
            "proposed_at": shapes.written(waiting.at),
            "age_seconds": max(0, (now - waiting.at) // 1_000_000),
            "claimed_by": waiting.claimed_by if claimed else None,
            "claimed_until": shapes.written(waiting.claimed_until) if claimed else None,
            "approvals": [each["reviewer_id"] for each in waiting.approvals],
            "approvals_needed": approvals_needed(Tier(waiting.proposal["tier_target"])),
            "decided_by": waiting.decided_by,
            "decided_at": shapes.written(waiting.decided_at),
            "note": waiting.note,
            "record_id": waiting.record_id,
            "contradiction": waiting.contradiction,
            "existing_text": await self._existing_text(waiting, now),
        }

    async def _existing_text(self, waiting: Waiting, now: Instant) -> str | None:
        """What the record says that a proposal contradicts, while it may be seen."""
        existing = waiting.proposal["contradiction_check"]["existing"]
        place = None if existing is None else places_of(existing, waiting.places)
        if place is None:
            return None
        row = await self._workings.store.get(self._tenant, place[0].record(place[1], place[2]))
        if row is None or row.value is None:
            return None
        record = live_record(row.value)
        if record is None:
            return None
        return record.text if await self._covered(record.rested(self._tenant), now) else None

    async def _covered(self, rested: Rested | None, now: Instant) -> bool:
        """Whether what rests on a consent may be seen now; what needs none always may."""
        if rested is None:
            return True
        ledger = await read_ledger(self._workings.store, self._tenant, rested.need.subject_ceid)
        return still_covered(ledger, rested, now)

    async def review_load(self) -> dict[str, Any]:
        """How much waits, how old it is, and of what sort it is."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.REVIEW)
        now = self._workings.clock()
        counts: dict[str, Counter[str]] = {"class": Counter(), "tier": Counter(), "risk": Counter()}
        ages: list[int] = []
        cursor: str | None = None
        while True:
            query = Find(Plane.LINK, QUEUE, order=Order.OLDEST, limit=500, cursor=cursor)
            page = await self._workings.store.find(self._tenant, query)
            for row in page.rows:
                told = stored_value(row.value or b"{}")
                ages.append(max(0, (now - row.created_at) // 1_000_000))
                for name, counter in counts.items():
                    counter[str(told.get(name))] += 1
            cursor = page.cursor
            if cursor is None:
                break
        older = {str(seconds): sum(age > seconds for age in ages) for seconds in _AGES}
        told = {"waiting": len(ages), "oldest_seconds": max(ages, default=0), "older_than_seconds": older}
        return told | {f"by_{name}": dict(sorted(counter.items())) for name, counter in counts.items()}

    # -- deciding

    async def claim_proposal(self, proposal_id: str, *, seconds: float = CLAIM_SECONDS) -> dict[str, Any]:
        """Take a proposal, so that nobody else decides about it for a while; taking it again prolongs that."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MOST_CLAIM_SECONDS:
            raise InvalidRequest(f"seconds is a number above 0, at most {MOST_CLAIM_SECONDS:.0f}", field="seconds")

        async def claimed(under_way: Promoting, waiting: Waiting) -> Waiting:
            until = after_seconds(under_way.now, seconds)
            return msgspec.structs.replace(waiting, claimed_by=self._reviewer, claimed_until=until)

        return await self._decide(proposal_id, claimed)

    async def release_proposal(self, proposal_id: str) -> dict[str, Any]:
        """Give a proposal back that was taken."""

        async def released(_: Promoting, waiting: Waiting) -> Waiting:
            return msgspec.structs.replace(waiting, claimed_by=None, claimed_until=None)

        return await self._decide(proposal_id, released)

    async def approve_proposal(
        self, proposal_id: str, *, edit: Mapping[str, Any] | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Let a proposal become a record, perhaps in other words; for the durable tier it takes two people."""

        async def approved(under_way: Promoting, waiting: Waiting) -> Waiting:
            edited = waiting if edit is None else self._edited(under_way, waiting, edit)
            if edit is not None:  # what is personal now waits by consent, or not at all
                edited = msgspec.structs.replace(edited, consent_id=await self._consent(under_way, edited))
            return await self._approved(under_way, edited, _note(note))

        return await self._decide(proposal_id, approved)

    async def reject_proposal(self, proposal_id: str, *, note: str | None = None) -> dict[str, Any]:
        """Say no to a proposal; the same is not proposed again."""

        async def refused(under_way: Promoting, waiting: Waiting) -> Waiting:
            proposal = proposals.proposal_of(waiting.proposal)
            said = rejected(
                self._tenant, proposal.candidate, proposal_id=waiting.id, reviewer_id=self._reviewer, at=under_way.now
            )
            kept = {
                "tenant": self._tenant,
                "claim": digest(self._tenant, proposal.candidate).hex(),
                "proposal_id": waiting.id,
                "reviewer_id": self._reviewer,
                "at": int(under_way.now),
            }
            digested = under_way.claim_digest(proposal.candidate, waiting.origin.persona)
            under_way.draft.put(waiting.places.rejection(digested), kept)
            under_way.signal(on_rejection(said, proposal))
            await under_way.resolve_contradiction(
                waiting, winner=proposal.contradiction_check.existing, by=self._reviewer
            )
            return self._decided_by(under_way, waiting, "rejected", _note(note))

        return await self._decide(proposal_id, refused)

    async def review_many(
        self, decision: str, proposal_ids: Sequence[str], *, note: str | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Decide about many proposals alike; with `dry_run`, say what that would do."""
        if decision not in ("approve", "reject"):
            raise InvalidRequest("decision is approve or reject", field="decision")
        if isinstance(proposal_ids, str) or not isinstance(proposal_ids, Iterable):
            raise InvalidRequest("proposal_ids are a list of ids", field="proposal_ids")
        ids = list(dict.fromkeys(proposal_ids))
        if not 0 < len(ids) <= MOST_AT_ONCE:
            raise InvalidRequest(f"1 to {MOST_AT_ONCE} proposals are decided at once", field="proposal_ids")
        said = _note(note)
        self._workings.guard.permit(self._caller, Action.REVIEW)
        results = [await self._one_of_many(decision, each, said, dry_run=dry_run) for each in ids]
        counts = Counter(each["outcome"] for each in results)
        return {"dry_run": bool(dry_run), "counts": dict(sorted(counts.items())), "results": results}

    async def _one_of_many(self, decision: str, proposal_id: str, note: str | None, *, dry_run: bool) -> dict[str, Any]:
        try:
            if dry_run:
                return await self._foreseen(decision, proposal_id)
            if decision == "approve":
                told = await self.approve_proposal(proposal_id, note=note)
            else:
                told = await self.reject_proposal(proposal_id, note=note)
        except RecollectError as problem:
            why = {"code": problem.code, "reason": problem.details.get("reason", problem.message)}
            return {"proposal_id": proposal_id, "outcome": "refused", **why}
        return {"proposal_id": proposal_id, "outcome": told["status"], "record_id": told["record_id"]}

    async def _foreseen(self, decision: str, proposal_id: str) -> dict[str, Any]:
        waiting = await self._visible(proposal_id)
        self._check_free(waiting, self._workings.clock())
        told: dict[str, Any] = {"proposal_id": proposal_id, "outcome": "rejected"}
        if decision == "approve":
            approval = self._approval(self._workings.clock())
            earlier = _approvals(waiting, self._tenant)
            tier = Tier(waiting.proposal["tier_target"])
            flaw = flaw_in(approval, earlier, self._authors(waiting), tier)
            if flaw is not None:
                raise ReviewRefused(f"this approval does not count: {flaw.value}", reason=flaw.value)
            enough = len(counted((*earlier, approval), self._authors(waiting), tier)) >= approvals_needed(tier)
            told["outcome"] = "approved" if enough else "waiting"
        return told | {"text": waiting.statement.text, "existing": waiting.proposal["contradiction_check"]["existing"]}

    async def resolve_contradiction(self, event_id: str, winner: str, *, note: str | None = None) -> dict[str, Any]:
        """Settle a contradiction: `candidate` takes the place of what is known, or `existing` stays."""
        if winner not in ("candidate", "existing"):
            raise InvalidRequest("winner is candidate or existing", field="winner")
        self._workings.guard.permit(self._caller, Action.REVIEW)
        query = Find(Plane.CONTRADICTION, ROOT, parse_filter({"event": event_id}), Order.NEWEST, 1)
        page = await self._workings.store.find(self._tenant, query)
        if not page.rows or page.rows[0].value is None:
            raise NotFound("contradiction not found")
        proposal_id = str(stored_value(page.rows[0].value)["proposal_id"])
        if winner == "candidate":
            told = await self.approve_proposal(proposal_id, note=note)
        else:
            told = await self.reject_proposal(proposal_id, note=note)
        return {"event_id": event_id, "winner": winner, "proposal": told}

    # -- inner

    async def _decide(self, proposal_id: str, change: Any) -> dict[str, Any]:
        """Change a waiting proposal, and keep it in the queue or take it out."""
        self._workings.guard.permit(self._caller, Action.REVIEW)
        places = (await self._visible(proposal_id)).places

        async def work(under_way: Promoting) -> Waiting:
            address = places.proposal(proposal_id)
            await under_way.ruling.allow(Action.REVIEW, address.namespace.segments, proposal_id)
            raw = await under_way.draft.bytes_at(address)
            if raw is None:
                raise NotFound("proposal not found")
            waiting = _read(raw)
            self._check_free(waiting, under_way.now)
            changed: Waiting = await change(under_way, waiting)
            under_way.keep(changed)
            return changed

        return await self._shown(await self._workings.remembering.within(self._caller, places, work, proposal_id))

    def _check_free(self, waiting: Waiting, now: Instant) -> None:
        if waiting.status != "waiting":
            raise ReviewRefused(f"the proposal was {waiting.status} already", reason="decided")
        held = waiting.claimed_until is not None and waiting.claimed_until > now
        if held and waiting.claimed_by != self._reviewer:
            raise ReviewRefused("somebody else is at this proposal", reason="claimed", claimed_by=waiting.claimed_by)

    def _approval(self, now: Instant) -> Approval:
        return Approval(self._tenant, self._reviewer, human=True, at=now)

    def _authors(self, waiting: Waiting) -> Authors:
        return Authors(self._tenant, frozenset({waiting.origin.principal, *waiting.editors}))

    async def _approved(self, under_way: Promoting, waiting: Waiting, note: str | None) -> Waiting:
        tier = Tier(waiting.proposal["tier_target"])
        approval, earlier = self._approval(under_way.now), _approvals(waiting, self._tenant)
        flaw = flaw_in(approval, earlier, self._authors(waiting), tier)
        if flaw is not None:
            raise ReviewRefused(f"this approval does not count: {flaw.value}", reason=flaw.value)
        told = {"reviewer_id": approval.reviewer_id, "at": int(approval.at)}
        waiting = msgspec.structs.replace(waiting, approvals=(*waiting.approvals, told))
        yes = counted((*earlier, approval), self._authors(waiting), tier)
        if len(yes) < approvals_needed(tier):
            return msgspec.structs.replace(waiting, claimed_by=None, claimed_until=None)
        consent_id = await self._consent(under_way, waiting)
        rivals = await under_way.rivals_of(waiting)
        names = tuple(each.reviewer_id for each in yes)
        record = await under_way.promote(waiting, rivals, consent_id=consent_id, approved_by=names)
        await under_way.resolve_contradiction(waiting, winner=record.id, by=self._reviewer)
        decided = self._decided_by(under_way, waiting, "approved", note)
        return msgspec.structs.replace(decided, record_id=record.id)

    async def _consent(self, under_way: Promoting, waiting: Waiting) -> str | None:
        """The consent that covers it now; it may have been taken back, or be needed since it was edited."""
        statement, origin = waiting.statement, waiting.origin
        candidate = proposals.proposal_of(waiting.proposal).candidate
        if not under_way.terms.policy.sensitivity.covers(candidate, origin.classification):
            return None
        subject = origin.subject or statement.entity
        found = await under_way.covered(
            Need(self._tenant, subject, statement.predicate, origin.classification, origin.purpose)
        )
        if not found.lets_pass:
            raise ReviewRefused("no live consent covers this any more", reason=Reason.CONSENT_LOST.value)
        return found.consent_id

    def _edited(self, under_way: Promoting, waiting: Waiting, edit: Mapping[str, Any]) -> Waiting:
        """The proposal in the words of the reviewer, who then is one of its authors."""
        told = shapes.members(edit, "an edit", frozenset(), _EDITS)
        if not told:
            raise InvalidRequest("an edit changes something", field="edit")
        before = waiting.statement
        value, predicate = told.get("value", before.value), told.get("predicate", before.predicate)
        text = told.get("text") or (before.text if "value" not in told else f"{before.entity} {predicate}: {value}")
        statement = Statement(
            text=shapes.text(text, "text"),
            event_type=before.event_type,
            entity=before.entity,
            predicate=shapes.text(predicate, "predicate"),
            value=value,
            confidence=before.confidence,
            key=before.key,
        )
        privacy = under_way.terms.contract.privacy
        texts = (statement.text, statement.predicate, *texts_in(value))
        if holds_secret(texts) or any(privacy_flaw(each, privacy) for each in texts):
            raise ReviewRefused("this may not be kept", reason=Reason.PRIVACY_DENY_SENSITIVE.value)
        proposal = dict(waiting.proposal)
        proposal["candidate"] = proposal["candidate"] | {"value": value, "predicate": statement.predicate}
        if "tier_target" in told:
            proposal["tier_target"] = shapes.one_of(Tier, told["tier_target"], "tier_target").value
        proposals.proposal_of(proposal)
        editors = tuple(dict.fromkeys((*waiting.editors, self._reviewer)))
        needs = under_way.terms.policy.sensitivity.covers(
            _candidate(statement, proposal), waiting.origin.classification
        )
        subject = (waiting.origin.subject or statement.entity) if needs else waiting.subject
        return msgspec.structs.replace(
            waiting, statement=statement, proposal=proposal, editors=editors, subject=subject, approvals=()
        )

    def _decided_by(self, under_way: Promoting, waiting: Waiting, status: str, note: str | None) -> Waiting:
        return msgspec.structs.replace(
            waiting,
            status=status,
            decided_by=self._reviewer,
            decided_at=under_way.now,
            note=note,
            claimed_by=None,
            claimed_until=None,
        )


def _candidate(statement: Statement, proposal: Mapping[str, Any]) -> Candidate:
    told = proposal["candidate"]
    refs = tuple(told["evidence_refs"])
    return Candidate(statement.entity, statement.predicate, statement.value, refs, told["confidence"])


def _approvals(waiting: Waiting, tenant: str) -> tuple[Approval, ...]:
    return tuple(Approval(tenant, each["reviewer_id"], True, Instant(each["at"])) for each in waiting.approvals)


def _note(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given.strip()) <= MAX_NOTE:
        raise InvalidRequest(f"a note is text of 1 to {MAX_NOTE:,} characters", field="note")
    return given.strip()


def _read(raw: bytes) -> Waiting:
    return msgspec.json.decode(raw, type=Waiting)
