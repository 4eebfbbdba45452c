"""A follower and a writer through crashes and restarts of the real service: nothing missed, nothing twice."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.sdk.service import Service
from tests.sizes import sized

from recollect_client import Client, Event

PLACE = ("followed",)


def flaws(acknowledged: list[str], seen: list[Event]) -> list[str]:
    """What a follower missed, doubled or saw out of order; and writes that happened twice."""
    counts = Counter(event.key for event in seen)
    found = [f"{key} was missed" for key in acknowledged if not counts[key]]
    found += [f"{key} was told {count} times" for key, count in counts.items() if count > 1]
    found += [f"{event.key} was written again" for event in seen if (event.kind, event.revision) != ("add", 1)]
    sequences = [event.sequence for event in seen]
    return found + (["out of order"] if sequences != sorted(set(sequences)) else [])


class Writer(threading.Thread):
    """Writes one key after the other, each once, through whatever happens."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self.acknowledged: list[str] = []
        self.enough = threading.Event()

    def run(self) -> None:
        with Client(self._service.url, self._service.token, retries=200, deadline=120) as client:
            while not self.enough.is_set():
                key = f"k{len(self.acknowledged):06}"
                client.put(PLACE, key, {})
                self.acknowledged.append(key)


class Follower(threading.Thread):
    """Follows until it saw a certain key."""

    def __init__(self, service: Service, last: str) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._last = last
        self.seen: list[Event] = []

    def run(self) -> None:
        with Client(self._service.url, self._service.token) as client:
            for event in client.follow(PLACE, wait=5.0, patience=60.0):
                self.seen.append(event)
                if event.key == self._last:
                    return


@sized(2, 40)
def test_nothing_is_missed_or_doubled_through_restarts(tmp_path: Path, count: int) -> None:
    service = Service(tmp_path)
    writer, follower = Writer(service), Follower(service, "the last")
    try:
        writer.start()
        follower.start()
        for each in range(count):
            time.sleep(0.5)
            service.end(signal.SIGKILL if each % 2 else signal.SIGTERM)
            before = len(writer.acknowledged)
            time.sleep(0.2)
            service.start()
            until = time.monotonic() + 30
            while len(writer.acknowledged) <= before and time.monotonic() < until:
                time.sleep(0.02)
            assert len(writer.acknowledged) > before, "the writer did not recover"
        writer.enough.set()
        writer.join(60)
        with Client(service.url, service.token) as client:
            client.put(PLACE, "the last", {})
        follower.join(60)
        assert not follower.is_alive(), "the follower did not reach the end"
        assert len(writer.acknowledged) > 10
        assert flaws([*writer.acknowledged, "the last"], follower.seen) == []
    finally:
        writer.enough.set()
        service.end(signal.SIGKILL)


def told(*sequences: int, revision: int = 1) -> list[Event]:
    return [
        Event(
            kind="add" if revision == 1 else "update",
            namespace=PLACE,
            key=f"k{each}",
            sequence=each,
            cursor="",
            revision=revision,
            occurred_at=None,  # type: ignore[arg-type] # not looked at
        )
        for each in sequences
    ]


@pytest.mark.parametrize(
    ("seen", "flaw"),
    [
        (told(1, 3), "k2 was missed"),
        (told(1, 2, 2, 3), "k2 was told 2 times"),
        (told(1, 3, 2), "out of order"),
        (told(1, 2) + told(3, revision=2), "k3 was written again"),
    ],
)
def test_a_follower_that_errs_is_caught(seen: list[Event], flaw: str) -> None:
    assert flaw in flaws(["k1", "k2", "k3"], seen)
    assert flaws(["k1", "k2", "k3"], told(1, 2, 3)) == []
