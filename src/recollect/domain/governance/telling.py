"""Telling: the traces of one call, made from decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET

from recollect.domain.governance.conflicts import Conflict, authority_in
from recollect.domain.governance.gate import Candidate, Verdict
from recollect.domain.governance.ids import deterministic_hash
from recollect.domain.governance.items import Item
from recollect.domain.governance.phases import Diff, DiffRequest, Phase
from recollect.domain.governance.policy import Contract
from recollect.domain.governance.reasons import PRIVACY, Reason
from recollect.domain.governance.recalling import Context, Query
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.retention import Forgotten
from recollect.domain.governance.spaces import Border, Passage, PromotionRequest, consulted
from recollect.domain.governance.terms import BorderAction, Space
from recollect.domain.governance.traces import (
    TRACE_VERSION,
    Ages,
    BorderTrace,
    ConflictExplanation,
    ConflictTrace,
    CurrentPhase,
    DeletedTrace,
    DeniedExplanation,
    DeniedTrace,
    ForgetExplanation,
    ForgetTrace,
    PhaseDiffTrace,
    PhaseStartedTrace,
    PromotedTrace,
    PromotionDeniedTrace,
    RecallTrace,
    Sides,
    Weights,
    WriteTrace,
)

_Rule = Literal["authority", "correction", "recency", "importance"]
_Forgot = Literal["ttl_expired", "decay"]
_Gone = Literal[
    "superseded", "expired", "promoted", "retracted", "consent_revoked", "consent_lost", "undone", "curated"
]


class Teller(msgspec.Struct, frozen=True):
    """Who tells: a profile in a session, under a contract, with what may be shown."""

    ai_profile: str
    session: str
    contract: Contract
    redaction: Redaction

    def recalled(
        self,
        query: Query,
        context: Context,
        policy: dict[str, Any],
        recall_counts: dict[str, int],
        phase_counts: dict[str, dict[str, int]],
        current: Phase | None,
    ) -> RecallTrace:
        """What was recalled for a query."""
        items = context.items()
        return RecallTrace(
            **self._said(),
            query=query.shown,
            recalled=tuple(self.redaction.shown_item(each) for each in items),
            policy=policy,
            deterministic_hash=deterministic_hash((each.kind, each.id) for each in items),
            spaces_consulted=consulted(self.contract),
            recall_counts=recall_counts,
            phase_counts=phase_counts,
            current_phase=UNSET if current is None else self._current(current),
        )

    def written(self, items: tuple[Item, ...]) -> WriteTrace:
        """What was written of a turn."""
        shown = tuple(self.redaction.shown_item(each) for each in items)
        return WriteTrace(**self._said(), written=shown, reason="interaction_recorded")

    def denied(self, item: Item, candidate: Candidate, verdict: Verdict) -> DeniedTrace:
        """What was not written; what privacy refused is not shown, even where its own text is harmless."""
        withheld = verdict.reason in PRIVACY or self.redaction.withholds(candidate.text)
        return DeniedTrace(
            **self._said(),
            attempted=self.redaction.shown_item(item, withheld=withheld),
            reason=verdict.reason,
            policy_snapshot=self.contract.snapshot(),
            explanation=DeniedExplanation(
                allowed=False,
                reason=verdict.reason,
                tags=verdict.tags,
                kind=item.kind,
                event_type=item.event_type,
            ),
        )

    def conflicted(self, conflict: Conflict) -> ConflictTrace:
        """Which of two items is kept, and all that could have decided it."""
        winner, loser = conflict.winner, conflict.loser
        rule = cast("_Rule", conflict.rule.value)
        keys = {each.id: self.redaction.shown_key(each) for each in (winner, loser)}
        # Both have the same key; where one of the texts is withheld, the key is, too.
        hidden = next((key for key in keys.values() if key != winner.meta.dedup_key), keys[winner.id])
        return ConflictTrace(
            **self._said(),
            winner_id=winner.id,
            loser_id=loser.id,
            rule=rule,
            dedup_key=hidden or "",
            explanation=ConflictExplanation(
                rule=rule,
                authority=Sides(authority_in(winner), authority_in(loser)),
                event_type=Sides(winner.event_type, loser.event_type),
                recency=Ages(winner.created_at, loser.created_at),
                importance=Weights(winner.importance, loser.importance),
            ),
        )

    def forgot(self, forgotten: Forgotten) -> ForgetTrace:
        """An item was forgotten."""
        item, reason = forgotten.item, cast("_Forgot", forgotten.reason.value)
        return ForgetTrace(
            **self._said(),
            memory_id=item.id,
            reason=reason,
            policy_snapshot=self.contract.snapshot(),
            explanation=ForgetExplanation(
                reason=reason, kind=item.kind, event_type=item.event_type, authority=authority_in(item)
            ),
        )

    def checked(
        self,
        action: BorderAction,
        border: Border | Passage,
        from_space: Space,
        to_space: Space | None = None,
        subject_id: str | None = None,
    ) -> BorderTrace:
        """Whether a border was open. About phases, only what the contract says of phases is shown."""
        about_phases = action in (BorderAction.PHASE_START, BorderAction.PHASE_DIFF)
        return BorderTrace(
            **self._said(),
            action=action,
            from_space=from_space,
            allowed=border.allowed,
            reason=border.reason,
            policy_snapshot=self.contract.phase_snapshot() if about_phases else self.contract.snapshot(),
            to_space=UNSET if to_space is None else to_space,
            subject_id=UNSET if subject_id is None else subject_id,
        )

    def promoted(
        self, from_space: Space, source: Item, target: Item, passage: Passage, request: PromotionRequest
    ) -> PromotedTrace:
        """An item went to another space."""
        return PromotedTrace(
            **self._said(),
            from_space=from_space,
            to_space=request.to_space,
            from_id=source.id,
            to_id=target.id,
            authority_used=passage.authority,
            reason=str(request.reason),
            policy_snapshot=self.contract.snapshot(),
        )

    def kept_back(self, from_space: Space, to_space: Space, item: Item, passage: Passage) -> PromotionDeniedTrace:
        """An item may not go to another space."""
        return PromotionDeniedTrace(
            **self._said(),
            from_space=from_space,
            to_space=to_space,
            memory_id=item.id,
            allowed=False,
            reason=passage.reason,
            policy_snapshot=self.contract.snapshot(),
        )

    def began(self, space: Space, owner: str, phase: Phase) -> PhaseStartedTrace:
        """A phase began."""
        return PhaseStartedTrace(
            **self._said(),
            space=space,
            owner=owner,
            phase_id=phase.id,
            reason=self.redaction.shown(phase.reason),
            policy_snapshot=self.contract.phase_snapshot(),
            phase_name=UNSET if phase.name is None else self.redaction.shown(phase.name),
        )

    def deleted(
        self, space: Space, owner: str, phase_id: str, item: Item, reason: Reason, replaced_by: str | None = None
    ) -> DeletedTrace:
        """An item is gone; the phase is the one in which it went."""
        return DeletedTrace(
            **self._said(),
            space=space,
            owner=owner,
            phase_id=phase_id,
            memory_id=item.id,
            reason=cast("_Gone", reason.value),
            policy_snapshot=self.contract.phase_snapshot(),
            replaced_by=UNSET if replaced_by is None else replaced_by,
        )

    def differed(self, owner: str, request: DiffRequest, diff: Diff) -> PhaseDiffTrace:
        """What changed between two phases."""
        return PhaseDiffTrace(
            **self._said(),
            space=request.space,
            owner=owner,
            from_phase_id=self.redaction.shown(request.from_phase_id),
            to_phase_id=self.redaction.shown(request.to_phase_id),
            added_count=len(diff.added),
            deleted_count=len(diff.deleted),
            replaced_count=len(diff.replaced),
            top_changes=diff.top_changes(),
            summary_lines=diff.summary_lines(),
        )

    def _said(self) -> Mapping[str, Any]:
        return {"trace_version": TRACE_VERSION, "ai_profile": self.ai_profile, "session": self.session}

    def _current(self, phase: Phase) -> CurrentPhase:
        return CurrentPhase(
            phase_id=phase.id,
            phase_index=phase.index,
            phase_started_at=phase.started_at,
            phase_reason=self.redaction.shown(phase.reason),
            phase_name=UNSET if phase.name is None else self.redaction.shown(phase.name),
        )
