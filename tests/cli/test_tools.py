"""The tools at the command line: for programs, as the tools' own text prints them, and for people."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.typed import serving

from recollect.domain.notes import SUGGESTIONS

pytestmark = pytest.mark.usefixtures("behind")

MANUAL = [
    ("memory_store", '{"type": "preference", "content": "User prefers dark mode in all editors"}'),
    ("memory_store", '{"type": "preference", "content": "Prefers functional programming patterns over OOP"}'),
    (
        "memory_store",
        json.dumps(
            {
                "type": "fact",
                "content": "Primary language is TypeScript, secondary is Rust",
                "tags": ["coding", "languages"],
            }
        ),
    ),
    ("memory_store", '{"type": "fact", "content": "Uses pnpm 10.x (upgraded from 9.x)", "supersedes": "mem-abc123"}'),
    ("memory_search", '{"query": "TypeScript"}'),
    ("memory_search", '{"query": "programming language preferences"}'),
    ("memory_search", '{"type": "preference"}'),
    ("memory_search", '{"tags": ["coding", "typescript"]}'),
    ("memory_search", "{}"),
    ("memory_brief", "{}"),
    ("memory_brief", '{"include_provenance": true}'),
    ("memory_delete", '{"id": "mem-abc123"}'),
    ("memory_delete", '{"id": "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c"}'),
]
"""Every example of the text that agents are given with the tools, as it is printed there."""
FIELDS = {
    "memory_store": {
        "id",
        "type",
        "content",
        "behavioral",
        "tags",
        "supersedes",
        "superseded_by",
        "session_id",
        "group",
        "created_at",
    },
    "memory_search": {"results"},
    "memory_brief": {"entries", "generated_at", "entry_count", "brief_count"},
    "memory_delete": {"deleted", "id"},
}


def called(run: Run, tool: str, payload: str, *more: str) -> dict[str, Any]:
    done = run("ipc", f"tool.invoke.{tool}", payload, *more)
    assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    return dict(json.loads(done.stdout))


def refused(run: Run, tool: str, payload: str, *more: str) -> dict[str, Any]:
    done = run("ipc", f"tool.invoke.{tool}", payload, *more)
    assert (done.exit_code, done.stdout) == (1, "")
    return dict(json.loads(done.stderr))


def test_every_example_of_the_manual_runs_as_it_is_printed(run: Run) -> None:
    old = called(run, "memory_store", '{"type": "fact", "content": "Uses pnpm 9.x"}')["id"]
    for tool, printed in MANUAL:
        asked = re.sub(r"mem-[0-9a-f-]+", old, printed)
        given = called(run, tool, asked)
        assert set(given) - {"notice"} == FIELDS[tool], printed
        if tool == "memory_delete":
            old = called(run, "memory_search", '{"query": "dark mode"}')["results"][0]["id"]
    left = called(run, "memory_search", '{"include_superseded": true}')["results"]
    assert sorted(each["content"] for each in left) == [
        "Prefers functional programming patterns over OOP",
        "Primary language is TypeScript, secondary is Rust",
        "Uses pnpm 10.x (upgraded from 9.x)",
    ]


def test_what_is_given_has_the_documented_shape(run: Run) -> None:
    kept = called(run, "memory_store", '{"type": "correction", "content": "Do\\nnot", "tags": ["a"]}')
    assert re.fullmatch(r"mem-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", kept["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", kept["created_at"])
    assert (kept["behavioral"], kept["group"], kept["supersedes"]) == (True, "default", None)
    (found,) = called(run, "memory_search", '{"query": "not"}')["results"]
    fields = {"id", "type", "content", "behavioral", "tags", "created_at", "relevance_score"}
    assert set(found) == fields
    assert 0 < found["relevance_score"] <= 1
    assert called(run, "memory_search", "{}")["results"][0]["relevance_score"] == 0
    brief = called(run, "memory_brief", '{"include_provenance": true}')
    assert brief["notice"] == SUGGESTIONS
    (entry,) = brief["entries"]
    assert set(entry) == {"id", "type", "content", "behavioral", "tags", "age_days", "session_id", "group"}
    assert (entry["content"], entry["age_days"], entry["session_id"]) == ("Do not", 0, kept["session_id"])


WRONG: list[tuple[str, str, str, str | None]] = [
    ("memory_stow", "{}", "UNKNOWN_TOOL", None),
    ("Memory_store", "{}", "UNKNOWN_TOOL", None),
    ("", "{}", "UNKNOWN_TOOL", None),
    ("memory_store", "", "VALIDATION_FAILED", None),
    ("memory_store", "{", "VALIDATION_FAILED", None),
    ("memory_store", "[]", "VALIDATION_FAILED", None),
    ("memory_store", "null", "VALIDATION_FAILED", None),
    ("memory_store", '"text"', "VALIDATION_FAILED", None),
    ("memory_store", "{}", "VALIDATION_FAILED", "type"),
    ("memory_store", '{"type": "fact"}', "VALIDATION_FAILED", "content"),
    ("memory_store", '{"content": "x"}', "VALIDATION_FAILED", "type"),
    ("memory_store", '{"type": "opinion", "content": "x"}', "VALIDATION_FAILED", "type"),
    ("memory_store", '{"type": "FACT", "content": "x"}', "VALIDATION_FAILED", "type"),
    ("memory_store", '{"type": 1, "content": "x"}', "VALIDATION_FAILED", "type"),
    ("memory_store", '{"type": "fact", "content": ""}', "VALIDATION_FAILED", "content"),
    ("memory_store", '{"type": "fact", "content": " \\n "}', "VALIDATION_FAILED", "content"),
    ("memory_store", '{"type": "fact", "content": null}', "VALIDATION_FAILED", "content"),
    ("memory_store", '{"type": "fact", "content": ["x"]}', "VALIDATION_FAILED", "content"),
    ("memory_store", json.dumps({"type": "fact", "content": "x" * 2_001}), "VALIDATION_FAILED", "content"),
    ("memory_store", '{"type": "fact", "content": "AKIAIOSFODNN7EXAMPLE"}', "VALIDATION_FAILED", "content"),
    ("memory_store", '{"type": "fact", "content": "x", "tags": "a"}', "VALIDATION_FAILED", "tags"),
    ("memory_store", '{"type": "fact", "content": "x", "tags": [1]}', "VALIDATION_FAILED", "tags"),
    ("memory_store", '{"type": "fact", "content": "x", "tags": [""]}', "VALIDATION_FAILED", "tags"),
    ("memory_store", json.dumps({"type": "fact", "content": "x", "tags": ["a" * 51]}), "VALIDATION_FAILED", "tags"),
    (
        "memory_store",
        json.dumps({"type": "fact", "content": "x", "tags": list("abcdefghijk")}),
        "VALIDATION_FAILED",
        "tags",
    ),
    ("memory_store", '{"type": "fact", "content": "x", "supersedes": 7}', "VALIDATION_FAILED", "supersedes"),
    ("memory_store", '{"type": "fact", "content": "x", "supersedes": "mem-none"}', "HANDLER_ERROR", None),
    ("memory_store", '{"type": "fact", "content": "x", "id": "mem-1"}', "VALIDATION_FAILED", "id"),
    ("memory_store", '{"type": "fact", "content": "x", "session_id": "s"}', "VALIDATION_FAILED", "session_id"),
    ("memory_store", '{"type": "fact", "content": "x", "group": "default"}', "VALIDATION_FAILED", "group"),
    ("memory_store", '{"type": "fact", "content": "x", "created_at": "2026-01-01"}', "VALIDATION_FAILED", "created_at"),
    ("memory_store", '{"type": "fact", "content": "x", "behavioral": false}', "VALIDATION_FAILED", "behavioral"),
    ("memory_search", '{"query": 1}', "VALIDATION_FAILED", "query"),
    ("memory_search", json.dumps({"query": "x" * 501}), "VALIDATION_FAILED", "query"),
    ("memory_search", '{"tags": {"a": 1}}', "VALIDATION_FAILED", "tags"),
    ("memory_search", '{"type": "note"}', "VALIDATION_FAILED", "type"),
    ("memory_search", '{"limit": 0}', "VALIDATION_FAILED", "limit"),
    ("memory_search", '{"limit": 101}', "VALIDATION_FAILED", "limit"),
    ("memory_search", '{"limit": 1.5}', "VALIDATION_FAILED", "limit"),
    ("memory_search", '{"include_superseded": 1}', "VALIDATION_FAILED", "include_superseded"),
    ("memory_search", '{"offset": 3}', "VALIDATION_FAILED", "offset"),
    ("memory_brief", '{"include_provenance": "yes"}', "VALIDATION_FAILED", "include_provenance"),
    ("memory_brief", '{"limit": 3}', "VALIDATION_FAILED", "limit"),
    ("memory_delete", "{}", "VALIDATION_FAILED", "id"),
    ("memory_delete", '{"id": ""}', "VALIDATION_FAILED", "id"),
    ("memory_delete", '{"id": ["mem-1"]}', "VALIDATION_FAILED", "id"),
    ("memory_delete", '{"id": "mem-abc123"}', "HANDLER_ERROR", None),
    ("memory_delete", '{"id": "mem-1", "why": "x"}', "VALIDATION_FAILED", "why"),
]


def test_a_wrong_call_gets_the_right_code(run: Run) -> None:
    for tool, payload, code, field in WRONG:
        told = refused(run, tool, payload)
        assert (told["code"], told.get("field"), told["retriable"]) == (code, field, False), (tool, payload, told)
        assert told["message"]
    assert called(run, "memory_search", "{}") == {"results": []}
    assert refused(run, "memory_delete", '{"id": "mem-abc123"}')["message"] == 'Memory entry "mem-abc123" not found.'
    assert json.loads(run("ipc", "tools.list", "{}").stderr)["code"] == "UNKNOWN_TOOL"


def test_a_spent_budget_is_told_as_such_and_belongs_to_its_session(run: Run) -> None:
    ids = [
        called(run, "memory_store", '{"type": "fact", "content": "x"}', "--session", f"s{n // 3}")["id"]
        for n in range(6)
    ]
    for each in ids[:5]:
        called(run, "memory_delete", json.dumps({"id": each}), "--session", "one")
    told = refused(run, "memory_delete", json.dumps({"id": ids[5]}), "--session", "one")
    assert (told["code"], told["retriable"], told["stage"]) == ("RATE_LIMITED", False, 4)
    called(run, "memory_delete", json.dumps({"id": ids[5]}), "--session", "two")


def test_arguments_can_be_piped(run: Run) -> None:
    done = run("ipc", "tool.invoke.memory_store", "-", given='{"type": "fact", "content": "piped"}')
    assert json.loads(done.stdout)["content"] == "piped"


def test_people_store_find_and_delete(run: Run) -> None:
    first = json.loads(run("tool", "store", "fact", "pnpm 9", "--tag", "tools", "--json").stdout)["id"]
    done = run("tool", "store", "preference", "Prefers\ntea", "--supersedes", first)
    assert done.stdout.strip().endswith(f"stored, in place of {first}")
    second = done.stdout.partition(":")[0]
    found = run("tool", "search", "tea")
    assert second in found.stdout
    assert "suggestions" in found.stderr
    assert first in run("tool", "search", "--superseded").stdout
    assert "- [preference] Prefers tea (0d ago)" in run("tool", "brief").stdout
    assert json.loads(run("tool", "brief", "--json").stdout)["brief_count"] == 1
    assert run("tool", "delete", second).stdout == f"{second}: deleted\n"
    missing = run("tool", "delete", second)
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert run("tool", "brief", "--group", "other").stdout == ""
    assert "memory_store" in run("tool", "list").stdout


def test_the_directory_and_its_server_have_the_same_notes(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RECOLLECT_TOKEN", "RECOLLECT_TENANT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    called(run, "memory_store", '{"type": "fact", "content": "kept without a server"}')
    with serving(home):
        (found,) = called(run, "memory_search", "{}")["results"]
        assert found["content"] == "kept without a server"
