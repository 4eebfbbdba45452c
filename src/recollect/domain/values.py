"""What a value may be: one strict encoder and one strict decoder for JSON objects.

Whatever one backend accepts, all accept, and nothing changes on its way through: NaN does not
become null, 2^64 does not become a float, a duplicate key does not silently win.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

import msgspec

from recollect.domain.errors import InvalidInput, InvalidValue
from recollect.domain.text import flaw_in

MAX_BYTES = 1 << 20
MAX_LEVELS = 32
MAX_NODES = 100_000

type_of_json = dict[str, Any]
"""A JSON object as Python holds it."""


def encode_value(value: object, what: str = "value", error: type[InvalidInput] = InvalidValue) -> bytes:
    """The JSON text of an object, refused when it could not be read back exactly as it is.

    Reading it back is the quick proof; only what fails it, or looks odd, is looked at member by member.
    """
    if not isinstance(value, dict):
        raise error(f"the {what} must be a JSON object, not {type(value).__name__}")
    try:
        encoded = _encode(value)
        exact = _decode_stored(encoded) == value
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        encoded, exact = b"", False
    odd = b"\\u0000" in encoded or encoded.count(b",") >= MAX_NODES
    if odd or not exact or encoded.count(b"{") + encoded.count(b"[") > MAX_LEVELS:
        _inspect(value, what, error)
        if not exact:
            raise error(f"the {what} cannot be written as JSON and read back as it is")
    if len(encoded) > MAX_BYTES:
        raise error(f"the {what} has {len(encoded):,} bytes as JSON; at most {MAX_BYTES:,} are allowed")
    return encoded


def decode_value(text: bytes | str, what: str = "value", error: type[InvalidInput] = InvalidValue) -> type_of_json:
    """The object that this JSON text from outside says, refused where parsers would disagree about it."""
    if not isinstance(text, str | bytes | bytearray):
        raise error(f"the {what} is JSON text, not {type(text).__name__}")
    if len(text) > MAX_BYTES:
        raise error(f"the {what} has {len(text):,} bytes; at most {MAX_BYTES:,} are allowed")
    value = decode_json(text, what, error)
    if not isinstance(value, dict):
        raise error(f"the {what} must be a JSON object, not {type(value).__name__}")
    _inspect(value, what, error)
    return value


def decode_json(text: bytes | str, what: str, error: type[InvalidInput]) -> Any:
    """What this JSON text in UTF-8 says, with nothing said twice and nothing that JSON does not know."""

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(found)
        if len(members) != len(found):
            names = [name for name, _ in found]
            twice = next(name for name in names if names.count(name) > 1)
            raise error(f"the {what} has the key {twice!r} twice in one object")
        return members

    def constant(name: str) -> NoReturn:
        raise error(f"the {what} contains {name}, which is not JSON")

    try:
        said = text if isinstance(text, str) else str(text, "utf-8")
        return json.loads(said, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise error(f"the {what} is nested deeper than {MAX_LEVELS} levels") from None
    except UnicodeDecodeError:
        raise error(f"the {what} is not valid JSON: it is not UTF-8") from None
    except ValueError as problem:
        raise error(f"the {what} is not valid JSON: {problem}") from None


def stored_value(encoded: bytes) -> type_of_json:
    """The object behind text that `encode_value` made; fast, because it was strict then."""
    value: type_of_json = _decode_stored(encoded)
    return value


_encode = msgspec.json.Encoder().encode
_decode_stored = msgspec.json.Decoder(dict[str, Any]).decode


def _inspect(value: dict[Any, Any], what: str, error: type[InvalidInput]) -> None:
    level: list[Any] = [value]
    nodes = 0
    for depth in range(1, MAX_LEVELS + 2):
        below: list[Any] = []
        for container in level:
            if depth > MAX_LEVELS:
                raise error(f"the {what} is nested deeper than {MAX_LEVELS} levels")
            nodes += len(container)
            if nodes > MAX_NODES:
                raise error(f"the {what} has more than {MAX_NODES:,} members")
            if isinstance(container, dict):
                for name in container:
                    if type(name) is not str:
                        raise error(f"the {what} has a key of type {type(name).__name__}; JSON keys are text")
                    if not name.isascii() or "\x00" in name:
                        _check_text(name, f"a key of the {what}", error)
                container = container.values()
            for member in container:
                kind = type(member)
                if kind is str:
                    if not member.isascii() or "\x00" in member:
                        _check_text(member, f"the {what}", error)
                elif kind is dict or kind is list:
                    below.append(member)
                elif kind is float:
                    if not isfinite(member):
                        raise error(f"the {what} contains {member}, which JSON cannot express")
                elif member is not None and kind is not bool and kind is not int:
                    raise error(
                        f"the {what} contains a {kind.__name__}; "
                        "JSON has objects, lists, text, numbers, true, false and null"
                    )
        if not below:
            return
        level = below


def _check_text(text: str, where: str, error: type[InvalidInput]) -> None:
    if flaw := flaw_in(text):
        raise error(f"{where} {flaw}")
