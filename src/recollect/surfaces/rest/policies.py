"""Policies, the audit, the index and the settings: the part of the REST door that says who may do what, and who did."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire import answers
from recollect.wire.requests import (
    BundleBody,
    ExplainBody,
    Nothing,
    PushBody,
    RollbackBody,
    modules_of,
)


async def show_policy(ask: Exchange) -> Answer:
    """The policy in force."""
    query = ask.query
    service = query.flag("service")
    query.done()
    return answer(answers.policy(await ask.use.show_policy(service=service)))


async def push_policy(ask: Exchange) -> Answer:
    """Put a policy in force."""
    ask.no_parameters()
    body = ask.parsed(PushBody)
    pushed = await ask.use.push_policy(modules_of(body), note=body.note, service=body.service)
    return answer(answers.policy(pushed))


async def check_policy(ask: Exchange) -> Answer:
    """What there is to say against a policy."""
    ask.no_parameters()
    return answer(answers.report(await ask.use.check_policy(modules_of(ask.parsed(BundleBody)))))


async def rollback_policy(ask: Exchange) -> Answer:
    """Put an earlier policy in force again."""
    ask.no_parameters()
    body = ask.parsed(RollbackBody) if ask.body else RollbackBody()
    return answer(answers.policy(await ask.use.rollback_policy(body.number, service=body.service)))


async def explain_policy(ask: Exchange) -> Answer:
    """Why a policy says what it says."""
    ask.no_parameters()
    body = ask.parsed(ExplainBody)
    found = await ask.use.explain_policy(
        body.action,
        body.namespace,
        body.key,
        user_id=body.user_id,
        client_id=body.client_id,
        roles=body.roles,
        claims=body.claims,
        value=body.value,
        filter=body.filter,
        modules=body.modules,
    )
    return answer(answers.explanation(found))


async def simulate_policy(ask: Exchange) -> Answer:
    """What a policy would have decided otherwise."""
    ask.no_parameters()
    return answer(answers.simulation(await ask.use.simulate_policy(modules_of(ask.parsed(BundleBody)))))


async def list_audit(ask: Exchange) -> Answer:
    """What administrators did."""
    query = ask.query
    action, cursor, limit = query.one("action"), query.one("cursor"), query.whole("limit", 50)
    service = query.flag("service")
    query.done()
    page = await ask.use.list_audit(action=action, limit=limit or 0, cursor=cursor, service=service)
    return answer(answers.audit(page))


async def force_delete(ask: Exchange) -> Answer:
    """Delete a memory by its id, whoever's it is."""
    ask.no_parameters()
    await ask.use.force_delete(ask.part_as_id, justification=ask.justification)
    return Answer(204)


async def index_status(ask: Exchange) -> Answer:
    """What is still to be indexed and extracted."""
    ask.no_parameters()
    return answer(answers.index_status(await ask.use.index_status()))


async def trigger_index(ask: Exchange) -> Answer:
    """Index and extract now."""
    ask.no_parameters()
    if ask.body:
        ask.parsed(Nothing)
    return answer(answers.index_status(await ask.use.trigger_index()))


async def show_settings(ask: Exchange) -> Answer:
    """The settings that can be changed at run time."""
    ask.no_parameters()
    return answer(answers.tuned(await ask.use.show_settings()))


async def change_settings(ask: Exchange) -> Answer:
    """Change settings at run time."""
    ask.no_parameters()
    return answer(answers.tuned(await ask.use.change_settings(ask.parsed(dict))))
