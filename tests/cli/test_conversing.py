"""Conversations at the command line: turns, sessions, what is to be done, who is spoken of; in words and in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("behind")


def said(run: Run, *words: str) -> Any:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_turn_says_what_was_remembered_and_what_is_to_be_done(run: Run) -> None:
    lines = run("talk", "My name is Ada.", "--ai", "Hello Ada.", "--persona", "coach").stdout.splitlines()
    assert lines[0].startswith("turn 1 with coach, in ses_")
    assert lines[0].endswith(", which begins")
    assert lines[1] == '  remembered: "My name is Ada." (user:admin:profile:1)'
    assert run("talk", "Hm.", "--persona", "coach").stdout.endswith("  nothing in it is to be remembered\n")
    promised = run("talk", "I'll call John tomorrow.", "--persona", "coach").stdout
    assert '  to do: "call John tomorrow" (COMMITMENT, tdo_' in promised
    assert (
        '  done: "call John tomorrow" (COMMITMENT, tdo_' in run("talk", "I called John.", "--persona", "coach").stdout
    )
    assert run("talk").exit_code == 1
    assert run("talk", "x", "--session", "ses_" + 32 * "0").exit_code == 3


def test_sessions_are_listed_shown_and_closed(run: Run) -> None:
    first = said(run, "talk", "My name is Ada.", "--ai", "Hello.", "--persona", "coach", "--at", "2h")["session"]["id"]
    told = run("talk", "I prefer tea.", "--persona", "coach").stdout.splitlines()
    assert told[0] == f"{first} is over"
    last = said(run, "session", "list", "--persona", "coach")["sessions"][0]["id"]
    rows = [line.split("\t") for line in run("session", "list").stdout.splitlines()]
    assert [(row[0], row[1], row[3] == "goes on") for row in rows] == [(last, "coach", True), (first, "coach", False)]
    assert "one_liner\t" in run("session", "show", first).stdout
    closed = run("session", "close", last).stdout.splitlines()
    assert closed[0] == f"{last}: over"
    assert len(closed) == 2
    said_then = run("session", "messages", first).stdout.splitlines()
    assert [line.split("\t")[3:] for line in said_then] == [["coach", "Hello."], ["user", "My name is Ada."]]
    assert "nothing was said" in run("session", "messages", "--persona", "nobody").stderr
    assert "message_count\t2\n" in run("session", "state", "--persona", "coach").stdout
    assert run("session", "show", "ses_" + 32 * "0").exit_code == 3
    assert "there are no sessions" in run("session", "list", "--persona", "nobody").stderr


def test_todos_are_added_changed_and_done(run: Run) -> None:
    run("capture", "x")
    assert "there is nothing to do" in run("todo", "list").stderr
    added = run("todo", "add", "Call John", "--persona", "coach").stdout
    assert added.startswith('to do: "Call John" (COMMITMENT, tdo_')
    assert run("todo", "add", "Call John", "--persona", "coach").stdout.startswith("to do already: ")
    (todo,) = [each["id"] for each in said(run, "todo", "list")["todos"]]
    assert run("todo", "change", todo, "--content", "Call Jane").stdout.startswith('changed: "Call Jane"')
    assert run("todo", "done", todo).stdout.startswith('done: "Call Jane"')
    assert run("todo", "skip", todo).stdout.startswith('called off: "Call Jane"')
    row = run("todo", "list", "--status", "SKIPPED").stdout.split("\t")
    assert (row[0], row[1], row[2], row[3]) == (todo, "coach", "COMMITMENT", "SKIPPED")
    assert "reason\tchanged\n" in run("todo", "show", todo).stdout
    assert run("todo", "change", todo).exit_code == 1


def test_personas_and_seeds_are_told(run: Run, tmp_path: Path) -> None:
    described = tmp_path / "coach.json"
    described.write_text(json.dumps({"label": "Coach", "idle_seconds": 60}))
    assert run("persona", "put", "coach", str(described)).stdout == "coach: version 1\n"
    assert run("persona", "put", "coach", str(described), "--expected-version", "0").exit_code == 1
    assert "idle_seconds\t60\n" in run("persona", "show", "coach").stdout
    assert [line.split("\t")[:2] for line in run("persona", "list").stdout.splitlines()] == [
        ["coach", "1"],
        ["default", "0"],
    ]
    assert run("seed", "show").exit_code == 3
    assert run("seed", "put", "Lives in Austin.").stdout == "told to all personas\n"
    assert run("seed", "show").stdout == "Lives in Austin.\n"
    assert run("seed", "delete").stdout == "taken back\n"
    assert run("seed", "delete").stdout == "nothing was told\n"


def test_entities_are_merged_split_and_taken_back(run: Run) -> None:
    run("talk", "My brother Makesh lives in Berlin.")
    run("talk", "My friend Mukesh lives in Austin.")
    assert [line.split("\t")[0] for line in run("entity", "list", "--type", "person").stdout.splitlines()] == [
        "person:mukesh",
        "person:makesh",
    ]
    suggested, this, other, *_ = run("entity", "suggestions").stdout.split("\t")
    assert {this, other} == {"person:makesh", "person:mukesh"}
    accepted = run("entity", "accept", suggested)
    assert accepted.stdout == f"{this} is {other}\n"
    (change,) = re.findall(r"ech_\w+", accepted.stderr)
    shown = run("entity", "show", this).stdout
    assert "My brother Makesh lives in Berlin." in shown
    assert "My friend Mukesh lives in Austin." in shown
    assert run("entity", "undo", change).stdout.startswith(f"{change}: taken back, by ech_")
    assert "Mukesh" not in run("entity", "show", "person:makesh").stdout
    assert run("entity", "merge", "person:makesh", "person:mukesh").stdout.startswith("person:mukesh: Mukesh, Makesh")
    assert run("entity", "put", "person:mukesh", "--alias", "Muki").stdout == "person:mukesh: Mukesh, Makesh, Muki\n"
    assert run("entity", "split", "person:mukesh", "Muki").exit_code == 0
    assert run("entity", "show", "person:nobody").exit_code == 3


def test_a_suggestion_that_is_rejected_is_not_made_again(run: Run) -> None:
    run("talk", "My brother Makesh lives in Berlin.")
    run("talk", "My friend Mukesh lives in Austin.")
    suggested = run("entity", "suggestions").stdout.split("\t")[0]
    assert " is not " in run("entity", "reject", suggested).stdout
    assert "nothing seems to be one" in run("entity", "suggestions").stderr
    assert run("entity", "suggestions", "--status", "rejected").stdout.startswith(suggested)


def test_the_curator_says_what_it_would_do_does_it_and_takes_it_back(run: Run) -> None:
    run("talk", "My name is Ada.")
    assert run("curate").stdout == "everything is in order\n"
    assert "the curator did nothing" in run("curations").stderr
    for each in ("jazz", "tea", "chess"):
        run("talk", f"My friend John likes {each}.")
    would = run("curate", "--dry-run")
    assert would.stdout.startswith("fold: user:admin:semantic:1, user:admin:semantic:2, user:admin:semantic:3 → John: ")
    assert "nothing was changed" in would.stderr
    assert run("curate").stdout == would.stdout
    (name, _, what, *_) = run("curations").stdout.split("\t")
    assert what == "1 action"
    assert run("curate", "undo", name).stdout.startswith("3 memories brought back\n")


def test_a_context_of_a_conversation_is_text_for_a_prompt(run: Run) -> None:
    run("talk", "My name is Ada.", "--persona", "coach")
    run("todo", "add", "Call John", "--persona", "coach")
    told = run("context", "--conversation", "--persona", "coach", "What is my name?", "--wait", "20")
    assert told.stdout.startswith("<recollect-data ")
    assert "Call John" in told.stdout
    assert "of 1,200 tokens\n" in told.stderr
    assert said(run, "context", "--conversation", "--template", "evidence", "x")["persona"] == "default"
    assert run("context", "--conversation", "--template", "unheard-of", "x").exit_code == 1


def test_the_spine_is_told_in_sections(run: Run) -> None:
    run("capture", "x")
    assert run("spine").exit_code == 3
    assert "there is none yet" in run("spine", "--all").stderr
    for number in range(11):
        run("talk", f"My name is Ada. That was {number}.", "--ai", "Yes.")
    told = run("spine")
    assert told.stdout.startswith("PROFILE\n  ")
    assert "version 1, after " in told.stderr
    assert run("spine", "1").stdout == told.stdout
    assert run("spine", "--all").stdout.startswith("1\t")


def test_a_conversation_from_elsewhere_is_taken_over_once(run: Run, tmp_path: Path) -> None:
    lines = [
        {"role": "user", "text": "My name is Ada.", "at": "2025-06-01T09:00:00Z"},
        {"role": "assistant", "text": "Hello Ada.", "at": "2025-06-01T09:00:05Z"},
    ]
    file = tmp_path / "said.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert said(run, "converse", "import", str(file), "--persona", "diary")["taken"] == 1
    assert said(run, "converse", "import", str(file), "--persona", "diary")["taken"] == 0
    (session,) = said(run, "session", "list", "--persona", "diary")["sessions"]
    assert session["started_at"] == "2025-06-01T09:00:00Z"
