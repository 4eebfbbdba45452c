"""Scenarios of finding: search, filters, pages, namespaces, history and the past."""

from __future__ import annotations

from typing import Any

from tests.scenarios.door import Door
from tests.scenarios.play import Cast, refused, scene
from tests.scenarios.writing import NOTES

ALICE = ("user", "alice")


def keys(door: Door, *given: Any, **named: Any) -> list[str]:
    """The keys that a search finds, in its order."""
    return [item["key"] for item in door.search(*given, **named)["items"]]


@scene("search finds what lies below a prefix")
def prefix_search(cast: Cast) -> None:
    cast.alice.put((*ALICE, "a"), "k1", {"text": "cats"})
    cast.alice.put((*ALICE, "b"), "k2", {"text": "dogs"})
    cast.bob.put(("user", "bob", "c"), "k3", {"text": "fish"})
    assert sorted(keys(cast.alice, ALICE)) == ["k1", "k2"]
    assert keys(cast.alice, (*ALICE, "a")) == ["k1"]
    assert sorted(keys(cast.alice, ())) == ["k1", "k2"]
    assert sorted(keys(cast.admin, ("user",))) == ["k1", "k2", "k3"]


@scene("search filters by attributes that the service may read")
def attribute_filter(cast: Cast) -> None:
    cast.alice.put(NOTES, "m1", {"text": "Python is great"}, attributes={"lang": "python", "secret": "x"})
    cast.alice.put(NOTES, "m2", {"text": "Go is fast"}, attributes={"lang": "go"})
    cast.alice.put(NOTES, "m3", {"text": "no language"})
    assert keys(cast.alice, ALICE, filter={"lang": "python"}) == ["m1"]
    assert keys(cast.alice, ALICE, filter={"lang": {"in": ["go", "rust"]}}) == ["m2"]
    assert keys(cast.alice, ALICE, filter={"lang": {"$ne": "go"}}) == ["m1"]
    assert keys(cast.alice, ALICE, filter={"lang": {"$exists": False}}) == ["m3"]
    assert keys(cast.alice, ALICE, filter={"secret": "x"}) == []


@scene("filters see lists, numbers and several conditions")
def richer_filters(cast: Cast) -> None:
    cast.alice.put(NOTES, "both", {}, attributes={"lang": ["python", "go"]})
    cast.alice.put(NOTES, "seven", {}, attributes={"lang": 7})
    assert keys(cast.alice, ALICE, filter={"lang": "go"}) == ["both"]
    assert keys(cast.alice, ALICE, filter={"lang": {"gte": 7, "lt": 8}}) == ["seven"]
    assert keys(cast.alice, ALICE, filter={"lang": {"gt": 7}}) == []
    assert keys(cast.alice, ALICE, filter={"lang": 7, "sub": "alice"}) == ["seven"]


@scene("a filter on another user's name finds nothing")
def filter_on_somebody_else(cast: Cast) -> None:
    cast.alice.put(NOTES, "mine", {})
    cast.bob.put(("user", "bob"), "his", {})
    assert keys(cast.alice, (), filter={"sub": "bob"}) == []
    assert keys(cast.alice, (), filter={"sub": {"$in": ["bob", "alice"]}}) == ["mine"]


@scene("an unknown operator, and a filter that is none, are refused")
def unknown_operator(cast: Cast) -> None:
    wrong: list[dict[str, Any]] = [
        {"lang": {"$regex": ".*"}},
        {"lang": {"$in": []}},
        {"lang": {}},
        {"$or": [{"lang": "go"}]},
        {"lang": {"$gt": True}},
        {"lang": {"$eq": {"nested": 1}}},
        {"lang": {"$in": ["x"] * 257}},
    ]
    for bad in wrong:
        with refused("invalid_filter"):
            cast.alice.search(ALICE, filter=bad)


@scene("a name that begins with another is not below it")
def boundary(cast: Cast) -> None:
    cast.alice.put(NOTES, "mine", {"text": "mine"})
    cast.aliced.put(("user", "aliced", "notes"), "trap", {"text": "trap"})
    with refused("forbidden"):
        cast.alice.put(("user", "aliced", "notes"), "trap", {"text": "trap"})
    for door in (cast.alice, cast.admin):
        assert keys(door, ALICE) == ["mine"]
        assert door.list_namespaces(prefix=ALICE) == [list(NOTES)]
        assert [event["key"] for event in door.events(ALICE)["events"]] == ["mine"]
    assert keys(cast.aliced, ()) == ["trap"]


