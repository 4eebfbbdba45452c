"""Identities: version 7 UUIDs from a moment and some chance, both given."""

from __future__ import annotations

from recollect.domain.instants import Instant

RANDOM_BYTES = 10


def uuid7(at: Instant, chance: bytes) -> bytes:
    """The sixteen bytes of a UUIDv7 for that moment, from ten bytes of chance."""
    milliseconds = (at // 1000) & 0xFFFF_FFFF_FFFF
    bits = int.from_bytes(chance)
    return (
        milliseconds << 80 | 0x7000 << 64 | (bits >> 68 & 0x0FFF) << 64 | 0x8 << 60 | bits & 0x0FFF_FFFF_FFFF_FFFF
    ).to_bytes(16)
