"""`python -m benchmarks.recall --data DIR`: store, ask every question, and leave the figures by category."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from benchmarks.machine import machine_facts
from benchmarks.recall.data import APART, conversations
from benchmarks.recall.metrics import Figures, figures_of, interval, mean
from benchmarks.recall.records import RANKERS, ask_recall, opened_with
from benchmarks.recall.subjects import MODES, LangGraphStore, PlainBm25, ask, embedder_of, opened, store

RESULTS = Path(__file__).parent.parent / "results"
Asked = dict[tuple[str, str, str], list[Figures]]
"""Figures of questions, by benchmark, subject and category."""
ALL = "all"
_SHOWN = {
    "LoCoMo": ("R@5", "R@10", "R@20", "nDCG@10", "MRR"),
    "LongMemEval-S": ("R@10", "nDCG@10", "sessions any@5", "sessions all@5", "sessions all@10", "sessions MRR"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with locomo*.json and longmemeval*.json")
    parser.add_argument("--cache", type=Path, help="a file that remembers what the model made, for the next run")
    parser.add_argument("--most", type=int, help="so many conversations of each benchmark")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th conversation")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="of these, beginning with the K-th, from 0")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON is left")
    asked = parser.parse_args(arguments)
    began, found = monotonic(), Asked()
    with tempfile.TemporaryDirectory(prefix="recollect-recall-") as made:
        machine = machine_facts(Path(made))
        for number, conversation in enumerate(conversations(asked.data, asked.most)):
            if number % asked.every != asked.first:
                continue
            with (
                opened(Path(made) / str(number), asked.cache) as memories,
                opened_with(Path(made) / f"{number}-records", asked.cache, conversation) as records,
            ):
                store(memories, conversation)
                peers = (PlainBm25(conversation.turns), LangGraphStore(conversation.turns, embedder_of(memories)))
                for question in conversation.questions:
                    rankings = {mode: ask(memories, conversation, question.text, mode) for mode in MODES}
                    rankings |= {peer.name: peer.ask(question.text) for peer in peers}
                    rankings |= {
                        f"recall, {ranker}": ask_recall(records, conversation, question.text, ranker)
                        for ranker in RANKERS
                    }
                    for subject, ranking in rankings.items():
                        figures = figures_of(question, ranking)
                        for category in (question.category, *(() if question.category in APART else (ALL,))):
                            found.setdefault((conversation.benchmark, subject, category), []).append(figures)
            told = f"{conversation.benchmark} {conversation.name}: {len(conversation.questions)} questions"
            print(f"[{monotonic() - began:6.1f} s] {told}", file=sys.stderr, flush=True)
    print(table(found))
    asked.results.mkdir(parents=True, exist_ok=True)
    (asked.results / "recall.json").write_text(
        json.dumps({"machine": machine, "figures": summed(found)}, indent=1) + "\n"
    )
    return 0


def summed(found: Asked) -> list[dict[str, object]]:
    """Means and intervals, for who reads them with a program."""
    rows: list[dict[str, object]] = []
    for (benchmark, subject, category), figures in found.items():
        names = sorted({name for each in figures for name in each})
        means = {name: round(mean(figures, name), 4) for name in names}
        between = {name: [round(end, 4) for end in interval(figures, name)] for name in names}
        rows.append(
            {
                "benchmark": benchmark,
                "subject": subject,
                "category": category,
                "questions": len(figures),
                "mean": means,
                "interval": between,
            }
        )
    return rows


def table(found: Asked) -> str:
    """The figures as Markdown."""
    lines: list[str] = []
    for benchmark, names in _SHOWN.items():
        rows = {key[1:]: figures for key, figures in found.items() if key[0] == benchmark}
        if not rows:
            continue
        lines += ["", f"### {benchmark}", "", f"| category | n | subject | {' | '.join(names)} |"]
        lines.append("|---" * (len(names) + 3) + "|")
        for subject, category in sorted(rows, key=lambda row: (row[1] != ALL, row[1])):
            figures = rows[subject, category]
            cells = []
            for name in names:
                if not any(name in each for each in figures):
                    cells.append("–")
                    continue
                low, high = interval(figures, name)
                cells.append(f"{mean(figures, name):.3f} ({low:.3f}–{high:.3f})")
            lines.append(f"| {category} | {len(figures)} | {subject} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
