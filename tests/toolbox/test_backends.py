"""Budgets are exact on every backend, also when everything happens at once, and after a restart."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engines.mongodb import found_server, fresh_database  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.search.plain import SETTINGS
from tests.sizes import sized

import recollect
from recollect.config import Secret, Settings
from recollect.domain.errors import BudgetSpent

BACKENDS = ["sqlite", "postgres", "mongodb"]


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> Settings:
    if request.param == "postgres":
        return replace(SETTINGS, store=Secret(request.getfixturevalue("database")))
    if request.param == "mongodb":
        return replace(SETTINGS, store=Secret(fresh_database(request.getfixturevalue("mongodb"))))
    return SETTINGS


@pytest.mark.parametrize("settings", BACKENDS, indirect=True)
@sized(small=1, full=10)
async def test_of_a_hundred_calls_at_once_twenty_succeed(settings: Settings, tmp_path: Path, count: int) -> None:
    for number in range(count):
        session = f"s{number}"
        opened = (recollect.open(tmp_path, settings=settings) for _ in range(2))
        async with next(opened) as one, next(opened) as two:
            calls = [
                each.call_tool("memory_store", {"type": "fact", "content": f"note {n}"}, session=session)
                for n in range(50)
                for each in (one, two)
            ]
            done = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(each, dict) for each in done) == 20
        assert {type(each) for each in done if not isinstance(each, dict)} == {BudgetSpent}
        async with recollect.open(tmp_path, settings=settings) as again:
            assert (await again.call_tool("memory_brief", {}))["entry_count"] == 20 * (number + 1)
            with pytest.raises(BudgetSpent):
                await again.call_tool("memory_store", {"type": "fact", "content": "late"}, session=session)


@pytest.mark.parametrize("settings", BACKENDS, indirect=True)
async def test_a_chain_does_not_fork_when_many_supersede_at_once(settings: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=settings) as memories:
        first = (await memories.call_tool("memory_store", {"type": "fact", "content": "one"}, session="s"))["id"]
        asked = {"type": "fact", "content": "two", "supersedes": first}
        calls = [memories.call_tool("memory_store", asked, session=f"s{n}") for n in range(10)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(each, dict) for each in done) == 1
        assert {getattr(each, "code", None) for each in done if not isinstance(each, dict)} == {"chain_refused"}
        assert len((await memories.call_tool("memory_search", {}))["results"]) == 1
