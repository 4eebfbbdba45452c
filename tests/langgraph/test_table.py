"""The table of LangGraph's stores is about the checks as they are, and says what a run of them says."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tests.engines.postgres import fresh_database
from tests.langgraph import subjects
from tools import generate_langgraph as table

from recollect.testing.langgraph_store import CHECKS, Trial, failures

PAGE = table.PAGE.read_text()
BY_CHANCE = {"many_can_use_it_at_once"}
"""What a store may get right or wrong, as its threads happen to run."""


def told() -> dict[str, frozenset[str]]:
    """Which checks each store fails, as the page says it."""
    rows = {line.split("`")[1]: line for line in PAGE.splitlines() if line.startswith("| `")}
    columns = {name: [cell.strip() for cell in row.rsplit("|", 5)[1:-1]] for name, row in rows.items()}
    return {
        store: frozenset(name for name, cells in columns.items() if cells[place] != "✓")
        for place, store in enumerate(table.STORES)
    }


def test_the_page_is_what_the_checks_and_the_reasons_say_now() -> None:
    """Run `make table` when it is not."""
    assert table.page(told()) == PAGE


def test_our_store_passes_every_check() -> None:
    assert told()["RecollectStore"] == frozenset()


def test_every_difference_has_its_reason() -> None:
    assert not any(table.unexplained(told()).values())
    assert table.unexplained({"SqliteStore": frozenset({"what_is_put_is_got"})}) == {
        "SqliteStore": {"what_is_put_is_got"}
    }


def test_every_reason_is_about_a_check() -> None:
    named = {name for reasons in table.WHY.values() for names in reasons.values() for name in names.split()}
    assert named <= {check.name for check in CHECKS}


@pytest.mark.parametrize(
    "store",
    [
        "InMemoryStore",
        pytest.param("SqliteStore", marks=pytest.mark.soak),
        pytest.param("PostgresStore", marks=pytest.mark.soak),
    ],
)
def test_the_page_says_what_a_run_says(store: str) -> None:
    with ExitStack() as stack:
        assert frozenset(failures(trial_of(store, stack))) - BY_CHANCE == told()[store] - BY_CHANCE


def trial_of(store: str, stack: ExitStack) -> Trial:
    if store == "InMemoryStore":
        return stack.enter_context(subjects.memory())
    if store == "SqliteStore":
        return stack.enter_context(subjects.sqlite())
    return stack.enter_context(subjects.postgres(stack.enter_context(fresh_database())))
