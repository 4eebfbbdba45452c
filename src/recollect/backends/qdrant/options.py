"""Where Qdrant is, and how patiently it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from recollect.domain.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    """Either a server or a folder."""

    url: str = ""
    """Of a server's REST interface: `http://host:6333` or `https://…`."""
    path: Path | None = None
    """A folder for what runs in the process. One process at a time may use it."""
    key: str = field(default="", repr=False)
    """The API key of the server, if it asks for one."""
    seconds: float = 10.0
    """How long one question to the server may take."""

    def __post_init__(self) -> None:
        if bool(self.url) is (self.path is not None):
            raise InvalidSetting("Qdrant is either a server by its URL or a folder by its path")
        if self.seconds <= 0:
            raise InvalidSetting("how long a question to Qdrant may take is more than 0 seconds")
        if not self.url:
            return
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable, parts = False, urlsplit("")
        if not usable:
            raise InvalidSetting("the URL of a Qdrant server is http://host:6333 or https://host:6333")
        if parts.username is not None or parts.query:
            raise InvalidSetting("the URL of a Qdrant server has no user and no query; the API key has its own setting")
