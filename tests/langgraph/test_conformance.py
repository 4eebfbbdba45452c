"""Our stores do all that is asked of a LangGraph store, in process and over HTTP, in both forms of the calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import Op, Result, SearchOp
from tests.langgraph import subjects

from recollect.testing.langgraph_store import CHECKS, SUBJECTS, Check, Trial, failures
from recollect.testing.servers import Server
from recollect_client.langgraph import RecollectStore

WHERE = ["memory-sync", "memory-async", "sqlite-sync", "sqlite-async", "http-sync", "http-async"]
SAMPLE = {"reading_prolongs_a_life", "finding_prolongs_a_life", "a_store_says_whether_reading_prolongs"}
"""Of those that have to wait for real time to pass, the ones that always run."""


def cases() -> Iterator[object]:
    """Every check everywhere; those that would wait long for a server run in full with the large counts."""
    for where in WHERE:
        for check in CHECKS:
            waits = where.startswith("http") and check.subject == "lifetimes"
            rare = waits and (check.name not in SAMPLE or where == "http-async")
            yield pytest.param(where, check, id=f"{where}-{check}", marks=[pytest.mark.soak] if rare else [])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@contextmanager
def trial_of(where: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Trial]:
    place, _, form = where.partition("-")
    asynchronous = form == "async"
    if place == "http":
        with subjects.over_http(request.getfixturevalue("server"), asynchronous=asynchronous) as trial:
            yield trial
    else:
        with subjects.in_process(folder if place == "sqlite" else None, asynchronous=asynchronous) as trial:
            yield trial


@pytest.mark.parametrize(("where", "check"), list(cases()))
def test_our_store_does_what_is_asked_of_it(
    where: str, check: Check, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with trial_of(where, tmp_path, request) as trial:
        check.run(trial)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_store_below_a_root_does_the_same(asynchronous: bool) -> None:
    with subjects.in_process(None, asynchronous=asynchronous, root=("user", "alice")) as trial:
        assert failures(trial) == {}


# -- the checks themselves


def test_every_check_has_a_name_and_a_sentence_of_its_own() -> None:
    assert len(CHECKS) > 80
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert len({check.sentence for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence.endswith(".") and "\n" not in check.sentence for check in CHECKS)
    assert {check.run.__module__ for check in CHECKS} == {subject.__name__ for subject in SUBJECTS}


class FiltersTooLate(RecollectStore):
    """A store that cuts before it filters."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        for op in ops:
            if isinstance(op, SearchOp):
                cut: Any = super().batch([op._replace(filter=None)])[0]
                kept: Any = super().batch([op._replace(limit=1_000, offset=0)])[0]
                results.append([item for item in cut if item in kept])
            else:
                results += super().batch([op])
        return results


class RefusesNothing(RecollectStore):
    """A store that answers nothing where it should refuse."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        wished = list(ops)
        try:
            return super().batch(wished)
        except ValueError:
            return [None for _ in wished]


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (FiltersTooLate, {"a_filter_comes_before_the_cut", "a_filter_comes_before_the_cut_of_a_query"}),
        (RefusesNothing, {"a_bad_namespace_in_a_batch_is_refused", "unknown_operators_are_refused"}),
    ],
)
def test_a_store_that_is_wrong_is_caught(broken: type[RecollectStore], caught: set[str]) -> None:
    with subjects.in_process(None, asynchronous=False, kind=broken) as trial:
        failed = failures(trial, [check for check in CHECKS if check.subject != "lifetimes"])
    assert caught <= failed.keys()
    assert len(failed) < 12
