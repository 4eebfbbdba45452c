"""Places where a deployment can be, and moving everything from one to another."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recollect.backends.keyring import CommandMasterKeys, FileMasterKeys, Plain
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions, SqliteStore, check_ours
from recollect.config import Settings
from recollect.domain.errors import (
    InvalidSetting,
    KeyStoreMissing,
    MasterKeyMismatch,
    MasterKeyMissing,
    NotAStore,
)
from recollect.engines import SQLITE, Engine, engine_of, is_server, shown
from recollect.main import (
    DATA_FILE,
    KEYS_FOLDER,
    MASTER_KEY_FILE,
    WRAPPED_KEYS_FILE,
    copy_private,
    make_folder,
    random_ids,
    system_clock,
)
from recollect.ports.keys import KeyStore, MasterKeys
from recollect.ports.store import Store
from recollect.service.copying import Copied, Side, Tell
from recollect.service.copying import copy as copy_all


@dataclass(frozen=True, slots=True)
class Place:
    """Where a deployment is or shall be: a server, or a file with its keys beside it."""

    name: str
    """How it is called in messages; without a password."""
    home: Path
    """The data directory with the master key."""
    url: str | None = None
    """Of a server; None for a file."""
    file: Path = Path()

    def __repr__(self) -> str:
        return f"Place({self.name!r})"

    @property
    def wrapped(self) -> Path:
        """Where the wrapped keys are, unless on a server."""
        return self.home / KEYS_FOLDER / WRAPPED_KEYS_FILE

    @property
    def master(self) -> Path:
        """Where the master key is, unless a command prints it."""
        return self.home / KEYS_FOLDER / MASTER_KEY_FILE


def place_of(text: str, *, home: Path, keys: Path | None = None) -> Place:
    """The place that somebody has typed: a directory, `sqlite:///…`, `postgresql://…` or `mongodb://…`.

    For a server, the master key is in `keys`, else in `home`; for a file, in `keys`, else beside the file.
    """
    if is_server(text):
        return Place(shown(text), keys or home, url=text)
    if text.startswith(SQLITE):
        file = Path(text.removeprefix(SQLITE))
        return Place(text, keys or file.parent, file=file)
    if "://" in text:
        raise InvalidSetting(
            f"{shown(text)} is no place for memories: give a data directory, sqlite:///…, postgresql://… or mongodb://…"
        )
    folder = Path(text).expanduser()
    if folder.is_file():
        raise InvalidSetting(f"{folder} is a file: give the data directory that it is in, or {SQLITE}{folder}")
    return Place(str(folder), folder, file=folder / DATA_FILE)


async def copy(source: Place, target: Place, settings: Settings, tell: Tell, *, verify: bool = True) -> Copied:
    """Bring everything that is in one place to another, exactly as it is; go on with it if it was begun before."""
    if _same(source, target):
        raise InvalidSetting(f"{source.name} cannot be copied to itself: name another place")
    with _opened_source(source, settings) as left:
        try:
            _check_master(source, left.keys, settings)
            _bring_master(source, target, left.keys, settings)
            holder = f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(4)}"
            with _opened_target(target, settings) as right:
                try:
                    return await copy_all(left, right, holder=holder, tell=tell, verify=verify)
                finally:
                    await right.store.close()
        finally:
            await left.store.close()


def _same(source: Place, target: Place) -> bool:
    if source.url is None and target.url is None:
        return source.file.resolve() == target.file.resolve()
    return source.url == target.url


@contextmanager
def _opened_source(place: Place, settings: Settings) -> Iterator[Side]:
    """What is there, opened without its master key; nothing is made where nothing is."""
    if place.url is not None:
        engine = engine_of(place.url, settings)
        if not engine.is_there():
            raise NotAStore(f"there are no memories in {place.name}: nothing was copied")
        with _closing(engine.keys()) as keys:
            if not keys.masters() and not keys.epoch() and engine.holds_data():
                raise KeyStoreMissing(f"there is data in {place.name}, but its wrapped keys are missing from there")
            yield Side(_store(engine), keys)
        return
    if not place.file.is_file():
        raise NotAStore(f"there are no memories in {place.name}: nothing was copied")
    check_ours(place.file)
    if not place.wrapped.is_file():
        raise KeyStoreMissing(f"there is data in {place.name}, but its wrapped keys are missing from {place.wrapped}")
    with _closing(SqliteKeyStore(SqliteOptions(place.wrapped))) as keys:
        yield Side(_file(place.file, settings), keys)


@contextmanager
def _opened_target(place: Place, settings: Settings) -> Iterator[Side]:
    """The place to copy to, made if need be, and opened even though it is not whole."""
    if place.url is not None:
        engine = engine_of(place.url, settings)
        with _closing(engine.keys()) as keys:
            yield Side(_store(engine, partial=True), keys)
        return
    if place.file.exists():
        check_ours(place.file)
    make_folder(place.file.parent)
    make_folder(place.wrapped.parent)
    with _closing(SqliteKeyStore(SqliteOptions(place.wrapped))) as keys:
        yield Side(_file(place.file, settings, partial=True), keys)


def _store(engine: Engine, *, partial: bool = False) -> Store:
    return engine.store(copied=True, partial=partial, clock=system_clock, ids=random_ids, sealer=Plain())


def _file(path: Path, settings: Settings, *, partial: bool = False) -> Store:
    options = SqliteOptions(path, busy_seconds=settings.busy_seconds, partial=partial)
    return SqliteStore(options, clock=system_clock, ids=random_ids, sealer=Plain())


@contextmanager
def _closing(keys: KeyStore) -> Iterator[KeyStore]:
    try:
        yield keys
    finally:
        keys.close()


# -- the master key


def _check_master(place: Place, keys: KeyStore, settings: Settings) -> None:
    """Refuse to copy what its own master key does not open."""
    names = keys.masters()
    if not names:
        return
    known = _masters(place, settings)
    if any(known.named(name) is None for name in names):
        where = "the one that the command prints" if settings.master_key_command is not None else str(place.master)
        raise MasterKeyMismatch(f"the keys in {place.name} were wrapped with another master key than {where}")


def _masters(place: Place, settings: Settings) -> MasterKeys:
    if settings.master_key_command is not None:
        return CommandMasterKeys(settings.master_key_command, settings.previous_master_key_command)
    if not place.master.is_file():
        raise MasterKeyMissing(
            f"there is no master key at {place.master}: name the data directory that holds it with --keys"
        )
    return FileMasterKeys(place.master, create=False)


def _bring_master(source: Place, target: Place, keys: KeyStore, settings: Settings) -> None:
    """Give a data directory the master key, if it has none; one that it has must be the right one."""
    if settings.master_key_command is not None or target.master == source.master:
        return
    if target.master.is_file():
        _check_master(Place(target.name, target.home), keys, settings)
    elif target.url is None and source.master.is_file():
        make_folder(target.file.parent)
        make_folder(target.master.parent)
        copy_private(source.master, target.master)


def lacks_master(target: Place, settings: Settings) -> bool:
    """True when the services of a place will not find the master key in its data directory."""
    return settings.master_key_command is None and not target.master.is_file()
