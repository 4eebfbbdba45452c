"""Moving house: a backup taken while others write, and an export that is cut off and goes on, lose nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.sizes import sized

import recollect
from recollect.testing.servers import Server, running
from recollect_client import Client
from recollect_client.errors import ConnectionFailed, ShuttingDown

PROGRAM = [sys.executable, "-m", "recollect"]
BATCH = 500
ALICE, BOB = ("user", "alice"), ("user", "bob")


def shell(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "--home", str(home), "--quiet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[Server, Client]]:
    """A server that somebody writes to all the time."""
    with running(tmp_path / "old") as server, Client(server.url, server.token) as client:
        over = threading.Event()

        def write() -> None:
            with Client(server.url, server.token, retries=0) as writer, suppress(ConnectionFailed, ShuttingDown):
                count = 0
                while not over.is_set():
                    writer.put(("user", "writer"), f"k{count % 50}", {"n": count})
                    count += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield server, client
        finally:
            over.set()
            thread.join()


def test_a_backup_taken_while_others_write_is_a_whole_house(writing: tuple[Server, Client], tmp_path: Path) -> None:
    server, client = writing
    client.put(ALICE, "kept", {"text": "black tea"})
    client.put(BOB, "to be forgotten", {"text": "canary"})
    seen = client.events(limit=5)
    client.backup(tmp_path / "copy.db")
    client.put(ALICE, "later", {"text": "not in the backup"})
    receipt = client.erase("user:bob")
    assert receipt.versions == 1
    server.stop()

    shell(
        "restore", str(tmp_path / "copy.db"), str(tmp_path / "new"), "--keys", str(server.home), home=tmp_path / "new"
    )

    with running(tmp_path / "new") as moved, Client(moved.url, server.token) as there:
        assert there.verify().sound
        found = there.get(ALICE, "kept")
        assert found is not None
        assert found.value == {"text": "black tea"}
        assert there.get(ALICE, "later") is None
        assert there.get(BOB, "to be forgotten") is None, "an erasure done after the backup holds in what is restored"
        assert [event.detail and event.detail["subject"] for event in there.events(kinds=["erased"])] == ["user:bob"]
        going_on, last = there.events(after=seen.cursor, limit=200), seen.events[-1].sequence
        assert [event.sequence for event in going_on] == list(range(last + 1, last + 1 + len(going_on.events)))
        assert going_on.events
    assert b"canary" not in b"".join(file.read_bytes() for file in (tmp_path / "new").rglob("*") if file.is_file())


def filled(home: Path, items: int) -> None:
    """So many items, each with a history: two versions, some archived, some deleted, some that expire."""
    with recollect.open_sync(home) as memories:
        for start in range(0, items, BATCH):
            keys = range(start, min(start + BATCH, items))
            for text in ("first", "second"):
                memories.batch([_put(n, text) for n in keys])
            memories.batch([recollect.DeleteOp(_place(n), f"k{n}") for n in keys if n % 10 == 9])
            memories.archive(_place(start), f"k{start}")


def _place(n: int) -> tuple[str, ...]:
    return ("user", f"u{n % 100}", "notes")


def _put(n: int, text: str) -> recollect.PutOp:
    ttl = 86_400.0 if n % 7 == 0 else None
    return recollect.PutOp(_place(n), f"k{n}", {"text": text, "n": n}, attributes={"topic": n % 5}, ttl=ttl)


def told(home: Path) -> list[dict[str, Any]]:
    """All that an export tells, but for where it comes from."""
    lines = [json.loads(line) for line in shell("export", home=home).stdout.splitlines()]
    return [{name: value for name, value in line.items() if name != "sequence"} for line in lines[1:]]


def piped(old: Path, new: Path) -> int:
    """`recollect export | recollect import`."""
    giving = subprocess.Popen([*PROGRAM, "--home", str(old), "--quiet", "export"], stdout=subprocess.PIPE)
    taking = subprocess.Popen([*PROGRAM, "--home", str(new), "--quiet", "import"], stdin=giving.stdout)
    assert giving.stdout is not None
    giving.stdout.close()
    try:
        return taking.wait(1_800)
    finally:
        giving.kill()
        giving.wait()


def killed_on_the_way(lines: list[str], new: Path, share: float) -> int:
    """An import that is given so much of an export and killed once it has taken some; how far it got."""
    source = json.loads(lines[0])["source"]
    part = lines[: int(len(lines) * share)]
    before = reached(new, source)
    taking = subprocess.Popen([*PROGRAM, "--home", str(new), "--quiet", "import"], stdin=subprocess.PIPE, text=True)
    assert taking.stdin is not None
    try:
        taking.stdin.writelines(f"{line}\n" for line in part)
        taking.stdin.flush()
        until = time.monotonic() + 60
        while reached(new, source) == before and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        taking.kill()
        taking.wait()
        with suppress(BrokenPipeError):
            taking.stdin.close()
    return reached(new, source)


def reached(home: Path, source: str) -> int:
    with recollect.open_sync(home) as memories:
        return memories.import_progress(source)


@sized(1_500, 50_000)
def test_an_export_piped_into_an_import_is_the_same_house_even_if_killed_on_the_way(count: int, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    filled(old, count)
    lines = shell("export", home=old).stdout.splitlines()
    far = [killed_on_the_way(lines, new, share) for share in (0.35, 0.7, 0.95)]
    assert far == sorted(set(far)), "each import goes on where the one before was killed"
    assert far[-1] < len(lines)
    began = time.monotonic()
    assert piped(old, new) == 0
    print(f"moved {count} items: killed at entries {far}, the rest in {time.monotonic() - began:.0f} s")
    assert told(new) == told(old)
    for home in (old, new):
        shell("verify", home=home)
    with recollect.open_sync(new) as memories:
        versions = memories.history(_place(0), "k0")
        assert [version.value and version.value["text"] for version in versions] == ["second", "second", "first"]
        assert versions[0].archived
