"""How calls end: interrupted, unread, followed through a restart, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import queue
import re
import select
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

import pytest
from tests.cli.conftest import Run
from tests.cli.typed import COMMAND, PATIENCE, Serving, environment, serve, started, typed, without_traceback

import recollect


class Lines:
    """What a process says, line by line, as it says it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            self._lines.put(line)
        self._lines.put(b'"the end"')

    def next(self) -> dict[str, object]:
        """The next line, waited for."""
        told = json.loads(self._lines.get(timeout=PATIENCE))
        assert isinstance(told, dict), told
        return told

    def rest(self) -> list[bytes]:
        """What came since, once the process has ended."""
        self._thread.join(PATIENCE)
        return [self._lines.get_nowait() for _ in range(self._lines.qsize())][:-1]


def test_following_goes_on_until_it_is_interrupted(run: Run, behind: Path) -> None:
    run("put", "user/a", "k", "before")
    words = ["log", "--follow", "--json", "--home", str(behind)]
    with subprocess.Popen(
        [*COMMAND, *words], env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = Lines(process.stdout)
        assert lines.next()["value"] == {"text": "before"}
        run("put", "user/a", "k", "after")
        assert lines.next()["value"] == {"text": "after"}
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read() == b""
        assert lines.rest() == []


def test_following_survives_a_restart_of_the_server(run: Run, server: Serving) -> None:
    follower = started(server.home, "log", "--follow", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert follower.stdout is not None
        lines = Lines(follower.stdout)
        port = int(server.url.rpartition(":")[2])
        run("put", "user/a", "k", "0")
        seen = [lines.next()["revision"]]
        for number, how in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
            server.stop(how)
            run("put", "user/a", "k", f"{number} while it is away")
            server.process = (again := serve(server.home, port=port)).process
            assert again.url == server.url
            run("put", "user/a", "k", f"{number} when it is back")
            seen += [lines.next()["revision"], lines.next()["revision"]]
        assert seen == [1, 2, 3, 4, 5]
        assert follower.poll() is None
        follower.send_signal(signal.SIGINT)
        assert follower.wait(PATIENCE) == 130
        assert lines.rest() == []
        follower.stdout.close()
    finally:
        if follower.poll() is None:
            follower.kill()
            follower.wait()


def test_an_interrupted_question_erases_nothing(run: Run, home: Path) -> None:
    run("put", "user/a", "k", "v")
    with started(home, "erase", "user:a", "--quiet", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"[y/N]" in os.read(process.stderr.fileno(), 1_000)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert without_traceback(process.stderr.read())
    assert run("get", "user/a", "k").exit_code == 0


@pytest.mark.parametrize("words", ["search --all", "search --all --json", "log --all", "export -", "settings"])
def test_a_reader_that_has_had_enough_is_not_complained_about(home: Path, words: str) -> None:
    with recollect.open_sync(home) as memories:
        memories.batch([recollect.PutOp(["user", "a"], f"k{n}", {"text": "x" * 4_000}) for n in range(300)])
    with started(home, *words.split(), "--quiet", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) in (0, 141)
        assert process.stderr.read() == b""


def test_an_answer_that_nobody_reads_ends_quietly(home: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, "settings"], env=environment(home), stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert done.returncode == 141
    assert without_traceback(done.stderr)
    assert b"error" not in done.stderr


def test_a_fault_of_the_program_is_told_without_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("planted")

    monkeypatch.setattr("recollect.cli.here.open_door", broken)
    done = run("search")
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ValueError: planted\nThis is a fault of the program")


# -- at a terminal


def at_a_terminal(home: Path, *words: str, **more: str) -> str:
    """What the program shows on a terminal of 100 columns."""
    calm = environment(home, TERM="xterm-256color", COLUMNS="100", **more)
    if "NO_COLOR" not in more:
        del calm["NO_COLOR"]
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([*COMMAND, *words], env=calm, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and select.select([ours], [], [], PATIENCE)[0]:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the other side was closed
                break
            shown += piece
            if not piece:
                break
        process.wait(PATIENCE)
    os.close(ours)
    return shown.decode()


def test_people_get_tables_in_which_data_stays_data(run: Run, home: Path) -> None:
    run("put", "user/a", "k", json.dumps({"text": "[red]not red[/red] :smile: \x1b[5mstill\x9b0m " + "long " * 40}))
    shown = at_a_terminal(home, "search")
    assert "written" in shown
    assert "[red]not red[/red] :smile: \\u001b[5mstill\\u009b0m" in shown
    assert "…" in shown
    assert "\x1b[5m" not in shown
    assert "\x9b" not in shown
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in shown.splitlines()[1:]) <= 100
    assert "\x1b[2mno server runs" in shown


@pytest.mark.parametrize("words", ["search", "get user/a nothing", "--help"])
def test_colours_can_be_turned_off(run: Run, home: Path, words: str) -> None:
    run("put", "user/a", "k", "v")
    run("tokens", "create", "a")
    colors = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    assert not colors.search(at_a_terminal(home, *words.split(), NO_COLOR="1"))
    assert not colors.search(at_a_terminal(home, "--no-color", *words.split()))


def test_a_long_task_shows_how_far_it_is(run: Run, home: Path, tmp_path: Path) -> None:
    run("put", "user/a", "k", "v")
    shown = at_a_terminal(home, "export", str(tmp_path / "e.jsonl"))
    assert "Exporting" in shown
    assert "1 entry exported" in shown
    assert b"Exporting" not in typed(home, "export", str(tmp_path / "f.jsonl")).stderr
