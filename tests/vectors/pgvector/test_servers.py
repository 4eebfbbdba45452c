"""What only concerns vectors in PostgreSQL: the extension, the schema, several who begin at once, and interruptions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
import pytest
from tests.engines.postgres import needs_postgres
from tests.vectors.pgvector.conftest import OpenVectors

from recollect.backends.memory import MemoryVectors
from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions, schema, store
from recollect.domain.errors import EngineTooOld, InvalidSetting, NotAStore, SchemaTooNew, VectorsUnavailable
from recollect.domain.filters import parse_filter
from recollect.ports.vectors import Followed
from recollect.testing.contract.vectors import LINE, NOW, SCOPE, VECTOR_CHECKS, VectorCheck, point, row, unit
from recollect.testing.postgres import fresh_schema, postgres_vectors_trial


def run(options: VectorOptions, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(options.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {options.schema}, public")
        cursor = connection.execute(sql, values)
        return cursor.fetchall() if cursor.description else []


def pids_of(vectors: PostgresVectors) -> list[int]:
    return [link.connection.info.backend_pid for link in vectors._pool._all]


# -- the index


@pytest.mark.parametrize(
    "check",
    [check for name, check in VECTOR_CHECKS.items() if name != "v4_none_is_missed_in_a_small_scope"],
    ids=lambda check: check.__name__,
)
def test_the_promises_hold_when_every_scope_is_taken_for_large(
    check: VectorCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_postgres()
    monkeypatch.setattr(store, "SMALL", -1)
    with postgres_vectors_trial() as trial:
        check(trial)


def indexes(options: VectorOptions) -> list[str]:
    sql = "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE '%%hnsw%%' ORDER BY 1"
    return [name for (name,) in run(options, sql, options.schema)]


def test_each_dimension_has_an_index_and_half_numbers_another(options: VectorOptions, opened: OpenVectors) -> None:
    vectors, half = opened(), opened(replace(options, half=True))
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    wide = replace(LINE, series=2, dimension=12)
    vectors.write(wide, 1, [replace(point(2), paths=("text",), vectors=np.eye(1, 12, dtype=np.float32))], [], NOW)
    half.write(LINE, 2, [point(1, unit(1))], [], NOW)
    assert indexes(options) == ["memory_vectors_near_12", "memory_vectors_near_8", "memory_vectors_near_8_half"]


def test_vectors_too_wide_for_an_index_are_compared(opened: OpenVectors, options: VectorOptions) -> None:
    vectors, wide = opened(), replace(LINE, dimension=schema.WIDEST + 1)
    near = np.eye(2, wide.dimension, dtype=np.float32)
    vectors.write(wide, 1, [replace(point(n), paths=("text",), vectors=near[n : n + 1]) for n in range(2)], [], NOW)
    assert [found for found, _ in vectors.nearest(wide, SCOPE, near[1], 2)] == [row(1), row(0)]
    assert indexes(options) == []


def test_what_is_large_is_indexed_beside_the_writers(
    options: VectorOptions, opened: OpenVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = opened()
    vectors._dimensions.add(LINE.dimension)
    vectors.write(LINE, 1, [point(each, unit(1, each)) for each in range(30)], [], NOW)
    assert indexes(options) == []
    monkeypatch.setattr(schema, "SMALL", 10)
    monkeypatch.setattr(store, "SMALL", 5)
    again = opened()
    again.write(LINE, 1, [point(30, unit(1, 30))], [], NOW)
    assert indexes(options) == ["memory_vectors_near_8"]
    assert [found for found, _ in again.nearest(LINE, SCOPE, unit(1), 5)] == [row(each) for each in range(5)]
    assert again._do(lambda link: link.row("SHOW statement_timeout")) == ("1min",)


def test_an_index_that_was_never_finished_is_made_anew(options: VectorOptions, opened: OpenVectors) -> None:
    opened().write(LINE, 1, [point(1, unit(1))], [], NOW)
    run(options, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'memory_vectors_near_8'::regclass")
    opened().write(LINE, 1, [point(2, unit(1))], [], NOW)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'memory_vectors_near_8'::regclass"
    assert run(options, valid) == [(True,)]


def test_many_vectors_of_few_versions_do_not_hide_others(opened: OpenVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SMALL", -1)
    vectors = opened()
    crowd = [unit(1, each / 1_000) for each in range(200)]
    vectors.write(LINE, 1, [point(1, *crowd), *(point(each, unit(0.1, each)) for each in range(2, 30))], [], NOW)
    found = [each for each, _ in vectors.nearest(LINE, SCOPE, unit(1), 10)]
    assert found == [row(each) for each in range(1, 11)]


# -- filters


_VALUES: list[Any] = [
    None, True, False, 0, -0.0, 1, 1.0, 0.1, -5, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, float(2**63),
    1e23, 1e300, -1e300, 1e-300,
    "", "1", "a", "é", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00.000001+01:00", "2026-01-01 no moment",
    [], ["a", 1], [1, 5], ["2025-01-01T00:00:00Z", "2027-01-01T00:00:00z"], [1e300, 2],
]  # fmt: skip
_RANGES = ["$gt", "$gte", "$lt", "$lte"]
_BOUNDS: list[Any] = [
    0, 0.1, 1, -5, 2**53, 2**53 + 1, 2**63 - 1, 1e23, 1e300, 1e-300, float(2**63),
    "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z",
]  # fmt: skip


def test_filters_mean_the_same_for_every_kind_of_value(opened: OpenVectors) -> None:
    vectors, reference = opened(), MemoryVectors()
    points = [
        replace(point(number, unit(1)), policy_attributes=json.dumps({"a.b-c": value, "other": number}))
        for number, value in enumerate(_VALUES)
    ]
    points.append(point(len(_VALUES), unit(1)))
    asked: list[Any] = [{"$exists": True}, {"$exists": False}]
    asked += [{operator: bound} for operator in _RANGES for bound in _BOUNDS]
    asked += [{o: v} for o in ("$eq", "$ne") for v in _VALUES if v is not None and not isinstance(v, list)]
    asked += [{"$in": ["a", 2**63 - 1]}, {"$in": [each for each in _VALUES if isinstance(each, int | float)]}]
    for each in (vectors, reference):
        each.write(LINE, 1, points, [], NOW)
    for condition in asked:
        scope = replace(SCOPE, filter=parse_filter({"a.b-c": condition}))
        found = [sorted(i for i, _ in each.nearest(LINE, scope, unit(1), 100)) for each in (vectors, reference)]
        assert found[0] == found[1], condition


# -- the extension


def test_a_server_without_the_extension_is_refused(opened: OpenVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "EXTENSION", "vector_of_nowhere")
    with pytest.raises(InvalidSetting, match="does not have pgvector"):
        opened()


def test_an_extension_that_is_too_old_is_refused(opened: OpenVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST", (99, 0))
    with pytest.raises(EngineTooOld, match=r"99\.0 or newer is needed.*ALTER EXTENSION vector UPDATE"):
        opened()


@pytest.fixture
def empty_database() -> Iterator[str]:
    """A database that has nothing, and who may do nothing in it but make schemas."""
    url, name = needs_postgres(), fresh_schema()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_extension_is_created_where_it_is_missing(empty_database: str, opened: OpenVectors) -> None:
    vectors = opened(VectorOptions(empty_database))
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    vectors.close()
    with psycopg.connect(empty_database) as connection:
        found = connection.execute("SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'")
        assert found.fetchone() == ("public",)


def test_who_may_not_create_the_extension_is_told_who_can(
    empty_database: str, opened: OpenVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise psycopg.errors.InsufficientPrivilege("permission denied to create extension")

    honest = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any, **options: Any) -> Any:
        return refuse() if "CREATE EXTENSION" in str(query) else honest(self, query, *rest, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    with pytest.raises(InvalidSetting, match="an administrator run CREATE EXTENSION vector in the database t"):
        opened(VectorOptions(empty_database))


# -- the schema


def test_a_schema_of_another_program_is_refused(options: VectorOptions, opened: OpenVectors) -> None:
    run(options, f"CREATE SCHEMA {options.schema}; CREATE TABLE {options.schema}.theirs (n int)")
    with pytest.raises(NotAStore, match="another program"):
        opened()


def test_a_newer_schema_is_refused(options: VectorOptions, opened: OpenVectors) -> None:
    opened()
    run(options, "INSERT INTO recollect_schema (step, post) VALUES (99, true)")
    with pytest.raises(SchemaTooNew):
        opened()


def test_what_somebody_removed_is_made_anew(options: VectorOptions, opened: OpenVectors) -> None:
    vectors = opened()
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    vectors.follow(LINE, Followed(1, NOW))
    run(options, f"DROP SCHEMA {options.schema} CASCADE")
    with pytest.raises(VectorsUnavailable, match="tables are missing"):
        vectors.followed(LINE)
    assert vectors.followed(LINE) is None
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    assert [found for found, _ in vectors.nearest(LINE, SCOPE, unit(1), 5)] == [row(1)]
    assert indexes(options) == ["memory_vectors_near_8"]


# -- several at once


def test_many_threads_that_begin_at_once_make_everything_once(options: VectorOptions, opened: OpenVectors) -> None:
    def begin(number: int) -> None:
        opened().write(LINE, 1, [point(number, unit(1))], [], NOW)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(begin, range(6)))
    assert len(opened().nearest(LINE, SCOPE, unit(1), 10)) == 6
    assert indexes(options) == ["memory_vectors_near_8"]


_BEGINS = """
import sys
from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions
from recollect.testing.contract.vectors import LINE, NOW, point, unit
vectors = PostgresVectors(VectorOptions(sys.argv[1], sys.argv[2]))
vectors.write(LINE, 1, [point(int(sys.argv[3]), unit(1))], [], NOW)
vectors.close()
"""


def test_processes_that_begin_at_once_make_everything_once(options: VectorOptions, opened: OpenVectors) -> None:
    begun = [
        subprocess.Popen([sys.executable, "-c", _BEGINS, options.url, options.schema, str(number)])
        for number in range(3)
    ]
    assert [each.wait(120) for each in begun] == [0, 0, 0]
    assert len(opened().nearest(LINE, SCOPE, unit(1), 10)) == 3


def test_of_writers_that_meet_the_highest_number_wins_everywhere(options: VectorOptions, opened: OpenVectors) -> None:
    vectors = opened()

    def work(number: int) -> None:
        points = [point(each, unit(1, number), words={number: 1}) for each in range(40)]
        vectors.write(LINE, number, points if number % 2 else points[::-1], [], NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [3, 9, 1, 12, 5, 7, 2, 11]))
    assert vectors.statistics(LINE, SCOPE, [12]).having == {12: 40}
    found = vectors.nearest(LINE, SCOPE, unit(1, 12), 100)
    assert len(found) == 40
    assert min(score for _, score in found) > 0.999
    assert run(options, "SELECT count(*) FROM memory_vectors") == [(40,)]


def test_forgetting_while_others_write_leaves_nothing_behind(options: VectorOptions, opened: OpenVectors) -> None:
    vectors = opened()

    def work(turn: int) -> None:
        if turn % 3 == 0:
            vectors.forget(LINE)
        else:
            vectors.write(LINE, 1, [point(turn, unit(1), words={7: 1})], [], NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(60)))
    for table in ("memory_words", "memory_vectors"):
        assert run(options, f"SELECT count(*) FROM {table} WHERE line NOT IN (SELECT line FROM lines)") == [(0,)]
    vectors.forget(LINE)
    assert run(options, "SELECT count(*) FROM memory_words") == run(options, "SELECT count(*) FROM lines") == [(0,)]


# -- interruptions


@pytest.mark.parametrize(
    "call",
    [
        lambda vectors: vectors.nearest(LINE, SCOPE, unit(1), 5),
        lambda vectors: vectors.write(LINE, 2, [point(1, unit(1))], [], NOW),
        lambda vectors: vectors.statistics(LINE, SCOPE, []),
        lambda vectors: vectors.follow(LINE, Followed(2, NOW)),
    ],
    ids=["nearest", "write", "statistics", "follow"],
)
def test_it_goes_on_after_every_connection_broke(
    call: Callable[[PostgresVectors], object], options: VectorOptions, opened: OpenVectors
) -> None:
    vectors = opened()
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    for pid in pids_of(vectors):
        run(options, "SELECT pg_terminate_backend(%s, 5000)", pid)
    call(vectors)


def test_a_server_that_is_away_is_told_when_something_is_asked(opened: OpenVectors) -> None:
    away = opened(VectorOptions("postgresql://me:hunter2@127.0.0.1:1/db", connect_seconds=1))
    with pytest.raises(VectorsUnavailable, match="cannot be reached") as refusal:
        away.followed(LINE)
    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(VectorOptions("postgresql://me:hunter2@server/db"))


def test_a_statement_that_takes_too_long_is_given_up(options: VectorOptions, opened: OpenVectors) -> None:
    vectors = opened(replace(options, statement_seconds=0.2))
    with pytest.raises(VectorsUnavailable, match="took too long"):
        vectors._do(lambda link: link.rows("SELECT pg_sleep(5)"))
    assert vectors.followed(LINE) is None


@pytest.mark.parametrize("name", ["", "Upper", 'quo"te'])
def test_a_schema_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidSetting):
        VectorOptions("postgresql://", name)
