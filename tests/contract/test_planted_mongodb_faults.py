"""Faults planted in the MongoDB backend: the checks of the clause that each of them breaks must notice."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.test_planted_faults import without_deletes
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture

from recollect.backends.mongodb import commits, index, leases, ledger, log, reads, schema
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.ledger import Ledger, State
from recollect.domain import planning
from recollect.domain.address import Namespace
from recollect.testing.contract import CHECKS, failures
from recollect.testing.drivers import fresh_folders
from recollect.testing.mongodb import mongo_trial


def plant_any_name(patch: pytest.MonkeyPatch) -> None:
    """Two commits of the same number are both inserted."""
    honest = ledger._document

    def anew(*arguments: object) -> Document:
        made = honest(*arguments)  # type: ignore[arg-type]
        return {**made, "_id": f"{made['_id']}/{secrets.token_hex(4)}"}

    async def always(self: Ledger, state: State) -> bool:
        return True

    patch.setattr(ledger, "_document", anew)
    patch.setattr(ledger, "_FORGET_SECONDS", 0.0)
    patch.setattr(Ledger, "is_newest", always)


def plant_no_unique_slot(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(schema, "_UNIQUE", {})


def plant_unconditional_mark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(index, "_as_read", lambda *_: True)


def plant_prefix_by_pattern(patch: pytest.MonkeyPatch) -> None:
    def pattern(within: Namespace) -> Document:
        return {"$regex": f"^{re.escape(within.encoded)}"}

    patch.setattr(reads, "below", pattern)


def plant_lost_event(patch: pytest.MonkeyPatch) -> None:
    honest = planning.plan_commit
    patch.setattr(commits, "plan_commit", lambda *asked, **known: without_deletes(honest(*asked, **known)))


def plant_drops_untold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commits, "dropped", lambda *_: {})
    patch.setattr(index, "dropped", lambda *_: {})


def plant_put_off_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commits, "NOT_PUT_OFF", {})


def plant_lease_for_everybody(patch: pytest.MonkeyPatch) -> None:
    async def regardless(driver: Driver, name: str) -> tuple[int, None]:
        return secrets.randbits(40), None

    patch.setattr(leases, "_newest", regardless)


def plant_versions_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Only events are looked at when the log is checked."""
    patch.setattr(log, "_check_version", lambda *_: None)


def plant_forgotten_receipts(patch: pytest.MonkeyPatch) -> None:
    async def none(*asked: object) -> None:
        return None

    patch.setattr("recollect.backends.mongodb.writer.known_receipt", none)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "commits of the same number": (plant_any_name, "S4"),
    "missing unique index": (plant_no_unique_slot, "S2"),
    "unconditional index mark": (plant_unconditional_mark, "S37"),
    "prefix by pattern": (plant_prefix_by_pattern, "S14"),
    "lost event": (plant_lost_event, "S25"),
    "drops untold": (plant_drops_untold, "S52"),
    "put off for ever": (plant_put_off_for_ever, "S55"),
    "a lease for everybody": (plant_lease_for_everybody, "S38"),
    "versions unchecked": (plant_versions_unchecked, "S29"),
    "forgotten receipts": (plant_forgotten_receipts, "S7"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_planted_in_mongodb_is_caught(
    fault: str, mongodb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, number = FAULTS[fault]
    plant(monkeypatch)
    fresh = fresh_folders(tmp_path)
    for check in [check for check in CHECKS if number in check.clauses]:
        found = await failures(lambda: mongo_trial(mongodb, fresh(), encrypted=False), [check])
        if found:
            print(f"{fault}: caught by {check.name} ({type(found[check.name]).__name__})")
            return
    pytest.fail("nobody noticed")
