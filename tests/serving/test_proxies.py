"""The proxy does to answers what it was asked to, and to nothing else."""

from __future__ import annotations

import asyncio
import gc

import pytest
from tests.serving.line import HalfAnswered, Line, Unanswered

from recollect.testing.proxies import Choose, Fault, Proxy, by_chance, in_thread
from recollect.testing.servers import Server

BODY = {"namespace": ["n"], "key": "k", "value": {"text": "x" * 100_000}}


def scripted(*faults: Fault) -> Choose:
    left = list(faults)
    return lambda: left.pop(0) if left else Fault.NONE


def test_answers_meet_their_fate_and_requests_go_through(server: Server) -> None:
    choose = scripted(Fault.NONE, Fault.DROP, Fault.CUT, Fault.DELAY)
    with in_thread(Proxy(server.url, choose, delay_seconds=0.2)) as proxy, Line(proxy.url, server.token) as line:
        first = line.ask("PUT", "/v1/memories", BODY).json()["revision"]
        with pytest.raises(Unanswered):
            line.ask("PUT", "/v1/memories", BODY)
        with pytest.raises(HalfAnswered):
            line.ask("PUT", "/v1/memories", BODY)
        assert line.ask("PUT", "/v1/memories", BODY).json()["revision"] == first + 3
        assert line.ask("GET", "/v1/memories?ns=n&key=k").json()["value"] == BODY["value"]
        assert proxy.faults == {Fault.NONE: 2, Fault.DROP: 1, Fault.CUT: 1, Fault.DELAY: 1}


def test_a_server_that_is_not_there_is_an_ended_connection(server: Server) -> None:
    with in_thread(Proxy("http://127.0.0.1:1")) as proxy, Line(proxy.url, server.token) as line:
        with pytest.raises(Unanswered):
            line.ask("GET", "/v1/whoami")
        proxy.target = server.url
        assert line.ask("GET", "/v1/whoami").status == 200


async def test_chance_gives_each_fault_its_share() -> None:
    choose = by_chance(1, drop=0.3, cut=0.2, delay=0.1)
    chosen = [choose() for _ in range(2_000)]
    assert 500 < chosen.count(Fault.DROP) < 700
    assert 300 < chosen.count(Fault.CUT) < 500
    assert 100 < chosen.count(Fault.DELAY) < 300
    with pytest.raises(ValueError, match="at most 1"):
        by_chance(1, drop=0.6, cut=0.6)


@pytest.mark.parametrize("turns", range(8))
async def test_a_proxy_that_is_stopped_while_a_connection_ends_leaves_none_open(turns: int) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1_000):
            writer.write(piece)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    place = server.sockets[0].getsockname()
    async with Proxy(f"http://{place[0]}:{place[1]}") as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        writer.close()
        for _ in range(turns):  # how far its end has come when the proxy is stopped
            await asyncio.sleep(0)
    for _ in range(8):
        await asyncio.sleep(0.001)  # until the other side has noticed
    left = [each for each in gc.get_objects() if isinstance(each, asyncio.StreamWriter)]
    assert [each for each in left if not each.transport.is_closing()] == []
    server.close()
