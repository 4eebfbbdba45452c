"""Scenarios of writing: remembering, replacing, expiring, archiving, deleting, many at once, and repeating safely."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.scenarios.door import Plain
from tests.scenarios.play import Cast, refused, scene

NOTES = ("user", "alice", "notes")
TEMPORARY = ("user", "alice", "tmp")


def op(kind: str, key: str, **fields: object) -> Plain:
    """A step of a batch on alice's notes."""
    return {"op": kind, "namespace": NOTES, "key": key} | fields


@scene("write and read a memory")
def write_and_read(cast: Cast) -> None:
    written = cast.alice.put(NOTES, "py_tip", {"text": "Use list comprehensions"})
    assert (written["kind"], written["revision"]) == ("add", 1)
    found = cast.alice.get(NOTES, "py_tip")
    assert found["value"] == {"text": "Use list comprehensions"}
    assert found["id"] == written["id"]
    assert found["created_at"] == found["updated_at"] == written["created_at"]


@scene("overwrite keeps the key's beginning and counts its revisions")
def overwrite(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1}, attributes={"lang": "en"})
    second = cast.alice.put(NOTES, "k", {"n": 2})
    assert (second["kind"], second["revision"]) == ("update", 2)
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]
    found = cast.alice.get(NOTES, "k")
    assert (found["value"], found["attributes"], found["revision"]) == ({"n": 2}, None, 2)


@scene("get what was never there")
def get_missing(cast: Cast) -> None:
    with refused("not_found"):
        cast.alice.get(NOTES, "nothing")


@scene("delete, and it is not found; delete again, and nothing happens")
def delete_then_missing(cast: Cast) -> None:
    cast.alice.put(NOTES, "to_delete", {"text": "delete me"})
    cast.alice.delete(NOTES, "to_delete")
    with refused("not_found"):
        cast.alice.get(NOTES, "to_delete")
    cast.alice.delete(NOTES, "to_delete")
    cast.alice.delete(NOTES, "never there")
    assert len(cast.alice.events()["events"]) == 2


@scene("write again after a deletion goes on counting")
def write_after_delete(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.delete(NOTES, "k")
    again = cast.alice.put(NOTES, "k", {"n": 2})
    assert (again["kind"], again["revision"]) == ("add", 2)


@scene("a memory with a time to live is gone when its time is up")
def time_to_live(cast: Cast) -> None:
    written = cast.alice.put(TEMPORARY, "ephemeral", {"x": 1}, ttl=1)
    assert written["expires_at"] == written["updated_at"] + timedelta(seconds=1)
    assert cast.alice.get(TEMPORARY, "ephemeral")["value"] == {"x": 1}
    cast.pass_time(1.1)
    with refused("not_found"):
        cast.alice.get(TEMPORARY, "ephemeral")
    assert cast.alice.search(("user", "alice"))["items"] == []
    assert cast.alice.list_namespaces() == []


@scene("a moment of expiry in the past is never seen")
def expired_from_the_start(cast: Cast) -> None:
    cast.alice.put(TEMPORARY, "late", {"x": 1}, expires_at=datetime(2001, 1, 1, tzinfo=UTC))
    with refused("not_found"):
        cast.alice.get(TEMPORARY, "late")


@scene("writing anew takes the expiry away")
def expiry_is_replaced(cast: Cast) -> None:
    cast.alice.put(TEMPORARY, "k", {"x": 1}, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert cast.alice.get(TEMPORARY, "k")["expires_at"] == datetime(2999, 1, 1, tzinfo=UTC)
    cast.alice.put(TEMPORARY, "k", {"x": 2})
    assert cast.alice.get(TEMPORARY, "k")["expires_at"] is None


@scene("a negative time to live is refused")
def negative_time_to_live(cast: Cast) -> None:
    with refused("invalid_expiry"):
        cast.alice.put(TEMPORARY, "k", {}, ttl=-1)
    assert cast.alice.events()["events"] == []


@scene("a time to live and a moment of expiry together are refused")
def two_expiries(cast: Cast) -> None:
    with refused("invalid_expiry"):
        cast.alice.put(TEMPORARY, "k", {}, ttl=60, expires_at=datetime(2999, 1, 1, tzinfo=UTC))


@scene("only the expected revision is replaced")
def expected_revision(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1}, expected_revision=0)
    with refused("revision_conflict"):
        cast.alice.put(NOTES, "k", {"n": 2}, expected_revision=0)
    with refused("revision_conflict"):
        cast.alice.put(NOTES, "k", {"n": 2}, expected_revision=7)
    assert cast.alice.put(NOTES, "k", {"n": 2}, expected_revision=1)["revision"] == 2
    with refused("revision_conflict"):
        cast.alice.delete(NOTES, "k", expected_revision=1)
    cast.alice.delete(NOTES, "k", expected_revision=2)
    with refused("revision_conflict"):
        cast.alice.put(NOTES, "k", {"n": 3}, expected_revision=2)


@scene("an archived memory is found only by those who ask for such")
def archive_and_bring_back(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1}, attributes={"lang": "en"})
    archived = cast.alice.archive(NOTES, "k")
    assert (archived["kind"], archived["revision"], archived["created_at"]) == ("update", 2, first["created_at"])
    with refused("not_found"):
        cast.alice.get(NOTES, "k")
    for asked in ("include", "only"):
        found = cast.alice.get(NOTES, "k", archived=asked)
        assert (found["value"], found["attributes"], found["archived"]) == ({"n": 1}, {"lang": "en"}, True)
        assert [item["key"] for item in cast.alice.search(NOTES, archived=asked)["items"]] == ["k"]
        assert cast.alice.list_namespaces(archived=asked) == [list(NOTES)]
    assert cast.alice.search(NOTES)["items"] == []
    assert cast.alice.list_namespaces() == []
    assert cast.alice.archive(NOTES, "k", archived=False)["revision"] == 3
    assert cast.alice.get(NOTES, "k")["archived"] is False
    with refused("not_found"):
        cast.alice.get(NOTES, "k", archived="only")


