"""The four tools of an agent: what they take, give and refuse, their chains and their budgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.search.plain import SETTINGS

import recollect
from recollect import Memories
from recollect.domain.callers import new_caller
from recollect.domain.errors import (
    BudgetSpent,
    ChainRefused,
    InvalidNote,
    NotFound,
    OutcomeUnknown,
    RecollectError,
    StoreBusy,
    UnknownTool,
)
from recollect.domain.notes import BRIEF_CHARACTERS, BRIEF_ENTRIES, MAX_CHAIN, SUGGESTIONS
from recollect.service.notes import Notes, new_session
from recollect.service.toolbox import TOOLS, brief_as_markdown, tool_named
from recollect.testing.doubles import ManualClock
from recollect.wire.tool_errors import tool_error
from recollect_client._requests import READING


@dataclass
class Agent:
    """An agent with its tools."""

    memories: Memories
    user: str = "alice"
    session: str = "s1"
    group: str = "default"

    @property
    def notes(self) -> Notes:
        caller = new_caller("default", self.user)
        return Notes(self.memories.workings, caller, new_session(self.session, self.group))

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return await tool_named(tool).call(self.notes, arguments)

    async def keep(self, content: str, kind: str = "fact", **more: Any) -> str:
        return str((await self.call("memory_store", type=kind, content=content, **more))["id"])

    async def found(self, **asked: Any) -> list[str]:
        return [each["content"] for each in (await self.call("memory_search", **asked))["results"]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def agent(clock: ManualClock) -> AsyncIterator[Agent]:
    async with recollect.open(":memory:", settings=SETTINGS, clock=clock) as memories:
        yield Agent(memories)


async def test_a_stored_note_is_told_whole(agent: Agent) -> None:
    told = await agent.call("memory_store", type="preference", content="Prefers\u202e dark mode", tags=["ui", "ui"])
    assert told["id"].startswith("mem-")
    assert told.pop("created_at").endswith("Z")
    assert told == {
        "id": told["id"],
        "type": "preference",
        "content": "Prefers dark mode",
        "behavioral": True,
        "tags": ["ui"],
        "supersedes": None,
        "superseded_by": None,
        "session_id": "s1",
        "group": "default",
    }


async def test_search_ranks_and_filters_before_the_cut(agent: Agent, clock: ManualClock) -> None:
    for number in range(15):
        clock.advance(1)
        await agent.keep(f"tea number{number}", tags=["drink"] if number < 2 else [])
    clock.advance(1)
    await agent.keep("always brew tea slowly", "instruction", tags=["drink", "how"])
    assert await agent.found(tags=["drink"], limit=2) == ["always brew tea slowly", "tea number1"]
    assert await agent.found(tags=["drink", "how"]) == ["always brew tea slowly"]
    assert await agent.found(type="instruction", query="tea") == ["always brew tea slowly"]
    assert await agent.found(query="number0", limit=1) == ["tea number0"]
    assert (await agent.found(limit=3))[1:] == ["tea number14", "tea number13"]
    (only,) = (await agent.call("memory_search", query="number0", tags=["drink"], limit=1))["results"]
    assert 0 < only["relevance_score"] <= 1
    assert (await agent.call("memory_search", query="slowly"))["notice"] == SUGGESTIONS
    assert "notice" not in await agent.call("memory_search", type="fact")


@pytest.mark.parametrize("query", ['"', "a:b", "NEAR(", "* OR NOT", "--", "'; DROP TABLE", "\u202e", "(" * 400])
async def test_no_query_is_syntax(agent: Agent, query: str) -> None:
    await agent.keep("tea")
    assert isinstance(await agent.found(query=query), list)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("memory_store", {}),
    ("memory_store", {"type": "fact"}),
    ("memory_store", {"content": "x"}),
    ("memory_store", {"type": "Fact", "content": "x"}),
    ("memory_store", {"type": "opinion", "content": "x"}),
    ("memory_store", {"type": None, "content": "x"}),
    ("memory_store", {"type": "fact", "content": ""}),
    ("memory_store", {"type": "fact", "content": "   "}),
    ("memory_store", {"type": "fact", "content": "\u200b\u202e"}),
    ("memory_store", {"type": "fact", "content": "x" * 2_001}),
    ("memory_store", {"type": "fact", "content": 7}),
    ("memory_store", {"type": "fact", "content": "nul\x00"}),
    ("memory_store", {"type": "fact", "content": "\ud800"}),
    ("memory_store", {"type": "fact", "content": "my key is ghp_" + "a1" * 18}),
    ("memory_store", {"type": "fact", "content": "x", "tags": "coding"}),
    ("memory_store", {"type": "fact", "content": "x", "tags": ["t"] * 11}),
    ("memory_store", {"type": "fact", "content": "x", "tags": ["t" * 51]}),
    ("memory_store", {"type": "fact", "content": "x", "tags": [""]}),
    ("memory_store", {"type": "fact", "content": "x", "tags": [1]}),
    ("memory_store", {"type": "fact", "content": "x", "tags": ["\u200b"]}),
    ("memory_store", {"type": "fact", "content": "x", "supersedes": 1}),
    ("memory_store", {"type": "fact", "content": "x", "supersedes": ""}),
    ("memory_store", {"type": "fact", "content": "x", "id": "mem-1"}),
    ("memory_store", {"type": "fact", "content": "x", "session_id": "s1"}),
    ("memory_store", {"type": "fact", "content": "x", "group": "default"}),
    ("memory_store", {"type": "fact", "content": "x", "created_at": "2026-01-01T00:00:00Z"}),
    ("memory_store", {"type": "fact", "content": "x", "behavioral": False}),
    ("memory_search", {"query": 1}),
    ("memory_search", {"query": "x" * 501}),
    ("memory_search", {"tags": "a"}),
    ("memory_search", {"type": "all"}),
    ("memory_search", {"limit": 0}),
    ("memory_search", {"limit": 101}),
    ("memory_search", {"limit": "5"}),
    ("memory_search", {"limit": True}),
    ("memory_search", {"include_superseded": "yes"}),
    ("memory_search", {"offset": 1}),
    ("memory_brief", {"include_provenance": 1}),
    ("memory_brief", {"group": "other"}),
    ("memory_delete", {}),
    ("memory_delete", {"id": ""}),
    ("memory_delete", {"id": 1}),
    ("memory_delete", {"id": "mem-1", "force": True}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRONG)
async def test_a_wrong_call_is_refused_and_costs_nothing(agent: Agent, tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidNote):
        await tool_named(tool).call(agent.notes, arguments)
    assert (await agent.notes.spent()).stores == 0


def test_an_unknown_tool_is_refused() -> None:
    with pytest.raises(UnknownTool, match="memory_store"):
        tool_named("memory_forget")


async def test_supersession_is_a_chain_without_forks(agent: Agent) -> None:
    first = await agent.keep("pnpm 8")
    second = await agent.keep("pnpm 9", supersedes=first)
    with pytest.raises(ChainRefused, match=second):
        await agent.keep("pnpm 10", supersedes=first)
    with pytest.raises(NotFound, match='Memory entry "mem-abc123" not found'):
        await agent.keep("pnpm 10", supersedes="mem-abc123")
    assert await agent.found() == ["pnpm 9"]
    assert sorted(await agent.found(include_superseded=True)) == ["pnpm 8", "pnpm 9"]
    assert await agent.found(query="pnpm 8") == ["pnpm 9"]
    brief = await agent.call("memory_brief")
    assert (brief["entry_count"], brief["brief_count"]) == (2, 1)
    await agent.call("memory_delete", id=second)
    assert await agent.found() == ["pnpm 8"], "what it had replaced is in force again"


async def test_deleting_the_middle_of_a_chain_keeps_its_ends_in_order(agent: Agent) -> None:
    first = await agent.keep("one")
    second = await agent.keep("two", supersedes=first)
    await agent.keep("three", supersedes=second)
    await agent.call("memory_delete", id=second)
    assert await agent.found() == ["three"]
    assert sorted(await agent.found(include_superseded=True)) == ["one", "three"]


async def test_a_chain_has_a_greatest_length(agent: Agent) -> None:
    last = await agent.keep("0")
    for number in range(1, MAX_CHAIN):
        agent.session = f"s{number}"
        last = await agent.keep(str(number), supersedes=last)
    with pytest.raises(ChainRefused, match="at most 5"):
        await agent.keep("one too many", supersedes=last)


async def test_deletion_leaves_nothing_to_be_read(agent: Agent) -> None:
    kept = await agent.keep("a secret of the tea house")
    assert await agent.call("memory_delete", id=kept) == {"deleted": True, "id": kept}
    with pytest.raises(NotFound):
        await agent.call("memory_delete", id=kept)
    assert await agent.found(query="tea", include_superseded=True) == []
    await agent.memories.sweep()
    history = await agent.memories.history(("user", "alice", "notes", "default"), kept)
    assert all(item.value is None for item in history)


async def test_budgets_hold_per_session_and_only_success_counts(agent: Agent) -> None:
    with pytest.raises(NotFound):
        await agent.keep("x", supersedes="mem-0")
    ids = [await agent.keep(f"note {number}") for number in range(15)]
    for number in range(5):
        await agent.keep(f"newer {number}", supersedes=ids[number])
    with pytest.raises(BudgetSpent, match="20 stores"):
        await agent.keep("one more")
    for number in range(5, 10):
        await agent.call("memory_delete", id=ids[number])
    with pytest.raises(BudgetSpent, match="5 deletes"):
        await agent.call("memory_delete", id=ids[10])
    assert await agent.notes.spent() == type(await agent.notes.spent())(20, 5, 5)
    agent.session = "s2"
    for number in range(10, 15):
        await agent.keep("y", supersedes=ids[number])
    with pytest.raises(BudgetSpent, match="5 supersedes"):
        await agent.keep("z", supersedes=await agent.keep("old"))


@pytest.mark.parametrize("place", ["memory", "sqlite"])
async def test_of_a_hundred_stores_at_once_twenty_succeed(place: str, tmp_path: Path) -> None:
    async with recollect.open(":memory:" if place == "memory" else tmp_path, settings=SETTINGS) as memories:
        agent = Agent(memories)
        done = await asyncio.gather(*(agent.keep(f"note {n}") for n in range(100)), return_exceptions=True)
        assert sum(isinstance(each, str) for each in done) == 20
        assert {type(each) for each in done if not isinstance(each, str)} == {BudgetSpent}
        assert len(await agent.found(limit=100)) == 20
    if place == "sqlite":
        async with recollect.open(tmp_path, settings=SETTINGS) as memories:
            with pytest.raises(BudgetSpent):
                await Agent(memories).keep("after a restart")


async def test_nobody_sees_the_notes_of_another_user_or_group(agent: Agent) -> None:
    kept = await agent.keep("canary of alice")
    for other in (Agent(agent.memories, "bob"), Agent(agent.memories, group="work")):
        assert await other.found(query="canary", include_superseded=True) == []
        assert (await other.call("memory_brief"))["entry_count"] == 0
        with pytest.raises(NotFound):
            await other.call("memory_delete", id=kept)
        with pytest.raises(NotFound):
            await other.keep("mine now", supersedes=kept)


async def test_a_brief_is_ordered_and_bounded(agent: Agent, clock: ManualClock) -> None:
    for number in range(BRIEF_ENTRIES + 5):
        agent.session = f"s{number // 20}"
        clock.advance(86_400)
        await agent.keep(f"note\n{number}", "fact" if number % 2 else "preference")
    brief = await agent.call("memory_brief", include_provenance=True)
    assert (brief["entry_count"], brief["brief_count"]) == (BRIEF_ENTRIES + 5, BRIEF_ENTRIES)
    kinds = [entry["behavioral"] for entry in brief["entries"]]
    assert kinds == sorted(kinds, reverse=True)
    assert brief["entries"][0]["content"] == "note 54"
    assert brief["entries"][0]["age_days"] == 0
    assert brief["entries"][1]["age_days"] == 2
    assert brief["entries"][0]["session_id"] == "s2"
    assert brief["notice"] == SUGGESTIONS


async def test_a_brief_ends_before_it_is_too_long(agent: Agent) -> None:
    for number in range(6):
        await agent.keep("x" * 1_990 + f" {number}")
    brief = await agent.call("memory_brief")
    assert brief["brief_count"] == 5
    assert sum(len(entry["content"]) for entry in brief["entries"]) <= BRIEF_CHARACTERS


async def test_the_brief_for_the_beginning_of_a_session(agent: Agent) -> None:
    assert await brief_as_markdown(agent.notes) == ""
    await agent.keep("Uses macOS </system> ```", "fact")
    await agent.keep("Prefers\nshort answers", "preference")
    assert await brief_as_markdown(agent.notes) == (
        "## Memory Context\n\n### Behavioral Preferences\n\n"
        f"> {SUGGESTIONS}\n\n- [preference] Prefers short answers (0d ago)\n\n"
        "### Known Facts\n\n- [fact] Uses macOS &lt;/system&gt; ˋˋˋ (0d ago)\n"
    )


async def test_a_brief_that_fails_or_takes_too_long_is_empty(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    await agent.keep("tea")

    async def slow(*_: object, **__: object) -> None:
        await asyncio.sleep(30)

    async def broken(*_: object, **__: object) -> None:
        raise RecollectError("away")

    for trouble in (slow, broken):
        monkeypatch.setattr(Notes, "brief", trouble)
        assert await brief_as_markdown(agent.notes, 0.05) == ""


async def test_what_was_superseded_is_purged_after_ninety_days(agent: Agent, clock: ManualClock) -> None:
    first = await agent.keep("pnpm 8", tags=["tools"])
    second = await agent.keep("pnpm 9", supersedes=first)
    clock.advance(90 * 86_400 - 1)
    await agent.memories.sweep()
    assert sorted(await agent.found(include_superseded=True)) == ["pnpm 8", "pnpm 9"]
    clock.advance(1)
    assert await agent.found(include_superseded=True) == ["pnpm 9"]
    await agent.memories.sweep()
    history = await agent.memories.history(("user", "alice", "notes", "default"), first)
    assert all(item.value is None for item in history)
    agent.session = "s2"
    await agent.keep("pnpm 10", supersedes=second)
    assert await agent.found() == ["pnpm 10"]


async def test_what_counts_again_is_not_purged(agent: Agent, clock: ManualClock) -> None:
    first = await agent.keep("pnpm 8")
    clock.advance(1)
    second = await agent.keep("pnpm 9", supersedes=first)
    await agent.keep("npm 3")
    await agent.call("memory_delete", id=second)
    clock.advance(91 * 86_400)
    await agent.memories.sweep()
    assert await agent.found() == ["npm 3", "pnpm 8"], "in the order in which they were stored"


async def test_clients_that_expect_search_and_fetch_have_them(agent: Agent) -> None:
    kept = await agent.keep("always\nbrew slowly", "instruction")
    found = await agent.call("search", query="brew")
    assert found == {
        "results": [{"id": kept, "title": "[instruction] always brew slowly", "url": f"recollect://notes/{kept}"}],
        "notice": SUGGESTIONS,
    }
    fetched = await agent.call("fetch", id=kept)
    assert fetched["text"] == f"{SUGGESTIONS}\n\nalways\nbrew slowly"
    assert fetched["metadata"]["behavioral"] is True
    with pytest.raises(NotFound):
        await Agent(agent.memories, "bob").call("fetch", id=kept)


async def test_what_was_put_beside_notes_by_other_doors_is_shown_safely(agent: Agent) -> None:
    place = ("user", "alice", "notes", "default")
    await agent.memories.put(place, "mem-1", {"type": "fact", "content": "token ghp_" + "a1" * 18 + "\u202e"})
    await agent.memories.put(place, "mem-2", {"anything": "else"})
    assert await agent.found() == ["token [REDACTED]"]
    assert (await agent.call("memory_brief"))["entries"][0]["content"] == "token [REDACTED]"


def test_the_client_repeats_only_calls_that_change_nothing() -> None:
    assert {tool.name for tool in TOOLS.values() if tool.read_only} == READING


def test_what_may_have_been_done_is_not_called_again() -> None:
    assert tool_error(OutcomeUnknown("cut off"))["retriable"] is False
    assert tool_error(StoreBusy("later"))["retriable"] is True


def test_every_tool_says_what_it_takes_and_gives() -> None:
    own = [tool.name for tool in TOOLS.values() if not tool.alias]
    assert own == ["memory_store", "memory_search", "memory_brief", "memory_delete"]
    for tool in TOOLS.values():
        assert tool.parameters["additionalProperties"] is False
        assert tool.description
    assert [tool.name for tool in TOOLS.values() if tool.read_only and not tool.alias] == own[1:3]
    assert [tool.name for tool in TOOLS.values() if tool.destructive] == own[3:]
