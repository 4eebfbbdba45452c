"""Faults planted in reading and taking over what is stored: the checks of the clause that each breaks must notice."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contract.test_planted_faults import in_memory, in_sqlite
from tests.contract.test_planted_index_faults import caught

from recollect.backends.memory import MemoryStore
from recollect.backends.sqlite import copying
from recollect.domain.stored import Name, Shelf, Stored, StoredEvent, StoredVersion


class BeginsAnew(MemoryStore):
    """Reading on from a name begins at the beginning."""

    # ruff: noqa: ARG002 - what is left out is the fault
    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        async for batch in super().stored(shelf):
            yield batch


class CannotBeCopied(MemoryStore):
    """Declares nothing, and does it all the same."""

    capabilities = frozenset()


class _Altering(MemoryStore):
    def _altered(self, record: Stored) -> Stored:
        return record

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        await super().take_over(shelf, [self._altered(each) for each in records], gone, mark=mark)


class WithoutEntries(_Altering):
    """What the index keeps is left behind."""

    def _altered(self, record: Stored) -> Stored:
        return replace(record, entries=()) if isinstance(record, StoredVersion) else record


class KeptWhole(_Altering):
    """That a version was emptied is forgotten."""

    def _altered(self, record: Stored) -> Stored:
        return replace(record, kept=0) if isinstance(record, StoredEvent) else record


class NoLongerPutOff(_Altering):
    """That a version was put off is forgotten."""

    def _altered(self, record: Stored) -> Stored:
        return replace(record, index_attempts=0, index_after=None) if isinstance(record, StoredVersion) else record


class ForgetsTheMark(MemoryStore):
    """A mark that comes with records is lost."""

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        await super().take_over(shelf, records, gone)


@pytest.mark.parametrize(
    ("store", "number"),
    [
        (BeginsAnew, "S60"),
        (CannotBeCopied, "S60"),
        (WithoutEntries, "S61"),
        (KeptWhole, "S61"),
        (NoLongerPutOff, "S61"),
        (ForgetsTheMark, "S62"),
    ],
)
async def test_a_fault_planted_in_memory_is_caught(store: type[MemoryStore], number: str, tmp_path: Path) -> None:
    assert await caught(in_memory(tmp_path, store), number)


def plant_another_order(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(copying._NAMES, Shelf.EVENTS, ("sequence", "tenant"))


def plant_left_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(copying, "_KEEP_ENTRY", "SELECT ?, ?, ?, ?, ?, ?, ?")


def plant_order_of_arrival(patch: pytest.MonkeyPatch) -> None:
    """Versions are numbered as they come, and so are found in that order."""
    numbers = iter(range(1_000_000, 2_000_000))
    patch.setattr(copying.Taking, "_number", lambda *_: next(numbers))


def plant_rivals_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(copying, "_RIVAL", copying._RIVAL.replace("id <> ?", "id = ?"))


def plant_open_to_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(copying, "check_whole", lambda _: None)


@pytest.mark.parametrize(
    ("plant", "number"),
    [
        (plant_another_order, "S60"),
        (plant_left_entries, "S61"),
        (plant_order_of_arrival, "S61"),
        (plant_rivals_left, "S61"),
        (plant_open_to_all, "S62"),
    ],
)
async def test_a_fault_planted_in_sqlite_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert await caught(in_sqlite(tmp_path), number)
