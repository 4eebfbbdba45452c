"""Several conversations about one history at once, step by step in any order, and what the log says must come of it.

The log tells every state that a history ever had. Each answer must be that of a state which it had while the question
was asked; what was taken away and what is left must be exactly what was added.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from recollect_client._conversations import Call, Conversation
from recollect_client._history import HEAD, History

Begun = Callable[[], Conversation[Any]]


@dataclass(slots=True)
class Rival:
    """One who talks to the memories, one call after another."""

    conversations: Iterator[tuple[str, Any, Conversation[Any]]]
    kind: str = ""
    asked: Any = None
    under_way: Conversation[Any] | None = None
    answer: Any = None
    since: int = 0


@dataclass(slots=True)
class Contest:
    """Rivals over one history, and what they were told."""

    memories: Any
    history: History
    added: list[Any] = field(default_factory=list)
    popped: list[Any] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)

    def run(self, rivals: list[Rival], seed: int) -> None:
        """Let them talk until all are done, whose turn it is being a matter of chance."""
        chance = random.Random(seed)
        waiting = list(rivals)
        while waiting:
            rival = chance.choice(waiting)
            if not self._step(rival):
                waiting.remove(rival)

    def _step(self, rival: Rival) -> bool:
        if rival.under_way is None:
            begun = next(rival.conversations, None)
            if begun is None:
                return False
            rival.kind, rival.asked, rival.under_way = begun
            rival.since = len(self.states()) - 1
            rival.answer = None
        try:
            step = rival.under_way.send(rival.answer)
            while isinstance(step, Call):
                try:
                    rival.answer = getattr(self.memories, step.method)(*step.given, **step.named)
                    return True
                except Exception as error:  # noqa: BLE001 - the conversation decides what it means
                    step = rival.under_way.throw(error)
            rival.answer = None
        except StopIteration as end:
            rival.under_way = None
            self._told(rival, end.value)
        return True

    def _told(self, rival: Rival, answer: Any) -> None:
        if rival.kind == "add":
            self.added += rival.asked
        elif rival.kind == "pop" and answer is not None:
            self.popped.append(answer)
        elif rival.kind == "read":
            window = self.states()[rival.since :]
            limit = len(answer) + 1 if rival.asked is None else rival.asked
            if answer not in [state if rival.asked is None else state[-limit:] for state in window]:
                self.flaws.append(f"{answer} is none of {window}")

    def states(self) -> list[list[Any]]:
        """Every state that the history had, as the log tells it."""
        return states(self.memories, self.history)

    def check(self, *, cleared: bool = False) -> None:
        """Refuse what must not come of it."""
        left = self.states()[-1]
        seen = sorted(map(repr, self.popped + left))
        if len(set(seen)) < len(seen):
            self.flaws.append(f"doubled: {seen}")
        if not cleared and seen != sorted(map(repr, self.added)):
            self.flaws.append(f"{seen} is not what was added: {sorted(map(repr, self.added))}")
        assert not self.flaws, self.flaws[0]


def states(memories: Any, history: History) -> list[list[Any]]:
    """Every state that a history had; a head begins each commit, and what follows it belongs to it."""
    blocks: dict[tuple[Any, str], list[Any]] = {}
    found: list[list[Any]] = []
    after = None
    while True:
        page = memories.events(history.place, after=after, limit=200)
        for event in page.events:
            if event.key == HEAD:
                found.append(_items(blocks))
            elif event.kind == "delete":
                del blocks[tuple(event.namespace), event.key]
            else:
                blocks[tuple(event.namespace), event.key] = event.value["items"]
        after = page.cursor
        if page.complete:
            return [*found, _items(blocks)]


def _items(blocks: dict[tuple[Any, str], list[Any]]) -> list[Any]:
    return [item for place in sorted(blocks, key=lambda place: place[1], reverse=True) for item in blocks[place]]
