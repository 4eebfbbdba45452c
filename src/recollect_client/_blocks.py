"""How the items of a history are packed into memories, and come out as they were.

A block is one memory with one item or, when very many are added at once, a few. What a memory cannot hold as it is (NUL
characters, lone surrogates, numbers beyond 64 bits, deep nesting) is kept as JSON text; a query does not find that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

from recollect_client.errors import InvalidValue

_BLOCKS = 900
"""Into so many blocks an addition is spread, if it can be; those that grow too large become more."""
_BYTES = 1 << 19
"""Where a block with several items ends; one memory holds 1 MiB."""
_LEVELS = 29
"""Levels of nesting in an item; a memory has 32, of which the block takes two."""


def pack(items: Iterable[Any]) -> list[dict[str, Any]]:
    """The values of the blocks that hold these items, in their order."""
    texts = [_text(item) for item in items]
    share = ceil(len(texts) / _BLOCKS)
    blocks: list[list[str]] = []
    size = 0
    for text in texts:
        if not blocks or len(blocks[-1]) == share or size + len(text) > _BYTES:
            blocks.append([])
            size = 0
        blocks[-1].append(text)
        size += len(text)
    return [_value(block) for block in blocks]


def shortened(value: dict[str, Any]) -> dict[str, Any]:
    """The value of the block without its last item."""
    return _value([_text(item) for item in unpack(value)[:-1]])


def unpack(value: Any) -> list[Any]:
    """The items of a block."""
    items = json.loads(value["json"]) if "json" in value else value["items"]
    if not isinstance(items, list):
        raise TypeError("the items of a block are a list")
    return items


def _value(texts: Sequence[str]) -> dict[str, Any]:
    text = f"[{','.join(texts)}]"
    items = json.loads(text)
    return {"items": items} if all(_plain(item, _LEVELS) for item in items) else {"json": text}


def _text(item: Any) -> str:
    """An item as JSON says it; refused when JSON cannot."""
    try:
        _check_names(item)
        return json.dumps(item, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"an item of a history is JSON: {error}") from None


def _check_names(member: Any) -> None:
    if isinstance(member, dict):
        if any(not isinstance(name, str) for name in member):
            raise TypeError("the names in an object are text")
        member = member.values()
    elif not isinstance(member, list | tuple):
        return
    for each in member:
        _check_names(each)


def _plain(member: Any, levels: int) -> bool:
    """True when a memory can hold this as it is."""
    if isinstance(member, str):
        return "\x00" not in member and (member.isascii() or not any("\ud800" <= each <= "\udfff" for each in member))
    if isinstance(member, dict):
        return levels > 0 and all(_plain(name, 0) and _plain(each, levels - 1) for name, each in member.items())
    if isinstance(member, list):
        return levels > 0 and all(_plain(each, levels - 1) for each in member)
    return not isinstance(member, int) or -(1 << 63) <= member < 1 << 64
