"""What the author of a backend supplies to the suite, and how a check says which promise it proves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recollect.domain.address import Address
from recollect.ports.store import Store
from recollect.testing.doubles import ManualClock

Stored = str | int | bytes | None
"""A field as engines store it: enumerations by their value, namespaces by their encoding."""


class Tamper(Protocol):
    """Alters what is stored behind the store's back, so that `verify` has something to find.

    Fields are named as in `domain.events.Event` and `domain.planning.Version`, with `plane`, `namespace`
    and `key` in place of the address. Setting a field back to what it was must undo the alteration.
    """

    async def edit_event(self, tenant: str, sequence: int, field: str, value: Stored) -> None:
        """Give one field of an event another value."""
        ...

    async def delete_event(self, tenant: str, sequence: int) -> None:
        """Take an event out of the log."""
        ...

    async def swap_events(self, tenant: str, one: int, other: int) -> None:
        """Let two events change places: each keeps everything but its sequence."""
        ...

    async def truncate(self, tenant: str, after: int, *, move_head: bool) -> None:
        """Cut off every event after a sequence with the versions they opened; if asked, move the head as well."""
        ...

    async def edit_version(self, tenant: str, row_id: bytes, field: str, value: Stored) -> None:
        """Give one field of a stored version another value."""
        ...

    async def delete_version(self, tenant: str, row_id: bytes) -> None:
        """Take a stored version away."""
        ...


@dataclass(slots=True)
class Trial:
    """A fresh, empty store, and what the checks need around it."""

    store: Store
    clock: ManualClock
    """The clock that the store, and every other instance on the same data, was given."""
    second: Callable[[], Awaitable[Store]]
    """Another instance on the same data, open at the same time; the same object when there can be only one."""
    reopen: Callable[[], Awaitable[Store]]
    """Close the store and open its data anew; the same object when nothing outlives it."""
    force_second_live: Callable[[str, Address], Awaitable[None]]
    """Write a second live version below all checks but the backend's own structure; must be refused (S2)."""
    tamper: Tamper
    open_backup: Callable[[Path], Awaitable[Store]] | None
    """Open a backup on its own; None exactly when the store does not declare `backup`."""
    scratch: Path
    """A directory for backups."""


MakeTrial = Callable[[], AbstractAsyncContextManager[Trial]]
CheckFunction = Callable[[Trial], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One proof: the clauses it cites, and the function that raises when a store does not keep them."""

    clauses: tuple[str, ...]
    name: str
    run: CheckFunction


CHECKS: list[Check] = []
"""Every check of the suite, in the order of their definition."""


def clause(*numbers: str) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check as a proof of these clauses."""

    def register(run: CheckFunction) -> CheckFunction:
        name = getattr(run, "__name__", "")
        if not name or any(check.name == name for check in CHECKS):
            raise ValueError(f"two checks are called {name!r}")
        CHECKS.append(Check(numbers, name, run))
        return run

    return register


def clauses_of(docstring: str | None, letter: str) -> list[str]:
    """The numbered clauses that a port's docstring opens lines with, in their order."""
    return re.findall(rf"^({letter}\d+) ", docstring or "", re.MULTILINE)
