"""Searches with a query: what they find, in which order, and what of a value they look at.

The texts share either whole words with a query or none, so that every way to search by meaning agrees about them.
"""

from __future__ import annotations

from typing import Any

from langgraph.store.base import PutOp

from recollect.testing.langgraph_store.trial import Calls, Trial, check

PLACE = ("docs",)
TEA, OIL = "green tea leaves", "heavy motor grease"


def _first(store: Calls, query: str, **named: Any) -> str:
    return store.keys(PLACE, query=query, **named)[0]


@check
def the_best_comes_first(trial: Trial) -> None:
    """What answers a query best comes first, with a score that is higher than those after it."""
    with trial.fresh() as store:
        store.put(PLACE, "tea", {"text": TEA})
        store.put(PLACE, "oil", {"text": OIL})
        for query, key in ((TEA, "tea"), (OIL, "oil")):
            best, other = store.search(PLACE, query=query)
            assert best.key == key
            assert best.score is not None
            assert other.score is not None
            assert best.score > other.score


@check
def what_was_just_put_is_found(trial: Trial) -> None:
    """A query finds what was put before it, at once, and not what was deleted before it."""
    with trial.fresh() as store:
        for number in range(5):
            store.put(PLACE, f"k{number}", {"text": TEA})
            assert len(store.search(PLACE, query=TEA)) == number + 1
        store.delete(PLACE, "k0")
        assert sorted(store.keys(PLACE, query=TEA)) == ["k1", "k2", "k3", "k4"]


@check
def a_query_looks_at_and_below_a_namespace(trial: Trial) -> None:
    """A query finds what lies in a namespace or below it, by whole labels."""
    with trial.fresh() as store:
        for place in (("a", "b"), ("a", "b", "c"), ("a", "bb"), ("b",)):
            store.put(place, "k", {"text": TEA})
        assert {item.namespace for item in store.search(("a", "b"), query=TEA)} == {("a", "b"), ("a", "b", "c")}
        assert len(store.search((), query=TEA)) == 4


@check
def an_update_is_found_by_what_it_says_now(trial: Trial) -> None:
    """After an update, an item answers to its new text and no longer to the old one."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": TEA})
        store.put(PLACE, "other", {"text": "neither of the two"})
        before = {item.key: item.score for item in store.search(PLACE, query=TEA)}
        store.put(PLACE, "k", {"text": OIL})
        after = {item.key: item.score for item in store.search(PLACE, query=TEA)}
        assert (before["k"] or 0) > (after["k"] or 0)
        assert _first(store, OIL) == "k"


@check
def what_is_not_indexed_is_not_found(trial: Trial) -> None:
    """With `index=False`, an item is got and listed, but no query finds it."""
    with trial.fresh() as store:
        store.put(PLACE, "hidden", {"text": TEA}, False)
        store.put(PLACE, "seen", {"text": TEA})
        assert store.keys(PLACE, query=TEA) == ["seen"]
        assert store.value(PLACE, "hidden") == {"text": TEA}
        assert sorted(store.keys(PLACE)) == ["hidden", "seen"]


@check
def an_update_can_take_an_item_out_of_the_index(trial: Trial) -> None:
    """A put with `index=False` over an indexed item leaves nothing that a query could find it by."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": TEA})
        store.put(PLACE, "k", {"text": TEA}, index=False)
        store.put(PLACE, "other", {"text": OIL})
        assert store.keys(PLACE, query=TEA) == ["other"]


@check
def what_was_deleted_is_not_found_again(trial: Trial) -> None:
    """After a delete, a put with `index=False` does not bring back what the earlier item was found by."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": TEA})
        store.delete(PLACE, "k")
        store.put(PLACE, "k", {"text": OIL}, index=False)
        store.put(PLACE, "other", {"text": OIL})
        assert store.keys(PLACE, query=TEA) == ["other"]


@check
def only_the_named_fields_are_found(trial: Trial) -> None:
    """With `index` as a list of paths, a query finds an item by those fields and by no others."""
    with trial.fresh() as store:
        store.put(PLACE, "named", {"text": TEA, "other": OIL}, index=["text"])
        store.put(PLACE, "other", {"text": OIL, "other": TEA}, index=["text"])
        assert _first(store, TEA) == "named"
        assert _first(store, OIL) == "other"


@check
def paths_lead_into_values(trial: Trial) -> None:
    """Paths lead to members of members, to elements by number, to the last one, and to every one."""
    with trial.fresh() as store:
        for path, value in (
            ("meta.title", {"meta": {"title": TEA, "rest": OIL}}),
            ("parts[0].text", {"parts": [{"text": TEA}, {"text": OIL}]}),
            ("parts[-1].text", {"parts": [{"text": OIL}, {"text": TEA}]}),
            ("parts[*].text", {"parts": [{"text": "nothing else"}, {"text": TEA}], "rest": OIL}),
        ):
            store.put(PLACE, path, value, index=[path])
        store.put(PLACE, "oil", {"text": OIL}, index=["text"])
        found = store.keys(PLACE, query=TEA)
        assert len(found) == 5
        assert found[-1] == "oil"
        assert _first(store, OIL) == "oil"


@check
def a_missing_field_is_no_error(trial: Trial) -> None:
    """A path that leads nowhere is skipped."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": TEA}, index=["nowhere", "text", "a.b[0]"])
        store.put(PLACE, "lost", {"text": TEA}, index=["nowhere"])
        assert store.keys(PLACE, query=TEA)[0] == "k"
        assert store.value(PLACE, "lost") == {"text": TEA}


