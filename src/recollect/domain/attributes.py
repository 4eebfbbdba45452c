"""Policy attributes: the flat, plaintext facts about a row that filters may ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

from recollect.domain.errors import InvalidAttributes, InvalidInput
from recollect.domain.text import flaw_in

type_of_scalar = str | int | float | bool

MAX_NAMES = 64
MAX_ELEMENTS = 256
MAX_BYTES = 16 * 1024
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
GIVEN = "recollect.given"
"""The attribute that names those which a trusted caller gave, so that they are kept when the rest is computed anew."""
NONE = "{}"
"""No attributes at all, as stored."""


def encode_attributes(attributes: Mapping[str, object] | None) -> str:
    """The JSON text of flat attributes, in the order of their names."""
    if not attributes:
        if attributes is not None and not isinstance(attributes, Mapping):
            raise InvalidAttributes(f"policy attributes are an object, not {type(attributes).__name__}")
        return NONE
    if not isinstance(attributes, Mapping):
        raise InvalidAttributes(f"policy attributes are an object, not {type(attributes).__name__}")
    if len(attributes) > MAX_NAMES:
        raise InvalidAttributes(f"there are {len(attributes)} policy attributes; at most {MAX_NAMES} are allowed")
    for name, value in attributes.items():
        if not is_name(name):
            raise InvalidAttributes(f"{name!r} is not a usable attribute name: letters, digits, '_', '.', '-'")
        if type(value) is str and value.isascii() and "\x00" not in value:
            continue
        if isinstance(value, list):
            if len(value) > MAX_ELEMENTS:
                raise InvalidAttributes(f"attribute {name!r} has {len(value)} elements; at most {MAX_ELEMENTS}")
            for element in value:
                checked_scalar(element, f"attribute {name!r}", InvalidAttributes)
        elif value is not None:
            checked_scalar(value, f"attribute {name!r}", InvalidAttributes)
    text = msgspec.json.encode(dict(attributes), order="sorted")
    if len(text) > MAX_BYTES:
        raise InvalidAttributes(f"policy attributes have {len(text):,} bytes; at most {MAX_BYTES:,} are allowed")
    return text.decode()


@lru_cache(maxsize=2_048)
def stored_attributes(text: str) -> Mapping[str, Any]:
    """The attributes behind text that `encode_attributes` made."""
    found: Mapping[str, Any] = msgspec.json.decode(text)
    return found


def is_name(name: object) -> bool:
    """True when filters could ask for an attribute of this name."""
    return isinstance(name, str) and _is_name(name)


@lru_cache(maxsize=4_096)
def _is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def checked_scalar(value: object, where: str, error: type[InvalidInput]) -> type_of_scalar:
    """The scalar itself, refused when engines would not compare it alike."""
    if type(value) is str:
        if flaw := flaw_in(value):
            raise error(f"{where} {flaw}")
        return value
    if type(value) is bool:
        return value
    if type(value) is int:
        if not _SMALLEST <= value <= _LARGEST:
            raise error(f"{where} has an integer that does not fit in 64 bits")
        return value
    if type(value) is float:
        if not isfinite(value):
            raise error(f"{where} has {value}, which JSON cannot express")
        return value
    raise error(f"{where} has a {type(value).__name__}; use text, a number, true or false")
