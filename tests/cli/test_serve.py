"""`recollect serve`: what it says at its first start, and that what it says to type can be typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.typed import PATIENCE, environment, serving, started, typed

from recollect.cli.invocation import home_option, program


def first_words(home: Path, cwd: Path) -> tuple[subprocess.Popen[bytes], list[str]]:
    process = started(home, "serve", "--port", "0", "--log-level", "error", "--quiet", stdout=subprocess.PIPE, cwd=cwd)
    assert process.stdout is not None
    told = []
    while line := process.stdout.readline().decode():
        told.append(line.rstrip("\n"))
        if line.rstrip().endswith("log --follow"):
            break
    return process, told


def test_the_first_start_says_what_to_do_next_and_it_can_be_typed(home: Path, tmp_path: Path) -> None:
    process, told = first_words(home, tmp_path)
    try:
        assert told[0].startswith(f"Recollect serves {home} at http://127.0.0.1:")
        secret = json.loads((home / "credentials.json").read_text())["token"]
        assert any(line.endswith(secret) for line in told)
        assert any("shown only now" in line and "credentials.json" in line for line in told)
        put, search, log = [line.strip() for line in told if line.startswith("  ") and " --home " in line]
        anywhere = {name: text for name, text in environment(home).items() if name != "RECOLLECT_HOME"}
        for command, expected in ((put, "add, revision 1"), (search, "Green, no sugar")):
            done = subprocess.run(
                command, shell=True, env=anywhere, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False
            )
            assert done.returncode == 0, done.stderr
            assert expected in done.stdout.decode()
            assert done.stderr == b""
        assert log.endswith("log --follow")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        process.stdout.close()


def test_later_starts_show_no_key(home: Path) -> None:
    with serving(home) as first:
        assert first.admin_key is not None
        assert first.admin_key.startswith("rk_")
    with serving(home) as second:
        assert second.admin_key is None
        assert json.loads(typed(home, "whoami", "--json").stdout)["user_id"] == "admin"


def test_two_servers_may_serve_one_directory(home: Path) -> None:
    with serving(home) as first, serving(home) as second:
        assert first.url != second.url
        typed(home, "put", "user/a", "k", "v", "--url", first.url, RECOLLECT_TOKEN=first.admin_key or "")
        assert json.loads(typed(home, "get", "user/a", "k").stdout) == {"text": "v"}


def test_a_server_that_is_interrupted_ends_well(home: Path) -> None:
    with serving(home) as server:
        assert server.stop(signal.SIGINT) == 0
    assert not (home / "server.json").exists()


def test_the_program_is_named_by_its_path_where_the_shell_does_not_find_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = Path(sys.executable).parent
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(beside.parent)
    script = beside / "recollect"
    if script.exists():
        assert program() == f"{beside.name}/recollect"
        monkeypatch.setenv("PATH", str(beside))
        assert program() == "recollect"
    other = tmp_path / "bin"
    other.mkdir()
    (other / "recollect").write_text("#!/bin/sh\n")
    (other / "recollect").chmod(0o755)
    monkeypatch.setenv("PATH", str(other))
    assert program() != "recollect"


def test_the_usual_directory_needs_no_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert home_option(Path("~/.recollect").expanduser()) == ""
    assert home_option(tmp_path / "my data") == " --home 'my data'"
    assert home_option(Path("/srv/recollect")) == " --home /srv/recollect"
