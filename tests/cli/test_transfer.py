"""Export and import: a round trip loses nothing, and neither a kill nor a cut-off file does harm."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.typed import lines_of, started, typed
from tests.sizes import sized

import recollect

HISTORY = ("revision", "value", "attributes", "updated_at", "expires_at", "end_reason", "archived")


def filled(home: Path, count: int) -> None:
    """A store with updates, deletions, expiries, archived items and awkward names."""
    # Values of deleted items are kept, because what was swept away cannot be compared.
    with recollect.open_sync(home, settings=recollect.Settings(keep_deleted_seconds=None)) as memories:
        for number in range(count):
            where = ["user", f"u{number % 3}", "a/b %\x1b"]
            memories.put(where, f"k{number % 97}", {"n": number, "text": "é" * (number % 50)}, attributes={"n": number})
            if number % 7 == 0:
                memories.delete(where, f"k{number % 97}")
            elif number % 11 == 0:
                memories.archive(where, f"k{number % 97}")
        memories.put(["user", "u0"], "short", {"text": "gone soon"}, ttl=0.001)
        time.sleep(0.01)
        memories.sweep()


def told(home: Path) -> dict[str, Any]:
    """Every key with its whole history, as comparable values."""
    with recollect.open_sync(home) as memories:
        keys = {(event.namespace, event.key) for page in pages(memories) for event in page}
        return {
            f"{namespace} {key}": [
                tuple(getattr(version, name) for name in HISTORY) for version in memories.history(namespace, key)
            ]
            for namespace, key in sorted(keys)
        }


def pages(memories: recollect.MemoriesSync) -> list[recollect.Events]:
    """The whole log."""
    found: list[recollect.Events] = []
    cursor: str | None = None
    while not found or not found[-1].complete:
        found.append(memories.events(after=cursor, limit=1_000))
        cursor = found[-1].cursor
    return found


def lost(source: Path, target: Path) -> list[str]:
    """The keys whose history is not the same in both."""
    mine, theirs = told(source), told(target)
    return [key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key)]


def test_a_round_trip_keeps_every_version(run: Run, behind: Path, home: Path, tmp_path: Path) -> None:
    source, file, target = tmp_path / "source", tmp_path / "e.jsonl", tmp_path / "target"
    filled(source, 150)
    assert run("export", str(file), "--home", str(source), "--tenant", "default").exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    header, *entries, trailer = lines_of(file.read_bytes())
    assert header.keys() == {"recollect_export", "source", "total", "exported_at"}
    assert trailer == {"end": True, "entries": len(entries)}
    done = json.loads(run("import", str(file), "--json").stdout)
    assert done["imported"] == len(entries)
    assert done["complete"] is True
    again = json.loads(run("import", str(file), "--json").stdout)
    assert (again["imported"], again["skipped"]) == (0, len(entries))
    copied = run("export").stdout_bytes
    run("import", "-", "--home", str(target), "--tenant", "default", given=copied)
    assert lost(source, target) == []


def test_an_entry_that_goes_missing_is_noticed(run: Run, home: Path, tmp_path: Path) -> None:
    file, target = tmp_path / "e.jsonl", tmp_path / "target"
    filled(home, 60)
    run("export", str(file))
    header, *entries, _ = file.read_bytes().splitlines(keepends=True)
    planted = [header, *entries[:20], *entries[21:], b'{"end":true,"entries":%d}\n' % (len(entries) - 1)]
    file.write_bytes(b"".join(planted))
    assert run("import", str(file), "--home", str(target)).exit_code == 0
    assert lost(home, target) != []


@sized(1, 25)
def test_a_killed_import_goes_on_where_it_was(run: Run, home: Path, tmp_path: Path, count: int) -> None:
    file = tmp_path / "e.jsonl"
    filled(home, 1_200)
    run("export", str(file))
    for attempt in range(count):
        target = tmp_path / f"target{attempt}"
        kills = 0
        while (progress := reached(target)) < 1_200 and kills < 40:
            process = started(target, "import", str(file), "--quiet", stdout=subprocess.PIPE)
            while process.poll() is None and reached(target) == progress:
                time.sleep(0.002)
            process.kill()
            kills += process.communicate() is not None and process.returncode == -9
        assert kills > 0
        done = typed(target, "import", str(file), "--json")
        assert json.loads(done.stdout)["complete"] is True
        assert lost(home, target) == []
        with recollect.open_sync(target) as memories:
            assert memories.verify().sound


def reached(home: Path) -> int:
    """How many events a store has that another process may be making this very moment."""
    if not (home / "recollect.db").exists() or not (home / "keys" / "wrapped.db").exists():
        return 0
    try:
        with recollect.open_sync(home) as memories:
            return int(memories.head().partition(":")[0])
    except recollect.RecollectError:
        return 0


@pytest.mark.parametrize("kept", [0.9, 0.5])
def test_a_file_that_was_cut_off_is_imported_as_far_as_it_goes(
    run: Run, home: Path, tmp_path: Path, kept: float
) -> None:
    file, target = tmp_path / "e.jsonl", tmp_path / "target"
    filled(home, 100)
    run("export", str(file))
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)])
    cut = run("import", str(file), "--home", str(target), "--json")
    assert cut.exit_code == 1
    assert "cut off" in json.loads(cut.stderr)["error"]
    assert json.loads(cut.stdout)["complete"] is False
    assert json.loads(cut.stdout)["imported"] == whole[: int(len(whole) * kept)].count(b"\n") - 1
    file.write_bytes(whole)
    assert run("import", str(file), "--home", str(target)).exit_code == 0
    assert lost(home, target) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not an export"),
        ("{}\n", "not an export"),
        ("hello\n", "not an export"),
        ('{"recollect_export": 2, "source": "x"}\n', "not an export"),
        ('{"recollect_export": 1, "source": "x"}\n', "a source is the text that an export gives"),
        ('{"recollect_export": 1, "source": "%s"}\nnonsense\n' % ("a" * 64), "line 2 is not an entry"),
        ('{"recollect_export": 1, "source": "%s"}\n{"sequence": 1}\n' % ("a" * 64), "an entry has"),
        ('{"recollect_export": 1, "source": "%s"}\n{"end": true, "entries": 3}\n' % ("a" * 64), "3 entries, but 0"),
        ('{"recollect_export": 1, "source": "%s"}\n' % ("a" * 64), "cut off after 0"),
    ],
)
def test_what_is_no_export_is_refused_with_the_reason(run: Run, text: str, why: str) -> None:
    done = run("import", "-", given=text)
    assert done.exit_code == 1
    assert why in done.stderr


def test_an_export_is_not_taken_back_by_the_log_that_it_came_from(run: Run) -> None:
    run("put", "user/a", "k", "v")
    assert "this very log" in run("import", given=run("export").stdout_bytes).stderr


def test_an_export_replaces_no_file_unless_told_to_and_leaves_nothing_half_done(run: Run, tmp_path: Path) -> None:
    run("put", "user/a", "k", "v")
    file = tmp_path / "out" / "e.jsonl"
    assert run("export", str(file)).exit_code == 1
    file.parent.mkdir()
    file.write_text("mine")
    refused = run("export", str(file))
    assert (refused.exit_code, file.read_text()) == (1, "mine")
    assert json.loads(run("export", str(file), "--force", "--json").stdout) == {"file": str(file), "entries": 1}
    assert [path.name for path in file.parent.iterdir()] == ["e.jsonl"]


def test_a_later_export_of_the_same_log_adds_only_what_is_new(run: Run, tmp_path: Path) -> None:
    target = ("--home", str(tmp_path / "target"))
    run("put", "user/a", "k", "one")
    run("import", *target, given=run("export").stdout_bytes)
    run("put", "user/a", "k", "two")
    second = json.loads(run("import", *target, "--json", given=run("export").stdout_bytes).stdout)
    assert (second["imported"], second["skipped"]) == (1, 1)


def test_pages_of_an_import_stay_small_enough_for_a_server(run: Run, behind: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    with recollect.open_sync(source) as memories:
        for number in range(9):
            memories.put(["user", "a"], f"k{number}", {"text": "x" * 900_000})
    exported = run("export", "--home", str(source), "--tenant", "default").stdout_bytes
    done = run("import", "--json", given=exported)
    assert json.loads(done.stdout)["imported"] == 9
