"""Who waits for events hears of the commits of others at once, and of none too late."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
from tests.postgres.conftest import Open

from recollect.backends.postgres import PostgresOptions, PostgresStore
from recollect.domain.commits import Commit
from recollect.sync import drive
from recollect.testing.contract.scenes import TENANT, at, put


def write(store: PostgresStore) -> int:
    return drive(store.commit(Commit(TENANT, (put(at("a")),)))).head


def until_heard(waiter: PostgresStore, other: PostgresStore, after: int) -> float:
    """How long a waiter took to hear of what another instance committed."""
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lambda: (drive(waiter.wait(TENANT, after, 20)), time.monotonic()))
        threading.Event().wait(0.2)
        write(other)
        committed = time.monotonic()
        heard, at_last = waiting.result(25)
    assert heard
    return at_last - committed


def test_the_commit_of_another_instance_is_heard_at_once(opened: Open) -> None:
    waiter, other = opened(), opened()
    until_heard(waiter, other, write(other))
    took = sorted(until_heard(waiter, other, drive(other.head(TENANT)).sequence) for _ in range(5))
    assert took[2] < 0.5, "it was found by looking, not heard"


def test_a_bell_that_broke_is_mended(options: PostgresOptions, opened: Open) -> None:
    waiter, other = opened(), opened()
    until_heard(waiter, other, write(other))
    with psycopg.connect(options.url, autocommit=True) as connection:
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"
        connection.execute(sql, [f'LISTEN "recollect_{options.schema}"%'])
    assert until_heard(waiter, other, drive(other.head(TENANT)).sequence) < 5
    deadline = time.monotonic() + 10
    while not waiter._bell.listening and time.monotonic() < deadline:
        drive(waiter.wait(TENANT, drive(waiter.head(TENANT)).sequence, 0.1))
    assert waiter._bell.listening
