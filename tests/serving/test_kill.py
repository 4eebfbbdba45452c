"""The server is killed under load; whatever it had answered, is done, and nothing is half done."""

from __future__ import annotations

from pathlib import Path

from tests.serving.fleets import Fleet
from tests.serving.killing import KEPT, LOST, Tally, kill_often
from tests.serving.planted import planted
from tests.sizes import sized

CYCLES_PER_FOLDER = 20


def killed_often(folder: Path, count: int, *, until: str = "") -> Tally:
    """Kill a server so often, on a fresh folder now and then."""
    tally = Tally()
    while tally.cycles < count and not tally.tells(until):
        with Fleet(folder / str(tally.cycles), 1, **KEPT) as fleet:
            cycles = min(CYCLES_PER_FOLDER, count - tally.cycles)
            kill_often(fleet, fleet.servers, cycles, tally, until=until)
    return tally


@sized(2, 300)
def test_whatever_was_answered_survives_the_killing_of_the_server(count: int, tmp_path: Path) -> None:
    tally = killed_often(tmp_path, count)
    print(f"kill over HTTP: {tally}")
    assert tally.flaws == []
    assert tally.acknowledged > 5 * count


def test_a_server_that_acknowledges_before_it_commits_is_found(tmp_path: Path) -> None:
    with planted("acknowledges before it commits"):
        tally = killed_often(tmp_path, 6, until=LOST)
    assert tally.tells(LOST), tally.flaws
