"""Where settings come from: flags, then the environment, then a file, then the defaults."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_type_hints

from recollect.config.secret import Secret
from recollect.config.settings import Settings
from recollect.domain.errors import InvalidSetting
from recollect.domain.text import shown

FILE = "recollect.toml"
PREFIX = "RECOLLECT_"
NOT_SETTINGS = frozenset(f"RECOLLECT_{name}" for name in ("HOME", "URL", "TOKEN", "TENANT", "GROUP", "SESSION", "SOAK"))
"""Variables that mean something else than a setting; so do those that begin with `RECOLLECT_TEST_`."""

Origin = Literal["flag", "environment", "file", "default"]

_TYPES = get_type_hints(Settings)
_YES_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NONE = ("", "none")
# Kubernetes and Docker tell every container about a service of the name "recollect" in variables like these.
_INJECTED = re.compile(r"RECOLLECT_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_INJECTED_PORT = re.compile(r"(tcp|udp|sctp)://")
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
_TOML_END = " (at end of document)"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, where each of them came from, and the file that was looked for."""

    settings: Settings
    origin: dict[str, Origin]
    file: Path


def home(environment: Mapping[str, str]) -> Path:
    """The data directory: `RECOLLECT_HOME`, else `~/.recollect`."""
    named = environment.get("RECOLLECT_HOME", "").strip()
    try:
        return Path(named or "~/.recollect").expanduser().absolute()
    except RuntimeError:
        raise InvalidSetting("RECOLLECT_HOME: there is no home directory; set it to the data directory") from None


