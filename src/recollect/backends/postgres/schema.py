"""The tables, and how an older schema becomes a newer one.

Within a tenant, `sequence` orders versions like the log does. It is taken, like `change`, from the tenant's own row,
which every writer locks first: so numbers are given in the order in which transactions commit, and who reads on
after a number misses nothing. What the search index dropped leaves an entry without content, so that those who keep
entries in memory hear of it.

The statistics tell the planner how many rows a scope and a filter leave, which it does not find out by itself. An index
of live versions alone would be taken for finding a single key before there are any, however many it has to go through;
so the one that gives the newest first is of all, by an expression that nobody else uses.

An entry of an index has a most of about 2,700 bytes, and an encoded namespace may be longer. So namespaces are
indexed by their beginning; what lies beyond it only counts, hashed, where something must be unique.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import BEGINNING, SHELF
from recollect.domain.errors import NotAStore, SchemaTooNew

_WHOLE = "(CASE WHEN length(namespace) <= 1000 THEN ''::bytea ELSE sha256(namespace::bytea) END)"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `pre` adds what newer programs need, `post` removes what only older ones did."""

    pre: str
    post: str = ""


_FIRST = f"""
CREATE TABLE tenants (
    tenant       text COLLATE "C" PRIMARY KEY,
    sequence     bigint NOT NULL DEFAULT 0,
    hash         bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    trimmed      bigint NOT NULL DEFAULT 0,
    trimmed_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    change       bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE versions (
    id                bytea PRIMARY KEY,
    tenant            text COLLATE "C" NOT NULL,
    plane             text COLLATE "C" NOT NULL,
    namespace         text COLLATE "C" NOT NULL,
    key               text COLLATE "C" NOT NULL,
    revision          bigint NOT NULL,
    sequence          bigint NOT NULL,
    created_at        bigint NOT NULL,
    written_at        bigint NOT NULL,
    expires_at        bigint,
    ended_at          bigint,
    end_reason        text COLLATE "C",
    ended_sequence    bigint,
    pinned_sequence   bigint,
    index_state       text COLLATE "C" NOT NULL,
    index_attempts    integer NOT NULL DEFAULT 0,
    index_after       bigint,
    archived          integer NOT NULL DEFAULT 0,
    index_fields      text COLLATE "C",
    policy_attributes text COLLATE "C" NOT NULL,
    attributes        bytea,
    value             bytea
);
CREATE UNIQUE INDEX versions_live ON versions (tenant, plane, {BEGINNING}, key, {_WHOLE})
    WHERE ended_at IS NULL;
CREATE UNIQUE INDEX versions_past ON versions (tenant, plane, {BEGINNING}, key, revision, {_WHOLE})
    WHERE ended_at IS NOT NULL;
CREATE INDEX versions_attributes ON versions USING gin ((policy_attributes::jsonb) jsonb_path_ops)
    WHERE ended_at IS NULL AND policy_attributes <> '{{}}';
CREATE INDEX versions_expiring ON versions (tenant, expires_at) WHERE ended_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX versions_unindexed ON versions (tenant, sequence) WHERE index_state = 'pending';
CREATE INDEX versions_indexed ON versions (tenant, sequence) WHERE ended_at IS NULL AND index_state = 'done';
CREATE INDEX versions_ended ON versions (tenant, end_reason, ended_at) WHERE ended_at IS NOT NULL AND value IS NOT NULL;
CREATE INDEX versions_empty ON versions (tenant, ended_at) WHERE ended_at IS NOT NULL AND value IS NULL;

CREATE TABLE events (
    tenant     text COLLATE "C" NOT NULL,
    sequence   bigint NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    plane      text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    row_id     bytea NOT NULL,
    revision   bigint NOT NULL,
    at         bigint NOT NULL,
    expires_at bigint,
    actor      text COLLATE "C" NOT NULL,
    detail     text COLLATE "C" NOT NULL,
    digest     bytea NOT NULL,
    previous   bytea NOT NULL,
    hash       bytea NOT NULL,
    kept       integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, sequence)
);

CREATE TABLE receipts (
    tenant      text COLLATE "C" NOT NULL,
    lookup      bytea NOT NULL,
    fingerprint bytea NOT NULL,
    receipt     bytea NOT NULL,
    at          bigint NOT NULL,
    PRIMARY KEY (tenant, lookup)
);
CREATE INDEX receipts_at ON receipts (tenant, at);

CREATE TABLE erasures (
    tenant   text COLLATE "C" NOT NULL,
    id       bytea NOT NULL,
    subject  text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    hash     bytea NOT NULL,
    at       bigint NOT NULL,
    versions bigint NOT NULL,
    live     bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE leases (
    name       text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C" NOT NULL,
    fence      bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE entries (
    tenant    text COLLATE "C" NOT NULL,
    sequence  bigint NOT NULL,
    series    bigint NOT NULL,
    change    bigint NOT NULL,
    id        bytea NOT NULL,
    plane     text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    content   bytea,
    detail    bytea,
    PRIMARY KEY (id, series)
);
CREATE UNIQUE INDEX entries_change ON entries (tenant, change);
CREATE INDEX entries_scope ON entries (tenant, series, plane, {BEGINNING}, sequence);
"""

