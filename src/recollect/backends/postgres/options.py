"""How the PostgreSQL backend is tuned; the defaults are the promise."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from recollect.domain.errors import InvalidSetting

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,54}")


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """Where the server is, in which schema the tables are, and how long to wait for what."""

    url: str = field(repr=False)
    """`postgresql://…`, as libpq reads it; it may hold a password."""
    schema: str = "recollect"
    """The schema with our tables; nothing else may be in it."""
    keys_schema: str | None = None
    """The schema with the wrapped keys, if they are in the same database: whoever writes then asks both at once."""
    connections: int = 16
    """How many connections one process opens at most, beside the one that listens."""
    group: int = 512
    """How many commits of one tenant may share a transaction."""
    connect_seconds: float = 10.0
    """How long opening a connection may take."""
    lock_seconds: float = 30.0
    """How long to wait for somebody else who writes to the same tenant, or for a free connection."""
    statement_seconds: float = 60.0
    """How long one statement may take."""
    idle_seconds: float = 60.0
    """After how long the server gives up a transaction that a stuck process has left open."""

    partial: bool = False
    """Open data that was only partly copied too: for who goes on with copying."""

    def __post_init__(self) -> None:
        if not _SCHEMA.fullmatch(self.schema):
            raise InvalidSetting(f"{self.schema!r} is not a usable schema name: small letters, digits and '_'")
