"""A real service in a process of its own, on a free port of this machine; whole, or spoiled by planted faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from recollect.server import Started, serve
from recollect.surfaces.guests import Guest
from recollect.surfaces.rest.app import make_app
from recollect.surfaces.service import Service

ROOT = Path(__file__).parents[2]
STOP_SECONDS = 30
PLANTING = "x-planted"
"""The header by which a request to a spoiled service names the fault that its answer is to have."""
PLANTED = ("a field that nobody promised", "a fault", "a status that nobody promised", "a header that is missing")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Served:
    """A running service, with the key of its administrator."""

    url: str
    admin_key: str

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None, **headers: str) -> Answered:
        """The answer to one request, made as the administrator unless another key is given."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        sent = {"Authorization": f"Bearer {key or self.admin_key}"} | headers
        try:
            if body is not None:
                sent["Content-Type"] = "application/json"
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return Answered(
                answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
            )
        finally:
            connection.close()

    def new_key(self, user_id: str, **more: object) -> str:
        """A key for somebody."""
        made = self.ask("POST", "/admin/v1/tokens", {"user_id": user_id} | more)
        assert made.status == 201, made.body
        return str(made.json()["secret"])


@contextmanager
def served(
    home: Path, settings: Mapping[str, object], *, spoiled: bool = False, still: bool = False
) -> Iterator[Served]:
    """A service over a new data directory, stopped at the end; it must stop without a complaint.

    One that is `still` has no workers, so that what happens in it depends on the requests alone. None waits for the
    model of searches by meaning unless its settings say so.
    """
    forms = ["spoiled"] * spoiled + ["still"] * still
    command = [sys.executable, "-m", "tests.surfaces.serving", str(home), *forms]
    calm = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    chosen = {"embedder": "hashing"} | dict(settings)
    given = {f"RECOLLECT_{name.upper()}": str(value) for name, value in chosen.items()}
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, env=calm | given, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (home / "log").read_text()[-4_000:]
            yield Served(**json.loads(line))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        assert process.returncode == 0, (home / "log").read_text()[-4_000:]


class Spoiled:
    """An application between the service and its clients that breaks the contract where a request asks for it."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        planted = dict(scope.get("headers", ())).get(PLANTING.encode(), b"").decode()
        begun: list[dict[str, Any]] = []

        async def spoil(message: dict[str, Any]) -> None:
            if not planted:
                await send(message)
            elif message["type"] == "http.response.start":
                begun.append(message)
            else:
                start, body = spoiled_answer(planted, begun[0], message.get("body", b""))
                await send(start)
                await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, spoil)


def spoiled_answer(planted: str, start: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The answer with this fault planted into it."""
    if planted == "a header that is missing":
        return start | {"headers": [each for each in start["headers"] if each[0] != b"x-request-id"]}, body
    if planted == "a fault":
        return start | {"status": 500}, body
    if planted == "a status that nobody promised":
        return start | {"status": 418}, body
    body = json.dumps(json.loads(body) | {"surprise": True}).encode()
    kept = [each for each in start["headers"] if each[0] != b"content-length"]
    return start | {"headers": [*kept, (b"content-length", str(len(body)).encode())]}, body


def main() -> None:
    """Serve the data directory that the command line names, and say on one line where and with which key."""
    home, forms = Path(sys.argv[1]), sys.argv[2:]

    def announce(started: Started) -> None:
        print(json.dumps({"url": started.url, "admin_key": started.admin_key}), flush=True)

    def app(service: Service, guests: Sequence[Guest]) -> Any:
        return Spoiled(make_app(service, guests)) if "spoiled" in forms else make_app(service, guests)

    with ExitStack() as changes:
        changes.enter_context(patch("recollect.server.make_app", app))
        if "still" in forms:
            changes.enter_context(patch("recollect.server._workers", lambda *_: ()))
        serve(home / "data", flags={"port": 0}, announce=announce)


if __name__ == "__main__":
    main()
