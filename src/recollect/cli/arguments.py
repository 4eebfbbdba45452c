"""What people type, read as namespaces, values, moments and filters, or refused with what to type instead."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import typer

from recollect.domain.errors import InvalidInput
from recollect.domain.values import decode_value

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdw]?)")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def usage(message: str, where: str | None = None) -> typer.BadParameter:
    """The error for something typed that cannot be meant."""
    return typer.BadParameter(message, param_hint=where)


def namespace(text: str) -> tuple[str, ...]:
    """The segments of `user/alice/notes`; what a segment cannot hold as it is, is written as `%2F`."""
    return tuple(_segment(part, text) for part in text.split("/"))


def scope(text: str | None) -> tuple[str, ...]:
    """The same, where leaving it out means everything."""
    return namespace(text) if text else ()


def _segment(part: str, whole: str) -> str:
    if not part:
        raise usage(f"{whole!r} has an empty segment; write it like user/alice/notes", "NAMESPACE")
    if _STRAY_PERCENT.search(part):
        raise usage(f"{part!r} has a % that begins no code; write %25 for a percent sign", "NAMESPACE")
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise usage(f"{part!r} does not decode to UTF-8 text", "NAMESPACE") from None


def value(text: str, *, plain: bool = False) -> dict[str, Any]:
    """The object to remember: JSON, `-` for standard input, `@file`; other text becomes {"text": …}."""
    read = source(text, "VALUE")
    if not plain and read.lstrip().startswith("{"):
        try:
            return decode_value(read)
        except InvalidInput as problem:
            raise usage(f"{problem.message}; with --text it is kept as plain text", "VALUE") from None
    return {"text": read.removesuffix("\n") if text == "-" or text.startswith("@") else read}


def source(text: str, where: str) -> str:
    """What an argument says: itself, standard input for `-`, or a file for `@file`."""
    try:
        if text == "-":
            return sys.stdin.buffer.read().decode()
        return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    except UnicodeDecodeError:
        raise usage("it is not UTF-8 text", where) from None
    except OSError as problem:
        raise usage(f"{text[1:]} cannot be read: {problem.strerror}", where) from None


def json_object(text: str | None, where: str) -> dict[str, Any] | None:
    """A JSON object given with an option."""
    if text is None:
        return None
    try:
        return decode_value(source(text, where), where)
    except InvalidInput as problem:
        raise usage(problem.message, where) from None


def seconds(text: str | None, where: str = "--ttl") -> float | None:
    """A length of time: 30s, 10m, 2h, 7d, or a number of seconds."""
    if text is None:
        return None
    found = _DURATION.fullmatch(text)
    length = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if length <= 0:
        raise usage(f"{text!r} is not a length of time; write it like 30s, 10m, 2h or 7d", where)
    return length


def moment(text: str | None, where: str, *, now: datetime | None = None) -> datetime | None:
    """A moment: RFC 3339, a local date or time, or, where the past is meant, how long ago (2h)."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text.upper())
        return (read if read.tzinfo else read.astimezone()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    if now is not None and _DURATION.fullmatch(text):
        try:
            return now - timedelta(seconds=seconds(text, where) or 0)
        except OverflowError:
            pass
    forms = "2026-01-31T09:00:00Z, '2026-01-31 09:00' or 2026-01-31"
    raise usage(f"{text!r} is not a moment; write {forms}{', or 2h for two hours ago' if now else ''}", where)


def from_now(length: float) -> datetime:
    """The moment so many seconds from now."""
    try:
        return datetime.now(UTC) + timedelta(seconds=length)
    except OverflowError:
        raise usage("that is further away than a calendar goes") from None


def conditions(texts: Iterable[str] | None) -> dict[str, Any] | None:
    """A filter from JSON objects and `name=value`, all of which must hold."""
    found: dict[str, Any] = {}
    for text in texts or ():
        for name, wanted in _condition(text).items():
            if name in found:
                raise usage(f"{name!r} is asked for twice; put both into one JSON object", "--filter")
            found[name] = wanted
    return found or None


def _condition(text: str) -> dict[str, Any]:
    if text.lstrip().startswith(("{", "@")):
        return json_object(text, "--filter") or {}
    name, equals, wanted = text.partition("=")
    if not equals or not name:
        raise usage(f"{text!r} is no condition; write name=value, or a JSON object", "--filter")
    try:
        read = json.loads(wanted)
    except ValueError:
        return {name: wanted}
    return {name: wanted if isinstance(read, dict | list) else read}


def listed(texts: Iterable[str] | None) -> list[str]:
    """Names given one by one or with commas between them."""
    return [part for text in texts or () for part in text.split(",") if part]
