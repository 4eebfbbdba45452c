"""The doors that offer the tools of an agent, each as a house in which scenarios are played."""

from __future__ import annotations

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import quote

from tests.mcp.clients import HANDSHAKE, MODERN, Called, Place, Speaker, official
from tests.search.plain import SETTINGS
from tests.toolbox.scenarios import Id, Person, Scenario, Step
from typer.testing import CliRunner

import recollect
import recollect_client
from recollect.cli.program import app
from recollect.config import Settings
from recollect.domain.callers import new_caller
from recollect.testing.servers import Server
from recollect.wire.tool_errors import tool_error

Outcome = dict[str, Any]
PATIENCE = 20.0
REGO = Settings(embedder="hashing")
_ID = re.compile(r"mem-[0-9a-f]{8}-[0-9a-f-]{27}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")
ERRORS = (recollect.RecollectError, recollect_client.RecollectError)


class House(ABC):
    """A door with its callers."""

    def __init__(self) -> None:
        self.open = AsyncExitStack()

    @abstractmethod
    async def govern(self, tenant: str, policy: str) -> None:
        """Put a policy in force."""

    @abstractmethod
    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        """What the tool gives, or `{"error": …}` as tools tell it."""


def refusal(problem: Any) -> Outcome:
    return {"error": tool_error(problem)}


