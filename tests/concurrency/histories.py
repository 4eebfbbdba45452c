"""Making histories: threads that read, write, compare and set, and delete a few keys, and note what they saw."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.concurrency.crew import in_threads, meet

import recollect
from recollect.domain.errors import OutcomeUnknown, RevisionConflict
from recollect.sync import MemoriesSync
from recollect.testing.linearizability import Call, Done, Read, Refused, Remove, Seen, Write

KEYS = ("a", "b")
Namespace = tuple[str, ...]
Swap = Callable[[MemoriesSync, Namespace, str, int, int], int]
"""Compare and set: writes the value if the key is at the revision, and returns the new one."""


def swap(memories: MemoriesSync, namespace: Namespace, key: str, value: int, expected: int) -> int:
    """As the store offers it."""
    return memories.put(namespace, key, {"v": value}, expected_revision=expected).revision


def check_then_act(memories: MemoriesSync, namespace: Namespace, key: str, value: int, expected: int) -> int:
    """The planted bug: look whether the revision is right, and then write whatever it is by now."""
    found = memories.get(namespace, key)
    actual = found.revision if found else 0
    if actual != expected:
        raise RevisionConflict("it is not", expected=expected, actual=actual)
    return memories.put(namespace, key, {"v": value}).revision


class Player:
    """One thread's part of a history."""

    def __init__(self, memories: MemoriesSync, namespace: Namespace, name: int, seed: int, swap: Swap) -> None:
        self._memories, self._namespace, self._swap = memories, namespace, swap
        self._name = name
        self._chance = random.Random(seed * 1_000 + name)
        self._known = dict.fromkeys(KEYS, 0)
        self._calls: list[Call] = []

    def play(self, calls: int) -> list[Call]:
        """Make that many calls and return them as noted."""
        while len(self._calls) < calls:
            key = self._chance.choice(KEYS)
            dice = self._chance.random()
            if dice < 0.40:
                self._note(key, Read())
            elif dice < 0.80:
                self._note(key, Write(self._fresh(), self._known[key]))
            elif dice < 0.90:
                self._note(key, Write(self._fresh()))
            else:
                self._note(key, Remove(self._known[key] if self._chance.random() < 0.5 else None))
        return self._calls

    def _fresh(self) -> int:
        return self._name * 1_000_000 + len(self._calls)

    def _note(self, key: str, asked: Read | Write | Remove) -> None:
        answer: Seen | Done | Refused | None
        invoked = time.monotonic_ns()
        try:
            answer = self._act(key, asked)
            self._known[key] = 0 if isinstance(asked, Remove) else answer.revision
        except RevisionConflict as refusal:
            answer = Refused(int(str(refusal.details["actual"])))
            self._known[key] = answer.actual
        except OutcomeUnknown:
            answer = None
        returned = None if answer is None else time.monotonic_ns()
        self._calls.append(Call(key, asked, invoked, answer, returned))

    def _act(self, key: str, asked: Read | Write | Remove) -> Seen | Done:
        if isinstance(asked, Read):
            item = self._memories.get(self._namespace, key)
            return Seen(0) if item is None or item.value is None else Seen(item.revision, item.value["v"])
        if isinstance(asked, Remove):
            return Done(self._memories.delete(self._namespace, key, expected_revision=asked.expected).revision)
        value = int(str(asked.value))
        if asked.expected is None:
            return Done(self._memories.put(self._namespace, key, {"v": value}).revision)
        return Done(self._swap(self._memories, self._namespace, key, value, asked.expected))


def history(
    memories: MemoriesSync, number: int, *, threads: int, calls: int, first: int = 0, swap: Swap = swap
) -> list[Call]:
    """A history in a namespace of its own, by threads that share one object."""
    namespace = ("history", str(number))
    players = [Player(memories, namespace, first + each, number, swap) for each in range(threads)]
    played = in_threads(*(partial(player.play, calls) for player in players))
    return [call for part in played for call in part]


def part_of_histories(
    path: Path, numbers: range, first: int, threads: int, calls: int, swap: Swap = swap
) -> list[list[Call]]:
    """One process's part of many histories, each begun together with the other process."""
    parts = []
    with recollect.open_sync(path) as memories:
        for number in numbers:
            meet()
            parts.append(history(memories, number, threads=threads, calls=calls, first=first, swap=swap))
    return parts
