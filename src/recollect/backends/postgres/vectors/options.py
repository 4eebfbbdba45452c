"""How vectors in PostgreSQL are tuned; the defaults are the promise."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.backends.postgres.options import PostgresOptions


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """Where the server is, in which schema the vectors are, and how they are indexed."""

    url: str = field(repr=False)
    """`postgresql://…`, as libpq reads it; it may hold a password. It may be the store's own database."""
    schema: str = "recollect_vectors"
    """The schema with our tables; nothing else may be in it."""
    half: bool = False
    """Whether indexes have numbers of half the size, which makes them half as large and finds nearly the same."""
    connections: int = 8
    """How many connections one process opens at most."""
    connect_seconds: float = 10.0
    """How long opening a connection may take."""
    lock_seconds: float = 30.0
    """How long to wait for somebody else who writes the same versions, or for a free connection."""
    statement_seconds: float = 60.0
    """How long one statement may take; making an index may take longer."""

    def __post_init__(self) -> None:
        self.of_links()

    def of_links(self) -> PostgresOptions:
        """The same for connections; a name that is no schema's is refused."""
        return PostgresOptions(
            self.url,
            self.schema,
            connections=self.connections,
            connect_seconds=self.connect_seconds,
            lock_seconds=self.lock_seconds,
            statement_seconds=self.statement_seconds,
        )
