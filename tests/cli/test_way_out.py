"""The way out at the command line: what is given, why, and whether it would be given again, in words and in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("behind")


def said(run: Run, *words: str) -> Any:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_recalled_says_why_since_when_and_from_where(run: Run) -> None:
    capture = said(run, "capture", "My name is Ada.", "--session", "monday")["capture_id"]
    run("capture", "I prefer tea.", "--session", "monday")
    first, why, since, second, *_ = run("recall", "What do I prefer?", "--wait", "20").stdout.splitlines()
    assert first == "1. I prefer tea. (a suggestion)"
    assert why == "    why: matches_query, recency, importance, space:user"
    assert since.startswith("    since ")
    assert since.endswith(" (user:admin:semantic:1)")
    assert second == "2. My name is Ada."
    told = run("recall", "--kind", "profile")
    assert f"from {capture} (user:admin:profile:1)" in told.stdout
    assert "recollect trace trc_" in told.stderr
    assert said(run, "recall", "--kind", "profile")["counts"]["user"] == 1
    ranked = run("recall", "tea", "--explain", "--wait", "20").stdout
    assert "    ranked by similarity 1 × 0.9709, recency 1 × 0.01942, importance 0.8 × 0.009709\n" in ranked
    assert "    given 3 times so far, last " in run("recall", "tea", "--usage", "--wait", "20").stdout
    empty = run("recall", "--tier", "durable")
    assert (empty.stdout, "nothing is remembered that answers it" in empty.stderr) == ("", True)


def test_history_and_borders_are_told(run: Run) -> None:
    for text in ("My name is Ada.", "Actually, my name is Grace."):
        run("capture", text)
    told = run("recall", "--history").stdout
    assert told.index("Actually, my name is Grace.") < told.index("My name is Ada.")
    assert " until " in told
    run("capture", "My name is Ada.")
    assert "unsettled: user:admin name (ctr_" in run("recall").stdout
    assert "session was not read: " in run("recall", "--space", "user", "--space", "session").stderr


def test_a_context_is_text_for_a_prompt_within_its_budget(run: Run) -> None:
    run("capture", "My name is Ada.")
    run("capture", "I prefer tea.")
    whole = run("context", "What do I prefer?", "--wait", "20")
    assert whole.stdout.startswith("<recollect-data ")
    assert '- "I prefer tea." [' in whole.stdout
    small = run("context", "What do I prefer?", "--budget", "90", "--wait", "20")
    assert "of 90 tokens\n" in small.stderr
    assert "left out: user:admin:semantic:1 (budget)" in small.stderr
    (message,) = json.loads(run("context", "--form", "messages").stdout)
    assert message["role"] == "user"
    state = json.dumps({"turns": [{"id": "t1", "text": "Shall we?"}]})
    assert "Shall we?" in said(run, "context", "--state", state)["text"]


def test_turns_are_taken_and_replayed(run: Run, tmp_path: Path) -> None:
    lines = run("turn", "monday", "My name is Ada.", "--ai", "Hello Ada.").stdout.splitlines()
    assert lines[0] == "turn 1 of monday, by the profile default version 0"
    assert '  written: "My name is Ada." (session:admin/monday:short_term:1)' in lines
    again = run("turn", "monday", "What is my name?", "--tool-event", '{"tool": "clock"}').stdout
    assert 'recalled: "My name is Ada." (session:admin/monday:short_term:1)' in again
    assert said(run, "turn", "monday", "Thanks.", "--no-recall")["recalled"] is None
    assert run("turn", "monday", "What is my name?", "--ask").stdout.endswith("  nothing was written\n")
    replayed = run("replay", "monday")
    assert (replayed.exit_code, replayed.stdout.startswith("equal: 4 turns of monday, ")) == (0, True)
    assert said(run, "replay", "monday")["differences"] == []
    assert run("replay", "tuesday").exit_code == 3
    settings = tmp_path / "careful.json"
    settings.write_text(json.dumps({"semantic": True, "write_policy": "none"}))
    assert run("profile", "put", "careful", str(settings)).stdout == "careful: version 1\n"
    assert run("profile", "put", "careful", str(settings), "--expected-version", "0").exit_code == 1
    assert "write_policy\tnone\n" in run("profile", "show", "careful").stdout
    assert [line.split("\t")[0] for line in run("profile", "list").stdout.splitlines()] == ["careful", "default"]
    assert run("turn", "tuesday", "x", "--profile", "careful").stdout.startswith(
        "turn 1 of tuesday, by the profile care"
    )


def test_a_difference_in_a_replay_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"turn": 2, "event": 1, "type": "memory_recall", "path": "query", "recorded": "a", "replayed": "b"}
    told = {"session": "s", "equal": False, "turns": 2, "events": 4, "hashes": [], "forgotten": []}
    told["differences"] = [found | {"rule": "recall"}, found | {"rule": "recall"}]
    for door in ("recollect.sync.MemoriesSync.replay", "recollect_client.Client.replay"):
        monkeypatch.setattr(door, lambda *_: told)
    run("capture", "My name is Ada.")
    done = run("replay", "s")
    assert done.exit_code == 1
    assert done.stdout == 'different: turn 2, event 1 (memory_recall), query: "a" then, "b" now (rule: recall)\n'
    assert "and 1 more difference" in done.stderr
    told |= {"differences": [], "forgotten": [{"turn": 1, "records": ["user:admin:profile:1"]}]}
    assert run("replay", "s").stdout == ("turn 1 cannot be compared: nobody can read user:admin:profile:1 any more\n")


def test_the_way_of_a_record_is_told_from_capture_to_recall(run: Run) -> None:
    run("capture", "I prefer tea.", "--session", "monday")
    trace = said(run, "recall", "tea", "--wait", "20")["trace_id"]
    lines = run("why", "user:admin:semantic:1").stdout.splitlines()
    assert "user said “I prefer tea.” in session monday" in lines[0]
    assert any("by rule stated_by_user" in line and "[proposal:mwp_" in line for line in lines)
    assert "recalled in place 1 for “tea”" in lines[-1]
    assert lines[-1].endswith(f"[trace:{trace}#1]")
    assert said(run, "why", "user:admin:semantic:1")["record"]["text"] == "I prefer tea."
    assert run("why", "user:admin:semantic:9").exit_code == 3
    assert run("why-not", "my password is hunter2").stdout == "now: not kept: privacy_deny_sensitive\n"
    for text in ("My name is Ada.", "Actually, my name is Grace."):
        run("capture", text)
    past = run("why-not", "My name is Ada.").stdout.splitlines()
    assert past[0] == "it was remembered: user:admin:profile:1, superseded by user:admin:profile:2"
    assert past[-1].startswith("now: waits for a person")
    assert run("why-not", "The weather is fine.").stdout == "now: nothing in it is to be remembered\n"


def test_traces_are_shown_one_by_one_filtered_and_in_full(run: Run) -> None:
    run("capture", "I prefer tea.")
    trace = said(run, "recall", "tea", "--wait", "20")["trace_id"]
    rows = [line.split("\t") for line in run("trace", trace).stdout.splitlines()]
    assert [(row[0], row[2]) for row in rows][:2] == [(trace, "memory_recall"), (trace, "memory_border_check")]
    assert {row.split("\t")[0] for row in run("trace", "--type", "memory_recall").stdout.splitlines()} == {trace}
    assert said(run, "trace", "--cause", "recall")["traces"][0]["id"] == trace
    plain = run("trace", trace, "--plain").stdout
    assert plain.startswith("ai_profile: recall\n")
    assert "\n\naction: read\n" in plain
    assert run("trace", "--since", "1h", "--record", "user:admin:semantic:1").stdout
    assert "nothing was decided" in run("trace", "--session", "nowhere").stderr
    assert run("trace", "trc_none").exit_code == 3


def test_phases_are_compared_and_loads_are_listed(run: Run) -> None:
    run("phase", "one")
    run("capture", "I prefer tea.")
    run("phase", "two")
    run("capture", "I prefer coffee.")
    assert run("diff", "phase-1", "phase-2", "--space", "user").stdout == (
        "+ user:admin:semantic:2\n1 added, 0 deleted, 0 replaced\n"
    )
    assert run("diff", "phase-1", "phase-2", "--space", "project").exit_code == 1
    run("put", "user/admin/notes", "k", "v")
    run("get", "user/admin/notes", "k")
    assert "loaded 1 time before" in run("get", "user/admin/notes", "k", "--usage").stderr
    assert said(run, "get", "user/admin/notes", "k", "--usage")["usage"]["fetch_count"] == 2
    assert run("usage", "top", "user/admin/notes").stdout.startswith("user/admin/notes k\t3\t")
    assert run("usage", "show", "user/admin/notes", "k").stdout.startswith("user/admin/notes k: loaded 3 times, last ")
    assert run("usage", "show", "user/admin/notes", "none").exit_code == 3
    assert "nothing was loaded" in run("usage", "top", "user/nobody").stderr
