"""From where MCP may be spoken over HTTP: a page in a browser must not reach the service by a name it made up."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from recollect.config import Settings
from recollect.domain.errors import Forbidden

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def check_origin(host: str | None, origin: str | None, settings: Settings) -> None:
    """Refuse a request under a host's name, or from a page, that is not known."""
    if host is None or not _is_known(host, (*_LOOPBACK, settings.host, *settings.mcp_hosts)):
        raise Forbidden("access denied", reason="the service is not known by this Host; add it to mcp_hosts")
    if origin is None or origin in settings.mcp_origins:
        return
    parts = _split(origin)
    if parts is None or parts[0] not in _LOOPBACK:
        raise Forbidden("access denied", reason="requests from this Origin are not let in; add it to mcp_origins")


def _is_known(host: str, known: Iterable[str]) -> bool:
    parts = _split(f"//{host}")
    if parts is None:
        return False
    name, port = parts
    return any(each in (name, f"{name}:{port}", f"[{name}]:{port}") for each in (one.lower() for one in known))


def _split(url: str) -> tuple[str, int | None] | None:
    try:
        parts = urlsplit(url)
        return (parts.hostname, parts.port) if parts.hostname and "@" not in parts.netloc else None
    except ValueError:
        return None
