"""Memory types: whether a memory is about the user, about those around them, or about what they work on."""

from __future__ import annotations

from enum import StrEnum

from recollect.domain.remembering.records import Record

REF_TYPES = ("person", "place", "org", "project")
"""The types of what a memory can tell of, beside the user."""


class MemoryType(StrEnum):
    """What sort of memory it is, by the entity that it tells of first."""

    PROFILE = "PROFILE"
    """Of the user themself."""
    PEOPLE = "PEOPLE"
    """Of a person, a place or an organisation."""
    PROJECT = "PROJECT"
    """Of a project."""


def primary_ref(record: Record) -> str | None:
    """The person, place, organisation or project that it tells of first; None when that is the user themself."""
    if record.entity_refs:
        return record.entity_refs[0]
    return record.entity if record.entity.partition(":")[0] in REF_TYPES else None


def type_of(record: Record) -> MemoryType:
    """The type of a memory, which follows from what it tells of first."""
    ref = primary_ref(record)
    if ref is None:
        return MemoryType.PROFILE
    return MemoryType.PROJECT if ref.startswith("project:") else MemoryType.PEOPLE
