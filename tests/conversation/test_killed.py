"""Killed at any moment: a session that is over gets its summary, once, and nothing that was said is lost."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from tests.sizes import sized

import recollect
from recollect import MemoriesSync, Settings
from recollect.domain.commits import Commit, Delete
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service.conversation.places import DUE, OPEN
from recollect.sync import drive

SETTINGS = Settings(embedder="hashing")


def killed(home: Path, chance: Random) -> set[str]:
    """Let the program run for a moment and kill it; the sessions that it knew to be ended."""
    command = [sys.executable, "-m", "tests.conversation.conversing_victim", str(home)]
    log = home.parent / "victim.log"
    with log.open("w") as errors:
        victim = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert victim.stdout is not None
    try:
        first = victim.stdout.readline()
        assert first, f"the program did not begin: {log.read_text()[-2_000:]}"
        time.sleep(chance.uniform(0, 0.2))
    finally:
        victim.kill()
        rest, _ = victim.communicate(timeout=30)
    return {first.strip(), *(each for each in rest.split() if len(each) == 36)}


def every(memories: MemoriesSync, plane: Plane) -> list[Row]:
    """Every row of a plane."""
    store, found, cursor = memories._memories.workings.store, list[Row](), None
    while True:
        page = drive(store.find("default", Find(plane, order=Order.KEY, limit=1_000, cursor=cursor)))
        found += page.rows
        cursor = page.cursor
        if cursor is None:
            return found


def findings(memories: MemoriesSync, ended: set[str]) -> list[str]:
    """What is wrong with what is kept, once everything that was due is made."""
    memories.summarize_pending()
    sessions: dict[str, Any] = {
        row.address.key: stored_value(row.value or b"{}")
        for row in every(memories, Plane.SESSION)
        if row.address.key.startswith("ses_")
    }
    summaries = {row.address.key: row for row in every(memories, Plane.SUMMARY) if row.address.key.startswith("ses_")}
    summaries = {key: row for key, row in summaries.items() if "summaries" in row.address.namespace.segments}
    over = {key for key, session in sessions.items() if session["ended_at"] is not None}
    wrong = [f"{each} was ended and is not" for each in ended - over]
    wrong += [f"{each} is over and has no summary" for each in over - summaries.keys()]
    wrong += [f"{each} has a summary and goes on" for each in summaries.keys() - over]
    wrong += [f"{key} was made {row.revision} times" for key, row in summaries.items() if row.revision != 1]
    messages = [stored_value(row.value or b"{}") for row in every(memories, Plane.TURN)]
    numbers = [each["number"] for each in messages]
    wrong += [] if numbers == list(range(1, len(numbers) + 1)) else ["messages are missing"]
    counted = memories.get_session_state()["message_count"]
    wrong += [] if counted == len(numbers) else [f"{len(numbers)} messages are counted as {counted}"]
    taken = sum(each["turn_count"] for each in sessions.values())
    wrong += [] if taken == len(numbers) else [f"{taken} turns are counted in sessions"]
    notes = [row for row in every(memories, Plane.LINK) if row.address.namespace in (DUE, OPEN)]
    going_on = sessions.keys() - over
    wrong += [f"{row.address.key} is still noted" for row in notes if row.address.key not in going_on]
    return wrong if memories.verify().sound else [*wrong, "the log does not verify"]


@sized(small=4, full=200)
def test_a_killed_program_leaves_a_summary_of_every_session_that_is_over(tmp_path: Path, count: int) -> None:
    chance, ended = Random(count), set[str]()
    for cycle in range(count):
        ended |= killed(tmp_path / "home", chance)
        if cycle % 20 == 1 or cycle == count - 1:
            with recollect.open_sync(tmp_path / "home", settings=SETTINGS) as memories:
                assert findings(memories, ended) == []
    print(f"{count} kills, {len(ended)} sessions")


def test_the_check_finds_a_summary_that_is_lost_and_one_that_was_made_twice(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "home", settings=SETTINGS) as memories:
        said = memories.converse("I want to run a marathon.")["session"]["id"]
        memories.close_session(said)
        assert findings(memories, {said}) == []
        assert findings(memories, {"ses_other"}) == ["ses_other was ended and is not"]
        (row,) = [each for each in every(memories, Plane.SUMMARY) if each.address.key == said]
        store = memories._memories.workings.store
        drive(store.commit(Commit("default", (Delete(row.address),))))
        assert findings(memories, {said}) == [f"{said} is over and has no summary"]
