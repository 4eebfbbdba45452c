"""Whose schema it is, and how far it has come, is known before anything is touched."""

from __future__ import annotations

import threading
from dataclasses import replace

import psycopg
import pytest
from tests.postgres.conftest import Open

from recollect.backends.postgres import PostgresOptions
from recollect.backends.postgres.connections import open_link
from recollect.backends.postgres.schema import STEPS, Step, migrate
from recollect.domain.errors import InvalidSetting, NotAStore, SchemaTooNew, StoreUnavailable
from recollect.testing.postgres import drop_schema


def run(options: PostgresOptions, sql: str) -> None:
    with psycopg.connect(options.url, autocommit=True) as connection:
        connection.execute(sql)


def test_a_schema_of_another_program_is_refused(options: PostgresOptions, opened: Open) -> None:
    run(options, f"CREATE SCHEMA {options.schema}; CREATE TABLE {options.schema}.theirs (n int)")
    with pytest.raises(NotAStore, match="another program"):
        opened()
    run(options, f"DROP TABLE {options.schema}.theirs")
    opened()


def test_a_newer_schema_is_refused(options: PostgresOptions, opened: Open) -> None:
    opened()
    run(options, f"INSERT INTO {options.schema}.recollect_schema (step, post) VALUES (99, true)")
    with pytest.raises(SchemaTooNew):
        opened()


def test_many_who_open_a_new_schema_at_once_make_it_once(options: PostgresOptions, opened: Open) -> None:
    problems: list[BaseException] = []

    def attempt() -> None:
        try:
            opened()
        except BaseException as problem:  # noqa: BLE001 - it is looked at below
            problems.append(problem)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_what_older_programs_need_goes_only_when_told_to(options: PostgresOptions, opened: Open) -> None:
    opened()
    steps = (*STEPS, Step("CREATE TABLE newer (n int)", "ALTER TABLE versions DROP COLUMN value"))
    link = open_link(options)
    migrate(link, options.schema, steps)
    assert link.row("SELECT count(*), count(value) FROM versions") == (0, 0)
    migrate(link, options.schema, steps, finish=True)
    taken = link.rows("SELECT step, post FROM recollect_schema ORDER BY step")
    assert taken == [(number, True) for number in range(1, len(steps) + 1)]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        link.row("SELECT value FROM versions")
    migrate(link, options.schema, steps, finish=True)
    link.close()


def made(options: PostgresOptions) -> list[tuple[str, ...]]:
    """Every column, index and statistic of the schema."""
    link = open_link(options)
    try:
        columns = link.rows(
            "SELECT table_name::text, column_name::text, data_type::text, is_nullable::text, "
            "coalesce(column_default, '') FROM information_schema.columns WHERE table_schema = $1",
            options.schema,
        )
        indexes = link.rows("SELECT indexdef::text FROM pg_indexes WHERE schemaname = $1", options.schema)
        statistics = link.rows(
            "SELECT pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s "
            "JOIN pg_namespace n ON n.oid = s.stxnamespace WHERE n.nspname = $1",
            options.schema,
        )
        told = [tuple(each.replace(f"{options.schema}.", "") for each in row) for row in columns + indexes + statistics]
        return sorted(told)
    finally:
        link.close()


@pytest.mark.parametrize("taken", range(1, len(STEPS)))
def test_an_older_schema_becomes_what_a_fresh_one_is(options: PostgresOptions, opened: Open, taken: int) -> None:
    link = open_link(options)
    migrate(link, options.schema, STEPS[:taken])
    link.close()
    assert len(made(options)) > 50
    older = made(options)
    opened()
    fresh = replace(options, schema=f"{options.schema}_fresh")
    try:
        link = open_link(fresh)
        migrate(link, fresh.schema)
        link.close()
        assert older != made(options) == made(fresh)
    finally:
        drop_schema(options.url, fresh.schema)


def test_a_step_that_fails_leaves_everything_as_it_was(options: PostgresOptions, opened: Open) -> None:
    opened()
    link = open_link(options)
    with pytest.raises(psycopg.errors.UndefinedTable):
        migrate(link, options.schema, (*STEPS, Step("CREATE TABLE newer (n int); DROP TABLE nowhere")))
    assert link.row("SELECT to_regclass('newer')::text") == (None,)
    assert link.rows("SELECT step FROM recollect_schema ORDER BY step") == [(n,) for n in range(1, len(STEPS) + 1)]
    link.close()


@pytest.mark.parametrize("name", ["", "Upper", 'quo"te', "a b", "1st"])
def test_a_schema_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidSetting):
        PostgresOptions("postgresql://", name)


def test_the_password_is_not_shown() -> None:
    assert "hunter2" not in repr(PostgresOptions("postgresql://me:hunter2@server/db"))


def test_a_server_that_is_away_is_said_to_be(opened: Open) -> None:
    away = PostgresOptions("postgresql://me:hunter2@127.0.0.1:1/db", connect_seconds=1)
    with pytest.raises(StoreUnavailable, match="cannot be reached") as refusal:
        opened(other=away)
    assert "hunter2" not in str(refusal.value)
