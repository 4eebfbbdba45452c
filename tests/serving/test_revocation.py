"""A key that one server revoked is refused by every other from that moment on, on open streams too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from tests.serving.line import Line, Told
from tests.serving.planted import planted_server
from tests.sizes import sized

from recollect.testing.servers import Server

HEART_BEAT_SECONDS = 15.0
STREAM = "/v1/memories/events?ns=user&ns=eve&follow=true"


def make_key(line: Line, **wishes: object) -> tuple[str, str]:
    """The id and the secret of a fresh key."""
    reply = line.ask("POST", "/admin/v1/tokens", {"user_id": "eve", **wishes})
    assert reply.status == 201, reply
    return reply.json()["token"]["id"], reply.json()["secret"]


class Knocking(threading.Thread):
    """Asks again and again with a key, and notes when each request began and how it was answered."""

    def __init__(self, url: str, secret: str) -> None:
        super().__init__(daemon=True)
        self._line = Line(url, secret)
        self.enough = threading.Event()
        self.answers: list[tuple[float, int]] = []

    def run(self) -> None:
        with self._line as line:
            while not self.enough.is_set():
                began = time.monotonic()
                self.answers.append((began, line.ask("GET", "/v1/whoami").status))


def too_late(one: Server, two: Server, rounds: int) -> list[str]:
    """Requests to `two` that began after `one` had confirmed the revocation, and were not refused."""
    flaws: list[str] = []
    with Line(one.url, one.token) as admin:
        for number in range(rounds):
            token_id, secret = make_key(admin)
            knocking = [Knocking(server.url, secret) for server in (two, two, one)]
            for each in knocking:
                each.start()
            until = time.monotonic() + 30
            while any(len(each.answers) < 1 + number % 3 for each in knocking) and time.monotonic() < until:
                time.sleep(0.001)
            assert admin.ask("DELETE", f"/admin/v1/tokens/{token_id}").status == 200
            revoked = time.monotonic()
            while any(not each.answers or each.answers[-1][0] <= revoked for each in knocking):
                time.sleep(0.001)
            for each in knocking:
                each.enough.set()
                each.join()
                assert each.answers[0][1] == 200
                flaws += [f"{number}: {status}" for began, status in each.answers if began > revoked and status != 401]
    return flaws


@sized(20, 1_000)
def test_a_revoked_key_is_refused_everywhere_at_once(count: int, pair: tuple[Server, Server]) -> None:
    assert too_late(*pair, count) == []


def test_a_server_that_remembers_callers_is_found(pair: tuple[Server, Server]) -> None:
    forgetful = planted_server("remembers callers", pair[0].home, **pair[0].settings)
    try:
        assert too_late(pair[0], forgetful, 2) != []
    finally:
        forgetful.stop()


@sized(1, 30)
def test_a_key_is_refused_everywhere_once_it_has_expired(count: int, pair: tuple[Server, Server]) -> None:
    with Line(pair[0].url, pair[0].token) as admin:
        for _ in range(count):
            expiry = datetime.now(UTC) + timedelta(seconds=0.7)
            secret = make_key(admin, expires_at=expiry.isoformat())[1]
            with Line(pair[1].url, secret) as line:
                assert line.ask("GET", "/v1/whoami").status == 200
                time.sleep(max(0.0, (expiry - datetime.now(UTC)).total_seconds()) + 0.001)
                assert line.ask("GET", "/v1/whoami").status == 401


class Listening(threading.Thread):
    """Listens to a stream to its end."""

    def __init__(self, url: str, secret: str) -> None:
        super().__init__(daemon=True)
        self._line = Line(url, secret)
        self.told: list[Told] = []
        self.ended: float | None = None

    def run(self) -> None:
        with self._line as line:
            for told in line.follow(STREAM):
                self.told.append(told)
        self.ended = time.monotonic()


@contextmanager
def listened(pair: tuple[Server, Server], **wishes: object) -> Iterator[tuple[Line, str, Listening]]:
    """An open stream of the second server, which has told of one event already; and an administrator's line."""
    with Line(pair[0].url, pair[0].token) as admin:
        token_id, secret = make_key(admin, **wishes)
        listening = Listening(pair[1].url, secret)
        put(admin, "before")
        listening.start()
        until = time.monotonic() + 10
        while not any(told.data["key"] == "before" for told in listening.told) and time.monotonic() < until:
            time.sleep(0.005)
        yield admin, token_id, listening


def put(line: Line, key: str) -> None:
    assert line.ask("PUT", "/v1/memories", {"namespace": ["user", "eve"], "key": key, "value": {}}).status == 200


def check_end(listening: Listening, after: str = "") -> None:
    """The stream must have ended with an error, and without what came after the end of the key."""
    assert listening.ended is not None
    assert after not in [told.data["key"] for told in listening.told[:-1]]
    assert listening.told[-1].kind == "error"
    assert listening.told[-1].data["code"] == "unauthenticated"


@sized(3, 100)
def test_an_open_stream_tells_nothing_more_once_its_key_is_revoked(count: int, pair: tuple[Server, Server]) -> None:
    for number in range(count):
        with listened(pair) as (admin, token_id, listening):
            assert admin.ask("DELETE", f"/admin/v1/tokens/{token_id}").status == 200
            put(admin, f"{count} after {number}")
            listening.join(10)
            check_end(listening, f"{count} after {number}")


@sized(1, 30)
def test_a_long_poll_tells_nothing_more_once_its_key_is_revoked(count: int, pair: tuple[Server, Server]) -> None:
    with Line(pair[0].url, pair[0].token) as admin:
        for number in range(count):
            token_id, secret = make_key(admin)
            with Line(pair[1].url, secret) as line, ThreadPoolExecutor(1) as threads:
                cursor = line.ask("GET", f"/v1/memories/events?after={quote(now())}").json()["after_cursor"]
                target = f"/v1/memories/events?ns=user&ns=eve&wait=10&after_cursor={cursor}"
                waiting = threads.submit(line.ask, "GET", target)
                time.sleep(0.2)
                assert admin.ask("DELETE", f"/admin/v1/tokens/{token_id}").status == 200
                put(admin, f"{count} polled {number}")
                assert waiting.result().status == 401


def now() -> str:
    return datetime.now(UTC).isoformat()


@pytest.mark.soak
@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_stream_on_which_nothing_happens_ends_with_the_next_heart_beat(how: str, pair: tuple[Server, Server]) -> None:
    expiry = {"expires_at": (datetime.now(UTC) + timedelta(seconds=2)).isoformat()} if how == "expired" else {}
    with listened(pair, **expiry) as (admin, token_id, listening):
        if how == "revoked":
            assert admin.ask("DELETE", f"/admin/v1/tokens/{token_id}").status == 200
        listening.join(HEART_BEAT_SECONDS + 5)
        check_end(listening)


@pytest.mark.parametrize("told", [["add after", "error"], ["add before"], ["add before", "add after"]])
def test_a_stream_that_goes_on_too_long_is_found(told: list[str]) -> None:
    listening = Listening("http://127.0.0.1:1", "")
    listening.ended = 1.0
    pairs = (each.partition(" ") for each in told)
    listening.told = [Told("", kind, {"key": key, "code": "unauthenticated"}) for kind, _, key in pairs]
    with pytest.raises(AssertionError):
        check_end(listening, "after")
