"""Connections for vectors: with the settings that their statements count on, and arrays sent as numpy has them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

from recollect.backends.postgres.connections import Link, open_link, translated
from recollect.backends.postgres.options import PostgresOptions
from recollect.domain.errors import InvalidSetting, StoreTrouble, VectorsUnavailable

_BIGINT, _REAL = 20, 700
_BIGINTS, _REALS = 1016, 1021
_SETTINGS = {
    "plan_cache_mode": "force_custom_plan",  # how much is in scope decides how it is best looked for
    "jit": "off",  # compiling takes longer than the work
    "synchronous_commit": "off",  # noting how far it was followed waits for all that was written before
    "work_mem": "32MB",
}


@dataclass(frozen=True, slots=True)
class Integers:
    """An array of whole numbers for a statement."""

    values: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reals:
    """An array of floats for a statement."""

    values: NDArray[np.float32]


def signed(words: NDArray[np.uint64]) -> Integers:
    """Blinded words as the database keeps them: the same bits, with a sign."""
    return Integers(np.ascontiguousarray(words, np.uint64).view(np.int64))


class _IntegersDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: Integers) -> bytes:
        return _array(obj.values, ">i8", _BIGINT)


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = _REALS

    def dump(self, obj: Reals) -> bytes:
        return _array(obj.values, ">f4", _REAL)


def _array(values: NDArray[np.int64] | NDArray[np.float32], kind: str, oid: int) -> bytes:
    """An array as PostgreSQL sends it: its shape, then each element after its size."""
    if not len(values):
        return struct.pack(">iii", 0, 0, oid)
    elements = np.empty(len(values), np.dtype([("size", ">i4"), ("value", kind)]))
    elements["size"] = elements.dtype["value"].itemsize
    elements["value"] = values
    return struct.pack(">iiiii", 1, 0, oid, len(values), 1) + elements.tobytes()


def open_vector_link(options: PostgresOptions) -> Link:
    """A connection with our settings, before it is known where the extension is."""
    link = open_link(options)
    try:
        link.connection.adapters.register_dumper(Integers, _IntegersDumper)
        link.connection.adapters.register_dumper(Reals, _RealsDumper)
        calls = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())
        link.connection.execute(f"SELECT {calls}", prepare=False)
    except BaseException:
        link.close()
        raise
    return link


def look_in(link: Link, *schemas: str) -> None:
    """Let names without a schema be looked for in these."""
    path = ", ".join(f'"{schema}"' for schema in schemas)
    link.connection.execute("SELECT set_config('search_path', $1, false)", [path], prepare=False)


@contextmanager
def refusing() -> Iterator[None]:
    """Let out no error of the driver, nor one of a store: to those who search, the vectors are away."""
    try:
        yield
    except psycopg.Error as problem:
        raise VectorsUnavailable(_told(translated(problem).message)) from problem
    except (InvalidSetting, StoreTrouble) as problem:
        raise VectorsUnavailable(_told(problem.message)) from problem


def _told(message: str) -> str:
    return f"vectors in PostgreSQL: {message}"
