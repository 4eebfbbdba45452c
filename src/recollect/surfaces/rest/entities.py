"""Entities over REST: whom and what a user speaks of, which of them are one, and how that is taken back."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.conversing import EntityBody, MergeBody, SplitBody, SuggestionBody


async def list_entities(ask: Exchange) -> Answer:
    """The entities of the caller."""
    query = ask.query
    wanted, limit, cursor = query.one("type"), query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_entities(type=wanted, limit=limit or 0, cursor=cursor))


async def get_entity(ask: Exchange) -> Answer:
    """An entity with all that is known of it."""
    query = ask.query
    persona = query.one("persona")
    query.done()
    return answer(await ask.use.get_entity(ask.part, persona=persona))


async def put_entity(ask: Exchange) -> Answer:
    """Say how an entity is called."""
    ask.no_parameters()
    body = ask.parsed(EntityBody)
    return answer(await ask.use.put_entity(ask.part, label=body.label, aliases=body.aliases))


async def merge_entities(ask: Exchange) -> Answer:
    """Say that two entities are one."""
    ask.no_parameters()
    body = ask.parsed(MergeBody)
    return answer(await ask.use.merge_entities(ask.part, body.into, forced=body.forced))


async def split_entity(ask: Exchange) -> Answer:
    """Say that some names belong to another entity."""
    ask.no_parameters()
    return answer(await ask.use.split_entity(ask.part, aliases=ask.parsed(SplitBody).aliases))


async def undo_entity_change(ask: Exchange) -> Answer:
    """Take a change of an entity back."""
    ask.no_parameters()
    return answer(await ask.use.undo_entity_change(ask.part))


async def list_entity_suggestions(ask: Exchange) -> Answer:
    """Which entities may be one."""
    query = ask.query
    status = query.choice("status", "open")
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_entity_suggestions(status=status, limit=limit or 0, cursor=cursor))


async def decide_entity_suggestion(ask: Exchange) -> Answer:
    """Say whether they are."""
    ask.no_parameters()
    return answer(await ask.use.decide_entity_suggestion(ask.part, ask.parsed(SuggestionBody).accept))
