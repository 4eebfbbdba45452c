"""Conversations from elsewhere: each turn is taken once and at its time, however often the import is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.scene import Scene, scene

import recollect
from recollect.domain.conversation.importing import ImportedTurn
from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import Instant, instant_of
from recollect.service.conversation import importing
from recollect.service.conversation.taking import Taking

SOURCE = sha256(b"a file").hexdigest()
BEGAN = datetime(2025, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
async def here() -> AsyncIterator[Scene]:
    async with scene() as found:
        yield found


def turn(minutes: float, user: str | None = None, ai: str | None = None, **more: Any) -> dict[str, Any]:
    told = {"at": (BEGAN + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z"), "user": user, "ai": ai}
    return {name: value for name, value in (told | more).items() if value is not None}


TURNS = [
    turn(0, "My name is Ada.", "Hello Ada!"),
    turn(1, "I'll call mom tomorrow.", "Good."),
    turn(2, "I live in Austin."),
    turn(60, "I prefer tea.", "Noted."),
    turn(61, None, "Anything else?"),
    turn(62, "I live in Oslo."),
]


async def kept(here: Scene) -> list[Any]:
    """All that came of an import, without ids."""
    alice = here.alice
    messages = (await alice.list_messages(limit=200))["messages"]
    sessions = (await alice.list_sessions(limit=200))["sessions"]
    todos = (await alice.list_todos(limit=200))["todos"]
    return [
        [(each["number"], each.get("user"), each.get("ai"), each["at"]) for each in messages],
        [(each["started_at"], each["last_activity_at"], each["ended_at"], each["turn_count"]) for each in sessions],
        [(each["kind"], each["content"], each["status"]) for each in todos],
        sorted(await here.texts()),
    ]


async def test_turns_are_taken_at_their_times_in_sessions_of_their_own(here: Scene) -> None:
    told = await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    assert (told["position"], told["taken"], told["skipped"], told["sessions"]) == (6, 6, 0, 2)
    assert told["memories"] >= 3
    assert told["todos"] == 1
    messages, sessions, todos, texts = await kept(here)
    assert [each[3] for each in reversed(messages)] == [each["at"] for each in TURNS]
    assert [each[0] for each in sessions] == [TURNS[3]["at"], TURNS[0]["at"]]
    assert sessions[1][2] == TURNS[2]["at"]  # it was over when something was said last
    assert [each[0] for each in todos] == ["COMMITMENT"]
    assert {"I live in Austin.", "I prefer tea."} <= set(texts)
    assert told["waiting"] == 1  # where somebody lives is not replaced by a rule


async def test_what_was_imported_twice_is_there_once(here: Scene) -> None:
    alice = here.alice
    await alice.import_conversation(TURNS, source=SOURCE, position=0)
    once = await kept(here)
    again = await alice.import_conversation(TURNS, source=SOURCE, position=0)
    assert (again["taken"], again["skipped"], again["position"]) == (0, 6, 6)
    assert await kept(here) == once
    assert (await alice.conversation_progress(SOURCE))["position"] == 6


async def test_pages_give_the_same_as_the_whole(here: Scene) -> None:
    await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    whole = await kept(here)
    async with scene() as other:
        for start in range(0, 6, 2):
            told = await other.alice.import_conversation(TURNS[start : start + 2], source=SOURCE, position=start)
            assert told["position"] == start + 2
        assert await kept(other) == whole


async def test_what_fails_in_the_middle_goes_on_where_it_stopped(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    real, count = Taking.take, 0

    async def failing(self: Taking) -> dict[str, Any]:
        nonlocal count
        count += 1
        told = await real(self)
        if count == 4:  # all is drafted, and nothing of it is to be kept
            raise OSError("the cable was pulled")
        return told

    monkeypatch.setattr(Taking, "take", failing)
    with pytest.raises(OSError, match="cable"):
        await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    assert (await here.alice.conversation_progress(SOURCE))["position"] == 3
    monkeypatch.undo()
    told = await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    assert (told["taken"], told["skipped"]) == (3, 3)
    resumed = await kept(here)
    async with scene() as other:
        await other.alice.import_conversation(TURNS, source=SOURCE, position=0)
        assert await kept(other) == resumed


async def test_a_turn_whose_progress_was_not_noted_is_taken_twice_and_that_shows(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: progress that is forgotten. What the tests above compare must tell."""
    await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    once = await kept(here)
    monkeypatch.setattr(importing.Imported, "took", lambda self, *_: self)
    async with scene() as other:
        for each in TURNS[:1] * 2:
            monkeypatch.setattr(importing, "_turn_of", _same(each))
            await other.alice.import_conversation([each], source=SOURCE, position=0)
        assert len((await kept(other))[0]) == 2
        assert await kept(other) != once


