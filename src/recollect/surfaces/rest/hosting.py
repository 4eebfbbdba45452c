"""How the REST door hosts guests: their requests go through its chain, and then their answers are their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect.surfaces.guests import Guest, Visit
from recollect.surfaces.rest.exchange import ALWAYS, Answer, Exchange
from recollect.surfaces.rest.routes import Route

_GRACE_SECONDS = 5.0
"""A guest is given the time of a request to answer, and then a little to tell that it was not enough."""


def guest_routes(guest: Guest) -> Iterator[Route]:
    """The routes of a guest: for every caller, because what each may do is decided about single memories."""

    async def handle(ask: Exchange) -> Answer:
        return await _received(ask, guest)

    for method in guest.methods:
        yield Route(method, guest.path, handle, None, body=True)


async def _received(ask: Exchange, guest: Guest) -> Answer:
    if ask.caller is None or ask.send is None or ask.deadline is None:
        raise AssertionError("the chain gives every authenticated request its caller and its deadline")
    ask.deadline.at += _GRACE_SECONDS
    send, status, read = ask.send, 500, False

    async def receive() -> Any:
        nonlocal read
        if read:
            return await ask.receive()
        read = True
        return {"type": "http.request", "body": ask.body, "more_body": False}

    async def answer(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            own = [(name, value) for name, value in message["headers"] if name != b"cache-control"]
            message = message | {"headers": [*own, (b"x-request-id", ask.request_id.encode()), *ALWAYS]}
        await send(message)

    settings = ask.service.settings
    await guest.visit(Visit(ask.scope, ask.headers, ask.body, receive, answer, ask.caller, ask.use, settings))
    return Answer(status, sent=True)
