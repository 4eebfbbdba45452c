"""What has none of a query's words is found by its meaning, with the model that ships, in process and over REST."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.scenarios.asking import FACTS, asked
from tests.scenarios.door import PEOPLE, Door
from tests.scenarios.in_process import Library
from tests.scenarios.over_http import OverHttp

import recollect
from recollect.domain.callers import new_caller
from recollect.testing.servers import running

REMEMBERED = {
    "f1": "Python uses indentation for blocks",
    "f2": "Alice takes her tea without sugar",
    "f3": "The rent is due on the first of the month",
    "f4": "Bob's sister plays the cello in an orchestra",
    "f5": "The wifi password is on the fridge",
    "f6": "Grandmother was born in a village near Porto",
}


@pytest.fixture(scope="module", params=["in-process", "rest"])
def alice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Alice's memories, with the embedder that is the default."""
    place = tmp_path_factory.mktemp("meaning") / "data"
    if request.param == "rest":
        with running(place, embedder="local") as server:
            house = OverHttp(server)
            yield _filled(house.door("default", PEOPLE["alice"]))
            house.close()
    else:
        with recollect.open_sync(place) as memories:
            yield _filled(Library(memories.for_caller(new_caller("default", "alice")), recollect, None))


def _filled(door: Door) -> Door:
    for key, text in REMEMBERED.items():
        door.put(FACTS, key, {"text": text})
    return door


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("whitespace-sensitive syntax", "f1"),
        ("hot drinks", "f2"),
        ("when do I have to pay the landlord?", "f3"),
        ("classical music", "f4"),
        ("where does the family come from?", "f6"),
    ],
)
def test_a_query_finds_what_means_the_same(alice: Door, query: str, key: str, mode: str) -> None:
    assert asked(alice, query, mode=mode)["items"][0]["key"] == key
    assert key not in [item["key"] for item in asked(alice, query, mode="lexical")["items"]]


def test_a_deleted_memory_is_not_found_by_its_meaning_either(alice: Door) -> None:
    alice.put(FACTS, "to_delete", {"text": "Lisbon has yellow trams"}, wait="indexed")
    assert asked(alice, "public transport in Portugal")["items"][0]["key"] == "to_delete"
    alice.delete(FACTS, "to_delete")
    assert "to_delete" not in [item["key"] for item in asked(alice, "public transport in Portugal")["items"]]
