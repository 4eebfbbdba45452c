"""Questions of all kinds for policies, odd ones among them, to compare engines by."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from recollect.domain.callers import Action, Caller, new_caller
from recollect.ports.policy import Policy


class Questions:
    """Questions of all kinds, odd ones among them; the same in each run with one seed."""

    NAMES = ("alice", "bob", "alice2", "apollo", "read", "write", "0", "é", "日", 'a"b', "a\\b", "a\nb", "%", "*")
    ROOTS = ("user", "user", "project", "project", "project", "system", "User", "elsewhere")

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def _any(self) -> Any:
        return self._chance.choice(
            ["x", "", 0, 1, -1.5, 10**12, True, None, [], ["a", 1, None], {}, {"a": [1]}, "a\u2028b", "\U0001f9e0"]
        )

    def _name(self) -> str:
        return self._chance.choice(self.NAMES[:6] if self._chance.random() < 0.7 else self.NAMES)

    def place(self) -> tuple[str, ...]:
        place = [self._chance.choice(self.ROOTS), self._name(), "notes", self._name()]
        return tuple(place[: self._chance.randint(1, 4)])

    def caller(self) -> Caller:
        roles = self._chance.sample(["admin", "auditor", "project:apollo", "project:", "x"], self._chance.randint(0, 2))
        claims: dict[str, Any] = {}
        if self._chance.random() < 0.7:
            names = [self._name() for _ in range(self._chance.randint(0, 3))]
            rights = {name: self._chance.choice(["read", "write", "admin", None]) for name in names}
            claims["projects"] = self._chance.choice([names, rights, rights, [*names, self._any()], self._any()])
        if self._chance.random() < 0.2:
            claims |= {"roles": ["admin"], "sub": self._name(), "extra": self._any()}
        return new_caller("t", self._chance.choice(["alice", "bob", "é"]), roles=roles, claims=claims)

    def attributes(self) -> dict[str, Any] | None:
        if self._chance.random() < 0.2:
            return None
        return {
            name: self._any() for name in ("topic", "score", "done", "tags", "other") if self._chance.random() < 0.6
        }

    def proposal(self) -> dict[str, Any]:
        fields: dict[str, list[Any]] = {
            "origin": ["user_stated", "tool_verified", "inferred", "x", None],
            "risk": ["low", "high", 1],
            "consent_check": ["denied", "granted", None],
            "tier_target": ["durable", "working"],
            "channel_trusted": [True, False, "yes"],
        }
        flags = ("rejected_before", "behavioral", "personal", "crosses_spaces", "contradicts_authority")
        said = {name: self._chance.choice(choices) for name, choices in fields.items() if self._chance.random() < 0.6}
        return said | {
            name: self._chance.choice([True, False, "true"]) for name in flags if self._chance.random() < 0.2
        }

    def put(self) -> Callable[[Policy], Any]:
        """One question, to be put to any policy."""
        caller, place, action = self.caller(), self.place(), self._chance.choice(list(Action)[:3])
        value = {"text": self._any(), "n": self._any()}
        given, proposal = self.attributes(), self.proposal()
        kind = self._chance.randrange(4)
        prefix = place[: self._chance.randint(0, len(place))]

        async def ask(policy: Policy) -> Any:
            if kind == 0:
                return await policy.authorize(caller, action, place, "k", value if action is Action.WRITE else None)
            if kind == 1:
                return await policy.narrow(caller, prefix, {"topic": "x"})
            if kind == 2:
                return await policy.attributes(place, "k", value, given)
            return await policy.review(caller, proposal)

        ask.__name__ = f"{kind} {caller} {action} {place} {value} {given} {proposal} {prefix}"
        return ask
