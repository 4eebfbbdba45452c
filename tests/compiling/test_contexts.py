"""The use-case: what is recalled is compiled, in the form that was asked for."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.compiling.made import dispute, memory_told
from tests.compiling.reading import read_json, read_messages, read_text

from recollect.domain.errors import InvalidInput, InvalidQuery, InvalidRequest
from recollect.service.figures import Figures
from recollect.service.recalling.contexts import Contexts


class Told(Contexts):
    """Contexts over what a recall is said to have told."""

    def __init__(self, *memories: dict[str, Any]) -> None:
        self._workings = SimpleNamespace(figures=Figures())  # type: ignore[assignment] # no store is asked here
        self.memories = list(memories)
        self.asked: dict[str, Any] = {}

    async def recall(self, *given: Any, **asked: Any) -> dict[str, Any]:
        """Tell it."""
        self.asked = {"query": given[0]} | asked
        return {"memories": self.memories, "contradictions": [dispute()], "trace_id": "trc_1", "hash": "0"}


def here() -> Told:
    return Told(memory_told(1), memory_told(2, "Be brief.", behavioral=True))


async def test_a_context_is_what_was_recalled() -> None:
    told = await here().context("tea")
    assert told.keys() == {"pack", "form", "text", "messages", "hash", "trace_id", "report"}
    assert (told["form"], told["messages"], told["trace_id"]) == ("json", None, "trc_1")
    assert told["hash"] == told["pack"]["hash"]
    assert told["report"] == told["pack"]["report"]
    assert [each.text for each in read_json(told["text"])][:2] == ["Ada drinks tea.", "Be brief."]
    assert msgspec.json.decode(msgspec.json.encode(told)) == told


async def test_forms() -> None:
    state = {"turns": [{"id": "1", "text": "Hello"}]}
    markdown = await here().context(form="markdown", state=state)
    messages = await here().context(form="messages", state=state)
    assert markdown["messages"] is None
    assert messages["text"] is None
    assert read_text(markdown["text"]) == read_messages(messages["messages"])
    assert [each.text for each in read_text(markdown["text"])][-1] == "Hello"


async def test_a_template_and_a_counter_of_ones_own() -> None:
    blocks = [{"name": "facts", "source": "relevant", "title": "Facts", "entries": 1}]
    template = MappingProxyType({"name": "mine", "version": 4, "blocks": blocks})
    told = await here().context(template=template, counter="words", budget=100)
    assert told["pack"]["manifest"]["template"]["version"] == 4
    assert told["pack"]["manifest"]["counter"] == "words"
    assert told["pack"]["manifest"]["ids"] == ["user:alice:semantic:1"]
    assert [each["reason"] for each in told["report"]["dropped"]] == ["entry_cap", "no_block"]


async def test_the_scope_is_what_recall_is_asked_for() -> None:
    asked: dict[str, Any] = {
        "spaces": ["user"], "session": "s", "project": "p", "persona": "x", "phase": "f", "intent": "i",
        "classification": "PUBLIC", "freshness": 3.0, "kinds": ["semantic"], "tiers": ["semantic"],
        "event_types": ["fact"], "ranker": "deterministic", "limit": 7, "min_score": 0.5,
        "as_of": datetime(2026, 5, 4, tzinfo=UTC), "history": True, "wait": 1.0,
    }  # fmt: skip
    scene = here()
    await scene.context("tea", **asked)
    assert scene.asked == {"query": "tea"} | asked
    own = {"self", "query", "budget", "counter", "template", "state", "form"}
    assert inspect.signature(Contexts.context).parameters.keys() - own == asked.keys()


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"budget": 0}, InvalidQuery),
        ({"budget": 10**9}, InvalidQuery),
        ({"counter": "gpt"}, InvalidQuery),
        ({"form": "xml"}, InvalidQuery),
        ({"form": None}, InvalidQuery),
        ({"limit": 0}, InvalidQuery),
        ({"limit": 1_001}, InvalidQuery),
        ({"template": []}, InvalidRequest),
        ({"state": {"system": []}}, InvalidRequest),
    ],
)
async def test_what_cannot_be_meant_is_refused_before_anything_is_recalled(
    asked: dict[str, Any], error: type[InvalidInput]
) -> None:
    scene = here()
    with pytest.raises(error):
        await scene.context("tea", **asked)
    assert scene.asked == {}