@scene("archiving appears in the log as an update")
def archive_is_an_update(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.archive(NOTES, "k")
    assert [event["kind"] for event in cast.alice.events()["events"]] == ["add", "update"]


@scene("archiving what is not there, or not at the expected revision, is refused")
def archive_nothing(cast: Cast) -> None:
    with refused("not_found"):
        cast.alice.archive(NOTES, "nothing")
    cast.alice.put(NOTES, "k", {"n": 1})
    with refused("revision_conflict"):
        cast.alice.archive(NOTES, "k", expected_revision=5)
    assert cast.alice.archive(NOTES, "k", expected_revision=1)["revision"] == 2


@scene("writing to an archived key brings it back")
def write_to_archived(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.archive(NOTES, "k")
    cast.alice.put(NOTES, "k", {"n": 2})
    found = cast.alice.get(NOTES, "k")
    assert (found["value"], found["archived"], found["revision"]) == ({"n": 2}, False, 3)


@scene("a batch happens in its order, at once", "batch")
def batch(cast: Cast) -> None:
    cast.alice.put(NOTES, "old", {"n": 0})
    done = cast.alice.batch(
        [
            op("put", "a", value={"n": 1}, attributes={"lang": "en"}),
            op("put", "a", value={"n": 2}),
            op("delete", "old"),
            op("delete", "never there"),
        ]
    )
    assert [each["kind"] for each in done] == ["add", "update", "delete", None]
    first = done[0]["sequence"]
    assert [each["sequence"] for each in done] == [first, first + 1, first + 2, None]
    assert cast.alice.get(NOTES, "a")["value"] == {"n": 2}
    with refused("not_found"):
        cast.alice.get(NOTES, "old")


@scene("a batch in which one step is refused changes nothing", "batch")
def batch_refused(cast: Cast) -> None:
    with refused("revision_conflict"):
        cast.alice.batch([op("put", "a", value={}), op("put", "b", value={}, expected_revision=4)])
    with refused("invalid_key"):
        cast.alice.batch([op("put", "a", value={}), op("put", "", value={})])
    foreign = {"op": "put", "namespace": ("user", "bob"), "key": "k", "value": {}}
    with refused("forbidden"):
        cast.alice.batch([op("put", "a", value={}), foreign])
    with refused("forbidden"):
        cast.writer.batch([op("put", "a", value={}), op("delete", "a")])
    assert cast.alice.search(())["items"] == []
    assert cast.alice.events()["events"] == []


@scene("an empty batch and one too long are refused", "batch")
def batch_sizes(cast: Cast) -> None:
    with refused("invalid_commit"):
        cast.alice.batch([])
    with refused("invalid_commit"):
        cast.alice.batch([op("delete", f"k{number}") for number in range(1_001)])
    assert len(cast.alice.batch([op("put", f"k{number}", value={}) for number in range(1_000)])) == 1_000


@scene("a repeated request with the same idempotency key is answered as the first time")
def repeated(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1}, idempotency_key="once")
    again = cast.alice.put(NOTES, "k", {"n": 1}, idempotency_key="once")
    assert (first["id"], first["sequence"], first["revision"]) == (again["id"], again["sequence"], 1)
    cast.alice.put(NOTES, "k", {"n": 2})
    late = cast.alice.put(NOTES, "k", {"n": 1}, idempotency_key="once")
    assert late["id"] == first["id"]
    assert cast.alice.get(NOTES, "k")["value"] == {"n": 2}
    assert len(cast.alice.events()["events"]) == 2


@scene("an idempotency key belongs to one request of one caller")
def another_request(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1}, idempotency_key="once")
    with refused("idempotency_mismatch"):
        cast.alice.put(NOTES, "k", {"n": 2}, idempotency_key="once")
    with refused("idempotency_mismatch"):
        cast.alice.put(NOTES, "other", {"n": 1}, idempotency_key="once")
    with refused("idempotency_mismatch"):
        cast.alice.delete(NOTES, "k", idempotency_key="once")
    cast.bob.put(("user", "bob"), "k", {"n": 1}, idempotency_key="once")
    assert cast.bob.get(("user", "bob"), "k")["revision"] == 1


