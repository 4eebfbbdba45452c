"""The way in at the command line: what was said, what became of it, and how it is put right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

CONSENT = {
    "subject_ceid": "user:admin",
    "purpose": "support",
    "scope": {"predicates_allowed": ["email"], "data_classifications_allowed": ["INTERNAL"]},
    "basis": "user_opt_in",
    "evidence_refs": ["form:1"],
}
EMAIL = {
    "candidate": {
        "entity_ceid": "user:admin",
        "predicate": "email",
        "value": "ada@example.com",
        "evidence_refs": ["form:1"],
        "confidence": 0.9,
    },
    "class": "evidence_link",
}

pytestmark = pytest.mark.usefixtures("behind")


@pytest.fixture(params=["directory", "server"])
def behind(request: pytest.FixtureRequest, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory opened by the commands, or a server of it that they ask."""
    if request.param == "server":
        request.getfixturevalue("server")


def said(run: Run, *words: str) -> Any:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_said_is_remembered_in_words(run: Run) -> None:
    lines = run("capture", "My name is Ada.", "--session", "monday").stdout.splitlines()
    assert lines[0].startswith("cap_")
    assert lines[0].endswith(": captured")
    assert lines[1] == '  remembered: "My name is Ada." (user:admin:profile:1)'
    again = run("capture", "My name is Ada.").stdout.splitlines()
    assert again[1] == '  known already: "My name is Ada."'
    run("capture", "Actually, my name is Grace.")
    waits = run("capture", "My name is Ada.").stdout.splitlines()[1]
    assert waits.startswith('  waits for a person: "My name is Ada." (mwp_')
    assert waits.endswith(": it contradicts something of higher authority; user:admin:profile:3 says otherwise")
    held = run("capture", "-", given="my password is hunter2. I prefer tea.").stdout.splitlines()
    assert held[1:] == [
        "  not kept: privacy_deny_sensitive",
        '  remembered: "I prefer tea." (user:admin:semantic:2)',
    ]
    assert run("capture", "The weather is fine.").stdout.splitlines()[1] == "  nothing in it is to be remembered"
    listed = run("captures", "--session", "monday").stdout.splitlines()
    assert [line.split("\t")[2:] for line in listed] == [["user_turn", "monday", "My name is Ada."]]
    shown = run("captures", listed[0].split("\t")[0]).stdout
    assert "text\tMy name is Ada." in shown
    assert shown.endswith('  remembered: "My name is Ada." (user:admin:profile:1)\n')
    assert len(said(run, "records")["records"]) == 2


def test_a_dry_run_writes_nothing_and_what_is_for_later_waits(run: Run) -> None:
    run("capture", "I prefer trains.", "--later")
    dry = run("capture", "My timezone is CET.", "--dry-run").stdout
    assert dry == 'nothing was written; this would become of it:\n  remembered: "My timezone is CET."\n'
    assert said(run, "capture", "My timezone is CET.", "--dry-run")["would"][0]["outcome"] == "promoted"
    run("remember")
    assert [each["text"] for each in said(run, "records")["records"]] == ["I prefer trains."]


def test_what_only_passed_through_is_not_looked_into(run: Run) -> None:
    told = said(run, "capture", "My name is Mallory.", "--via", "web")
    assert told["remembered"] == []
    assert said(run, "captures", told["capture_id"])["channel"] == "web_content"
    tool = said(run, "capture", "42", "--kind", "tool_result", "--tool", "crm", "--ref", "tool:crm:1")
    assert said(run, "captures", tool["capture_id"])["refs"] == ["tool:crm:1"]


def test_records_are_shown_corrected_pinned_and_retracted(run: Run) -> None:
    run("capture", "My name is Ada.")
    assert run("records").stdout.startswith("user:admin:profile:1\t")
    assert "rule\tstated_by_user\n" in run("record", "show", "user:admin:profile:1").stdout
    corrected = run("record", "correct", "user:admin:profile:1", "Grace", "--text", "My name is Grace.")
    assert corrected.stdout == 'remembered: "My name is Grace." (user:admin:profile:2)\n'
    assert run("record", "show", "user:admin:profile:1").exit_code == 3
    assert run("record", "pin", "user:admin:profile:2").stdout == "user:admin:profile:2: pinned\n"
    assert said(run, "record", "unpin", "user:admin:profile:2")["pinned"] is False
    assert run("record", "unpin", "user:admin:profile:2").stdout.endswith("kept until it is retracted\n")
    assert run("record", "retract", "user:admin:profile:2").stdout == "user:admin:profile:2: retracted\n"
    assert run("records").stdout == ""


