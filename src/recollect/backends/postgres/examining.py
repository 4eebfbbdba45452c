"""What a doctor wants to know of a PostgreSQL server: whether it is one that data can be trusted to."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from recollect.backends.postgres.connections import OLDEST_SERVER, Link
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.schema import STEPS, steps_done
from recollect.backends.postgres.upgrades import linked
from recollect.ports.engines import Examined, Level, Symptom, skew

_INDEXES = """
SELECT c.relname, i.indisvalid AND i.indisready FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1
"""
_COLLATED = """
SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace s ON s.oid = c.relnamespace JOIN pg_collation l ON l.oid = a.attcollation
WHERE s.nspname = $1 AND c.relkind = 'r' AND a.attname IN ('tenant', 'namespace', 'key') AND l.collname <> 'C'
"""
_ROOM = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
"""
_READ_ONLY = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"
_KEYS = "SELECT count(*) FROM keys"


def examine(options: PostgresOptions, keys: PostgresOptions, *, vectors: bool = False) -> Examined:
    """Everything that can be found out from here; with `vectors`, those are to be searched here, too."""
    with linked(options) as link:
        found = [_version(link), _clock(link), _role(link), _room(link, options), *_durability(link)]
        found.append(_vectors(link, wanted=vectors))
        if not steps_done(link, options.schema):
            what = f"the schema {options.schema} is not there yet"
            found.append(Symptom("schema", "warning", what, "Run `recollect migrate`, or `recollect serve`."))
            return tuple(found)
        found += [_indexes(link, options.schema), _collation(link, options.schema)]
        written = link.row("SELECT 1 FROM tenants WHERE sequence > 0 LIMIT 1") is not None
    with linked(keys) as link:
        kept = link.row(_KEYS) if steps_done(link, keys.schema) else None
    found.append(_wrapped(keys.schema, 0 if kept is None else int(kept[0]), written=written))
    return tuple(found)


def _version(link: Link) -> Symptom:
    number = link.connection.info.server_version
    text = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if number < OLDEST_SERVER:
        return Symptom("database", "failure", f"{text} is too old", "Upgrade the server to PostgreSQL 14 or newer.")
    return Symptom("database", "ok", text)


def _clock(link: Link) -> Symptom:
    before = time.time()
    found = link.row("SELECT extract(epoch FROM clock_timestamp())::float8")
    return skew(float(found[0]) if found else before, before, time.time())


def _role(link: Link) -> Symptom:
    standby, read_only = link.row(_READ_ONLY) or (False, False)
    if standby:
        return Symptom("role", "failure", "the server is a standby and takes no writes", "Name the primary in `store`.")
    if read_only:
        advice = "Let the database user write: see `default_transaction_read_only`."
        return Symptom("role", "failure", "the server takes no writes from this user", advice)
    return Symptom("role", "ok", "takes writes")


def _room(link: Link, options: PostgresOptions) -> Symptom:
    most, used = link.row(_ROOM) or (0, 0)
    wanted = options.connections + 2
    what = f"{used} of {most} in use; each process of ours opens up to {wanted}"
    if most < wanted:
        return Symptom("connections", "failure", what, "Raise `max_connections` of the server.")
    if most - used < wanted:
        return Symptom("connections", "warning", what, "Raise `max_connections` of the server, or run fewer processes.")
    return Symptom("connections", "ok", what)


def _durability(link: Link) -> Iterator[Symptom]:
    risks: tuple[tuple[str, Level, str], ...] = (
        ("fsync", "failure", "a crash of the machine can destroy the data"),
        ("full_page_writes", "failure", "a crash of the machine can damage pages"),
        ("synchronous_commit", "warning", "a crash can lose what was acknowledged a moment before"),
    )
    off = [each for each in risks if link.row("SELECT current_setting($1)", each[0]) == ("off",)]
    for name, level, risk in off:
        yield Symptom("durability", level, f"{name} is off: {risk}", f"Set `{name} = on` at the server.")
    if not off:
        yield Symptom("durability", "ok", "fsync, full_page_writes and synchronous_commit are on")


def _vectors(link: Link, *, wanted: bool) -> Symptom:
    found = link.row("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if found is not None:
        return Symptom("vectors", "ok", f"pgvector {found[0]}")
    if wanted:
        advice = "Run `CREATE EXTENSION vector` in the database, or leave the setting `vectors` out."
        return Symptom("vectors", "warning", "pgvector is not installed, but the setting `vectors` asks for it", advice)
    return Symptom("vectors", "ok", "pgvector is not installed; nothing asks for it")


def _indexes(link: Link, schema: str) -> Symptom:
    scripts = " ".join(step.pre for step in STEPS)
    there: dict[str, bool] = dict(link.rows(_INDEXES, schema))
    missing = [name for name in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", scripts) if name not in there]
    broken = [name for name, valid in there.items() if not valid]
    if missing or broken:
        what = "; ".join(
            f"{word}: {', '.join(sorted(names))}"
            for word, names in (("missing", missing), ("invalid", broken))
            if names
        )
        return Symptom("indexes", "failure", what, "Make missing ones anew, and run REINDEX for those not valid.")
    return Symptom("indexes", "ok", f"all {len(there)} are there and valid")


def _collation(link: Link, schema: str) -> Symptom:
    wrong = [name for (name,) in link.rows(_COLLATED, schema)]
    if wrong:
        what = f"not compared byte by byte: {', '.join(wrong)}"
        return Symptom("collation", "failure", what, 'Copy the data to a new database; these must be COLLATE "C".')
    return Symptom("collation", "ok", "names are compared byte by byte")


def _wrapped(schema: str, keys: int, *, written: bool) -> Symptom:
    if written and not keys:
        what = f"there is data, but no wrapped keys are in the schema {schema}"
        return Symptom("wrapped keys", "failure", what, "Bring that schema back: nothing can be read without it.")
    return Symptom("wrapped keys", "ok", f"{keys:,} in the schema {schema}")
