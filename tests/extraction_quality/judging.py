"""What the extraction is judged by: statements of real conversations, and how somebody who read them found each.

The conversations are not part of the project, so that a label knows its statement by a digest alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.recall.data import LOCOMO, LONGMEMEVAL, Conversation, conversations

from recollect.domain.governance.keys import dedup_key, normalised
from recollect.domain.statements import Statement, statements_in

GOOD, JUNK = "good", "junk"
SIMILAR = 0.8
SETTING = "RECOLLECT_BENCHMARK_DATA"
_BESIDE = Path(__file__).parents[3] / "shared" / "data"
_LABELS = Path(__file__).parent / "labels.json"


class Extracted(NamedTuple):
    """A statement, and the turn that it was found in."""

    conversation: str
    turn: str
    statement: Statement

    @property
    def digest(self) -> str:
        """What a label knows it by."""
        return sha256(f"{self.conversation}\n{self.turn}\n{self.statement.text}".encode()).hexdigest()


def _data(pattern: str) -> Path:
    """The folder with the benchmarks' conversations; the test is skipped where it is not there."""
    folder = Path(os.environ.get(SETTING) or _BESIDE)
    if not any(folder.glob(pattern)):
        pytest.skip(f"the conversations of the recall benchmark are not here; name their folder in {SETTING}")
    return folder


def between_people() -> list[Conversation]:
    """The conversations of LoCoMo, read as the recall benchmark reads them."""
    return list(conversations(_data("locomo*.json*"), only=LOCOMO))


def with_assistants() -> Iterator[Extracted]:
    """What the rules find in what users say to assistants in LongMemEval-S, every session once."""
    seen: set[tuple[str, str]] = set()
    for conversation in conversations(_data("longmemeval*.json*"), only=LONGMEMEVAL):
        for turn in conversation.turns:
            place = (turn.session.rpartition("#")[0], turn.id.rpartition(":")[2])
            if turn.speaker == "user" and place not in seen:
                seen.add(place)
                yield from (Extracted(*place, each) for each in statements_in(turn.text, "user:u"))


def labels(benchmark: str) -> dict[str, str]:
    """How each statement of a benchmark was found by its reader, by digest."""
    found: dict[str, dict[str, str]] = json.loads(_LABELS.read_text())
    return found[benchmark]


def extracted(conversation: Conversation) -> Iterator[Extracted]:
    """What the rules find in a conversation between two people, each of whom speaks for themselves."""
    for turn in conversation.turns:
        for statement in statements_in(_said(turn.text), f"person:{turn.speaker.lower()}"):
            yield Extracted(conversation.name, turn.id, statement)


def _said(text: str) -> str:
    """What was said in a turn, without the caption of the picture that was shown with it."""
    return text[: text.rindex(" [")] if text.endswith("]") and " [" in text else text


def junk_among(found: Iterable[Extracted], labelled: dict[str, str]) -> tuple[int, int]:
    """How many of the labelled statements were found, and how many of those are junk."""
    known = {each.digest: labelled[each.digest] for each in found if each.digest in labelled}
    return len(known), sum(label == JUNK for label in known.values())


def kept(found: Iterable[Statement]) -> list[Statement]:
    """What remains when of all that have one key the first is kept."""
    first: dict[tuple[str, str], Statement] = {}
    for each in found:
        first.setdefault((each.entity, dedup_key(each.event_type, each.text)), each)
    return list(first.values())


def near_duplicates(statements: list[Statement]) -> int:
    """How many say nearly the same of one entity, with one predicate, as one before them."""
    count = 0
    for place, each in enumerate(statements):
        words = set(normalised(each.text).split())
        count += any(
            (each.entity, each.predicate) == (other.entity, other.predicate)
            and _overlap(words, set(normalised(other.text).split())) >= SIMILAR
            for other in statements[:place]
        )
    return count


def _overlap(some: set[str], others: set[str]) -> float:
    """The share of words that two texts have in common."""
    return len(some & others) / (len(some | others) or 1)
