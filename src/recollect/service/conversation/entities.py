"""Entities: whom somebody speaks of, what is known of each, and which of them are the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from recollect.domain.address import Address
from recollect.domain.attributes import stored_attributes
from recollect.domain.callers import Action
from recollect.domain.conversation.cards import card, weightiest
from recollect.domain.conversation.personas import persona_name
from recollect.domain.entities import registry as rules
from recollect.domain.entities.refs import EntityType, name_in, named_in, parsed, ref_of, refs_of
from recollect.domain.entities.registry import Change, ChangeKind, Entity, Registry, Step
from recollect.domain.errors import EntityRefused, InvalidRequest, InvalidValue, NotFound
from recollect.domain.filters import matches, parse_filter
from recollect.domain.governance.terms import Space
from recollect.domain.promotion import shapes
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.queries import Find, Order, Page, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, live_record
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service.conversation.entity_shapes import shown_change, shown_entity, shown_fact, shown_suggestion
from recollect.service.conversation.registers import (
    Shelf,
    Suggested,
    all_canonical,
    canonical_refs,
    note_entities,
    read_entity,
    registry_of,
)
from recollect.service.guard import Ruling
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

__all__ = ["Entities", "all_canonical", "canonical_refs", "note_entities"]
Result = TypeVar("Result")
Steps = Callable[[Promoting, Shelf], Awaitable[tuple[Step, ...]]]
"""Decides what changes, with the registry as it is in the transaction."""
MOST_FACTS = 100
"""So many facts about an entity are told, the weightiest."""
_MOST_CHANGES = 50
_CONTRADICTIONS = 200
_STATUSES = ("open", "accepted", "rejected")


class Entities(Person):
    """The entities that are spoken of, in the name of one caller."""

    # -- looking

    async def list_entities(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the word of the API
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Everybody and everything that was spoken of, what was spoken of last first; other names are not listed."""
        self._check_own_name()
        wanted = None if type is None else shapes.one_of(EntityType, type, "type").value
        shelf, most = await self._entity_shelf(), checked_limit(limit)
        asked = {"merged": False} if wanted is None else {"merged": False, "type": wanted}
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(shelf.root.segments, asked)
        if view is None or view.prefix != shelf.root.segments:
            return {"entities": [], "cursor": None}
        query = Find(Plane.ENTITY, shelf.root, view.filter, Order.NEWEST, most, cursor=cursor)
        page = await self._workings.store.find(self._tenant, query)
        found = [read_entity(row.value) for row in page.rows if row.value is not None]
        registry = await self._entity_registry(shelf, ())
        told = [shown_entity([each, *registry.group(each.ref)]) for each in found]
        return {"entities": told, "cursor": page.cursor}

    async def get_entity(self, ref: str, *, persona: str | None = None) -> dict[str, Any]:
        """Whom a ref means: other names, what is known, how often it was spoken of, and what is disputed or changed.

        What only one persona knows is told to that persona.
        """
        self._check_own_name()
        persona = None if persona is None else persona_name(persona)
        named, shelf = str(parsed(ref)), await self._entity_shelf()
        ruling = await self._workings.guard.begin(self._caller)
        registry = await self._entity_registry(shelf, [named])
        address = shelf.entity(registry.canonical(named))
        if not await ruling.allows(Action.READ, address.namespace.segments, address.key):
            raise NotFound("entity not found")
        whole = registry.canonical(named)
        facts = await self._entity_facts(ruling, registry, whole, persona)
        group = registry.group(whole) or _known_by(facts, whole)
        links = {name: registry.canonical(name) for record in facts for name in refs_of(record)}
        made = card(whole, facts, links)
        told = {
            "card": None if made is None else {"text": made.text, "lines": list(made.facts)},
            "facts": [shown_fact(each) for each in facts[:MOST_FACTS]],
            "contradictions": await self._disputed_facts({each.id for each in facts}),
            "changes": await self._entity_changes(shelf, group),
        }
        return shown_entity(group) | told

    async def _canonical_entities(self, refs: Iterable[str]) -> dict[str, str]:
        """Whom each of these refs means, by the merges as they are now."""
        return await canonical_refs(self._workings.store, self._tenant, self._owner, refs)

    async def list_entity_suggestions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Which entities may be the same, the last suggested first; by default those that nobody decided about."""
        self._check_own_name()
        if status not in _STATUSES:
            raise InvalidValue(f"status is one of {', '.join(_STATUSES)}", field="status")
        shelf, most = await self._entity_shelf(), checked_limit(limit)
        within = shelf.suggestion("-").namespace
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(within.segments, {"status": status})
        if view is None or view.prefix != within.segments:
            return {"suggestions": [], "cursor": None}
        query = Find(Plane.ENTITY, within, view.filter, Order.NEWEST, most, cursor=cursor)
        page = await self._workings.store.find(self._tenant, query)
        found = [_read_suggested(row.value) for row in page.rows if row.value is not None]
        registry = await self._entity_registry(shelf, [name for each in found for name in (each.ref, each.into)])
        told = [each for each in found if each.status != "open" or not _is_moot(each, registry)]
        return {"suggestions": [shown_suggestion(each, registry) for each in told], "cursor": page.cursor}

    # -- changing

    async def put_entity(
        self, ref: str, *, label: str | None = None, aliases: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Name an entity, and let more names lead to it. Names that it has already stay; `split_entity` takes them."""
        named = parsed(ref)
        if label is None and aliases is None:
            raise InvalidRequest("say what it is called: label, aliases, or both", field="label")

        async def steps(under_way: Promoting, shelf: Shelf) -> tuple[Step, ...]:
            first = await _registry_within(under_way, shelf, self._owner, [str(named)])
            kind = parsed(first.canonical(str(named))).type
            others = [ref_of(kind, each) for each in aliases or () if isinstance(each, str)]
            names = [str(named), *(str(each) for each in others if each is not None)]
            registry = await _registry_within(under_way, shelf, self._owner, names)
            return rules.put(registry, named, label, aliases)

        return await self._told_entity(str(named), await self._change_entities(ChangeKind.PUT, steps))

    async def merge_entities(self, ref: str, into: str, *, forced: bool = False) -> dict[str, Any]:
        """Say that two entities are the same; the first is another name of the second, on every card, at once."""
        gone, stays = parsed(ref), parsed(into, "into")
        shapes.truth(forced, "forced")

        async def steps(under_way: Promoting, shelf: Shelf) -> tuple[Step, ...]:
            registry = await _registry_within(under_way, shelf, self._owner, [str(gone), str(stays)])
            return rules.merge(registry, gone, stays, forced=forced)

        return await self._told_entity(str(stays), await self._change_entities(ChangeKind.MERGE, steps))

    async def split_entity(self, ref: str, *, aliases: Sequence[str]) -> dict[str, Any]:
        """Say that some names of an entity, or refs that were merged into it, are one of their own."""
        whole = parsed(ref)

        async def steps(under_way: Promoting, shelf: Shelf) -> tuple[Step, ...]:
            return rules.split(await _registry_within(under_way, shelf, self._owner, [str(whole)]), whole, aliases)

        change = await self._change_entities(ChangeKind.SPLIT, steps)
        return await self._told_entity(change.steps[0].ref if change else str(whole), change)

    async def undo_entity_change(self, change_id: str) -> dict[str, Any]:
        """Take a change back; refused when what it changed was changed again since."""
        self._check_own_name()

        async def work(under_way: Promoting) -> Change:
            shelf = Shelf(self._owner, under_way.key)
            address = _addressed(shelf.change, change_id, "ech_", "change")
            await _allow(under_way, address)
            raw = await under_way.draft.bytes_at(address)
            if raw is None:
                raise NotFound("change not found")
            held = msgspec.json.decode(raw, type=Change)
            registry = await _registry_within(under_way, shelf, self._owner, held.refs)
            made = self._entity_change(under_way, ChangeKind.UNDO, rules.undo(registry, held), undoes=held.id)
            await _carry_out(under_way, shelf, registry, made)
            shelf.put_change(under_way.draft, msgspec.structs.replace(held, undone_by=made.id))
            await _reopen(under_way, shelf, held)
            return made

        return {"change": shown_change(await self._within_entities(work))}

    async def decide_entity_suggestion(self, suggestion_id: str, accept: bool) -> dict[str, Any]:
        """Say whether two that may be the same are; if so they are merged, and if not, nobody asks again."""
        self._check_own_name()
        shapes.truth(accept, "accept")

        async def work(under_way: Promoting) -> tuple[Suggested, Registry]:
            shelf = Shelf(self._owner, under_way.key)
            address = _addressed(shelf.suggestion, suggestion_id, "esg_", "suggestion")
            await _allow(under_way, address)
            raw = await under_way.draft.bytes_at(address)
            if raw is None:
                raise NotFound("suggestion not found")
            held = _read_suggested(raw)
            if held.status != "open":
                raise EntityRefused(f"the suggestion was {held.status} already")
            registry = await _registry_within(under_way, shelf, self._owner, [held.ref, held.into])
            change_id = None
            if accept and not _is_moot(held, registry):
                steps = rules.merge(registry, parsed(held.ref), parsed(held.into))
                made = self._entity_change(under_way, ChangeKind.MERGE, steps, suggestion=held.id)
                await _carry_out(under_way, shelf, registry, made)
                change_id = made.id
            decided = _decided(held, under_way, self._reviewer, accepted=accept, change=change_id)
            shelf.put_suggestion(under_way.draft, decided)
            return decided, registry

        decided, registry = await self._within_entities(work)
        return shown_suggestion(decided, registry)

    # -- how that is done

    async def _change_entities(self, kind: ChangeKind, steps: Steps) -> Change | None:
        """Decide what changes and carry it out; None when nothing does."""
        self._check_own_name()

        async def work(under_way: Promoting) -> Change | None:
            shelf = Shelf(self._owner, under_way.key)
            await _allow(under_way, shelf.entity("-"))
            decided = await steps(under_way, shelf)
            if not decided:
                return None
            registry = await _registry_within(under_way, shelf, self._owner, [each.ref for each in decided])
            made = self._entity_change(under_way, kind, decided)
            await _carry_out(under_way, shelf, registry, made)
            return made

        return await self._within_entities(work)

    def _entity_change(self, under_way: Promoting, kind: ChangeKind, steps: tuple[Step, ...], **more: str) -> Change:
        made = Change(id=under_way.new_id("ech"), kind=kind, steps=steps, at=under_way.now, by=self._reviewer)
        return msgspec.structs.replace(made, **more)

    async def _within_entities(self, work: Callable[[Promoting], Awaitable[Result]]) -> Result:
        return await self._workings.remembering.within(self._caller, Places(self._owner), work)

    async def _told_entity(self, ref: str, change: Change | None) -> dict[str, Any]:
        """The entity after a change, with the change."""
        registry = await self._entity_registry(await self._entity_shelf(), [ref])
        held = registry.held(ref)
        return shown_entity(registry.group(held.ref)) | {"change": None if change is None else shown_change(change)}

    async def _entity_shelf(self) -> Shelf:
        return Shelf(self._owner, await self._workings.remembering.key(self._tenant))

    async def _entity_registry(self, shelf: Shelf, refs: Iterable[str]) -> Registry:
        async def find(query: Find) -> Page:
            return await self._workings.store.find(self._tenant, query)

        async def get(address: Address) -> bytes | None:
            row = await self._workings.store.get(self._tenant, address)
            return None if row is None else row.value

        return await registry_of(find, get, shelf, self._owner, refs)

    # -- what is known

    async def _entity_facts(self, ruling: Ruling, registry: Registry, ref: str, persona: str | None) -> list[Record]:
        """The live records about an entity that may be seen now, the weightiest first."""
        root = Places(self._owner).root(Space.USER)
        view = await ruling.view(root.segments, None)
        if view is None or view.prefix != root.segments:
            return []
        space = await self._workings.spaces.fresh(self._tenant, root)
        about = [
            each.record
            for each in space.at(root, self._workings.clock())
            if ref in {registry.canonical(name) for name in refs_of(each.record)}
            and each.record.persona in (None, persona)
        ]
        addresses = [(self._tenant, Places(self._owner).record(Space.USER, each.id.split(":", 2)[2])) for each in about]
        ledgers: dict[str, Ledger] = {}
        found: list[Record] = []
        for row in await self._workings.store.get_each(addresses) if addresses else ():
            if row is None or row.archived or not matches(view.filter, stored_attributes(row.policy_attributes)):
                continue
            record = await self._still_a_fact(row, ledgers)
            if record is not None:
                found.append(record)
        return weightiest(found)

    async def _still_a_fact(self, row: Row, ledgers: dict[str, Ledger]) -> Record | None:
        """The record in a row, unless it is past or the consent that it rests on covers it no more."""
        record = None if row.value is None else live_record(row.value)
        rested = None if record is None else record.rested(self._tenant)
        if record is None or rested is None:
            return record
        subject = rested.need.subject_ceid
        if subject not in ledgers:
            ledgers[subject] = await read_ledger(self._workings.store, self._tenant, subject)
        return record if still_covered(ledgers[subject], rested, self._workings.clock()) else None

    async def _disputed_facts(self, ids: set[str]) -> list[dict[str, Any]]:
        """The open contradictions of these records: which proposal says otherwise, and not what."""
        within = Places(self._owner).own("contradictions")
        query = Find(Plane.CONTRADICTION, within, parse_filter({"status": "open"}), Order.NEWEST, _CONTRADICTIONS)
        page = await self._workings.store.find(self._tenant, query)
        told = [stored_value(row.value) for row in page.rows if row.value is not None]
        names = ("event_id", "proposal_id", "existing", "predicate", "verdict", "at")
        return [{name: each[name] for name in names} for each in told if each["existing"] in ids]

    async def _entity_changes(self, shelf: Shelf, group: Sequence[Entity]) -> list[dict[str, Any]]:
        """The last changes of an entity and of its other names, the last first."""
        about = parse_filter({"about": {"in": [shelf.entity_key(each.ref) for each in group[:100]]}})
        query = Find(Plane.ENTITY, shelf.change("-").namespace, about, Order.NEWEST, _MOST_CHANGES)
        page = await self._workings.store.find(self._tenant, query)
        found = [msgspec.json.decode(row.value, type=Change) for row in page.rows if row.value is not None]
        return [shown_change(each) for each in sorted(found, key=lambda each: -each.at)]


