"""The course of a conversation over sessions, as it was promised minute by minute, the same on every backend."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from tests.conversation.course import MINUTE, due, going_on
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.pipeline.scene import Scene, scene
from tests.pipeline.test_backends import BACKENDS, place, scene_at  # noqa: F401 - a fixture

_IDS = re.compile(r"\b(ses_|cap_|mwp_|tdo_|trc_|ent_)[0-9a-f]{16,40}\b")


async def course(here: Scene, *, whole: bool = True) -> list[Any]:
    """What is answered minute by minute, from the first message to a new version of the spine, if it is the whole."""
    alice = here.alice
    told: list[Any] = []

    async def say(text: str, ai: str | None = None) -> dict[str, Any]:
        answer = await alice.converse(text, ai=ai, persona="Coach")
        told.append(answer)
        return answer

    # t=0: the session, its state and the first memories and todos
    first = await say("My name is Ada. I'll go for a walk tomorrow.", "Good plan.")
    assert first["opened"]
    assert first["closed"] is None
    assert first["state"]["message_count"] == 1
    assert first["session"]["turn_count"] == 1
    assert [each["outcome"] for each in first["remembered"]] == ["promoted"]
    assert [each["todo"]["content"] for each in first["loops"]] == ["go for a walk tomorrow"]
    assert (await alice.list_todos(persona="Coach"))["todos"][0]["kind"] == "COMMITMENT"
    assert (await alice.list_records())["records"][0].get("persona") is None
    # t=1 and t=2
    here.clock.advance(MINUTE)
    second = await say("I prefer tea.")
    assert second["session"]["turn_count"] == second["state"]["message_count"] == 2
    assert second["session"]["id"] == first["session"]["id"]
    assert not second["opened"]
    here.clock.advance(MINUTE)
    await say("I work as a nurse.")
    # t=3: the fourth message brings the rolling summary
    here.clock.advance(MINUTE)
    fourth = await say("My sister Sarah lives in Seattle.")
    assert fourth["due"] == [{"kind": "rolling", "of": first["session"]["id"]}]
    session = await alice.get_session(first["session"]["id"])
    assert session["rolling"]["message_count"] == 4
    assert "Sarah" in session["rolling"]["text"]
    assert (await alice.get_session_state("Coach"))["last_rolling_message_count"] == 4
    told.append(session)
    # t=35: nothing was said for half an hour; the session ended when something was said last
    here.clock.advance(32 * MINUTE)
    assert await here.admin.summarize_pending() == 1
    over = await alice.get_session(first["session"]["id"])
    assert over["ended_at"] == over["last_activity_at"] == fourth["session"]["last_activity_at"]
    assert over["closed_by"] == "idle"
    assert over["summary"]["summary"]["one_liner"]
    assert await going_on(here) == []
    told.append(over)
    # t=36: a new session; the state goes on
    here.clock.advance(MINUTE)
    after = await say("I had my walk.")
    assert after["opened"]
    assert after["session"]["id"] != first["session"]["id"]
    assert after["session"]["turn_count"] == 1
    assert after["state"]["message_count"] == 5
    assert [each["outcome"] for each in after["loops"]] == ["completed"]
    assert (await alice.get_session(after["session"]["id"]))["rolling"] is None
    if not whole:
        return told
    # more than 20 messages of either side: a version of the spine, and after more than 20 others the next
    versions = []
    for number in range(19):
        here.clock.advance(1)
        await say(f"I want to learn song number {number}.", "Noted.")
        versions.append(len((await alice.list_spines())["spines"]))
    assert versions == [0] * 7 + [1] * 11 + [2]
    spine = await alice.get_spine()
    assert spine["version"] == 2
    assert spine["message_count"] == 22
    assert "My name is Ada." in spine["profile"]
    assert any("Sarah" in each for each in spine["people"])
    assert await due(here) == []
    told += [(await alice.list_spines())["spines"], (await alice.list_todos())["todos"]]
    told += [(await alice.list_messages(limit=200))["messages"], (await alice.list_records())["records"]]
    told += [await here.events(), await alice.list_entities()]
    return told


def plain(told: list[Any]) -> str:
    return _IDS.sub(lambda found: f"{found[1]}…", json.dumps(told, sort_keys=True, indent=1))


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_the_timeline_is_the_same_on_every_backend(
    place: tuple[str, Any],  # noqa: F811 - the fixture
    request: pytest.FixtureRequest,
) -> None:
    whole = "mongodb" not in request.node.name or "RECOLLECT_SOAK" in os.environ
    async with scene() as here:
        wanted = plain(await course(here, whole=whole))
    async with scene_at(place) as here:
        assert plain(await course(here, whole=whole)) == wanted
