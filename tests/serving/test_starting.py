"""Servers that start at the same time: one first key for all, and a port for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.concurrency.crew import in_threads
from tests.serving.line import Line
from tests.serving.planted import planted
from tests.sizes import sized

from recollect.testing.servers import Server


def keys_of_a_race(home: Path) -> int:
    """How many keys there are after two servers began at once on an empty directory, both of which must serve."""
    home.mkdir(mode=0o700)
    servers = [Server(home), Server(home)]
    try:
        in_threads(*(server.start for server in servers))
        for server in servers:
            assert server.request("GET", "/v1/whoami")[0] == 200
        return len(servers[0].request("GET", "/admin/v1/tokens")[1]["tokens"])
    finally:
        assert in_threads(*(server.stop for server in servers)) == [0, 0]


@sized(1, 30)
def test_two_first_starts_at_once_make_one_key(count: int, tmp_path: Path) -> None:
    assert [keys_of_a_race(tmp_path / str(number)) for number in range(count)] == [1] * count


def test_looking_first_and_making_then_is_found(tmp_path: Path) -> None:
    with planted("looks, then makes the first key"):
        assert keys_of_a_race(tmp_path / "home") > 1


def test_a_first_start_that_dies_does_not_lock_the_administrator_out(tmp_path: Path) -> None:
    victim = Server(tmp_path)
    with planted("dies when it notes the first key"), pytest.raises(RuntimeError):
        victim.start()
    victim.kill()
    with Server(tmp_path) as server:
        assert server.request("GET", "/v1/whoami")[0] == 200


def test_a_server_whose_port_is_taken_takes_the_next_free_one(pair: tuple[Server, Server]) -> None:
    wanted = pair[0].port
    with Server(pair[0].home, port=wanted) as server:
        assert wanted < server.port < wanted + 50
        for each in (*pair, server):
            with Line(each.url, each.token) as line:
                assert line.ask("GET", "/v1/whoami").status == 200
