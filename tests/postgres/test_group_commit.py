"""Commits that share a transaction see each other's doings as if each had come alone."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from recollect.backends.keyring import Plain
from recollect.backends.postgres import PostgresOptions, PostgresStore, writer
from recollect.domain.address import ROOT
from recollect.domain.commits import Commit, Delete, Put, Receipt, Relabel, Unchanged, idempotency
from recollect.domain.errors import Contention, RecollectError, RevisionConflict
from recollect.domain.planning import Erasure
from recollect.domain.queries import EventQuery
from recollect.domain.reasons import EventKind, Plane
from recollect.testing.contract.scenes import TENANT, at, put
from recollect.testing.doubles import ManualClock, SerialIds


@pytest.fixture
async def store(options: PostgresOptions, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PostgresStore]:
    """A store whose commits of one turn share one transaction: the first one waits until all have come."""
    honest = writer.Writer._lead

    def lead(leading: writer.Writer, tenant: str) -> None:
        time.sleep(0.1)
        honest(leading, tenant)

    monkeypatch.setattr(writer.Writer, "_lead", lead)
    store = PostgresStore(options, clock=ManualClock(), ids=SerialIds(), sealer=Plain())
    yield store
    await store.close()


async def together(store: PostgresStore, *commits: Commit) -> list[Receipt | BaseException]:
    return list(await asyncio.gather(*(store.commit(each) for each in commits), return_exceptions=True))


def told(answers: list[Receipt | BaseException]) -> list[object]:
    return [answer.outcomes[0].revision if isinstance(answer, Receipt) else type(answer) for answer in answers]


async def test_each_sees_what_the_one_before_did(store: PostgresStore) -> None:
    place = at("a")
    answers = await together(
        store,
        Commit(TENANT, (put(place),)),
        Commit(TENANT, (put(place, expected=1),)),
        Commit(TENANT, (put(place, expected=1),)),
        Commit(TENANT, (Delete(place),)),
        Commit(TENANT, (put(place, expected=0),)),
        Commit(TENANT, (Relabel(place, 3, '{"label":1}'),)),
        Commit(TENANT, (Relabel(place, 3, '{"label":1}'),)),
    )
    assert told(answers) == [1, 2, RevisionConflict, 2, 3, 3, 0]
    row = await store.get(TENANT, place)
    assert row is not None
    assert (row.revision, row.policy_attributes) == (3, '{"label":1}')
    assert (await store.verify(TENANT)).sound


async def test_a_request_that_comes_twice_at_once_happens_once(store: PostgresStore) -> None:
    operations = (put(at("a")),)
    same = Commit(TENANT, operations, idempotency=idempotency("request", "", operations))
    first, second = await together(store, same, same)
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert (first.replayed, second.replayed) == (False, True)
    assert (await store.head(TENANT)).sequence == 1


async def test_a_scope_that_another_changed_refuses_the_commit(store: PostgresStore) -> None:
    resting = Unchanged(Plane.ITEM, ROOT, 0)
    answers = await together(
        store, Commit(TENANT, (put(at("a")),), (resting,)), Commit(TENANT, (put(at("b")),), (resting,))
    )
    assert told(answers) == [1, Contention]


async def test_an_erasure_among_them_is_seen(store: PostgresStore) -> None:
    place = at("user", "ann")
    erasure = Erasure(b"e" * 16, TENANT, "user:ann", place.namespace)
    _, erased, again = await asyncio.gather(
        store.commit(Commit(TENANT, (put(place),))), store.erase(erasure), store.commit(Commit(TENANT, (put(place),)))
    )
    assert (erased.versions, erased.live) == (1, 1)
    assert (again.outcomes[0].kind, again.outcomes[0].revision) == (EventKind.ADD, 2)
    assert (await store.verify(TENANT)).sound


async def test_a_fault_of_one_is_not_that_of_the_others(store: PostgresStore) -> None:
    broken = Commit(TENANT, (Put(at("b"), b"{}", policy_attributes="no JSON"),))
    answers = await together(store, Commit(TENANT, (put(at("a")),)), broken, Commit(TENANT, (put(at("c")),)))
    assert isinstance(answers[1], RecollectError)
    assert [type(answers[0]), type(answers[2])] == [Receipt, Receipt]
    page = await store.events(TENANT, EventQuery())
    assert [entry.event.address.namespace.encoded for entry in page.entries] == ["a", "c"]


async def test_many_at_once_leave_no_gap(store: PostgresStore) -> None:
    places = [at("many", key=str(n % 5)) for n in range(200)]
    answers = await together(store, *(Commit(TENANT, (put(place),)) for place in places))
    revisions = Counter(answer.outcomes[0].revision for answer in answers if isinstance(answer, Receipt))
    assert revisions == dict.fromkeys(range(1, 41), 5)
    assert sorted(answer.head for answer in answers if isinstance(answer, Receipt)) == list(range(1, 201))
    assert (await store.verify(TENANT)).sound
