"""The answers of the service that callers see only a part of."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect_client.models import Item, Token, Written


class Batch(msgspec.Struct):
    """The answer to a batch."""

    results: list[Written]


class History(msgspec.Struct):
    """The versions of a key."""

    versions: list[Item]


class Namespaces(msgspec.Struct):
    """The namespaces that have items."""

    namespaces: list[tuple[str, ...]]


class Head(msgspec.Struct):
    """The end of the log."""

    head: str


class Rotated(msgspec.Struct):
    """How many keys were wrapped anew."""

    rotated: int


class ImportedSoFar(msgspec.Struct):
    """How far a source has been imported."""

    sequence: int


class Tools(msgspec.Struct):
    """The tools of an agent."""

    tools: list[dict[str, Any]]


class Captured(msgspec.Struct):
    """What became of captures."""

    captures: list[dict[str, Any]]


class LookedInto(msgspec.Struct):
    """How many captures were looked into."""

    looked_into: int


class Tokens(msgspec.Struct):
    """The API keys of a tenant."""

    tokens: list[Token]
