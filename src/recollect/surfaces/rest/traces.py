"""Why, over REST: traces, the way from a capture to a recall, what was not kept, and what a phase changed."""

from __future__ import annotations

from recollect.domain.errors import InvalidRequest
from recollect.domain.governance.terms import Space
from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.recalling import WhyNotBody
from recollect.wire.requests import Parameters

FORMATS = ("json", "plain")


async def list_traces(ask: Exchange) -> Answer:
    """What was decided, with its events in order."""
    query = ask.query
    wanted = {name: query.one(name) for name in ("type", "session", "record", "cause")}
    since, until, plain = query.moment("since"), query.moment("until"), _plain(query)
    limit, cursor = query.whole("limit", 50), query.one("cursor")
    query.done()
    told = await ask.use.list_traces(**wanted, since=since, until=until, plain=plain, limit=limit or 0, cursor=cursor)
    return answer(told)


async def get_trace(ask: Exchange) -> Answer:
    """One trace."""
    query = ask.query
    plain = _plain(query)
    query.done()
    return answer(await ask.use.get_trace(ask.part, plain=plain))


def _plain(query: Parameters) -> bool:
    form = query.choice("format", FORMATS[0])
    if form not in FORMATS:
        raise InvalidRequest("format is json or plain")
    return form == FORMATS[1]


async def why(ask: Exchange) -> Answer:
    """The way of a record, from what was said to where it was recalled."""
    ask.no_parameters()
    return answer(await ask.use.why(ask.part))


async def why_not(ask: Exchange) -> Answer:
    """Why some words are not remembered."""
    ask.no_parameters()
    return answer(await ask.use.why_not(ask.parsed(WhyNotBody).text))


async def diff_phases(ask: Exchange) -> Answer:
    """What was added, replaced and removed between two phases."""
    query = ask.query
    first, second = query.required("from"), query.required("to")
    space, session, project = query.choice("space", Space.SESSION), query.one("session"), query.one("project")
    query.done()
    return answer(await ask.use.diff_phases(first, second, space=space, session=session, project=project))
