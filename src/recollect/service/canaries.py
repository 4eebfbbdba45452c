"""Canaries: questions to which every policy must say no before it may decide anything."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from recollect.domain.callers import Action, Caller, Scope
from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Check, Overrun, Policy

_CHANGES = (Action.WRITE, Action.DELETE)
_OWNER, _STRANGER, _UNHEARD_OF = "{owner}", "{stranger}", "{unheard of}"
_LENGTH = 12
_UNDECIDED = "it took too long, so nobody knows what it would say"


class Names:
    """The names in the questions to one policy: parts of its digest, which its author cannot know beforehand."""

    def __init__(self, policy: Policy) -> None:
        digest = sha256(policy.version.encode()).hexdigest()
        parts = [digest[start : start + _LENGTH] for start in range(0, 5 * _LENGTH, _LENGTH)]
        self._names = dict(zip((_OWNER, _STRANGER, _UNHEARD_OF), parts, strict=False))
        self.key = parts[3]
        scopes = frozenset({Scope.READ, Scope.WRITE, Scope.DELETE})
        self.stranger = Caller(parts[4], self._names[_STRANGER], scopes=scopes, credential="canary")

    def of(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """A path with the names that it stands for."""
        return tuple(self._filled(segment) for segment in path)

    def _filled(self, segment: str) -> str:
        for label, name in self._names.items():
            segment = segment.replace(label, name)
        return segment


@dataclass(frozen=True, slots=True)
class Canary:
    """Something that a caller without roles and claims must not be allowed to do."""

    name: str
    actions: tuple[Action, ...]
    namespace: tuple[str, ...]


CANARIES = (
    Canary("a stranger reads another user's memories", (Action.READ,), ("user", _OWNER, "notes")),
    Canary("a stranger changes another user's memories", _CHANGES, ("user", _OWNER, "notes")),
    Canary("a stranger reads a user whose name begins with their own", (Action.READ,), ("user", f"{_STRANGER}2")),
    Canary("a stranger reads the root of all users", (Action.READ,), ("user",)),
    Canary("a stranger changes what the system knows", _CHANGES, ("system", "facts")),
    Canary("a stranger changes a namespace that nobody has ever heard of", _CHANGES, (_UNHEARD_OF, "x")),
)
_SCOPES = (("user", _OWNER), ("user",), ())


async def put_canaries(policy: Policy) -> list[Check]:
    """Ask a policy what it must deny. A fault is a denial too; an overrun is none: next time it may be an answer."""
    names = Names(policy)
    return [await _denied(policy, canary, names) for canary in CANARIES] + [
        await _narrowed(policy, prefix, names) for prefix in _SCOPES
    ]


async def _denied(policy: Policy, canary: Canary, names: Names) -> Check:
    for action in canary.actions:
        value = {"text": "canary"} if action is Action.WRITE else None
        try:
            decision = await policy.authorize(names.stranger, action, names.of(canary.namespace), names.key, value)
        except Overrun:
            return Check(canary.name, False, _UNDECIDED)
        except PolicyTrouble:
            continue
        if decision.allow:
            return Check(canary.name, False, f"memories.authz allows {action} of {'/'.join(canary.namespace)}")
    return Check(canary.name, True)


async def _narrowed(policy: Policy, prefix: tuple[str, ...], names: Names) -> Check:
    """A search may be opened only to what is the caller's own, or by attributes."""
    name = f"a stranger searches {'/'.join(prefix) or 'everything'}"
    try:
        narrowed = await policy.narrow(names.stranger, names.of(prefix), None)
    except Overrun:
        return Check(name, False, _UNDECIDED)
    except PolicyTrouble:
        return Check(name, True)
    opened, owned = tuple(narrowed.prefix), names.of(("user", _OWNER))
    others = opened[:2] == owned or owned[: len(opened)] == opened
    if others and not narrowed.filter:
        return Check(name, False, f"memories.filter opens {'/'.join(opened) or 'everything'} without any filter")
    return Check(name, True)