class Library(House):
    """The memories themselves, in this process; with and without an event loop."""

    def __init__(self, *, sync: bool, settings: Settings = SETTINGS) -> None:
        super().__init__()
        self._sync = sync
        self._settings = settings
        self._memories: Any = None

    async def _use(self, tenant: str, person: Person, roles: tuple[str, ...] = ()) -> Any:
        if self._memories is None and self._sync:
            self._memories = await asyncio.to_thread(recollect.open_sync, ":memory:", settings=self._settings)
            self.open.callback(self._memories.close)
        elif self._memories is None:
            self._memories = await self.open.enter_async_context(recollect.open(":memory:", settings=self._settings))
        return self._memories.for_caller(new_caller(tenant, person.user, roles=roles, scopes=person.scopes))

    async def _done(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return await (asyncio.to_thread(call, *given, **named) if self._sync else call(*given, **named))

    async def govern(self, tenant: str, policy: str) -> None:
        root = await self._use(tenant, Person("root", ("read", "write", "delete", "admin")), ("admin",))
        await self._done(root.push_policy, {"authz.rego": policy})

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        use = await self._use(tenant, step.who)
        try:
            found = await self._done(use.call_tool, step.tool, arguments, session=step.session, group=step.group)
        except ERRORS as problem:
            return refusal(problem)
        return dict(found)


@dataclass
class Served(House):
    """What the doors of a server have in common."""

    server: Server
    keys: dict[tuple[str, Person], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        House.__init__(self)

    def key(self, tenant: str, person: Person) -> str:
        if (tenant, person) not in self.keys:
            made = self.server.key_for(person.user, tenant=tenant, scopes=list(person.scopes))
            self.keys[tenant, person] = made
        return self.keys[tenant, person]

    async def govern(self, tenant: str, policy: str) -> None:
        root = self.server.key_for("root", tenant=tenant, roles=["admin"])
        status, answer, _ = self.server.request("PUT", "/admin/v1/memories/policies", {"authz": policy}, token=root)
        assert status == 200, answer


@dataclass(frozen=True)
class _Envelope:
    code: str
    message: str
    details: dict[str, Any]
    retriable: bool


class Rest(Served):
    """Requests without any client library."""

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        status, found, _ = self.server.request(
            "POST",
            f"/v1/tools/{quote(step.tool, safe='')}",
            arguments,
            token=self.key(tenant, step.who),
            headers={"Recollect-Session": step.session, "Recollect-Group": step.group},
        )
        if status == 200:
            return dict(found)
        details = dict(found["details"])
        return refusal(_Envelope(found["code"], found["error"], details, retriable=False))


class Sdk(Served):
    """The client, with and without an event loop."""

    sync: ClassVar[bool] = False

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        key, named = self.key(tenant, step.who), {"session": step.session, "group": step.group}
        try:
            if self.sync:
                with recollect_client.Client(self.server.url, key) as client:
                    return await asyncio.to_thread(client.call_tool, step.tool, arguments, **named)
            async with recollect_client.AsyncClient(self.server.url, key) as client:
                return await client.call_tool(step.tool, arguments, **named)
        except ERRORS as problem:
            return refusal(problem)


class SdkSync(Sdk):
    sync: ClassVar[bool] = True


class Cli(Served):
    """The command that programs type."""

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        who = ("--url", self.server.url, "--token", self.key(tenant, step.who))
        when = ("--session", step.session, "--group", step.group)
        words = ["ipc", f"tool.invoke.{step.tool}", json.dumps(arguments), *who, *when]
        done = await asyncio.to_thread(CliRunner().invoke, app, words, prog_name="recollect")
        if done.exit_code == 0:
            return dict(json.loads(done.stdout))
        assert (done.exit_code, done.stdout) == (1, "")
        return {"error": json.loads(done.stderr)}


class Mcp(Served):
    """MCP, by the protocol's own client; a connection for each credential, session and group."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._speakers: dict[tuple[str, Person, str, str], Speaker] = {}

    def place(self, tenant: str, step: Step) -> tuple[Place, str]:
        raise NotImplementedError

    async def call(self, tenant: str, step: Step, arguments: dict[str, Any]) -> Outcome:
        name = (tenant, step.who, step.session, step.group)
        if name not in self._speakers:
            self._speakers[name] = await self.open.enter_async_context(official(*self.place(tenant, step)))
        called: Called = await self._speakers[name].call(step.tool, **arguments)
        return {"error": called.told} if called.is_error else called.result


class McpHttp(Mcp):
    def place(self, tenant: str, step: Step) -> tuple[Place, str]:
        headers = {
            "Authorization": f"Bearer {self.key(tenant, step.who)}",
            "Recollect-Session": step.session,
            "Recollect-Group": step.group,
        }
        return Place(url=f"{self.server.url}/mcp", headers=headers), MODERN


class McpStdio(Mcp):
    def place(self, tenant: str, step: Step) -> tuple[Place, str]:
        key = self.key(tenant, step.who)
        words = ("--url", self.server.url, "--token", key, "--session", step.session, "--group", step.group)
        return Place(self.server.home.parent / "elsewhere", words), HANDSHAKE


HOUSES: dict[str, Callable[[Server], House]] = {
    "in-process": lambda _server: Library(sync=False, settings=REGO),
    "in-process-sync": lambda _server: Library(sync=True, settings=REGO),
    "rest": Rest,
    "sdk": Sdk,
    "sdk-sync": SdkSync,
    "cli": Cli,
    "mcp-http": McpHttp,
    "mcp-stdio": McpStdio,
}


async def played(scenario: Scenario, house: House, tenant: str, expected: list[Outcome] | None = None) -> list[Outcome]:
    """What each step gave, with ids, times and scores replaced by what can be compared.

    The index of a server follows what is stored within moments, so a query is asked again until it finds what is
    expected, for a while.
    """
    known: dict[str, str] = {}
    ids: dict[int, str] = {}
    outcomes: list[Outcome] = []
    async with house.open:
        if scenario.policy is not None:
            await house.govern(tenant, scenario.policy)
        for number, step in enumerate(scenario.steps):
            arguments = {
                name: ids[value.step] if isinstance(value, Id) else value for name, value in step.arguments.items()
            }
            until = time.monotonic() + (PATIENCE if "query" in arguments and expected is not None else 0)
            while True:
                outcome = await house.call(tenant, step, arguments)
                told = _comparable(outcome, known)
                if time.monotonic() >= until or (expected is not None and told == expected[number]):
                    break
                await asyncio.sleep(0.05)
            if "id" in outcome:
                ids[number] = outcome["id"]
            outcomes.append(told)
    return outcomes


def _comparable(outcome: Outcome, known: dict[str, str]) -> Outcome:
    def name(found: re.Match[str]) -> str:
        return known.setdefault(found[0], f"note {len(known)}")

    text = _TIME.sub("then", _ID.sub(name, json.dumps(outcome)))
    text = re.sub(r'"relevance_score": [0-9.e-]+', lambda each: f'"relevance_score": {each[0][-3:] != "0.0"}', text)
    return dict(json.loads(text.replace('": True', '": true').replace('": False', '": false')))
