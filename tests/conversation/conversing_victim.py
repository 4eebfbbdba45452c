"""A program that talks and ends sessions until it is killed, and says on its output which it knows to be ended."""

from __future__ import annotations

import sys
import time

import recollect
from recollect import Settings
from recollect.backends.summarizing import ExtractiveSummarizer
from recollect.ports.summarizer import Summed, Told


class Slow(ExtractiveSummarizer):
    """Takes its time, so that many die while it does."""

    def session(self, told: Told) -> Summed:
        time.sleep(0.02)
        return super().session(told)


def run(home: str) -> None:
    """Take two turns, end the session, and again."""
    with recollect.open_sync(home, settings=Settings(embedder="hashing")) as memories:
        memories._memories.workings.summarizing.summarizer = Slow()
        while True:
            memories.converse("I want to run a marathon.", ai="You can do it.")
            said = memories.converse("I want to run a marathon.", ai="You can do it.")
            memories.close_session(said["session"]["id"])
            print(said["session"]["id"], flush=True)


if __name__ == "__main__":
    run(sys.argv[1])
