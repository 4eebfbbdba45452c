"""Hostile notes, queries and arguments stay what they are: data in their place."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.search.plain import SETTINGS
from tests.toolbox.attacks import FORGED, NOTES, QUERIES

import recollect
from recollect import Memories
from recollect.domain import notes as rules
from recollect.domain.errors import InvalidNote
from recollect.domain.notes import SUGGESTIONS
from recollect.domain.scrubbing import cleaned

HEADINGS = ("## Memory Context", "### Behavioral Preferences", "### Known Facts", f"> {SUGGESTIONS}", "")
ENTRY = re.compile(r"- \[(preference|fact|instruction|context|correction)\] [^<>`]* \(\d+d ago\)")


@pytest.fixture
async def memories() -> AsyncIterator[Memories]:
    async with recollect.open(":memory:", settings=SETTINGS) as opened:
        yield opened


async def stored(memories: Memories, text: str, session: str, kind: str = "instruction") -> dict[str, Any] | None:
    """What was stored; None when it was refused."""
    try:
        return await memories.call_tool("memory_store", {"type": kind, "content": text}, session=session)
    except InvalidNote:
        return None


def broken_out(markdown: str, entries: int) -> list[str]:
    """The lines of a brief that are neither its own nor entries, and whatever else is wrong with it."""
    lines = markdown.split("\n")
    wrong = [line for line in lines if line not in HEADINGS and not ENTRY.fullmatch(line)]
    wrong += [line for line in lines if re.search(r"\]\(|\]\[|\]:", line.partition("] ")[2])]
    if sum(line.startswith("- [") for line in lines) != entries:
        wrong.append("there are more or fewer lines than entries")
    return wrong + ([] if cleaned(markdown) == markdown else ["something in it cannot be seen"])


def test_there_are_enough_of_them() -> None:
    assert len(set(NOTES)) + len(set(QUERIES)) + len(FORGED) >= 150


async def test_no_note_breaks_out_of_where_it_is_shown(memories: Memories) -> None:
    kept = 0
    for number, text in enumerate(NOTES):
        told = await stored(memories, text, f"s{number}", "instruction" if number % 2 else "fact")
        if told is None:
            continue
        kept += 1
        group = f"g{number}"
        again = await memories.call_tool("memory_store", {"type": "fact", "content": text}, session=group, group=group)
        assert (again["session_id"], again["group"], again["behavioral"]) == (group, group, False)
        await memories.call_tool("memory_delete", {"id": again["id"]}, session=f"d{number}", group=group)
        (entry,) = (
            each
            for each in (await memories.call_tool("memory_search", {"limit": 100}))["results"]
            if each["id"] == told["id"]
        )
        assert cleaned(entry["content"]) == entry["content"]
        assert json.loads(json.dumps(entry)) == entry
        brief = await memories.call_tool("memory_brief", {})
        assert all("\n" not in each["content"] for each in brief["entries"])
        assert broken_out(await memories.brief(), brief["brief_count"]) == []
        fetched = await memories.call_tool("fetch", {"id": told["id"]})
        assert fetched["text"].startswith(SUGGESTIONS) is told["behavioral"]
        await memories.call_tool("memory_delete", {"id": told["id"]}, session=f"d{number}")
    assert kept > 70


async def test_all_of_them_at_once_make_a_brief_of_entries_only(memories: Memories) -> None:
    for number, text in enumerate(NOTES):
        await stored(memories, text[:150], f"s{number}")
    brief = await memories.call_tool("memory_brief", {})
    assert brief["brief_count"] > 30
    assert broken_out(await memories.brief(), brief["brief_count"]) == []


async def test_no_query_is_more_than_words(memories: Memories) -> None:
    await stored(memories, "tea", "s1", "fact")
    for query in (*QUERIES, *(each[:500] for each in NOTES)):
        try:
            found = await memories.call_tool("memory_search", {"query": query})
        except InvalidNote:
            assert "\x00" in query or "\ud83c" in query
        else:
            assert {each["content"] for each in found["results"]} <= {"tea"}


async def test_nobody_sets_what_is_recorded(memories: Memories) -> None:
    for forged in FORGED:
        with pytest.raises(InvalidNote, match="not for the caller to set"):
            await memories.call_tool("memory_store", {"type": "fact", "content": "x", **forged}, session="s1")
    assert (await memories.call_tool("memory_search", {}))["results"] == []


async def test_no_tag_is_more_than_a_word(memories: Memories) -> None:
    kept = 0
    for number, text in enumerate(NOTES):
        asked = {"type": "fact", "content": "x", "tags": [text[:50]]}
        try:
            told = await memories.call_tool("memory_store", asked, session=f"s{number}")
        except InvalidNote:
            continue
        (tag,) = told["tags"]
        assert "\n" not in tag
        assert cleaned(tag) == tag
        found = await memories.call_tool("memory_search", {"tags": [tag], "limit": 100})
        assert told["id"] in {each["id"] for each in found["results"]}
        kept += 1
    assert kept > 70


@pytest.mark.parametrize("missing", ["_inert", "on_one_line", "cleaned"])
async def test_a_step_that_is_left_out_is_noticed(
    memories: Memories, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(rules, missing, lambda text: text)
    flaws = []
    for number, text in enumerate(NOTES):
        if await stored(memories, text, f"s{number}"):
            count = (await memories.call_tool("memory_brief", {}))["brief_count"]
            flaws += broken_out(await memories.brief(), count)
    assert flaws
