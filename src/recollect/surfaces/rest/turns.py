"""Governed turns over REST: what is said in a session under a profile, what is recalled in it, and its replay."""

from __future__ import annotations

from recollect.surfaces.rest.exchange import REPLAYED, Answer, Exchange, answer
from recollect.wire.recalling import ProfileBody, RecallTurnBody, TurnBody, asked_of, conversed, governed


async def take_turn(ask: Exchange) -> Answer:
    """Recall for a turn, and write what it leaves behind; or take a turn of a conversation."""
    ask.no_parameters()
    body, session, key = ask.parsed(TurnBody), ask.part, ask.idempotency_key
    if conversed(session, body):
        said, answered = body.user, body.ai or None
        told = await ask.use.converse(said, ai=answered, session=session, project=body.project, idempotency_key=key)
    else:
        told = await ask.use.take_turn(session, **governed(body), idempotency_key=key)
    return answer(told, headers=REPLAYED if told.get("replayed") else ())


async def recall_turn(ask: Exchange) -> Answer:
    """What a session would be given for a question."""
    ask.no_parameters()
    return answer(await ask.use.recall_turn(ask.part, **asked_of(ask.parsed(RecallTurnBody))))


async def replay(ask: Exchange) -> Answer:
    """Whether the turns of a session come out the same again."""
    ask.no_parameters()
    return answer(await ask.use.replay(ask.part))


async def list_profiles(ask: Exchange) -> Answer:
    """The profiles, each in its latest version."""
    ask.no_parameters()
    return answer(await ask.use.list_profiles())


async def get_profile(ask: Exchange) -> Answer:
    """A profile, in its latest version or an earlier one."""
    query = ask.query
    version = query.whole("version")
    query.done()
    return answer(await ask.use.get_profile(ask.part, version=version))


async def put_profile(ask: Exchange) -> Answer:
    """A new version of a profile."""
    ask.no_parameters()
    body = ask.parsed(ProfileBody)
    return answer(await ask.use.put_profile(ask.part, body.settings, expected_version=body.expected_version))
