"""Whether a database has our schemas, what is to be done to them, and doing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.backends.postgres.connections import Link, open_link, translating
from recollect.backends.postgres.keystore import STEPS as KEY_STEPS
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.schema import STEPS, Step, steps_done
from recollect.backends.postgres.schema import migrate as migrate_schema
from recollect.domain.errors import SchemaTooNew
from recollect.ports.engines import Migration


@contextmanager
def linked(options: PostgresOptions) -> Iterator[Link]:
    """A connection for a few questions."""
    with translating():
        link = open_link(options)
        try:
            yield link
        finally:
            link.close()


def is_there(options: PostgresOptions) -> bool:
    """True when the schema has our tables."""
    with linked(options) as link:
        return bool(steps_done(link, options.schema))


def holds_data(options: PostgresOptions) -> bool:
    """True when somebody has ever written there."""
    with linked(options) as link:
        if not steps_done(link, options.schema):
            return False
        return link.row("SELECT 1 FROM tenants WHERE sequence > 0 LIMIT 1") is not None


def migration(options: PostgresOptions, keys: PostgresOptions) -> Migration:
    """What is to be done, for memories and for keys."""
    first: list[str] = []
    later: list[str] = []
    for each, steps in ((options, STEPS), (keys, KEY_STEPS)):
        with linked(each) as link:
            done = steps_done(link, each.schema)
        if len(done) > len(steps):
            what = f"the schema {each.schema} has step {len(done)}; this program knows up to {len(steps)}"
            raise SchemaTooNew(what, schema=len(done))
        if not done:
            first.append(f"make the schema {each.schema}")
            continue
        first += [f"step {number} in the schema {each.schema}" for number in range(len(done) + 1, len(steps) + 1)]
        later += [f"the second part of step {number} in {each.schema}" for number in _unfinished(done, steps)]
    return Migration(tuple(first), tuple(later))


def _unfinished(done: list[bool], steps: tuple[Step, ...]) -> list[int]:
    return [
        number for number, step in enumerate(steps, 1) if step.post and (number > len(done) or not done[number - 1])
    ]


def migrate(options: PostgresOptions, keys: PostgresOptions, finish: bool) -> None:
    """Make or upgrade both schemas."""
    for each, steps in ((options, STEPS), (keys, KEY_STEPS)):
        with linked(each) as link:
            migrate_schema(link, each.schema, steps, finish=finish)
