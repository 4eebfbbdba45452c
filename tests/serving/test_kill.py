"""The server is killed under load; whatever it had answered, is done, and nothing is half done."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.serving.planted import planted_server
from tests.serving.writers import Crowd
from tests.sizes import sized

from recollect.testing.servers import Server

CYCLES_PER_FOLDER = 20
LONGEST_SECONDS = 0.4
KEPT = {"keep_deleted_seconds": "none", "sweep_seconds": 3_600}
"""Values of deleted keys stay, so that the log can be compared."""


@dataclass
class Tally:
    """What happened over many cycles, and every flaw that was found."""

    cycles: int = 0
    acknowledged: int = 0
    flaws: list[str] = field(default_factory=list)


def killed_often(folder: Path, count: int, *, bug: str = "") -> Tally:
    """Kill a server so often; each life begins with a look at what the one before has left."""
    tally, chance = Tally(), random.Random(count)
    while tally.cycles < count:
        home = folder / str(tally.cycles)
        crowd = Crowd("w")
        for _ in range(min(CYCLES_PER_FOLDER, count - tally.cycles)):
            server = planted_server(bug, home, **KEPT) if bug else Server(home, **KEPT).start()
            try:
                tally.flaws += crowd.flaws(server.url, server.token)
                crowd.begin(server.url, server.token)
                time.sleep(chance.uniform(0.05, LONGEST_SECONDS))
            finally:
                server.kill()
            crowd.end()
            tally.cycles += 1
            if bug and tally.flaws:
                return tally
        with Server(home, **KEPT) as server:
            tally.flaws += crowd.flaws(server.url, server.token)
        tally.acknowledged += crowd.acknowledged
    return tally


@sized(2, 300)
def test_whatever_was_answered_survives_the_killing_of_the_server(count: int, tmp_path: Path) -> None:
    tally = killed_often(tmp_path, count)
    print(f"kill over HTTP: {tally.cycles} cycles, {tally.acknowledged} acknowledged, {len(tally.flaws)} flaws")
    assert tally.flaws == []
    assert tally.acknowledged > 10 * count


def test_a_server_that_acknowledges_before_it_commits_is_found(tmp_path: Path) -> None:
    tally = killed_often(tmp_path, 6, bug="acknowledges before it commits")
    assert any("was acknowledged" in flaw for flaw in tally.flaws), tally
