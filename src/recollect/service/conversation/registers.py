"""Registers: where the entities of a user are kept, so that no name is in a key, and how a turn notes whom it names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.address import Address, Namespace, namespace
from recollect.domain.entities.likeness import MOST_SUGGESTIONS, Likeness, Suggestion, suggested
from recollect.domain.entities.refs import is_ref, label_or_none, name_in, named_in, parsed
from recollect.domain.entities.registry import Change, Entity, Registry, canonical
from recollect.domain.filters import parse_filter
from recollect.domain.governance.terms import Space
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived, Find, Order, Page
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.ports.store import Store
from recollect.service.pipeline.draft import Draft
from recollect.service.pipeline.places import blinded
from recollect.service.pipeline.promoting import Promoting

LIKENED = 200
"""A new entity is compared with so many of its type, those that were spoken of last."""
_PAGE = 500
_MERGED = parse_filter({"merged": True})
Finds = Callable[[Find], Awaitable[Page]]
Gets = Callable[[Address], Awaitable[bytes | None]]


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion as it is kept, and what became of it."""

    id: str
    ref: str
    into: str
    score: float
    reasons: tuple[Likeness, ...]
    at: Instant
    status: str = "open"
    """`open`, `accepted` or `rejected`."""
    decided_at: Instant | None = None
    decided_by: str | None = None
    change: str | None = None
    """The change that came of it."""


class Shelf:
    """The addresses of a user's entities. Names are blinded in them: keys can be read with the database alone."""

    def __init__(self, user: str, key: bytes) -> None:
        self.root = entities_of(user)
        self._user, self._key = user, key

    def entity_key(self, ref: str) -> str:
        """What stands for an entity in keys and labels."""
        return f"ent_{blinded(self._key, 'entity', ref)}"

    def entity(self, ref: str) -> Address:
        """An entity."""
        return Address(Plane.ENTITY, self.root, self.entity_key(ref))

    def pair(self, one: str, other: str) -> Address:
        """The suggestion that two may be the same; the same one whichever is named first."""
        first, second = sorted((one, other))
        return self.suggestion(f"esg_{blinded(self._key, 'pair', first, second)}")

    def suggestion(self, suggestion_id: str) -> Address:
        """A suggestion."""
        return Address(Plane.ENTITY, namespace((*self.root.segments, "suggestions")), suggestion_id)

    def change(self, change_id: str) -> Address:
        """A change."""
        return Address(Plane.ENTITY, namespace((*self.root.segments, "changes")), change_id)

    def put_entity(self, draft: Draft, entity: Entity) -> None:
        """Draft an entity as it is now."""
        labels = {"type": parsed(entity.ref).type.value, "merged": entity.merged_into is not None}
        draft.put(self.entity(entity.ref), msgspec.json.encode(entity), labels)

    def put_suggestion(self, draft: Draft, suggestion: Suggested) -> None:
        """Draft a suggestion as it is now."""
        draft.put(self.suggestion(suggestion.id), msgspec.json.encode(suggestion), {"status": suggestion.status})

    def put_change(self, draft: Draft, change: Change) -> None:
        """Draft a change, to be found by each entity that it is about."""
        labels = {"kind": change.kind.value, "about": [self.entity_key(each) for each in change.refs][:100]}
        draft.put(self.change(change.id), msgspec.json.encode(change), labels)


def entities_of(user: str) -> Namespace:
    """Where the entities of a user lie: among their own things, so that they are erased with them."""
    return namespace(("user", user, "entities"))


def read_entity(raw: bytes) -> Entity:
    """The entity that was stored."""
    return msgspec.json.decode(raw, type=Entity)


async def merged_in(find: Finds, user: str) -> list[Entity]:
    """All that are other names of somebody."""
    return [read_entity(row.value) for row in await rows(find, entities_of(user), _MERGED) if row.value is not None]


async def rows(find: Finds, within: Namespace, wanted: Any) -> list[Row]:
    """All rows at a namespace that a filter lets through."""
    found: list[Row] = []
    cursor: str | None = None
    while True:
        query = Find(Plane.ENTITY, within, wanted, Order.KEY, _PAGE, cursor=cursor, archived=Archived.INCLUDE)
        page = await find(query)
        found += [row for row in page.rows if row.address.namespace == within]
        cursor = page.cursor
        if cursor is None:
            return found


