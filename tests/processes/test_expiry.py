"""Four processes sweep one PostgreSQL, without taking turns, and the log tells of every expiry once: S33."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.lifetimes import check_told_once, opened, sweep_together, whole_log
from tests.sizes import sized

PROCESSES = 4


@pytest.fixture
def four() -> Iterator[Crew]:
    crew = Crew(PROCESSES)
    yield crew
    crew.dismiss()


@sized(300, 5_000)
def test_four_processes_that_sweep_tell_of_every_expiry_once(
    count: int, database: str, four: Crew, tmp_path: Path
) -> None:
    print(f"expiry: {sweep_together(four, PROCESSES, 1, tmp_path, database, count)}")


TWICE = """
INSERT INTO events
    (tenant, sequence, kind, plane, namespace, key, row_id, revision, at, actor, detail, digest, previous, hash)
SELECT tenant, sequence + 1, kind, plane, namespace, key, row_id, revision, at, actor, detail, digest, previous, hash
FROM events WHERE tenant = 'default' ORDER BY sequence DESC LIMIT 1;
UPDATE tenants SET sequence = sequence + 1 WHERE tenant = 'default'
"""
NEVER = "UPDATE events SET kind = 'delete' WHERE tenant = 'default' AND kind = 'expired'"


@pytest.mark.parametrize("sql", [TWICE, NEVER], ids=["told twice", "never told"])
def test_an_expiry_that_is_not_told_once_is_found(sql: str, database: str, tmp_path: Path) -> None:
    with opened(tmp_path, database) as memories:
        memories.put(("mortal",), "0", {}, ttl=0.001)
        while memories.search(("mortal",)):
            pass
        memories.sweep()
        assert check_told_once(whole_log(memories), 1) == 1
        with psycopg.connect(database, options="-c search_path=recollect") as other:
            other.execute(sql.encode())
        with pytest.raises(AssertionError):
            check_told_once(whole_log(memories), 1)
