"""How the MongoDB backend is tuned; the defaults are the promise."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.domain.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class MongoOptions:
    """Which server and database, and how patiently it is used."""

    url: str = field(repr=False)
    """A connection string, `mongodb://` or `mongodb+srv://`; it may hold a password, so it is never shown."""
    database: str = "recollect"
    timeout_seconds: float = 20.0
    """How long one question to the server may take, the search for a server included."""
    busy_seconds: float = 30.0
    """How long to try again while others are always first."""
    patience_seconds: float = 0.25
    """How long to wait for whoever made a commit to finish it, before finishing it in their place."""
    turns: str = ""
    """Stores of one process with the same word here take turns in writing; for tests that play several processes."""

    partial: bool = False
    """Open data that was only partly copied too: for who goes on with copying."""

    def __post_init__(self) -> None:
        if not self.url.startswith(("mongodb://", "mongodb+srv://")):
            raise InvalidSetting("a MongoDB connection string begins with mongodb:// or mongodb+srv://")
