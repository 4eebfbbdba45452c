"""A service over MongoDB: what it is given lasts, and is found."""

from __future__ import annotations

from pathlib import Path

from tests.engines.mongodb import (
    found_server,  # noqa: F401 - a fixture
    fresh_database,
)

from recollect.testing.servers import Server
from recollect_client import Client


def test_a_service_keeps_and_finds_what_it_is_given(mongodb: str, tmp_path: Path) -> None:
    database = fresh_database(mongodb)
    with Server(tmp_path, store=database) as server, Client(server.url, server.token) as client:
        client.put(("user", "alice"), "diet", {"text": "vegan"})
        assert [hit.key for hit in client.search(("user",), query="vegan", wait=20)] == ["diet"]
        assert client.put(("user", "alice"), "diet", {"text": "vegetarian"}).revision == 2
    with Server(tmp_path, store=database) as server, Client(server.url, server.token) as client:
        found = client.get(("user", "alice"), "diet")
        assert found is not None
        assert found.value == {"text": "vegetarian"}
        assert [event.kind for event in client.events().events] == ["add", "update"]
        assert client.verify().sound
    assert not any(tmp_path.glob("*.db")), "memories are in the database alone"
