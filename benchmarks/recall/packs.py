"""`python -m benchmarks.recall.packs --data DIR`: is what answers a question in the pack that a conversation gives?

Each conversation of LoCoMo is had turn by turn, one speaker as the user and the other as the persona. Then every
question is asked of `conversation_context`, and it is looked up which of the turns that answer it are in the pack, in
their own words or as a record that was made from them. Beside it, plain search finds turns among the same words, as
many as fit into the same budget by the same counter, without any marks around them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import recollect
from benchmarks.machine import machine_facts
from benchmarks.recall.cached import Remembering
from benchmarks.recall.data import APART, LOCOMO, Conversation, Turn, conversations
from benchmarks.recall.records import moments
from recollect.config import Settings
from recollect.domain.compiling.counting import CHARS
from recollect.domain.instants import Instant, after_seconds
from recollect.service.views import PutOp
from recollect.sync import MemoriesSync

RESULTS = Path(__file__).parent.parent / "results"
TEMPLATES = ("conversation", "evidence")
SEARCH = "search of the same words"
BUDGET = 1_200
DEPTH = 100
_DAY = 86_400
_PLAIN = ("plain",)
ALL = "all"
Shares = dict[tuple[str, str], list[float]]
"""Which share of its evidence each question got, by subject and category."""


class Had:
    """A conversation that was had, and which turns each entry of a pack stands for."""

    def __init__(self, memories: MemoriesSync, conversation: Conversation) -> None:
        self.memories, self.conversation = memories, conversation
        self._words: dict[str, str] = {}
        self._captured: dict[str, str] = {}
        self._have()
        self._records = dict(self._made_from())

    def in_pack(self, question: str, template: str, budget: int, form: str) -> set[str]:
        """The turns that are in a pack."""
        pack = self.memories.conversation_context(question, template=template, budget=budget, form=form)["pack"]
        entries = [each for block in pack["blocks"] for each in block["entries"]]
        return {turn for each in entries for turn in self._turns_of(each)}

    def in_search(self, question: str, budget: int) -> set[str]:
        """The turns that plain search finds, the best first, as many as there is room for."""
        found: set[str] = set()
        left = budget
        texts = {each.id: each.text for each in self.conversation.turns}
        for item in self.memories.search(_PLAIN, query=question, limit=DEPTH):
            left -= CHARS(f"{texts[item.key]}\n")
            if left < 0:
                break
            found.add(item.key)
        return found

    def _have(self) -> None:
        user = self.conversation.turns[0].speaker
        at = Instant(0)
        for turns, said in _pairs(self.conversation.turns, moments(self.conversation.turns), user):
            at = max(at, said)
            words = {("user" if each.speaker == user else "ai"): each for each in turns}
            told = self.memories.converse(
                **{side: each.text for side, each in words.items()},
                at=datetime.fromtimestamp(at / 1_000_000, UTC),
            )
            sides = [words[side] for side in ("user", "ai") if side in words]
            self._words |= {f"message:{told['number']}:{side}": each.id for side, each in words.items()}
            self._captured |= {capture: each.id for capture, each in zip(told["captures"], sides, strict=True)}
        puts = [PutOp(_PLAIN, each.id, {"text": each.text}) for each in self.conversation.turns]
        for start in range(0, len(puts), 500):
            self.memories.batch(puts[start : start + 500])

    def _made_from(self) -> Iterator[tuple[str, set[str]]]:
        """The turns that each record was made from."""
        cursor: str | None = None
        while True:
            page = self.memories.list_records(limit=200, cursor=cursor)
            for each in page["records"]:
                yield each["id"], {self._captured[name] for name in each["captures"] if name in self._captured}
            cursor = page["cursor"]
            if cursor is None:
                return

    def _turns_of(self, entry: dict[str, Any]) -> set[str]:
        if entry["id"] in self._words:
            return {self._words[entry["id"]]}
        named = [entry["id"], *entry["provenance"]]
        return set().union(*(self._records.get(each, set()) for each in named))

    @property
    def remembered(self) -> int:
        """How many records there are."""
        return len(self._records)


def _pairs(turns: Sequence[Turn], said: Sequence[Instant], user: str) -> Iterator[tuple[list[Turn], Instant]]:
    """Turns as an agent has them: what the user says, and the answer where one follows in the same session."""
    at = 0
    while at < len(turns):
        first = turns[at]
        answered = (
            first.speaker == user
            and at + 1 < len(turns)
            and turns[at + 1].speaker != user
            and turns[at + 1].session == first.session
        )
        yield list(turns[at : at + 1 + answered]), said[at]
        at += 1 + answered


@contextmanager
def had(folder: Path, cache: Path | None, conversation: Conversation) -> Iterator[Had]:
    """A conversation on the day after it ended."""
    asked_at = after_seconds(max(moments(conversation.turns)), _DAY)
    with recollect.open_sync(folder, settings=Settings(), clock=lambda: asked_at) as memories:
        embedders = memories._memories.workings.indexing.embedders
        if cache is not None and embedders.configured is not None:
            embedders.configured = Remembering(embedders.configured, cache)
        yield Had(memories, conversation)


def asked(held: Had, budget: int, found: Shares) -> None:
    """Ask everything, and keep which share of the evidence each subject gave."""
    for question in held.conversation.questions:
        given = {
            f"{name}, {form}": held.in_pack(question.text, name, budget, form)
            for name in TEMPLATES
            for form in ("json", "markdown")
        }
        given[SEARCH] = held.in_search(question.text, budget)
        for subject, turns in given.items():
            share = len(turns & question.turns) / len(question.turns)
            for category in (question.category, *(() if question.category in APART else (ALL,))):
                found.setdefault((subject, category), []).append(share)


def rows(found: Shares) -> list[dict[str, object]]:
    """The figures, for programs."""
    return [
        {
            "subject": subject,
            "category": category,
            "questions": len(shares),
            "evidence": round(sum(shares) / len(shares), 4),
            "all of it": round(sum(each == 1 for each in shares) / len(shares), 4),
        }
        for (subject, category), shares in sorted(found.items(), key=lambda each: (each[0][1] != ALL, each[0][1]))
    ]


def table(figures: Sequence[dict[str, object]]) -> str:
    """The figures as Markdown."""
    lines = ["| category | n | subject | evidence in it | all of it |", "|---|---|---|---|---|"]
    for each in figures:
        cells = [each[name] for name in ("category", "questions", "subject", "evidence", "all of it")]
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.packs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with locomo*.json")
    parser.add_argument("--cache", type=Path, help="a file that remembers what the model made, for the next run")
    parser.add_argument("--most", type=int, help="so many conversations")
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens of a pack")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON is left")
    given = parser.parse_args(arguments)
    began, found, sizes = monotonic(), Shares(), list[dict[str, object]]()
    with tempfile.TemporaryDirectory(prefix="recollect-packs-") as made:
        machine = machine_facts(Path(made))
        for number, conversation in enumerate(conversations(given.data, given.most, LOCOMO)):
            with had(Path(made) / str(number), given.cache, conversation) as held:
                asked(held, given.budget, found)
                sizes.append({"name": conversation.name, "turns": len(conversation.turns), "records": held.remembered})
            print(f"[{monotonic() - began:6.1f} s] {sizes[-1]}", file=sys.stderr, flush=True)
    figures = rows(found)
    print(table(figures))
    given.results.mkdir(parents=True, exist_ok=True)
    told = {"machine": machine, "budget": given.budget, "conversations": sizes, "figures": figures}
    (given.results / "packs.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