@scene("orders: newest, oldest, and by key")
def orders(cast: Cast) -> None:
    for key in ("b", "c", "a"):
        cast.alice.put(NOTES, key, {})
    assert keys(cast.alice, ALICE) == ["a", "c", "b"]
    assert keys(cast.alice, ALICE, order="oldest") == ["b", "c", "a"]
    assert keys(cast.alice, ALICE, order="key") == ["a", "b", "c"]
    with refused("invalid_query"):
        cast.alice.search(ALICE, order="sideways")


@scene("pages of a search meet everything once")
def pages(cast: Cast) -> None:
    for number in range(7):
        cast.alice.put(NOTES, f"k{number}", {"n": number})
    for order in ("newest", "oldest", "key"):
        met: list[str] = []
        cursor = None
        while True:
            page = cast.alice.search(ALICE, order=order, limit=3, cursor=cursor)
            met += [item["key"] for item in page["items"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        expected = [f"k{number}" for number in range(7)]
        assert met == (expected[::-1] if order == "newest" else expected)
    assert keys(cast.alice, ALICE, order="key", limit=2, offset=5) == ["k5", "k6"]


@scene("a cursor that is none, or of another order, is refused")
def wrong_cursors(cast: Cast) -> None:
    for key in ("a", "b"):
        cast.alice.put(NOTES, key, {})
    newest = cast.alice.search(ALICE, limit=1)["cursor"]
    with refused("invalid_cursor"):
        cast.alice.search(ALICE, limit=1, order="key", cursor=newest)
    with refused("invalid_cursor"):
        cast.alice.search(ALICE, cursor="garbage!")
    with refused("invalid_cursor"):
        cast.alice.search(ALICE, cursor=cast.alice.events()["cursor"])
    with refused("invalid_cursor"):
        cast.alice.events(after=newest)


@scene("limits outside of their range are refused")
def limits(cast: Cast) -> None:
    for limit in (0, -1, 1_001):
        for ask in (cast.alice.search, cast.alice.events):
            with refused("invalid_query"):
                ask(ALICE, limit=limit)
        with refused("invalid_query"):
            cast.alice.history(NOTES, "k", limit=limit)
    for offset in (-1, 1_000_001):
        with refused("invalid_query"):
            cast.alice.search(ALICE, offset=offset)


@scene("list the namespaces that have memories")
def namespaces(cast: Cast) -> None:
    cast.alice.put((*ALICE, "mem"), "k1", {})
    cast.alice.put((*ALICE, "tasks"), "k2", {})
    cast.bob.put(("user", "bob", "mem"), "k3", {})
    mine = [["user", "alice", "mem"], ["user", "alice", "tasks"]]
    assert cast.alice.list_namespaces(prefix=ALICE) == mine
    assert cast.alice.list_namespaces() == mine
    assert cast.alice.list_namespaces(prefix=("user",)) == mine
    assert cast.admin.list_namespaces() == [*mine, ["user", "bob", "mem"]]
    assert cast.alice.list_namespaces(prefix=(*ALICE, "nothing")) == []


@scene("namespaces by pattern and depth")
def namespace_patterns(cast: Cast) -> None:
    for user in ("alice", "bob"):
        for place in (("mem",), ("mem", "deep"), ("tasks",)):
            cast.admin.put(("user", user, *place), "k", {})
    assert cast.admin.list_namespaces(prefix=("user", "*", "tasks")) == [
        ["user", "alice", "tasks"],
        ["user", "bob", "tasks"],
    ]
    assert cast.alice.list_namespaces(prefix=("user", "*"), suffix=("mem",)) == [["user", "alice", "mem"]]
    assert cast.admin.list_namespaces(suffix=("*", "deep")) == [
        ["user", "alice", "mem", "deep"],
        ["user", "bob", "mem", "deep"],
    ]
    assert cast.admin.list_namespaces(max_depth=2) == [["user", "alice"], ["user", "bob"]]


@scene("namespaces page by page", "pages of namespaces")
def namespace_pages(cast: Cast) -> None:
    for place in "abc":
        cast.alice.put((*ALICE, place), "k", {})
    assert cast.alice.list_namespaces(limit=1, offset=1) == [["user", "alice", "b"]]
    assert cast.alice.list_namespaces(limit=5, offset=2) == [["user", "alice", "c"]]
    assert cast.alice.list_namespaces(offset=3) == []
    for limit in (0, -1, 1_001):
        with refused("invalid_query"):
            cast.alice.list_namespaces(limit=limit)


@scene("history tells every version, newest first, and why it ended")
def history(cast: Cast) -> None:
    for number in range(1, 4):
        cast.alice.put(NOTES, "k", {"n": number})
    cast.alice.delete(NOTES, "k")
    found = cast.alice.history(NOTES, "k")
    assert [(version["revision"], version["value"]) for version in found] == [
        (3, {"n": 3}),
        (2, {"n": 2}),
        (1, {"n": 1}),
    ]
    assert [version["end_reason"] for version in found] == ["deleted", "updated", "updated"]
    assert found[1]["ended_at"] == found[0]["updated_at"]
    assert [version["revision"] for version in cast.alice.history(NOTES, "k", limit=1)] == [3]
    assert [version["revision"] for version in cast.alice.history(NOTES, "k", before_revision=3)] == [2, 1]
    assert cast.alice.history(NOTES, "never there") == []


@scene("a version can be had by its id, live or not, by those who may read it")
def by_id(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1})
    second = cast.alice.put(NOTES, "k", {"n": 2})
    assert cast.alice.get_by_id(first["id"])["end_reason"] == "updated"
    assert cast.alice.get_by_id(second["id"])["ended_at"] is None
    assert cast.admin.get_by_id(first["id"])["value"] == {"n": 1}
    with refused("not_found"):
        cast.bob.get_by_id(first["id"])
    with refused("not_found"):
        cast.alice.get_by_id("00000000-0000-7000-8000-000000000000")


@scene("what was known at a moment can be read again")
def as_of(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1})
    cast.pass_time(0.002)
    second = cast.alice.put(NOTES, "k", {"n": 2})
    cast.pass_time(0.002)
    cast.alice.delete(NOTES, "k")
    then, later = first["updated_at"], second["updated_at"]
    assert cast.alice.get(NOTES, "k", as_of=then)["value"] == {"n": 1}
    assert cast.alice.get(NOTES, "k", as_of=later)["value"] == {"n": 2}
    assert [item["value"] for item in cast.alice.search(ALICE, as_of=then)["items"]] == [{"n": 1}]
    with refused("not_found"):
        cast.alice.get(NOTES, "k", as_of=then.replace(year=1990))


