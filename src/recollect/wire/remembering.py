"""Requests of the way in on the wire: captures, proposals, consents, records, and what is decided about them."""

from __future__ import annotations

from typing import Any

from recollect.domain.governance.terms import Space
from recollect.service.pipeline.capturing import NOW
from recollect.service.pipeline.reviewing import CLAIM_SECONDS
from recollect.wire.requests import Strict


class CaptureBody(Strict):
    """What was said and done, and whether it is looked into at once."""

    captures: list[Any]
    remember: str = NOW


class ClaimBody(Strict):
    """For how long a proposal is taken."""

    seconds: int | float = CLAIM_SECONDS


class ApproveBody(Strict):
    """A yes, perhaps in other words."""

    edit: dict[str, Any] | None = None
    note: str | None = None


class RejectBody(Strict):
    """A no."""

    note: str | None = None


class DecideBody(Strict):
    """The same decision about many proposals."""

    decision: str
    proposal_ids: list[str]
    note: str | None = None
    dry_run: bool = False


class RevokeBody(Strict):
    """What shows that a consent was taken back."""

    evidence_refs: tuple[str, ...] = ()
    auditor_id: str | None = None


class CorrectBody(Strict):
    """What is right in place of what a record says."""

    value: Any = None
    text: str | None = None
    note: str | None = None


class PromoteBody(Strict):
    """Where a record is to be known."""

    to_space: str
    project: str | None = None


class UndoBody(Strict):
    """From where all that is to be removed comes."""

    source: str | None = None
    principal: str | None = None
    after: str | None = None
    dry_run: bool = False


class ResolveBody(Strict):
    """Which side of a contradiction is right."""

    winner: str
    note: str | None = None


class PhaseBody(Strict):
    """A new phase of a space."""

    token: str
    name: str | None = None
    reason: str | None = None
    space: str = Space.USER
    session: str | None = None
    project: str | None = None
