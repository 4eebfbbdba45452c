"""The examination behind `recollect doctor`: small checks, each of which says what it found and what to do."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recollect.cli.doors import (
    CREDENTIALS_FILE,
    DATA_FILE,
    SERVER_FILE,
    Remote,
    answers,
    errors,
    has_begun,
    is_alive,
    note,
)
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when
from recollect.cli.service import installed
from recollect.cli.timeline import Part, latest
from recollect.cli.upkeep import master_key
from recollect.config.sources import load
from recollect.domain.errors import InvalidSetting
from recollect.domain.reasons import EventKind

if TYPE_CHECKING:
    from recollect.cli.doors import Door
    from recollect.cli.shapes import AnyEvent

Level = Literal["ok", "warning", "failure"]
LIBRARIES = ("apsw", "cryptography", "httpx", "msgspec", "starlette", "uvicorn")
OLDEST_SQLITE = (3, 51, 3)
OLDEST_PYTHON = (3, 11)
LITTLE_SPACE, TOO_LITTLE_SPACE = 1 << 30, 100 << 20
FIRST_YEAR = 2025
SAMPLE = 200
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "glusterfs", "ceph", "lustre", "beegfs", "davfs"}
)
NETWORK_BY_FUSE = ("sshfs", "s3fs", "glusterfs", "ceph", "rclone", "gcsfuse", "davfs", "smbnetfs")
_PATIENCE_SECONDS = 10.0
"""A server that is busy is not taken for one that hangs."""
_BACKUP_SECONDS = 3_600
_SWEEPS_MISSED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    level: Level
    message: str
    advice: str = ""


def examine(here: Here, *, quick: bool) -> Iterator[Finding]:
    """Everything that can be checked from here, in the order in which one thing rests on another."""
    yield python(sys.version_info[:3])
    yield libraries({name: installed(name) for name in LIBRARIES})
    elsewhere = here.asked.url is not None or (not here.asked.home and os.environ.get("RECOLLECT_URL", "").strip())
    if not elsewhere:
        if not here.home.is_dir():
            yield Finding(
                "home", "failure", f"{here.home} is not there", "Run `recollect serve`, or name it with --home."
            )
            return
        yield from permissions(here.home)
        yield settings(here.home)
        yield disk(shutil.disk_usage(here.home).free)
        yield file_system(here.home, _mounts())
        yield master_key_file(here.home)
        yield leftovers(here.home, time.time())
        yield server_note(here.home)
        yield from database(here.home)
    yield from through_the_door(here, quick=quick)


# -- the installation


def python(version: Sequence[int]) -> Finding:
    """Python is new enough."""
    text = ".".join(map(str, version))
    if tuple(version[:2]) < OLDEST_PYTHON:
        return Finding("python", "failure", f"Python {text} is too old", "Use Python 3.11 or newer.")
    return Finding("python", "ok", f"Python {text}")


def libraries(versions: Mapping[str, str]) -> Finding:
    """The libraries are there, and SQLite is one without the known corruption bug."""
    missing = [name for name, version in versions.items() if version == "unknown"]
    if missing:
        return Finding("libraries", "failure", f"not installed: {', '.join(missing)}", "Install Recollect anew.")
    sqlite = tuple(int(part) for part in versions["apsw"].split(".")[:3] if part.isdigit())
    if sqlite < OLDEST_SQLITE:
        text = ".".join(map(str, sqlite))
        return Finding("libraries", "failure", f"SQLite {text} has a corruption bug", "Install apsw 3.51.3 or newer.")
    return Finding("libraries", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


# -- the data directory


def permissions(home: Path) -> Iterator[Finding]:
    """Only the owner can look into the directory, and read keys and credentials."""
    found = False
    folders = [(home, "warning"), (home / "keys", "failure")]
    files = [home / DATA_FILE, home / CREDENTIALS_FILE, *sorted((home / "keys").glob("*"))]
    for path, level in [*folders, *((file, "failure") for file in files)]:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            continue
        except OSError as problem:
            found = True
            yield Finding("permissions", "failure", f"{path}: {problem.strerror}", "Run this as the owner of the data.")
            continue
        if mode & 0o077:
            found = True
            wanted = "700" if path.is_dir() else "600"
            yield Finding(
                "permissions",
                "failure" if level == "failure" else "warning",
                f"others can reach {path} (mode {mode:04o})",
                f"Run `chmod {wanted} {path}`.",
            )
    if not found:
        yield Finding("permissions", "ok", f"only the owner can reach {home}")


def settings(home: Path) -> Finding:
    """The settings can be used."""
    try:
        loaded = load(home, environment=os.environ, flags={})
    except InvalidSetting as problem:
        return Finding("settings", "failure", problem.message, problem.advice())
    own = sum(place != "default" for place in loaded.origin.values())
    return Finding(
        "settings", "ok", f"{counted(own, 'setting')} differ from the default" if own else "all as by default"
    )


def disk(free: int) -> Finding:
    """There is space left."""
    space = f"{free / (1 << 30):,.1f} GiB free" if free >= 1 << 30 else f"{free / (1 << 20):,.0f} MiB free"
    if free < LITTLE_SPACE:
        return Finding("disk", "failure" if free < TOO_LITTLE_SPACE else "warning", space, "Free some space.")
    return Finding("disk", "ok", space)


def file_system(home: Path, mounts: Iterable[str]) -> Finding:
    """The file system is one on which locks and shared memory work."""
    kind, point = "", ""
    for line in mounts:
        words = line.split()
        if len(words) > 2 and home.resolve().is_relative_to(_mount_point(words[1])) and len(words[1]) >= len(point):
            point, kind = words[1], words[2]
    if kind in NETWORK or any(kind == f"fuse.{name}" for name in NETWORK_BY_FUSE):
        return Finding(
            "file system", "failure", f"{home} lies on a network file system ({kind})", "Keep the data on a local disk."
        )
    return Finding("file system", "ok", kind or "not known on this system")


def _mount_point(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _mounts() -> list[str]:
    try:
        return Path("/proc/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return []


def master_key_file(home: Path) -> Finding:
    """The master key is where the settings say."""
    try:
        if not has_begun(home):
            return Finding("master key", "ok", "none is needed yet")
        found = master_key(home)
        if found["source"] == "command":
            return Finding("master key", "ok", "printed by a command")
        if not note(Path(found["file"])).get("keys"):
            raise InvalidSetting(f"{found['file']} cannot be read, or holds no key")
    except InvalidSetting as problem:
        return Finding(
            "master key", "failure", problem.message, "Bring the key file back: nothing can be read without it."
        )
    if found["rotation"]:
        return Finding("master key", "warning", "a rotation was not finished", "Run `recollect keys rotate`.")
    return Finding("master key", "ok", f"in {found['file']}, changed {when(found['changed_at'])}")


def leftovers(home: Path, now: float) -> Finding:
    """No backup left its temporary folder behind."""
    old = [path for path in sorted(home.glob("backup-*")) if now - path.stat().st_mtime > _BACKUP_SECONDS]
    if old:
        names = ", ".join(path.name for path in old[:5])
        what = f"{counted(len(old), 'unfinished backup')}: {names}"
        return Finding("leftovers", "warning", what, f"Remove what is named so in {home}.")
    return Finding("leftovers", "ok", "none")


def server_note(home: Path) -> Finding:
    """The server that is said to run does run, and answers."""
    found = note(home / SERVER_FILE)
    url, pid = found.get("url"), found.get("pid")
    if not isinstance(url, str) or not isinstance(pid, int):
        return Finding("server", "ok", "none runs")
    if not is_alive(pid):
        what = f"process {pid} ended without tidying up"
        return Finding("server", "warning", what, f"Nothing is lost; remove {home / SERVER_FILE}, or start it again.")
    if not answers(url, _PATIENCE_SECONDS):
        what = f"process {pid} runs, but {url} does not answer"
        return Finding("server", "failure", what, "Look into its log; stop it and start it again.")
    return Finding("server", "ok", f"{url} answers")


# -- the database server


def database(home: Path) -> Iterator[Finding]:
    """The server that keeps the memories, if the settings name one, is one that they can be trusted to."""
    try:
        settings = load(home, environment=os.environ, flags={}).settings
    except InvalidSetting:
        return  # told already
    if settings.store is None:
        return
    from recollect.engines import engine_of, is_server  # here, because drivers are slow to load

    url = settings.store.reveal()
    if not is_server(url):
        return
    try:
        for each in engine_of(url, settings).examine():
            yield Finding(each.check, each.level, each.message, each.advice)
    except errors() as problem:
        yield Finding("database", "failure", problem.message, problem.advice())


# -- what the store says


def through_the_door(here: Here, *, quick: bool) -> Iterator[Finding]:
    """The store opens or the server lets us in, and what is behind is sound."""
    try:
        way = here.way()
        if isinstance(way, Remote):
            if not answers(way.url):
                yield Finding("server", "failure", f"{way.url} does not answer", "Start it, or correct the URL.")
                return
        elif not has_begun(way.home):
            yield Finding("store", "warning", f"there are no memories in {way.home} yet", "Run `recollect serve`.")
            return
        door = here.door()
        who = door.whoami()
    except errors() as problem:
        name = "credentials" if problem.code == "unauthenticated" else "store"
        yield Finding(name, "failure", problem.message, problem.advice())
        return
    name = "credentials" if isinstance(way, Remote) else "store"
    yield Finding(name, "ok", f"accepted as {calm(who.user_id)}" if name == "credentials" else "opens")
    now = datetime.now(UTC)
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("clock", lambda: clock(now, _last(door))),
        ("sweeps", lambda: sweeps(door, now, _sweep_seconds(here))),
    ]
    for check, examined in [*checks, *([] if quick else [("log", lambda: chain(here, door))])]:
        yield _unless_refused(check, examined)


def _unless_refused(check: str, examined: Callable[[], Finding]) -> Finding:
    try:
        return examined()
    except errors() as problem:
        if problem.code == "forbidden":
            return Finding(check, "warning", "not checked: these credentials do not allow it", "Use an auditor's key.")
        return Finding(check, "failure", problem.message, problem.advice())


def _last(door: Door) -> AnyEvent | None:
    told, _ = latest(door, Part(), 1)
    return told[0] if told else None


def _sweep_seconds(here: Here) -> float:
    try:
        return load(here.home, environment=os.environ, flags={}).settings.sweep_seconds
    except InvalidSetting:
        return 60.0


def clock(now: datetime, last: AnyEvent | None) -> Finding:
    """The clock is not behind what has happened already."""
    advice = "Set the clock of this machine; expiry depends on it."
    if now.year < FIRST_YEAR:
        return Finding("clock", "failure", f"it says {now:%Y-%m-%d}", advice)
    if last is not None and last.occurred_at > now + timedelta(seconds=2):
        behind = last.occurred_at - now
        return Finding("clock", "failure", f"it is {behind} behind the last event of the log", advice)
    return Finding("clock", "ok", "not behind the log")


def sweeps(door: Door, now: datetime, every: float) -> Finding:
    """What has expired is swept: a sample of the latest memories that were given an end."""
    due = now - timedelta(seconds=every * _SWEEPS_MISSED)
    told, _ = latest(door, Part(kinds=(EventKind.ADD, EventKind.UPDATE)), SAMPLE)
    ends = {(each.namespace, each.key) for each in told if each.expires_at is not None and each.expires_at < due}
    waiting = 0
    for namespace, key in ends:
        newest = door.history(namespace, key, limit=1)
        expires = newest[0].expires_at if newest and newest[0].ended_at is None else None
        waiting += expires is not None and expires < due
    if waiting:
        what = f"{counted(waiting, 'expired memory', 'expired memories')} of the latest {SAMPLE} wait to be swept"
        return Finding("sweeps", "warning", what, "Run `recollect sweep`, or leave a server running, which does it.")
    return Finding("sweeps", "ok", "nothing expired is waiting")


def chain(here: Here, door: Door) -> Finding:
    """The whole log verifies."""
    with here.screen.progress("Verifying") as progress:
        found = door.verify(progress=progress)
    if not found.sound:
        what = f"{counted(len(found.problems), 'problem')}, first: {calm(found.problems[0].message)}"
        return Finding("log", "failure", what, "Run `recollect verify`, keep a copy, and restore from a backup.")
    return Finding("log", "ok", f"{counted(found.events, 'event')} and {counted(found.versions, 'version')} are sound")
