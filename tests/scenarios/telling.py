"""Scenarios of the log: what happened, in order, for whoever may know."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.scenarios.door import Plain
from tests.scenarios.play import Cast, refused, scene
from tests.scenarios.writing import NOTES

from recollect.domain.queries import event_cursor

ALICE = ("user", "alice")


def told(page: Plain, *names: str) -> list[tuple[Any, ...]]:
    """These fields of each event."""
    return [tuple(event[name] for name in names) for event in page["events"]]


@scene("events tell an addition and an update with their values")
def add_and_update(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1}, attributes={"lang": "en"})
    cast.alice.put(NOTES, "k", {"n": 2})
    page = cast.alice.events(ALICE)
    assert told(page, "kind", "revision", "value", "actor") == [
        ("add", 1, {"n": 1}, "alice"),
        ("update", 2, {"n": 2}, "alice"),
    ]
    assert told(page, "attributes") == [({"lang": "en"},), (None,)]
    assert page["complete"]


@scene("events tell an addition and a deletion")
def add_and_delete(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.delete(NOTES, "k")
    assert told(cast.alice.events(NOTES), "kind", "key", "value") == [("add", "k", {"n": 1}), ("delete", "k", None)]


@scene("events of some kinds only")
def kinds(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.put(NOTES, "k", {"n": 2})
    cast.alice.delete(NOTES, "k")
    assert told(cast.alice.events(kinds=["delete"]), "kind") == [("delete",)]
    assert told(cast.alice.events(kinds=["add", "update"]), "kind") == [("add",), ("update",)]
    assert told(cast.alice.events(kinds=["expired"]), "kind") == []


@scene("an unknown kind of event is refused")
def unknown_kind(cast: Cast) -> None:
    with refused("invalid_query"):
        cast.alice.events(kinds=["born"])


@scene("an unknown namespace has no events")
def unknown_namespace(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {})
    page = cast.alice.events((*ALICE, "nowhere"))
    assert page["events"] == []
    assert page["complete"]


@scene("the log goes on from a cursor, page by page")
def cursors(cast: Cast) -> None:
    for number in range(5):
        cast.alice.put(NOTES, f"k{number}", {})
    met: list[tuple[Any, ...]] = []
    page = cast.alice.events(limit=2)
    while page["events"]:
        met += told(page, "key")
        page = cast.alice.events(after=page["cursor"], limit=2)
    assert met == [(f"k{number}",) for number in range(5)]
    cast.alice.put(NOTES, "news", {})
    assert told(cast.alice.events(after=page["cursor"]), "key") == [("news",)]
    third = cast.alice.events(limit=3)["events"][2]["cursor"]
    assert told(cast.alice.events(after=third), "key") == [("k3",), ("k4",), ("news",)]


@scene("a cursor of another log, or none at all, is refused")
def foreign_cursors(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {})
    for bad in ("garbage!", "Gd_lWVsiZTEiLDFe", event_cursor(1_000_000), "x" * 100):
        with refused("invalid_cursor"):
            cast.alice.events(after=bad)


@scene("events between two moments, both left out")
def between_moments(cast: Cast) -> None:
    for number in range(3):
        cast.alice.put(NOTES, f"k{number}", {})
        cast.pass_time(0.002)
    first, second, third = (event["occurred_at"] for event in cast.alice.events()["events"])
    assert told(cast.alice.events(since=first), "key") == [("k1",), ("k2",)]
    assert told(cast.alice.events(until=third), "key") == [("k0",), ("k1",)]
    assert told(cast.alice.events(since=first, until=third), "occurred_at") == [(second,)]
    assert told(cast.alice.events(since=third + timedelta(days=1)), "key") == []


@scene("nobody is told of others, but the order of all is one")
def own_events_only(cast: Cast) -> None:
    cast.alice.put(NOTES, "hers", {})
    cast.bob.put(("user", "bob"), "his", {"secret": True})
    cast.reader.get(NOTES, "hers")
    cast.alice.put(NOTES, "hers too", {})
    assert told(cast.alice.events(), "key") == [("hers",), ("hers too",)]
    assert told(cast.bob.events(), "key") == [("his",)]
    (first, *_), (second, *_), (third, *_) = sorted(
        told(cast.alice.events(), "sequence", "key") + told(cast.bob.events(), "sequence", "key")
    )
    assert told(cast.admin.events(), "sequence") == [(first,), (second,), (third,)]
    assert told(cast.bob.events(ALICE), "key") == []
    assert told(cast.admin.events(), "actor") == [("alice",), ("bob",), ("alice",)]


@scene("the log says through which client something was done")
def actor(cast: Cast) -> None:
    cast.writer.put(NOTES, "k", {})
    cast.admin.put(NOTES, "k", {})
    assert told(cast.alice.events(), "actor") == [("alice via writer",), ("root",)]
