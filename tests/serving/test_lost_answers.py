"""Answers get lost after the write was done; clients ask again, and yet everything happens once."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.serving.line import HalfAnswered, Line, Unanswered, whole_log
from tests.sizes import sized

from recollect.testing.proxies import Fault, Proxy, by_chance, in_thread
from recollect.testing.servers import Server
from recollect_client import AsyncClient, DeleteOp, PutOp

AT_ONCE = 32


async def write(client: AsyncClient, place: tuple[str, ...], number: int) -> None:
    """One write, of one kind or another; each leads to exactly one event."""
    key = f"k{number}"
    if number % 3 == 0:
        await client.put(place, key, {"n": number})
    elif number % 3 == 1:
        await client.put(place, key, {"n": number}, expected_revision=0)
    else:
        await client.batch([PutOp(place, key, {"n": number}), DeleteOp(place, f"absent {number}")])


@sized(150, 10_000)
async def test_writes_through_a_net_that_loses_answers_happen_once(count: int, server: Server) -> None:
    place = ("lost", str(count))
    chosen = by_chance(count, drop=0.25, cut=0.05, delay=0.01)
    async with (
        Proxy(server.url, chosen, delay_seconds=0.5) as proxy,
        AsyncClient(proxy.url, server.token, retries=12, deadline=120) as client,
    ):
        waiting = iter(range(count))

        async def work() -> None:
            for number in waiting:
                await write(client, place, number)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    assert proxy.faults[Fault.DROP] > count * 0.15
    assert proxy.faults[Fault.CUT] > count * 0.02
    with Line(server.url, server.token) as line:
        events = await asyncio.to_thread(whole_log, line, *place)
    print(f"lost answers: {count} writes, {dict(proxy.faults)}, {len(events)} events")
    assert Counter(event["key"] for event in events) == {f"k{number}": 1 for number in range(count)}


def test_the_same_without_idempotency_keys_writes_more_than_once(server: Server) -> None:
    count, place = 60, ["lost", "without"]
    with in_thread(Proxy(server.url, by_chance(1, drop=0.3))) as proxy, Line(proxy.url, server.token) as line:
        for number in range(count):
            body = {"namespace": place, "key": f"k{number}", "value": {"n": number}}
            while True:
                try:
                    assert line.ask("PUT", "/v1/memories", body).status == 200
                    break
                except (Unanswered, HalfAnswered):
                    continue
    with Line(server.url, server.token) as line:
        assert len(whole_log(line, *place)) > count
