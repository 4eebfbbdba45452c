"""Personas and seeds: whom users talk to, and what all of them know beforehand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.scene import Scene

from recollect.domain.errors import Forbidden, InvalidRequest, NotFound, RevisionConflict


async def test_a_persona_is_described_in_versions(here: Scene) -> None:
    first = await here.admin.put_persona("Coach", {"label": "Coach Carla", "idle_seconds": 60})
    assert (first["version"], first["label"], first["idle_seconds"], first["spine"]) == (1, "Coach Carla", 60, True)
    second = await here.admin.put_persona("Coach", {"spine": False}, expected_version=1)
    assert (second["version"], second["label"], second["idle_seconds"]) == (2, None, 1_800)
    with pytest.raises(RevisionConflict):
        await here.admin.put_persona("Coach", {}, expected_version=1)
    assert await here.alice.get_persona("Coach") == second
    assert [each["name"] for each in (await here.alice.list_personas())["personas"]] == ["Coach", "default"]


async def test_one_that_nobody_described_is_there_all_the_same(here: Scene) -> None:
    found = await here.alice.get_persona("Zoë")
    assert (found["name"], found["version"], found["idle_seconds"]) == ("Zoë", 0, 1_800)


async def test_only_administrators_describe_personas(here: Scene) -> None:
    with pytest.raises(Forbidden):
        await here.alice.put_persona("Coach", {})


@pytest.mark.parametrize(
    "settings",
    [
        7,
        {"name": "x"},
        {"label": ""},
        {"idle_seconds": 0},
        {"idle_seconds": True},
        {"spine": "no"},
        {"label": "x" * 101},
    ],
)
async def test_what_is_no_persona_is_refused(here: Scene, settings: Any) -> None:
    with pytest.raises(InvalidRequest):
        await here.admin.put_persona("Coach", settings)


async def test_a_seed_is_told_replaced_and_forgotten(here: Scene) -> None:
    with pytest.raises(NotFound):
        await here.alice.get_seed()
    await here.alice.put_seed("Ada is a nurse.")
    here.clock.advance(1)
    told = await here.alice.put_seed("Ada is a doctor. Her password is hunter2-and-more.")
    assert "hunter2" not in told["text"]
    assert await here.alice.get_seed() == told
    with pytest.raises(NotFound):
        await here.as_user("bob").get_seed()
    assert await here.alice.delete_seed() == {"deleted": True}
    assert await here.alice.delete_seed() == {"deleted": False}
    for text in ("", "  ", "x" * 20_001, None):
        with pytest.raises(InvalidRequest):
            await here.alice.put_seed(text)  # type: ignore[arg-type] # on purpose
