"""Conversations over REST: turns and the sessions they belong to, and what is kept from one to the next."""

from __future__ import annotations

from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.surfaces.rest.exchange import REPLAYED, Answer, Exchange, answer
from recollect.wire.conversing import ChangeTodoBody, ConverseBody, PersonaBody, SeedBody, TodoBody
from recollect.wire.recalling import asked_of

_LATEST = "latest"


async def converse(ask: Exchange) -> Answer:
    """Take a turn of a conversation."""
    ask.no_parameters()
    asked = asked_of(ask.parsed(ConverseBody))
    told = await ask.use.converse(**asked, idempotency_key=ask.idempotency_key)
    return answer(told, headers=REPLAYED if told.get("replayed") else ())


# -- sessions, and what was said in them


async def list_sessions(ask: Exchange) -> Answer:
    """The sessions of the caller."""
    query = ask.query
    persona, limit, cursor = query.one("persona"), query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_sessions(persona=persona, limit=limit or 0, cursor=cursor))


async def get_session(ask: Exchange) -> Answer:
    """A session, with its summaries."""
    ask.no_parameters()
    return answer(await ask.use.get_session(ask.part))


async def close_session(ask: Exchange) -> Answer:
    """Say that a session is over."""
    ask.no_parameters()
    return answer(await ask.use.close_session(ask.part))


async def list_session_messages(ask: Exchange) -> Answer:
    """What was said in a session."""
    query = ask.query
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_messages(session=ask.part, limit=limit or 0, cursor=cursor))


async def list_messages(ask: Exchange) -> Answer:
    """What was said, in all sessions."""
    query = ask.query
    persona, session = query.one("persona"), query.one("session")
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    told = await ask.use.list_messages(persona=persona, session=session, limit=limit or 0, cursor=cursor)
    return answer(told)


async def get_session_state(ask: Exchange) -> Answer:
    """What is known of a user and a persona across their sessions."""
    query = ask.query
    persona = query.choice("persona", DEFAULT_PERSONA)
    query.done()
    return answer(await ask.use.get_session_state(persona))


async def list_spines(ask: Exchange) -> Answer:
    """Everything about a user in sections, version by version."""
    query = ask.query
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_spines(limit=limit or 0, cursor=cursor))


async def get_spine(ask: Exchange) -> Answer:
    """One version of it, or the latest."""
    ask.no_parameters()
    version = None if ask.part == _LATEST else ask.part_as_number("there is no such version of the spine")
    return answer(await ask.use.get_spine(version))


# -- todos


async def list_todos(ask: Exchange) -> Answer:
    """What is to be done, and what was."""
    query = ask.query
    wanted = {name: query.one(name) for name in ("persona", "kind", "status")}
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_todos(**wanted, limit=limit or 0, cursor=cursor))


async def add_todo(ask: Exchange) -> Answer:
    """Add something to be done by hand."""
    ask.no_parameters()
    body = ask.parsed(TodoBody)
    told = await ask.use.add_todo(body.content, kind=body.kind, persona=body.persona, dedupe_key=body.dedupe_key)
    return answer(told)


async def get_todo(ask: Exchange) -> Answer:
    """One thing to be done."""
    ask.no_parameters()
    return answer(await ask.use.get_todo(ask.part))


async def change_todo(ask: Exchange) -> Answer:
    """Say what is different about it."""
    ask.no_parameters()
    return answer(await ask.use.change_todo(ask.part, **asked_of(ask.parsed(ChangeTodoBody))))


# -- what is told beforehand


async def get_seed(ask: Exchange) -> Answer:
    """What was told of the caller beforehand."""
    ask.no_parameters()
    return answer(await ask.use.get_seed())


async def put_seed(ask: Exchange) -> Answer:
    """Tell of the caller beforehand."""
    ask.no_parameters()
    return answer(await ask.use.put_seed(ask.parsed(SeedBody).text))


async def delete_seed(ask: Exchange) -> Answer:
    """Take back what was told beforehand."""
    ask.no_parameters()
    return answer(await ask.use.delete_seed())


async def list_personas(ask: Exchange) -> Answer:
    """The personas that were described."""
    ask.no_parameters()
    return answer(await ask.use.list_personas())


async def get_persona(ask: Exchange) -> Answer:
    """One persona."""
    ask.no_parameters()
    return answer(await ask.use.get_persona(ask.part))


async def put_persona(ask: Exchange) -> Answer:
    """Describe a persona."""
    ask.no_parameters()
    body = ask.parsed(PersonaBody)
    return answer(await ask.use.put_persona(ask.part, body.settings, expected_version=body.expected_version))
