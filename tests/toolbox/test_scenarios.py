"""The tools of an agent do the same at every door, and refuse the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from tests.toolbox.doors import HOUSES, REGO, Library, Outcome, played
from tests.toolbox.scenarios import SCENARIOS, Scenario, Step

from recollect.service.toolbox import TOOLS
from recollect.testing.servers import Server, running
from recollect.wire.tool_errors import ToolCode

ALWAYS = 3
"""So many scenarios are played also where each caller is a process to be started; the others in `make soak`."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("tools") / "home", failures_per_second=0) as started:
        yield started


def performances() -> Iterator[Any]:
    for house in HOUSES:
        for number, scenario in enumerate(SCENARIOS):
            waits = house == "mcp-stdio" and number >= ALWAYS
            name = f"{house}-{scenario.name}"
            yield pytest.param(house, scenario, id=name, marks=[pytest.mark.soak] if waits else [])


async def reference(scenario: Scenario) -> list[Outcome]:
    """What the library answers, in memory."""
    return await played(scenario, Library(sync=False, settings=REGO), "reference")


@pytest.mark.parametrize(("house", "scenario"), list(performances()))
async def test_a_scenario_goes_alike_at_every_door(house: str, scenario: Scenario, server: Server) -> None:
    expected = await reference(scenario)
    codes = [outcome["error"]["code"] if "error" in outcome else None for outcome in expected]
    assert codes == [step.refused for step in scenario.steps]
    tenant = f"t-{uuid.uuid4().hex[:8]}"
    assert await played(scenario, HOUSES[house](server), tenant, expected) == expected


def test_the_list_knows_every_tool_and_the_refusals_that_can_be_brought_about() -> None:
    steps = [step for scenario in SCENARIOS for step in scenario.steps]
    assert {step.tool for step in steps} >= set(TOOLS)
    elsewhere = {ToolCode.PLUGIN_TIMEOUT, ToolCode.PLUGIN_UNAVAILABLE, ToolCode.PLUGIN_ERROR}
    assert {step.refused for step in steps if step.refused} == set(ToolCode) - elsewhere
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


class Altered(Library):
    """A door that does one thing differently."""

    def __init__(self, change: str) -> None:
        super().__init__(sync=False, settings=REGO)
        self._change = change

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        if self._change == "one session for all":
            step = Step(step.tool, step.arguments, step.refused, step.who, "s1", step.group)
        if self._change == "one group for all":
            step = Step(step.tool, step.arguments, step.refused, step.who, step.session)
        found = await super().call(tenant, step, arguments)
        if self._change == "another code" and "error" in found:
            return {"error": found["error"] | {"code": "PLUGIN_ERROR"}}
        if self._change == "a field is missing":
            found.pop("notice", None)
        if self._change == "another order" and "results" in found:
            found["results"] = found["results"][::-1]
        return found


@pytest.mark.parametrize(
    "change", ["one session for all", "one group for all", "another code", "a field is missing", "another order"]
)
async def test_a_door_that_differs_is_noticed(change: str) -> None:
    noticed = []
    for scenario in SCENARIOS:
        try:
            found = await played(scenario, Altered(change), "altered")
        except KeyError:  # a note that it refused to store is missed later
            found = []
        noticed.append(found != await reference(scenario))
    assert any(noticed)
