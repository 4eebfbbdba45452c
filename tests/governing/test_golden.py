"""Golden conversations are told byte for byte as they are kept, on every backend and as often as they are had."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.governing.golden import FOLDER, SCENARIOS, on_the_machine, path_of, told
from tests.governing.scene import Talk
from tests.pipeline.test_backends import BACKENDS, place, scene_at  # noqa: F401 - a fixture

FEW = ["two greetings", "hints", "phases and their diff", "a correction"]
"""Those that are had on the server that stands for MongoDB, which reads all that it keeps at every question."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_machine_tells_what_is_kept(name: str) -> None:
    assert on_the_machine(name) == path_of(name).read_text()


def test_every_file_is_a_conversation() -> None:
    assert {each.name for each in FOLDER.iterdir()} == {path_of(name).name for name in SCENARIOS}
    assert len(SCENARIOS) >= 24


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_every_backend_tells_what_is_kept_and_tells_it_again(
    place: tuple[str, Any],  # noqa: F811
    request: pytest.FixtureRequest,
) -> None:
    slow = "mongodb" in request.node.name and "RECOLLECT_SOAK" not in os.environ
    async with scene_at(place) as here:
        for number, name in enumerate(FEW if slow else SCENARIOS):
            settings, said = SCENARIOS[name]
            for again in range(1 if slow else 2):
                talk = await Talk(here.root.for_tenant(f"t{number}-{again}")).set(**settings)
                for text, tools, asked in said:
                    await talk.say(text, tools, **asked)
                assert told(talk.events) == path_of(name).read_text(), name


def test_a_file_that_was_altered_is_caught() -> None:
    name = "two greetings"
    assert on_the_machine(name) != path_of(name).read_text().replace('"importance": 2', '"importance": 3', 1)
