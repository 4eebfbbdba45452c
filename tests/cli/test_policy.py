"""The policy from the command line: tested without anything else, put in force, explained, tried, and taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import said, told
from tests.cli.typed import typed, without_traceback

from recollect.cli.bundles import write_modules
from recollect.domain.errors import InvalidBundle, InvalidSetting

AUTHZ = """package memories.authz

import rego.v1

default decision := {"allow": false, "reason": "access denied"}

decision := {"allow": true, "reason": ""} if allow

# Everybody has their own subtree
allow if {
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}

# Administrators have everything, whatever it is and wherever it lies
allow if "admin" in input.context.roles

# Agents read what is shared
allow if {
	input.namespace[0] == "shared"
	input.operation == "read"
	input.context.client_id != ""
}
"""
TESTS = """package memories.authz_test

import rego.v1

import data.memories.authz

test_agents_read_what_is_shared if {
	found := authz.decision with input as {
		"operation": "read",
		"namespace": ["shared"],
		"context": {"user_id": "a", "client_id": "agent", "roles": []},
	}
	found.allow
}
"""
LANGUAGES = """package memories.attributes

attributes["lang"] := input.value.lang
"""
CLOCKED = f"{AUTHZ}\nallow if time.now_ns() > 0\n\nallow if rand.intn(input.key, 2) == 0\n"
OPEN = "package memories.authz\n\nallow := true\n"
CANARIES = 9


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A directory with a policy and its tests."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "authz.rego").write_text(AUTHZ)
    (folder / "authz_test.rego").write_text(TESTS)
    return folder


def refusal(run: Run, *words: str) -> Any:
    """The envelope of a refused command."""
    done = run(*words, "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    return json.loads(done.stderr)


# -- without a server and without data


def test_a_copy_of_the_shipped_policies_is_written_and_found_sound(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    files = said(run, "policy", "init", str(folder)).splitlines()
    assert files == sorted(str(path) for path in folder.rglob("*.rego"))
    assert {Path(file).stem for file in files} >= {"authz", "authz_test", "filter", "attributes", "review"}
    report = told(run, "policy", "test", str(folder))
    assert (report["problems"], [each for each in report["checks"] if not each["passed"]]) == ([], [])
    assert report["packages"] == ["authz", "attributes", "filter", "review"]
    assert len(report["checks"]) > CANARIES
    assert not home.exists()


def test_nothing_is_overwritten(run: Run, policies: Path) -> None:
    (policies / "memories").mkdir()
    (policies / "memories/filter.rego").write_text("mine")
    refused = run("policy", "init", str(policies))
    assert refused.exit_code == 1
    assert "filter.rego exists already" in refused.stderr
    assert (policies / "memories/filter.rego").read_text() == "mine"
    assert sorted(path.name for path in policies.rglob("*.rego")) == ["authz.rego", "authz_test.rego", "filter.rego"]


def test_the_folder_named_policies_is_meant_without_a_name(policies: Path, home: Path) -> None:
    done = typed(home, "policy", "test", "--json", cwd=policies.parent)
    assert (done.returncode, json.loads(done.stdout)["sound"]) == (0, True)
    assert typed(home, "policy", "init", cwd=home.parent / "policies").returncode == 0
    assert (policies / "policies/memories/authz.rego").exists()


def test_every_test_and_every_canary_is_told(run: Run, policies: Path) -> None:
    lines = said(run, "policy", "test", str(policies)).splitlines()
    assert lines[0] == "passed   memories.authz_test.test_agents_read_what_is_shared"
    assert "passed   a stranger reads another user's memories" in lines
    assert lines[-1] == f"sound: authz; 1 test passed, {CANARIES} canaries denied"
    alone = run("policy", "test", str(policies / "authz.rego"))
    assert alone.exit_code == 0
    assert "it has no tests of its own" in alone.stderr


def test_every_problem_is_told_with_its_place(run: Run, policies: Path) -> None:
    (policies / "authz.rego").write_text(CLOCKED)
    done = run("policy", "test", str(policies))
    assert done.exit_code == 1
    place = policies / "authz.rego"
    first, second, last = done.stdout.splitlines()
    assert first.startswith(f"refused  {place}:25: ")
    assert "time.now_ns" in first
    assert second.startswith(f"refused  {place}:27: ")
    assert "rand.intn" in second
    assert last == "not sound: 2 problems, 0 failed"
    report = run("policy", "test", str(policies), "--json")
    assert (report.exit_code, report.stderr) == (1, "")
    assert {each["line"] for each in json.loads(report.stdout)["problems"]} == {25, 27}


def test_a_policy_that_cannot_be_read_is_told_where(run: Run, policies: Path) -> None:
    (policies / "authz.rego").write_text("package memories.authz\n\nallow if {\n\tinput.namespace[0] ==\n}\n")
    done = run("policy", "test", str(policies))
    assert done.exit_code == 1
    assert done.stdout.startswith(f"refused  {policies / 'authz.rego'}:")
    assert without_traceback(done.stdout + done.stderr)


def test_what_fails_is_told_with_its_reason(run: Run, policies: Path) -> None:
    (policies / "authz.rego").write_text(OPEN)
    (policies / "authz_test.rego").write_text(TESTS.replace("authz.decision", "authz.nothing"))
    done = run("policy", "test", str(policies))
    assert done.exit_code == 1
    assert "failed   memories.authz_test.test_agents_read_what_is_shared" in done.stdout
    assert "failed   a stranger reads another user's memories: memories.authz allows read of user/" in done.stdout


def test_texts_that_are_no_policies_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "there is no policy in" in run("policy", "test", str(tmp_path / "empty")).stderr
    (tmp_path / "bytes.rego").write_bytes(b"\xff\xfe")
    assert "cannot be read" in run("policy", "test", str(tmp_path / "bytes.rego")).stderr
    (tmp_path / "odd name.rego").write_text(AUTHZ)
    assert "not a usable name" in run("policy", "test", str(tmp_path / "odd name.rego")).stderr


def test_modules_are_never_written_beside_their_directory(tmp_path: Path) -> None:
    for name in ("../out.rego", "/tmp/out.rego", "a/../../out.rego", ".hidden.rego", "out.sh"):
        with pytest.raises(InvalidBundle):
            write_modules(tmp_path / "in", {name: AUTHZ})
    (tmp_path / "in").mkdir()
    (tmp_path / "in/authz.rego").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidSetting):
        write_modules(tmp_path / "in", {"authz.rego": AUTHZ})
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "out.rego").exists()


# -- explained

DENIED = """\
denied by memories.authz.decision: access denied
  authz.rego:10  Everybody has their own subtree           did not hold at line 12: \