@scene("deletions, archivings and batches can be repeated too", "batch")
def repeated_others(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    archived = [cast.alice.archive(NOTES, "k", idempotency_key="a") for _ in range(2)]
    assert archived[0]["revision"] == archived[1]["revision"] == 2
    for _ in range(2):
        cast.alice.delete(NOTES, "k", idempotency_key="d")
    steps = [op("put", "x", value={"n": 1}), op("delete", "k")]
    done = [cast.alice.batch(steps, idempotency_key="b") for _ in range(2)]
    assert [each["sequence"] for each in done[0]] == [each["sequence"] for each in done[1]]
    assert len(cast.alice.events()["events"]) == 4


@scene("an archiving can be repeated after the memory was deleted")
def repeated_archive_of_what_is_gone(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    first = cast.alice.archive(NOTES, "k", idempotency_key="a")
    cast.alice.delete(NOTES, "k")
    assert cast.alice.archive(NOTES, "k", idempotency_key="a")["sequence"] == first["sequence"]


@scene("an idempotency key that is too long is refused")
def long_idempotency_key(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {}, idempotency_key="x" * 255)
    with refused("invalid_commit"):
        cast.alice.put(NOTES, "k", {}, idempotency_key="x" * 256)


@scene("whatever JSON can say is kept as it is")
def values_are_kept(cast: Cast) -> None:
    value = {
        "text": 'é 日本 🦊 "quoted" \\ \n \t \u202e',
        "": {"empty name": []},
        "numbers": [0, -1, 1.5, 1e300, 2**53 + 1, 2**63 - 1, -(2**63), 2**64],
        "truth": [True, False, None],
        "deep": {"a": {"b": {"c": [[[{}]]]}}},
    }
    cast.alice.put(NOTES, "k", value, attributes={"any": ["thing", {"at": "all"}]})
    found = cast.alice.get(NOTES, "k")
    assert found["value"] == value
    assert [type(each) for each in found["value"]["numbers"]] == [int, int, float, float, int, int, int, int]
    assert found["attributes"] == {"any": ["thing", {"at": "all"}]}


@scene("values that cannot be kept as they are, are refused")
def values_refused(cast: Cast) -> None:
    deep: Plain = {}
    for _ in range(33):
        deep = {"a": deep}
    for bad in (deep, {"a": "\x00"}, {"a": "x" * (1 << 20)}):
        with refused("invalid_value"):
            cast.alice.put(NOTES, "k", bad)
    assert cast.alice.events()["events"] == []


@scene("a value that is no object is refused", "any value")
def not_an_object(cast: Cast) -> None:
    for bad in ([1], "text", 5, True):
        with refused("invalid_value"):
            cast.alice.put(NOTES, "k", bad)
