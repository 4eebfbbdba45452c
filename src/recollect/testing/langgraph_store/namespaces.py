"""Namespaces: which are allowed, and how they are listed."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from recollect.testing.langgraph_store.trial import Calls, Trial, check, refused

TREE = (
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "ann"),
    ("users", "bob", "settings"),
)
FLAWED: tuple[tuple[Any, ...], ...] = (("a", "b.c"), ("a", ""), ("", "a"), ("a", 7))


def _planted(store: Calls, *places: tuple[str, ...]) -> None:
    for place in places or TREE:
        store.put(place, "k", {"n": 1})


@check
def a_bad_namespace_is_refused(trial: Trial) -> None:
    """Labels that are empty, no text or have a dot in them are refused with `InvalidNamespaceError` by every call."""
    with trial.fresh() as store:
        for place in FLAWED:
            refused(InvalidNamespaceError, lambda place=place: store.put(place, "k", {}))  # type: ignore[misc]
            refused(InvalidNamespaceError, lambda place=place: store.get(place, "k"))  # type: ignore[misc]
            refused(InvalidNamespaceError, lambda place=place: store.delete(place, "k"))  # type: ignore[misc]
            refused(InvalidNamespaceError, lambda place=place: store.search(place))  # type: ignore[misc]
            refused(InvalidNamespaceError, lambda place=place: store.list_namespaces(prefix=place))  # type: ignore[misc]
            refused(InvalidNamespaceError, lambda place=place: store.list_namespaces(suffix=place))  # type: ignore[misc]


@check
def nothing_is_put_above_all_namespaces(trial: Trial) -> None:
    """A put needs a namespace, and one whose first label is not `langgraph`."""
    with trial.fresh() as store:
        refused(InvalidNamespaceError, lambda: store.put((), "k", {}))
        refused(InvalidNamespaceError, lambda: store.put(("langgraph", "x"), "k", {}))
        store.put(("x", "langgraph"), "k", {"n": 1})
        assert store.value(("x", "langgraph"), "k") == {"n": 1}


@check
def a_bad_namespace_in_a_batch_is_refused(trial: Trial) -> None:
    """A batch refuses labels with a dot as the single calls do, so that nothing comes to lie in another namespace."""
    with trial.fresh() as store:
        store.put(("a", "b"), "k", {"n": 1})
        for op in (
            PutOp(("a.b",), "k", {"n": 2}),
            GetOp(("a.b",), "k"),
            SearchOp(("a.b",)),
            ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
        ):
            refused(InvalidNamespaceError, lambda op=op: store.batch([op]))  # type: ignore[misc]
        assert store.value(("a", "b"), "k") == {"n": 1}


@check
def a_batch_reaches_what_langgraph_keeps_for_itself(trial: Trial) -> None:
    """LangGraph itself may write below `langgraph`, with a batch."""
    with trial.fresh() as store:
        store.batch([PutOp(("langgraph", "x"), "k", {"n": 1})])
        assert store.value(("langgraph", "x"), "k") == {"n": 1}
        assert store.keys(("langgraph",)) == ["k"]


@check
def awkward_labels_are_exact(trial: Trial) -> None:
    """Characters that databases take for patterns stand for themselves in labels, in reads, searches and lists."""
    with trial.fresh() as store:
        labels = ["u_1", "u%1", "u*1", "u[1]", "uA1", "ua1", "u\\1", "u 1", "u/1", "ü1", "日本"]
        _planted(store, *(("user", label) for label in labels))
        for label in labels:
            assert [item.namespace for item in store.search(("user", label))] == [("user", label)]
            assert store.list_namespaces(prefix=("user", label)) == [("user", label)]
            assert store.list_namespaces(suffix=(label,)) == [("user", label)]


@check
def namespaces_are_listed_in_order(trial: Trial) -> None:
    """All namespaces that have items are listed once, sorted."""
    with trial.fresh() as store:
        assert store.list_namespaces() == []
        _planted(store)
        store.put(TREE[0], "another", {"n": 2})
        assert store.list_namespaces() == sorted(TREE)


@check
def namespaces_are_listed_by_prefix_and_suffix(trial: Trial) -> None:
    """`prefix` and `suffix` compare whole labels from the beginning and from the end."""
    with trial.fresh() as store:
        _planted(store)
        assert store.list_namespaces(prefix=("a", "b")) == list(TREE[:3])
        assert store.list_namespaces(suffix=("f",)) == [TREE[2], TREE[3], TREE[4]]
        assert store.list_namespaces(prefix=("a",), suffix=("f",)) == [TREE[2], TREE[3]]
        assert store.list_namespaces(prefix=("users", "ann")) == [("users", "ann")]
        assert store.list_namespaces(prefix=("us",)) == []
        assert store.list_namespaces(suffix=("nn",)) == []
        assert store.list_namespaces(prefix=("users", "ann", "x")) == []


@check
def a_star_is_exactly_one_label(trial: Trial) -> None:
    """`*` in a prefix or suffix stands for exactly one label."""
    with trial.fresh() as store:
        _planted(store)
        assert store.list_namespaces(prefix=("a", "*", "f")) == [TREE[3]]
        assert store.list_namespaces(prefix=("users", "*")) == [TREE[5], TREE[6]]
        assert store.list_namespaces(prefix=("*", "*", "*", "*")) == [TREE[1], TREE[2]]
        assert store.list_namespaces(suffix=("*", "settings")) == [TREE[6]]
        assert store.list_namespaces(suffix=("b", "*", "f")) == [TREE[2], TREE[4]]
        assert store.list_namespaces(prefix=("*", "b"), suffix=("d", "*")) == [TREE[1], TREE[2]]


@check
def a_prefix_and_a_suffix_may_overlap(trial: Trial) -> None:
    """A prefix and a suffix may be met by the same labels."""
    with trial.fresh() as store:
        _planted(store, ("a", "b"), ("a", "b", "b"))
        assert store.list_namespaces(prefix=("a", "b"), suffix=("a", "b")) == [("a", "b")]


@check
def all_conditions_must_be_met(trial: Trial) -> None:
    """A list operation may have several conditions of one kind, and one with an empty path asks for nothing."""
    with trial.fresh() as store:
        _planted(store)

        def listed(*conditions: MatchCondition) -> Any:
            return store.batch([ListNamespacesOp(conditions)])[0]

        assert listed(MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "b", "d"))) == list(TREE[1:3])
        assert listed(MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",))) == []
        assert listed(MatchCondition("suffix", ("f",)), MatchCondition("suffix", ("d", "*"))) == [TREE[2]]
        assert listed(MatchCondition("prefix", ()), MatchCondition("suffix", ("e",))) == [TREE[1]]


@check
def deep_namespaces_are_cut_and_told_once(trial: Trial) -> None:
    """`max_depth` cuts namespaces, tells each of them once, and conditions still see them whole."""
    with trial.fresh() as store:
        _planted(store)
        assert store.list_namespaces(max_depth=1) == [("a",), ("b",), ("users",)]
        assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d")]
        assert store.list_namespaces(suffix=("f",), max_depth=2) == [("a", "b"), ("a", "c"), ("b", "a")]
        assert store.list_namespaces(max_depth=9) == sorted(TREE)


@check
def namespaces_are_listed_in_pages(trial: Trial) -> None:
    """`limit` and `offset` count namespaces after they were cut; without a limit there are a hundred."""
    with trial.fresh() as store:
        places = [("page", f"{number:03}", tail) for number in range(60) for tail in ("x", "y")]
        store.batch([PutOp(place, "k", {"n": 1}, index=False) for place in places])
        assert store.list_namespaces() == places[:100]
        assert store.list_namespaces(limit=3, offset=118) == places[118:]
        assert store.list_namespaces(offset=500) == []
        cut = store.list_namespaces(max_depth=2, limit=20, offset=50)
        assert cut == [("page", f"{number:03}") for number in range(50, 60)]


@check
def namespaces_without_items_are_not_listed(trial: Trial) -> None:
    """A namespace is listed while it has items: reading makes none, and the last delete ends it."""
    with trial.fresh() as store:
        store.get(("ghost",), "k")
        store.search(("ghost",))
        assert store.list_namespaces() == []
        _planted(store, ("real",))
        store.delete(("real",), "k")
        assert store.list_namespaces() == []
