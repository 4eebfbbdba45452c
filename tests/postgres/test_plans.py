"""Which index the server goes by: it looks for no key by going through a whole plane, and sorts no wide scope."""

from __future__ import annotations

import psycopg
from tests.postgres.conftest import Open

from recollect.backends.postgres import PostgresOptions, known
from recollect.backends.postgres.reads import _find_sql
from recollect.domain.commits import Commit
from recollect.domain.instants import Instant
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.sync import drive
from recollect.testing.contract.scenes import TENANT, at, put


def plan(options: PostgresOptions, sql: str, *bindings: object) -> str:
    with psycopg.connect(options.url, cursor_factory=psycopg.RawCursor) as connection:
        connection.execute(f"SET search_path = {options.schema}")
        for way in ("seqscan", "bitmapscan"):
            connection.execute(f"SET enable_{way} = off")
        return "\n".join(line for (line,) in connection.execute(f"EXPLAIN {sql}", bindings).fetchall())


def test_a_key_is_found_by_its_own_index_before_there_are_statistics(options: PostgresOptions, opened: Open) -> None:
    operations = tuple(put(at("many", key=str(n))) for n in range(500))
    drive(opened().commit(Commit(TENANT, operations)))
    said = plan(options, known._NEWEST, TENANT, ["item"], ["many"], ["7"])
    assert "versions_live" in said
    assert "versions_newest" not in said


def test_a_wide_scope_is_gone_through_newest_first(options: PostgresOptions, opened: Open) -> None:
    operations = tuple(put(at("many", key=str(n))) for n in range(1_000))
    drive(opened().commit(Commit(TENANT, operations)))
    with psycopg.connect(options.url, autocommit=True) as connection:
        connection.execute(f"ANALYZE {options.schema}.versions")
    query = Find(Plane.ITEM, at("many").namespace)
    sql, bound = _find_sql(TENANT, query, None, Instant(0), 11, whole=False, wide=True)
    assert "versions_newest" in plan(options, sql, *bound.values)
    sql, bound = _find_sql(TENANT, query, None, Instant(0), 11, whole=False, wide=False)
    assert "versions_newest" not in plan(options, sql, *bound.values)
