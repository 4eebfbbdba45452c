"""While the database is away, requests are told so and what to do; once it is back, everything goes on by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.engines.postgres import needs_cluster
from tests.serving.fleets import BOUNDLESS, Fleet
from tests.serving.killing import recovered

from recollect.testing.engines import PostgresCluster
from recollect.testing.servers import Server
from recollect_client import Client

HOME = ["user", "admin"]
LONG_SECONDS = 30.0
PUT = ("PUT", "/v1/memories", {"namespace": HOME, "key": "k", "value": {"text": "tea"}})
REQUESTS: list[tuple[str, str, object]] = [
    PUT,
    ("GET", "/v1/memories?ns=user&ns=admin&key=k", None),
    ("POST", "/v1/memories/search", {"namespace_prefix": HOME}),
    ("POST", "/v1/memories/search", {"namespace_prefix": HOME, "query": "tea"}),
    ("GET", "/v1/memories/events", None),
    ("GET", "/admin/v1/tokens", None),
    ("GET", "/v1/whoami", None),
]


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    with needs_cluster() as cluster:
        yield cluster


@pytest.fixture
def pair(cluster: PostgresCluster, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path, 2, store=cluster.url, index_seconds=0.2, **BOUNDLESS) as fleet:
        assert fleet.servers[0].request(*PUT)[0] == 200
        yield fleet


def check_told(answer: tuple[int, Any, Any], *codes: str) -> None:
    """The error must be one after which the same request may succeed, and say what to do."""
    status, said, headers = answer
    assert (status, said["code"] in codes) == (503, True), said
    assert "again" in said["details"]["advice"]
    assert headers["retry-after"] == "1"
    assert "127.0.0.1" not in said["error"], "callers need not know where the database is"


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + LONG_SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def finds(server: Server, text: str) -> bool:
    with Client(server.url, server.token) as client:
        return bool(client.search(HOME, query=text, mode="lexical", wait=0))


def test_without_postgresql_it_says_so_and_goes_on_once_it_is_back(cluster: PostgresCluster, pair: Fleet) -> None:
    one, two = pair.servers
    followed: list[str] = []

    def follow() -> None:
        with Client(two.url, two.token) as client:
            for event in client.follow(HOME, wait=1.0, patience=LONG_SECONDS):
                followed.append(event.key)
                if event.key == "last":
                    return

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    eventually(lambda: followed == ["k"])
    cluster.kill()
    for server in pair.servers:
        for request in REQUESTS:
            check_told(server.request(*request), "store_unavailable", "outcome_unknown")
        assert server.request("GET", "/healthz")[:2] == (200, {"status": "ok"})
        assert server.request("GET", "/readyz")[:2] == (503, {"status": "not_ready"})
        (server.home / "recollect.toml").write_text("max_depth = 3\n")
    eventually(lambda: all("settings.not_followed" in server.log() for server in pair.servers))
    cluster.start()
    print(f"recovery of two servers: {recovered(pair):.2f} s after PostgreSQL was back")
    for server in pair.servers:
        assert server.request("GET", "/readyz")[0] == 200
    deep = {"namespace": [*HOME, "a", "b"], "key": "k", "value": {}}
    eventually(lambda: all(server.request("PUT", "/v1/memories", deep)[0] == 400 for server in pair.servers))
    last = {"namespace": HOME, "key": "last", "value": {"text": "coffee"}}
    assert one.request("PUT", "/v1/memories", last)[0] == 200
    eventually(lambda: finds(two, "coffee"))
    following.join(LONG_SECONDS)
    assert followed[0] == "k"
    assert followed[-1] == "last"


def allow_writes(cluster: PostgresCluster, *, allowed: bool) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'off' if allowed else 'on'}".encode())
        connection.execute("SELECT pg_reload_conf()")


def test_a_postgresql_that_takes_no_writes_is_read_and_written_again_once_it_does(
    cluster: PostgresCluster, pair: Fleet
) -> None:
    one, two = pair.servers
    eventually(lambda: finds(one, "tea"))  # the first search of a tenant waits for its index, which is a write
    allow_writes(cluster, allowed=False)
    eventually(lambda: one.request(*PUT)[0] == 503)
    for server in pair.servers:
        check_told(server.request(*PUT), "store_unavailable")
        for request in REQUESTS[1:]:
            assert server.request(*request)[0] == 200, request
        assert server.request("GET", "/readyz")[0] == 200
    allow_writes(cluster, allowed=True)
    recovered(pair)
    assert two.request(*PUT)[0] == 200
