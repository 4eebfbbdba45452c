"""What administrators do beside the policy: read in a user's place, delete by id, watch, and change settings."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import said, told
from tests.cli.test_policy import LANGUAGES
from tests.cli.typed import PATIENCE, Serving, lines_of, started


@pytest.mark.usefixtures("behind")
def test_every_read_in_a_users_place_is_written_down(run: Run) -> None:
    written = told(run, "put", "user/alice/notes", "tea", "green")
    run("put", "user/bob", "his", "v")
    view = ("--as-user", "alice", "--why", "Prüfung 4711")
    assert json.loads(said(run, "get", "user/alice/notes", "tea", *view)) == {"text": "green"}
    assert told(run, "get", "--id", written["id"], *view)["key"] == "tea"
    assert [each["key"] for each in told(run, "search", *view)["items"]] == ["tea"]
    assert len(lines_of(run("search", "--all", "--json", *view).stdout)) == 1
    assert told(run, "ls", *view) == {"namespaces": [["user", "alice", "notes"]]}
    assert len(told(run, "history", "user/alice/notes", "tea", *view)["versions"]) == 1
    assert [each["key"] for each in told(run, "log", *view)["events"]] == ["tea"]
    assert json.loads(run("get", "user/bob", "his", *view, "--json").stderr)["code"] == "forbidden"
    assert told(run, "get", "user/bob", "his", "--why", "on duty")["key"] == "his"
    entries = told(run, "audit", "--action", "justified_read")["entries"]
    assert [each["details"]["call"] for each in entries][::-1] == [
        *["get", "get_by_id", "search", "search", "list_namespaces", "history", "events", "get", "get"]
    ]
    assert {each["justification"] for each in entries} == {"Prüfung 4711", "on duty"}
    row = said(run, "audit", "--limit", "1").split("\t")
    assert row[1] == "justified_read"
    assert row[3] == "on duty"
    more = run("audit", "--limit", "1")
    assert "there is more: repeat it with --cursor" in more.stderr


@pytest.mark.usefixtures("behind")
def test_a_memory_is_deleted_by_its_id_with_a_reason(run: Run) -> None:
    written = told(run, "put", "user/alice", "k", "v")
    assert said(run, "rm", "--id", written["id"], "--why", "unlawful") == f"{written['id']}: deleted\n"
    assert run("get", "user/alice", "k").exit_code == 3
    assert run("rm", "--id", written["id"], "--why", "again").exit_code == 3
    (entry,) = told(run, "audit")["entries"]
    assert (entry["action"], entry["justification"]) == ("force_deleted", "unlawful")
    again = told(run, "put", "user/alice", "k", "v")
    assert told(run, "rm", "--id", again["id"], "--why", "unlawful") == {"id": again["id"], "kind": "delete"}


def test_settings_are_changed_while_the_service_runs_and_taken_back(run: Run, server: Serving) -> None:
    assert "max_depth\t10\t\n" in said(run, "settings", "show")
    changed = said(run, "settings", "set", "max_depth=3", "sweep_seconds=0.5")
    assert changed.splitlines()[:2] == ["max_depth\t3\tchanged at run time", "sweep_seconds\t0.5\tchanged at run time"]
    assert run("put", "a/b/c/d", "k", "v").exit_code == 1
    assert told(run, "settings", "show")["changed"] == ["max_depth", "sweep_seconds"]
    assert told(run, "settings", "unset", "max_depth", "sweep_seconds")["changed"] == []
    assert run("put", "a/b/c/d", "k", "v").exit_code == 0
    for words in ("max_depth=65", "max_depth=0", "port=1"):
        assert run("settings", "set", words).exit_code == 1
    assert run("settings", "unset", "port").exit_code == 1
    actions = [each["action"] for each in told(run, "audit", "--service")["entries"]]
    assert actions == ["settings_changed", "settings_changed"]


def test_options_before_a_command_of_the_settings_count_for_it(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "there"
    run("put", "user/a", "k", "v", "--home", str(there))
    assert json.loads(run("settings", "--home", str(there), "--json", "show").stdout)["changed"] == []
    assert run("settings", "show").exit_code == 1
    assert json.loads(run("--home", str(there), "settings", "--json").stdout)["file"].startswith(str(there))


def test_the_end_of_an_extraction_is_waited_for(run: Run, server: Serving, tmp_path: Path) -> None:
    for number in range(3):
        run("put", "user/a", f"k{number}", '{"lang": "go"}')
    (tmp_path / "attributes.rego").write_text(LANGUAGES)
    assert run("policy", "push", str(tmp_path / "attributes.rego")).exit_code == 0
    status = told(run, "index", "status", "--watch")
    assert (status["extraction"]["running"], status["extraction"]["changed"]) == (False, 3)
    assert len(told(run, "search", "--filter", "lang=go")["items"]) == 3


def test_a_wait_has_an_end(run: Run, server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect_client import Client, Extraction, IndexStatus

    busy = IndexStatus(pending=1_000, extraction=Extraction(running=True, done=1, total=9, changed=0, failed=2))
    monkeypatch.setattr(Client, "index_status", lambda _: busy)
    done = run("index", "status", "--watch", "--timeout", "0.3s")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "attributes\tunder way: 1 of 9 memories, 0 changed, 2 failed",
        "index\t1,000 wait, 0 memories indexed",
        "model\tnone yet",
    ]


def test_another_model_is_shown_and_waited_for(run: Run, server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect_client import Client, Extraction, IndexStatus, Rebuilding

    idle = Extraction(running=False, done=0, total=0, changed=0, failed=0)
    new = Rebuilding(model="new", done=250, total=1_000, started_at=datetime(2026, 1, 1, 12, tzinfo=UTC))
    busy = IndexStatus(pending=3, failed=3, indexed=997, model="old", rebuilding=new, extraction=idle)
    monkeypatch.setattr(Client, "index_status", lambda _: busy)
    done = run("index", "status", "--watch", "--timeout", "0.3s")
    assert done.exit_code == 1
    attributes, *shown, following = done.stdout.splitlines()
    assert attributes == "attributes\tnothing was ever to be done"
    assert shown == ["index\t3 wait (3 failed, and are tried again), 997 memories indexed", "model\told"]
    assert following.startswith("next model\tnew: 25 %, 250 of 1,000 memories, since 2026-01-01 ")
    finished = msgspec.structs.replace(busy, model="new", rebuilding=None)
    monkeypatch.setattr(Client, "index_status", lambda _: finished)
    assert run("index", "status", "--watch", "--timeout", "0.3s").exit_code == 0


def test_what_waits_is_indexed_when_it_is_asked_for(run: Run, home: Path) -> None:
    run("put", "user/a", "k", "v")
    assert said(run, "index", "status").splitlines()[1] == "index\t1 wait, 0 memories indexed"
    alone = run("index", "status", "--watch")
    assert alone.exit_code == 1
    assert "recollect index trigger" in alone.stderr
    shown = said(run, "index", "trigger").splitlines()
    assert shown[1:] == ["index\tup to date, 1 memory indexed", "model\thashing-256"]
    assert told(run, "index", "status", "--watch")["indexed"] == 1


def test_the_log_is_followed_in_a_users_place(run: Run, server: Serving) -> None:
    run("put", "user/alice", "k", "hers")
    run("put", "user/bob", "k", "his")
    words = ("log", "--follow", "--json", "--as-user", "alice", "--why", "on duty")
    with started(server.home, *words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as follower:
        try:
            assert follower.stdout is not None
            assert json.loads(follower.stdout.readline())["value"] == {"text": "hers"}
            run("put", "user/bob", "k", "his again")
            run("put", "user/alice", "k", "hers again")
            assert json.loads(follower.stdout.readline())["value"] == {"text": "hers again"}
        finally:
            follower.terminate()
            follower.wait(PATIENCE)
    assert {each["details"]["call"] for each in told(run, "audit")["entries"]} == {"events"}
