"""How well memory works, over REST: its measures, and what of it is used."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import Answer, Exchange, answer


async def memory_metrics(ask: Exchange) -> Answer:
    """The measures of the caller's memory, over a while."""
    query = ask.query
    since, until = query.moment("since"), query.moment("until")
    query.done()
    return answer(await ask.use.memory_metrics(since=since, until=until))


async def get_usage(ask: Exchange) -> Answer:
    """How often an item was loaded."""
    query = ask.query
    namespace, key = query.namespace(), query.required("key")
    query.done()
    return answer(await ask.use.get_usage(namespace, key))


async def top_usage(ask: Exchange) -> Answer:
    """What is loaded most."""
    query = ask.query
    sort, prefix, limit = query.choice("sort", "fetch_count"), query.many("ns"), query.whole("limit", 100)
    query.done()
    return answer(await ask.use.top_usage(sort=sort, namespace_prefix=prefix, limit=limit or 0))
