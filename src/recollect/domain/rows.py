"""Rows: one version of one thing each, as every backend keeps them; and items, as callers see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from recollect.domain.address import Address
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.reasons import EndReason, IndexState
from recollect.domain.values import stored_value


class Row(msgspec.Struct, frozen=True):
    """One version of the thing at an address, opened. `value` is None once it was evicted or erased."""

    tenant: str
    address: Address
    id: bytes
    revision: int
    sequence: int
    value: bytes | None
    attributes: bytes | None
    policy_attributes: str
    created_at: Instant
    written_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None = None
    end_reason: EndReason | None = None
    index_state: IndexState = IndexState.UNWANTED
    archived: bool = False
    index_fields: str | None = None

    def live_as_of(self, moment: Instant) -> bool:
        """True when a read at that earlier moment would have seen this version."""
        return (
            self.written_at <= moment
            and (self.ended_at is None or moment < self.ended_at)
            and not is_expired(self.expires_at, moment)
        )


def is_expired(expires_at: Instant | None, now: Instant) -> bool:
    """True from the very instant of expiry on, whatever any sweeper has done."""
    return expires_at is not None and now >= expires_at


class Item:
    """A stored value with what is known about it. The value is decoded when it is first asked for."""

    __slots__ = ("_attributes", "_value", "row", "usage")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.usage: dict[str, Any] | None = None
        """How often and when it was last fetched; None unless that was asked for."""
        self._value: dict[str, Any] | None = None
        self._attributes: dict[str, Any] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.row == other.row

    def __hash__(self) -> int:
        return hash(self.row.id)

    @property
    def namespace(self) -> tuple[str, ...]:
        """The segments of the namespace it lies in."""
        return self.row.address.namespace.segments

    @property
    def key(self) -> str:
        """Its name within the namespace."""
        return self.row.address.key

    @property
    def revision(self) -> int:
        """How often the key was written so far, this version included."""
        return self.row.revision

    @property
    def id(self) -> UUID:
        """The identity of this version."""
        return UUID(bytes=self.row.id)

    @property
    def value(self) -> dict[str, Any] | None:
        """The stored object; None for a version whose value was evicted or erased."""
        if self._value is None and self.row.value is not None:
            self._value = stored_value(self.row.value)
        return self._value

    @property
    def attributes(self) -> dict[str, Any] | None:
        """The attributes given with the value, or None."""
        if self._attributes is None and self.row.attributes is not None:
            self._attributes = stored_value(self.row.attributes)
        return self._attributes

    @property
    def archived(self) -> bool:
        """True when searches leave it out unless they ask for such."""
        return self.row.archived

    @property
    def created_at(self) -> datetime:
        """When the key was first given a value; kept when the value is updated."""
        return datetime_of(self.row.created_at)

    @property
    def updated_at(self) -> datetime:
        """When this version was written."""
        return datetime_of(self.row.written_at)

    @property
    def expires_at(self) -> datetime | None:
        """From when on it can no longer be read; None when it does not expire."""
        return None if self.row.expires_at is None else datetime_of(self.row.expires_at)

    @property
    def ended_at(self) -> datetime | None:
        """When this version stopped being the live one; None while it is."""
        return None if self.row.ended_at is None else datetime_of(self.row.ended_at)

    @property
    def end_reason(self) -> EndReason | None:
        """Why this version stopped being the live one; None while it is."""
        return self.row.end_reason

    @property
    def score(self) -> float | None:
        """How well it answers a query, from 0 to 1, within one answer; None when none was asked."""
        return None

    @property
    def matched_queries(self) -> tuple[int, ...]:
        """Which of several queries found it, counted from 0."""
        return ()

    @property
    def explanation(self) -> dict[str, Any] | None:
        """What each arm of the search said of it; None unless that was asked for."""
        return None

    def __repr__(self) -> str:
        return f"Item({'/'.join(self.namespace)} · {self.key} · revision {self.revision})"


class Hit(Item):
    """An item that a query found."""

    __slots__ = ("_explanation", "_matched", "_score")

    def __init__(
        self, row: Row, score: float, matched: tuple[int, ...] = (0,), explanation: dict[str, Any] | None = None
    ) -> None:
        super().__init__(row)
        self._score = score
        self._matched = matched
        self._explanation = explanation

    @property
    def score(self) -> float:
        """How well it answers the query, from 0 to 1, within one answer."""
        return self._score

    @property
    def matched_queries(self) -> tuple[int, ...]:
        """Which of several queries found it, counted from 0."""
        return self._matched

    @property
    def explanation(self) -> dict[str, Any] | None:
        """What each arm of the search said of it; None unless that was asked for."""
        return self._explanation

    def __repr__(self) -> str:
        return f"Hit({'/'.join(self.namespace)} · {self.key} · {self.score:.3f})"
