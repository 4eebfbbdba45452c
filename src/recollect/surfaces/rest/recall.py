"""The way out over REST: what an agent is given, as memories and as a context."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire.recalling import ContextBody, RecallBody, apart, asked_of, in_conversation


async def recall(ask: Exchange) -> Answer:
    """The memories that answer a question, with what each rests on."""
    ask.no_parameters()
    body = ask.parsed(RecallBody)
    ask.may_wait(body.wait or 0)
    return answer(await ask.use.recall(**asked_of(body)))


async def context(ask: Exchange) -> Answer:
    """What answers a question, as a context within a budget; or what is to be known for the next turn."""
    ask.no_parameters()
    body = ask.parsed(ContextBody)
    ask.may_wait(body.wait or 0)
    if body.conversation:
        return answer(await ask.use.conversation_context(**in_conversation(body)))
    return answer(await ask.use.context(**apart(body)))
