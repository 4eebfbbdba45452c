"""Readers of the event log of several servers get all of it, from whichever server they read: S26, S27 and S28."""

from __future__ import annotations

import time

from tests.concurrency.crew import Crew
from tests.concurrency.feed import Served, by_sequence, by_time, check_caught, check_feed, feed
from tests.serving.fleets import Fleet
from tests.sizes import sized


def places(fleet: Fleet) -> tuple[Served, ...]:
    database = str(fleet.servers[0].settings["store"])
    return tuple(Served(url, fleet.token, database) for url in fleet.urls)


@sized(600, 100_000)
def test_readers_of_three_servers_miss_double_and_reorder_nothing(fresh_fleet: Fleet, crew: Crew, count: int) -> None:
    began, at = time.monotonic(), places(fresh_fleet)
    written, read = feed(crew, at, at, count, by_sequence)
    got = [len(each) for _, each in read]
    print(f"feed of three servers: {len(written)} events, read {got}, in {time.monotonic() - began:.0f} s")
    check_feed(at[0], count, written, read)


def test_readers_that_page_by_time_are_caught(fresh_fleet: Fleet, crew: Crew) -> None:
    at = places(fresh_fleet)
    check_caught(at[0], feed(crew, at, at, 800, by_time)[1])
