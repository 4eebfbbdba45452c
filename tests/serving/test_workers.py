"""What servers do by themselves: sweep once although there are two of them, and follow their settings file."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.concurrency.crew import in_threads
from tests.serving.line import Line, whole_log
from tests.serving.planted import planted_server
from tests.sizes import sized

from recollect.testing.servers import Server

RELOAD_SECONDS = 3.0
PER_BATCH = 50
Place = tuple[str, int]
"""A key at one of its revisions."""


# -- sweeping


def misjudged(events: list[dict[str, Any]], expired: Counter[Place]) -> list[str]:
    """Lifetimes that were to end, and did not end with exactly one `expired` event each; and others that did."""
    told = Counter((event["key"], event["revision"]) for event in events if event["kind"] == "expired")
    return [f"{place} expired {told[place]} times" for place in told | expired if told[place] != expired[place]]


def put_short_lived(line: Line, number: int) -> Counter[Place]:
    """A batch of keys that expire soon, beside one that does not; some are written again, so that they live anew."""
    keys = [f"k{number}-{each}" for each in range(PER_BATCH)]
    puts = [
        {"op": "put", "namespace": ["short"], "key": key, "value": {}, "ttl_seconds": 0.05 + 0.3 * (at % 2)}
        for at, key in enumerate(keys)
    ]
    lasting = {"op": "put", "namespace": ["short"], "key": f"lasting {number}", "value": {}}
    reply = line.ask("POST", "/v1/memories/batch", {"operations": [*puts, lasting]})
    assert reply.status == 200, reply
    return Counter((done["key"], done["revision"]) for done in reply.json()["results"][:-1])


@sized(4, 100)
def test_every_lifetime_ends_with_one_event_although_two_servers_sweep(count: int, tmp_path: Path) -> None:
    expected: Counter[Place] = Counter()
    servers = [Server(tmp_path, sweep_seconds=0.1) for _ in range(2)]
    try:
        in_threads(*(server.start for server in servers))
        lines = [Line(server.url, server.token) for server in servers]
        for number in range(count):
            expected += put_short_lived(lines[number % 2], number)
            time.sleep(0.1)
        until = time.monotonic() + 30
        while (found := misjudged(whole_log(lines[0], "short"), expected)) and time.monotonic() < until:
            time.sleep(0.2)
        assert found == []
        time.sleep(0.5)
        assert misjudged(whole_log(lines[1], "short"), expected) == []
        for line in lines:
            line.close()
    finally:
        in_threads(*(server.stop for server in servers))


@pytest.mark.parametrize("told", [[], ["a", "a"], ["a", "b"]])
def test_an_event_too_many_or_too_few_is_found(told: list[str]) -> None:
    events = [{"key": key, "revision": 1, "kind": "expired"} for key in told]
    assert misjudged(events, Counter([("a", 1)]))
    assert not misjudged(events[:1] or [{"key": "a", "revision": 1, "kind": "expired"}], Counter([("a", 1)]))


# -- settings


class Settled:
    """A server whose settings come from its file."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.file = server.home / "recollect.toml"

    def seconds_until(self, written: str, changed: Callable[[], bool]) -> float:
        """How long it takes from the writing of the file to the change; infinity when it does not come."""
        assert not changed()
        self.file.write_text(written)
        began = time.monotonic()
        while time.monotonic() - began < RELOAD_SECONDS:
            if changed():
                return time.monotonic() - began
            time.sleep(0.05)
        return float("inf")

    def depth_allowed(self, depth: int) -> bool:
        body = {"namespace": ["d"] * depth, "key": "k", "value": {}}
        status, _, _ = self.server.request("PUT", "/v1/memories", body)
        assert status in (200, 400)
        return status == 200

    def filters_by_colour(self) -> bool:
        body = {"namespace": ["colours"], "key": "k", "value": {}, "attributes": {"colour": "red"}}
        assert self.server.request("PUT", "/v1/memories", body)[0] == 200
        wish = {"namespace_prefix": ["colours"], "filter": {"colour": "red"}}
        status, found, _ = self.server.request("POST", "/v1/memories/search", wish)
        return status == 200 and len(found["items"]) == 1

    def refused_more_than(self, count: int) -> bool:
        return self.server.log().count("settings.refused") > count

    def limited(self) -> bool:
        return 429 in [self.server.request("GET", "/v1/whoami")[0] for _ in range(5)]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settled]:
    with Server(tmp_path_factory.mktemp("settled")) as server:
        yield Settled(server)


def test_settings_follow_their_file_and_survive_a_broken_one(settled: Settled) -> None:
    assert not settled.filters_by_colour()
    assert settled.seconds_until("max_depth = 3\n", lambda: not settled.depth_allowed(4)) < RELOAD_SECONDS
    both = 'max_depth = 6\nfilterable_attributes = ["colour"]\n'
    assert settled.seconds_until(both, settled.filters_by_colour) < RELOAD_SECONDS
    assert settled.depth_allowed(6)

    for refused, broken in enumerate(("max_depth = 'many'\n", "max_depth = [[[\n")):
        told = partial(settled.refused_more_than, refused)
        assert settled.seconds_until(broken, told) < RELOAD_SECONDS
        assert settled.depth_allowed(6)
        assert not settled.depth_allowed(7)
        assert settled.filters_by_colour()

    # The limit comes last: it holds for the test as well.
    assert settled.seconds_until(f"{both}rate_per_second = 2\n", settled.limited) < RELOAD_SECONDS
    assert settled.seconds_until("", lambda: not settled.limited()) < RELOAD_SECONDS


def test_a_server_that_overlooks_changes_is_found(tmp_path: Path) -> None:
    server = planted_server("overlooks changes", tmp_path)
    try:
        settled = Settled(server)
        assert settled.seconds_until("max_depth = 3\n", lambda: not settled.depth_allowed(4)) == float("inf")
    finally:
        server.stop()
