"""Killed at any moment on the way in: nothing acknowledged is lost, nothing is remembered twice, nothing is untold."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.sizes import sized

import recollect
from recollect import MemoriesSync, Settings
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.values import stored_value
from recollect.sync import drive

_START_SECONDS = 30.0


def killed(home: Path, start: int, chance: Random) -> int:
    """Let the program run for a moment, kill it, and say what it acknowledged last."""
    command = [sys.executable, "-m", "tests.faults.remembering_victim", str(home), str(start)]
    log = home.parent / "victim.log"
    with log.open("w") as errors:
        victim = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert victim.stdout is not None
    last = start
    try:
        until = time.monotonic() + _START_SECONDS
        first = victim.stdout.readline()
        assert first, f"the program did not begin: {log.read_text()[-2_000:]}"
        assert time.monotonic() < until, "the program began too late"
        last = int(first)
        time.sleep(chance.uniform(0, 0.06))
    finally:
        victim.kill()
        rest, _ = victim.communicate(timeout=30)
    told = [int(line) for line in rest.split() if line.isdigit()]
    return max([last, *told])


def findings(memories: MemoriesSync, acknowledged: set[int]) -> list[str]:
    """What is wrong with what is remembered."""
    memories.remember_pending()
    store = memories._memories.workings.store
    rows = _all(store, Plane.RECORD)
    records = [stored_value(row) for row in rows]
    numbers = [int(str(each["text"]).removesuffix(".").rpartition(" ")[2]) for each in records]
    twice = {number: times for number, times in Counter(numbers).items() if times > 1}
    wrong = [f"{number} was remembered {times} times" for number, times in twice.items()]
    wrong += [f"{number} was acknowledged and is not remembered" for number in acknowledged - set(numbers)]
    written = {
        item["id"]
        for trace in _all(store, Plane.TRACE)
        for event in stored_value(trace).get("events", ())
        if event["type"] == "memory_write"
        for item in event["written"]
    }
    ids = {str(each["id"]) for each in records}
    wrong += [f"{each} is there and was never told" for each in ids - written]
    wrong += [f"{each} was told and is not there" for each in written - ids]
    applied = [stored_value(each)["record_id"] for each in _all(store, Plane.PROPOSAL)]
    wrong += [] if sorted(filter(None, applied)) == sorted(ids) else ["proposals and records do not agree"]
    return wrong if memories.verify().sound else [*wrong, "the log does not verify"]


def _all(store: object, plane: Plane) -> list[bytes]:
    found: list[bytes] = []
    cursor: str | None = None
    while True:
        page = drive(store.find("default", Find(plane, order=Order.KEY, limit=1_000, cursor=cursor)))  # type: ignore[attr-defined] # any store
        found += [row.value for row in page.rows if row.value is not None]
        cursor = page.cursor
        if cursor is None:
            return found


@sized(small=6, full=200)
def test_a_killed_program_has_remembered_exactly_what_it_acknowledged(tmp_path: Path, count: int) -> None:
    chance, acknowledged, last = Random(count), set[int](), 0
    for cycle in range(count):
        reached = killed(tmp_path / "home", last, chance)
        acknowledged |= set(range(last + 1, reached + 1))
        last = reached + 1  # one more may have been under way, and is not tried again
        if cycle % 20 == 0 or cycle == count - 1:
            with recollect.open_sync(tmp_path / "home", settings=Settings(embedder="hashing")) as memories:
                assert findings(memories, acknowledged) == []
    print(f"{count} kills, {len(acknowledged)} acknowledged")


def test_the_check_finds_what_is_lost_and_what_is_untold(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "home", settings=Settings(embedder="hashing")) as memories:
        memories.capture([{"text": "I prefer thing number 1."}])
        assert findings(memories, {1}) == []
        assert findings(memories, {1, 2}) == ["2 was acknowledged and is not remembered"]
        memories.retract_record("user:admin:semantic:1")
        assert findings(memories, set()) != []
