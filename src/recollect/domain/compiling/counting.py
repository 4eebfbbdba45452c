"""Counting: how many tokens a text is taken for, so that a budget means something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from recollect.domain.errors import InvalidQuery
from recollect.domain.text import shown

MAX_BUDGET = 1_000_000
PER_MESSAGE = 4
"""Tokens that a chat message takes beside its content, for its role and its marks."""


class Counter(Protocol):
    """Says how many tokens a text is: the same number for the same text, and never less than none."""

    @property
    def name(self) -> str:
        """What manifests call it."""

    def __call__(self, text: str) -> int:
        """The tokens of the text."""


@dataclass(frozen=True, slots=True)
class Named:
    """A counter made of a name and a function."""

    name: str
    count: Callable[[str], int]

    def __call__(self, text: str) -> int:
        """The tokens of the text."""
        return self.count(text)


def _characters(text: str) -> int:
    return -(-len(text) // 4)


def _words(text: str) -> int:
    return len(text.split())


CHARS = Named("chars", _characters)
"""A token for every four characters that were begun."""
WORDS = Named("words", _words)
"""A token for every word between white space."""
COUNTERS = MappingProxyType({each.name: each for each in (CHARS, WORDS)})


def counter_named(name: object) -> Counter:
    """The counter of that name."""
    found = COUNTERS.get(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidQuery(f"counter is one of {', '.join(COUNTERS)}, not {shown(name)}", field="counter")
    return found


def checked_budget(given: object) -> int:
    """The budget itself, refused when nobody could mean it."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_BUDGET:
        raise InvalidQuery(
            f"a budget is a whole number of tokens from 1 to {MAX_BUDGET:,}, not {shown(given)}", field="budget"
        )
    return given
