"""Items: one memory with everything that governance knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from recollect.domain.errors import InvalidInput
from recollect.domain.governance.terms import Authority, EventType, Kind, Space, Tier
from recollect.domain.text import shown

SCOPE: Literal["session"] = "session"


class Meta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is known about an item; what is not known is left out when it is shown."""

    event_type: EventType | None = None
    importance_reason: tuple[str, ...] = ()
    recall_reason: tuple[str, ...] = ()
    space: Space | None = None
    owner: str | None = None
    summary_of: tuple[str, ...] = ()
    dedup_key: str | None = None
    score: int | None = None
    key: str | None = None
    source_turn_ids: tuple[str, ...] = ()
    authority: Authority | None = None
    authority_reason: str | None = None
    promotion_target: Space | None = None
    promoted_from: str | None = None
    promotion_reason: str | None = None
    policy_tags: tuple[str, ...] = ()
    expires_at: int | None = None
    tier: Tier | None = None
    """Where a reviewed memory is kept, which has a life of its own: profiles recall it and do not forget it."""
    phase_id: str | None = None
    phase_name: str | None = None
    phase_started_at: int | None = None
    phase_reason: str | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One memory. Items are never changed: one that says something else is another item."""

    id: str
    kind: Kind
    text: str
    source: str
    created_at: int
    importance: int | float
    scope: Literal["session"] = SCOPE
    meta: Meta = Meta()

    @property
    def event_type(self) -> EventType:
        """What was said; context where nobody noted it."""
        return self.meta.event_type or EventType.CONTEXT

    @property
    def is_summary(self) -> bool:
        """True for the item that stands for turns that fell out of the window."""
        return self.kind is Kind.SHORT_TERM and bool(self.meta.summary_of)

    def with_meta(self, **changes: Any) -> Item:
        """The same item with something else known about it."""
        return msgspec.structs.replace(self, meta=msgspec.structs.replace(self.meta, **changes))


def read_item(raw: Mapping[str, Any]) -> Item:
    """The item that a mapping describes, refused with a clear message when it describes none."""
    given = dict(raw)
    if given.get("meta", {}) is None:
        given["meta"] = {}
    for name in ("created_at", "importance"):
        if isinstance(given.get(name), bool):
            raise InvalidInput(f"{name} is a number, not {shown(given[name])}")
    try:
        item = msgspec.convert(given, Item)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"this is not an item of memory: {error}") from None
    for name, empty in (("id", not item.id), ("source", not item.source)):
        if empty:
            raise InvalidInput(f"an item needs a {name}")
    if item.created_at < 0:
        raise InvalidInput(f"created_at is a tick from 0, not {shown(item.created_at)}")
    return item


def rank_of(item_id: str) -> tuple[str, int, str]:
    """How ids are ordered: by what they are about, then by number, so that the tenth comes after the ninth."""
    about, _, number = item_id.rpartition(":")
    return (about, int(number), "") if number.isascii() and number.isdigit() else (item_id, -1, number)
