"""Columns of many rows as arrays, in the binary form in which the server takes them.

The driver's own arrays depend in their type on what is in them, so that a statement would be prepared again and again,
and they are made element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from struct import pack

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

_NULL = pack("!i", -1)


class BytesArray:
    """A column of bytes."""

    __slots__ = ("packed",)

    def __init__(self, column: Sequence[bytes | None]) -> None:
        self.packed = _framed(17, column)


class TextArray:
    """A column of text."""

    __slots__ = ("packed",)

    def __init__(self, column: Sequence[str | None]) -> None:
        self.packed = _framed(25, [None if text is None else text.encode() for text in column])


class NumberArray:
    """A column of whole numbers."""

    __slots__ = ("packed",)

    def __init__(self, column: Sequence[int | None]) -> None:
        if None in column:
            self.packed = _framed(20, [None if number is None else pack("!q", number) for number in column])
        else:
            numbers = chain.from_iterable((8, number) for number in column)
            self.packed = _head(20, len(column)) + pack("!" + "iq" * len(column), *numbers)


Array = BytesArray | TextArray | NumberArray


def _head(element: int, count: int) -> bytes:
    return pack("!iiiii", 1, 1, element, count, 1) if count else pack("!iii", 0, 0, element)


def _framed(element: int, column: Sequence[bytes | None]) -> bytes:
    parts = [_NULL if each is None else len(each).to_bytes(4) + each for each in column]
    return _head(element, len(column)) + b"".join(parts)


class _Packed(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Buffer | None:
        return obj.packed


class _PackedBytes(_Packed):
    oid = 1001


class _PackedText(_Packed):
    oid = 1009


class _PackedNumbers(_Packed):
    oid = 1016


def teach(connection: psycopg.Connection[object]) -> None:
    """Let a connection send such arrays."""
    connection.adapters.register_dumper(BytesArray, _PackedBytes)
    connection.adapters.register_dumper(TextArray, _PackedText)
    connection.adapters.register_dumper(NumberArray, _PackedNumbers)
