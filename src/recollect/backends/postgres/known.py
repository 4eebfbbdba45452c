"""What a transaction knows of keys and requests: asked once for all its commits, and kept up with what they decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from msgspec.structs import replace

from recollect.backends.postgres.arrays import BytesArray
from recollect.backends.postgres.connections import Link, Row
from recollect.backends.postgres.places import BEGINNING, INDEXED, places_of
from recollect.domain.address import Address
from recollect.domain.instants import Instant
from recollect.domain.planning import Newest, Plan, Version
from recollect.domain.reasons import IndexState

_COLUMNS = "id, revision, created_at, written_at, expires_at, ended_at, index_state"
_PLACE = f"tenant = $1 AND plane = a.plane AND {BEGINNING} = left(a.space, {INDEXED}) AND key = a.name"
_NEWEST = f"""
SELECT a.place, v.* FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS a (plane, space, name, place)
CROSS JOIN LATERAL (
    (SELECT {_COLUMNS} FROM versions WHERE {_PLACE} AND namespace = a.space AND ended_at IS NULL LIMIT 1)
    UNION ALL
    (SELECT {_COLUMNS} FROM versions WHERE {_PLACE} AND namespace = a.space AND ended_at IS NOT NULL
     ORDER BY revision DESC LIMIT 1)
) v
"""
_RECEIPTS = "SELECT lookup, fingerprint, receipt FROM receipts WHERE tenant = $1 AND lookup = ANY($2::bytea[])"
_STATES = {state.value: state for state in IndexState}

Kept = tuple[bytes, bytes]
"""Fingerprint and receipt of a request."""


class Known:
    """The newest version of each key, and the receipt of each request, that the commits of one transaction need."""

    def __init__(self, link: Link, tenant: str) -> None:
        self._link = link
        self._tenant = tenant
        self._newest: dict[Address, Newest | None] = {}
        self._receipts: dict[bytes, Kept | None] = {}
        self._coming: list[tuple[Sequence[Address], psycopg.Cursor[Row]]] = []
        self._receipts_coming: list[psycopg.Cursor[Row]] = []

    def ask(self, addresses: Iterable[Address], lookups: Iterable[bytes | None]) -> None:
        """Send the questions about what of these is not known; the answers are read when they are needed."""
        missing = [address for address in dict.fromkeys(addresses) if address not in self._newest]
        if missing:
            sent = self._link.send(_NEWEST, self._tenant, *places_of(missing))
            self._coming.append((missing, sent))
            self._newest.update(dict.fromkeys(missing))
        requests = [lookup for lookup in dict.fromkeys(lookups) if lookup is not None and lookup not in self._receipts]
        if requests:
            self._receipts_coming.append(self._link.send(_RECEIPTS, self._tenant, BytesArray(requests)))
            self._receipts.update(dict.fromkeys(requests))

    def newest(self, address: Address) -> Newest | None:
        """The live version of a key that was asked for, else the last that was."""
        if self._coming:
            self._read()
        return self._newest[address]

    def receipt(self, lookup: bytes) -> Kept | None:
        """What a request that was asked for left behind, if it was carried out before."""
        if self._receipts_coming:
            for cursor in self._receipts_coming:
                self._receipts.update((found, (fingerprint, kept)) for found, fingerprint, kept in cursor.fetchall())
            self._receipts_coming.clear()
        return self._receipts[lookup]

    def learn(self, plan: Plan) -> None:
        """Take into account what a commit decided about keys that were asked for."""
        for version in plan.versions:
            self._newest[version.address] = _of(version)
        changed: dict[bytes, tuple[Instant | None, IndexState]] = {
            label.id: (None, label.index_state) for label in plan.labels
        }
        changed |= {ending.id: (ending.at, ending.index_state) for ending in plan.endings}
        if changed:
            for event in plan.events:
                newest = self._newest.get(event.address)
                if newest is not None and newest.id in changed:
                    ended_at, state = changed[newest.id]
                    self._newest[event.address] = replace(newest, ended_at=ended_at, index_state=state)

    def learn_request(self, lookup: bytes, kept: Kept) -> None:
        """A request that was asked for is carried out now."""
        self._receipts[lookup] = kept

    def forget(self) -> None:
        """Anything may have changed."""
        self._newest.clear()
        self._receipts.clear()
        self._coming.clear()
        self._receipts_coming.clear()

    def _read(self) -> None:
        for addresses, cursor in self._coming:
            for place, *row in cursor.fetchall():
                self._keep(addresses[place - 1], row)
        self._coming.clear()

    def _keep(self, address: Address, row: Sequence[Any]) -> None:
        row_id, revision, created_at, written_at, expires_at, ended_at, state = row
        if ended_at is None or self._newest[address] is None:
            self._newest[address] = Newest(
                row_id, revision, created_at, written_at, expires_at, ended_at, _STATES[state]
            )


def _of(version: Version) -> Newest:
    return Newest(
        version.id,
        version.revision,
        version.created_at,
        version.written_at,
        version.expires_at,
        version.ended_at,
        version.index_state,
    )
