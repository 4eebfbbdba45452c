"""Single items: what is put, got, replaced and deleted."""

from __future__ import annotations

from datetime import datetime
from types import MappingProxyType

from recollect.testing.langgraph_store.trial import Trial, check

PLACE = ("users", "ann")
VALUE = {
    "text": "Grüße, 日本 🍵",
    "nested": {"list": [1, 2.5, None, True, {"deep": []}], "empty": {}},
    "large": 9_007_199_254_740_993,
    "": "a member without a name",
}


@check
def what_is_put_is_got(trial: Trial) -> None:
    """An item is got under its namespace and key, with the very value that was put."""
    with trial.fresh() as store:
        store.put(PLACE, "k", VALUE)
        item = store.get(PLACE, "k")
        assert item is not None
        assert (item.namespace, item.key, item.value) == (PLACE, "k", VALUE)
        assert isinstance(item.created_at, datetime)
        assert isinstance(item.updated_at, datetime)


@check
def what_is_missing_is_none(trial: Trial) -> None:
    """What was never put is None: another key, another namespace, one above and one below, and the empty one."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        for place, key in (
            (PLACE, "other"),
            (("users",), "k"),
            ((*PLACE, "x"), "k"),
            (("users", "bob"), "k"),
            ((), "k"),
        ):
            assert store.get(place, key) is None


@check
def a_put_replaces_the_value(trial: Trial) -> None:
    """A second put replaces the whole value, and the item was updated later than before."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1, "gone": True})
        before = store.get(PLACE, "k")
        trial.pass_time(1.1)  # some stores count in seconds
        store.put(PLACE, "k", {"n": 2})
        after = store.get(PLACE, "k")
        assert before is not None
        assert after is not None
        assert after.value == {"n": 2}
        assert after.updated_at > before.updated_at


@check
def the_time_of_creation_is_kept(trial: Trial) -> None:
    """A second put leaves `created_at` as it was: it is the time of the item's creation."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        before = store.get(PLACE, "k")
        trial.pass_time(1.1)
        store.put(PLACE, "k", {"n": 2})
        after = store.get(PLACE, "k")
        assert before is not None
        assert after is not None
        assert after.created_at == before.created_at


@check
def times_have_a_zone(trial: Trial) -> None:
    """`created_at` and `updated_at` say their time zone."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        item = store.get(PLACE, "k")
        assert item is not None
        assert item.created_at.tzinfo is not None
        assert item.updated_at.tzinfo is not None


@check
def what_is_deleted_is_gone(trial: Trial) -> None:
    """A deleted item is neither got nor found, and its neighbours stay."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        store.put(PLACE, "stays", {"n": 2})
        store.delete(PLACE, "k")
        assert store.get(PLACE, "k") is None
        assert store.keys(PLACE) == ["stays"]


@check
def deleting_what_is_not_there_does_nothing(trial: Trial) -> None:
    """Deleting a key twice, or one that never was, is no error."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        store.delete(PLACE, "k")
        store.delete(PLACE, "k")
        store.delete(("nobody",), "k")
        assert store.get(PLACE, "k") is None


@check
def a_deleted_key_can_be_put_again(trial: Trial) -> None:
    """After a delete, a key begins anew."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        store.delete(PLACE, "k")
        store.put(PLACE, "k", {"n": 2})
        assert store.value(PLACE, "k") == {"n": 2}


@check
def a_key_belongs_to_its_namespace(trial: Trial) -> None:
    """The same key in two namespaces is two items."""
    with trial.fresh() as store:
        store.put(("a",), "k", {"n": 1})
        store.put(("b",), "k", {"n": 2})
        store.delete(("a",), "k")
        assert store.value(("b",), "k") == {"n": 2}


@check
def keys_become_text(trial: Trial) -> None:
    """A key that is not text is the text of it."""
    with trial.fresh() as store:
        store.put(PLACE, 7, {"n": 1})
        assert store.value(PLACE, "7") == {"n": 1}
        store.delete(PLACE, 7)
        assert store.value(PLACE, 7) is None


@check
def awkward_keys_are_exact(trial: Trial) -> None:
    """Keys are compared as they are, whatever characters they have."""
    with trial.fresh() as store:
        keys = ["a.b", "a/b", "a%", "a_", "*", " ", "é", "e\u0301", "K", "k", "日本", "'; --"]
        for number, key in enumerate(keys):
            store.put(PLACE, key, {"n": number})
        assert [store.value(PLACE, key) for key in keys] == [{"n": number} for number in range(len(keys))]


@check
def any_mapping_can_be_put(trial: Trial) -> None:
    """A value is any mapping, not only a dict."""
    with trial.fresh() as store:
        store.put(PLACE, "k", MappingProxyType({"n": 1}))
        assert store.value(PLACE, "k") == {"n": 1}


@check
def values_are_not_shared(trial: Trial) -> None:
    """Changing a value after it was put, or one that was got, changes nothing in the store."""
    with trial.fresh() as store:
        mine = {"list": [1]}
        store.put(PLACE, "k", mine)
        mine["list"].append(2)
        got = store.value(PLACE, "k")
        assert got == {"list": [1]}
        got["list"].append(3)
        assert store.value(PLACE, "k") == {"list": [1]}


@check
def many_can_use_it_at_once(trial: Trial) -> None:
    """Writes and reads at the same time neither fail nor get lost."""
    with trial.fresh() as store:
        keys = [f"k{number}" for number in range(60)]
        writes = [("put", (PLACE, key, {"key": key})) for key in keys]
        reads: list[tuple[str, tuple[object, ...]]] = [("search", (PLACE,)) for _ in keys]
        store.at_once([wish for pair in zip(writes, reads, strict=True) for wish in pair])
        assert sorted(store.keys(PLACE, limit=100)) == sorted(keys)
