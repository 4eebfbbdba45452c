"""Connections that break, servers that take no writes, commits whose answer is lost."""

from __future__ import annotations

import threading
from dataclasses import replace

import psycopg
import pytest
from tests.postgres.conftest import Open

from recollect.backends.keyring import Plain
from recollect.backends.postgres import PostgresKeyStore, PostgresOptions, PostgresStore
from recollect.backends.postgres.writer import Group
from recollect.domain.commits import Commit, idempotency
from recollect.domain.errors import OutcomeUnknown, StoreBusy, StoreUnavailable
from recollect.domain.instants import Instant
from recollect.main import system_clock
from recollect.ports.keys import WrappedKey
from recollect.sync import drive
from recollect.testing.contract.scenes import TENANT, at, put
from recollect.testing.doubles import SerialIds

PLACE = at("kept")
MINUTE = 60_000_000


def terminate(options: PostgresOptions, *pids: int) -> None:
    with psycopg.connect(options.url, autocommit=True) as connection:
        for pid in pids:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def pids_of(store: PostgresStore) -> list[int]:
    return [link.connection.info.backend_pid for link in store._pool._all]


def write(store: PostgresStore, value: bytes = b"1", key: str | None = None) -> Commit:
    operations = (put(PLACE, value),)
    request = None if key is None else idempotency(key, "", operations)
    commit = Commit(TENANT, operations, idempotency=request)
    drive(store.commit(commit))
    return commit


def test_reading_goes_on_after_every_connection_broke(options: PostgresOptions, opened: Open) -> None:
    store = opened()
    write(store)
    terminate(options, *pids_of(store))
    row = drive(store.get(TENANT, PLACE))
    assert row is not None
    assert row.value == b"1"


def test_writing_goes_on_after_every_connection_broke(options: PostgresOptions, opened: Open) -> None:
    store = opened()
    write(store)
    terminate(options, *pids_of(store))
    write(store, b"2")
    assert drive(store.head(TENANT)).sequence == 2


def lose_the_answer(options: PostgresOptions, monkeypatch: pytest.MonkeyPatch, *, arrived: bool) -> None:
    """Let the next commit lose its connection, before or after the server carried it out."""
    honest = Group.finish

    def finish(group: Group) -> None:
        monkeypatch.setattr(Group, "finish", honest)
        connection = group.link.connection
        if not arrived:
            terminate(options, connection.info.backend_pid)
        honest(group)
        if arrived:
            assert connection._pipeline is not None
            while connection._pipeline.command_queue:  # what was gathered to be sent with the wait for its answer
                connection._pipeline.command_queue.popleft()()
            connection.pgconn.pipeline_sync()
            while connection.pgconn.flush():
                pass
            with psycopg.connect(options.url) as other:  # it gets the lock when the commit is done
                sql = f"SELECT sequence FROM {options.schema}.tenants WHERE tenant = %s FOR UPDATE"
                other.execute(sql, [group.tenant])
            terminate(options, connection.info.backend_pid)

    monkeypatch.setattr(Group, "finish", finish)


@pytest.mark.parametrize("arrived", [False, True], ids=["before it arrived", "after it arrived"])
def test_a_commit_whose_answer_is_lost_happens_once_when_it_is_repeated(
    arrived: bool, options: PostgresOptions, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    write(store)
    lose_the_answer(options, monkeypatch, arrived=arrived)
    with pytest.raises(OutcomeUnknown):
        write(store, b"2", "request")
    assert drive(store.head(TENANT)).sequence == (2 if arrived else 1)
    operations = (put(PLACE, b"2"),)
    receipt = drive(store.commit(Commit(TENANT, operations, idempotency=idempotency("request", "", operations))))
    assert receipt.replayed is arrived
    assert drive(store.head(TENANT)).sequence == 2
    assert drive(store.verify(TENANT)).sound


def test_a_server_that_takes_no_writes_is_still_read(options: PostgresOptions, opened: Open) -> None:
    write(opened())
    sign = "&" if "?" in options.url else "?"
    standby = replace(options, url=f"{options.url}{sign}options=-c%20default_transaction_read_only%3Don")
    store = opened(other=standby)
    assert drive(store.get(TENANT, PLACE)) is not None
    with pytest.raises(StoreUnavailable, match="takes no writes"):
        write(store, b"2")
    with pytest.raises(StoreUnavailable, match="takes no writes"):
        drive(store.acquire("work", "me", 1))
    assert drive(store.head(TENANT)).sequence == 1


def test_a_lock_that_is_held_for_too_long_is_told_and_nothing_is_changed(
    options: PostgresOptions, opened: Open
) -> None:
    write(opened())
    store = opened(other=replace(options, lock_seconds=0.2))
    with psycopg.connect(options.url) as other:
        other.execute(f"SELECT 1 FROM {options.schema}.tenants FOR UPDATE")
        with pytest.raises(StoreBusy, match="held the tenant's lock"):
            write(store, b"2")
    write(store, b"3")
    assert drive(store.head(TENANT)).sequence == 2


def test_one_connection_too_few_is_told(options: PostgresOptions, opened: Open) -> None:
    store = opened(other=replace(options, connections=1, lock_seconds=0.1))
    with store._pool.lend(), pytest.raises(StoreBusy, match="in use"):
        drive(store.head(TENANT))
    assert drive(store.head(TENANT)).sequence == 0


def test_keys_are_found_and_made_after_their_connection_broke(options: PostgresOptions) -> None:
    keys = PostgresKeyStore(options)
    key = WrappedKey(b"k" * 16, TENANT, "user:ann", 1, "master", b"wrapped", 0)
    for number in range(2):
        assert keys._link is not None
        terminate(options, keys._link.connection.info.backend_pid)
        if number:
            keys.add(lambda: [key])
        else:
            assert keys.epoch() == 0
    assert keys.newest(TENANT, "user:ann") == key
    keys.close()


def test_leases_go_by_the_clock_of_the_server(options: PostgresOptions, opened: Open) -> None:
    """So that a process whose clock is ahead takes nothing away, and one that dies blocks nobody for long."""
    clocks = [lambda minutes=minutes: Instant(system_clock() + minutes * MINUTE) for minutes in (-5, 0, 5)]
    stores = [PostgresStore(options, clock=clock, ids=SerialIds(), sealer=Plain(), direct=True) for clock in clocks]
    for holder in stores:
        lease = drive(holder.acquire("work", "holder", 0.2))
        assert lease is not None
        for rival in stores:
            assert drive(rival.acquire("work", "rival", 0.2)) is None
        threading.Event().wait(0.25)
        for rival in stores:
            taken = drive(rival.acquire("work", "rival", 0.2))
            assert taken is not None
            drive(rival.release(taken))
    for store in stores:
        drive(store.close())


def test_leases_are_given_after_every_connection_broke(options: PostgresOptions, opened: Open) -> None:
    store = opened()
    lease = drive(store.acquire("work", "me", 10))
    assert lease is not None
    terminate(options, *pids_of(store))
    assert drive(store.renew(lease, 20)).fence == lease.fence