@check
def the_store_has_fields_of_its_own(trial: Trial) -> None:
    """The fields that a store was told hold for every put that names none."""
    with trial.fresh(fields=["text"]) as store:
        store.put(PLACE, "default", {"text": TEA, "other": OIL})
        store.put(PLACE, "named", {"text": TEA, "other": OIL}, index=["other"])
        assert _first(store, TEA) == "default"
        assert _first(store, OIL) == "named"


@check
def a_filter_comes_before_the_cut_of_a_query(trial: Trial) -> None:
    """With a query too, `limit` counts what the filter lets through, however much answers better."""
    with trial.fresh() as store:
        store.put(PLACE, "wanted", {"text": OIL, "wanted": True}, index=["text"])
        better = [PutOp(PLACE, f"{n:03}", {"text": f"{TEA} {n}", "wanted": False}, ["text"]) for n in range(120)]
        store.batch(better)
        assert store.keys(PLACE, query=TEA, filter={"wanted": True}, limit=1) == ["wanted"]
        assert store.keys(PLACE, query=TEA, filter={"wanted": {"$eq": True}}, offset=1) == []


@check
def a_query_and_a_filter_go_together(trial: Trial) -> None:
    """What the filter lets through is ordered by how well it answers the query."""
    with trial.fresh() as store:
        for key, text, colour, price in (
            ("a", "apple fruit", "red", 4.5),
            ("b", "fast car", "red", 3.0),
            ("c", "apple fruit", "green", 4.0),
            ("d", "fast car", "blue", 3.5),
        ):
            store.put(PLACE, key, {"text": text, "colour": colour, "price": price}, index=["text"])
        assert store.keys(PLACE, query="apple", filter={"colour": "red"}) == ["a", "b"]
        assert store.keys(PLACE, query="car", filter={"colour": "red"}) == ["b", "a"]
        assert store.keys(PLACE, query="apple", filter={"price": {"$gte": 4.0}, "colour": "green"}) == ["c"]
        assert len(store.search(PLACE, query="car", filter={"price": {"$gt": 3.2}})) == 3


@check
def pages_of_a_query_meet_everything_once(trial: Trial) -> None:
    """Pages of a query meet every indexed item exactly once, also far down."""
    with trial.fresh() as store:
        store.batch([PutOp(PLACE, f"{n:02}", {"text": f"{TEA} number {n}"}) for n in range(60)])
        paged = [key for offset in range(0, 70, 10) for key in store.keys(PLACE, query=TEA, limit=10, offset=offset)]
        assert sorted(paged) == [f"{n:02}" for n in range(60)]


@check
def a_blank_query_is_none(trial: Trial) -> None:
    """A query that is empty or None lists everything, without scores."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": TEA})
        store.put(PLACE, "hidden", {"text": TEA}, index=False)
        for query in ("", None):
            found = store.search(PLACE, query=query)
            assert sorted(item.key for item in found) == ["hidden", "k"]
            assert [item.score for item in found] == [None, None]


@check
def any_text_is_a_query(trial: Trial) -> None:
    """Long queries, signs and other scripts are text to look for like any other."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": f"{TEA} 日本 grün"})
        for query in (f"{TEA} " * 100, f"{TEA}!@#$%^&*()", "日本", "grün", "'; DROP TABLE store; --"):
            assert store.keys(PLACE, query=query) == ["k"], query


@check
def equal_texts_are_two_items(trial: Trial) -> None:
    """Two items with the same text can be put in one batch, and both are found."""
    with trial.fresh() as store:
        store.batch([PutOp(PLACE, key, {"text": TEA}) for key in "ab"])
        assert sorted(store.keys(PLACE, query=TEA)) == ["a", "b"]
