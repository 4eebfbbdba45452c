"""The doors without HTTP: the library itself, and the client, which has the same calls, in both their forms."""

from __future__ import annotations

import inspect
import time
from asyncio import Runner
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.scenarios import told
from tests.scenarios.door import (
    CALLER,
    DELETED,
    EVENT,
    ITEM,
    VERSION,
    WRITTEN,
    Door,
    Person,
    Plain,
    Refused,
    confirmed,
    found,
    plain,
)
from tests.scenarios.talks import Talks, talked
from tests.scenarios.way_in import WayIn, remembered
from tests.scenarios.way_out import WayOut, given

import recollect
import recollect_client
from recollect import Settings
from recollect.domain.callers import new_caller
from recollect.domain.instants import Instant
from recollect.testing.doubles import START
from recollect.testing.servers import Server

SETTINGS = Settings(filterable_attributes=("lang",), embedder="hashing")
ERRORS = (recollect.RecollectError, recollect_client.RecollectError)
Awaited = Callable[[Any], Any]


class Library(WayIn, WayOut, Talks):
    """A door over any object with the methods of `Memories`; `wait` brings coroutines to their end."""

    def __init__(self, memories: Any, operations: Any, wait: Awaited | None, view: Plain | None = None) -> None:
        self._memories = memories
        self._operations = operations
        self._put, self._delete = operations.PutOp, operations.DeleteOp
        self._wait = wait
        self._view = view

    def justified(self, why: str, *, as_user_id: str | None = None) -> Door:
        view = {"why": why, "as_user_id": as_user_id}
        return Library(self._memories, self._operations, self._wait, view)

    def _ask(self, call: str, *given: Any, **named: Any) -> Any:
        try:
            memories = self._memories if self._view is None else self._memories.justified(**self._view)
            answer = getattr(memories, call)(*given, **named)
            return self._wait(answer) if self._wait is not None and inspect.isawaitable(answer) else answer
        except ERRORS as problem:
            raise Refused(problem.code) from problem

    def _remember(self, call: str, *given: Any, **named: Any) -> Any:
        return remembered(self._ask(call, *given, **named))

    def _give(self, call: str, *asked: Any, **named: Any) -> Any:
        return given(self._ask(call, *asked, **named))

    def _talk(self, call: str, *asked: Any, **named: Any) -> Any:
        return talked(self._ask(call, *asked, **named))

    def put(self, *given: Any, **named: Any) -> Plain:
        return confirmed(self._ask("put", *given, **named), WRITTEN)

    def archive(self, *given: Any, **named: Any) -> Plain:
        return plain(self._ask("archive", *given, **named), WRITTEN)

    def delete(self, *given: Any, **named: Any) -> Plain:
        return plain(self._ask("delete", *given, **named), ("replayed",))

    def batch(self, operations: Iterable[Plain], **named: Any) -> list[Plain]:
        steps = [self._step(**each) for each in operations]
        done = self._ask("batch", steps, **named)
        shapes = [WRITTEN if isinstance(step, self._put) else DELETED for step in steps]
        return [confirmed(each, shape) for each, shape in zip(done, shapes, strict=True)]

    def _step(self, op: str, **fields: Any) -> Any:
        return self._put(**fields) if op == "put" else self._delete(**fields)

    def get(self, *given: Any, **named: Any) -> Plain:
        return plain(_there(self._ask("get", *given, **named)), ITEM)

    def get_by_id(self, item_id: str) -> Plain:
        return plain(_there(self._ask("get_by_id", UUID(item_id))), VERSION)

    def search(self, *given: Any, **named: Any) -> Plain:
        return found(self._ask("search", *given, **named), named.get("query"))

    def list_namespaces(self, **named: Any) -> list[list[str]]:
        return [list(each) for each in self._ask("list_namespaces", **named)]

    def history(self, *given: Any, **named: Any) -> list[Plain]:
        return [plain(each, VERSION) for each in self._ask("history", *given, **named)]

    def events(self, *given: Any, **named: Any) -> Plain:
        page = self._ask("events", *given, **named)
        told = [plain(event, EVENT) for event in page]
        return {"events": told, "cursor": page.cursor, "complete": page.complete}

    def whoami(self) -> Plain:
        return plain(self._ask("whoami"), CALLER)

    def show_policy(self, **named: Any) -> Plain:
        return told.policy(self._ask("show_policy", **named))

    def check_policy(self, modules: Mapping[str, str]) -> Plain:
        return told.report(self._ask("check_policy", modules))

    def push_policy(self, modules: Mapping[str, str], **named: Any) -> Plain:
        return told.policy(self._ask("push_policy", modules, **named))

    def rollback_policy(self, number: int | None = None, **named: Any) -> Plain:
        return told.policy(self._ask("rollback_policy", number, **named))

    def explain_policy(self, *given: Any, **named: Any) -> Plain:
        return told.explanation(self._ask("explain_policy", *given, **named))

    def simulate_policy(self, modules: Mapping[str, str]) -> Plain:
        return told.simulation(self._ask("simulate_policy", modules))

    def list_audit(self, **named: Any) -> Plain:
        return told.audit(self._ask("list_audit", **named))

    def force_delete(self, item_id: str, *, justification: str) -> None:
        done = self._ask("force_delete", UUID(item_id), justification=justification)
        assert (done.kind, str(done.id)) == ("delete", item_id)

    def index_status(self) -> Plain:
        return told.index(self._ask("index_status"))

    def trigger_index(self) -> Plain:
        return told.index(self._ask("trigger_index"))

    def show_settings(self) -> Plain:
        return told.tuned(self._ask("show_settings"))

    def change_settings(self, settings: Mapping[str, float | None]) -> Plain:
        return told.tuned(self._ask("change_settings", settings))


