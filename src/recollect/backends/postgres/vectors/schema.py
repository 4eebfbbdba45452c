"""The tables of vectors and words, the extension they need, and the indexes that find what is near.

`memory_words` has a row for each version, whether it has vectors or not; what was removed leaves its row, empty, with
the number of the removal. `memory_vectors` has a row for each vector, and repeats what a scope asks about, so that the
walk through an index need not look elsewhere. Both name a line by the number that `lines` gives it.

What in the attributes is a moment is kept beside them as a number. Filters compare numbers exactly, but JSONB does not
know a float from a whole number, which matters where they are very large: such attributes are also kept as text.

Models have different dimensions, so there is an index for each of them, made when its first vector comes.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import BEGINNING
from recollect.backends.postgres.schema import Step
from recollect.backends.postgres.schema import migrate as taken
from recollect.domain.errors import EngineTooOld, InvalidSetting

EXTENSION = "vector"
OLDEST = (0, 8)
"""Before it, an index gives up after the first few, however few of them are in scope."""
WIDEST = 2_000
"""An index cannot have vectors of a higher dimension; with numbers of half the size, twice that."""
SMALL = 10_000
"""Up to so many vectors are indexed while writers wait; more are indexed beside them."""

_PENDING = "gin_pending_list_limit = 512"
"""How many kilobytes of new words wait to be sorted in; every search looks through those that wait."""
_FIRST = f"""
CREATE TABLE lines (
    line        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    plane       text COLLATE "C" NOT NULL,
    series      bigint NOT NULL,
    model       text COLLATE "C" NOT NULL,
    dimension   integer NOT NULL,
    upto        bigint,
    followed_at bigint,
    UNIQUE (tenant, plane, series, model, dimension)
);

CREATE TABLE memory_words (
    line              bigint NOT NULL,
    memory_id         bytea NOT NULL,
    number            bigint NOT NULL,
    removed_at        bigint,
    namespace         text COLLATE "C" NOT NULL,
    policy_attributes jsonb NOT NULL,
    exact_attributes  text COLLATE "C",
    moments           jsonb,
    expires_at        bigint,
    archived          boolean NOT NULL,
    length            integer NOT NULL,
    words             bigint[] NOT NULL,
    counts            bytea NOT NULL,
    PRIMARY KEY (line, memory_id)
);
CREATE INDEX memory_words_scope ON memory_words (line, {BEGINNING}) WHERE removed_at IS NULL;
CREATE INDEX memory_words_words ON memory_words USING gin (words) WITH ({_PENDING}) WHERE removed_at IS NULL;
CREATE INDEX memory_words_attributes ON memory_words USING gin (policy_attributes jsonb_path_ops)
    WITH ({_PENDING}) WHERE removed_at IS NULL AND policy_attributes <> '{{}}';
