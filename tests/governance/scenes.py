"""Scenes: whole conversations on the machine, with an AI that always answers alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from recollect.domain.governance.ledger import State
from recollect.domain.governance.machine import Call, Recalled, Recorded, Turn, recall, record
from recollect.domain.governance.phases import diff_request_in, request_in
from recollect.domain.governance.policy import Settings
from recollect.domain.governance.traces import Trace, as_json


class Scene:
    """A conversation: what is said is recalled for, answered and recorded, and every trace is kept."""

    def __init__(self, settings: Settings, state: State | None = None, **call: Any) -> None:
        self.call = Call(ai_profile="assistant", settings=settings, **call)
        self.state = state or State()
        self.recalled: list[Recalled] = []
        self.recorded: list[Recorded] = []
        self.asked: dict[str, object] = {}

    def say(self, text: str, tool_events: Sequence[Any] = (), **asked: object) -> Recorded:
        """One turn; what is asked besides stays asked in later turns."""
        self.asked |= {f"_memory_{name}": value for name, value in asked.items()}
        call = msgspec.structs.replace(self.call, phase=request_in(self.asked), diff=diff_request_in(self.asked))
        found = recall(self.state, call, text)
        window = found.context.short_term
        answer = f"[mock-model] {text} | mem:st={len(window)}"
        done = record(found.state, call, Turn(user=text, ai=answer, tool_events=tuple(tool_events)))
        self.recalled.append(found)
        self.recorded.append(done)
        self.state = done.state
        return done

    def traces(self) -> list[Trace]:
        """All that was told, in order."""
        told: list[Trace] = []
        for found, done in zip(self.recalled, self.recorded, strict=True):
            told += [*found.traces, *done.traces]
        return told

    def told(self, *types: str) -> list[dict[str, Any]]:
        """What was told of these types, without the policies."""
        return only(self.traces(), *types)


def only(traces: Iterable[Trace], *types: str) -> list[dict[str, Any]]:
    """The events of these types as JSON, without the policies, which say the same each time."""
    told = [as_json(each) for each in traces]
    plain = [{key: value for key, value in each.items() if key not in _POLICIES} for each in told]
    return [each for each in plain if not types or each["type"] in types]


_POLICIES = {"policy", "policy_snapshot"}
