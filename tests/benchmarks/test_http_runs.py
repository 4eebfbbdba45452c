"""The benchmark over HTTP, with tiny counts: it must run through, time only right answers, and leave its results."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.__main__ import main
from benchmarks.http.agreement import Recorded, check_constant, check_ours
from benchmarks.http.constant import config
from benchmarks.http.load import Misbehaved, answer_to, load, request
from benchmarks.http.report import GOALS, report
from benchmarks.http.rows import PATH, ROWS, batch, material
from benchmarks.http.running import CONSTANT, IN_PROCESS, OURS, running_constant
from benchmarks.workload import Counts, Sample, memos

from recollect.config import Settings
from recollect.domain.callers import local_caller
from recollect.main import compose
from recollect.server import _uvicorn
from recollect.service.identity import Identity
from recollect.service.memories import Memories
from recollect.surfaces.metrics import Metrics
from recollect.surfaces.service import Service
from recollect.surfaces.telemetry import Telemetry
from recollect.testing.servers import running

TINY = Counts(items=400, rounds=2, writes=8, concurrent=32, reads=20, searches=4, mixed=64, growth=0)


def constant(status: int = 200, body: bytes = b"{}", length: int | None = None) -> Recorded:
    headers = [["content-type", "application/json"], ["content-length", str(len(body) if length is None else length)]]
    said = {"status": status, "headers": headers, "body": base64.b64encode(body).decode()}
    return {PATH: {"GET": said, "PUT": said}}


def test_a_run_leaves_a_table_figures_and_a_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"

    assert main(["--only", "http", "--dir", str(tmp_path), "--results", str(results)], TINY) == 0

    printed = capsys.readouterr().out
    assert all(f"{row.title} ×{row.connections}" in printed for row in ROWS)
    assert "Goals over HTTP:" in printed
    said = json.loads((results / "http.json").read_text())
    assert set(said["rows"]) == {row.name for row in ROWS}
    for name, row in said["rows"].items():
        assert set(row["subjects"]) >= {OURS, CONSTANT}
        assert (IN_PROCESS in row["subjects"]) is (name[:3] in ("get", "put"))
        assert row["subjects"][CONSTANT]["ours_over_this"] > 0
        assert all(0 < each["p50_us"] <= each["p99_us"] for each in row["subjects"].values())
    assert [goal["row"] for goal in said["goals"]] == [goal.row for goal in GOALS]
    bars = ElementTree.fromstring((results / "http.svg").read_text())
    assert len(list(bars.iter("{http://www.w3.org/2000/svg}title"))) == len(ROWS)
    assert sorted(file.name for file in results.iterdir()) == ["http.json", "http.svg"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"], "the stores were left behind"


async def test_the_constant_is_served_as_our_server_is(tmp_path: Path) -> None:
    settings = Settings()
    workings = compose(tmp_path, settings)
    async with Memories(workings, local_caller("default")) as memories:
        identity = Identity(workings.tokens)
        service = Service(memories, workings.store, workings.guard, identity, settings, Metrics(), Telemetry())
        ours = vars(_uvicorn(service, settings))
    theirs = vars(config(constant()))

    assert {name for name in ours if ours[name] != theirs[name]} == {"app"}


def test_a_server_that_answers_wrongly_is_not_timed(tmp_path: Path) -> None:
    stored = memos(0, 400, 4)
    wrong = [memo._replace(value={**memo.value, "score": -1}) for memo in stored]
    with running(tmp_path / "ours", filterable_attributes=["topic"]) as server:
        assert answer_to(server.port, batch(wrong, server.token)).status == 200
        keys = {user: server.key_for(user) for user in sorted({memo.namespace[1] for memo in stored})}

        with pytest.raises(Misbehaved, match="does not give back"):
            check_ours(server.port, stored, keys, server.token)


def test_a_server_that_lets_anybody_in_is_not_timed(tmp_path: Path) -> None:
    with running_constant(constant(), tmp_path) as port, pytest.raises(Misbehaved, match="answers 200, not 401"):
        check_ours(port, memos(0, 4, 1), {"u000000": "a key"}, "a key")


def test_a_server_that_forgets_is_found_out(tmp_path: Path) -> None:
    stored = memos(0, 400, 4)
    with running(tmp_path / "ours", filterable_attributes=["topic"]) as server:
        keys = {user: server.key_for(user) for user in sorted({memo.namespace[1] for memo in stored})}

        with pytest.raises(Misbehaved, match="answers 404, not 200"):
            check_ours(server.port, stored, keys, server.token)


def test_a_constant_that_says_less_is_found_out(tmp_path: Path) -> None:
    with running_constant(constant(body=b"{}"), tmp_path) as port, pytest.raises(Misbehaved, match="does not repeat"):
        check_constant(port, constant(body=b'{"more": 1}'), "a key")


@pytest.mark.parametrize(("connections", "count"), [(1, 5), (16, 50), (16, 3)])
def test_every_request_is_answered_and_timed_once(tmp_path: Path, connections: int, count: int) -> None:
    with running_constant(constant(), tmp_path) as port:
        sample = asyncio.run(load(port, [request("GET", PATH, "a key")] * count, connections))

    assert (sample.operations, len(sample.laps)) == (count, count)
    assert max(sample.laps) <= sample.nanoseconds


def test_a_wrong_status_ends_the_timing(tmp_path: Path) -> None:
    asked = [request("GET", PATH, "a key")] * 3
    with running_constant(constant(503), tmp_path) as port, pytest.raises(Misbehaved, match="status 503, not 200"):
        asyncio.run(load(port, asked, 2))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"", "hung up"),
        (b"HTTP/1.1 200 OK\r\ncontent-len", "hung up"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", "hung up"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nlong", "longer than it says"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "how long it is"),
    ],
)
def test_a_broken_answer_ends_the_timing(said: bytes, told: str) -> None:
    with saying(said) as port, pytest.raises(Misbehaved, match=told):
        asyncio.run(load(port, [request("GET", PATH, "a key")], 1))


def test_an_answer_in_pieces_is_read_whole() -> None:
    with saying(b"HTTP/1.1 200 OK\r\ncont", b"ent-length: 4\r\n\r", b"\nab", b"cd") as port:
        assert len(asyncio.run(load(port, [request("GET", PATH, "a key")], 1)).laps) == 1


def test_rounds_differ_in_what_they_put_and_delete_only_what_nobody_reads() -> None:
    stored = memos(0, TINY.items, TINY.namespaces)
    first, second = material(TINY, stored, 0), material(TINY, stored, 1)

    put = [
        {memo.key for memo in (*work.fresh, *work.crowd, *(memo for part in work.batches for memo in part))}
        for work in (first, second)
    ]
    assert not put[0] & put[1]
    deleted = {step.memo.key for step in first.steps if step.kind == "delete"}
    assert deleted
    assert not deleted & {step.memo.key for step in first.steps if step.kind != "delete"}


def test_ratios_are_taken_within_rounds() -> None:
    def at(rate: float) -> Sample:
        return Sample(100, round(100 * 1e9 / rate), [1_000])

    series = {("get_16", OURS): [at(50), at(900), at(30)], ("get_16", CONSTANT): [at(100), at(1_000), at(100)]}

    found = report({}, TINY, series)

    assert found.ratios["get_16", CONSTANT] == pytest.approx(0.5, rel=1e-3)
    assert [(verdict.goal.row, verdict.goal.bound) for verdict in found.verdicts] == [("get_16", 0.5)]


@contextmanager
def saying(*pieces: bytes) -> Iterator[int]:
    """The port of a server that says this to whoever asks, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(65_536)
                for piece in pieces:
                    connection.sendall(piece)
                    threading.Event().wait(0.02)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()