CREATE INDEX memory_words_removed ON memory_words (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE memory_vectors (
    line              bigint NOT NULL,
    memory_id         bytea NOT NULL,
    piece             integer NOT NULL,
    field_name        text COLLATE "C" NOT NULL,
    dimension         integer NOT NULL,
    namespace         text COLLATE "C" NOT NULL,
    policy_attributes jsonb NOT NULL,
    exact_attributes  text COLLATE "C",
    moments           jsonb,
    expires_at        bigint,
    archived          boolean NOT NULL,
    embedding         vector NOT NULL,
    PRIMARY KEY (line, memory_id, piece)
);
"""
STEPS: tuple[Step, ...] = (Step(_FIRST),)
"""Step n takes the schema from n to n + 1. Steps are added, never changed."""

_INSTALLED = """
SELECT e.extversion, s.nspname FROM pg_extension e JOIN pg_namespace s ON s.oid = e.extnamespace WHERE e.extname = $1
"""
_HAS_PUBLIC = "SELECT 1 FROM pg_namespace WHERE nspname = 'public'"
_TELL = "it is the extension pgvector that keeps vectors"


def home_of_extension(link: Link) -> str:
    """The schema in which the extension is; it is created if need be, and refused when it is too old."""
    found = link.row(_INSTALLED, EXTENSION)
    if found is None:
        _create_extension(link)
        found = link.row(_INSTALLED, EXTENSION)
    if found is None:
        raise InvalidSetting(f"the database does not have pgvector; run CREATE EXTENSION {EXTENSION} in it")
    version, home = found
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise EngineTooOld(
            f"pgvector {version} is too old; {needed} or newer is needed: "
            f"install it, then run ALTER EXTENSION {EXTENSION} UPDATE in the database"
        )
    return str(home)


def _create_extension(link: Link) -> None:
    """Create it where it outlives our schema; who creates it at the same time waits."""
    try:
        link.send("BEGIN")
        link.send("SELECT pg_advisory_xact_lock(hashtextextended('recollect extension', 0))")
        place = " WITH SCHEMA public" if link.row(_HAS_PUBLIC) else ""
        link.connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}{place}", prepare=False)
        link.send("COMMIT")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as problem:
        raise InvalidSetting(
            f"the PostgreSQL server does not have pgvector: {_TELL}; install it on the server's machine "
            "(its package is named like postgresql-16-pgvector), or use an image that has it"
        ) from problem
    except psycopg.errors.InsufficientPrivilege as problem:
        database = link.connection.info.dbname
        raise InvalidSetting(
            f"the database user may not install pgvector: {_TELL}; "
            f"have an administrator run CREATE EXTENSION {EXTENSION} in the database {database}"
        ) from problem
    finally:
        if not link.is_idle and not link.connection.broken:
            link.send("ROLLBACK")


def migrate(link: Link, schema: str) -> None:
    """Make the tables, or bring them to where this program can use them."""
    taken(link, schema, STEPS)


# -- an index for each dimension


def is_indexable(dimension: int, *, half: bool) -> bool:
    """True when there can be an index for vectors of this dimension; others are all compared."""
    return 0 < dimension <= (2 * WIDEST if half else WIDEST)


def indexed(dimension: int, *, half: bool) -> str:
    """What is indexed for a dimension, as statements must say it."""
    return f"embedding::{'halfvec' if half else 'vector'}({dimension})"


_VALID = """
SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relname = $2
"""
_SOME = f"SELECT count(*) FROM (SELECT 1 FROM memory_vectors WHERE dimension = $1 LIMIT {SMALL + 1}) AS few"


def make_index(link: Link, schema: str, dimension: int, *, half: bool) -> bool:
    """Make the index for a dimension unless there is one, or somebody else makes it; True when there is one now."""
    name = f"memory_vectors_near_{dimension}{'_half' if half else ''}"
    if link.row(_VALID, schema, name) == (True,):
        return True
    lock = f"hashtextextended('recollect {schema} {name}', 0)"
    if link.row(f"SELECT pg_try_advisory_lock({lock})") != (True,):
        return False
    try:
        known = link.row(_VALID, schema, name)
        if known == (True,):
            return True
        operators = "halfvec_ip_ops" if half else "vector_ip_ops"
        made = f"{name} ON memory_vectors USING hnsw (({indexed(dimension, half=half)}) {operators})"
        made += f" WHERE dimension = {dimension}"
        count = link.row(_SOME, dimension)
        if known is None and count is not None and count[0] <= SMALL:
            _run(link, f"CREATE INDEX {made}")
        else:
            _make_beside(link, name, made)
        return True
    finally:
        if not link.connection.broken:
            link.send(f"SELECT pg_advisory_unlock({lock})")


_BUILDING = {
    "statement_timeout": "0",
    "lock_timeout": "0",  # it waits for every transaction of the database that has begun before
    "maintenance_work_mem": "512MB",  # an index that does not fit is made many times as slowly
    "max_parallel_maintenance_workers": "0",  # they would share memory, of which a container often has too little
}


def _make_beside(link: Link, name: str, made: str) -> None:
    """Make it while others write, however long that takes; what an attempt before has left is removed first."""
    before = {setting: link.rows("SELECT current_setting($1)", setting)[0][0] for setting in _BUILDING}
    _set(link, _BUILDING)
    _run(link, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    _run(link, f"CREATE INDEX CONCURRENTLY {made}")
    _set(link, before)


def _set(link: Link, settings: Mapping[str, str]) -> None:
    for setting, value in settings.items():
        link.send("SELECT set_config($1, $2, false)", setting, value)


def _run(link: Link, statement: str) -> None:
    link.connection.execute(statement, prepare=False)
