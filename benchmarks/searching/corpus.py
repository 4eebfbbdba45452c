"""What is stored and asked: memories of real prose, in the namespaces of users and of their teams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent.parent / "docs"
SHORT, LONG = 26, 110
"""Words of a text: about 35 and about 150 tokens of a model."""
_ASKED = 6
_SESSIONS = 10


class Memory(NamedTuple):
    """One item, with the text that both sides embed."""

    namespace: tuple[str, ...]
    key: str
    text: str


class Query(NamedTuple):
    """A question, and where it is asked."""

    prefix: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Layout:
    """So many memories: of users who have so many each, in teams that have so many each."""

    size: int
    user: int = 1_000
    team: int = 100_000

    @property
    def in_user(self) -> int:
        """How many memories a user's subtree has."""
        return min(self.user, self.size)

    @property
    def in_team(self) -> int:
        """How many memories the first team has: the whole tenant, until there are more than one."""
        return min(self.team, self.size)

    def home(self, number: int) -> tuple[str, ...]:
        """The subtree of the user who has the memory of that number."""
        return "team", f"t{number // self.team:03d}", f"u{number // self.user:05d}"

    def memory(self, number: int) -> Memory:
        """The memory of that number, in one of its user's sessions."""
        session = number % self.user * _SESSIONS // self.user
        return Memory((*self.home(number), f"s{session}"), f"m{number:07d}", text_of(number, SHORT))

    def memories(self, start: int, count: int) -> list[Memory]:
        """So many memories, from that number on."""
        return [self.memory(number) for number in range(start, min(start + count, self.size))]

    def of_users(self, count: int, seed: int, users: int, skipped: int = 0) -> list[Query]:
        """Questions to the subtrees of so many users of the first team, by turns, after some that are left out."""
        there = max(1, self.in_team // self.user)
        found = []
        for number in range(count):
            first = (skipped + number % users) % there * self.user
            about = first + random.Random(f"{seed} {number}").randrange(self.in_user)
            found.append(Query(self.home(first), question(about, seed, number)))
        return found

    def of_team(self, count: int, seed: int) -> list[Query]:
        """Questions to all that the first team has."""
        abouts = [random.Random(f"{seed} {number}").randrange(self.in_team) for number in range(count)]
        return [Query(("team", "t000"), question(about, seed, number)) for number, about in enumerate(abouts)]


def text_of(number: int, words: int) -> str:
    """The text of that number: two stretches of prose, because there is less prose than there are memories."""
    prose, chance, half = _prose(), random.Random(number), words // 2
    places = [chance.randrange(len(prose) - half) for _ in range(2)]
    return " ".join(word for place in places for word in prose[place : place + half])


def question(about: int, seed: int, number: int) -> str:
    """A few words in a row of the text of that number. No question is asked twice, so that no answer is remembered."""
    words: Sequence[str] = text_of(about, SHORT).split()
    start = random.Random(f"{seed} {number}").randrange(len(words) - _ASKED)
    return f"{' '.join(words[start : start + _ASKED])} q{seed}x{number}"


@cache
def _prose() -> list[str]:
    """The words of the documentation that comes with Python, and of our own, in the order of their texts."""
    from pydoc_data.topics import topics

    own = [page.read_text() for page in sorted(DOCS.rglob("*.md"))]
    return " ".join([*(topics[name] for name in sorted(topics)), *own]).split()
