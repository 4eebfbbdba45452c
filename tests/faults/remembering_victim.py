"""A program that captures and remembers until it is killed, and says on its output what was acknowledged."""

from __future__ import annotations

import sys

import recollect
from recollect import Settings


def run(home: str, start: int) -> None:
    """Capture one statement after another; every other one is looked into later."""
    with recollect.open_sync(home, settings=Settings(embedder="hashing")) as memories:
        number = start
        while True:
            number += 1
            later = number % 2 == 0
            memories.capture([{"text": f"I prefer thing number {number}."}], remember="later" if later else "now")
            print(number, flush=True)
            if number % 6 == 0:
                memories.remember_pending()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
