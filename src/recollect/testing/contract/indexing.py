"""Proofs of S52 to S59: what the search index keeps."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.address import ROOT, Namespace, namespace
from recollect.domain.instants import Instant
from recollect.domain.planning import Erasure
from recollect.domain.reasons import IndexState, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Entry, Mark, Reflected, Store
from recollect.testing.contract.scenes import (
    MOST_PAGES,
    OTHER,
    TENANT,
    at,
    delete,
    put,
    relabel,
    seconds,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

ONE, TWO = 1, 2
"""Two series."""


async def _kept(store: Store, key: str, entry: bytes | None = b"entry", *, series: int = ONE, **more: str) -> bytes:
    """A version with an entry, and its id."""
    place = at(*more.get("within", "shelf").split("/"), key=key)
    outcome = await write_one(store, put(place, index=True))
    assert outcome.id is not None
    assert await store.reflect(TENANT, series, [Reflected(Mark(outcome.id, live=True), entry)]) == 1
    return outcome.id


async def _read(
    store: Store, within: Namespace = ROOT, *, series: int = ONE, tenant: str = TENANT, limit: int = 2
) -> tuple[list[Entry], int]:
    """Every entry in a scope, page by page, and where to read on."""
    found: list[Entry] = []
    page = await store.entries(tenant, Plane.ITEM, within, series, limit=limit)
    upto = page.upto
    for _ in range(MOST_PAGES):
        found += page.entries
        if page.after is None:
            return found, upto
        page = await store.entries(tenant, Plane.ITEM, within, series, after=page.after, limit=limit)
    raise AssertionError("the pages do not come to an end")


async def _changes(
    store: Store, since: int, within: Namespace = ROOT, *, series: int = ONE, limit: int = 2
) -> tuple[list[Entry], int]:
    """What changed since, page by page, and where to read on."""
    found: list[Entry] = []
    for _ in range(MOST_PAGES):
        page = await store.entry_changes(TENANT, Plane.ITEM, within, series, since, limit=limit)
        found, since = found + page.entries, page.upto
        if not page.more:
            return found, since
    raise AssertionError("the pages do not come to an end")


def told(entries: Sequence[Entry]) -> dict[bytes, bytes | None]:
    return {entry.id: entry.content for entry in entries}


async def _state_of(store: Store, row_id: bytes) -> IndexState:
    row = await store.get_by_id(TENANT, row_id)
    assert row is not None
    return row.index_state


@clause("S52")
async def an_entry_is_kept_with_its_mark_or_not_at_all(trial: Trial) -> None:
    store, place = trial.store, at("shelf")
    first = await write_one(store, put(place, b"1", index=True))
    assert first.id is not None
    waiting = [Reflected(each.mark, b"old") for each in await store.pending(TENANT)]
    second = await write_one(store, put(place, b"2", index=True))
    assert second.id is not None
    assert await store.reflect(TENANT, ONE, waiting) == 0, "the version ended after it was read"
    assert await store.reflect(OTHER, ONE, [Reflected(Mark(second.id, live=True), b"x")]) == 0
    assert await store.reflect(TENANT, ONE, [Reflected(Mark(bytes(16), live=True), b"x")]) == 0
    assert (await _read(store))[0] == []
    assert await _state_of(store, second.id) is IndexState.PENDING
    assert await store.reflect(TENANT, ONE, [Reflected(Mark(second.id, live=True), b"new")]) == 1
    assert told((await _read(store))[0]) == {second.id: b"new"}
    assert await _state_of(store, second.id) is IndexState.DONE
    unwanted = await write_one(store, put(at("shelf", key="unwanted")))
    assert unwanted.id is not None
    assert await store.reflect(TENANT, ONE, [Reflected(Mark(unwanted.id, live=True), b"x")]) == 0


@clause("S52")
async def an_entry_made_for_other_attributes_is_not_kept(trial: Trial) -> None:
    store, place = trial.store, at("shelf")
    outcome = await write_one(store, put(place, index=True, policy='{"n":1}'))
    assert outcome.id is not None
    waiting = await store.pending(TENANT)
    assert await store.reflect(TENANT, ONE, [Reflected(each.mark, b"first") for each in waiting]) == 1
    await relabel(store, place, 1, '{"n":2}')
    assert await store.reflect(TENANT, ONE, [Reflected(each.mark, b"late") for each in waiting]) == 0
    again = await store.pending(TENANT)
    assert await store.reflect(TENANT, ONE, [Reflected(each.mark, b"second") for each in again]) == 1
    (entry,) = (await _read(store))[0]
    assert (entry.content, entry.policy_attributes) == (b"second", '{"n":2}')


@clause("S52")
async def every_kind_of_end_drops_the_entries(trial: Trial) -> None:
    store = trial.store
    for ending in ("update", "delete", "expiry", "erasure"):
        place = at("user", "ann")
        outcome = await write_one(store, put(place, index=True, ttl=5))
        assert outcome.id is not None
        for series in (ONE, TWO):
            assert await store.reflect(TENANT, series, [Reflected(Mark(outcome.id, live=True), b"e")]) == 1
        upto = (await _read(store))[1]
        match ending:
            case "update":
                await write(store, put(place))
            case "delete":
                await delete(store, place)
            case "expiry":
                trial.clock.advance(5)
                await store.sweep(TENANT, Pass.EXPIRE, Retention())
            case "erasure":
                await store.erase(Erasure(b"i" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
                assert (await _read(store))[0] == [], "an erasure drops entries at once"
        ended = await store.pending(TENANT, ended=True)
        assert outcome.id in [each.row.id for each in ended]
        assert await store.reflect(TENANT, ONE, [Reflected(each.mark, None) for each in ended]) == len(ended)
        for series in (ONE, TWO):
            assert (await _read(store, series=series))[0] == [], ending
        assert told((await _changes(store, upto))[0]) == {outcome.id: None}, ending
        await delete(store, place)
    assert (await store.verify(TENANT)).sound


@clause("S53")
async def entries_come_back_exactly_and_only_where_they_belong(trial: Trial) -> None:
    store = trial.store
    content = bytes(range(256)) * 8
    outcome = await write_one(store, put(at("shelf", "a"), index=True, archived=True, ttl=60, policy='{"n":1}'))
    assert outcome.id is not None
    await store.reflect(TENANT, ONE, [Reflected(Mark(outcome.id, live=True), content)])
    for instance in (trial.second, trial.reopen):
        again = await instance()
        (entry,) = (await _read(again))[0]
        assert entry == Entry(
            outcome.id,
            namespace(("shelf", "a")).encoded,
            outcome.created_at or Instant(0),
            outcome.sequence or 0,
            outcome.expires_at,
            True,
            '{"n":1}',
            content,
        )
        assert list(await again.entries_of(TENANT, ONE, [bytes(16), outcome.id])) == [entry]
        assert not await again.entries_of(TENANT, TWO, [outcome.id])
        assert not await again.entries_of(OTHER, ONE, [outcome.id])
        assert (await _read(again, series=TWO))[0] == []
        assert (await _read(again, tenant=OTHER))[0] == []
        assert (await again.entries(TENANT, Plane.RECORD, ROOT, ONE)).entries == []


@clause("S53")
async def details_come_by_id_and_end_with_their_entries(trial: Trial) -> None:
    store = trial.store
    ids = []
    for key in "abc":
        outcome = await write_one(store, put(at("user", "ann", key=key), index=True))
        assert outcome.id is not None
        detail = None if key == "c" else key.encode() * 3
        await store.reflect(TENANT, ONE, [Reflected(Mark(outcome.id, live=True), b"e", detail)])
        ids.append(outcome.id)
    theirs = await store.details(OTHER, ONE, ids)
    assert theirs == await store.details(TENANT, TWO, ids) == {}
    assert await store.details(TENANT, ONE, [*ids, bytes(16)]) == {ids[0]: b"aaa", ids[1]: b"bbb"}
    await delete(store, at("user", "ann", key="a"))
    await store.reflect(TENANT, ONE, [Reflected(each.mark, None) for each in await store.pending(TENANT)])
    assert await store.details(TENANT, ONE, ids) == {ids[1]: b"bbb"}
    assert {entry.id for entry in await store.entries_of(TENANT, ONE, ids)} == set(ids[1:])
    await store.erase(Erasure(b"i" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    assert await store.details(TENANT, ONE, ids) == {}
    assert not await store.entries_of(TENANT, ONE, ids)


@clause("S54")
async def reading_entries_finds_those_in_scope_and_no_others(trial: Trial) -> None:
    store = trial.store
    ids = {place: await _kept(store, "k", within=place) for place in ("a", "a/b", "a/b/c", "ab", "A")}
    for within, wanted in (
        (ROOT, {"a", "a/b", "a/b/c", "ab", "A"}),
        (namespace(("a",)), {"a", "a/b", "a/b/c"}),
        (namespace(("a", "b")), {"a/b", "a/b/c"}),
        (namespace(("b",)), set()),
    ):
        found = (await _read(store, within))[0]
        assert {entry.id for entry in found} == {ids[place] for place in wanted}
        assert len(found) == len(wanted)


@clause("S54")
async def reading_on_tells_of_everything_that_changed_since(trial: Trial) -> None:
    store, other = trial.store, await trial.second()
    seen = {key: await _kept(store, key) for key in "abcde"}
    entries, upto = await _read(store, namespace(("shelf",)))
    assert set(told(entries)) == set(seen.values())
    assert (await _changes(store, upto))[0] == []
    new = {key: await _kept(other, key) for key in "fg"}
    await _kept(other, "elsewhere", within="other")
    await delete(other, at("shelf", key="a"))
    await other.reflect(TENANT, ONE, [Reflected(each.mark, None) for each in await other.pending(TENANT)])
    await store.reflect(TENANT, ONE, [Reflected(Mark(seen["b"], live=True), b"again")])
    changed, later = await _changes(store, upto, namespace(("shelf",)))
    assert told(changed) == {
        new["f"]: b"entry",
        new["g"]: b"entry",
        seen["a"]: None,
        seen["b"]: b"again",
    }
    assert later > upto
    assert (await _changes(store, later))[0] == []


@clause("S55")
async def what_was_put_off_is_not_given_out_before_its_moment(trial: Trial) -> None:
    store = trial.store
    first = await write_one(store, put(at("shelf", key="poisoned"), index=True))
    second = await write_one(store, put(at("shelf", key="good"), index=True))
    assert first.id is not None
    mark = Mark(first.id, live=True)
    for attempts in (1, 2):
        await store.put_off(TENANT, [mark], Instant(trial.clock() + seconds(10)))
        assert [each.row.id for each in await store.pending(TENANT)] == [second.id]
        trial.clock.advance(10)
        waiting = await store.pending(TENANT)
        assert [(each.row.id, each.attempts) for each in waiting] == [(first.id, attempts), (second.id, 0)]
    await store.put_off(TENANT, [mark], Instant(trial.clock() + seconds(10)))
    await store.put_off(OTHER, [mark], Instant(trial.clock() + seconds(90)))
    await store.put_off(TENANT, [Mark(first.id, live=False), Mark(bytes(16), live=True)], Instant(trial.clock()))
    await delete(store, at("shelf", key="poisoned"))
    waiting = await store.pending(TENANT)
    assert [(each.row.id, each.live, each.attempts) for each in waiting] == [(first.id, False, 0), (second.id, True, 0)]


@clause("S56")
async def what_lacks_an_entry_in_a_series_is_found_in_the_order_of_writing(trial: Trial) -> None:
    store = trial.store
    ids = [await _kept(store, str(9 - n)) for n in range(5)]
    await write(store, put(at("shelf", key="pending"), index=True), put(at("shelf", key="unwanted")))
    await store.reflect(TENANT, TWO, [Reflected(Mark(ids[1], live=True), b"e")])
    await delete(store, at("shelf", key="7"))
    found: list[bytes] = []
    after = 0
    for _ in range(10):
        lacking, after = await store.lacking(TENANT, TWO, after=after, limit=2)
        found += [each.row.id for each in lacking]
        assert all(each.live and each.row.value == b"{}" for each in lacking)
        if not lacking:
            break
    assert found == [ids[0], ids[3], ids[4]]
    assert (await store.lacking(TENANT, ONE))[0] == []
    assert (await store.lacking(OTHER, TWO))[0] == []


@clause("S57")
async def a_series_is_dropped_in_batches_and_no_other_with_it(trial: Trial) -> None:
    store = trial.store
    ids = [await _kept(store, str(n)) for n in range(5)]
    for row_id in ids:
        await store.reflect(TENANT, TWO, [Reflected(Mark(row_id, live=True), b"two")])
    done = [await store.drop_series(TENANT, ONE, limit=2) for _ in range(3)]
    assert [(swept.done, swept.more) for swept in done] == [(2, True), (2, True), (1, False)]
    assert (await _read(store))[0] == []
    assert set(told((await _read(store, series=TWO))[0])) == set(ids)


@clause("S58")
async def rows_by_ids_come_in_the_order_of_the_ids(trial: Trial) -> None:
    store = trial.store
    ids = [await _kept(store, str(n)) for n in range(4)]
    theirs = await write_one(store, put(at("theirs")), OTHER)
    await delete(store, at("shelf", key="2"))
    assert theirs.id is not None
    asked = [ids[3], bytes(16), ids[0], theirs.id, ids[2]]
    found = await store.rows(TENANT, asked)
    assert [row.id for row in found] == [ids[3], ids[0], ids[2]]
    assert list(found) == [await store.get_by_id(TENANT, row.id) for row in found]
    assert list(await store.rows(TENANT, [])) == []


@clause("S59")
async def the_figures_of_the_index_are_exact(trial: Trial) -> None:
    store = trial.store
    ids = [await _kept(store, str(n)) for n in range(3)]
    await store.reflect(TENANT, TWO, [Reflected(Mark(ids[0], live=True), b"two")])
    waiting = await write_one(store, put(at("shelf", key="w"), index=True))
    await write(store, put(at("shelf", key="v"), index=True))
    assert waiting.id is not None
    await store.put_off(TENANT, [Mark(waiting.id, live=True)], Instant(trial.clock() + seconds(10)))
    figures = [
        await store.index_figures(tenant, series) for tenant, series in ((TENANT, ONE), (TENANT, TWO), (OTHER, ONE))
    ]
    assert [(each.entries, each.pending, each.deferred) for each in figures] == [(3, 2, 1), (1, 2, 1), (0, 0, 0)]
    await delete(store, at("shelf", key="0"))
    await store.reflect(TENANT, ONE, [Reflected(each.mark, None) for each in await store.pending(TENANT, ended=True)])
    assert (await store.index_figures(TENANT, ONE)).entries == 2
