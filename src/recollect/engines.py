"""Which database server the setting `store` names, and what can be done with one; its driver is loaded only then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from recollect.config import Settings
from recollect.config.settings import PGVECTOR
from recollect.domain.errors import InvalidSetting
from recollect.ports.engines import Examined, Migration
from recollect.ports.keys import KeyStore
from recollect.ports.store import Store

SQLITE = "sqlite:///"
MONGODB = ("mongodb://", "mongodb+srv://")
POSTGRES = ("postgresql://", "postgres://")
PATIENCE_SECONDS = 900.0
"""How long a server may take to answer when everything is copied: it may have to look through all there is."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A database server that keeps memories, log and wrapped keys."""

    name: str
    store: Callable[..., Store]
    """Opens the memories; with more patience if `copied`, and if `partial`, also those that are only partly there."""
    keys: Callable[[], KeyStore]
    is_there: Callable[[], bool]
    """True when the memories have a place on the server, even an empty one; nothing is made by asking."""
    holds_data: Callable[[], bool]
    """True when somebody has ever written there."""
    migration: Callable[[], Migration]
    """What is to be done to the schema, if anything."""
    migrate: Callable[[bool], None]
    """Make or upgrade the schema; with True, remove what only older programs needed."""
    examine: Callable[[], Examined]
    """What a doctor wants to know of the server."""


def is_server(url: str) -> bool:
    """True for what names a server, and not a file."""
    return url.startswith((*MONGODB, *POSTGRES))


def shown(url: str) -> str:
    """The URL without what is secret in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def engine_of(url: str, settings: Settings) -> Engine:
    """The server that a URL names."""
    return _mongodb(url, settings) if url.startswith(MONGODB) else _postgres(url, settings)


def _postgres(url: str, settings: Settings) -> Engine:
    try:
        from recollect.backends.postgres import PostgresKeyStore, PostgresOptions, PostgresStore, examining
        from recollect.backends.postgres.upgrades import holds_data, is_there, migrate, migration
    except ImportError:
        raise InvalidSetting("store: PostgreSQL needs its driver; install recollect[postgres]") from None
    options = PostgresOptions(url, lock_seconds=settings.busy_seconds, group=settings.group_size)
    keys = replace(options, schema=f"{options.schema}_keys")

    def opened(*, copied: bool = False, partial: bool = False, **given: Any) -> Store:
        patient = replace(options, statement_seconds=PATIENCE_SECONDS) if copied else options
        return PostgresStore(replace(patient, partial=partial, keys_schema=keys.schema), **given)

    return Engine(
        "PostgreSQL",
        opened,
        partial(PostgresKeyStore, keys),
        partial(is_there, options),
        partial(holds_data, options),
        partial(migration, options, keys),
        partial(migrate, options, keys),
        partial(examining.examine, options, keys, vectors=_searched_here(url, settings)),
    )


def _searched_here(url: str, settings: Settings) -> bool:
    """True when the setting `vectors` names this very server."""
    return settings.vectors is not None and settings.vectors.reveal() in (PGVECTOR, url)


def _mongodb(url: str, settings: Settings) -> Engine:
    try:
        from recollect.backends.mongodb import MongoKeyStore, MongoOptions, MongoStore, examining
        from recollect.backends.mongodb.schema import holds_data, is_there, migrate, migration
    except ImportError:
        raise InvalidSetting("store: MongoDB needs its driver; install recollect[mongodb]") from None
    named = urlsplit(url).path.strip("/") or "recollect"
    options = MongoOptions(url, database=named, busy_seconds=settings.busy_seconds)

    def opened(*, copied: bool = False, partial: bool = False, **given: Any) -> Store:
        patient = replace(options, timeout_seconds=PATIENCE_SECONDS) if copied else options
        return MongoStore(replace(patient, partial=partial), **given)

    return Engine(
        "MongoDB",
        opened,
        partial(MongoKeyStore, options),
        partial(is_there, options),
        partial(holds_data, options),
        partial(migration, options),
        partial(migrate, options),
        partial(examining.examine, options),
    )
