"""Proofs of S15 to S18, S22 and S23: filters, orders, pages and listed namespaces."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.domain.address import namespace
from recollect.domain.attributes import encode_attributes, stored_attributes
from recollect.domain.commits import Delete
from recollect.domain.errors import InvalidCursor
from recollect.domain.filters import MAX_CHOICES, MAX_CONDITIONS, Filter, matches, parse_filter
from recollect.domain.queries import (
    EventQuery,
    Find,
    NamespaceQuery,
    Order,
    event_cursor,
    find_cursor,
    matches_patterns,
)
from recollect.domain.reasons import Plane
from recollect.testing.contract.reading import AWKWARD
from recollect.testing.contract.scenes import (
    MOST_PAGES,
    TENANT,
    at,
    delete,
    keys_of,
    put,
    refused,
    rows_of,
    write,
)
from recollect.testing.contract.trial import Trial, clause

SCALARS: list[Any] = [
    "",
    "text",
    "TEXT",
    "1",
    "true",
    'quo"te\\ \x1e',
    "日",
    "2026-01-01T00:00:00Z",
    "2026-01-01T01:00:00+01:00",
    "2025-12-31 23:59:59.999999-00:00",
    "2026-01-01T00:00:00",
    0,
    1,
    1.0,
    -0.0,
    0.1,
    -1,
    1e22,
    5e-324,
    2**53 + 1,
    float(2**53),
    2**63 - 1,
    -(2**63),
    9.223372036854775807e18,
    True,
    False,
]
STORED: list[dict[str, Any]] = [
    {},
    {"x": None},
    {"y": 1},
    {"x": []},
    *({"x": scalar} for scalar in SCALARS),
    {"x": [1, "text"]},
    {"x": [1.0, True]},
    {"x": ["1", False]},
    {"x": [0.5, 7]},
    {"x": ["2026-06-01T00:00:00Z", "later"]},
    {"x": ["text", "text"], "y": 2},
    {"X": "text"},
    {"x.y": "dotted", "x-y": 1},
]


def _asked() -> Iterator[dict[str, Any]]:
    for scalar in SCALARS:
        yield {"x": scalar}
        yield {"x": {"$ne": scalar}}
        yield {"x": {"$in": [scalar, "nothing"]}}
        for operator in ("gt", "$gte", "lt", "$lte"):
            if isinstance(scalar, int | float) and not isinstance(scalar, bool):
                yield {"x": {operator: scalar}}
    for operator in ("$gt", "gte", "$lt", "lte"):
        for moment in ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-12-31T23:59:59.999999Z"):
            yield {"x": {operator: moment}}
    yield {"x": {"$exists": True}}
    yield {"x": {"$exists": False}}
    yield {"x": [1, "text", True]}
    yield {"x": {"gte": 0, "lt": 1.5}}
    yield {"x": "text", "y": {"$exists": True}}
    yield {"x": "text", "y": 2}
    yield {"x.y": "dotted"}
    yield {"x-y": 1}
    yield {"never": {"$ne": 1}}
    yield {}


@clause("S15")
async def a_filter_means_what_the_domain_says_for_every_operator_and_type(trial: Trial) -> None:
    store = trial.store
    texts = [encode_attributes(attributes) for attributes in STORED]
    await write(store, *(put(at("filtered", key=f"{n:03}"), policy=text) for n, text in enumerate(texts)))
    moment = trial.clock()
    trial.clock.advance(1)
    for written in _asked():
        asked = parse_filter(written)
        wanted = [f"{n:03}" for n, text in enumerate(texts) if matches(asked, stored_attributes(text))]
        for as_of in (None, moment):
            query = Find(Plane.ITEM, filter=asked, order=Order.KEY, limit=1_000, as_of=as_of)
            found = await keys_of(store, query)
            assert found == wanted, f"{written} found {[STORED[int(key)] for key in set(found) ^ set(wanted)]} wrongly"


@clause("S15")
async def the_largest_filter_that_is_accepted_is_answered(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("big", key="in"), policy='{"x":"7"}'), put(at("big", key="out"), policy='{"x":7}'))
    choices = {"$in": [str(n) for n in range(MAX_CHOICES)]}
    asked = Filter(parse_filter({"x": choices}).conditions * MAX_CONDITIONS)
    for as_of in (None, trial.clock()):
        assert await keys_of(store, Find(Plane.ITEM, filter=asked, as_of=as_of)) == ["in"]


@clause("S15")
async def a_page_is_full_although_a_filter_leaves_things_out(trial: Trial) -> None:
    store = trial.store
    await write(store, *(put(at("some", key=f"{n:02}"), policy=f'{{"odd":{n % 2}}}') for n in range(20)))
    for order in Order:
        query = Find(Plane.ITEM, filter=parse_filter({"odd": 1}), order=order, limit=4)
        page = await store.find(TENANT, query)
        assert len(page.rows) == 4
        assert len(await rows_of(store, query)) == 10


async def _scattered(trial: Trial) -> list[str]:
    """Keys written in an order unlike their own, with the clock going back and forth; returned as last written."""
    written: list[str] = []
    for n, name in enumerate(["m", "a", "z", "é", "A", "b", "_", "日", "a", "m", "%"]):
        trial.clock.advance(3 if n % 3 else -7)
        await write(trial.store, put(at("shelf", name, key=name)))
        written = [key for key in written if key != name] + [name]
    await write(trial.store, put(at("shelf", "gone")), Delete(at("shelf", "gone")))
    return written


@clause("S16")
async def rows_come_newest_first_oldest_first_or_by_key(trial: Trial) -> None:
    written = await _scattered(trial)
    by_key = sorted(written, key=lambda name: (namespace(("shelf", name)).encoded, name))
    wanted = {Order.NEWEST: written[::-1], Order.OLDEST: written, Order.KEY: by_key}
    for order in Order:
        assert await keys_of(trial.store, Find(Plane.ITEM, order=order)) == wanted[order]


@clause("S16")
async def pages_put_together_give_the_whole(trial: Trial) -> None:
    await _scattered(trial)
    now = trial.clock()
    for order, as_of in itertools.product(Order, (None, now)):
        whole = await rows_of(trial.store, Find(Plane.ITEM, order=order, limit=1_000, as_of=as_of))
        for limit in (1, 2, 3, 7, len(whole), len(whole) + 1):
            query = Find(Plane.ITEM, order=order, limit=limit, as_of=as_of)
            assert await rows_of(trial.store, query) == whole
            for offset in (0, 1, limit, len(whole), len(whole) + 5):
                page = await trial.store.find(TENANT, replace(query, offset=offset))
                assert page.rows == whole[offset : offset + limit]
                assert (page.cursor is None) == (offset + limit >= len(whole))


@clause("S17")
async def paging_by_key_meets_what_exists_throughout_exactly_once(trial: Trial) -> None:
    store = trial.store
    lasting = [at("book", f"{n:02}", key=f"k{n}") for n in range(12)]
    await write(store, *(put(place) for place in lasting), *(put(at("book", f"{n:02}", key="x")) for n in range(12)))
    met: list[str] = []
    query = Find(Plane.ITEM, namespace(("book",)), order=Order.KEY, limit=2)
    for turn in range(MOST_PAGES):
        page = await store.find(TENANT, query)
        met += [row.address.key for row in page.rows]
        if page.cursor is None:
            break
        query = replace(query, cursor=page.cursor)
        # Behind, at and ahead of the cursor: updates of what stays, removals and arrivals of what does not.
        await write(store, put(lasting[turn % 12], b'{"again":%d}' % turn), put(lasting[-1]))
        await delete(store, at("book", f"{(turn * 5) % 12:02}", key="x"))
        await write(store, put(at("book", f"{(turn * 7) % 12:02}", key="y")), put(at("book", "00", key=f"a{turn}")))
    for place in lasting:
        assert met.count(place.key) == 1, f"{place.key} was met {met.count(place.key)} times"


@clause("S17")
async def a_cursor_by_key_survives_the_removal_of_the_row_it_came_from(trial: Trial) -> None:
    store = trial.store
    await write(store, *(put(at("row", key=key)) for key in "abcd"))
    query = Find(Plane.ITEM, order=Order.KEY, limit=2)
    page = await store.find(TENANT, query)
    await delete(store, at("row", key="b"))
    await delete(store, at("row", key="c"))
    assert await keys_of(store, replace(query, cursor=page.cursor)) == ["d"]


@clause("S18")
async def a_malformed_or_foreign_cursor_is_refused(trial: Trial) -> None:
    store = trial.store
    await write(store, *(put(at("row", key=str(n))) for n in range(3)))
    cursors: dict[Order, str] = {}
    for order in Order:
        page = await store.find(TENANT, Find(Plane.ITEM, order=order, limit=1))
        assert page.cursor is not None
        assert page.cursor == find_cursor(order, page.rows[-1])
        cursors[order] = page.cursor
    for order, cursor in itertools.product(Order, cursors.values()):
        if cursor != cursors[order]:
            await refused(InvalidCursor, store.find(TENANT, Find(Plane.ITEM, order=order, cursor=cursor)))
    good = cursors[Order.KEY]
    altered = good[:-1] + ("A" if good[-1] != "A" else "B")
    for cursor in ("", "x", "not a cursor", "é" * 20, altered, good + "A", good[:-2], event_cursor(1)):
        for order in Order:
            await refused(InvalidCursor, store.find(TENANT, Find(Plane.ITEM, order=order, cursor=cursor)))


async def _shelves(trial: Trial) -> list[tuple[str, ...]]:
    """Namespaces of several depths with live rows; beside them some that have none any more."""
    live = [("user",), ("user", "ann"), ("user", "ann", "notes"), ("user", "bob", "notes"), ("User", "ann"), ("x",)]
    live += [("user", "ann", "notes", "deep"), ("users",), *(("odd", segment) for segment in AWKWARD)]
    for segments in live:
        await write(trial.store, put(at(*segments)), put(at(*segments, key="second")))
    await write(trial.store, put(at("ended")), Delete(at("ended")), put(at("expired"), ttl=1))
    await write(trial.store, put(at("plane", plane=Plane.TODO)))
    trial.clock.advance(1)
    return sorted(live, key=lambda segments: namespace(segments).encoded)


@clause("S22")
async def listed_namespaces_have_a_live_row_and_are_sorted(trial: Trial) -> None:
    live = await _shelves(trial)
    store = trial.store
    assert await store.namespaces(TENANT, NamespaceQuery(limit=1_000)) == live
    todo = await store.namespaces(TENANT, NamespaceQuery(plane=Plane.TODO))
    assert todo == [("plane",)]
    below = [segments for segments in live if segments[:2] == ("user", "ann")]
    assert await store.namespaces(TENANT, NamespaceQuery(within=namespace(("user", "ann")))) == below
    await delete(store, at("x"))
    assert ("x",) in await store.namespaces(TENANT, NamespaceQuery())
    await delete(store, at("x", key="second"))
    assert ("x",) not in await store.namespaces(TENANT, NamespaceQuery())


@clause("S22")
async def a_star_is_exactly_one_segment(trial: Trial) -> None:
    live = await _shelves(trial)
    patterns: list[tuple[str, ...]] = [
        (),
        ("*",),
        ("user",),
        ("user", "*"),
        ("*", "ann"),
        ("user", "*", "notes"),
        ("*", "*", "*", "*"),
        ("odd", "%"),
        ("odd", "a"),
        ("notes",),
        ("*", "notes"),
        ("use",),
        ("USER",),
        ("*",) * 5,
    ]
    for prefix, suffix in itertools.product(patterns, patterns):
        wanted = [segments for segments in live if matches_patterns(segments, prefix, suffix)]
        query = NamespaceQuery(prefix=prefix, suffix=suffix, limit=1_000)
        assert await trial.store.namespaces(TENANT, query) == wanted, f"{prefix} … {suffix}"


@clause("S22")
async def listed_namespaces_have_a_live_row_that_the_filter_matches(trial: Trial) -> None:
    store, texts = trial.store, [encode_attributes(attributes) for attributes in STORED]
    await write(store, *(put(at("f", f"{n:03}"), policy=text) for n, text in enumerate(texts)))
    for n, text in enumerate(texts):
        # Of these only the last one counts, and only where a filter asks for nothing that it has not.
        await write(store, put(at("f", "todo", plane=Plane.TODO), policy=text))
        await write(store, put(at("f", "ended"), policy=text), Delete(at("f", "ended")))
        await write(store, put(at("f", "expired", key=f"{n}"), policy=text, ttl=1), put(at("f", f"{n:03}", key="bare")))
    trial.clock.advance(1)
    for written in _asked():
        asked = parse_filter(written)
        fitting = [matches(asked, stored_attributes(text)) or matches(asked, {}) for text in texts]
        wanted = [("f", f"{n:03}") for n, fits in enumerate(fitting) if fits]
        query = NamespaceQuery(within=namespace(("f",)), filter=asked, limit=1_000)
        assert await store.namespaces(TENANT, query) == wanted, f"{written}"
        assert await store.namespaces(TENANT, replace(query, limit=3, offset=1)) == wanted[1:4]
        assert await store.namespaces(TENANT, replace(query, max_depth=1)) == [("f",)][: len(wanted)]


@clause("S22", "S27")
async def the_largest_filter_is_answered_by_listings_and_by_the_log(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("in"), policy='{"x":"7"}'), put(at("out"), policy='{"x":7}'))
    choices = {"$in": [str(n) for n in range(MAX_CHOICES)]}
    asked = Filter(parse_filter({"x": choices}).conditions * MAX_CONDITIONS)
    assert await store.namespaces(TENANT, NamespaceQuery(filter=asked)) == [("in",)]
    told = await store.events(TENANT, EventQuery(filter=asked))
    assert [entry.event.address for entry in told.entries] == [at("in")]


@clause("S23")
async def namespaces_are_truncated_then_limited_then_offset(trial: Trial) -> None:
    live = await _shelves(trial)
    for depth in (None, 1, 2, 3, 9):
        cut = list(dict.fromkeys(segments if depth is None else segments[:depth] for segments in live))
        for limit, offset in itertools.product((1, 3, 100), (0, 1, 4, len(cut), 100)):
            query = NamespaceQuery(max_depth=depth, limit=limit, offset=offset)
            assert await trial.store.namespaces(TENANT, query) == cut[offset : offset + limit]
    query = NamespaceQuery(suffix=("notes",), max_depth=2, limit=1, offset=1)
    assert await trial.store.namespaces(TENANT, query) == [("user", "bob")]
