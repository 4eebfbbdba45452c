"""Which way leads to the memories, and that no token goes where it does not belong."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.typed import Serving

from recollect.cli.doors import Asked, Local, Remote, find_way, is_alive, kept_token, running
from recollect.domain.errors import InvalidSetting


@contextmanager
def another_program(answer: bytes, seen: list[str]) -> Iterator[str]:
    """A program that is not Recollect, on a free port; it remembers the credentials that it was sent."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def leave_note(home: Path, url: str, pid: int) -> None:
    home.mkdir(exist_ok=True)
    (home / "server.json").write_text(json.dumps({"pid": pid, "url": url}))


def test_without_a_server_the_directory_is_opened(home: Path) -> None:
    assert find_way(Asked(), {"RECOLLECT_HOME": str(home)}) == Local(home, "default")
    assert find_way(Asked(home=str(home), tenant="acme"), {}) == Local(home, "acme")
    assert find_way(Asked(home=str(home)), {"RECOLLECT_TENANT": "acme"}) == Local(home, "acme")
    assert find_way(Asked(home="~/x"), {}) == Local(Path("~/x").expanduser(), "default")


def test_a_running_server_is_found_with_its_token(server: Serving) -> None:
    assert find_way(Asked(home=str(server.home)), {}) == Remote(server.url, server.admin_key)
    assert find_way(Asked(home=str(server.home), token="mine"), {}) == Remote(server.url, "mine")
    assert find_way(Asked(home=str(server.home)), {"RECOLLECT_TOKEN": "ours"}) == Remote(server.url, "ours")
    assert find_way(Asked(url=server.url + "/", home=str(server.home)), {}).token == server.admin_key  # type: ignore[union-attr] # a server was named


def test_a_named_server_is_asked_without_a_token_that_belongs_elsewhere(server: Serving) -> None:
    environment = {"RECOLLECT_HOME": str(server.home), "RECOLLECT_URL": "http://127.0.0.1:9"}
    assert find_way(Asked(), environment) == Remote("http://127.0.0.1:9", None)
    assert find_way(Asked(url="http://127.0.0.1:8"), environment) == Remote("http://127.0.0.1:8", None)
    assert find_way(Asked(home=str(server.home)), environment) == Remote(server.url, server.admin_key)


def test_credentials_may_name_their_server(home: Path) -> None:
    home.mkdir()
    (home / "credentials.json").write_text('{"url": "http://127.0.0.1:7", "token": "rk_x"}')
    assert kept_token(home, "http://127.0.0.1:7/") == "rk_x"
    assert kept_token(home, "http://127.0.0.1:71") is None
    (home / "credentials.json").write_text("[]")
    assert kept_token(home, "http://127.0.0.1:7") is None


def test_a_token_without_a_server_is_refused(home: Path) -> None:
    with pytest.raises(InvalidSetting, match="--token means nothing without a server"):
        find_way(Asked(home=str(home), token="rk_x"), {})
    assert find_way(Asked(home=str(home)), {"RECOLLECT_TOKEN": "rk_x"}) == Local(home, "default")


def test_a_tenant_cannot_be_chosen_at_a_server(run: Run, server: Serving) -> None:
    refused = run("search", "--tenant", "acme")
    assert refused.exit_code == 1
    assert "takes it from the token" in refused.stderr
    assert run("tokens", "list", "--tenant", "acme").exit_code == 0


def test_a_server_that_ended_without_a_word_is_not_waited_for(run: Run, server: Serving) -> None:
    run("put", "user/a", "k", "v")
    server.process.kill()
    server.process.wait()
    assert (server.home / "server.json").exists()
    found = run("get", "user/a", "k")
    assert found.exit_code == 0
    assert "no server runs" in found.stderr


@pytest.mark.parametrize("answer", [b"{}", b"<html>", b'{"status":"fine"}', b"[]"])
def test_another_program_on_the_port_is_never_sent_a_token(run: Run, home: Path, answer: bytes) -> None:
    run("put", "user/a", "k", "v")
    (home / "credentials.json").write_text('{"token": "rk_secret"}')
    seen: list[str] = []
    with another_program(answer, seen) as url:
        leave_note(home, url, os.getpid())
        assert running(home) is None
        assert run("get", "user/a", "k").exit_code == 0
    assert seen == ["", ""]


def test_a_port_that_does_not_answer_is_given_up_soon(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        leave_note(home, f"http://127.0.0.1:{silent.getsockname()[1]}", os.getpid())
        began = time.monotonic()
        assert running(home) is None
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pid": "x", "url": 1}', '{"pid": 1}', '{"pid": 1e99}'])
def test_a_note_that_makes_no_sense_is_no_server(home: Path, text: str) -> None:
    home.mkdir()
    (home / "server.json").write_text(text)
    assert running(home) is None


def test_a_process_is_alive_until_it_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_alive(process.pid)
    process.communicate(b"\n")
    assert not is_alive(process.pid)


def test_the_credential_decides_what_is_allowed(run: Run, server: Serving) -> None:
    made = json.loads(run("tokens", "create", "alice", "--json").stdout)["secret"]
    assert run("put", "user/alice", "k", "v", "--token", made).exit_code == 0
    refused = run("put", "user/bob", "k", "v", "--token", made, "--json")
    assert (refused.exit_code, json.loads(refused.stderr)["code"]) == (1, "forbidden")
    assert json.loads(run("log", "--token", made, "--json").stdout)["events"][0]["actor"] == "alice"
    assert json.loads(run("whoami", "--token", "rk_wrong", "--json").stderr)["code"] == "unauthenticated"
    assert made not in run("whoami", "--token", made).output