async def registry_of(find: Finds, get: Gets, shelf: Shelf, user: str, refs: Iterable[str]) -> Registry:
    """The registry of a user, as far as these refs go: all other names, and whom the refs mean."""
    entities = {each.ref: each for each in await merged_in(find, user)}
    links = {each.ref: each.merged_into for each in entities.values() if each.merged_into is not None}
    for ref in dict.fromkeys(name for each in refs for name in (each, canonical(each, links))):
        raw = None if ref in entities else await get(shelf.entity(ref))
        if raw is not None:
            entities[ref] = read_entity(raw)
    return Registry(entities.values())


async def canonical_refs(store: Store, tenant: str, user: str, refs: Iterable[str]) -> dict[str, str]:
    """Whom each of these refs means, by the merges as they are now."""

    async def find(query: Find) -> Page:
        return await store.find(tenant, query)

    wanted = dict.fromkeys(refs)
    if not wanted:
        return {}
    links = {each.ref: each.merged_into for each in await merged_in(find, user) if each.merged_into is not None}
    return {ref: canonical(ref, links) for ref in wanted}


async def all_canonical(store: Store, tenant: str, user: str) -> Mapping[str, str]:
    """Whom every other name of somebody means; a ref that is not in it means itself."""

    async def find(query: Find) -> Page:
        return await store.find(tenant, query)

    links = {each.ref: each.merged_into for each in await merged_in(find, user) if each.merged_into is not None}
    return {ref: canonical(ref, links) for ref in links}


async def note_entities(
    under_way: Promoting, user: str, named: Sequence[tuple[str, str | None]], at: Instant
) -> tuple[str, ...]:
    """Note in a turn's transaction whom it speaks of, each once; the refs of those that nobody spoke of before.

    A new one is compared with those that are known, and where they are alike that is suggested, never done.
    """
    shelf, draft = Shelf(user, under_way.key), under_way.draft
    new: list[Entity] = []
    labels: dict[str, str | None] = {}
    for ref, label in named:
        labels[ref] = labels.get(ref) or label_or_none(label)
    for ref, label in labels.items():
        if not is_ref(ref):
            continue
        raw = await draft.bytes_at(shelf.entity(ref))
        if raw is None:
            made = Entity(
                ref=ref, label=label or name_in(parsed(ref)), created_at=under_way.now, updated_at=under_way.now
            )
            new.append(made.mentioned(at))
        else:
            shelf.put_entity(draft, read_entity(raw).mentioned(at))
    known: dict[str, list[Entity]] = {}
    for entity in new:
        shelf.put_entity(draft, entity)
        kind = parsed(entity.ref).type.value
        if kind not in known:
            known[kind] = await _known(under_way, shelf, kind)
        await _suggest(under_way, shelf, entity, known[kind])
        known[kind].append(entity)
    return tuple(each.ref for each in new)


async def note_spoken_of(under_way: Promoting) -> tuple[str, ...]:
    """Note whom the user's own memories tell of that this transaction wrote, or heard once more.

    What one persona alone knows is told of nowhere else: the entities are those that all of them know.
    """
    heard = [*under_way.promoted, *under_way.mentioned]
    own = [each for each in heard if each.space is Space.USER and each.persona is None and each.consent_id is None]
    named = [pair for record in own for pair in named_in(record)]
    if not named:
        return ()
    return await note_entities(under_way, under_way.places.user, named, under_way.moment or under_way.now)


async def _known(under_way: Promoting, shelf: Shelf, kind: str) -> list[Entity]:
    """The entities of a type that were spoken of last."""
    query = Find(Plane.ENTITY, shelf.root, parse_filter({"type": kind}), Order.NEWEST, LIKENED)
    page = await under_way.draft.unit.find(query)
    return [read_entity(row.value) for row in page.rows if row.value is not None]


async def _suggest(under_way: Promoting, shelf: Shelf, entity: Entity, known: Sequence[Entity]) -> None:
    """Draft whom a new entity may be; a pair about which there was a suggestion before is left alone."""
    registry = Registry(known)
    made: dict[str, Suggestion] = {}
    for each in suggested(entity, known, most=LIKENED):
        into = registry.canonical(each.into)
        address = shelf.pair(entity.ref, into)
        if into in made or into == entity.ref or await under_way.draft.bytes_at(address) is not None:
            continue
        made[into] = each
        told = Suggested(
            id=address.key, ref=entity.ref, into=into, score=each.score, reasons=each.reasons, at=under_way.now
        )
        shelf.put_suggestion(under_way.draft, told)
        if len(made) == MOST_SUGGESTIONS:
            return