input.namespace[1] == input.context.user_id
  authz.rego:16  Administrators have everything, whateve…  did not hold at line 16: "admin" in input.context.roles
  authz.rego:19  Agents read what is shared                did not hold at line 20: input.namespace[0] == "shared"
"""


def test_a_denial_names_every_clause_and_what_did_not_hold(run: Run, policies: Path, home: Path) -> None:
    words = ("policy", "explain", "read", "user/alice/notes", "tea", "--user", "bob", "--dir", str(policies))
    assert said(run, *words) == DENIED
    assert told(run, *words)["decision"] == {"allow": False, "reason": "access denied"}
    assert not home.exists()


def test_what_is_allowed_names_the_clause(run: Run, policies: Path) -> None:
    here = ("--dir", str(policies))
    own = said(run, "policy", "explain", "write", "user/alice", "k", "--user", "alice", "--value", "{}", *here)
    assert own == "allowed by memories.authz.decision (authz.rego:10 Everybody has their own subtree)\n"
    agent = said(run, "policy", "explain", "read", "shared/x", "k", "--user", "a", "--client", "c", *here)
    assert agent == "allowed by memories.authz.decision (authz.rego:19 Agents read what is shared)\n"
    admin = told(run, "policy", "explain", "delete", "x", "k", "--user", "a", "--role", "admin,other", *here)
    assert (admin["decision"]["allow"], admin["input"]["context"]["roles"]) == (True, ["admin", "other"])


def test_claims_are_json_or_text(run: Run, policies: Path) -> None:
    here = ("--user", "a", "--dir", str(policies))
    claims = ("--claim", 'projects={"apollo": "read"}', "--claim", "team=red", "--claim", "level=3")
    found = told(run, "policy", "explain", "read", "user/a", "k", *claims, *here)["input"]["context"]["jwt_claims"]
    assert (found["projects"], found["team"], found["level"]) == ({"apollo": "read"}, "red", 3)


def test_a_search_is_explained_by_what_it_is_narrowed_to(run: Run, policies: Path) -> None:
    (policies / "filter.rego").write_text(
        'package memories.filter\n\n# Only notes\nnamespace_prefix := ["user", input.context.user_id]\n\n'
        'attribute_filter := {"kind": "note"}\n'
    )
    words = ("policy", "explain", "search", "--user", "alice", "--filter", "lang=go", "--dir", str(policies))
    opened = 'user/alice, where {"kind":"note"}, is opened by memories.filter.namespace_prefix'
    assert said(run, *words) == f"{opened} (filter.rego:4 Only notes)\n"
    assert told(run, *words)["input"]["filter"] == {"lang": "go"}
    beside = said(run, *words[:3], "user/bob", *words[3:])
    assert beside.splitlines()[1] == "  user/bob is asked for, which lies beside it: nothing is found"


# -- in force


@pytest.mark.usefixtures("behind")
def test_a_policy_is_pushed_shown_and_taken_back(run: Run, policies: Path, tmp_path: Path) -> None:
    run("put", "shared/facts", "k", "v")
    assert said(run, "policy", "show").startswith("version\t0, the built-in one\nsource\tbuilt-in\n")
    pushed = said(run, "policy", "push", str(policies), "--note", "agents read shared")
    assert pushed == "version 1 is in force: authz\n"
    shown = told(run, "policy", "show")
    assert (shown["version"]["number"], shown["version"]["note"]) == (1, "agents read shared")
    assert shown["modules"] == {"authz.rego": AUTHZ, "authz_test.rego": TESTS}
    lines = said(run, "policy", "show").splitlines()
    assert lines[:2] == ["version\t1", "source\tapi"]
    assert "built in\tattributes, filter, review" in lines
    assert lines[-1].startswith("1 *\t")
    said(run, "policy", "show", "--output", str(tmp_path / "copy"))
    assert (tmp_path / "copy/authz.rego").read_text() == AUTHZ
    again = run("policy", "show", "--output", str(tmp_path / "copy"))
    assert again.exit_code == 1
    assert "exists already" in again.stderr
    allowed = said(run, "policy", "explain", "read", "shared/facts", "k", "--user", "a", "--client", "c")
    assert allowed == "allowed by memories.authz.decision (authz.rego:19 Agents read what is shared)\n"
    assert said(run, "policy", "rollback") == ("the built-in one is in force: authz, attributes, filter, review\n")
    assert said(run, "policy", "show", "--version", "1").startswith("version\t1\ndigest\t")
    assert told(run, "policy", "show", "--version", "1")["note"] == "agents read shared"
    assert run("policy", "show", "--version", "1", "--output", str(tmp_path / "x")).exit_code == 3
    assert run("policy", "show", "--version", "7").exit_code == 3
    assert run("policy", "rollback", "7").exit_code == 3
    assert said(run, "policy", "rollback", "1") == "version 1 is in force: authz\n"


@pytest.mark.usefixtures("behind")
def test_a_refused_policy_changes_nothing_and_every_reason_is_told(run: Run, policies: Path) -> None:
    run("put", "user/a", "k", "v")
    (policies / "authz.rego").write_text(CLOCKED)
    done = run("policy", "push", str(policies), "--quiet")
    assert (done.exit_code, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error: the policy is refused: ")
    assert [line.partition(": ")[0] for line in lines[1:3]] == ["  authz.rego:25", "  authz.rego:27"]
    assert lines[3].startswith("Correct what")
    told_of = refusal(run, "policy", "push", str(policies))
    assert told_of["code"] == "invalid_bundle"
    assert {each["line"] for each in told_of["details"]["problems"]} == {25, 27}
    (policies / "authz.rego").write_text(OPEN)
    failed = refusal(run, "policy", "push", str(policies))["details"]["failed"]
    assert "a stranger reads another user's memories" in [each["check"] for each in failed]
    assert "  failed: a stranger reads" in run("policy", "push", str(policies)).stderr
    assert told(run, "policy", "show")["version"]["number"] == 0
    assert told(run, "audit")["entries"] == []


@pytest.mark.usefixtures("behind")
def test_a_dry_run_changes_nothing(run: Run, policies: Path) -> None:
    run("put", "user/a", "k", "v")
    assert said(run, "policy", "push", str(policies), "--dry-run").splitlines()[-1].startswith("sound: authz")
    (policies / "authz.rego").write_text(OPEN)
    done = run("policy", "push", str(policies), "--dry-run", "--json")
    assert (done.exit_code, json.loads(done.stdout)["sound"]) == (1, False)
    assert told(run, "policy", "show")["version"]["number"] == 0


@pytest.mark.usefixtures("server")
def test_what_a_policy_would_change_is_told(run: Run, policies: Path) -> None:
    run("put", "user/a", "k", "v")
    (policies / "authz.rego").write_text(AUTHZ.replace('"admin" in input.context.roles', "false"))
    found = told(run, "policy", "simulate", str(policies))
    assert (found["tried"], len(found["changes"]), found["report"]["sound"]) == (1, 1, True)
    assert (found["changes"][0]["action"], found["changes"][0]["after"]["allow"]) == ("write", False)
    row = said(run, "policy", "simulate", str(policies)).splitlines()[0].split("\t")
    assert row[2:] == ["write", "user/a k", "is denied", "access denied"]
    (policies / "authz.rego").write_text(OPEN)
    assert run("policy", "simulate", str(policies)).exit_code == 1


def test_without_recorded_decisions_it_is_said_who_records_them(run: Run, policies: Path) -> None:
    run("put", "user/a", "k", "v")
    found = run("policy", "simulate", str(policies))
    assert (found.exit_code, found.stdout) == (0, "")
    assert "0 changes in 0 recorded decisions; a server records them" in found.stderr


@pytest.mark.usefixtures("behind")
def test_attributes_that_must_be_extracted_anew_are_told_of(run: Run, tmp_path: Path) -> None:
    run("put", "user/a", "old", '{"lang": "go"}')
    (tmp_path / "attributes.rego").write_text(LANGUAGES)
    assert told(run, "policy", "push", str(tmp_path / "attributes.rego"))["packages"] == ["attributes"]
    status = told(run, "index", "trigger")
    assert (status["extraction"]["running"], status["extraction"]["failed"]) == (False, 0)
    assert [each["key"] for each in told(run, "search", "--filter", "lang=go")["items"]] == ["old"]
    assert said(run, "index", "status").startswith("attributes\tdone ")
    assert told(run, "index", "status", "--watch", "--timeout", "1s") == status


def test_without_a_server_nobody_is_waited_for(run: Run, tmp_path: Path) -> None:
    run("put", "user/a", "old", '{"lang": "go"}')
    (tmp_path / "attributes.rego").write_text(LANGUAGES)
    pushed = run("policy", "push", str(tmp_path / "attributes.rego"))
    assert "`recollect index trigger`" in pushed.stderr
    waited = run("index", "status", "--watch")
    assert waited.exit_code == 1
    assert "run `recollect index trigger`" in waited.stderr
    assert said(run, "index", "status").startswith("attributes\tunder way: 0 of 1 memory")


def test_the_policy_of_the_service_is_an_operators_business(run: Run, policies: Path) -> None:
    run("put", "user/a", "k", "v")
    pushed = said(run, "policy", "push", str(policies), "--service")
    assert pushed == "version 1 of the service is in force: authz\n"
    assert told(run, "policy", "show")["version"]["source"] == "service"
    assert said(run, "policy", "show").startswith("version\t0, that of the service\n")
    assert [each["action"] for each in told(run, "audit", "--service")["entries"]] == ["policy_pushed"]
    assert told(run, "policy", "show", "--service")["version"]["number"] == 1
    assert said(run, "policy", "rollback", "--service") == (
        "the built-in one is in force: authz, attributes, filter, review\n"
    )
