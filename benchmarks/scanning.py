"""`python -m benchmarks.scanning`: how long a scan of 2 KB takes, and what it finds in plain talk."""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from tests.scanning import benign
from tests.scanning.corpus import PERSONAL, SECRETS, TEMPLATES

from recollect.domain.scanning import redacted, scan

SIZE = 2_048


def pieces(chance: Random, count: int, planted: bool) -> Iterator[str]:
    """Texts of 2 KB made of plain lines; with a secret and something personal in each, when planted."""
    for _ in range(count):
        lines = [benign.line(chance)]
        if planted:
            lines += [
                chance.choice(TEMPLATES).format(chance.choice([*drawn.values()])(chance))
                for drawn in (SECRETS, PERSONAL)
            ]
        while sum(map(len, lines)) + len(lines) < SIZE:
            lines.insert(chance.randrange(len(lines) + 1), benign.line(chance))
        yield "\n".join(lines)[:SIZE]


def timed(texts: Sequence[str]) -> str:
    """The median, the 99th percentile and the worst, in milliseconds of this thread: a scan waits for nothing."""
    taken = []
    for text in texts:
        began = thread_time()
        scan(text)
        taken.append((thread_time() - began) * 1_000)
    taken.sort()
    return f"median {median(taken):.2f} ms, p99 {taken[int(len(taken) * 0.99)]:.2f} ms, worst {taken[-1]:.2f} ms"


def texts_in(path: Path) -> list[str]:
    """Every line of every text in a file of JSON, once."""
    found: dict[str, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.update(dict.fromkeys(each for each in value.split("\n") if len(each) > 15))
        elif isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                walk(each)

    with gzip.open(path) as file:
        walk(json.load(file))
    return list(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="how many texts of 2 KB")
    parser.add_argument("--lines", type=Path, nargs="*", default=[], help="files of gzipped JSON with plain talk")
    parser.add_argument("--most", type=int, default=20_000, help="how many lines of each file")
    asked = parser.parse_args(arguments)
    chance = Random(1)
    print("plain:  ", timed(list(pieces(chance, asked.count, planted=False))))
    print("planted:", timed(list(pieces(chance, asked.count, planted=True))))
    began = perf_counter()
    for text in pieces(chance, asked.count, planted=True):
        redacted(text)
    print(f"redacted: {(perf_counter() - began) / asked.count * 1_000:.2f} ms on average, drawing included")
    for path in asked.lines:
        lines = texts_in(path)
        chosen = chance.sample(lines, min(asked.most, len(lines)))
        found = [scan(each) for each in chosen]
        kinds = Counter(finding.kind for each in found for finding in each)
        print(f"{path.name}: {sum(map(bool, found))} of {len(chosen)} lines have a find: {dict(kinds)}")


if __name__ == "__main__":
    main()
