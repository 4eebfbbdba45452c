"""Put LangGraph's own stores and ours through the checks of a store, and write into the reference where they differ."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tests.engines.postgres import fresh_database
from tests.langgraph import subjects

from recollect.testing.langgraph_store import CHECKS, failures

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "langgraph-stores.md"
STORES = ("RecollectStore", "InMemoryStore", "SqliteStore", "PostgresStore")
PACKAGES = ("langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres")
Failed = Mapping[str, frozenset[str]]
"""By store: the names of the checks that it failed."""

_HOW_TO_READ = (
    "What a LangGraph store does, as the checks in `recollect.testing.langgraph_store` ask it, and which stores do it. "
    "The checks were written for `RecollectStore`, so it passes them all. Where LangGraph's own stores differ, they "
    "ask for what the documentation of `BaseStore` says or for what most of them do, and else for what we chose, which "
    "is listed below. `RecollectStore` stands for both of our stores, in process and over HTTP, which the tests hold "
    "to all of it. Written by `make table`."
)
_LIMITS = (
    "## What lies outside of the checks\n\n"
    "- Keys must not be empty, and have at most 1,024 bytes; so have labels. Namespaces have at most 10 labels, the "
    "root included, unless the setting `max_depth` says otherwise. See [limits](limits.md).\n"
    "- Values are JSON: NaN, dates and NUL characters are refused with `InvalidValue` instead of being changed.\n"
    "- A query ranks the best 1,000 of a scope. What comes after them is found without a query, or in a narrower "
    "scope.\n"
    "- More than 1,000 writes of one batch are not carried out all at once, but in parts of 1,000.\n"
    "- Reading an item that has a `ttl` writes it again, to prolong its life: the event log tells of an update. "
    "`refresh_ttl=False` reads without writing. A caller who may not write reads all the same, and prolongs nothing."
)
_HOW_KNOWN = (
    "These reasons are ours, from reading the code of the stores. LangGraph's stores counted words in place of a "
    "model. Lifetimes were 1.5 seconds: with whole minutes, which were not measured, `PostgresStore` may pass more."
)
WHY: dict[str, dict[str, str]] = {
    "InMemoryStore": {
        "It has no lifetimes: `ttl` is refused, and lifetimes of the store have no effect.": (
            "what_has_expired_is_gone without_a_ttl_nothing_expires reading_prolongs_a_life finding_prolongs_a_life "
            "reading_need_not_prolong_a_life a_store_has_a_lifetime_of_its_own a_store_says_whether_reading_prolongs "
            "writing_begins_a_new_life reading_is_no_update a_batch_has_lifetimes_too"
        ),
        "Operations of a batch are not checked, so labels with a dot are stored.": (
            "a_batch_that_is_refused_changes_nothing a_bad_namespace_in_a_batch_is_refused"
        ),
        "Comparisons turn both sides into floats: text and what is missing raise an error, and `true` equals 1.": (
            "what_is_missing_is_neither_more_nor_less text_is_compared_as_text types_are_not_mixed true_is_not_one "
            "not_equal_leaves_out_what_is_missing"
        ),
        "A put makes the item anew, and values are shared with the caller.": (
            "the_time_of_creation_is_kept values_are_not_shared"
        ),
        "Items come in the order in which they were first put, and a prefix that is a list finds nothing.": (
            "the_last_updated_comes_first a_prefix_may_be_a_list"
        ),
        "A namespace that was read or emptied is listed.": "namespaces_without_items_are_not_listed",
        "What has no vector fills up the answer to a query; a put with `index=False` keeps the old vector.": (
            "what_is_not_indexed_is_not_found an_update_can_take_an_item_out_of_the_index "
            "what_was_deleted_is_not_found_again"
        ),
        "Two equal texts in one batch raise an error.": "equal_texts_are_two_items",
        "Threads that write disturb a search that is under way.": "many_can_use_it_at_once",
    },
    "SqliteStore": {
        "What has expired is shown until it is swept, whatever `omit_expired` says.": (
            "what_has_expired_is_gone without_a_ttl_nothing_expires reading_prolongs_a_life finding_prolongs_a_life "
            "reading_need_not_prolong_a_life a_store_has_a_lifetime_of_its_own a_store_says_whether_reading_prolongs "
            "writing_begins_a_new_life a_batch_has_lifetimes_too"
        ),
        "Times are whole seconds without a zone, so what was put within a second comes in any order.": (
            "times_have_a_zone the_last_updated_comes_first reading_is_no_update"
        ),
        "A put makes the item anew.": "the_time_of_creation_is_kept",
        "Filters go by SQLite's types and paths: `true` is 1, a dot leads into a value, not every name is allowed.": (
            "types_are_not_mixed true_is_not_one a_dot_is_part_of_a_name awkward_names_are_exact"
        ),
        "A plain object in a filter is taken for operators.": "objects_are_looked_into",
        "Vectors outlive a put with `index=False`, and a delete.": (
            "an_update_can_take_an_item_out_of_the_index what_was_deleted_is_not_found_again"
        ),
        "A page far down a query is empty.": "pages_of_a_query_meet_everything_once",
    },
    "PostgresStore": {
        "Comparisons go by text, so 9 is more than 10.": (
            "numbers_are_compared_as_numbers what_is_missing_is_neither_more_nor_less types_are_not_mixed"
        ),
        "Null does not equal what is missing.": "null_equals_what_is_missing",
        "A plain object in a filter is taken for operators.": "objects_are_looked_into",
        "A life is prolonged by whole minutes, and the checks count in seconds: fractions are lost.": (
            "reading_prolongs_a_life finding_prolongs_a_life a_store_says_whether_reading_prolongs "
            "reading_is_no_update a_batch_has_lifetimes_too"
        ),
        "Vectors outlive a put with `index=False`.": "an_update_can_take_an_item_out_of_the_index",
        "A page far down a query is empty.": "pages_of_a_query_meet_everything_once",
    },
}
"""Why a store fails the checks that are named, as far as it is known."""


def measured() -> dict[str, frozenset[str]]:
    """Put every store through every check."""
    found: dict[str, frozenset[str]] = {}
    with subjects.in_process(None, asynchronous=False) as ours:
        found["RecollectStore"] = frozenset(failures(ours))
    with subjects.memory() as memory:
        found["InMemoryStore"] = frozenset(failures(memory))
    with subjects.sqlite() as sqlite:
        found["SqliteStore"] = frozenset(failures(sqlite))
    with fresh_database() as url, subjects.postgres(url) as postgres:
        found["PostgresStore"] = frozenset(failures(postgres))
    return found


def page(failed: Failed) -> str:
    """The tables, subject by subject, and why stores differ."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    passed = [f"{store} {len(CHECKS) - len(failed[store])} of {len(CHECKS)}" for store in STORES]
    parts = ["# LangGraph stores", _HOW_TO_READ, f"Measured with {versions}: {', '.join(passed)}."]
    for subject in dict.fromkeys(check.subject for check in CHECKS):
        rows = [["check", *STORES], ["---"] * (len(STORES) + 1)]
        for check in CHECKS:
            if check.subject == subject:
                cells = ["✗" if check.name in failed[store] else "✓" for store in STORES]
                rows.append([f"`{check.name}`: {check.sentence}", *cells])
        parts.append(f"## {subject.capitalize()}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    parts += [
        _chosen(failed),
        _LIMITS,
        "## Why they differ",
        _HOW_KNOWN,
        *(_reasons(store, failed[store]) for store in STORES[1:]),
    ]
    return "\n\n".join(parts) + "\n"


