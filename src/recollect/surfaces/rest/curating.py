"""Curating over REST: what is folded, set aside and brought back; and conversations from elsewhere."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.conversing import CurateBody, ImportTurnsBody
from recollect.wire.recalling import asked_of


async def curate(ask: Exchange) -> Answer:
    """Look through the memories of the caller, and put them in order."""
    ask.no_parameters()
    body = ask.parsed(CurateBody)
    return answer(await ask.use.curate(persona=body.persona, dry_run=body.dry_run))


async def list_curations(ask: Exchange) -> Answer:
    """What the curator did."""
    query = ask.query
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_curations(limit=limit or 0, cursor=cursor))


async def undo_curation(ask: Exchange) -> Answer:
    """Bring back what it set aside."""
    ask.no_parameters()
    return answer(await ask.use.undo_curation(ask.part))


async def import_turns(ask: Exchange) -> Answer:
    """Take a page of a conversation from elsewhere."""
    ask.no_parameters()
    return answer(await ask.use.import_conversation(**asked_of(ask.parsed(ImportTurnsBody))))


async def imported_turns(ask: Exchange) -> Answer:
    """How far the import of a source came."""
    query = ask.query
    source = query.required("source")
    query.done()
    return answer(await ask.use.conversation_progress(source))