def _known_by(facts: Sequence[Record], ref: str) -> tuple[Entity, ...]:
    """Whom memories tell of and no conversation did; refused when they do not, either."""
    if not facts:
        raise NotFound("entity not found")
    told = [label for record in facts for name, label in named_in(record) if name == ref and label is not None]
    moments = [each.promoted_at for each in facts]
    label = told[0] if told else name_in(parsed(ref))
    return (Entity(ref=ref, label=label, created_at=min(moments), updated_at=max(moments)),)


async def _registry_within(under_way: Promoting, shelf: Shelf, user: str, refs: Iterable[str]) -> Registry:
    """The registry as far as these refs go; the transaction rests on nobody changing it meanwhile."""
    return await registry_of(under_way.draft.unit.find, under_way.draft.bytes_at, shelf, user, refs)


async def _allow(under_way: Promoting, address: Address) -> None:
    await under_way.ruling.allow(Action.WRITE, address.namespace.segments, address.key)


async def _carry_out(under_way: Promoting, shelf: Shelf, registry: Registry, change: Change) -> None:
    """Draft every step of a change, and the change itself; a suggestion that it answers is accepted by it."""
    for step in change.steps:
        left = rules.after(step, registry.get(step.ref), under_way.now)
        if left is None:
            under_way.draft.delete(shelf.entity(step.ref))
        else:
            shelf.put_entity(under_way.draft, left)
        if change.kind is ChangeKind.MERGE and left is not None and left.merged_into is not None:
            change = await _answer(under_way, shelf, step.ref, left.merged_into, change)
    shelf.put_change(under_way.draft, change)


