"""The log: each line an event with a stable dotted name and fields, and never a payload.

The rule: a field is a count, a duration, a code, an id or a name. Values, attributes, bodies, query strings, headers,
credentials and the messages of exceptions are never logged. The formatters help to keep it:

- only plain values are written out; of anything else, a `Secret` too, only the name of its type;
- of an exception, its type and where it happened, but not its message, which may quote what was sent;
- of what other libraries say, only the first line, and only from `warning` on: below that, some print headers.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import PurePath
from random import getrandbits
from types import TracebackType
from typing import TextIO
from uuid import UUID

MAX_VALUE = 200
MAX_STACK = 2_000
_LOGGER = "recollect"
_SERVERS = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "uvicorn.access")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_WORDS = {10: "debug", 20: "info", 30: "warning", 40: "error"}
_BARE = re.compile(r"[\w.:/@+,<>{}*%-]+", re.ASCII)
_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_REQUEST_ID = re.compile(rb"[0-9A-Za-z._-]{1,64}")
_SLOW_SECONDS = 1.0
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

Scalar = str | int | float | bool | None


def event(logger: logging.Logger, level: int, name: str, /, **fields: object) -> None:
    """Log an event by its dotted name, with fields."""
    if logger.isEnabledFor(level):
        # Made by hand, because looking for the calling line costs time and is never shown.
        logger.handle(logger.makeRecord(logger.name, level, "", 0, name, (), None, extra={"fields": fields}))


def request_id_of(given: bytes) -> str:
    """The name of a request: the one that its sender gave it, or a fresh one."""
    return given.decode() if _REQUEST_ID.fullmatch(given) else f"{getrandbits(64):016x}"


def level_of(status: int, seconds: float) -> int:
    """Faults are warnings, refusals and slow answers are told; that all went well only to those who ask for it."""
    if status >= 500:
        return logging.WARNING
    return logging.INFO if status >= 400 or seconds > _SLOW_SECONDS else logging.DEBUG


def configure(level: str, format: str, stream: TextIO | None = None) -> None:  # noqa: A002 - the setting's own word
    """Write the log of this process to the stream, or to standard error; may be called again to change it all.

    The lines of other libraries take the same form. The server's own access log is silenced: `http.request` says
    the same without query strings.
    """
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(stream or sys.stderr, _Json() if format == "json" else _Text()))
    for name in _SERVERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = name != "uvicorn.access"
    set_level(level)


def set_level(level: str) -> None:
    """Change how much is logged, while the service runs."""
    logging.getLogger(_LOGGER).setLevel(_LEVELS[level])
    logging.getLogger().setLevel(max(_LEVELS[level], logging.WARNING))


class _Handler(logging.StreamHandler[TextIO]):
    """Ours among the handlers of the root logger."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__(stream)
        self.setFormatter(formatter)


class _Text(logging.Formatter):
    """Lines for people, in their own time zone: `12:03:04.123 info  http.request method=GET status=200`."""

    def __init__(self) -> None:
        super().__init__()
        self._second = (0, "")

    def format(self, record: logging.LogRecord) -> str:
        """One line, in which no field can pretend to be another, nor a line of its own."""
        name, fields = _contents(record)
        second = int(record.created)
        if second != self._second[0]:
            self._second = second, time.strftime("%H:%M:%S", time.localtime(second))
        level = _level(record).replace("warning", "warn")
        line = f"{self._second[1]}.{int(record.msecs):03d} {level:<5} {_label(name)}"
        return line + "".join([f" {_label(key)}={_written(value)}" for key, value in fields.items()])


class _Json(logging.Formatter):
    """One JSON object a line, in ASCII, with the time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """The event's own entries come first, and no field can replace them."""
        name, fields = _contents(record)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        line: dict[str, Scalar] = {"time": at, "level": _level(record), "event": name}
        for key, value in fields.items():
            line[f"{key}_" if key in line else key] = value
        return json.dumps(line)


def _level(record: logging.LogRecord) -> str:
    return _WORDS[min(max(record.levelno // 10 * 10, 10), 40)]


def _contents(record: logging.LogRecord) -> tuple[str, dict[str, Scalar]]:
    """The name of the event and its fields, cut to size."""
    if record.name == _LOGGER or record.name.startswith(f"{_LOGGER}."):
        given = record.__dict__.get("fields")
        fields = {str(key): plain(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
        name = _cut(str(record.msg))
    else:
        fields = {"message": _cut(_first_line(record))}
        name = _cut(record.name)
    if record.exc_info and record.exc_info[0] is not None:
        fields["error"] = record.exc_info[0].__name__
        fields["stack"] = _stack(record.exc_info[2])
    return name, fields


def plain(value: object) -> Scalar:
    """The value as a log may show it: short, plain, and nothing that could hold a payload."""
    if isinstance(value, str):
        return _cut(str(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= 64 else f"<int of {value.bit_length()} bits>"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, UUID | PurePath | date | timedelta):
        return _cut(str(value))
    if isinstance(value, list | tuple | set | frozenset):
        return _cut(",".join(str(plain(each)) for each in value))
    return f"<{type(value).__name__}>"


def _first_line(record: logging.LogRecord) -> str:
    try:
        said = record.getMessage()
    except Exception:  # noqa: BLE001 - arguments are foreign objects; no failure of theirs may stop the log
        said = str(record.msg)
    return _BREAKS.split(said.strip(), maxsplit=1)[0]


def _stack(trace: TracebackType | None) -> str:
    """Where it happened, innermost first."""
    frames = [f"{frame.f_code.co_filename}:{line}:{frame.f_code.co_name}" for frame, line in traceback.walk_tb(trace)]
    return _cut(" < ".join(reversed(frames)), MAX_STACK)


def _cut(text: str, most: int = MAX_VALUE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _written(value: Scalar) -> str:
    """A value for a line of text: bare when it cannot be misread, else quoted, with what cannot be seen escaped."""
    if isinstance(value, str):
        if _BARE.fullmatch(value):
            return value
        return '"' + "".join([_SHORT.get(one) or (one if one.isprintable() else _escape(one)) for one in value]) + '"'
    return "none" if value is None else str(value).lower()


@lru_cache(maxsize=512)
def _label(name: str) -> str:
    """A name as it is written; there are few of them."""
    return _written(name)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
