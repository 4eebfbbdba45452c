"""Replay: the same past gives the same answer, wherever it is kept; and another rule is found and named."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.faults.workload import make_schema
from tests.governing.scene import Talk, sayings_by_chance, settings_by_chance
from tests.pipeline.scene import SETTINGS, Scene, scene
from tests.pipeline.test_backends import BACKENDS, place, scene_at  # noqa: F401 - a fixture
from tests.sizes import sized

from recollect.config import Secret
from recollect.deployments import copy, place_of
from recollect.domain.errors import NotFound
from recollect.domain.governance import events, recalling
from recollect.domain.governance.terms import EventType

KEPT = replace(SETTINGS, keep_traces_seconds=None)
"""A day passes between many turns, and the first ones are to be replayed all the same."""
SAID = ["My name is Ada.", "I prefer tea.", "my password is 123", "Remember this for me: I like chess.", "ok"]


async def talked(here: Scene, seed: int, user: str = "alice") -> str:
    """A session by chance, with everything that others do to its spaces in between; its name."""
    chance, session = random.Random(seed), f"s{seed}"
    profile = f"p{seed}"
    await here.admin.put_profile(profile, settings_by_chance(chance))
    memories = here.as_user(user, "project:apollo")
    talk = Talk(memories, session, profile, project=chance.choice([None, "apollo"]), at_once=chance.random() < 0.5)
    other = Talk(memories, f"o{seed}", profile, project="apollo", at_once=True)
    for text, tools, asked in sayings_by_chance(chance, 8):
        here.clock.advance(chance.choice([0, 1, 60, 86_400]))
        await talk.say(text, tools, **asked)
        await meanwhile(here, other, chance, user)
    return session


async def meanwhile(here: Scene, other: Talk, chance: random.Random, user: str) -> None:
    """What may happen to a user's memories between two turns."""
    match chance.randrange(6):
        case 0:
            await here.say(chance.choice(["I prefer green tea.", "My name is Grace.", "I live in Porto."]), user)
        case 1:
            await other.say(chance.choice(SAID))
        case 2:
            await other.say("Remember this for the project: We decided to ship.")
        case 3:
            page = await here.as_user(user).list_records(limit=5)
            for each in page["records"][:1]:
                await here.as_user(user).correct_record(each["id"], text="I like something else.", value="else")
        case 4:
            await here.as_user(user).start_phase(f"t{chance.randrange(3)}")


async def replays(here: Scene, sessions: list[str], user: str = "alice") -> list[dict[str, Any]]:
    return [await here.as_user(user, "project:apollo").replay(each) for each in sessions]


@sized(12, 200)
async def test_recorded_sessions_replay_with_equal_hashes(count: int) -> None:
    async with scene(settings=KEPT) as here:
        sessions = [await talked(here, seed) for seed in range(count)]
        for found in await replays(here, sessions):
            assert found["equal"], found
            assert found["turns"]
            assert all(each["recorded"] == each["replayed"] for each in found["hashes"])


@sized(4, 200)
async def test_sessions_replay_after_a_restart_an_upgrade_and_a_copy_to_another_engine(
    count: int, tmp_path: Path, database: str
) -> None:
    home = tmp_path / "one"
    async with scene(str(home), settings=KEPT) as here:
        sessions = [await talked(here, seed) for seed in range(count)]
    file = apsw.Connection(str(home / "recollect.db"))
    make_schema(file, 3)  # as an earlier release left it
    file.close()
    async with scene(str(home), settings=KEPT) as here:
        assert all(each["equal"] for each in await replays(here, sessions))
    await copy(place_of(str(home), home=home), place_of(database, home=home), KEPT, lambda *_: None)
    async with scene(str(home), settings=replace(KEPT, store=Secret(database))) as here:
        assert all(each["equal"] for each in await replays(here, sessions))


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_sessions_replay_on_every_backend(place: tuple[str, Any]) -> None:  # noqa: F811
    async with scene_at(place) as here:
        for text in SAID:
            await here.alice.take_turn("chat", user=text, ai="ok")
        found = await here.alice.replay("chat")
        assert (found["equal"], found["turns"]) == (True, len(SAID))


async def test_a_changed_rule_is_found_and_named(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in SAID:
        await here.alice.take_turn("chat", user=text, ai="ok")
    monkeypatch.setitem(events.IMPORTANCE, EventType.PREFERENCE, 2)
    found = await here.alice.replay("chat")
    assert not found["equal"]
    first = found["differences"][0]
    assert (first["turn"], first["rule"], first["type"]) == (2, "record", "memory_write")
    assert first["path"] == "written.1.importance"
    assert (first["recorded"], first["replayed"]) == (4, 3)


async def test_another_way_to_score_is_found_where_it_changes_what_is_recalled(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("I prefer tea.", "I like chess.", "We decided to ship.", "tea"):
        await here.alice.take_turn("chat", user=text, ai="ok")
    monkeypatch.setattr(recalling, "similarity", lambda *_: 0)
    found = await here.alice.replay("chat")
    assert not found["equal"]
    assert {each["rule"] for each in found["differences"]} == {"recall"}


async def test_a_replay_writes_nothing(here: Scene) -> None:
    await here.alice.take_turn("chat", user="I prefer tea.", ai="ok")
    before = await here.root.for_tenant("tenant_acme_prod").head()
    await here.alice.replay("chat")
    assert await here.root.for_tenant("tenant_acme_prod").head() == before


async def test_secrets_of_a_session_are_kept_nowhere_and_it_replays_all_the_same(tmp_path: Path) -> None:
    async with scene(str(tmp_path)) as here:
        await here.alice.take_turn("chat", user="I prefer tea with milk.", ai="ok")
        await here.alice.take_turn("chat", user="my password is hunter2-milk", ai="your password is hunter2-milk")
        await here.alice.take_turn(
            "chat", user="hi", ai="ho", tool_events=[{"api_key": "sk-proj-hunter2milkmilkmilkmilk"}]
        )
        assert (await here.alice.replay("chat"))["equal"]
        shown = str([await here.alice.list_traces(limit=100), await here.alice.list_captures(limit=100)])
        assert "hunter2" not in shown


async def test_what_was_forgotten_for_good_is_named_as_missing(here: Scene) -> None:
    await here.say("I prefer green tea.")
    (record,) = (await here.alice.list_records())["records"]
    await here.alice.take_turn("chat", user="tea", ai="ok")
    await here.alice.retract_record(record["id"])
    await here.admin.sweep()
    found = await here.alice.replay("chat")
    assert found["forgotten"] == [{"turn": 1, "records": [record["id"]]}]
    assert found["differences"] == []


async def test_nobody_replays_what_is_not_theirs(here: Scene) -> None:
    await here.alice.take_turn("chat", user="I prefer tea.", ai="ok")
    with pytest.raises(NotFound):
        await here.as_user("bob").replay("chat")
    with pytest.raises(NotFound):
        await here.as_user("bob").replay("alice/chat")
    assert (await here.admin.replay("alice/chat"))["equal"]
