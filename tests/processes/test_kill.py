"""Servers are killed under load, and PostgreSQL beneath them; whatever was answered is done, and all go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.engines.postgres import fresh_database, needs_cluster
from tests.processes.conftest import SERVERS
from tests.serving.fleets import BOUNDLESS, Fleet
from tests.serving.killing import KEPT, LOST, Tally, kill_often
from tests.serving.planted import planted
from tests.sizes import sized

from recollect.testing.engines import PostgresCluster

CYCLES_PER_DATABASE = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    """A PostgreSQL that is there to be killed."""
    with needs_cluster() as cluster:
        yield cluster


def killed_often(
    folder: Path, count: int, cluster: PostgresCluster | None = None, *, until: str = "", unsafe: bool = False
) -> Tally:
    """Kill one of three servers so often, or PostgreSQL beneath all of them, on a fresh database now and then."""
    tally = Tally()
    while tally.cycles < count and not tally.tells(until):
        cycles = min(CYCLES_PER_DATABASE, count - tally.cycles)
        with fresh_database(None if cluster is None else cluster.url) as url:
            if unsafe:
                with psycopg.connect(url, autocommit=True) as connection:
                    name = connection.info.dbname
                    connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
            with Fleet(folder / str(tally.cycles), SERVERS, store=url, **KEPT, **BOUNDLESS) as fleet:
                victims = fleet.servers if cluster is None else [cluster]
                kill_often(fleet, victims, cycles, tally, until=until)
    return tally


@sized(2, 300)
def test_whatever_was_answered_survives_the_killing_of_servers(count: int, tmp_path: Path) -> None:
    tally = killed_often(tmp_path, count)
    print(f"kill of servers: {tally}")
    assert tally.flaws == []
    assert tally.acknowledged > 5 * count


@sized(2, 30)
def test_whatever_was_answered_survives_the_killing_of_postgresql(
    count: int, cluster: PostgresCluster, tmp_path: Path
) -> None:
    tally = killed_often(tmp_path, count, cluster)
    print(f"kill of PostgreSQL: {tally}")
    assert tally.flaws == []
    assert tally.acknowledged > 5 * count


def test_a_server_that_acknowledges_before_it_commits_is_found(tmp_path: Path) -> None:
    with planted("acknowledges before it commits"):
        tally = killed_often(tmp_path, 6, until=LOST)
    assert tally.tells(LOST), tally.flaws


def test_a_postgresql_that_does_not_wait_for_its_disk_is_found(cluster: PostgresCluster, tmp_path: Path) -> None:
    tally = killed_often(tmp_path, 6, cluster, until=LOST, unsafe=True)
    assert tally.tells(LOST), tally.flaws
