"""Searches without a query: where they look, in which order, and in which pages."""

from __future__ import annotations

from langgraph.store.base import PutOp, SearchItem

from recollect.testing.langgraph_store.trial import Trial, check

PLACE = ("notes", "ann")


@check
def a_search_looks_at_and_below_a_namespace(trial: Trial) -> None:
    """A search finds what lies in a namespace or below it, by whole labels."""
    with trial.fresh() as store:
        places = [("user", "al"), ("user", "alice"), ("user", "alice", "sub"), ("user", "aliced"), ("other", "alice")]
        for place in places:
            store.put(place, "k", {"n": 1})
        found = {item.namespace for item in store.search(("user", "alice"))}
        assert found == {("user", "alice"), ("user", "alice", "sub")}
        assert len(store.search(("user",))) == 4
        assert len(store.search(())) == 5
        assert store.search(("us",)) == []


@check
def a_prefix_may_be_a_list(trial: Trial) -> None:
    """A prefix may be a list of labels as well as a tuple."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"n": 1})
        assert store.keys(["notes"]) == ["k"]
        assert store.list_namespaces(prefix=["notes"]) == [PLACE]


@check
def what_is_found_is_told_whole(trial: Trial) -> None:
    """What a search finds has namespace, key, value and times as `get` tells them, and no score without a query."""
    with trial.fresh() as store:
        store.put(PLACE, "k", {"text": "tea", "list": [1]})
        (found,) = store.search(PLACE)
        item = store.get(PLACE, "k")
        assert isinstance(found, SearchItem)
        assert item is not None
        assert (found.namespace, found.key, found.value) == (PLACE, "k", {"text": "tea", "list": [1]})
        assert (found.created_at, found.updated_at) == (item.created_at, item.updated_at)
        assert found.score is None


@check
def the_last_updated_comes_first(trial: Trial) -> None:
    """Without a query, what was updated last comes first."""
    with trial.fresh() as store:
        for key in "abc":
            store.put(PLACE, key, {"n": 1})
            trial.pass_time(0.01)
        assert store.keys(PLACE) == ["c", "b", "a"]
        store.put(PLACE, "a", {"n": 2})
        assert store.keys(PLACE) == ["a", "c", "b"]


@check
def ten_are_found_unless_more_are_asked_for(trial: Trial) -> None:
    """A search finds ten items unless `limit` says otherwise, up to all there are."""
    with trial.fresh() as store:
        store.batch([PutOp(PLACE, f"{number:03}", {"n": number}, index=False) for number in range(230)])
        assert len(store.search(PLACE)) == 10
        assert len(store.search(PLACE, limit=3)) == 3
        assert len(store.search(PLACE, limit=500)) == 230
        assert store.search(PLACE, limit=0) == []


@check
def pages_meet_everything_once(trial: Trial) -> None:
    """Pages by `limit` and `offset` meet every item exactly once, and nothing lies beyond the last."""
    with trial.fresh() as store:
        for number in range(25):
            store.put(PLACE, f"{number:02}", {"n": number}, index=False)
        whole = store.keys(PLACE, limit=100)
        paged = [key for offset in range(0, 30, 7) for key in store.keys(PLACE, limit=7, offset=offset)]
        assert sorted(whole) == [f"{number:02}" for number in range(25)]
        assert paged == whole
        assert store.search(PLACE, offset=25) == []


@check
def a_filter_comes_before_the_cut(trial: Trial) -> None:
    """`limit` and `offset` count what the filter lets through, however many items it does not."""
    with trial.fresh() as store:
        store.put(PLACE, "first", {"wanted": True}, index=False)
        store.put(PLACE, "second", {"wanted": True}, index=False)
        store.batch([PutOp(PLACE, f"{number:03}", {"wanted": False}, index=False) for number in range(150)])
        assert sorted(store.keys(PLACE, filter={"wanted": True}, limit=2)) == ["first", "second"]
        one = store.keys(PLACE, filter={"wanted": True}, limit=1)
        other = store.keys(PLACE, filter={"wanted": True}, limit=1, offset=1)
        assert sorted([*one, *other]) == ["first", "second"]
        assert store.keys(PLACE, filter={"wanted": True}, offset=2) == []
