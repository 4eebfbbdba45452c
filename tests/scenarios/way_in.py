"""The calls of the way in, which every door carries out in one way; their answers are plain JSON everywhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.scenarios.door import moment

UNTOLD = frozenset({"also_known_as", "tenant_id", "age_seconds", "oldest_seconds"})
"""What differs from door to door: every scenario has a tenant of its own, and takes its time."""
EARLIEST = 10**15
"""A number above it is a moment in microseconds."""


def remembered(told: Any, name: str = "") -> Any:
    """An answer without what is own to a run, and with its moments as such."""
    if isinstance(told, dict):
        return {key: remembered(value, key) for key, value in told.items() if key not in UNTOLD}
    if isinstance(told, list):
        return [remembered(each, name) for each in told]
    if isinstance(told, str) and (name == "at" or name.endswith(("_at", "_until"))):
        return moment(told)
    if isinstance(told, int) and told > EARLIEST:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=told)
    return told


class WayIn:
    """Everything that is captured, proposed, reviewed and recorded, at any door."""

    def _remember(self, call: str, *given: Any, **named: Any) -> Any:
        raise NotImplementedError

    def capture(self, *given: Any, **named: Any) -> Any:
        return self._remember("capture", *given, **named)

    def get_capture(self, *given: Any) -> Any:
        return self._remember("get_capture", *given)

    def list_captures(self, **named: Any) -> Any:
        return self._remember("list_captures", **named)

    def would_remember(self, *given: Any) -> Any:
        return self._remember("would_remember", *given)

    def propose(self, *given: Any) -> Any:
        return self._remember("propose", *given)

    def get_record(self, *given: Any) -> Any:
        return self._remember("get_record", *given)

    def list_records(self, **named: Any) -> Any:
        return self._remember("list_records", **named)

    def correct_record(self, *given: Any, **named: Any) -> Any:
        return self._remember("correct_record", *given, **named)

    def retract_record(self, *given: Any) -> Any:
        return self._remember("retract_record", *given)

    def pin_record(self, *given: Any, **named: Any) -> Any:
        return self._remember("pin_record", *given, **named)

    def promote_record(self, *given: Any, **named: Any) -> Any:
        return self._remember("promote_record", *given, **named)

    def start_phase(self, *given: Any, **named: Any) -> Any:
        return self._remember("start_phase", *given, **named)

    def undo(self, **named: Any) -> Any:
        return self._remember("undo", **named)

    def list_proposals(self, **named: Any) -> Any:
        return self._remember("list_proposals", **named)

    def get_proposal(self, *given: Any) -> Any:
        return self._remember("get_proposal", *given)

    def review_load(self) -> Any:
        return self._remember("review_load")

    def claim_proposal(self, *given: Any, **named: Any) -> Any:
        return self._remember("claim_proposal", *given, **named)

    def release_proposal(self, *given: Any) -> Any:
        return self._remember("release_proposal", *given)

    def approve_proposal(self, *given: Any, **named: Any) -> Any:
        return self._remember("approve_proposal", *given, **named)

    def reject_proposal(self, *given: Any, **named: Any) -> Any:
        return self._remember("reject_proposal", *given, **named)

    def review_many(self, *given: Any, **named: Any) -> Any:
        return self._remember("review_many", *given, **named)

    def resolve_contradiction(self, *given: Any, **named: Any) -> Any:
        return self._remember("resolve_contradiction", *given, **named)

    def capture_consent(self, *given: Any) -> Any:
        return self._remember("capture_consent", *given)

    def revoke_consent(self, *given: Any, **named: Any) -> Any:
        return self._remember("revoke_consent", *given, **named)

    def list_consents(self, *given: Any) -> Any:
        return self._remember("list_consents", *given)

    def get_consent(self, *given: Any) -> Any:
        return self._remember("get_consent", *given)

    def list_contradictions(self, **named: Any) -> Any:
        return self._remember("list_contradictions", **named)

    def list_signals(self, **named: Any) -> Any:
        return self._remember("list_signals", **named)


CALLS = frozenset(name for name in vars(WayIn) if not name.startswith("_"))