def _chosen(failed: Failed) -> str:
    """The checks that most of LangGraph's own stores do not pass."""
    counts = {check.name: sum(check.name not in failed[store] for store in STORES[1:]) for check in CHECKS}
    lines = []
    for count, what in ((0, "None of LangGraph's stores passes"), (1, "One of LangGraph's stores passes")):
        names = [f"`{name}`" for name, passed in counts.items() if passed == count]
        lines.append(f"- {what} ({len(names)}): {', '.join(names)}.")
    return "## What most of them do not do\n\n" + "\n".join(lines)


def _reasons(store: str, failed: frozenset[str]) -> str:
    lines = []
    for why, names in WHY[store].items():
        concerned = [f"`{name}`" for name in names.split() if name in failed]
        if concerned:
            lines.append(f"- {why} ({', '.join(concerned)})")
    return f"### {store}\n\n" + "\n".join(lines)


def unexplained(failed: Failed) -> dict[str, set[str]]:
    """Checks that a store fails without a word about why."""
    told = {store: {name for names in reasons.values() for name in names.split()} for store, reasons in WHY.items()}
    return {store: set(names - told.get(store, set())) for store, names in failed.items()}


def main() -> int:
    """Run the checks and write the page; our own store must pass them all, and every difference needs its reason."""
    failed = measured()
    PAGE.write_text(page(failed))
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent.parent)}")
    left = {store: names for store, names in unexplained(failed).items() if names}
    if left:
        print(f"without a reason: {left}", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
