"""One list of scenarios, at every door, with equal answers and equal refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.engines.mongodb import (
    found_server,  # noqa: F401 - a fixture
)
from tests.engines.mongodb import fresh_database as mongo_database
from tests.engines.postgres import fresh_database as postgres_database
from tests.scenarios import asking, conversing, finding, governing, permitting, recalling, remembering, telling, writing
from tests.scenarios.door import Door, House, Person, Plain
from tests.scenarios.in_process import SETTINGS, InProcess, Sdk
from tests.scenarios.over_grpc import NOT_OFFERED as NOT_CALLED
from tests.scenarios.over_grpc import Grpc, OverGrpc
from tests.scenarios.over_http import OverHttp
from tests.scenarios.play import SCENES, Line, Scene, differences
from tests.scenarios.remembering import WAY_IN
from tests.scenarios.typed import NOT_OFFERED, UNTOLD, AtTheKeyboard

from recollect.config import Secret, Settings
from recollect.testing.servers import Server, running

CHAPTERS = (writing, finding, asking, telling, permitting, governing, remembering, recalling, conversing)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("scenarios") / "data"
    with running(home, filterable_attributes="lang", grpc_port=0) as started:
        yield started


@pytest.fixture(scope="module")
def databases() -> Iterator[Callable[[], str]]:
    """Makes the URL of a fresh PostgreSQL database."""
    with ExitStack() as made:
        yield lambda: made.enter_context(postgres_database())


HOUSES: dict[str, Callable[[Callable[[str], Any], Path], House]] = {
    "in-process": lambda _given, place: InProcess(place, sync=False),
    "in-process-sync": lambda _given, place: InProcess(place, sync=True),
    "rest": lambda given, _place: OverHttp(given("server")),
    "sdk": lambda given, _place: Sdk(given("server"), sync=True),
    "sdk-async": lambda given, _place: Sdk(given("server"), sync=False),
    "cli": lambda given, _place: AtTheKeyboard(given("server")),
    "grpc": lambda given, _place: OverGrpc(given("server")),
}
"""The doors, all over SQLite."""
ENGINES: dict[str, Callable[[Callable[[str], Any], Path], Settings]] = {
    "postgres": lambda given, _place: replace(SETTINGS, store=Secret(given("databases")())),
    "mongodb": lambda given, _place: replace(SETTINGS, store=Secret(mongo_database(given("mongodb")))),
    "pgvector": lambda given, _place: replace(
        SETTINGS, store=Secret(given("databases")()), vectors=Secret("pgvector"), vectors_exact=0
    ),
    "qdrant": lambda _given, place: replace(SETTINGS, vectors=Secret(f"qdrant://{place}/vectors"), vectors_exact=0),
}
"""The other engines, behind one door."""
SLOW = {"mongodb": 5, "pgvector": 3, "qdrant": 3}
"""The engines on which only one scenario out of so many is played."""


@pytest.fixture(scope="module")
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, House]]:
    name, place = request.param, tmp_path_factory.mktemp("house") / "data"
    opened = (
        HOUSES[name](request.getfixturevalue, place)
        if name in HOUSES
        else InProcess(place, sync=True, settings=ENGINES[name](request.getfixturevalue, place))
    )
    yield name, opened
    opened.close()


@cache
def reference(scene: Scene) -> list[Line]:
    """What is told where nothing is in between: by the library, in memory."""
    house = InProcess(":memory:", sync=True)
    try:
        return scene.at(house, "reference")
    finally:
        house.close()


def performances() -> Iterator[Any]:
    """Every scenario in every house; where they take long, only some of them but in `make soak`."""
    for name in (*HOUSES, *ENGINES):
        for number, scene in enumerate(SCENES):
            waits = name in SLOW and number % SLOW[name]
            yield pytest.param(
                name, scene, id=f"{name}-{scene.play.__name__}", marks=[pytest.mark.soak] if waits else []
            )


@pytest.mark.parametrize(("house", "scene"), list(performances()), indirect=["house"], scope="module")
def test_a_scenario_goes_alike_at_every_door(scene: Scene, house: tuple[str, House]) -> None:
    name, opened = house
    if name == "cli" and scene.needs & NOT_OFFERED:
        pytest.skip(f"cannot be typed: {', '.join(scene.needs & NOT_OFFERED)}")
    untold = UNTOLD if name == "cli" else frozenset()
    assert differences(scene.at(opened, name), reference(scene), untold) == []


def test_only_what_cannot_be_typed_is_left_out() -> None:
    assert {need for scene in SCENES for need in scene.needs} == NOT_OFFERED
    assert sum(bool(scene.needs & NOT_OFFERED) for scene in SCENES if WAY_IN not in scene.needs) <= 7
    assert {scene.play.__module__ for scene in SCENES if WAY_IN in scene.needs} == {remembering.__name__}


def test_only_what_has_no_call_is_asked_elsewhere() -> None:
    calls = {name for name in vars(Door) if not name.startswith("_")}
    assert {name for name in calls if name not in vars(Grpc)} == NOT_CALLED
    asked = {call for scene in SCENES for _, call, _ in reference(scene)}
    assert asked >= calls - {"justified"}


def test_the_list_is_long_and_says_each_thing_once() -> None:
    assert len(SCENES) >= 80
    assert len({scene.name for scene in SCENES}) == len({scene.play.__name__ for scene in SCENES}) == len(SCENES)
    assert {scene.play.__module__ for scene in SCENES} == {chapter.__name__ for chapter in CHAPTERS}
    print(f"scenarios: {len(SCENES)}, at {len(HOUSES)} doors")


# -- a door that differs is noticed


class Altered:
    """A door that does one thing differently."""

    def __init__(self, door: Door, call: str, change: Callable[[Any], Any]) -> None:
        self._door, self._call, self._change = door, call, change

    def __getattr__(self, call: str) -> Any:
        ask = getattr(self._door, call)
        return (lambda *given, **named: self._change(ask(*given, **named))) if call == self._call else ask


class AlteredHouse(InProcess):
    """The library, with a planted difference."""

    def __init__(self, call: str, change: Callable[[Any], Any]) -> None:
        super().__init__(":memory:", sync=True)
        self._altered = (call, change)

    def door(self, tenant: str, person: Person) -> Door:
        altered: Any = Altered(super().door(tenant, person), *self._altered)
        door: Door = altered
        return door


def _shifted(page: Plain) -> Plain:
    return page | {"events": [event | {"sequence": event["sequence"] + 1} for event in page["events"]]}


PLANTED: list[tuple[str, Callable[[Any], Any], Callable[[Any], None]]] = [
    ("put", lambda done: done | {"updated_at": done["updated_at"].replace(microsecond=0)}, writing.overwrite),
    ("put", lambda done: done | {"replayed": False}, writing.repeated),
    ("get", lambda item: item | {"attributes": item["attributes"] or {}}, writing.write_and_read),
    ("get", lambda item: item | {"id": item["id"][::-1]}, finding.odd_names),
    ("search", lambda page: page | {"cursor": None}, finding.wrong_cursors),
    ("list_namespaces", lambda found: found[::-1], finding.namespaces),
    ("history", lambda found: found[:2], finding.history),
    ("events", _shifted, telling.actor),
    ("events", lambda page: page | {"complete": False}, telling.kinds),
    ("whoami", lambda caller: caller | {"roles": []}, permitting.who),
    ("show_policy", lambda found: found | {"packages": found["packages"][1:]}, governing.shared_namespace),
    ("check_policy", lambda report: report | {"checks": report["checks"][:-1]}, governing.spellings),
    ("push_policy", lambda found: found | {"versions": []}, governing.rolled_back),
    ("explain_policy", lambda found: found | {"clauses": found["clauses"][:-1]}, governing.explained),
    ("simulate_policy", lambda found: found | {"tried": found["tried"] + 1}, governing.simulated),
    ("list_audit", lambda page: page | {"entries": page["entries"][:1]}, governing.audit_pages),
    ("search", lambda page: page | {"items": [item | {"score": 0.5} for item in page["items"]]}, asking.by_words),
    ("search", lambda page: page | {"items": page["items"][::-1]}, asking.several),
    ("search", lambda page: page | {"explanation": {}}, asking.explained_search),
    ("put", lambda done: done | {"indexed": False}, asking.read_your_writes),
    ("batch", lambda done: done[::-1], asking.batch_waits),
    ("index_status", lambda status: status | {"model": "another"}, asking.index_keepers),
    ("trigger_index", lambda status: status | {"pending": status["pending"] + 1}, governing.extracted_anew),
    ("capture", lambda told: [each | {"state": "pending"} for each in told], remembering.captured),
    ("would_remember", lambda told: told | {"withheld": False}, remembering.dry_run),
    ("approve_proposal", lambda told: told | {"decided_by": None}, remembering.approved),
    ("get_consent", lambda told: told | {"state": "active"}, remembering.consents),
    ("list_traces", lambda page: page | {"traces": page["traces"][1:]}, remembering.captured),
    ("recall", lambda told: told | {"memories": told["memories"][::-1]}, recalling.recalled),
    ("recall", lambda told: told | {"borders": []}, recalling.recall_narrowed),
    ("context", lambda told: told | {"report": told["report"] | {"used": 1}}, recalling.compiled),
    ("take_turn", lambda told: told | {"hash": "0" * 64}, recalling.governed),
    ("get_trace", lambda told: told | {"cause": None}, recalling.traced),
    ("why", lambda told: told | {"lines": told["lines"][1:]}, recalling.explained_why),
    ("replay", lambda told: told | {"events": told["events"] + 1}, recalling.replayed),
    ("diff_phases", lambda told: told | {"added_count": told["added_count"] + 1}, recalling.compared),
    ("top_usage", lambda told: told | {"complete": False}, recalling.used),
    ("change_settings", lambda tuned: tuned | {"changed": []}, governing.settings),
]


@pytest.mark.parametrize(("call", "change", "play"), PLANTED)
def test_a_door_that_differs_is_noticed(call: str, change: Callable[[Any], Any], play: Callable[[Any], None]) -> None:
    scene = next(scene for scene in SCENES if scene.play is play)
    house = AlteredHouse(call, change)
    try:
        found = differences(scene.at(house, "altered"), reference(scene))
    except Exception as noticed:  # noqa: BLE001 - whatever a scenario stumbles over, it noticed
        found = [repr(noticed)]
    finally:
        house.close()
    assert found


def test_another_refusal_is_noticed() -> None:
    one: list[Line] = [("alice", "get", "refused: not_found")]
    assert differences(one, one) == []
    assert differences(one, [("alice", "get", "refused: forbidden")])
    assert differences(one, [("alice", "get", {})])
    assert differences(one, [])
    assert differences([("alice", "get", "refused: usage")], one)
    assert differences([("alice", "get", "refused: usage")], [("alice", "get", "refused: invalid_key")]) == []