async def _answer(under_way: Promoting, shelf: Shelf, ref: str, into: str, change: Change) -> Change:
    """Note that an open suggestion of this pair is accepted by a merge that nobody suggested."""
    raw = await under_way.draft.bytes_at(shelf.pair(ref, into))
    held = None if raw is None else _read_suggested(raw)
    if held is None or held.status != "open" or change.suggestion is not None:
        return change
    shelf.put_suggestion(under_way.draft, _decided(held, under_way, change.by, accepted=True, change=change.id))
    return msgspec.structs.replace(change, suggestion=held.id)


async def _reopen(under_way: Promoting, shelf: Shelf, change: Change) -> None:
    """Ask again about a suggestion whose acceptance was taken back."""
    raw = None if change.suggestion is None else await under_way.draft.bytes_at(shelf.suggestion(change.suggestion))
    held = None if raw is None else _read_suggested(raw)
    if held is not None and held.change == change.id:
        opened = msgspec.structs.replace(held, status="open", decided_at=None, decided_by=None, change=None)
        shelf.put_suggestion(under_way.draft, opened)


def _decided(held: Suggested, under_way: Promoting, by: str, *, accepted: bool, change: str | None) -> Suggested:
    status = "accepted" if accepted else "rejected"
    return msgspec.structs.replace(held, status=status, decided_at=under_way.now, decided_by=by, change=change)


def _addressed(at: Any, given: object, prefix: str, what: str) -> Address:
    """The address that an id leads to; what is no such id leads to nothing."""
    if not isinstance(given, str) or not given.startswith(prefix) or len(given) > 100 or not given.isascii():
        raise NotFound(f"{what} not found")
    found: Address = at(given)
    return found


def _read_suggested(raw: bytes) -> Suggested:
    return msgspec.json.decode(raw, type=Suggested)


def _is_moot(held: Suggested, registry: Registry) -> bool:
    """Whether the two are the same already, or one of them is gone."""
    one, other = registry.canonical(held.ref), registry.canonical(held.into)
    return one == other or registry.get(one) is None or registry.get(other) is None
