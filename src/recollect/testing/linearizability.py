"""Is a history of concurrent calls explained by some order of calls that happen at once, one after the other?

The search is that of Wing and Gong, with Lowe's memory of what was tried: take any call that began before
every unfinished one returned, see whether its answer is right in the state reached so far, and go on; a set of
calls that led to the same state before is not tried again. Keys do not influence each other, so each key is
searched on its own. A call whose outcome nobody knows may have happened at any time after it began, or never.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Read:
    """Asked for the value of the key."""


@dataclass(frozen=True, slots=True)
class Write:
    """Asked to give the key a value, if it is at the expected revision; None means in any case."""

    value: Hashable
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Asked to delete the key, if it is at the expected revision; None means in any case."""

    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A read's answer: the revision and the value, or revision 0 for nothing."""

    revision: int
    value: Hashable = None


@dataclass(frozen=True, slots=True)
class Done:
    """A change was made: the revision written or ended; 0 when there was nothing to delete."""

    revision: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A change was refused, because the key was at this revision."""

    actual: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a history. Without an answer its outcome is unknown, and it counts as never returned."""

    key: str
    asked: Read | Write | Remove
    invoked: int
    answer: Seen | Done | Refused | None = None
    returned: int | None = None

    def __post_init__(self) -> None:
        if (self.answer is None) != (self.returned is None):
            raise ValueError("a call that returned has an answer, and one that did not has none")


class Register(NamedTuple):
    """The state of a key: the last revision it ever had, whether it lives, and its value."""

    last: int = 0
    live: bool = False
    value: Hashable = None

    @property
    def revision(self) -> int:
        """The revision a caller sees; 0 while the key is absent."""
        return self.last if self.live else 0


@dataclass(frozen=True, slots=True)
class Violation:
    """A key whose calls no order explains, the longest explanation found, and what it leaves unexplained."""

    key: str
    explained: tuple[Call, ...]
    unexplained: tuple[Call, ...]


def violations(history: Iterable[Call]) -> list[Violation]:
    """The keys whose calls cannot be explained; none for a linearizable history."""
    by_key: dict[str, list[Call]] = {}
    for call in history:
        by_key.setdefault(call.key, []).append(call)
    found = (_unexplained(key, calls) for key, calls in by_key.items())
    return [violation for violation in found if violation is not None]


def after(state: Register, call: Call) -> Register | None:
    """The state after the call, or None when its answer would be wrong in this state."""
    asked, answer = call.asked, call.answer
    if isinstance(asked, Read):
        seen = Seen(state.revision, state.value if state.live else None)
        return state if answer is None or answer == seen else None
    if asked.expected is not None and asked.expected != state.revision:
        return state if answer is None or answer == Refused(state.revision) else None
    if isinstance(asked, Write):
        changed, told = Register(state.last + 1, True, asked.value), state.last + 1
    else:
        changed, told = Register(state.last), state.revision
    return changed if answer is None or answer == Done(told) else None


class _Step(NamedTuple):
    done: int
    state: Register
    trail: _Trail | None


class _Trail(NamedTuple):
    call: int
    before: _Trail | None


def _unexplained(key: str, history: Sequence[Call]) -> Violation | None:
    calls = sorted(history, key=lambda call: call.invoked)
    required = sum(1 << number for number, call in enumerate(calls) if call.returned is not None)
    tried: set[tuple[int, Register]] = set()
    stack = [_Step(0, Register(), None)]
    best = stack[0]
    while stack:
        step = stack.pop()
        if step.done & required == required:
            return None
        if (step.done, step.state) in tried:
            continue
        tried.add((step.done, step.state))
        if step.done.bit_count() > best.done.bit_count():
            best = step
        for number in reversed(_next(calls, step.done)):
            state = after(step.state, calls[number])
            if state is not None:
                stack.append(_Step(step.done | 1 << number, state, _Trail(number, step.trail)))
    order = _walked(best.trail)
    left = (call for number, call in enumerate(calls) if not best.done >> number & 1)
    return Violation(key, tuple(calls[number] for number in order), tuple(left))


def _next(calls: Sequence[Call], done: int) -> list[int]:
    """The calls that may come next: those that began before any that is still to come had returned."""
    waiting = [number for number in range(len(calls)) if not done >> number & 1]
    ends = [calls[number].returned for number in waiting]
    horizon = min((end for end in ends if end is not None), default=None)
    return [number for number in waiting if horizon is None or calls[number].invoked <= horizon]


def _walked(trail: _Trail | None) -> list[int]:
    order: list[int] = []
    while trail is not None:
        order.append(trail.call)
        trail = trail.before
    return order[::-1]
