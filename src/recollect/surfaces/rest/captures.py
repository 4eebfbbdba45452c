"""What comes in over REST: captures, and consents to keep what is said in them."""

from __future__ import annotations

from typing import Any

from recollect.surfaces.rest.exchange import REPLAYED, Answer, Exchange, answer
from recollect.wire.remembering import CaptureBody, RevokeBody
from recollect.wire.requests import Nothing


async def capture(ask: Exchange) -> Answer:
    """Append what was said and done, and remember what of it the rules let in."""
    ask.no_parameters()
    body = ask.parsed(CaptureBody)
    told = await ask.use.capture(body.captures, remember=body.remember, idempotency_key=ask.idempotency_key)
    return answer({"captures": told}, headers=REPLAYED if told[0].get("replayed") else ())


async def list_captures(ask: Exchange) -> Answer:
    """The captures of the caller."""
    query = ask.query
    session, limit, cursor = query.one("session"), query.whole("limit", 50), query.one("cursor")
    query.done()
    return answer(await ask.use.list_captures(session=session, limit=limit or 0, cursor=cursor))


async def get_capture(ask: Exchange) -> Answer:
    """A capture, and what became of it."""
    ask.no_parameters()
    return answer(await ask.use.get_capture(ask.part))


async def would_remember(ask: Exchange) -> Answer:
    """What would be remembered of something."""
    ask.no_parameters()
    return answer(await ask.use.would_remember(ask.parsed(dict[str, Any])))


async def remember_pending(ask: Exchange) -> Answer:
    """Look into everything that waits, now."""
    ask.no_parameters()
    if ask.body:
        ask.parsed(Nothing)
    return answer({"looked_into": await ask.use.remember_pending()})


async def capture_consent(ask: Exchange) -> Answer:
    """Add a consent."""
    ask.no_parameters()
    return answer(await ask.use.capture_consent(ask.parsed(dict[str, Any])))


async def list_consents(ask: Exchange) -> Answer:
    """Every consent of a subject."""
    query = ask.query
    subject = query.required("subject")
    query.done()
    return answer(await ask.use.list_consents(subject))


async def get_consent(ask: Exchange) -> Answer:
    """A consent, and where it stands."""
    ask.no_parameters()
    return answer(await ask.use.get_consent(ask.part))


async def revoke_consent(ask: Exchange) -> Answer:
    """Take a consent back."""
    ask.no_parameters()
    body = ask.parsed(RevokeBody) if ask.body else RevokeBody()
    return answer(await ask.use.revoke_consent(ask.part, evidence_refs=body.evidence_refs, auditor_id=body.auditor_id))
