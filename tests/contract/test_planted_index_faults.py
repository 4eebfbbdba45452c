"""Faults planted in what the index keeps: the checks of the clause that each of them breaks must notice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.test_planted_faults import in_memory, in_sqlite

from recollect.backends.memory import MemoryStore
from recollect.backends.memory.entries import Index
from recollect.backends.memory.shelf import Tenant
from recollect.backends.sqlite import commits, entries
from recollect.domain.address import Namespace
from recollect.domain.planning import Ending, Version
from recollect.domain.reasons import Plane
from recollect.domain.retention import Swept
from recollect.ports.store import EntryPage, Reflected
from recollect.testing.contract import CHECKS, MakeTrial, failures


class KeptWhateverHappened(MemoryStore):
    """An entry is kept although its version ended since it was read."""

    def _reflect(self, tenant: str, series: int, reflected: Reflected) -> bool:
        mark, entry = reflected.mark, reflected.entry
        version = self._tenant(tenant).by_id.get(mark.id)
        if version is not None and mark.live and entry and version.ended_at is not None:
            self._tenant(tenant).index.keep(version, series, self._sealed(tenant, version, f"index.{series}", entry))
            return True
        return super()._reflect(tenant, series, reflected)


class DropsUntold(MemoryStore):
    """Who reads on does not hear of what was dropped."""

    async def entry_changes(
        self, tenant: str, plane: Plane, within: Namespace, series: int, since: int, *, limit: int = 1_000
    ) -> EntryPage:
        page = await super().entry_changes(tenant, plane, within, series, since, limit=limit)
        return EntryPage([each for each in page.entries if each.content], page.upto, page.after, page.more)


class PutOffForEver(MemoryStore):
    """What was put off stays so although it ended."""

    def _end(self, tenant: Tenant, version: Version, ending: Ending) -> None:
        waiting = dict(tenant.index.waiting)
        super()._end(tenant, version, ending)
        tenant.index.waiting.update(waiting)


class AllSeriesDropped(MemoryStore):
    """Dropping one series drops all of them."""

    async def drop_series(self, tenant: str, series: int, *, limit: int = 1_000) -> Swept:
        swept = await super().drop_series(tenant, series, limit=limit)
        self._tenant(tenant).index = Index()
        return swept


def plant_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entries, "_LIVE", entries._LIVE.replace("AND ended_at IS NULL", "AND ?3 IS ?3"))


def plant_untold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entries, "_CHANGED", entries._CHANGED.replace("ORDER BY", "AND e.content IS NOT NULL ORDER BY"))


def plant_put_off(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commits, "_END", commits._END.replace("index_after = NULL", "index_after = index_after"))


def plant_all_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entries, "_SERIES", entries._SERIES.replace("series = ?", "(series = ? OR 1)"))


FAULTS: dict[str, tuple[type[MemoryStore], Callable[[pytest.MonkeyPatch], None], str]] = {
    "kept whatever happened": (KeptWhateverHappened, plant_kept, "S52"),
    "drops untold": (DropsUntold, plant_untold, "S54"),
    "put off for ever": (PutOffForEver, plant_put_off, "S55"),
    "all series dropped": (AllSeriesDropped, plant_all_dropped, "S57"),
}


async def caught(make_trial: MakeTrial, number: str) -> dict[str, Exception]:
    return await failures(make_trial, [check for check in CHECKS if number in check.clauses])


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_planted_in_memory_is_caught(fault: str, tmp_path: Path) -> None:
    store, _, number = FAULTS[fault]
    assert await caught(in_memory(tmp_path, store), number)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_planted_in_sqlite_is_caught(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plant, number = FAULTS[fault]
    plant(monkeypatch)
    assert await caught(in_sqlite(tmp_path), number)
