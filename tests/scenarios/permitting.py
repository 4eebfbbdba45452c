"""Scenarios of access: what is one's own, what is somebody else's, and what a credential lacks."""

from __future__ import annotations

from tests.scenarios.finding import keys
from tests.scenarios.play import Cast, refused, scene
from tests.scenarios.writing import NOTES

ALICE = ("user", "alice")


@scene("nobody reads, writes, archives or deletes what is somebody else's")
def cross_user(cast: Cast) -> None:
    cast.alice.put(NOTES, "py_tip", {"text": "hers"})
    for ask in (cast.bob.get, cast.bob.history, cast.bob.delete, cast.bob.archive):
        with refused("forbidden"):
            ask(NOTES, "py_tip")
        with refused("forbidden"):
            ask(NOTES, "never there")
    with refused("forbidden"):
        cast.bob.put(NOTES, "py_tip", {"text": "his"})
    assert cast.alice.get(NOTES, "py_tip")["value"] == {"text": "hers"}
    assert len(cast.admin.events()["events"]) == 1


@scene("searching somebody else's prefix finds none of theirs")
def foreign_prefix(cast: Cast) -> None:
    cast.alice.put(NOTES, "hers", {})
    cast.bob.put(("user", "bob"), "his", {})
    assert keys(cast.bob, ALICE) == []
    assert keys(cast.bob, NOTES) == []
    assert cast.bob.list_namespaces(prefix=ALICE) == []
    assert cast.bob.events(ALICE)["events"] == []
    assert keys(cast.bob, ("project",)) == []


@scene("what belongs to nobody is an administrator's")
def common_ground(cast: Cast) -> None:
    for place in (("user",), ("project", "x"), ("User", "alice"), ("users", "alice")):
        with refused("forbidden"):
            cast.alice.put(place, "k", {})
        with refused("forbidden"):
            cast.alice.get(place, "k")
        cast.admin.put(place, "k", {"n": 1})
        assert cast.admin.get(place, "k")["value"] == {"n": 1}
    assert keys(cast.alice, ()) == []
    assert cast.alice.list_namespaces() == []


@scene("an administrator may do everything with everybody's memories")
def administrator(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    assert cast.admin.get(NOTES, "k")["value"] == {"n": 1}
    cast.admin.put(NOTES, "k", {"n": 2})
    cast.admin.archive(NOTES, "k")
    cast.admin.archive(NOTES, "k", archived=False)
    assert len(cast.admin.history(NOTES, "k")) == 4
    cast.admin.delete(NOTES, "k")
    with refused("not_found"):
        cast.alice.get(NOTES, "k")


@scene("a credential for reading cannot write or delete")
def reading_only(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    assert cast.reader.get(NOTES, "k")["value"] == {"n": 1}
    assert keys(cast.reader, ()) == ["k"]
    with refused("forbidden"):
        cast.reader.put(NOTES, "k", {"n": 2})
    with refused("forbidden"):
        cast.reader.archive(NOTES, "k")
    with refused("forbidden"):
        cast.reader.delete(NOTES, "k")


@scene("a credential for reading and writing cannot delete")
def no_deletion(cast: Cast) -> None:
    cast.writer.put(NOTES, "k", {"n": 1})
    with refused("forbidden"):
        cast.writer.delete(NOTES, "k")
    assert cast.writer.get(NOTES, "k")["revision"] == 1


@scene("an auditor reads no memories but their own")
def auditor(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    with refused("forbidden"):
        cast.auditor.get(NOTES, "k")
    assert keys(cast.auditor, ()) == []
    cast.auditor.put(("user", "eve"), "k", {})


@scene("everybody is told who they are")
def who(cast: Cast) -> None:
    assert cast.alice.whoami() == {
        "user_id": "alice",
        "client_id": "",
        "roles": [],
        "scopes": ["delete", "read", "write"],
    }
    assert cast.reader.whoami()["client_id"] == "reader"
    assert cast.reader.whoami()["scopes"] == ["read"]
    assert cast.admin.whoami()["roles"] == ["admin"]
