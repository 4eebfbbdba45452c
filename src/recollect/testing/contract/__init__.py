"""The contract of the Store port as checks that any backend can be put through.

Supply a `MakeTrial`: a function without arguments that returns an async context manager around a fresh
`Trial`. Then either let your test runner call each of `CHECKS` on a trial of its own, or

    problems = await failures(make_trial)
    assert not problems

Nothing is skipped: a capability that a backend does not declare must be refused with `Unsupported`, and
the check of its clause proves that.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.testing.contract import (
    archiving,
    copying,
    erasing,
    importing,
    indexing,
    log,
    reading,
    relabelling,
    searching,
    stamping,
    tampering,
    upkeep,
    writing,
)
from recollect.testing.contract.trial import CHECKS, Check, MakeTrial, Tamper, Trial, clause, clauses_of

__all__ = ["CHECKS", "SUBJECTS", "Check", "MakeTrial", "Tamper", "Trial", "clause", "clauses_of", "failures"]

SUBJECTS = (
    writing,
    reading,
    searching,
    log,
    tampering,
    upkeep,
    erasing,
    archiving,
    importing,
    stamping,
    relabelling,
    indexing,
    copying,
)
"""The modules with the checks, in the order of the clauses."""


async def failures(make_trial: MakeTrial, checks: Iterable[Check] = CHECKS) -> dict[str, Exception]:
    """Run every check on a fresh trial, and return what was raised by those that failed, by their names."""
    failed: dict[str, Exception] = {}
    for check in checks:
        try:
            async with make_trial() as trial:
                await check.run(trial)
        except Exception as problem:  # noqa: BLE001 - whatever a backend raises is the finding
            failed[check.name] = problem
    return failed
