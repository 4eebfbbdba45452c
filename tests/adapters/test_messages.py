"""A message history does what LangChain asks of one, with and without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core._api.deprecation import LangChainDeprecationWarning
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.history import RunnableWithMessageHistory
from tests.adapters.conftest import SETTINGS

import recollect
from recollect.testing.servers import Server
from recollect_client import Client
from recollect_client._conversations import answers_later
from recollect_client.errors import InvalidValue
from recollect_client.langchain import RecollectChatMessageHistory

MESSAGES: list[BaseMessage] = [
    SystemMessage("be brief", id="1"),
    HumanMessage([{"type": "text", "text": "Grüße 日本"}, {"type": "image", "url": "data:,"}], name="Alice"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"": [], "n": 1.0}, "id": "c1", "type": "tool_call"}]),
    ToolMessage("found\x00nothing", tool_call_id="c1", artifact={"rows": []}),
    AIMessageChunk(content="partly", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    AIMessage("done", response_metadata={"finish": None}, additional_kwargs={"odd/key %": [{}]}),
]


def history(memories: Any, session_id: str | None = None, **options: Any) -> RecollectChatMessageHistory:
    return RecollectChatMessageHistory(session_id or uuid4().hex, user="alice", client=memories, **options)


@pytest.fixture(params=["directory", "http"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Memories for code without an event loop."""
    if request.param == "directory":
        with recollect.open_sync(tmp_path / "kept", settings=SETTINGS) as memories:
            yield memories
    else:
        with Client(request.getfixturevalue("server").url, request.getfixturevalue("alices_key")) as client:
            yield client


def test_messages_come_back_as_they_were(held: Any) -> None:
    kept = history(held)
    assert kept.messages == []
    kept.add_messages(MESSAGES[:2])
    for message in MESSAGES[2:]:
        kept.add_message(message)
    again = history(held, kept.session_id)
    assert again.messages == MESSAGES
    assert history(held, kept.session_id, limit=2).messages == MESSAGES[-2:]
    again.clear()
    assert kept.messages == []
    kept.add_messages([])
    kept.add_user_message("hello")
    assert kept.messages == [HumanMessage("hello")]


async def test_they_do_with_an_event_loop(memories: Any) -> None:
    kept = history(memories)
    assert await kept.aget_messages() == []
    await kept.aadd_messages(MESSAGES)
    assert await history(memories, kept.session_id).aget_messages() == MESSAGES
    await kept.aclear()
    assert await kept.aget_messages() == []
    if answers_later(memories):
        with pytest.raises(asyncio.InvalidStateError, match="aget_messages"):
            _ = kept.messages


async def test_rivals_lose_and_double_nothing(memories: Any) -> None:
    name = uuid4().hex
    turns = [[HumanMessage(f"q{n}"), AIMessage(f"a{n}")] for n in range(12)]
    await asyncio.gather(*(history(memories, name).aadd_messages(turn) for turn in turns))
    said = [str(message.content) for message in await history(memories, name).aget_messages()]
    assert sorted(said) == sorted(f"{who}{n}" for who in "qa" for n in range(12))
    assert all(said[place + 1] == f"a{said[place][1:]}" for place in range(0, len(said), 2))


def test_what_is_no_message_is_refused(held: Any) -> None:
    kept = history(held)
    with pytest.raises(InvalidValue, match="takes messages, not str"):
        kept.add_messages([HumanMessage("a"), "b"])  # type: ignore[list-item]
    with pytest.raises(InvalidValue, match="JSON"):
        kept.add_messages([HumanMessage("a", additional_kwargs={"what": object()})])
    assert kept.messages == []


def test_the_environment_says_where_the_server_is(
    server: Server, alices_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_URL", server.url)
    monkeypatch.setenv("RECOLLECT_TOKEN", alices_key)
    name = uuid4().hex
    with RecollectChatMessageHistory(name, user="alice") as one:
        one.add_messages(MESSAGES[:1])
        assert one.messages == MESSAGES[:1]


# -- with LangChain's own runner


def chatting(memories: Any, *answers: str) -> Any:
    model = GenericFakeChatModel(messages=iter(AIMessage(answer) for answer in answers))
    opened: list[str] = []

    def opening(session_id: str) -> BaseChatMessageHistory:
        opened.append(session_id)
        return history(memories, session_id)

    with pytest.warns(LangChainDeprecationWarning):
        return RunnableWithMessageHistory(model, opening)


def test_a_chain_remembers_the_turn_before(held: Any) -> None:
    chain, name = chatting(held, "noted", "tea"), uuid4().hex
    config = {"configurable": {"session_id": name}}
    assert chain.invoke([HumanMessage("I like tea")], config).content == "noted"
    assert chain.invoke([HumanMessage("What do I like?")], config).content == "tea"
    said = [(message.type, message.content) for message in history(held, name).messages]
    assert said == [("human", "I like tea"), ("ai", "noted"), ("human", "What do I like?"), ("ai", "tea")]


async def test_a_chain_with_an_event_loop_does_too(memories: Any) -> None:
    chain, name = chatting(memories, "noted", "tea"), uuid4().hex
    config = {"configurable": {"session_id": name}}
    await chain.ainvoke([HumanMessage("I like tea")], config)
    await chain.ainvoke([HumanMessage("What do I like?")], config)
    said = [message.content for message in await history(memories, name).aget_messages()]
    assert said == ["I like tea", "noted", "What do I like?", "tea"]
