"""Whatever the scope, filter, mode and query: the answer is that of an exact search of exactly that scope."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.search.plain import SETTINGS, Memory, Question, flaws_in
from tests.sizes import sized

import recollect
from recollect import Memories
from recollect.config import Settings
from recollect.domain.instants import instant_of
from recollect.domain.reasons import EventKind
from recollect.domain.rows import Item
from recollect.testing.doubles import ManualClock

SEGMENTS = ("a", "ab", "A", "%", "_", "\x1e", "é", "日", ".")
VOCABULARY = [
    "tea",
    "coffee",
    "sugar",
    "garden",
    "indentation",
    "whitespace",
    "python",
    "tabs",
    "spaces",
    "river",
    "mountain",
    "blue",
    "green",
    "red",
    "seven",
    "eight",
    "Zürich",
    "東京",
    "naïve",
    "O'Brien",
    "running",
    "walked",
    "houses",
    "invoice",
    "deadline",
    "2024",
    "the",
    "of",
    "and",
    "what",
]
LABELS = ("x", "y", "z")
START = 120
MOST = 200
EACH_CHANGE = 10
"""So many questions are asked between two changes."""
Search = Callable[[Memories, Question], Awaitable[list[Item]]]


async def ask(memories: Memories, asked: Question) -> list[Item]:
    found = await memories.search(
        asked.within,
        query=asked.query,
        filter=asked.filter,
        mode=asked.mode,
        archived=asked.archived,
        limit=asked.limit,
        offset=asked.offset,
    )
    return list(found)


class World:
    """Memories, and what their writer remembers of them."""

    def __init__(self, memories: Memories, clock: ManualClock, chance: random.Random) -> None:
        self.memories = memories
        self.known: dict[tuple[tuple[str, ...], str], Memory] = {}
        self._clock = clock
        self._chance = chance

    @property
    def live(self) -> list[Memory]:
        return list(self.known.values())

    async def change(self) -> None:
        """Write, update, delete, archive, relabel by writing anew, or let time pass."""
        chance = self._chance
        self._clock.advance(1)
        kind = chance.random()
        if kind < 0.6 or len(self.known) < START // 2:
            await self.put(self._place(), f"k{chance.randrange(12)}")
        elif kind < 0.75 or len(self.known) > MOST:
            place, key = chance.choice(list(self.known))
            await self.memories.delete(place, key)
            del self.known[place, key]
        elif kind < 0.9:
            await self.archive(*chance.choice(list(self.known)))
        else:
            self._clock.advance(20)
            self.known = {at: each for at, each in self.known.items() if not _is_over(each, self._clock())}

    async def put(self, place: tuple[str, ...], key: str) -> None:
        value, attributes, fields = self._value(), self._attributes(), self._chance.choice((None,) * 8 + ([], ["text"]))
        ttl = self._chance.choice((None, None, None, 15.0))
        before = self.known.get((place, key))
        if before is not None and _is_over(before, self._clock()):
            before = None
        done = await self.memories.put(
            place,
            key,
            value,
            policy_attributes=attributes,
            index_fields=fields,
            ttl=None if ttl is None else timedelta(seconds=ttl),
        )
        assert done.id is not None
        assert done.created_at is not None
        assert done.kind is (EventKind.ADD if before is None else EventKind.UPDATE)
        expires_at = None if done.expires_at is None else instant_of(done.expires_at)
        kept = None if fields is None else "[]" if not fields else '["text"]'
        self.known[place, key] = Memory(
            done.id.bytes, place, key, value, attributes, instant_of(done.created_at), False, expires_at, kept
        )

    async def archive(self, place: tuple[str, ...], key: str) -> None:
        before = self.known[place, key]
        if _is_over(before, self._clock()):
            return
        done = await self.memories.archive(place, key, archived=not before.archived)
        assert done.id is not None
        changed = {"id": done.id.bytes, "archived": not before.archived}
        self.known[place, key] = Memory(**{**_fields(before), **changed})

    def question(self) -> Question:
        chance = self._chance
        somewhere = chance.choice(list(self.known))[0]
        within = chance.choice(((), (), somewhere[:1], somewhere[:1], somewhere[:2], somewhere, self._place()))
        query = " ".join(chance.choices(VOCABULARY, k=chance.choice((1, 1, 2, 3, 6))))
        return Question(
            within,
            query,
            chance.choice(("lexical", "semantic", "hybrid")),
            chance.choice((None, None, *_filters(chance))),
            chance.choice(("exclude", "exclude", "include", "only")),
            chance.choice((1, 3, 10, 10, 100, 500)),
            chance.choice((0, 0, 0, 2, 15)),
        )

    def _place(self) -> tuple[str, ...]:
        return tuple(self._chance.choices(SEGMENTS, k=self._chance.choice((1, 1, 2, 3))))

    def _value(self) -> dict[str, Any]:
        chance = self._chance

        def text() -> str:
            return " ".join(chance.choices(VOCABULARY, k=chance.choice((1, 3, 5, 12))))

        value: dict[str, Any] = {"text": text(), "n": chance.randrange(5)}
        match chance.randrange(5):
            case 0:
                value["notes"] = [{"text": text()} for _ in range(chance.randrange(4))]
            case 1:
                value["long"] = ". ".join(text() for _ in range(200))
            case 2:
                return {"n": 1}
        return value

    def _attributes(self) -> dict[str, Any]:
        chance = self._chance
        attributes: dict[str, Any] = {"label": chance.choice(LABELS), "rank": chance.randrange(5)}
        if chance.random() < 0.3:
            attributes["tags"] = chance.sample(LABELS, 2)
        return attributes


def _fields(each: Memory) -> dict[str, Any]:
    return {name: getattr(each, name) for name in Memory.__dataclass_fields__}


def _is_over(each: Memory, now: int) -> bool:
    return each.expires_at is not None and now >= each.expires_at


def _filters(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"label": chance.choice(LABELS)},
        {"label": {"in": list(LABELS[:2])}},
        {"rank": {"gte": chance.randrange(5)}},
        {"tags": chance.choice(LABELS)},
        {"tags": {"$exists": False}, "rank": {"lt": 3}},
        {"label": {"$ne": "x"}, "rank": chance.randrange(5)},
        {"nothing": 1},
    ]


async def asked_often(
    path: str | Path, count: int, search: Search = ask, *, most: int = 10**9, settings: Settings = SETTINGS
) -> tuple[list[str], int]:
    """Ask so many questions of a changing world; return what was wrong, and how many hits there were."""
    chance, clock = random.Random(count), ManualClock()
    flaws: list[str] = []
    hits = 0
    async with recollect.open(path, settings=settings, clock=clock) as memories:
        world = World(memories, clock, chance)
        for _ in range(START):
            await world.change()
        for number in range(count):
            if number % EACH_CHANGE == 0:
                await world.change()
            asked = world.question()
            found = await search(memories, asked)
            hits += len(found)
            flaws += [f"{asked}: {flaw}" for flaw in flaws_in(found, world.live, asked, clock())]
            if len(flaws) >= most:
                break
    return flaws, hits


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
@sized(300, 10_000)
async def test_the_answer_is_that_of_an_exact_search_of_the_scope(count: int, backend: str, tmp_path: Path) -> None:
    began = time.perf_counter()
    flaws, hits = await asked_often(":memory:" if backend == "memory" else tmp_path, count, most=5)
    print(f"filtered: {count} cases on {backend}, {hits} hits, {time.perf_counter() - began:.0f} s")
    assert flaws == []
    assert hits > count


async def filtered_afterwards(memories: Memories, asked: Question) -> list[Item]:
    """What a search returns that ranks first and filters then."""
    everything = Question(asked.within, asked.query, asked.mode, None, asked.archived, asked.limit, asked.offset)
    right = {hit.id for hit in await ask(memories, asked)}
    return [hit for hit in await ask(memories, everything) if hit.id in right]


async def scored_by_everything(memories: Memories, asked: Question) -> list[Item]:
    """What a search returns whose statistics are those of all that there is."""
    wide = Question((), asked.query, asked.mode, asked.filter, asked.archived, 900)
    inside = [hit for hit in await ask(memories, wide) if hit.namespace[: len(asked.within)] == asked.within]
    return inside[asked.offset : asked.offset + asked.limit]


async def beside_the_scope(memories: Memories, asked: Question) -> list[Item]:
    """What a search returns that takes a prefix of the text for the namespace."""
    hits = await ask(memories, asked)
    wide = Question((), asked.query, asked.mode, asked.filter, asked.archived, asked.limit)
    joined = "/".join(asked.within)
    more = [hit for hit in await ask(memories, wide) if "/".join(hit.namespace).startswith(joined)]
    known = {hit.id for hit in hits}
    return sorted([*hits, *(hit for hit in more if hit.id not in known)], key=lambda hit: -(hit.score or 0))


@pytest.mark.parametrize("planted", [filtered_afterwards, scored_by_everything, beside_the_scope])
async def test_the_harness_finds_a_search_that_is_not_exact(planted: Search) -> None:
    flaws, _ = await asked_often(":memory:", 300, planted, most=1)
    assert flaws
