"""Several operations at once."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import GetOp, InvalidNamespaceError, Item, ListNamespacesOp, Op, PutOp, SearchOp

from recollect.testing.langgraph_store.trial import Trial, check, refused

PLACE = ("batch", "of")


@check
def results_come_in_the_order_of_the_operations(trial: Trial) -> None:
    """A batch gives one result per operation, in their order; a put gives None."""
    with trial.fresh() as store:
        store.put(PLACE, "a", {"n": 1})
        store.put(PLACE, "b", {"n": 2})
        got, put, found, named, missing = store.batch(
            [
                GetOp(PLACE, "a"),
                PutOp(PLACE, "c", {"n": 3}),
                SearchOp(PLACE, filter={"n": 2}),
                ListNamespacesOp(),
                GetOp(PLACE, "nothing"),
            ]
        )
        assert isinstance(got, Item)
        assert got.value == {"n": 1}
        assert (put, missing) == (None, None)
        assert [item.key for item in found] == ["b"]
        assert named == [PLACE]


@check
def a_batch_may_be_empty(trial: Trial) -> None:
    """A batch of nothing gives nothing."""
    with trial.fresh() as store:
        assert store.batch([]) == []


@check
def a_batch_may_be_any_iterable(trial: Trial) -> None:
    """Operations may come from a generator, which can be read only once."""
    with trial.fresh() as store:
        operations: list[Op] = [PutOp(PLACE, "a", {"n": 1}), GetOp(PLACE, "b")]
        assert store.batch(each for each in operations) == [None, None]
        assert store.value(PLACE, "a") == {"n": 1}


@check
def reads_of_a_batch_see_what_was_there_before(trial: Trial) -> None:
    """Reads of a batch see the store as it was before the writes of the same batch, wherever they stand."""
    with trial.fresh() as store:
        store.put(PLACE, "a", {"n": 1})
        results: list[Any] = store.batch(
            [PutOp(PLACE, "a", {"n": 2}), GetOp(PLACE, "a"), PutOp(PLACE, "b", {"n": 3}), SearchOp(PLACE)]
        )
        assert results[1].value == {"n": 1}
        assert [item.key for item in results[3]] == ["a"]
        assert store.value(PLACE, "a") == {"n": 2}


@check
def the_last_write_to_a_key_holds(trial: Trial) -> None:
    """Of several writes to one key in a batch, the last one holds, deletes included."""
    with trial.fresh() as store:
        writes = [("a", {"n": 1}), ("a", {"n": 2}), ("b", {"n": 1}), ("b", None), ("c", None), ("c", {"n": 3})]
        store.batch([PutOp(PLACE, key, value) for key, value in writes])
        assert [store.value(PLACE, key) for key in "abc"] == [{"n": 2}, None, {"n": 3}]


@check
def a_batch_that_is_refused_changes_nothing(trial: Trial) -> None:
    """When one write of a batch is refused, none of them happens."""
    with trial.fresh() as store:
        refused(
            InvalidNamespaceError,
            lambda: store.batch([PutOp(PLACE, "a", {"n": 1}), PutOp(("a.b",), "k", {"n": 2})]),
        )
        assert store.get(PLACE, "a") is None


@check
def large_batches_are_carried_out(trial: Trial) -> None:
    """A batch may have more than a thousand writes."""
    with trial.fresh() as store:
        store.batch([PutOp(PLACE, f"{number:04}", {"n": number}, index=False) for number in range(1_001)])
        assert store.value(PLACE, "0000") == {"n": 0}
        assert store.value(PLACE, "1000") == {"n": 1_000}