def _same(each: dict[str, Any]) -> Any:
    def read(given: object, number: int) -> ImportedTurn:
        return ImportedTurn(at=Instant(instant_of(datetime.fromisoformat(each["at"]))), user=each["user"])

    return read


async def test_another_conversation_of_the_source_is_another_session(here: Scene) -> None:
    turns = [
        turn(0, "Hi.", conversation="a"),
        turn(1, "Hi again.", conversation="a"),
        turn(2, "Hi.", conversation="b"),
        turn(3, "Hi.", conversation="b", persona="coach"),
        turn(4, "Bye.", conversation="b"),
    ]
    told = await here.alice.import_conversation(turns, source=SOURCE, position=0)
    assert told["sessions"] == 3
    sessions = (await here.alice.list_sessions(persona="default"))["sessions"]
    assert [(each["turn_count"], each["open"]) for each in sessions] == [(2, True), (2, False)]


async def test_summaries_are_made_of_what_was_imported(here: Scene) -> None:
    turns = [turn(number, f"I like colour {number}.", "Nice.") for number in range(12)] + [turn(90, "Hello.")]
    await here.alice.import_conversation(turns, source=SOURCE, position=0)
    last, first = (await here.alice.list_sessions())["sessions"]
    assert (await here.alice.get_session(first["id"]))["summary"] is not None
    assert (await here.alice.get_spine())["version"] == 1
    assert (await here.alice.get_session(last["id"]))["summary"] is None


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([{"user": "Hi."}], "turn 0: at is a moment"),
        ([turn(0)], "turn 0 says nothing"),
        ([turn(0, "  ")], "turn 0 says nothing"),
        ([turn(0, "a"), turn(0, "b", mood="good")], "turn 1 is an object with"),
        ([turn(0, "a", persona="")], "turn 0: persona is text"),
        ([{"at": "2025-03-01T09:00:00Z", "user": 3}], "turn 0: user is text"),
        ([turn(10 * 525_600, "a")], "turn 0: at lies in the future"),
        ([turn(0, "a"), turn(-1, "b")], "turn 1: something was said to this persona"),
        ([turn(0, "a")] * 201, "at most 200"),
    ],
)
async def test_what_cannot_be_taken_is_refused_by_its_place(
    here: Scene, turns: Sequence[dict[str, Any]], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        await here.alice.import_conversation(turns, source=SOURCE, position=0)


async def test_a_gap_is_refused_and_a_source_must_be_a_digest(here: Scene) -> None:
    with pytest.raises(InvalidRequest, match="came to position 0, not to 3"):
        await here.alice.import_conversation(TURNS, source=SOURCE, position=3)
    for wrong in ("a file", "A" * 64, ""):
        with pytest.raises(InvalidRequest, match="SHA-256"):
            await here.alice.conversation_progress(wrong)


async def test_everybody_has_their_own_progress(here: Scene) -> None:
    await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    assert (await here.as_user("bob").conversation_progress(SOURCE))["position"] == 0


async def test_what_was_imported_is_erased_with_its_user(here: Scene) -> None:
    await here.alice.import_conversation(TURNS, source=SOURCE, position=0)
    await here.admin.erase("user:alice")
    assert (await here.alice.conversation_progress(SOURCE))["position"] == 0
    assert await kept(here) == [[], [], [], []]


_IMPORTER = """
import json, sys
import recollect
from datetime import timedelta
turns = json.load(open(sys.argv[2]))
with recollect.open_sync(sys.argv[1], settings=recollect.Settings(embedder="hashing")) as door:
    at = door.conversation_progress(sys.argv[3])["position"]
    for start in range(at, len(turns), 5):
        told = door.import_conversation(turns[start:start + 5], source=sys.argv[3], position=start)
        print(told["position"], flush=True)
"""


def test_what_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    turns = [turn(number, f"I like dish number {number}.", "Noted.") for number in range(60)]
    (tmp_path / "turns.json").write_text(json.dumps(turns))
    command = [sys.executable, "-c", _IMPORTER, str(tmp_path / "home"), str(tmp_path / "turns.json"), SOURCE]
    for after in (10, 30):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) >= after:
                    process.send_signal(signal.SIGKILL)
                    break
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with recollect.open_sync(tmp_path / "home", settings=recollect.Settings(embedder="hashing")) as door:
        messages = door.list_messages(limit=200)["messages"]
        assert [each["number"] for each in reversed(messages)] == list(range(1, 61))
        assert [each["user"] for each in reversed(messages)] == [each["user"] for each in turns]
        assert door.conversation_progress(SOURCE)["position"] == 60
        (session,) = door.list_sessions()["sessions"]
        assert session["turn_count"] == 60
