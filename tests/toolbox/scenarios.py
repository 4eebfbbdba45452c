"""One list of scenarios for the tools of an agent, to be played at every door that offers them.

A step names the tool, its arguments, who calls it, and the code with which it is refused. Ids of earlier notes are
written as `Id(step)`. What is answered is compared with what the library answers in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Person:
    """A caller: a user with a credential, which may be for a part of the scopes only."""

    user: str
    scopes: tuple[str, ...] = ("read", "write", "delete")


@dataclass(frozen=True)
class Id:
    """The id of the note that an earlier step stored."""

    step: int


@dataclass(frozen=True)
class Step:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    refused: str | None = None
    """The code of the refusal that is expected."""
    who: Person = Person("alice")
    session: str = "s1"
    group: str = "default"


@dataclass(frozen=True)
class Scenario:
    name: str
    steps: tuple[Step, ...]
    policy: str | None = None
    """What is put in force for the tenant before it begins."""


ALICE, BOB = Person("alice"), Person("bob")
READER = Person("alice", ("read",))
NOBODY = Person("alice", ())
DENIES_BOB = """package memories.authz

import rego.v1

own if {
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}

allow if {
	own
	input.context.user_id != "bob"
}

allow if {
	own
	input.operation == "read"
}

allow if "admin" in input.context.roles
"""


def _store(content: str, kind: str = "fact", refused: str | None = None, **more: Any) -> Step:
    caller = {name: more.pop(name) for name in ("who", "session", "group") if name in more}
    return Step("memory_store", {"type": kind, "content": content, **more}, refused, **caller)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "what is stored is found, briefed, fetched and deleted",
        (
            _store("Prefers green tea", "preference", tags=["drinks", "tea"]),
            _store("Lives in Kyoto"),
            Step("memory_search"),
            Step("memory_search", {"query": "tea", "limit": 1}),
            Step("memory_search", {"type": "fact", "tags": []}),
            Step("memory_search", {"tags": ["drinks", "tea"]}),
            Step("memory_brief"),
            Step("memory_brief", {"include_provenance": True}),
            Step("search", {"query": "Kyoto"}),
            Step("fetch", {"id": Id(0)}),
            Step("memory_delete", {"id": Id(0)}),
            Step("memory_search"),
            Step("fetch", {"id": Id(0)}, "HANDLER_ERROR"),
            Step("memory_delete", {"id": Id(0)}, "HANDLER_ERROR"),
        ),
    ),
    Scenario(
        "a credential for reading reads, and no more",
        (
            _store("written"),
            Step("memory_search", who=READER),
            Step("fetch", {"id": Id(0)}, who=READER),
            _store("x", refused="UNAUTHORIZED", who=READER),
            Step("memory_delete", {"id": Id(0)}, "UNAUTHORIZED", READER),
            Step("memory_search", {}, "UNAUTHORIZED", NOBODY),
            Step("memory_brief", {}, "UNAUTHORIZED", NOBODY),
            Step("memory_search"),
        ),
    ),
    Scenario(
        "a policy that denies decides about notes as about all memories",
        (
            _store("hers"),
            _store("his", refused="UNAUTHORIZED", who=BOB),
            Step("memory_search", who=BOB),
            Step("memory_brief", who=BOB),
            Step("memory_delete", {"id": "mem-none"}, "UNAUTHORIZED", BOB),
            Step("memory_search"),
        ),
        DENIES_BOB,
    ),
    Scenario(
        "what is wrong is refused by its field, and costs nothing",
        (
            _store("", refused="VALIDATION_FAILED"),
            _store("x", "opinion", refused="VALIDATION_FAILED"),
            _store("x" * 2_001, refused="VALIDATION_FAILED"),
            _store("key ghp_" + "a1" * 18, refused="VALIDATION_FAILED"),
            _store("x", refused="VALIDATION_FAILED", tags=["t"] * 11),
            _store("x", refused="VALIDATION_FAILED", group_name="x"),
            Step("memory_search", {"limit": 101}, "VALIDATION_FAILED"),
            Step("memory_search", {"limit": True}, "VALIDATION_FAILED"),
            Step("memory_brief", {"include_provenance": "yes"}, "VALIDATION_FAILED"),
            Step("memory_delete", {}, "VALIDATION_FAILED"),
            Step("search", {}, "VALIDATION_FAILED"),
            Step("fetch", {"id": ""}, "VALIDATION_FAILED"),
            Step("memory_forget", {}, "UNKNOWN_TOOL"),
            Step("memory_search"),
        ),
    ),
    Scenario(
        "entries replace each other in a chain without forks",
        (
            _store("pnpm 8"),
            _store("pnpm 9", supersedes=Id(0)),
            _store("pnpm 10", refused="HANDLER_ERROR", supersedes=Id(0)),
            _store("pnpm 10", refused="HANDLER_ERROR", supersedes="mem-none"),
            Step("memory_search"),
            Step("memory_search", {"include_superseded": True}),
            Step("memory_brief"),
            Step("fetch", {"id": Id(0)}),
            Step("memory_delete", {"id": Id(1)}),
            Step("memory_search"),
        ),
    ),
    Scenario(
        "budgets are those of the session",
        (
            *(_store(f"note {number}") for number in range(20)),
            _store("too many", refused="RATE_LIMITED"),
            _store("of another session", session="s2"),
            *(Step("memory_delete", {"id": Id(number)}) for number in range(5)),
            Step("memory_delete", {"id": Id(5)}, "RATE_LIMITED"),
            Step("memory_search", {"limit": 100}),
        ),
    ),
    Scenario(
        "users and groups see their own notes",
        (
            _store("of alice"),
            _store("of alice at work", group="work"),
            _store("of bob", who=BOB),
            Step("memory_search"),
            Step("memory_search", group="work"),
            Step("memory_search", who=BOB),
            Step("fetch", {"id": Id(0)}, "HANDLER_ERROR", BOB),
            Step("memory_delete", {"id": Id(0)}, "HANDLER_ERROR", group="work"),
        ),
    ),
    Scenario(
        "text is shown as it was meant, and safely",
        (
            _store("日本 é \u202e \U0001f375 <b>`x`</b>\nsecond line", "instruction", tags=["ü"]),
            Step("memory_search", {"query": "日本"}),
            Step("memory_brief"),
            Step("fetch", {"id": Id(0)}),
        ),
    ),
)
