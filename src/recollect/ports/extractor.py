"""The extractor: what finds in a passage the statements that may be worth remembering, as promises that each keeps.

X1   A statement rests on the passage alone; an extractor is told nothing that is remembered.
X2   With the answer that was recorded of an earlier run, the same statements are found again, and nobody is asked.
X3   It ends within its time, however slow whatever it asks may be, and asks a bounded number of times.
X4   It never fails: where whatever it asks cannot be relied on, the rules find what they find, and it says why.
X5   Nothing it says of itself (trouble, names) holds anything of the passage or of a credential.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from recollect.domain.governance.terms import Source
from recollect.domain.instants import Instant
from recollect.domain.statements import Statement


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Words to look into, and whose they are."""

    text: str
    source: Source
    subject: str
    """The entity that says `I`, as `<type>:<id>`."""
    at: Instant


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, by whom, and what has to be kept for it to be found again."""

    statements: tuple[Statement, ...]
    by: str
    """The extractor that found them: `rules`, or `llm:` and the name of the model."""
    answer: str | None = None
    """What was answered, or why the rules stood in, as it can be given to a later run; else None."""
    trouble: str | None = None
    """Why the rules stood in, as one of a few words; None when they did not have to."""
    tokens: int = 0
    """What it cost."""


class Extractor(ABC):
    """Finds statements. The module's docstring has the promises."""

    name: str
    asks: bool = False
    """Whether it asks somebody else, so that it may take seconds."""

    @abstractmethod
    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """The statements in a passage; from the recorded answer, where there is one (X1 to X5). It may block."""

    def close(self) -> None:  # noqa: B027 - not every extractor holds something
        """Let go of everything."""
