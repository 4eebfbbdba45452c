"""One course of events on every backend: the same records, queue, contradictions and traces, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.engines.mongodb import found_server, fresh_database  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.governance.test_traces import REQUIRED
from tests.pipeline.scene import SETTINGS, Scene, scene

from recollect.config import Secret
from recollect.domain.governance.traces import schema

BACKENDS = ["memory", "sqlite", "postgres", "mongodb"]
VALIDATOR = jsonschema_rs.Draft202012Validator(schema())
_IDS = re.compile(r"\b(cap_|mwp_|ctr_|trc_|sig_|cns_|sha256-)[0-9a-f]{16,32}\b")
"""Ids that time gives, and digests that each deployment's own key gives."""


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Any]]:
    match request.param:
        case "postgres":
            yield str(tmp_path), replace(SETTINGS, store=Secret(request.getfixturevalue("database")))
        case "mongodb":
            yield str(tmp_path), replace(SETTINGS, store=Secret(fresh_database(request.getfixturevalue("mongodb"))))
        case "sqlite":
            yield str(tmp_path), SETTINGS
        case _:
            yield ":memory:", SETTINGS


@asynccontextmanager
async def scene_at(place: tuple[str, Any]) -> AsyncIterator[Scene]:
    async with scene(place[0], settings=place[1]) as here:
        yield here


async def played(here: Scene) -> str:
    """Everything that is told after a course of events, without the ids that time gives."""
    told: list[Any] = []
    for text in (
        "My name is Ada.",
        "I prefer concise updates.",
        "My name is Ada Lovelace.",
        "Actually, my name is Grace.",
        "My name is Ada.",
        "my password is hunter2",
        "We decided to ship weekly.",
    ):
        here.clock.advance(1)
        told.append(await here.say(text, session="s1"))
    member = here.as_user("alice", "project:apollo")
    for text in ("Remember this for the project: We decided to ship.", "Remember this for the project: I prefer tea."):
        said = {"text": text, "session": "s1", "project": "apollo"}
        told.append((await member.capture([said]))[0]["remembered"])
    for each in reversed(await here.waiting()):
        here.clock.advance(1)
        told.append(await here.maria.approve_proposal(each["proposal_id"]))
    told.append(await here.alice.start_phase("t1", name="second"))
    told.append(await here.alice.undo(source="s1", dry_run=True))
    told.append((await here.alice.list_records())["records"])
    told.append((await here.maria.list_contradictions(status="resolved"))["contradictions"])
    told.append(await here.events())
    return _IDS.sub(lambda found: f"{found[1]}…", json.dumps(told, sort_keys=True, indent=1))


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_every_backend_tells_the_same(place: tuple[str, Any]) -> None:
    async with scene() as here:
        wanted = await played(here)
    async with scene_at(place) as here:
        assert await played(here) == wanted


async def test_every_event_has_exactly_its_keys_and_fits_the_schema(here: Scene) -> None:
    await played(here)
    seen = set()
    for event in await here.events():
        VALIDATOR.validate(event)
        assert REQUIRED[event["type"]] <= event.keys()
        seen.add(event["type"])
    assert seen >= {
        "memory_write", "memory_denied", "memory_conflict", "memory_border_check", "memory_promoted",
        "memory_promotion_denied", "memory_phase_started", "memory_deleted",
    }  # fmt: skip
