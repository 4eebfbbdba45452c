"""Two services on two machines' data directories, over one database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.postgres import fresh_database

from recollect.testing.servers import Server
from recollect_client import Client


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of a database of its own."""
    with fresh_database() as url:
        yield url


def value(client: Client) -> object:
    found = client.get(("user", "alice"), "diet")
    return None if found is None else found.value


def test_what_one_service_is_given_the_other_has(database: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    with Server(here, store=database) as one:
        (there / "keys").mkdir(parents=True, mode=0o700)
        shutil.copy2(here / "keys" / "master.key", there / "keys" / "master.key")
        with (
            Server(there, store=database) as other,
            Client(one.url, one.token) as first,
            Client(other.url, one.token) as second,
        ):
            written = first.put(("user", "alice"), "diet", {"text": "vegan"})
            assert value(second) == {"text": "vegan"}
            assert [hit.key for hit in second.search(("user",), query="vegan", wait=10)] == ["diet"]
            later = second.put(("user", "alice"), "diet", {"text": "vegetarian"})
            assert (written.revision, later.revision) == (1, 2)
            assert first.search(("user",), query="vegan", mode="lexical", wait=10).items == []
            assert [event.kind for event in first.events().events] == ["add", "update"]
            assert second.verify().sound
        assert not any(here.glob("*.db")), "memories are in the database alone"
    with Server(here, store=database) as again, Client(again.url, again.token) as client:
        assert value(client) == {"text": "vegetarian"}
