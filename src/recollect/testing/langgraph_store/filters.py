"""Filters on values: equality, operators, and what they say of members that are missing or of another type."""

from __future__ import annotations

from typing import Any

from recollect.testing.langgraph_store.trial import Calls, Trial, check, refused

PLACE = ("people",)
AGES = {"two": 2, "nine": 9, "ten": 10, "hundred": 100}


def _aged(store: Calls) -> None:
    for key, age in AGES.items():
        store.put(PLACE, key, {"age": age, "name": key})
    store.put(PLACE, "ageless", {"name": "ageless"})


def _found(store: Calls, **conditions: Any) -> set[str]:
    return set(store.keys(PLACE, filter=conditions))


@check
def a_plain_value_must_be_equal(trial: Trial) -> None:
    """A member is compared with a plain value: text, a number, a truth, null."""
    with trial.fresh() as store:
        store.put(PLACE, "a", {"t": "x", "n": 1, "b": True, "z": None})
        store.put(PLACE, "b", {"t": "y", "n": 2, "b": False, "z": 0})
        for condition in ({"t": "x"}, {"n": 1}, {"b": True}, {"z": None}, {"t": {"$eq": "x"}}, {"n": {"$eq": 1}}):
            assert store.keys(PLACE, filter=condition) == ["a"], condition
        assert len(store.search(PLACE, filter={})) == 2


@check
def all_members_must_match(trial: Trial) -> None:
    """All conditions of a filter must hold, and all operators of a condition."""
    with trial.fresh() as store:
        for number, name in enumerate(("ann", "bob", "eve")):
            store.put(PLACE, name, {"number": number, "name": name})
        assert _found(store, number=1, name="bob") == {"bob"}
        assert _found(store, number=1, name="eve") == set()
        assert _found(store, number={"$gt": 0, "$lt": 2}) == {"bob"}


@check
def numbers_are_compared_as_numbers(trial: Trial) -> None:
    """`$gt`, `$gte`, `$lt` and `$lte` compare numbers by their size, where all items have the member."""
    with trial.fresh() as store:
        for key, age in AGES.items():
            store.put(PLACE, key, {"age": age})
        assert _found(store, age={"$gt": 9}) == {"ten", "hundred"}
        assert _found(store, age={"$gte": 9}) == {"nine", "ten", "hundred"}
        assert _found(store, age={"$lt": 10}) == {"two", "nine"}
        assert _found(store, age={"$lte": 10}) == {"two", "nine", "ten"}
        assert _found(store, age={"$gt": 9.5}) == {"ten", "hundred"}


@check
def what_is_missing_is_neither_more_nor_less(trial: Trial) -> None:
    """Items without the member meet no comparison, and do not disturb that of the others."""
    with trial.fresh() as store:
        _aged(store)
        assert _found(store, age={"$gte": 100}) == {"hundred"}
        assert _found(store, age={"$lt": 9}) == {"two"}


@check
def text_is_compared_as_text(trial: Trial) -> None:
    """Comparisons of text go by its order."""
    with trial.fresh() as store:
        for name in ("apple", "banana", "cherry"):
            store.put(PLACE, name, {"name": name})
        assert _found(store, name={"$gt": "apple"}) == {"banana", "cherry"}
        assert _found(store, name={"$lte": "banana"}) == {"apple", "banana"}


@check
def types_are_not_mixed(trial: Trial) -> None:
    """Text that looks like a number is none: it neither equals one nor is more or less than one."""
    with trial.fresh() as store:
        store.put(PLACE, "text", {"age": "10"})
        store.put(PLACE, "number", {"age": 10})
        assert _found(store, age=10) == {"number"}
        assert _found(store, age="10") == {"text"}
        assert _found(store, age={"$gt": 9}) == {"number"}


@check
def a_whole_number_equals_a_decimal(trial: Trial) -> None:
    """10 equals 10.0."""
    with trial.fresh() as store:
        _aged(store)
        assert _found(store, age=10.0) == {"ten"}
        assert _found(store, age={"$eq": 10.0}) == {"ten"}


@check
def true_is_not_one(trial: Trial) -> None:
    """A truth is no number."""
    with trial.fresh() as store:
        store.put(PLACE, "truth", {"x": True})
        store.put(PLACE, "one", {"x": 1})
        assert _found(store, x=True) == {"truth"}
        assert _found(store, x=1) == {"one"}


@check
def not_equal_leaves_out_what_is_missing(trial: Trial) -> None:
    """`$ne` finds items that have the member with another value, and not those without it."""
    with trial.fresh() as store:
        _aged(store)
        assert _found(store, age={"$ne": 10}) == {"two", "nine", "hundred"}


@check
def null_equals_what_is_missing(trial: Trial) -> None:
    """Equality with null finds items without the member as well as those where it is null."""
    with trial.fresh() as store:
        store.put(PLACE, "null", {"x": None})
        store.put(PLACE, "missing", {"y": 1})
        store.put(PLACE, "there", {"x": 1})
        assert _found(store, x=None) == {"null", "missing"}


@check
def lists_are_compared_whole(trial: Trial) -> None:
    """A list equals a list with the same elements in the same order, and no single element."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"tags": ["x", "y"]})
        assert store.keys(PLACE, filter={"tags": ["x", "y"]}) == ["k"]
        assert store.keys(PLACE, filter={"tags": ["y", "x"]}) == []
        assert store.keys(PLACE, filter={"tags": "x"}) == []


@check
def objects_are_looked_into(trial: Trial) -> None:
    """A plain object in a filter is compared member by member."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"m": {"a": 1, "b": 2}})
        store.put(PLACE, "other", {"m": {"a": 2, "b": 2}})
        assert store.keys(PLACE, filter={"m": {"a": 1, "b": 2}}) == ["k"]


@check
def a_dot_is_part_of_a_name(trial: Trial) -> None:
    """The names of a filter are those of members, dots included, and no paths."""
    with trial.fresh() as store:
        store.put(PLACE, "path", {"m": {"a": 1}})
        store.put(PLACE, "name", {"m.a": 1})
        assert _found(store, **{"m.a": 1}) == {"name"}


@check
def awkward_names_are_exact(trial: Trial) -> None:
    """Names and values of a filter stand for themselves, quotes and patterns included."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"it's": "50%", 'say "x"': "_", "ü": "日本"})
        store.put(PLACE, "other", {"it's": "500", 'say "x"': "y", "ü": "日"})
        for condition in ({"it's": "50%"}, {'say "x"': "_"}, {"ü": "日本"}):
            assert store.keys(PLACE, filter=condition) == ["k"], condition


@check
def unknown_operators_are_refused(trial: Trial) -> None:
    """An operator that does not exist is a `ValueError`."""
    with trial.fresh() as store:
        _aged(store)
        refused(ValueError, lambda: store.search(PLACE, filter={"age": {"$in": [9, 10]}}))
