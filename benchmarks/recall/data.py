"""The benchmarks as conversations: turns in sessions, and questions with the turns that answer them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOCOMO, LONGMEMEVAL = "LoCoMo", "LongMemEval-S"
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
APART = ("adversarial", "abstention")
"""Categories that are reported apart, and have no part in the overall figures."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said, and when."""

    id: str
    session: str
    speaker: str
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, what kind it is of, and which turns and sessions answer it."""

    text: str
    category: str
    turns: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in their order, and questions about them."""

    benchmark: str
    name: str
    turns: list[Turn] = field(repr=False)
    questions: list[Question] = field(repr=False)


def conversations(folder: Path, most: int | None = None, only: str | None = None) -> Iterator[Conversation]:
    """Every conversation of the files that are there, or of one benchmark only; at most so many of each."""
    for benchmark, pattern, read in (
        (LOCOMO, "locomo*.json*", _locomo),
        (LONGMEMEVAL, "longmemeval*.json*", _longmemeval),
    ):
        for path in sorted(folder.glob(pattern)) if only in (None, benchmark) else ():
            for number, said in enumerate(_loaded(path)):
                if most is None or number < most:
                    yield read(said)


def _loaded(path: Path) -> list[dict[str, Any]]:
    contents = path.read_bytes()
    found: list[dict[str, Any]] = json.loads(gzip.decompress(contents) if path.suffix == ".gz" else contents)
    return found


def _locomo(said: dict[str, Any]) -> Conversation:
    talk = said["conversation"]
    turns = []
    for name in sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])):
        for turn in talk[name]:
            shown = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = turn["text"] + shown
            turns.append(Turn(turn["dia_id"], name, turn["speaker"], talk[f"{name}_date_time"], text))
    known = {turn.id: turn.session for turn in turns}
    questions = []
    for asked in said["qa"]:
        wanted = {f"D{a}:{b}" for each in asked.get("evidence", ()) for a, b in _EVIDENCE.findall(each)} & known.keys()
        if wanted:
            sessions = frozenset(known[each] for each in wanted)
            questions.append(Question(asked["question"], _CATEGORIES[asked["category"]], frozenset(wanted), sessions))
    return Conversation(LOCOMO, said["sample_id"], turns, questions)


def _longmemeval(said: dict[str, Any]) -> Conversation:
    turns: list[Turn] = []
    answers: set[str] = set()
    names: list[str] = []
    for number, (session, date, talk) in enumerate(
        zip(said["haystack_session_ids"], said["haystack_dates"], said["haystack_sessions"], strict=True)
    ):
        name = f"{session}#{number}"  # a session may be there twice
        names.append(name)
        for place, turn in enumerate(talk):
            turns.append(Turn(f"{number}:{place}", name, turn["role"], date, turn["content"]))
            if turn.get("has_answer"):
                answers.add(turns[-1].id)
    wanted = frozenset(name for name in names if name.split("#")[0] in said["answer_session_ids"])
    category = "abstention" if said["question_id"].endswith("_abs") else said["question_type"]
    return Conversation(
        LONGMEMEVAL,
        said["question_id"],
        turns,
        [Question(said["question"], category, frozenset(answers), wanted)],
    )