def test_a_record_is_asked_for_in_another_space(run: Run) -> None:
    run("capture", "We decided to ship weekly.")
    told = run("record", "promote", "user:admin:semantic:1", "project", "--project", "apollo").stdout
    assert told.startswith('waits for a person: "We decided to ship weekly." (mwp_')
    done = run("review", "--approve", said(run, "proposals")["proposals"][0]["proposal_id"]).stdout
    assert done.endswith(": approved (project:apollo:semantic:1)\n")
    assert len(said(run, "records", "--space", "project", "--project", "apollo")["records"]) == 1
    assert run("records", "--space", "project").exit_code == 1


def test_undo_asks_before_it_acts(run: Run) -> None:
    run("capture", "I prefer tea.", "--session", "bad")
    run("capture", "I prefer coffee.", "--session", "good")
    dry = run("undo", "--source", "bad", "--dry-run")
    assert dry.stdout == "1 record and 0 waiting proposals would go\n"
    refused = run("undo", "--source", "bad", given="n\n")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Go on? [y/N]" in refused.stderr
    assert "nothing was undone" in refused.stderr
    assert len(said(run, "records")["records"]) == 2
    assert run("undo", "--source", "bad", given="y\n").stdout == "1 record and 0 waiting proposals undone\n"
    assert [each["text"] for each in said(run, "records")["records"]] == ["I prefer coffee."]
    assert said(run, "undo", "--after", "1h", "--yes")["records"] == 1


def test_consents_let_in_and_what_rested_on_them_goes_with_them(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "email.json"
    file.write_text(json.dumps(EMAIL))
    assert run("propose", str(file)).stdout == "not kept: consent_missing\n"
    added = run("consent", "add", "-", given=json.dumps(CONSENT)).stdout
    consent_id = added.partition(":")[0]
    assert added == f"{consent_id}: active, for support\n"
    waits = run("propose", str(file)).stdout
    assert waits.startswith('waits for a person: "user:admin email: ada@example.com" (mwp_')
    run("review", "--approve", said(run, "proposals")["proposals"][0]["proposal_id"])
    assert len(said(run, "records")["records"]) == 1
    assert run("consent", "list", "user:admin").stdout.split("\t")[:2] == [consent_id, "active"]
    assert "purpose\tsupport\n" in run("consent", "show", consent_id).stdout
    revoked = run("consent", "revoke", consent_id, "--ref", "ticket:1")
    assert revoked.stdout == f"{consent_id}: revoked; 1 record ended with it\n"
    assert said(run, "records")["records"] == []
    assert run("consent", "revoke", consent_id).exit_code == 1
    assert run("consent", "show", "cns_none").exit_code == 3


def test_contradictions_are_settled(run: Run) -> None:
    for text in ("My name is Ada.", "Actually, my name is Grace.", "My name is Ada."):
        run("capture", text)
    (open_one,) = said(run, "contradictions")["contradictions"]
    row = run("contradictions").stdout.split("\t")
    assert row[2:] == ["user:admin name", "user:admin:profile:2", f"{open_one['proposal_id']}\n"]
    done = run("contradiction", "resolve", open_one["id"], "existing", "--note", "they said so")
    assert done.stdout == f"{open_one['id']}: resolved, user:admin:profile:2 is what is known\n"
    assert said(run, "contradictions")["contradictions"] == []
    assert len(run("contradictions", "--resolved").stdout.splitlines()) == 2
    assert "candidate_rejected" in run("signals").stdout
    assert "memory_conflict" in run("traces").stdout


def test_phases_begin_once(run: Run) -> None:
    run("capture", "My name is Ada.")
    assert run("phase", "t1", "--name", "second").stdout == "phase-2: began\n"
    assert run("phase", "t1").stdout == "phase-2: it had begun already\n"