@scene("odd segments and keys are kept apart and given back as they are")
def odd_names(cast: Cast) -> None:
    odd = [
        "a/b",
        "..",
        ".",
        "%2F",
        "%",
        "_",
        "*",
        "🦊",
        "two words",
        "\x1e",
        "é",
        "e\u0301",
        "A",
        "a",
        "+",
        "&x=1",
        "#",
    ]
    for name in odd:
        cast.alice.put((*ALICE, name), f"key {name}", {"name": name})
    for name in odd:
        assert cast.alice.get((*ALICE, name), f"key {name}")["value"] == {"name": name}
        assert cast.alice.search((*ALICE, name))["items"][0]["namespace"] == [*ALICE, name]
        assert cast.alice.events((*ALICE, name))["events"][0]["key"] == f"key {name}"
    assert sorted(each[-1] for each in cast.alice.list_namespaces(prefix=ALICE)) == sorted(odd)
    with refused("not_found"):
        cast.alice.get((*ALICE, "a", "b"), "key a/b")


@scene("names that cannot be are refused")
def names_refused(cast: Cast) -> None:
    for bad in ((*ALICE, ""), (*ALICE, *("x" * 9)), (*ALICE, "x" * 1_025), (*ALICE, "\x00")):
        with refused("invalid_namespace"):
            cast.alice.put(bad, "k", {})
        with refused("invalid_namespace"):
            cast.alice.get(bad, "k")
        with refused("invalid_namespace"):
            cast.alice.search(bad)
    for key in ("", "é" * 513):
        with refused("invalid_key"):
            cast.alice.put(NOTES, key, {})
        with refused("invalid_key"):
            cast.alice.get(NOTES, key)
    cast.alice.put((*ALICE, *("x" * 8)), "é" * 512, {})


@scene("a namespace of no segments is refused where something is to be stored")
def no_namespace(cast: Cast) -> None:
    for ask in (cast.admin.get, cast.admin.history, cast.admin.delete, cast.admin.archive):
        with refused("invalid_namespace"):
            ask((), "k")
    with refused("invalid_namespace"):
        cast.admin.put((), "k", {})


@scene("a way to treat archived memories that is none is refused")
def archived_how(cast: Cast) -> None:
    for ask in (cast.alice.search, cast.alice.list_namespaces):
        with refused("invalid_query"):
            ask(archived="maybe")
    with refused("invalid_query"):
        cast.alice.get(NOTES, "k", archived="maybe")