_NEWEST_FIRST = f"""
CREATE INDEX versions_newest ON versions ({SHELF}, sequence);
CREATE STATISTICS versions_shelves ON {SHELF} FROM versions;
CREATE STATISTICS versions_places ON ({BEGINNING}) FROM versions;
CREATE STATISTICS versions_labels ON ((policy_attributes::jsonb)) FROM versions;
"""

STEPS: tuple[Step, ...] = (Step(_FIRST), Step(_NEWEST_FIRST))
"""Step n takes the schema from n to n + 1. Steps are added, never changed."""

_NOTES = """
CREATE TABLE recollect_schema (
    step integer PRIMARY KEY,
    post boolean NOT NULL
)
"""


_TABLES = "SELECT 1 FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1"
"""Asked of the catalogue itself: what looks a name up may remember that there was none."""


def migrate(link: Link, schema: str, steps: tuple[Step, ...] = STEPS, *, finish: bool = False) -> None:
    """Bring the schema to where this program can use it; refuse one that is another program's, or too new.

    What older programs may still need goes only when asked to `finish`: once none of them is running.
    """
    done = steps_done(link, schema)
    fresh = not done
    if len(done) == len(steps) and (all(done) or not finish):
        return
    link.send("BEGIN")
    try:
        link.send("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"recollect {schema}")
        done = steps_done(link, schema)
        if len(done) > len(steps):
            raise SchemaTooNew(
                f"the data has schema {len(done)}; this program knows up to {len(steps)}", schema=len(done)
            )
        if not done:
            _begin(link, schema)
        for number, step in enumerate(steps, 1):
            if number > len(done):
                _run(link, step.pre)
                link.send("INSERT INTO recollect_schema (step, post) VALUES ($1, false)", number)
            if (fresh or finish) and not (number <= len(done) and done[number - 1]):
                _run(link, step.post)
                link.send("UPDATE recollect_schema SET post = true WHERE step = $1", number)
        link.send("COMMIT")
    except BaseException:
        if not link.connection.broken:
            link.send("ROLLBACK")
        raise


def steps_done(link: Link, schema: str) -> list[bool]:
    """For every step that was taken, in order, whether its second part was too."""
    if link.row(f"{_TABLES} AND c.relname = 'recollect_schema'", schema) is None:
        return []
    return [bool(post) for (post,) in link.rows("SELECT post FROM recollect_schema ORDER BY step")]


def _begin(link: Link, schema: str) -> None:
    if link.row(_TABLES, schema) is not None:
        raise NotAStore(f"the schema {schema} belongs to another program; name another one")
    if link.row("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema) is None:
        _run(link, f'CREATE SCHEMA "{schema}"')
    _run(link, _NOTES)


def _run(link: Link, script: str) -> None:
    if script:
        link.connection.execute(script, prepare=False)
