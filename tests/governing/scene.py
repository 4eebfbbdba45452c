"""Conversations through the service, with an AI that always answers alike, beside the same on the bare machine."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.governance.scenes import Scene as Bare
from tests.governance.test_machine import WORDS

from recollect import Memories
from recollect.domain.governance.policy import Settings
from recollect.domain.governance.terms import ForgetPolicy, WritePolicy
from recollect.domain.governance.traces import as_json

PROFILE = "assistant"


@dataclass
class Talk:
    """A conversation of one session: what is said is recalled for, answered and recorded."""

    memories: Memories
    session: str = "anonymous"
    profile: str = PROFILE
    project: str | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    at_once: bool = False

    async def set(self, **settings: Any) -> Talk:
        await self.memories.put_profile(self.profile, settings)
        return self

    async def say(self, text: str, tool_events: Sequence[Any] = (), **asked: object) -> dict[str, Any]:
        """One turn; what is asked besides stays asked in later turns."""
        self.asked |= {f"_memory_{name}": value for name, value in asked.items()}
        common: dict[str, Any] = {"profile": self.profile, "state": self.asked, "project": self.project}
        if self.at_once:
            done = await self.memories.take_turn(
                self.session, user=text, ai="ok", tool_events=list(tool_events), **common
            )
            self.events += done["events"]
            return done
        found = await self.memories.recall_turn(self.session, text, **common)
        window = [each for each in found["recalled"]["items"] if each["kind"] == "short_term"]
        answer = f"[mock-model] {text} | mem:st={len(window)}"
        done = await self.memories.take_turn(
            self.session, user=text, ai=answer, tool_events=list(tool_events), recall=False, **common
        )
        self.events += [*found["events"], *done["events"]]
        return done


def settings_by_chance(chance: random.Random) -> dict[str, Any]:
    """Settings of a profile."""
    return {
        "short_term": chance.choice([0, 1, 2, 5]),
        "semantic": chance.random() < 0.7,
        "profile": chance.random() < 0.7,
        "write_policy": chance.choice(list(WritePolicy)).value,
        "forget_policy": chance.choice(list(ForgetPolicy)).value,
        "dedupe_enabled": chance.random() < 0.8,
        "allow_cross_phase_recall": chance.random() < 0.3,
        "phase_enabled": chance.random() < 0.8,
        "phase_max_phases": chance.choice([None, None, 1, 2]),
    }


def sayings_by_chance(chance: random.Random, most: int = 12) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """What is said, with what tools did and what is asked besides."""
    said = []
    for _ in range(chance.randint(1, most)):
        asked: dict[str, Any] = {}
        if chance.random() < 0.2:
            asked["phase_token"] = chance.choice("abc")
        if chance.random() < 0.2:
            asked |= {"phase_diff_from": "phase-1", "phase_diff_to": f"phase-{chance.randint(1, 3)}"}
        tools = [{"tool": chance.randint(1, 2)}] if chance.random() < 0.2 else []
        said.append((chance.choice(WORDS), tools, asked))
    return said


def on_the_machine(
    settings: Mapping[str, Any], said: Sequence[tuple[str, list[Any], dict[str, Any]]], salt: str
) -> list[dict[str, Any]]:
    """What the bare machine tells of the same conversation."""
    scene = Bare(msgspec.convert(dict(settings), Settings), salt=salt)
    scene.call = msgspec.structs.replace(scene.call, ai_profile=PROFILE)
    for text, tools, asked in said:
        scene.say(text, tools, **asked)
    return [as_json(each) for each in scene.traces()]
