"""`recollect doctor`: nothing is wrong with a sound installation, and every planted problem is found."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.typed import Serving, serving

import recollect
from recollect.cli import doctor
from recollect.cli.doctor import Finding
from recollect.domain.instants import Instant
from recollect.main import open_sync
from recollect.testing.drivers import SqliteTamper


def findings(run: Run, *words: str, status: int) -> list[dict[str, Any]]:
    done = run("doctor", "--json", *words)
    assert done.exit_code == status, done.output
    told = json.loads(done.stdout)
    assert told["well"] is (status == 0)
    found: list[dict[str, Any]] = told["findings"]
    return found


def troubles(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["check"], each["level"]) for each in found if each["level"] != "ok"]


@pytest.fixture
def store(home: Path) -> Path:
    with recollect.open_sync(home) as memories:
        memories.put(["user", "a"], "k", {"text": "one"})
        memories.put(["user", "a"], "k", {"text": "two"})
    return home


@pytest.mark.usefixtures("store")
def test_a_sound_directory_is_well(run: Run) -> None:
    found = findings(run, status=0)
    assert troubles(found) == []
    checks = [each["check"] for each in found]
    outside = ["python", "libraries", "permissions", "settings", "disk", "file system", "master key", "leftovers"]
    assert checks == [*outside, "server", "store", "clock", "sweeps", "log"]
    people = run("doctor")
    assert people.exit_code == 0
    assert people.stdout.splitlines()[-1] == "0 failures, 0 warnings"


def test_a_sound_server_is_well(run: Run, server: Serving) -> None:
    run("put", "user/a", "k", "v")
    found = findings(run, status=0)
    assert troubles(found) == []
    assert {"server", "credentials", "log"} <= {each["check"] for each in found}
    named = findings(run, "--url", server.url, status=0)
    assert [each["check"] for each in named] == ["python", "libraries", "credentials", "clock", "sweeps", "log"]


@pytest.mark.usefixtures("store")
def test_the_check_of_the_whole_log_can_be_left_out(run: Run) -> None:
    assert "log" not in {each["check"] for each in findings(run, "--quick", status=0)}


def open_home(home: Path) -> None:
    home.chmod(0o755)


def open_keys(home: Path) -> None:
    (home / "keys").chmod(0o750)


def open_key_file(home: Path) -> None:
    (home / "keys" / "master.key").chmod(0o644)


def open_credentials(home: Path) -> None:
    (home / "credentials.json").write_text("{}")
    (home / "credentials.json").chmod(0o640)


def break_settings(home: Path) -> None:
    (home / "recollect.toml").write_text("prot = 1\n")


def lose_the_key(home: Path) -> None:
    (home / "keys" / "master.key").unlink()


def spoil_the_key(home: Path) -> None:
    (home / "keys" / "master.key").write_text("{}")


def lose_the_wrapped_keys(home: Path) -> None:
    for path in (home / "keys").glob("wrapped.db*"):
        path.unlink()


def leave_a_backup_behind(home: Path) -> None:
    (home / "backup-x1").mkdir()
    old = time.time() - 7_200
    os.utime(home / "backup-x1", (old, old))


def leave_a_dead_server_behind(home: Path) -> None:
    (home / "server.json").write_text(json.dumps({"pid": 2**22 + 1, "url": "http://127.0.0.1:9"}))


def spoil_the_file(home: Path) -> None:
    (home / "recollect.db").write_bytes(b"not a database at all" * 1_000)


def forge_an_event(home: Path) -> None:
    asyncio.run(SqliteTamper(home / "recollect.db").edit_event("default", 1, "actor", "mallory"))


def write_in_the_future(home: Path) -> None:
    with open_sync(home, clock=lambda: Instant((time.time_ns() // 1_000) + 3_600_000_000)) as memories:
        memories.put(["user", "a"], "later", {})


def leave_expired_memories(home: Path) -> None:
    with open_sync(home, clock=lambda: Instant((time.time_ns() // 1_000) - 3_600_000_000)) as memories:
        memories.put(["user", "a"], "short", {}, ttl=1)


PLANTED: list[tuple[Callable[[Path], None], list[tuple[str, str]], str]] = [
    (open_home, [("permissions", "warning")], "chmod 700"),
    (open_keys, [("permissions", "failure")], "chmod 700"),
    (open_key_file, [("permissions", "failure")], "chmod 600"),
    (open_credentials, [("permissions", "failure")], "chmod 600"),
    (break_settings, [("settings", "failure"), ("master key", "failure"), ("store", "failure")], "did you mean port?"),
    (lose_the_key, [("master key", "failure"), ("store", "failure")], "Bring the key file back"),
    (spoil_the_key, [("master key", "failure"), ("store", "failure")], "holds no key"),
    (lose_the_wrapped_keys, [("store", "failure")], "wrapped keys are missing"),
    (leave_a_backup_behind, [("leftovers", "warning")], "backup-x1"),
    (leave_a_dead_server_behind, [("server", "warning")], "ended without tidying up"),
    (spoil_the_file, [("store", "failure")], "recollect.db"),
    (forge_an_event, [("log", "failure")], "recollect verify"),
    (write_in_the_future, [("clock", "failure")], "behind the last event"),
    (leave_expired_memories, [("sweeps", "warning")], "recollect sweep"),
]


@pytest.mark.parametrize(("plant", "expected", "why"), PLANTED, ids=[each[0].__name__ for each in PLANTED])
def test_a_planted_problem_is_found(
    run: Run, store: Path, plant: Callable[[Path], None], expected: list[tuple[str, str]], why: str
) -> None:
    plant(store)
    found = findings(run, status=4 if any(level == "failure" for _, level in expected) else 0)
    assert troubles(found) == expected
    assert any(why in each["message"] + each["advice"] for each in found if each["level"] != "ok")
    assert all(each["advice"] for each in found if each["level"] != "ok")


def test_a_directory_that_is_not_there_is_told_and_not_made(run: Run, home: Path) -> None:
    assert troubles(findings(run, status=4)) == [("home", "failure")]
    assert not home.exists()


def test_a_directory_without_memories_is_no_failure(run: Run, home: Path) -> None:
    home.mkdir(mode=0o700)
    assert troubles(findings(run, status=0)) == [("store", "warning")]


def test_a_server_that_hangs_is_found(run: Run, store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (store / "server.json").write_text(json.dumps({"pid": os.getpid(), "url": url}))
        assert ("server", "failure") in troubles(findings(run, status=4))
        assert troubles(findings(run, "--url", url, status=4)) == [("server", "failure")]


def test_credentials_that_are_refused_are_found(run: Run, server: Serving) -> None:
    assert troubles(findings(run, "--token", "rk_wrong", status=4)) == [("credentials", "failure")]


def test_what_a_plain_user_may_not_check_is_told(run: Run, home: Path) -> None:
    with serving(home):
        token = json.loads(run("tokens", "create", "alice", "--json").stdout)["secret"]
        assert troubles(findings(run, "--token", token, status=0)) == [("log", "warning")]


# -- checks of what cannot be planted on this machine


def test_an_old_python_is_found() -> None:
    assert doctor.python((3, 11, 0)).level == "ok"
    assert doctor.python((3, 10, 9)).level == "failure"


def test_an_old_sqlite_and_missing_libraries_are_found() -> None:
    assert doctor.libraries({"apsw": "3.51.3.0", "httpx": "1"}).level == "ok"
    assert doctor.libraries({"apsw": "3.51.2.0", "httpx": "1"}).level == "failure"
    assert doctor.libraries({"apsw": "3.54.1.0", "httpx": "unknown"}).level == "failure"


@pytest.mark.parametrize(
    ("free", "level"), [(50 << 20, "failure"), (500 << 20, "warning"), (2 << 30, "ok"), (0, "failure")]
)
def test_a_disk_that_fills_up_is_found(free: int, level: str) -> None:
    assert doctor.disk(free).level == level


@pytest.mark.parametrize(
    ("mounts", "level"),
    [
        (["/dev/sda / ext4 rw 0 0", "server:/x /data nfs4 rw 0 0"], "failure"),
        (["/dev/sda / ext4 rw 0 0", "x /data fuse.sshfs rw 0 0"], "failure"),
        (["server:/x / nfs rw 0 0", "/dev/sdb /data xfs rw 0 0"], "ok"),
        (["/dev/sda / ext4 rw 0 0", "server:/x /dat nfs4 rw 0 0"], "ok"),
        (["server:/x /data\\040disk nfs rw 0 0"], "ok"),
        ([], "ok"),
    ],
)
def test_a_network_file_system_is_found(mounts: list[str], level: str) -> None:
    assert doctor.file_system(Path("/data/recollect"), mounts).level == level


def test_a_clock_before_its_time_is_found() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert doctor.clock(now, None) == Finding("clock", "ok", "not behind the log")
    assert doctor.clock(now - timedelta(days=800), None).level == "failure"
