"""The client for code without an event loop; generated from `_async_remembering.py` by `make generate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client._answers import Answer
from recollect_client._files import Download
from recollect_client._requests import Call
from recollect_client._shapes import Captured
from recollect_client.errors import InvalidCapture, InvalidRequest, InvalidValue

_RECORDS = "/v1/records"
_PROPOSALS = "/v1/proposals"


class Remembering(ABC):
    """What comes in, who decides about it, and what became of it; everything in one's own name."""

    @abstractmethod
    def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered."""

    @abstractmethod
    def _in_own_name(self) -> None:
        """Refuse what is not done with a justification."""

    def _told(self, call: Call) -> dict[str, Any]:
        self._in_own_name()
        return answers.decoded(self._send(call), dict[str, Any])

    # -- capturing

    def capture(
        self,
        captures: Sequence[Mapping[str, Any]],
        *,
        remember: str = "now",
        idempotency_key: str | None = None,
    ) -> list[dict[str, Any]]:
        """Append what was said and done, and remember what of it the rules let in.

        Each has a `text` and may have a `kind` (`turn`, `tool_result`, `decision`, `effect`), a `speaker`, a `session`,
        a `project`, a `tool`, `refs` and `via`. With `remember="later"` it is looked into in the background. It is
        repeated after trouble only with an `idempotency_key`.
        """
        self._in_own_name()
        fields = {"captures": requests.captures_given(captures), "remember": remember}
        call = requests.act("/v1/captures", fields, key=idempotency_key)
        return answers.decoded(self._send(call), Captured).captures

    def get_capture(self, capture_id: str) -> dict[str, Any]:
        """A capture, and what became of it."""
        return self._told(requests.read(f"/v1/captures/{requests.in_path(capture_id)}"))

    def list_captures(
        self, *, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The captures of the caller, newest first."""
        query = [("session", session), ("limit", limit), ("cursor", cursor)]
        return self._told(requests.read("/v1/captures", query))

    def would_remember(self, capture: Mapping[str, Any]) -> dict[str, Any]:
        """What would be remembered of something, and why not the rest; nothing is written."""
        body = requests.document(capture, "capture", InvalidCapture)
        return self._told(Call("POST", "/v1/captures/dry-run", body))

    def propose(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """Propose a typed candidate, in the shape of a memory write proposal; the service makes every check anew."""
        body = requests.document(proposal, "proposal", InvalidValue)
        return self._told(Call("POST", "/v1/proposals", body, repeatable=False))

    # -- records

    def get_record(self, record_id: str) -> dict[str, Any]:
        """A record, with everything that is known of it; nothing at all once it may not be seen."""
        return self._told(requests.read(f"{_RECORDS}/{requests.in_path(record_id)}"))

    def list_records(
        self,
        *,
        space: str = "user",
        session: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        tier: str | None = None,
        event_type: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """The records of a space, newest first."""
        query = [
            ("space", space),
            ("session", session),
            ("project", project),
            ("kind", kind),
            ("tier", tier),
            ("event_type", event_type),
            ("limit", limit),
            ("cursor", cursor),
        ]
        return self._told(requests.read("/v1/records", query))

    def correct_record(
        self, record_id: str, *, value: Any = None, text: str | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Say what is right in place of what a record says; it goes the way that everything goes in."""
        fields = {"value": requests.value_given(value), "text": text, "note": note}
        return self._told(requests.act(f"{_RECORDS}/{requests.in_path(record_id)}/correct", fields))

    def retract_record(self, record_id: str) -> dict[str, Any]:
        """Take a record back: it is told that it is gone, and nothing of it is given to anybody."""
        return self._told(requests.act(f"{_RECORDS}/{requests.in_path(record_id)}/retract"))

    def pin_record(self, record_id: str, *, pinned: bool = True) -> dict[str, Any]:
        """Keep a record whatever its tier says, or no longer."""
        if not isinstance(pinned, bool):
            raise InvalidRequest("pinned is true or false", details={"field": "pinned"})
        return self._told(requests.act(f"{_RECORDS}/{requests.in_path(record_id)}/{'pin' if pinned else 'unpin'}"))

    def promote_record(self, record_id: str, to_space: str, *, project: str | None = None) -> dict[str, Any]:
        """Ask for a record to be known in another space; the rules say whether it may, and the policy who decides."""
        return self._told(
            requests.act(
                f"{_RECORDS}/{requests.in_path(record_id)}/promote", {"to_space": to_space, "project": project}
            )
        )

    def start_phase(
        self,
        token: str,
        *,
        name: str | None = None,
        reason: str | None = None,
        space: str = "user",
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """Begin a new phase in a space; the token that began the last one begins none."""
        fields = {"token": token, "name": name, "reason": reason, "space": space}
        return self._told(requests.act("/v1/phases", fields | {"session": session, "project": project}))

    def undo(
        self,
        *,
        source: str | None = None,
        principal: str | None = None,
        after: datetime | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Remove every record that comes from a source, a principal or a time, and all that was derived from those.

        A source is the id of a capture, a proposal, a record or a session, a tool, or anything that was named as
        evidence. Reviewers undo in the whole tenant, others among their own.
        """
        fields = {"source": source, "principal": principal, "after": requests.moment(after), "dry_run": dry_run}
        return self._told(requests.act("/v1/records/undo", fields, slow=True, repeatable=dry_run is True))

    # -- reviewing

    def list_proposals(self, *, status: str = "waiting", limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """Proposals: for reviewers those of the whole tenant, oldest first; for others their own, newest first."""
        query = [("status", status), ("limit", limit), ("cursor", cursor)]
        return self._told(requests.read("/v1/proposals", query))

    def get_proposal(self, proposal_id: str) -> dict[str, Any]:
        """A proposal, with what it rests on and what was decided."""
        return self._told(requests.read(f"{_PROPOSALS}/{requests.in_path(proposal_id)}"))

    def review_load(self) -> dict[str, Any]:
        """How much waits, how old it is, and of what sort it is."""
        return self._told(requests.read("/v1/proposals/load"))

    def claim_proposal(self, proposal_id: str, *, seconds: float = 300.0) -> dict[str, Any]:
        """Take a proposal, so that nobody else decides about it for a while; taking it again prolongs that."""
        return self._told(requests.act(f"{_PROPOSALS}/{requests.in_path(proposal_id)}/claim", {"seconds": seconds}))

    def release_proposal(self, proposal_id: str) -> dict[str, Any]:
        """Give a proposal back that was taken."""
        return self._told(requests.act(f"{_PROPOSALS}/{requests.in_path(proposal_id)}/release"))

    def approve_proposal(
        self, proposal_id: str, *, edit: Mapping[str, Any] | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Let a proposal become a record, perhaps in other words; for the durable tier it takes two people."""
        fields = {"edit": requests.value_given(edit), "note": note}
        return self._told(requests.act(f"{_PROPOSALS}/{requests.in_path(proposal_id)}/approve", fields))

    def reject_proposal(self, proposal_id: str, *, note: str | None = None) -> dict[str, Any]:
        """Say no to a proposal; the same is not proposed again."""
        return self._told(requests.act(f"{_PROPOSALS}/{requests.in_path(proposal_id)}/reject", {"note": note}))

    def review_many(
        self, decision: str, proposal_ids: Sequence[str], *, note: str | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Decide about many proposals alike; with `dry_run`, say what that would do."""
        ids = requests.names(proposal_ids, "proposal_ids", InvalidRequest)
        fields = {"decision": decision, "proposal_ids": ids, "note": note, "dry_run": dry_run}
        return self._told(requests.act("/v1/proposals/decide", fields, slow=True, repeatable=dry_run is True))

    def resolve_contradiction(self, event_id: str, winner: str, *, note: str | None = None) -> dict[str, Any]:
        """Settle a contradiction: `candidate` takes the place of what is known, or `existing` stays."""
        path = f"/v1/contradictions/{requests.in_path(event_id)}/resolve"
        return self._told(requests.act(path, {"winner": winner, "note": note}))

    # -- consenting

    def capture_consent(self, consent: Mapping[str, Any]) -> dict[str, Any]:
        """Add a consent. One that `supersedes` another stands in its place from then on; none is ever changed."""
        body = requests.document(consent, "consent", InvalidValue)
        return self._told(Call("POST", "/v1/consents", body, repeatable=False))

    def revoke_consent(
        self, consent_id: str, *, evidence_refs: Sequence[str] = (), auditor_id: str | None = None
    ) -> dict[str, Any]:
        """Take a consent back: from the moment this returns, nothing that rested on it is given to anybody."""
        refs = requests.names(evidence_refs, "evidence_refs", InvalidValue)
        path = f"/v1/consents/{requests.in_path(consent_id)}/revoke"
        return self._told(requests.act(path, {"evidence_refs": refs, "auditor_id": auditor_id}, slow=True))

    def list_consents(self, subject: str) -> dict[str, Any]:
        """Every consent record of a subject, in the order in which they were added, and where each stands."""
        return self._told(requests.read("/v1/consents", [("subject", subject)]))

    def get_consent(self, consent_id: str) -> dict[str, Any]:
        """A consent record, and where it stands."""
        return self._told(requests.read(f"/v1/consents/{requests.in_path(consent_id)}"))

    # -- watching

    def list_contradictions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Where what was said differs from what is known: open ones, or those that were resolved and how."""
        query = [("status", status), ("limit", limit), ("cursor", cursor)]
        return self._told(requests.read("/v1/contradictions", query))

    def list_signals(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What there is to learn from: corrections, rejections, edits, contradictions, consents taken back."""
        return self._told(requests.read("/v1/signals", [("limit", limit), ("cursor", cursor)]))
