"""A session does what the OpenAI Agents SDK asks of one: in process, on a thread, and over HTTP with a user's key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from agents.items import ModelResponse, TResponseInputItem
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from tests.adapters.conftest import SETTINGS
from tests.langgraph.subjects import MovingClock

import recollect
from agents import Agent, Runner, set_tracing_disabled
from recollect.testing.servers import Server
from recollect_client import AsyncClient
from recollect_client._conversations import answers_later
from recollect_client.errors import InvalidExpiry, InvalidNamespace, InvalidQuery, InvalidValue
from recollect_client.openai_agents import RecollectSession

ODD: list[Any] = [
    {"role": "user", "content": "Grüße 日本 \U0001f9e0", "": [], "empty": {}, "a.b[*]/%": [[], [{}]], "$in": None},
    {"content": [{"type": "output_text", "text": "", "annotations": []}], "n": [0, -0.0, 1.0, 1e-300, 2**63, True]},
    {"nul": "\x00", "half": "\ud83e", "large": 2**70, "small": -(2**70)},
    {"deep": json.loads("[" * 60 + "]" * 60)},
    "only text",
    ["a", "list"],
    None,
]


def session(memories: Any, session_id: str | None = None, **options: Any) -> RecollectSession:
    return RecollectSession(session_id or uuid4().hex, user="alice", client=memories, **options)


def numbered(*numbers: int) -> list[Any]:
    return [{"n": number} for number in numbers]


async def found(memories: Any, query: str) -> list[Any]:
    asked = memories.search(("user", "alice", "conversations"), query=query, wait=10.0, mode="lexical")
    return list((await asked) if answers_later(memories) else asked)


# -- what it keeps


async def test_it_is_a_session_of_the_sdk(memories: Any) -> None:
    assert isinstance(session(memories), Session)


async def test_an_empty_session_has_nothing(memories: Any) -> None:
    empty = session(memories)
    await empty.add_items([])
    await empty.clear_session()
    assert (await empty.get_items(), await empty.get_items(5), await empty.pop_item()) == ([], [], None)


async def test_items_come_back_as_they_were_and_in_order(memories: Any) -> None:
    kept = session(memories)
    await kept.add_items(ODD[:3])
    for item in ODD[3:]:
        await kept.add_items([item])
    assert json.dumps(await kept.get_items()) == json.dumps(ODD)
    assert json.dumps([await kept.pop_item() for _ in ODD]) == json.dumps(ODD[::-1])


async def test_a_limit_gives_the_newest_in_order(memories: Any) -> None:
    kept = session(memories)
    await kept.add_items(numbered(*range(7)))
    assert await kept.get_items(3) == numbered(4, 5, 6)
    assert await kept.get_items(0) == []
    assert await kept.get_items(99) == numbered(*range(7))
    kept.session_settings = SessionSettings(limit=2)
    assert await kept.get_items() == numbered(5, 6)
    assert await kept.get_items(4) == numbered(3, 4, 5, 6)


async def test_popped_and_cleared_items_are_gone_and_others_follow(memories: Any) -> None:
    kept = session(memories)
    await kept.add_items(numbered(1, 2))
    assert [await kept.pop_item()] == numbered(2)
    await kept.add_items(numbered(3))
    assert await kept.get_items() == numbered(1, 3)
    await kept.clear_session()
    assert await kept.get_items() == []
    await kept.add_items(numbered(4))
    assert await kept.get_items() == numbered(4)


async def test_more_than_a_page_and_more_than_a_commit(memories: Any) -> None:
    kept = session(memories)
    await kept.add_items(numbered(*range(2_150)))
    await kept.add_items(numbered(*range(2_150, 2_260)))
    assert await kept.get_items() == numbered(*range(2_260))
    assert await kept.get_items(150) == numbered(*range(2_110, 2_260))
    await asyncio.gather(*(kept.pop_item() for _ in range(3)))
    assert await kept.get_items(1) == numbered(2_256)
    await kept.clear_session()
    assert await kept.get_items() == []


async def test_a_popped_item_of_a_block_of_several_leaves_the_others(memories: Any) -> None:
    kept = session(memories)
    await kept.add_items(numbered(*range(1_801)))
    assert [await kept.pop_item() for _ in range(5)] == numbered(1_800, 1_799, 1_798, 1_797, 1_796)
    await kept.add_items(numbered(-1))
    assert await kept.get_items(3) == numbered(1_794, 1_795, -1)


async def test_an_addition_that_fails_leaves_nothing(memories: Any) -> None:
    kept = session(memories)
    large: Any = {"text": "x" * 2**21}
    with pytest.raises(Exception, match="at most 1,048,576"):
        await kept.add_items([*numbered(1), large])
    assert await kept.get_items() == []


async def test_sessions_never_mix(memories: Any) -> None:
    names = [
        "a",
        "a/b",
        "a/b/",
        "a%2Fb",
        "a%",
        "A",
        "~a",
        "*",
        "*a",
        ".",
        "..",
        " ",
        "\u00e9",
        "e\u0301",
        "head",
        "\x1e",
    ]
    names += ["x" * 256, "x" * 257, "x" * 5_000, "x" * 5_001, "日" * 2_000]
    sessions = [session(memories, name) for name in names]
    for number, each in enumerate(sessions):
        await each.add_items(numbered(number))
    assert [await each.get_items() for each in sessions] == [numbered(number) for number in range(len(names))]
    await sessions[0].clear_session()
    assert [len(await each.get_items()) for each in sessions] == [0] + [1] * (len(names) - 1)


async def test_users_never_mix() -> None:
    async with recollect.open(":memory:", settings=SETTINGS) as memories:
        await RecollectSession("s", user="alice", client=memories).add_items(numbered(1))
        assert await RecollectSession("s", user="bob", client=memories).get_items() == []


async def test_only_what_is_named_is_found_by_queries(memories: Any) -> None:
    word = f"walrus{uuid4().hex}"
    item: Any = {"role": "user", "content": [{"text": word}], "id": f"{word}id"}
    await session(memories).add_items([item])
    assert await found(memories, word) == []
    await session(memories, index_fields=["content[*].text"]).add_items([item])
    assert [hit.value for hit in await found(memories, word)] == [{"items": [item]}]
    assert await found(memories, f"{word}id") == []
    await session(memories, index_fields=None).add_items([item])
    assert len(await found(memories, f"{word}id")) == 1


# -- what it refuses


@pytest.mark.parametrize("name", ["", None, 7, "a\x00b", "\ud800"])
async def test_a_bad_name_is_refused(name: Any) -> None:
    async with recollect.open(":memory:", settings=SETTINGS) as memories:
        with pytest.raises(InvalidNamespace, match="name"):
            RecollectSession(name, user="alice", client=memories)
        if not isinstance(name, str) or not name:
            with pytest.raises(InvalidNamespace, match="a user is named"):
                RecollectSession("s", user=name, client=memories)


@pytest.mark.parametrize("item", [{"n": float("nan")}, {"n": object()}, {1: 2}, {"n": {1}}, [[{2: 3}]]])
async def test_what_is_not_json_is_refused(item: Any) -> None:
    async with recollect.open(":memory:", settings=SETTINGS) as memories:
        kept = session(memories)
        with pytest.raises(InvalidValue, match="an item of a history is JSON"):
            await kept.add_items([*numbered(1), item])
        assert await kept.get_items() == []


async def test_bad_options_are_refused() -> None:
    async with recollect.open(":memory:", settings=SETTINGS) as memories:
        for ttl in (0, -1, float("nan"), True, "1", timedelta(0)):
            with pytest.raises(InvalidExpiry, match="above 0"):
                session(memories, ttl=ttl)
        for fields in ("content", [1]):
            with pytest.raises(InvalidQuery, match="list of names"):
                session(memories, index_fields=fields)
        for limit in (-1, 1.5, True):
            with pytest.raises(InvalidQuery, match="whole number"):
                await session(memories).get_items(limit)  # type: ignore[arg-type]
        await memories.put(("user", "alice", "conversations", "s"), "head", {"n": 1})
        with pytest.raises(InvalidValue, match="is not a history"):
            await session(memories, "s").get_items()
    with pytest.raises(TypeError, match="not by Opening"):
        session(recollect.open(":memory:"))


async def test_another_users_conversations_are_forbidden(server: Server, alices_key: str) -> None:
    async with AsyncClient(server.url, alices_key) as client:
        with pytest.raises(Exception, match="denied"):
            await RecollectSession("s", user="bob", client=client).add_items(numbered(1))


async def test_the_environment_says_where_the_server_is(
    server: Server, alices_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_URL", server.url)
    monkeypatch.setenv("RECOLLECT_TOKEN", alices_key)
    name = uuid4().hex
    async with RecollectSession(name, user="alice") as one, RecollectSession(name, user="alice") as other:
        await one.add_items(numbered(1))
        assert await other.get_items() == numbered(1)


# -- items that expire


@pytest.fixture
async def clocked() -> AsyncIterator[tuple[recollect.Memories, MovingClock]]:
    clock = MovingClock()
    async with recollect.open(":memory:", settings=SETTINGS, clock=clock) as memories:
        yield memories, clock


async def test_items_expire_one_by_one_and_the_others_stay(clocked: tuple[recollect.Memories, MovingClock]) -> None:
    memories, clock = clocked
    kept = session(memories, "s", ttl=timedelta(minutes=1))
    await kept.add_items(numbered(1, 2))
    clock.pass_time(40)
    await kept.add_items(numbered(3))
    clock.pass_time(40)
    assert await kept.get_items() == numbered(3)
    assert await kept.get_items(2) == numbered(3)
    clock.pass_time(40)
    assert (await kept.get_items(), await kept.pop_item()) == ([], None)
    await kept.add_items(numbered(4))
    assert await kept.get_items() == numbered(4)


async def test_what_lives_longer_is_not_lost_with_what_expires(
    clocked: tuple[recollect.Memories, MovingClock],
) -> None:
    memories, clock = clocked
    for lasting in (None, 3_600):
        name = f"s{lasting}"
        await session(memories, name, ttl=lasting).add_items(numbered(1))
        await session(memories, name, ttl=60).add_items(numbered(2))
        clock.pass_time(120)
        assert await session(memories, name).get_items() == numbered(1)
        await session(memories, name, ttl=60).add_items(numbered(3))
        clock.pass_time(120)
        assert [await session(memories, name).pop_item()] == numbered(1)
        assert await session(memories, name).get_items() == []


# -- with the SDK's own runner


class Scripted(Model):
    """A model that says how many items it was given, and keeps them."""

    def __init__(self) -> None:
        self.given: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **named: Any) -> ModelResponse:  # noqa: A002, ARG002 - the words of the SDK
        self.given.append(list(input))
        text = ResponseOutputText(text=f"I know {len(input)}", type="output_text", annotations=[])
        said = ResponseOutputMessage(
            id=f"m{len(self.given)}", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError


async def test_an_agent_remembers_the_turn_before(memories: Any) -> None:
    set_tracing_disabled(True)
    model, kept = Scripted(), session(memories)
    agent = Agent(name="scripted", model=model)
    assert (await Runner.run(agent, "I like tea", session=kept)).final_output == "I know 1"
    again = session(memories, kept.session_id)
    assert (await Runner.run(agent, "What do I like?", session=again)).final_output == "I know 3"
    said: list[TResponseInputItem] = await again.get_items()
    assert [item.get("role") for item in said] == ["user", "assistant", "user", "assistant"]
    assert model.given[1][:2] == said[:2]
    other = session(memories)
    assert (await Runner.run(agent, "And me?", session=other)).final_output == "I know 1"
