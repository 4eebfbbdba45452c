"""What random programs are made of: awkward places, few of them, so that things collide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from recollect.domain.address import ROOT, Address, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Condition, Delete, Expect, Expire, Operation, Put, Relabel, Unchanged
from recollect.domain.filters import EVERYTHING, parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived, EventQuery, Find, NamespaceQuery, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Retention
from recollect.testing.doubles import START

SECOND = 1_000_000
AWKWARD = ["a", "ab", "A", "%", "_", "\x1e", "é", "日", ".", "*"]
TENANTS = ["acme", "umbrella"]
PLANES = [Plane.ITEM, Plane.TODO]
PATHS = [(segment,) for segment in AWKWARD] + [("a", "ab"), ("a", "A"), ("a", "ab", "%"), ("ab", "\x1e"), ("é", "*")]
PATHS += [("user", segment) for segment in ("a", "ab", "A")] + [("user", "a", "日"), ("user",)]


def _seldom(usual: object, *others: object, weight: int = 8) -> st.SearchStrategy[Any]:
    """The usual value most of the time, so that most programs get somewhere; any of the others now and then."""
    return st.sampled_from([usual] * weight * len(others) + list(others))


tenants = st.sampled_from(TENANTS)
planes = st.sampled_from(PLANES)
namespaces = st.sampled_from(PATHS).map(namespace)
scopes = st.one_of(st.just(ROOT), st.sampled_from([("a",), ("user",), ("ab",)]).map(namespace), namespaces)
addresses = st.builds(Address, planes, namespaces, st.sampled_from(["k", "K", "\x1e", "日"]))
FEW = [
    Address(Plane.ITEM, namespace(path), key)
    for path in (("a",), ("ab",), ("a", "ab"), ("user", "a"), ("user", "ab"))
    for key in ("k", "K")
]
few_addresses = st.sampled_from(FEW)
places = st.one_of(few_addresses, few_addresses, addresses)
moments = st.integers(-12, 3).map(lambda seconds: Instant(seconds * SECOND))
"""How far from the present; the program adds the present to it."""
limits = st.sampled_from([1, 2, 3, 100])
offsets = st.sampled_from([0, 0, 0, 1, 3])

SCALARS = ["x", "X", "1", 1, 1.0, 0, True, False, 0.5, "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+01:00"]
scalars = st.sampled_from(SCALARS)
policies = st.one_of(
    st.just("{}"),
    st.dictionaries(
        st.sampled_from(["x", "y"]), st.one_of(st.none(), scalars, st.lists(scalars, max_size=3)), max_size=2
    ).map(encode_attributes),
)
_bounds = st.sampled_from([0, 1, 0.75, "2026-01-01T00:30:00Z"])
_asked = st.one_of(
    scalars,
    scalars.map(lambda scalar: {"$ne": scalar}),
    st.lists(scalars, min_size=1, max_size=3).map(lambda choices: {"$in": choices}),
    st.booleans().map(lambda wanted: {"$exists": wanted}),
    st.tuples(st.sampled_from(["gt", "$gte", "lt", "$lte"]), _bounds).map(lambda pair: {pair[0]: pair[1]}),
)
filters = st.dictionaries(st.sampled_from(["x", "y"]), _asked, max_size=2).map(parse_filter)

elsewhere = _seldom(None, *(Instant(START + seconds * SECOND) for seconds in (-60, -2, 0, 1, 5, 90)), weight=3)
"""When an operation happened, where it is imported."""
archived = st.sampled_from([Archived.EXCLUDE, *Archived])
VALUES = [b"{}", b'{"n":1}', b"\x00\xff", "日".encode()]
plain_puts = st.builds(
    Put,
    address=places,
    value=st.sampled_from(VALUES),
    policy_attributes=policies,
    ttl=st.sampled_from([None, None, SECOND, 5 * SECOND]),
    index=st.booleans(),
    archived=_seldom(False, True, weight=2),
    index_fields=st.sampled_from([None, '["x"]']),
)
"""Such as nothing can refuse."""
puts = st.builds(
    Put,
    address=places,
    value=st.sampled_from(VALUES),
    attributes=st.sampled_from([None, None, b'{"s":1}']),
    policy_attributes=policies,
    expires_at=_seldom(None, Instant(START), Instant(START + 5 * SECOND), weight=6),
    ttl=_seldom(None, SECOND, 2 * SECOND, 5 * SECOND, 10**18, weight=2),
    expected_revision=_seldom(None, 0, 1, 2, 3, weight=4),
    index=st.booleans(),
    archived=_seldom(False, True, weight=2),
    at=elsewhere,
)
deletes = st.builds(Delete, address=places, expected_revision=_seldom(None, 0, 1, 2, weight=4), at=elsewhere)
expiries = st.builds(Expire, address=places, at=elsewhere)
relabellings = st.builds(Relabel, address=places, revision=_seldom(1, 0, 2, 3, weight=1), policy_attributes=policies)
operations: st.SearchStrategy[Operation] = st.one_of(puts, puts, puts, deletes, expiries, relabellings)
conditions: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Expect, address=places, revision=st.integers(0, 3)),
    st.builds(Unchanged, plane=planes, within=scopes, since=st.integers(0, 40)),
)

finds = st.builds(
    Find,
    plane=planes,
    within=scopes,
    filter=st.one_of(st.just(EVERYTHING), filters),
    order=st.sampled_from(list(Order)),
    limit=limits,
    offset=offsets,
    cursor=st.none(),
    as_of=st.one_of(st.none(), moments),
    archived=archived,
)
_patterns = st.lists(st.sampled_from(["*", "a", "ab", "A", "user", "%", "\x1e"]), max_size=3).map(tuple)
listings = st.builds(
    NamespaceQuery,
    plane=planes,
    within=scopes,
    prefix=_patterns,
    suffix=_patterns,
    max_depth=st.sampled_from([None, None, 1, 2]),
    limit=limits,
    offset=offsets,
    filter=st.one_of(st.just(EVERYTHING), filters),
    archived=archived,
)
readings = st.builds(  # `after` counts back from the end of the log
    EventQuery,
    after=st.integers(0, 12),
    within=scopes,
    planes=_seldom(None, frozenset({Plane.ITEM}), frozenset(PLANES), frozenset({Plane.BUDGET}), weight=1),
    kinds=st.one_of(st.none(), st.none(), st.frozensets(st.sampled_from(list(EventKind)), min_size=1)),
    since=st.one_of(st.none(), st.none(), moments),
    until=st.one_of(st.none(), st.none(), moments),
    limit=limits,
    values=st.booleans(),
    filter=st.one_of(st.just(EVERYTHING), st.just(EVERYTHING), filters),
)
_spans = st.sampled_from([None, 0, 0, 3 * SECOND])
retentions = st.builds(Retention, superseded=_spans, deleted=_spans, tombstones=_spans, events=_spans, receipts=_spans)
