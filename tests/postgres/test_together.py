"""Reads that come together are asked together, and one that fails is nobody else's matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.engines.postgres import needs_postgres

from recollect.backends.postgres import conditions
from recollect.backends.postgres.connections import Link
from recollect.domain.errors import SealBroken
from recollect.domain.filters import parse_filter
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.testing.contract.scenes import TENANT, at, keys_of, put, write, write_one
from recollect.testing.contract.trial import Trial
from recollect.testing.postgres import postgres_trial


@pytest.fixture
async def trial(tmp_path: Path) -> AsyncIterator[Trial]:
    needs_postgres()
    async with postgres_trial(tmp_path, encrypted=True) as opened:
        yield opened


async def test_reads_of_one_turn_are_one_question(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(trial.store, *(put(at("many", key=str(n)), b"%d" % n) for n in range(20)))
    honest, asked = Link.send, list[str]()

    def counted(self: Link, sql: str, *bindings: object) -> object:
        asked.append(sql)
        return honest(self, sql, *bindings)

    monkeypatch.setattr(Link, "send", counted)
    rows = await asyncio.gather(*(trial.store.get(TENANT, at("many", key=str(n % 20))) for n in range(40)))
    assert [row and row.value for row in rows] == [b"%d" % (n % 20) for n in range(40)]
    assert len([sql for sql in asked if "versions" in sql]) == 1


async def test_a_row_that_cannot_be_opened_is_the_matter_of_who_asked(trial: Trial) -> None:
    await write(trial.store, put(at("sound"), b"1"))
    spoilt = await write_one(trial.store, put(at("spoilt"), b"2"))
    assert trial.tamper is not None
    assert spoilt.id is not None
    await trial.tamper.edit_version(TENANT, spoilt.id, "value", bytes(64))
    sound, broken = await asyncio.gather(
        trial.store.get(TENANT, at("sound")), trial.store.get(TENANT, at("spoilt")), return_exceptions=True
    )
    assert isinstance(broken, SealBroken)
    assert not isinstance(sound, BaseException)
    assert sound is not None
    assert sound.value == b"1"


@pytest.mark.parametrize("planted", [False, True])
async def test_a_text_written_in_another_way_is_found(
    trial: Trial, planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if planted:  # what would be missed if a text were only looked for as it is
        monkeypatch.setattr(conditions, "_ESCAPE", "no such text")
    await write(trial.store, put(at("a", key="plain"), policy='{"topic":"food"}'))
    await write(trial.store, put(at("a", key="escaped"), policy='{"topic":"f\\u006fod"}'))
    query = Find(Plane.ITEM, at("a").namespace, parse_filter({"topic": "food"}))
    assert (await keys_of(trial.store, query) == ["escaped", "plain"]) is not planted
