"""Ids: the counters that items and ticks are numbered by, whose an item is, and hashes that make runs comparable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha1, sha256
from uuid import UUID

import msgspec

from recollect.domain.governance.terms import Kind, Space

ANONYMOUS = "anonymous"
UNKNOWN = "unknown"
SYSTEM = "system"
_SPELLING = UUID("6f0c5c0e-5f0b-5d6e-9a63-0c4f1f2b7a11")
"""The namespace of the version 5 UUIDs that records are also known by."""
_RUNS = re.compile(r"\s+")


class Numbering(msgspec.Struct, frozen=True):
    """How far the clock and the counters of a tenant have come. The first tick and the first number are 1."""

    tick: int = 0
    counts: dict[str, int] = {}

    def ticked(self) -> Numbering:
        """One tick later."""
        return Numbering(self.tick + 1, self.counts)

    def numbered(self, store_key: str, kind: Kind) -> tuple[Numbering, str]:
        """One tick later, and the id of the item that was made then."""
        counter = f"{store_key}:{kind}"
        number = self.counts.get(counter, 0) + 1
        return Numbering(self.tick + 1, self.counts | {counter: number}), f"{counter}:{number}"


class Owners(msgspec.Struct, frozen=True):
    """Whose each space is in a call, as the ids of items spell it.

    Spelling is not a wall: two names may be spelt alike. What one caller may see is decided by namespace.
    """

    session: str = ANONYMOUS
    user: str = ANONYMOUS
    project: str = UNKNOWN
    system: str = SYSTEM

    def of(self, space: Space) -> str:
        """Who owns the space."""
        owners = {Space.SESSION: self.session, Space.USER: self.user, Space.PROJECT: self.project}
        return owners.get(space, self.system)

    def store_key(self, space: Space) -> str:
        """What the ids of the space's items begin with."""
        return f"{space}:{self.of(space)}"


def spelt(owner: object, otherwise: str = ANONYMOUS) -> str:
    """An owner as ids spell it: no white space, no colon, never empty."""
    return _RUNS.sub("_", str(owner).strip()).replace(":", "_") or otherwise if owner is not None else otherwise


def owners_of(
    *,
    state: Mapping[str, object] | None = None,
    identity: Mapping[str, object] | None = None,
    project_root: str | None = None,
    app_path: str | None = None,
) -> Owners:
    """Whose the spaces are in a call: from the caller's state and identity, and where the project lies.

    Paths are given resolved and with forward slashes.
    """
    user = (state or {}).get("user")
    named = user.get("id") if isinstance(user, Mapping) else None
    session = spelt(named)
    known = (identity or {}).get("id") or (identity or {}).get("user_id") or named
    return Owners(session, spelt(known, session), project_id(project_root, app_path))


def project_id(project_root: str | None, app_path: str | None = None) -> str:
    """What a project is called in ids: the beginning of a hash of where it lies."""
    place = project_root or app_path
    return sha256(place.encode()).hexdigest()[:12] if place else UNKNOWN


def deterministic_hash(recalled: Iterable[tuple[str, str]]) -> str:
    """The hash of what was recalled, from kind and id of each in order; two runs that recall alike hash alike."""
    return sha256("|".join(f"{kind}:{item_id}" for kind, item_id in recalled).encode()).hexdigest()


def other_spelling(tenant: str, item_id: str) -> str:
    """The id by which agents' tools know the same item: `mem-` and the version 5 UUID of tenant and id."""
    named = f"{len(tenant)}:{tenant}:{item_id}".encode()
    digest = sha1(_SPELLING.bytes + named, usedforsecurity=False).digest()
    return f"mem-{UUID(bytes=digest[:16], version=5)}"
