"""Packs: what compiling gives, with an account of the budget and of everything that went into it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from recollect.domain.compiling.codes import DropReason, Form, Part, Treatment

VERSION = 1
"""Of the shape of packs and of their rendering; what changes the bytes gets another."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One remembered text, with what it takes and what it rests on."""

    id: str
    text: str
    tokens: int
    """What its line takes in the form that was asked for."""
    source: str | None
    at: str | None
    ended_at: str | None
    """Since when it is no longer so, if it is not."""
    provenance: tuple[str, ...]
    behavioral: bool
    warning: str | None


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of one part, under one heading. A warning stands once, above all of them."""

    name: str
    source: Part
    title: str
    instruction_treatment: Treatment
    warning: str | None
    tokens: int
    entries: tuple[Entry, ...]


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was offered and is not in the pack."""

    id: str
    source: Part
    block: str | None
    reason: DropReason


class Truncation(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a block was left out."""

    offered: int
    kept: int
    dropped: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The account of the budget.

    `used` is the count of all that is rendered. The parts are counted one by one, so that they may add up to more.
    """

    budget: int
    used: int
    frame: int
    """What the pack takes beside its blocks."""
    allocations: dict[str, int]
    """What each block may take before the others had their turn."""
    blocks: dict[str, int]
    """What each block that is there takes."""
    truncations: dict[str, Truncation]
    """The blocks that lost something."""
    dropped: tuple[Dropped, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What the pack was made of, so that it can be made again and compared."""

    version: int
    form: Form
    counter: str
    template: dict[str, Any]
    inputs: dict[str, str]
    """The hashes of the memories, the contradictions and the state, as far as they decide what is in the pack."""
    token: str
    """What the marks of the rendered pack contain; it follows from all that the pack is made of."""
    ids: tuple[str, ...]
    """The ids of the entries, in order."""


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered blocks of data for a prompt."""

    blocks: tuple[Block, ...]
    report: Report
    manifest: Manifest

    @property
    def hash(self) -> str:
        """The SHA-256 of the pack as canonical JSON."""
        return digest(self)

    def told(self) -> dict[str, Any]:
        """The pack as JSON, with its hash."""
        told: dict[str, Any] = msgspec.json.decode(canonical(self))
        return told | {"hash": self.hash}


def canonical(value: object) -> bytes:
    """The one spelling of a value as JSON: names in order, no white space, UTF-8."""
    return msgspec.json.encode(value, order="sorted")


def digest(value: object) -> str:
    """The SHA-256 of the value as canonical JSON."""
    return sha256(canonical(value)).hexdigest()
