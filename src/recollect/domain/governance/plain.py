"""Plain: a trace as lines of `key: value` without brackets, for reading and comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ESCAPES = str.maketrans({"\r": "\\r", "\n": "\\n", "\t": "\\t"})


def plain(value: Mapping[str, Any]) -> str:
    """The value as lines: keys sorted and joined with dots; lists as their count, then their entries from 1."""
    return "\n".join(f"{key}: {text}" for key, text in _lines("", value))


def _lines(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name in sorted(value, key=str):
            yield from _lines(_joined(key, name), value[name])
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield _joined(key, "count"), str(len(value))
        for number, each in enumerate(value, 1):
            yield from _lines(_joined(key, number), each)
    else:
        yield key, _scalar(value)


def _joined(key: str, name: object) -> str:
    own = str(name).translate(_ESCAPES)
    return f"{key}.{own}" if key else own


def _scalar(value: object) -> str:
    words: dict[object, str] = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    return str(value).translate(_ESCAPES)
