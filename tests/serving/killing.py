"""Kills servers, or what is beneath them, under writers, and looks each time at what is left."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.serving.fleets import Fleet
from tests.serving.line import HalfAnswered, Line, Unanswered
from tests.serving.writers import Crowd

LONGEST_SECONDS = 0.4
EACH_CYCLE = 20
"""So many writes are acknowledged in a cycle, or more, on average."""
RECOVERY_SECONDS = 60.0
"""Far longer than it may take on any machine; what it took is told."""
LOST = "was acknowledged"
"""What is said of a write that was acknowledged, and is not there."""
KEPT = {"keep_deleted_seconds": "none", "sweep_seconds": 3_600}
"""Values of deleted keys stay, so that the log can be compared."""


class Mortal(Protocol):
    """What can be killed, and started again at the same place or another."""

    def kill(self) -> object:
        """Without warning."""

    def start(self) -> object:
        """Until it answers."""


@dataclass
class Tally:
    """What happened over many cycles, and every flaw that was found."""

    cycles: int = 0
    acknowledged: int = 0
    flaws: list[str] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    """How many seconds after each start every server had acknowledged a write."""

    def tells(self, what: str) -> bool:
        """Whether a flaw was found that says this."""
        return bool(what) and any(what in flaw for flaw in self.flaws)

    def __str__(self) -> str:
        slowest, sorted_times = max(self.recoveries), sorted(self.recoveries)
        return (
            f"{self.cycles} cycles, {self.acknowledged} acknowledged, {len(self.flaws)} flaws, "
            f"recovery {sorted_times[len(sorted_times) // 2]:.2f} s as a rule and {slowest:.2f} s at most"
        )


def kill_often(
    fleet: Fleet,
    victims: Sequence[Mortal],
    count: int,
    tally: Tally,
    *,
    through: Sequence[str] = (),
    until: str = "",
) -> None:
    """Kill one of the victims so often while all servers, or what is before them, are written to, and look at it all.

    It ends early once a flaw was found that says `until`.
    """
    crowd, chance = Crowd("w"), random.Random(count)
    for _ in range(count):
        victim = chance.choice(victims)
        crowd.begin(fleet.token, *(through or fleet.urls))
        time.sleep(chance.uniform(0.05, LONGEST_SECONDS))
        _let_write(crowd, chance.randint(1, 2 * EACH_CYCLE))
        victim.kill()
        time.sleep(chance.choice((0.0, 0.05)))
        crowd.end()
        victim.start()
        tally.recoveries.append(recovered(fleet))
        tally.flaws += crowd.flaws(chance.choice([*fleet.urls, *through]), fleet.token)
        tally.cycles += 1
        if tally.tells(until):
            break
    tally.acknowledged += crowd.acknowledged


def _let_write(crowd: Crowd, count: int) -> None:
    """Wait until so many more writes were acknowledged, on however busy a machine."""
    before, began = crowd.acknowledged, time.monotonic()
    while crowd.acknowledged < before + count:
        assert time.monotonic() - began < 60, "nobody writes"
        time.sleep(0.001)


def recovered(fleet: Fleet) -> float:
    """How long it takes until every server acknowledges a write again, by itself."""
    began = time.monotonic()
    for url in fleet.urls:
        with Line(url, fleet.token) as line:
            while not _writes(line):
                assert time.monotonic() - began < RECOVERY_SECONDS, f"{url} does not recover"
                time.sleep(0.01)
    return time.monotonic() - began


def _writes(line: Line) -> bool:
    body = {"namespace": ["recovery"], "key": "k", "value": {}}
    try:
        reply = line.ask("PUT", "/v1/memories", body)
    except (Unanswered, HalfAnswered):
        return False
    assert reply.status in (200, 503), reply
    return reply.status == 200
