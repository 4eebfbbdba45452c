"""Who reads on after a number misses nothing, in whatever order transactions end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.postgres.conftest import Open

from recollect.backends.postgres import PostgresOptions, PostgresStore, entries, writer
from recollect.backends.postgres.connections import open_link
from recollect.domain.address import ROOT
from recollect.domain.commits import Commit
from recollect.domain.reasons import Plane
from recollect.ports.store import Mark, Reflected
from recollect.sync import drive
from recollect.testing.contract.scenes import TENANT, at, put

SERIES = 1


def reflect(store: PostgresStore, row_id: bytes) -> int:
    return drive(store.reflect(TENANT, SERIES, [Reflected(Mark(row_id, live=True), b"entry")]))


def missed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """What somebody who reads on does not hear of, while one who keeps an entry is slow and another is not."""
    slow, fast, reader = opened(), opened(), opened()
    entered, may_end = threading.Event(), threading.Event()
    honest = writer.Group.finish

    def finish(group: writer.Group) -> None:
        if group.link in slow._pool._all:
            entered.set()
            assert may_end.wait(20)
        honest(group)

    monkeypatch.setattr(writer.Group, "finish", finish)
    receipt = drive(fast.commit(Commit(TENANT, (put(at("a"), index=True), put(at("b"), index=True)))))
    first, second = (outcome.id or b"" for outcome in receipt.outcomes)
    heard: set[bytes] = set()
    upto = drive(reader.entries(TENANT, Plane.ITEM, ROOT, SERIES)).upto

    def read_on() -> None:
        nonlocal upto
        page = drive(reader.entry_changes(TENANT, Plane.ITEM, ROOT, SERIES, upto))
        heard.update(entry.id for entry in page.entries)
        upto = page.upto

    with ThreadPoolExecutor(2) as threads:
        begun = threads.submit(reflect, slow, first)
        assert entered.wait(20)
        overtaking = threads.submit(reflect, fast, second)
        threading.Event().wait(0.3)
        read_on()
        may_end.set()
        assert (begun.result(20), overtaking.result(20)) == (1, 1)
    read_on()
    return {first, second} - heard


def test_nothing_is_missed_when_one_transaction_is_slower_than_another(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missed(opened, monkeypatch) == set()


def test_numbers_from_a_plain_sequence_are_found_out(
    options: PostgresOptions, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    link = open_link(options)
    link.send("CREATE SEQUENCE plain")
    link.close()

    def changes(group: writer.Group, count: int = 1) -> int:
        found = group.link.row("SELECT nextval('plain') - 1")
        return int(found[0]) if found else 0

    monkeypatch.setattr(writer, "_LOCK", writer._LOCK.replace("FOR UPDATE", ""))
    monkeypatch.setattr(writer.Group, "changes", changes)
    monkeypatch.setattr(entries, "_UPTO", "SELECT coalesce(max(change), 0) FROM entries WHERE tenant = $1")
    assert missed(opened, monkeypatch) != set()
