"""The review queue over REST: what is proposed, what was decided, and where it differs from what is known."""

from __future__ import annotations

from typing import Any

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.remembering import ApproveBody, ClaimBody, DecideBody, RejectBody, ResolveBody


async def propose(ask: Exchange) -> Answer:
    """Propose a typed candidate."""
    ask.no_parameters()
    return answer(await ask.use.propose(ask.parsed(dict[str, Any])))


async def list_proposals(ask: Exchange) -> Answer:
    """Proposals, of everybody or the caller's own."""
    query = ask.query
    status, limit, cursor = query.choice("status", "waiting"), query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_proposals(status=status, limit=limit or 0, cursor=cursor))


async def get_proposal(ask: Exchange) -> Answer:
    """A proposal, and what was decided."""
    ask.no_parameters()
    return answer(await ask.use.get_proposal(ask.part))


async def claim(ask: Exchange) -> Answer:
    """Take a proposal for a while."""
    ask.no_parameters()
    body = ask.parsed(ClaimBody) if ask.body else ClaimBody()
    return answer(await ask.use.claim_proposal(ask.part, seconds=body.seconds))


async def release(ask: Exchange) -> Answer:
    """Give a proposal back."""
    ask.no_parameters()
    return answer(await ask.use.release_proposal(ask.part))


async def approve(ask: Exchange) -> Answer:
    """Let a proposal become a record."""
    ask.no_parameters()
    body = ask.parsed(ApproveBody) if ask.body else ApproveBody()
    return answer(await ask.use.approve_proposal(ask.part, edit=body.edit, note=body.note))


async def reject(ask: Exchange) -> Answer:
    """Say no to a proposal."""
    ask.no_parameters()
    body = ask.parsed(RejectBody) if ask.body else RejectBody()
    return answer(await ask.use.reject_proposal(ask.part, note=body.note))


async def decide(ask: Exchange) -> Answer:
    """Decide about many alike."""
    ask.no_parameters()
    body = ask.parsed(DecideBody)
    told = await ask.use.review_many(body.decision, body.proposal_ids, note=body.note, dry_run=body.dry_run)
    return answer(told)


async def load(ask: Exchange) -> Answer:
    """How much waits."""
    ask.no_parameters()
    return answer(await ask.use.review_load())


async def list_contradictions(ask: Exchange) -> Answer:
    """Where what was said differs from what is known."""
    query = ask.query
    status, limit, cursor = query.choice("status", "open"), query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_contradictions(status=status, limit=limit or 0, cursor=cursor))


async def resolve(ask: Exchange) -> Answer:
    """Settle a contradiction."""
    ask.no_parameters()
    body = ask.parsed(ResolveBody)
    return answer(await ask.use.resolve_contradiction(ask.part, body.winner, note=body.note))
