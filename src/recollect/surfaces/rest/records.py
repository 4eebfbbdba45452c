"""Records over REST: read, put right, taken back, pinned, moved and undone; and what was told while they came to be."""

from __future__ import annotations

from recollect.domain.governance.terms import Space
from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.remembering import CorrectBody, PhaseBody, PromoteBody, UndoBody
from recollect.wire.requests import moment


async def list_records(ask: Exchange) -> Answer:
    """The records of a space."""
    query = ask.query
    space, limit, cursor = query.choice("space", Space.USER), query.whole("limit", 50), query.one("cursor")
    wanted = {name: query.one(name) for name in ("session", "project", "kind", "tier", "event_type")}
    query.done()
    return answer(await ask.use.list_records(space=space, limit=limit or 0, cursor=cursor, **wanted))


async def get_record(ask: Exchange) -> Answer:
    """A record, with everything that is known of it."""
    ask.no_parameters()
    return answer(await ask.use.get_record(ask.part))


async def correct(ask: Exchange) -> Answer:
    """Say what is right in place of what a record says."""
    ask.no_parameters()
    body = ask.parsed(CorrectBody)
    return answer(await ask.use.correct_record(ask.part, value=body.value, text=body.text, note=body.note))


async def retract(ask: Exchange) -> Answer:
    """Take a record back."""
    ask.no_parameters()
    return answer(await ask.use.retract_record(ask.part))


async def pin(ask: Exchange) -> Answer:
    """Keep a record whatever its tier says."""
    ask.no_parameters()
    return answer(await ask.use.pin_record(ask.part))


async def unpin(ask: Exchange) -> Answer:
    """Keep a record as long as its tier says, and no longer."""
    ask.no_parameters()
    return answer(await ask.use.pin_record(ask.part, pinned=False))


async def promote(ask: Exchange) -> Answer:
    """Ask for a record to be known in another space."""
    ask.no_parameters()
    body = ask.parsed(PromoteBody)
    return answer(await ask.use.promote_record(ask.part, body.to_space, project=body.project))


async def undo(ask: Exchange) -> Answer:
    """Remove all that comes from somewhere, and what was derived from it."""
    ask.no_parameters()
    body = ask.parsed(UndoBody)
    after = moment(body.after, "after")
    told = await ask.use.undo(source=body.source, principal=body.principal, after=after, dry_run=body.dry_run)
    return answer(told)


async def start_phase(ask: Exchange) -> Answer:
    """Begin a new phase in a space."""
    ask.no_parameters()
    body = ask.parsed(PhaseBody)
    told = await ask.use.start_phase(
        body.token, name=body.name, reason=body.reason, space=body.space, session=body.session, project=body.project
    )
    return answer(told)


async def list_signals(ask: Exchange) -> Answer:
    """What there is to learn from."""
    query = ask.query
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_signals(limit=limit or 0, cursor=cursor))
