"""What LangGraph's `BaseStore` promises, as checks that any implementation of it can be put through.

Supply a `Trial`: how to open a fresh, empty store, and how its coroutines are brought to their end when it is the
asynchronous calls that are to be checked. Then either let your test runner call each of `CHECKS` with it, or

    problems = failures(Trial(open_store))
    assert not problems

Nothing is skipped: a store that cannot do something fails the checks about it. Where LangGraph's own stores differ from
one another, a check asks for what the documentation of `BaseStore` says or most of them do, else for what we chose; the
reference names the checks that most of them do not pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.testing.langgraph_store import (
    batches,
    filters,
    items,
    lifetimes,
    listing,
    namespaces,
    queries,
)
from recollect.testing.langgraph_store.trial import DEFINED, Calls, Check, OpenStore, Trial

__all__ = ["CHECKS", "SUBJECTS", "Calls", "Check", "OpenStore", "Trial", "failures"]

SUBJECTS = (items, batches, namespaces, listing, filters, queries, lifetimes)
"""The modules with the checks, in the order in which they are told."""
CHECKS = [check for subject in SUBJECTS for check in DEFINED if check.run.__module__ == subject.__name__]
"""All checks."""


def failures(trial: Trial, checks: Iterable[Check] = CHECKS) -> dict[str, Exception]:
    """Run the checks, and return what was raised by those that failed, by their names."""
    failed: dict[str, Exception] = {}
    for check in checks:
        try:
            check.run(trial)
        except Exception as problem:  # noqa: BLE001 - whatever a store raises is the finding
            failed[check.name] = problem
    return failed
