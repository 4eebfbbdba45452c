"""Servers with one bug each, for the harnesses to find; the bugs are put in from outside of the service.

Some have no bug but a clock that is wrong, which they must get along with.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.concurrency.feed import jittering_clock

from recollect import server
from recollect.backends.postgres.writer import Group
from recollect.config.sources import Watch
from recollect.domain.callers import Caller, Role, local_caller
from recollect.main import compose, write_private
from recollect.ports.clock import Clock
from recollect.service.guard import InForce
from recollect.service.identity import Identity
from recollect.service.policies import Policies
from recollect.service.workings import Workings
from recollect.surfaces.guests import Guest
from recollect.surfaces.rest.app import make_app
from recollect.surfaces.service import Service
from recollect.testing.servers import Server

ROOT = Path(__file__).parents[2]
App = Callable[[Any, Any, Any], Awaitable[None]]


@contextmanager
def planted(bug: str) -> Iterator[None]:
    """Servers started within have the bug."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.serving.planted import run\n"
        f"run(sys.argv[1], {bug!r})"
    )
    with patch("recollect.testing.servers._PROGRAM", program):
        yield


def planted_server(bug: str, home: Path, **settings: object) -> Server:
    """A server with the bug, started."""
    with planted(bug):
        return Server(home, **settings).start()


def run(home: str, bug: str) -> None:
    """Serve a data directory with a bug."""
    with ExitStack() as stack:
        for patched in BUGS[bug]():
            stack.enter_context(patched)
        server.serve(Path(home), announce=lambda started: print(started.url, flush=True))


def _wrapped(wrap: Callable[[App], App]) -> Any:
    def app(service: Service, guests: Sequence[Guest]) -> App:
        return wrap(make_app(service, guests))

    return patch.object(server, "make_app", app)


# -- acknowledging before it commits


def _acknowledges_early() -> list[Any]:
    return [_wrapped(_early)]


def _early(app: App) -> App:
    tasks: set[asyncio.Task[None]] = set()

    async def early(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "PUT":
            await app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())

        async def again() -> Any:
            return messages.pop(0)

        async def nowhere(message: Any) -> None:
            del message

        async def later() -> None:
            await asyncio.sleep(0.005)
            await app(scope, again, nowhere)

        task = asyncio.create_task(later())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})

    return early


# -- committing in two steps


def _commits_in_two_steps() -> list[Any]:
    def finish(group: Group) -> None:
        group.flush()
        group.link.send("COMMIT")
        group.link.send("SELECT 1").fetchall()
        group.link.send("BEGIN")
        honest(group)

    honest = Group.finish
    return [patch.object(Group, "finish", finish)]


# -- leaving at once when told to stop


def _leaves_at_once() -> list[Any]:
    def slow(app: App) -> App:
        async def with_pauses(scope: Any, receive: Any, send: Any) -> None:
            async def pausing(message: Any) -> None:
                if message["type"] == "http.response.body":
                    await asyncio.sleep(0.01)
                await send(message)

            await app(scope, receive, pausing)

        return with_pauses

    def handle(loop: asyncio.AbstractEventLoop, *_: object) -> None:
        loop.add_signal_handler(signal.SIGTERM, os._exit, 0)

    return [_wrapped(slow), patch.object(server, "_handle_signals", handle)]


# -- remembering who a key stands for, without asking again


def _remembers_callers(seconds: float = 1.0) -> list[Any]:
    honest, known = Identity.caller_of, dict[str, tuple[float, Caller]]()

    async def caller_of(identity: Identity, authorization: str | None, *, basic: bool = False) -> Caller:
        at, caller = known.get(authorization or "", (0.0, None))
        if caller is None or time.monotonic() - at > seconds:
            caller = await honest(identity, authorization, basic=basic)
            known[authorization or ""] = time.monotonic(), caller
        return caller

    return [patch.object(Identity, "caller_of", caller_of)]


def _remembers_policies() -> list[Any]:
    honest, known = Policies._following, dict[str, InForce]()

    async def following(policies: Policies, tenant: str, *rows: Any) -> InForce:
        if tenant not in known:
            known[tenant] = await honest(policies, tenant, *rows)
        return known[tenant]

    return [patch.object(Policies, "_following", following)]


# -- settings, the first key, overload


def _overlooks_tuning() -> list[Any]:
    async def follow(*_: object) -> None:
        return None

    return [patch.object(server, "_follow_tuning", follow)]


def _overlooks_changes() -> list[Any]:
    return [patch.object(Watch, "poll", lambda _: False)]


def _looks_then_makes_the_first_key() -> list[Any]:
    async def first_start(home: Path, *given: object) -> str | None:
        [tokens] = [each.tokens for each in given if isinstance(each, Workings)]
        if await tokens.any():
            return None
        _await_the_other(home)
        made = await tokens.create(local_caller("default", "service"), "admin", roles=(Role.ADMIN, Role.OPERATOR))
        write_private(home / server.CREDENTIALS_FILE, json.dumps({"token": made.secret}))
        return made.secret

    return [patch.object(server, "_first_start", first_start)]


def _await_the_other(home: Path) -> None:
    """Go on once both servers have found that there is no key."""
    (home / f"looked-{os.getpid()}").touch()
    while len(list(home.glob("looked-*"))) < 2:
        time.sleep(0.01)


def _dies_when_it_notes_the_first_key() -> list[Any]:
    def write(path: Path, text: str) -> None:
        if path.name == server.CREDENTIALS_FILE:
            os._exit(9)
        write_private(path, text)

    return [patch.object(server, "write_private", write)]


def _keeps_every_body() -> list[Any]:
    kept: list[bytes] = []

    def wrap(app: App) -> App:
        async def keeping(scope: Any, receive: Any, send: Any) -> None:
            time.sleep(0.03)  # noqa: ASYNC251 - the other half of the bug: the loop stands still

            async def received() -> Any:
                message = await receive()
                kept.append(bytes(message.get("body", b"")) + b"x" * (64 << 10))
                return message

            await app(scope, received, send)

        return keeping

    return [_wrapped(wrap)]


# -- clocks


def _clock(clock: Clock) -> list[Any]:
    return [patch.object(server, "compose", partial(compose, clock=clock))]


BUGS: dict[str, Callable[[], list[Any]]] = {
    "acknowledges before it commits": _acknowledges_early,
    "commits in two steps": _commits_in_two_steps,
    "leaves at once": _leaves_at_once,
    "remembers callers": _remembers_callers,
    "remembers callers for ever": lambda: _remembers_callers(float("inf")),
    "remembers policies": _remembers_policies,
    "overlooks changes": _overlooks_changes,
    "overlooks tuning": _overlooks_tuning,
    "looks, then makes the first key": _looks_then_makes_the_first_key,
    "dies when it notes the first key": _dies_when_it_notes_the_first_key,
    "keeps every body": _keeps_every_body,
    "has a clock that jitters": lambda: _clock(jittering_clock),
}
