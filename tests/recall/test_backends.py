"""One course of events on every backend: the same memories, reasons, scores and traces."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.governance.test_traces import REQUIRED
from tests.pipeline.scene import TENANT, Scene, scene
from tests.pipeline.test_backends import _IDS, BACKENDS, place, scene_at  # noqa: F401 - a fixture

from recollect.domain.governance.traces import schema
from recollect.domain.instants import datetime_of
from recollect.domain.values import stored_value
from recollect.service.pipeline.places import Places

VALIDATOR = jsonschema_rs.Draft202012Validator(schema())


async def played(here: Scene) -> str:
    """Everything that is recalled in a course of events, without the ids that time gives."""
    told: list[Any] = []
    for text in ("My name is Ada.", "I prefer green tea.", "We decided to ship weekly.", "I prefer concise updates."):
        here.clock.advance(3_600)
        await here.say(text, session="s1")
    then = datetime_of(here.clock())
    here.clock.advance(86_400)
    member = here.as_user("alice", "project:apollo")
    said = {"text": "Remember this for the project: We decided to ship.", "session": "s1", "project": "apollo"}
    await member.capture([said])
    for each in await here.waiting():
        await here.maria.approve_proposal(each["proposal_id"])
    record = (await member.recall("tea", kinds=["semantic"], limit=1))["memories"][0]["id"]
    await member.correct_record(record, value="black tea", text="I prefer black tea.")
    here.clock.advance(60)
    for ranker in ("relevance", "blended", "deterministic"):
        asked: dict[str, Any] = {
            "session": "s1",
            "project": "apollo",
            "ranker": ranker,
            "history": True,
            "explain": True,
        }
        told.append(await member.recall("which tea", **asked))
        told.append(await member.recall("when to ship", as_of=then, **asked))
    told.append(await member.recall(limit=3))
    for each in told:
        row = await here.root.workings.store.get(TENANT, Places("alice").trace(each["trace_id"]))
        assert row is not None
        assert row.value is not None
        events = stored_value(row.value)["events"]
        for event in events:
            VALIDATOR.validate(event)
            assert REQUIRED[event["type"]] <= event.keys()
        each["events"] = events
        for memory in each["memories"]:  # what an arm said has more digits than two deployments agree on
            memory.get("explanation", {}).pop("search", None)
    return _IDS.sub(lambda found: f"{found[1]}…", json.dumps(told, sort_keys=True, indent=1))


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_every_backend_recalls_the_same(place: tuple[str, Any]) -> None:  # noqa: F811 - a fixture
    async with scene() as here:
        wanted = await played(here)
    async with scene_at(place) as here:
        assert await played(here) == wanted