def load(home: Path, *, environment: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    """The settings from everywhere; a flag that is None was not given."""
    file = home / FILE
    values: dict[str, Any] = {}
    origin: dict[str, Origin] = dict.fromkeys(_TYPES, "default")
    given: list[tuple[Origin, Mapping[str, object]]] = [
        ("file", _read(file)),
        ("environment", _variables(environment)),
        ("flag", {_spelled(name, "flag"): value for name, value in flags.items() if value is not None}),
    ]
    for place, found in given:
        for written, value in found.items():
            name = _known(written, place)
            values[name], origin[name] = _parsed(name, value, place), place
    try:
        return Loaded(Settings(**values), origin, file)
    except InvalidSetting as problem:
        raise InvalidSetting(f"{_blamed(problem.message, origin)}{problem.message}") from None


def changed(old: Settings, new: Settings) -> tuple[list[str], list[str]]:
    """The settings that differ: those that take effect at once, and those that need a restart."""
    live: list[str] = []
    restart: list[str] = []
    for each in fields(Settings):
        if getattr(old, each.name) != getattr(new, each.name):
            (live if each.metadata["live"] else restart).append(each.name)
    return live, restart


class Watch:
    """Notices that a file was written, replaced, made or removed.

    Make it before the file is loaded, so that no change falls in between.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen = self._look()

    def poll(self) -> bool:
        """True when the file is no longer what it was at the last look."""
        before, self._seen = self._seen, self._look()
        return self._seen != before

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def template() -> str:
    """A settings file with every setting, its meaning and its default, all commented out."""
    opening = (
        f"Settings of Recollect. Remove the # before a setting to change it. A flag (--port) or an environment "
        f"variable ({PREFIX}PORT) goes before what is written here. A live setting takes effect when this file is "
        f'saved, the others at the next start. "none" stands for no value. With jwt_key in it, this file must be '
        f"readable by its owner only (mode 0600)."
    )
    parts = [_comment(opening)]
    for each in fields(Settings):
        meaning = each.metadata["meaning"] + (" Live." if each.metadata["live"] else "")
        parts.append(f"{_comment(meaning)}#{each.name} = {_toml(each.default)}\n")
    return "\n".join(parts)


# -- the file


def _read(file: Path) -> dict[str, Any]:
    """What the file says, its keys checked; nothing when there is none."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise InvalidSetting(f"{FILE}: {file} cannot be read: {problem.strerror}") from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise InvalidSetting(f"{FILE}: {file} is not a file")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            found = _toml_of(opened.read())
    finally:
        os.close(handle)
    for name, value in found.items():
        if isinstance(value, dict):
            raise InvalidSetting(f"{FILE}: settings are flat, like `port = 4747`; remove the table {shown(name)}")
    if os.name == "posix" and mode & 0o077 and any(Secret in get_args(_TYPES.get(name)) for name in found):
        raise InvalidSetting(f"{FILE}: others can read it, and it holds a secret; run `chmod 600 {file}`")
    return found


def _toml_of(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise InvalidSetting(f"{FILE}: line {line} is not UTF-8; save the file in that encoding") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        said = str(problem)
        at = _TOML_LINE.search(said)
        line = int(at[1]) if at else max(1, len(text.splitlines()))
        why = _TOML_LINE.sub("", said).removesuffix(_TOML_END)
        raise InvalidSetting(
            f'{FILE}: line {line}: {why}; write one `name = value` on a line, text in "quotes", each name once'
        ) from None
    except (ValueError, RecursionError):
        raise InvalidSetting(f"{FILE}: a number is too long, or lists are nested too deeply") from None


# -- names


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are meant as settings."""
    return {
        name: text
        for name, text in environment.items()
        if name.startswith(PREFIX)
        and name not in NOT_SETTINGS
        and not name.startswith("RECOLLECT_TEST_")
        and not _INJECTED.fullmatch(name)
        and not (name.endswith("_PORT") and _INJECTED_PORT.match(text))
    }


def _spelled(name: str, place: Origin) -> str:
    """A setting's name as it is written in a place."""
    if place == "environment":
        return PREFIX + name.upper()
    return "--" + name.replace("_", "-") if place == "flag" else name


def _source(name: str, place: Origin) -> str:
    return FILE if place == "file" else _spelled(name, place)


def _known(written: str, place: Origin) -> str:
    """The setting that is written so in that place; when there is none, the nearest one is suggested."""
    name = written.removeprefix(PREFIX).removeprefix("--").replace("-", "_").lower()
    if name in _TYPES and written == _spelled(name, place):
        return name
    near = difflib.get_close_matches(name, _TYPES, n=1)
    hint = f"did you mean {_spelled(near[0], place)}?" if near else "the reference lists every setting"
    where = f"{FILE}: " if place == "file" else ""
    raise InvalidSetting(f"{where}there is no setting {shown(written)}; {hint}")


# -- values


def _parsed(name: str, value: object, place: Origin) -> Any:
    """The value as the setting's type wants it; a secret is never shown, not even a wrong one."""
    optional = NoneType in get_args(_TYPES[name])
    if optional and isinstance(value, str) and value.strip().lower() in _NONE:
        return None
    wanted = get_args(_TYPES[name])[0] if optional else _TYPES[name]
    if wanted is Secret:
        if isinstance(value, str | Secret):
            return Secret(value) if isinstance(value, str) else value
        raise InvalidSetting(f"{_source(name, place)}: {name} must be text")
    try:
        return _as(wanted, value)
    except (LookupError, ValueError, TypeError):
        said = f"{name} must be {_WORDS[wanted]}, not {shown(value)}"
        raise InvalidSetting(f"{_source(name, place)}: {said}") from None


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple[str, ...]: "a list of texts",
}


def _as(wanted: Any, value: object) -> Any:
    if wanted is bool:
        return value if isinstance(value, bool) else _YES_NO[_text(value).strip().lower()]
    if wanted is str:
        return _text(value)
    if wanted in (int, float):
        return _number(wanted, value)
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple):
        return tuple(_text(part) for part in value)
    raise TypeError


def _number(wanted: type[int] | type[float], value: object) -> int | float:
    if isinstance(value, str) and value.isascii():
        return wanted(value)
    if isinstance(value, bool) or not isinstance(value, int | wanted):
        raise TypeError
    if isinstance(value, int) and value.bit_length() > 64:
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _blamed(message: str, origin: Mapping[str, Origin]) -> str:
    """Where the settings that a message speaks of were set."""
    first = message.partition(" must ")[0]
    named = [first] if first in origin else [name for name in origin if re.search(rf"\b{name}\b", message)]
    sources = dict.fromkeys(_source(name, origin[name]) for name in named if origin[name] != "default")
    return f"{', '.join(sources)}: " if sources else ""


def _comment(text: str) -> str:
    return textwrap.fill(text, 118, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return json.dumps(value or "none") if value is None or isinstance(value, str) else repr(value)
