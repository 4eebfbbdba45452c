"""Which way leads to the memories: a server, named or running for the data directory, or the directory itself."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from recollect.config.sources import home as home_of
from recollect.config.sources import load
from recollect.domain.errors import InvalidSetting, NotAStore, RecollectError

if TYPE_CHECKING:
    from recollect.sync import MemoriesSync
    from recollect_client import Client
    from recollect_client.errors import RecollectError as ClientError

    Door = MemoriesSync | Client
    """Both have the same methods; what is written against one is checked against the other."""

DATA_FILE = "recollect.db"
CREDENTIALS_FILE = "credentials.json"
SERVER_FILE = "server.json"
_ANSWER_SECONDS = 1.0
_LONGEST_ANSWER = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options say about the way; None where nothing was said."""

    home: str | None = None
    url: str | None = None
    token: str | None = None
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """Over a server."""

    url: str
    token: str | None

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"


@dataclass(frozen=True, slots=True)
class Local:
    """Into the data directory, as the local administrator."""

    home: Path
    tenant: str


def home_folder(asked: Asked, environment: Mapping[str, str]) -> Path:
    """The data directory that is meant."""
    return home_of({"RECOLLECT_HOME": asked.home} if asked.home else environment)


def find_way(asked: Asked, environment: Mapping[str, str], *, tenant_is_argument: bool = False) -> Remote | Local:
    """The way that the options, the environment and the notes in the data directory lead to."""
    home = home_folder(asked, environment)
    # A directory named with the command is nearer than a server named in the environment.
    url = asked.url or (None if asked.home else environment.get("RECOLLECT_URL", "").strip()) or running(home)
    if url is None:
        if asked.token is not None:
            raise InvalidSetting(
                f"--token means nothing without a server, and none runs for {home}: "
                "start one with `recollect serve`, name one with --url, or leave --token out"
            )
        return Local(home, asked.tenant or environment.get("RECOLLECT_TENANT", "").strip() or "default")
    if asked.tenant is not None and not tenant_is_argument:
        raise InvalidSetting(
            f"--tenant cannot be chosen at a server: {url} takes it from the token; "
            "use a token of that tenant, or leave --tenant out"
        )
    return Remote(url, asked.token or environment.get("RECOLLECT_TOKEN", "").strip() or kept_token(home, url))


def running(home: Path) -> str | None:
    """The address of the server that runs for the directory and answers; None when there is none."""
    found = note(home / SERVER_FILE)
    url, pid = found.get("url"), found.get("pid")
    if not isinstance(url, str) or not isinstance(pid, int) or not is_alive(pid):
        return None
    return url if answers(url) else None


def is_alive(pid: int) -> bool:
    """True when there is a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def answers(url: str, seconds: float = _ANSWER_SECONDS) -> bool:
    """True when what listens there says that it is well, in the words of Recollect."""
    try:
        parts = urlsplit(url)
        make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = make(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("GET", f"{parts.path.rstrip('/')}/healthz")
            return bool(json.loads(connection.getresponse().read(_LONGEST_ANSWER)) == {"status": "ok"})
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):
        return False


def kept_token(home: Path, url: str) -> str | None:
    """The token that the directory keeps, if it is meant for that server and no other."""
    credentials = note(home / CREDENTIALS_FILE)
    places = {credentials.get("url"), note(home / SERVER_FILE).get("url")}
    token = credentials.get("token")
    known = url.rstrip("/") in {place.rstrip("/") for place in places if isinstance(place, str)}
    return token if known and isinstance(token, str) else None


def note(path: Path) -> dict[str, Any]:
    """What a small file of the data directory says; nothing when it is not there or cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def open_door(way: Remote | Local, *, create: bool) -> Door:
    """Go that way; a data directory is made only where `create` says so."""
    if isinstance(way, Remote):
        from recollect_client import Client  # here, because the client is slow to load

        return Client(way.url, way.token or "")
    if not create and not has_begun(way.home):
        raise NotAStore(
            f"there are no memories in {way.home} yet: `recollect serve` or `recollect put` begins there, "
            "and --home names another directory"
        )
    from recollect.main import open_sync  # here, because store and encryption are slow to load

    settings = load(way.home, environment=os.environ, flags={}).settings
    return open_sync(way.home, tenant=way.tenant, actor=user_name(), settings=settings)


def has_begun(home: Path) -> bool:
    """True when there may be memories: in the directory, or where its settings say."""
    return (home / DATA_FILE).exists() or load(home, environment=os.environ, flags={}).settings.store is not None


def open_without_data(way: Local) -> Door:
    """Memories that are kept nowhere, with the settings of a data directory, to judge policies by."""
    from recollect.main import IN_MEMORY, open_sync  # here, because store and encryption are slow to load

    settings = load(way.home, environment=os.environ, flags={}).settings
    plain = replace(settings, policy_engine="rego", policy_dir=None, opa_url=None)
    return open_sync(IN_MEMORY, tenant=way.tenant, actor=user_name(), settings=plain)


def user_name() -> str:
    """Who is at the keyboard, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "local"


def errors() -> tuple[type[RecollectError] | type[ClientError], ...]:
    """What either way may raise on purpose; the client's errors only once the client was loaded."""
    client = sys.modules.get("recollect_client.errors")
    return (RecollectError,) if client is None else (RecollectError, client.RecollectError)
