"""Cards: what is known of the people, places, organisations and projects that are spoken of, in a line each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from recollect.domain.entities.refs import refs_of
from recollect.domain.remembering.records import Record

MOST_CARDS = 5
MOST_FACTS = 3
LOOKED_AT = 30
"""So many of the facts that matter most are dealt out among the cards."""
LEAST_WEIGHT = 2
"""What weighs less is on no card, unless it is pinned."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """An entity and the facts about it that matter most."""

    ref: str
    facts: tuple[str, ...]
    records: tuple[str, ...]
    """The ids of the records that say so, one for each fact."""

    @property
    def text(self) -> str:
        """The card in one line."""
        return f"[{self.ref}]: {'; '.join(self.facts)}"


def keys(relevant: Iterable[Record], canonical: Mapping[str, str]) -> tuple[str, ...]:
    """The entities that memories tell of, in the order in which they come up, each once."""
    return tuple(dict.fromkeys(canonical.get(ref, ref) for record in relevant for ref in refs_of(record)))


def cards(
    relevant: Sequence[Record],
    known: Sequence[Record],
    canonical: Mapping[str, str],
    exclude_ids: Collection[str] = (),
    most: int = MOST_CARDS,
    facts: int = MOST_FACTS,
    looked_at: int = LOOKED_AT,
) -> tuple[Card, ...]:
    """The cards of those whom the relevant memories tell of, made from what is known and not shown already.

    Each memory is on one card at most, that of the first entity that came up. Nothing is said twice, and nothing that
    another memory stands in place of is said at all.
    """
    wanted = keys(relevant, canonical)
    places = {ref: place for place, ref in enumerate(wanted)}
    shown = set(exclude_ids)
    found: dict[str, list[Record]] = {ref: [] for ref in wanted}
    said: set[str] = set()
    mine = [each for each in known if each.id not in shown and _first(each, places, canonical) is not None]
    for record in telling(mine)[:looked_at]:
        ref = _first(record, places, canonical)
        if ref is None or len(found[ref]) >= facts or _said(record) in said:
            continue
        found[ref].append(record)
        said.add(_said(record))
    made = [_card(ref, records) for ref, records in found.items() if records]
    return tuple(made[:most])


def card(ref: str, known: Sequence[Record], canonical: Mapping[str, str], facts: int = MOST_FACTS) -> Card | None:
    """The card of one entity; None while nothing about it weighs enough."""
    mine: dict[str, Record] = {}
    for record in telling(known):
        if ref in {canonical.get(each, each) for each in refs_of(record)}:
            mine.setdefault(_said(record), record)
    return _card(ref, list(mine.values())[:facts]) if mine else None


def telling(known: Iterable[Record]) -> list[Record]:
    """What weighs enough for a card, the weightiest first."""
    return weightiest(each for each in known if each.ended_at is None and (each.pinned or each.weight >= LEAST_WEIGHT))


def weightiest(known: Iterable[Record]) -> list[Record]:
    """Memories by how much they matter: pinned ones first, then by weight, then the newest."""
    # Ids settle what is otherwise alike, so that the same memories always come in the same order.
    return sorted(known, key=lambda each: (not each.pinned, -each.weight, -each.promoted_at, -each.tick, each.id))


def _first(record: Record, places: Mapping[str, int], canonical: Mapping[str, str]) -> str | None:
    """The entity, of those that came up, that came up first and that a memory tells of."""
    mine = [ref for ref in (canonical.get(each, each) for each in refs_of(record)) if ref in places]
    return min(mine, key=lambda ref: places[ref], default=None)


def _card(ref: str, records: Sequence[Record]) -> Card:
    return Card(ref=ref, facts=tuple(_line(each) for each in records), records=tuple(each.id for each in records))


def _line(record: Record) -> str:
    return " ".join(record.text.split())


def _said(record: Record) -> str:
    return _line(record).casefold().rstrip(".!?")
