"""Namespaces that are longer than an index can hold are found, ordered and told apart like all others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.postgres.conftest import Open

from recollect.backends.keyring import Plain
from recollect.backends.memory import MemoryStore
from recollect.domain.address import ROOT, Address, Namespace, namespace
from recollect.domain.commits import Commit, Put
from recollect.domain.filters import parse_filter
from recollect.domain.queries import Find, NamespaceQuery, Order
from recollect.domain.reasons import Plane
from recollect.ports.store import Mark, Place, Reflected, Store
from recollect.sync import drive
from recollect.testing.contract.scenes import TENANT
from recollect.testing.doubles import ManualClock, SerialIds

LONG = "x" * 990
PLACES = [
    namespace(segments)
    for segments in (
        ("a",),
        (LONG,),
        (LONG, "12345678"),
        (LONG, "123456789"),
        (LONG, "1234567890"),
        (LONG, "123456789", "é" * 300),
        (LONG, "123456789", "日" * 300, *("日" * 341 for _ in range(7))),
        (LONG, "123456789", "日" * 300, *("日" * 341 for _ in range(6)), "日" * 340),
        ("z",),
    )
]
ADDRESSES = [Address(Plane.ITEM, place, key) for place in PLACES for key in ("b", "a", "日" * 341)]


@pytest.fixture
def both(opened: Open) -> list[Store]:
    stores = [opened(), MemoryStore(clock=ManualClock(), ids=SerialIds(), sealer=Plain(), direct=True)]
    puts = [
        Put(address, b"%d" % n, policy_attributes='{"when":"2026-01-01T00:00:00Z"}', index=True)
        for n, address in enumerate(ADDRESSES)
    ]
    for store in stores:
        for put in puts:
            drive(store.commit(Commit(TENANT, (put,))))
    return stores


def paged(store: Store, query: Find) -> list[Address]:
    found: list[Address] = []
    while True:
        page = drive(store.find(TENANT, query))
        found += [row.address for row in page.rows]
        if page.cursor is None:
            return found
        query = replace(query, cursor=page.cursor)


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("asked", [None, {"when": {"$gte": "2025-01-01T00:00:00Z"}}], ids=["all", "filtered"])
def test_they_are_found_in_order_page_by_page(order: Order, asked: object, both: list[Store]) -> None:
    for within in (ROOT, *PLACES):
        for limit in (1, 4, 100):
            query = Find(Plane.ITEM, within, order=order, limit=limit, filter=parse_filter(asked))
            assert paged(both[0], query) == paged(both[1], query)


def test_they_are_read_one_by_one_and_replaced(both: list[Store]) -> None:
    for store in both:
        drive(store.commit(Commit(TENANT, tuple(Put(address, b"new") for address in ADDRESSES))))
    for address in ADDRESSES:
        assert [row.revision for row in drive(both[0].history(TENANT, address))] == [2, 1]
        row = drive(both[0].get(TENANT, address))
        assert row is not None
        assert (row.value, row.address) == (b"new", address)


@pytest.mark.parametrize("asked", [None, {"when": {"$gte": "2025-01-01T00:00:00Z"}}], ids=["all", "filtered"])
def test_they_are_listed(asked: object, both: list[Store]) -> None:
    for within in (ROOT, *PLACES):
        query = NamespaceQuery(within=within, prefix=within.segments, filter=parse_filter(asked))
        assert drive(both[0].namespaces(TENANT, query)) == drive(both[1].namespaces(TENANT, query))


def entries_of(store: Store, within: Namespace, limit: int) -> set[bytes]:
    found: list[bytes] = []
    after: Place | None = None
    while True:
        page = drive(store.entries(TENANT, Plane.ITEM, within, 1, after=after, limit=limit))
        found += [entry.id for entry in page.entries]
        after = page.after
        if after is None:
            assert len(set(found)) == len(found)
            return set(found)


def test_their_entries_are_read(both: list[Store]) -> None:
    for store in both:
        waiting = drive(store.pending(TENANT))
        drive(store.reflect(TENANT, 1, [Reflected(Mark(each.row.id, live=True), b"e") for each in waiting]))
    for within in (ROOT, *PLACES):
        for limit in (1, 4, 100):
            assert entries_of(both[0], within, limit) == entries_of(both[1], within, limit)