def _there(item: Any) -> Any:
    if item is None:
        raise Refused("not_found")
    return item


class TickingClock:
    """A clock that moves a little whenever it is read, so that no two writes share a moment."""

    def __init__(self) -> None:
        self.now = int(START)

    def __call__(self) -> Instant:
        self.now += 1
        return Instant(self.now)


class InProcess:
    """The library over a directory or in memory, with or without an event loop."""

    def __init__(self, place: Path | str, *, sync: bool, settings: Settings = SETTINGS) -> None:
        self._clock = TickingClock()
        self._runner = None if sync else Runner()
        if self._runner is None:
            self._memories: Any = recollect.open_sync(place, settings=settings, clock=self._clock)
        else:
            self._memories = self._runner.run(_opened(place, settings, self._clock))

    def door(self, tenant: str, person: Person) -> Door:
        scopes = person.scopes
        if scopes is None and not {"admin", "operator"} & set(person.roles):
            scopes = ("read", "write", "delete")  # what an API key for such a person has
        caller = new_caller(tenant, person.user, person.client, person.roles, scopes)
        wait = None if self._runner is None else self._runner.run
        return Library(self._memories.for_caller(caller), recollect, wait)

    def pass_time(self, seconds: float) -> None:
        self._clock.now += round(seconds * 1_000_000)

    def close(self) -> None:
        if self._runner is None:
            self._memories.close()
        else:
            self._runner.run(self._memories.close())
            self._runner.close()


async def _opened(place: Path | str, settings: Settings, clock: TickingClock) -> recollect.Memories:
    return await recollect.open(place, settings=settings, clock=clock)


class Sdk:
    """The client against a server, in either form."""

    def __init__(self, server: Server, *, sync: bool) -> None:
        self._server = server
        self._sync = sync
        self._runner = Runner()
        self._clients: list[Any] = []

    def door(self, tenant: str, person: Person) -> Door:
        key = key_for(self._server, tenant, person)
        make = recollect_client.Client if self._sync else recollect_client.AsyncClient
        client = make(self._server.url, key)
        self._clients.append(client)
        return Library(client, recollect_client, None if self._sync else self._runner.run)

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        for client in self._clients:
            closing = client.close()
            if closing is not None:
                self._runner.run(closing)
        self._runner.close()


def key_for(server: Server, tenant: str, person: Person) -> str:
    """An API key for a person in a tenant."""
    wishes: Plain = {"tenant": tenant, "client_id": person.client, "roles": list(person.roles)}
    if person.scopes is not None:
        wishes["scopes"] = list(person.scopes)
    return server.key_for(person.user, **wishes)
