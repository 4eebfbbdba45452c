"""The agent's part of the REST door: each handler parses, calls one use-case and renders."""

from __future__ import annotations

from recollect.domain.errors import NotFound
from recollect.domain.queries import Archived, checked_limit
from recollect.service.reading import MAX_WAIT_SECONDS
from recollect.service.views import Events
from recollect.surfaces.rest.exchange import REPLAYED, Answer, Exchange, answer
from recollect.surfaces.rest.streams import follow, patiently
from recollect.wire import answers
from recollect.wire.requests import (
    MAX_EVENTS,
    MAX_SEARCH,
    BatchBody,
    PatchBody,
    PutBody,
    SearchBody,
    moment,
    put_of,
    step_of,
)


async def put_memory(ask: Exchange) -> Answer:
    """Remember a value under a key."""
    ask.no_parameters()
    body = ask.parsed(PutBody)
    operation = put_of(body)
    ask.may_wait(MAX_WAIT_SECONDS if body.wait else 0)
    done = (await ask.use.batch((operation,), idempotency_key=ask.idempotency_key, wait=body.wait))[0]
    return answer(answers.written(operation, done), headers=REPLAYED if done.replayed else ())


async def patch_memory(ask: Exchange) -> Answer:
    """Archive an item, or bring it back."""
    ask.no_parameters()
    body = ask.parsed(PatchBody)
    done = await ask.use.archive(
        body.namespace,
        body.key,
        archived=body.archived,
        expected_revision=body.expected_revision,
        idempotency_key=ask.idempotency_key,
    )
    shown = answers.archived(body, done)
    return answer(shown, headers=REPLAYED if done.replayed else ())


async def get_memory(ask: Exchange) -> Answer:
    """The item under a key."""
    query = ask.query
    namespace, key = query.namespace(), query.required("key")
    as_of, archived = query.moment("as_of"), query.choice("archived", Archived.EXCLUDE)
    usage, as_user_id = query.flag("include_usage"), query.one("as_user_id")
    query.done()
    memories = ask.reading(as_user_id)
    found = await memories.get(namespace, key, as_of=as_of, archived=archived, include_usage=usage)
    if found is None:
        raise NotFound("memory not found")
    return answer(answers.item(found))


async def get_version(ask: Exchange) -> Answer:
    """A version by its id."""
    query = ask.query
    as_user_id = query.one("as_user_id")
    query.done()
    found = await ask.reading(as_user_id).get_by_id(ask.part_as_id)
    if found is None:
        raise NotFound("memory not found")
    return answer(answers.version(found))


async def delete_memory(ask: Exchange) -> Answer:
    """Delete a key."""
    query = ask.query
    namespace, key, expected = query.namespace(), query.required("key"), query.whole("expected_revision")
    query.done()
    done = await ask.use.delete(namespace, key, expected_revision=expected, idempotency_key=ask.idempotency_key)
    return Answer(204, headers=REPLAYED if done.replayed else ())


async def batch_memories(ask: Exchange) -> Answer:
    """Many operations at once, all or none."""
    ask.no_parameters()
    body = ask.parsed(BatchBody)
    operations = [step_of(step) for step in body.operations]
    ask.may_wait(MAX_WAIT_SECONDS if body.wait else 0)
    done = await ask.use.batch(operations, idempotency_key=ask.idempotency_key, wait=body.wait)
    results = [answers.step(operation, each) for operation, each in zip(operations, done, strict=True)]
    return answer({"results": results}, headers=REPLAYED if done and done[0].replayed else ())


async def search_memories(ask: Exchange) -> Answer:
    """Items below a namespace that match a filter, or answer a query."""
    ask.no_parameters()
    body = ask.parsed(SearchBody)
    ask.may_wait(body.wait or 0)
    found = await ask.reading(body.as_user_id).search(
        body.namespace_prefix,
        filter=body.filter,
        query=body.query,
        mode=body.mode,
        min_score=body.min_score,
        explain=body.explain,
        wait=body.wait,
        order=body.order,
        limit=checked_limit(body.limit, MAX_SEARCH),
        offset=body.offset,
        cursor=body.cursor,
        as_of=moment(body.as_of, "as_of"),
        archived=body.archived,
        include_usage=body.include_usage,
    )
    return answer(answers.search(found, several=isinstance(body.query, list)))


async def list_namespaces(ask: Exchange) -> Answer:
    """The namespaces that have items."""
    query = ask.query
    prefix, suffix, depth = query.many("prefix"), query.many("suffix"), query.whole("max_depth")
    limit, offset = query.whole("limit", 100), query.whole("offset", 0)
    archived, as_user_id = query.choice("archived", Archived.EXCLUDE), query.one("as_user_id")
    query.done()
    found = await ask.reading(as_user_id).list_namespaces(
        prefix=prefix,
        suffix=suffix,
        max_depth=depth,
        limit=limit or 0,
        offset=offset or 0,
        archived=archived,
    )
    return answer({"namespaces": found})


async def get_history(ask: Exchange) -> Answer:
    """Every kept version of a key."""
    query = ask.query
    namespace, key = query.namespace(), query.required("key")
    limit, before = query.whole("limit", 100), query.whole("before_revision")
    as_user_id = query.one("as_user_id")
    query.done()
    found = await ask.reading(as_user_id).history(namespace, key, limit=limit or 0, before_revision=before)
    return answer({"versions": [answers.version(each) for each in found]})


async def list_events(ask: Exchange) -> Answer:
    """A page of the log, at once, after a wait, or for as long as the client listens."""
    query = ask.query
    prefix, kinds = query.many("ns"), query.many("kinds") or None
    since, until = query.moment("after"), query.moment("before")
    cursor, limit, wait = query.one("after_cursor"), query.whole("limit", 50), query.number("wait", 0.0)
    following = query.flag("follow") or b"text/event-stream" in ask.headers.get(b"accept", b"")
    as_user_id = query.one("as_user_id")
    query.done()
    checked_limit(limit, MAX_EVENTS)
    memories = ask.reading(as_user_id)

    async def page(after: str | None, seconds: float) -> Events:
        return await memories.events(
            prefix, after=after, kinds=kinds, since=since, until=until, limit=limit or 0, wait=seconds
        )

    if following:
        return await follow(ask, page, ask.header(b"last-event-id") or cursor)
    return answer(answers.events(await patiently(ask, page, cursor, wait)))


async def whoami(ask: Exchange) -> Answer:
    """Who asks, as the service knows them."""
    ask.no_parameters()
    return answer(answers.caller(await ask.use.whoami()))
