"""Every command, through a server and into the directory, with the same outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.conftest import Run
from tests.cli.typed import Serving, lines_of, serving


def told(run: Run, *words: str, given: str | None = None) -> Any:
    """The JSON answer of a command that went well."""
    done = run(*words, "--json", given=given)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def said(run: Run, *words: str, given: str | None = None) -> str:
    """The answer for people, of a command that went well."""
    done = run(*words, "--quiet", given=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("behind")
def test_a_memory_is_put_found_changed_set_aside_and_deleted(run: Run) -> None:
    assert said(run, "put", "user/alice/notes", "tea", "green") == "user/alice/notes tea: add, revision 1\n"
    written = told(run, "put", "user/alice/notes", "tea", '{"likes": "oolong"}', "--attributes", '{"kind": "note"}')
    assert (written["kind"], written["revision"], written["attributes"]) == ("update", 2, {"kind": "note"})
    assert json.loads(said(run, "get", "user/alice/notes", "tea")) == {"likes": "oolong"}
    item = told(run, "get", "user/alice/notes", "tea")
    assert item["id"] == written["id"]
    assert told(run, "get", "--id", item["id"])["value"] == {"likes": "oolong"}
    assert said(run, "ls") == "user\n  alice\n    notes\n"
    assert told(run, "ls", "user/*") == {"namespaces": [["user", "alice", "notes"]]}
    assert said(run, "search", "user/alice").startswith("user/alice/notes tea\t2\t")
    assert said(run, "archive", "user/alice/notes", "tea") == "user/alice/notes tea: archived, revision 3\n"
    assert told(run, "search")["items"] == []
    assert [each["key"] for each in told(run, "search", "--archived", "only")["items"]] == ["tea"]
    assert told(run, "unarchive", "user/alice/notes", "tea")["archived"] is False
    history = told(run, "history", "user/alice/notes", "tea")["versions"]
    assert [each["revision"] for each in history] == [4, 3, 2, 1]
    assert [each["end_reason"] for each in history] == [None, "updated", "updated", "updated"]
    assert len(said(run, "history", "user/alice/notes", "tea").splitlines()) == 4
    assert told(run, "rm", "user/alice/notes", "tea")["kind"] == "delete"
    assert said(run, "rm", "user/alice/notes", "tea") == "user/alice/notes tea: there was nothing to delete\n"
    assert told(run, "rm", "user/alice/notes", "tea")["kind"] is None
    assert run("get", "user/alice/notes", "tea").exit_code == 3
    assert run("history", "user/alice/notes", "never").exit_code == 3
    assert run("archive", "user/alice/notes", "tea").exit_code == 3
    kinds = [each["kind"] for each in told(run, "log")["events"]]
    assert kinds == ["add", "update", "update", "update", "delete"]


@pytest.mark.usefixtures("behind")
def test_conditions_on_a_write_hold(run: Run) -> None:
    assert run("put", "user/a", "k", "v", "--expected-revision", "0").exit_code == 0
    assert run("put", "user/a", "k", "w", "--expected-revision", "0").exit_code == 1
    assert json.loads(run("rm", "user/a", "k", "--expected-revision", "9", "--json").stderr)["code"] == (
        "revision_conflict"
    )
    first = told(run, "put", "user/a", "once", "v", "--idempotency-key", "x1")
    assert told(run, "put", "user/a", "once", "v", "--idempotency-key", "x1") == first
    assert "an earlier call had done it" in said(run, "put", "user/a", "once", "v", "--idempotency-key", "x1")
    assert run("put", "user/a", "once", "other", "--idempotency-key", "x1").exit_code == 1


@pytest.mark.usefixtures("behind")
def test_hostile_names_and_contents_come_back_as_they_were(run: Run) -> None:
    places = ["user/a%2Fb", "user/..", "user/%25", "user/ü %1B[31m", "user/?ns=x#y", "user/*"]
    for number, where in enumerate(places):
        given = json.dumps({"text": f"[red]\x1b[31m\u202e{number}"})
        assert told(run, "put", where, f"k/{number}?", "-", given=given)["key"] == f"k/{number}?"
    for number, where in enumerate(places):
        assert told(run, "get", where, f"k/{number}?")["value"] == {"text": f"[red]\x1b[31m\u202e{number}"}
        shown = said(run, "get", where, f"k/{number}?") + said(run, "search", where)
        assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert len(told(run, "ls")["namespaces"]) == len(places)
    assert all(character.isprintable() or character == "\n" for character in said(run, "ls") + said(run, "log"))


@pytest.mark.usefixtures("behind")
def test_everything_is_found_page_by_page(run: Run) -> None:
    entries = [{"n": number} for number in range(230)]
    lines = [json.dumps({"recollect_export": 1, "source": "a" * 64, "total": 230})]
    for number, value in enumerate(entries, 1):
        entry = {"sequence": number, "kind": "add", "namespace": ["user", "a"], "key": f"k{number:03}"}
        lines.append(json.dumps(entry | {"at": "2026-01-01T00:00:00Z", "value": value}))
    lines.append(json.dumps({"end": True, "entries": 230}))
    assert told(run, "import", "-", given="\n".join(lines) + "\n")["imported"] == 230
    found = lines_of(run("search", "--all", "--json", "--order", "key").stdout)
    assert [each["value"] for each in found] == entries
    assert len(said(run, "search", "--all").splitlines()) == 230
    page = told(run, "search", "--limit", "100", "--order", "oldest")
    rest = told(run, "search", "--limit", "100", "--order", "oldest", "--cursor", page["cursor"])
    assert [each["key"] for each in page["items"] + rest["items"]] == [f"k{number:03}" for number in range(1, 201)]
    latest = told(run, "log", "--limit", "5")
    assert [each["key"] for each in latest["events"]] == ["k226", "k227", "k228", "k229", "k230"]
    assert told(run, "log", "--after", latest["after_cursor"])["events"] == []
    sequences = [each["sequence"] for each in lines_of(run("log", "--all", "--json").stdout)]
    assert len(sequences) == 230
    assert sequences == sorted(set(sequences))


@pytest.mark.usefixtures("behind")
def test_the_latest_events_are_found_however_far_back_they_lie(run: Run) -> None:
    told(run, "put", "user/rare", "k", "v")
    for number in range(12):
        told(run, "put", "user/a", "k", str(number))
    assert [each["namespace"] for each in told(run, "log", "user/rare", "--limit", "2")["events"]] == [["user", "rare"]]
    assert [each["revision"] for each in told(run, "log", "--limit", "3")["events"]] == [10, 11, 12]
    assert [each["kind"] for each in told(run, "log", "--kind", "add")["events"]] == ["add", "add"]
    assert told(run, "log", "--since", "2h", "--until", "1h")["events"] == []
    assert len(told(run, "log", "--since", "1h")["events"]) == 13


@pytest.mark.usefixtures("behind")
def test_what_was_true_before_can_be_asked_for(run: Run) -> None:
    first = told(run, "put", "user/a", "k", "old")
    told(run, "put", "user/a", "k", "new")
    assert told(run, "get", "user/a", "k", "--as-of", first["updated_at"])["value"] == {"text": "old"}
    assert run("get", "user/a", "k", "--as-of", "2h").exit_code == 3
    assert told(run, "search", "--as-of", first["updated_at"])["items"][0]["value"] == {"text": "old"}


@pytest.fixture
def three(run: Run, behind: Path) -> None:
    """Three memories that queries find."""
    told(run, "put", "user/a", "tea", "Alice takes green tea,\nnever sugar")
    told(run, "put", "user/a", "drinks", '{"text": "Bob had a cup of tea", "on": "Friday"}')
    assert told(run, "put", "user/a", "blocks", "Python indents its blocks", "--wait")["indexed"] is True


@pytest.mark.usefixtures("three")
def test_hits_are_shown_with_rank_score_place_and_text(run: Run) -> None:
    lines = [line.split("\t") for line in said(run, "search", "user/a", "green", "tea").splitlines()]
    assert [line[0] for line in lines] == [str(rank) for rank in range(1, len(lines) + 1)]
    assert lines[0][2:] == ["user/a tea", "Alice takes green tea, never sugar"]
    assert lines[1][2:] == ["user/a drinks", "Bob had a cup of tea"]
    scores = [float(line[1]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert (
        said(run, "search", "--query", "green tea", "--limit", "1", "--offset", "1")
        == "\t".join(["2", lines[1][1], *lines[1][2:]]) + "\n"
    )


@pytest.mark.usefixtures("three")
def test_a_search_takes_modes_limits_and_several_queries(run: Run) -> None:
    def found(*words: str) -> list[str]:
        return [item["key"] for item in told(run, "search", *words)["items"]]

    assert sorted(found("user/a", "tea", "--mode", "lexical")) == ["drinks", "tea"]
    assert found("user/a", "green tea", "--mode", "lexical", "--min-score", "0.99") == ["tea"]
    assert found("user/a", "friday", "--mode", "lexical", "--wait", "5s") == ["drinks"]
    assert found("user/b", "tea") == []
    several = told(run, "search", "user/a", "friday", "--query", "python blocks", "--mode", "lexical")["items"]
    assert sorted((item["key"], item["matched_queries"]) for item in several) == [("blocks", [1]), ("drinks", [0])]
    every = lines_of(run("search", "user/a", "tea", "--all", "--json").stdout)
    assert {item["key"] for item in every} >= {"tea", "drinks"}
    more = run("search", "user/a", "tea", "--limit", "1")
    assert "--offset 1" in more.stderr


@pytest.mark.usefixtures("three")
def test_a_search_explains_itself(run: Run) -> None:
    page = told(run, "search", "user/a", "green tea", "--explain", "--limit", "1")
    assert page["explanation"]["mode"] == "hybrid"
    assert {"lexical", "semantic"} <= set(page["items"][0]["explanation"])
    assert "explanation" not in told(run, "search", "user/a", "green tea")
    shown = said(run, "search", "user/a", "green tea", "--explain", "--limit", "1")
    assert "\n\t\t  lexical\trank 1, score " in shown
    assert ", in text\n" in shown
    assert "model hashing-256, 3 memories searched" in shown
    both = said(run, "search", "user/a", "--query", "tea", "--query", "friday", "--explain", "--mode", "lexical")
    assert "\n\t\t  friday\trank 1, score " in both


@pytest.mark.usefixtures("three")
def test_what_goes_with_a_query_is_refused_without_one(run: Run) -> None:
    for words in (["--explain"], ["--mode", "lexical"], ["--min-score", "0.5"], ["--wait", "5s"]):
        refused = run("search", "user/a", *words)
        assert (refused.exit_code, "say what to look for" in refused.stderr) == (2, True)
    assert run("search", "user/a", "tea", "--cursor", "x" * 12).exit_code == 1
    assert run("search", "user/a", "tea", "--wait", "long").exit_code == 2
    assert "recollect search user/alice WORDS" in run("search", "tea").stderr


@pytest.mark.usefixtures("behind")
def test_only_what_is_to_be_indexed_is_found(run: Run) -> None:
    value = '{"title": "Harbour", "notes": [{"text": "a lighthouse"}], "secret": "treasure"}'
    told(run, "put", "user/a", "k", value, "--index", "title", "--index", "notes[*].text", "--wait")
    told(run, "put", "user/a", "hidden", "treasure", "--no-index", "--wait")
    for query, keys in (("harbour", ["k"]), ("lighthouse", ["k"]), ("treasure", [])):
        found = told(run, "search", "user/a", query, "--mode", "lexical")
        assert [item["key"] for item in found["items"]] == keys
    assert run("put", "user/a", "k", "v", "--index", "text", "--no-index").exit_code == 2


@pytest.mark.usefixtures("behind")
def test_the_log_is_verified_against_a_head_noted_earlier(run: Run) -> None:
    run("put", "user/a", "k", "v")
    head = said(run, "head").strip()
    assert told(run, "head") == {"head": head}
    run("put", "user/a", "k", "w")
    assert said(run, "verify", "--head", head).startswith("sound: 2 events")
    assert told(run, "verify", "--head", head)["sound"] is True
    wrong = run("verify", "--json", "--head", f"1:{'0' * 64}")
    assert wrong.exit_code == 4
    assert json.loads(wrong.stdout)["problems"][0]["finding"] == "head_mismatch"
    assert "not sound" in run("verify", "--head", f"9:{'0' * 64}").stdout


@pytest.mark.usefixtures("behind")
def test_a_subject_is_erased_only_when_confirmed(run: Run) -> None:
    run("put", "user/alice", "k", "secret")
    for answer in ("", "n\n", "what\n"):
        refused = run("erase", "user:alice", given=answer)
        assert refused.exit_code == 1
        assert "nothing was erased" in refused.stderr
    assert run("get", "user/alice", "k").exit_code == 0
    receipt = told(run, "erase", "user:alice", "--yes")
    assert receipt["subject"] == "user:alice"
    assert receipt["live"] in (1, 2)  # and how often it was read, once that is written down
    assert run("get", "user/alice", "k").exit_code == 3
    run("put", "user/alice", "k", "again")
    assert run("erase", "user:alice", given="y\n").exit_code == 0
    assert run("erase", "nobody", "--yes").exit_code == 1


@pytest.mark.usefixtures("behind")
def test_what_expired_is_swept(run: Run) -> None:
    run("put", "user/a", "k", "v", "--ttl", "0.01")
    assert run("get", "user/a", "k").exit_code == 3
    assert told(run, "sweep")["expire"] <= 1
    assert told(run, "sweep") == {"expire": 0, "evict": 0, "tombstone": 0, "purge": 0, "trim": 0}
    assert said(run, "sweep") == "nothing was due\n"


@pytest.mark.usefixtures("behind")
def test_api_keys_are_made_listed_and_revoked(run: Run) -> None:
    made = told(run, "tokens", "create", "alice", "--scope", "read", "--ttl", "1h", "--name", "laptop")
    assert made["secret"].startswith("rk_")
    assert (made["token"]["scopes"], made["token"]["name"]) == (["read"], "laptop")
    assert said(run, "tokens", "create", "bob", "--role", "auditor,reviewer").startswith("rk_")
    listed = [each for each in told(run, "tokens", "list")["tokens"] if each["user_id"] != "admin"]
    assert [(each["user_id"], each["roles"]) for each in listed] == [("alice", []), ("bob", ["auditor", "reviewer"])]
    assert told(run, "tokens", "revoke", made["token"]["id"])["revoked_at"]
    assert "revoked" in said(run, "tokens", "list")
    assert run("tokens", "revoke", "nothing").exit_code == 3
    elsewhere = told(run, "tokens", "create", "carol", "--tenant", "acme")
    assert elsewhere["token"]["tenant"] == "acme"
    assert [each["user_id"] for each in told(run, "tokens", "list", "--tenant", "acme")["tokens"]] == ["carol"]


def test_keys_are_rotated_and_told_of_without_being_shown(run: Run, behind: Path) -> None:
    run("put", "user/a", "k", "v")
    assert told(run, "keys", "rotate")["rotated"] >= 1
    shown = told(run, "keys", "show")
    assert (shown["source"], shown["mode"], shown["rotation"]) == ("file", "0600", None)
    secret = json.loads((behind / "keys/master.key").read_text())["keys"][0]
    assert secret not in said(run, "keys", "show")
    assert json.loads(said(run, "get", "user/a", "k")) == {"text": "v"}


def test_a_backup_is_restored_without_what_was_erased_since(run: Run, behind: Path, tmp_path: Path) -> None:
    run("put", "user/alice", "k", "secret")
    run("put", "user/bob", "k", "kept")
    copy, target = tmp_path / "b.backup", tmp_path / "restored"
    assert told(run, "backup", str(copy)) == {"file": str(copy), "bytes": copy.stat().st_size}
    assert copy.stat().st_mode & 0o777 == 0o600
    assert run("backup", str(copy)).exit_code == 1
    run("erase", "user:alice", "--yes")
    assert said(run, "restore", str(copy), str(target), "--keys", str(behind)) == f"{target}: restored\n"
    assert run("restore", str(copy), str(target), "--keys", str(behind)).exit_code == 1
    assert told(run, "get", "user/bob", "k", "--home", str(target))["value"] == {"text": "kept"}
    assert run("get", "user/alice", "k", "--home", str(target)).exit_code == 3


def test_settings_say_where_they_come_from(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(mode=0o700)
    (home / "recollect.toml").write_text('port = 5000\njwt_issuer = "i"\njwt_audience = "a"\njwt_key = "hush hush"\n')
    (home / "recollect.toml").chmod(0o600)
    monkeypatch.setenv("RECOLLECT_LOG_LEVEL", "debug")
    listed = {each["name"]: each for each in told(run, "settings")["settings"]}
    assert (listed["port"]["value"], listed["port"]["from"]) == (5000, "file")
    assert (listed["log_level"]["value"], listed["log_level"]["from"]) == ("debug", "environment")
    assert (listed["host"]["value"], listed["host"]["from"]) == ("127.0.0.1", "default")
    assert "hush" not in run("settings").output + run("settings", "--json").output
    assert "#port = 4747" in said(run, "settings", "--template")
    assert "#port = 4747" in told(run, "settings", "--template")["template"]
    (home / "recollect.toml").write_text("prot = 5000\n")
    refused = run("settings")
    assert refused.exit_code == 1
    assert "did you mean port?" in refused.stderr


def test_the_version_is_told(run: Run) -> None:
    assert set(told(run, "version")) == {"recollect", "python", "apsw"}
    assert said(run, "version").startswith("recollect ")


ANSWERS: list[tuple[list[str], str, str, Any]] = [
    (["get", "user/a", "k"], "GET", "/v1/memories?ns=user&ns=a&key=k", None),
    (["history", "user/a", "k"], "GET", "/v1/memories/history?ns=user&ns=a&key=k", None),
    (["search"], "POST", "/v1/memories/search", {"namespace_prefix": []}),
    (["search", "user/a", "note"], "POST", "/v1/memories/search", {"namespace_prefix": ["user", "a"], "query": "note"}),
    (["ls"], "GET", "/v1/memories/namespaces", None),
    (["log"], "GET", "/v1/memories/events", None),
    (["tokens", "list"], "GET", "/admin/v1/tokens", None),
    (["head"], "GET", "/admin/v1/head", None),
    (["verify"], "POST", "/admin/v1/verify", {}),
    (["sweep"], "POST", "/admin/v1/sweep", {}),
    (["policy", "show"], "GET", "/admin/v1/memories/policies", None),
    (["audit"], "GET", "/admin/v1/audit", None),
    (["index", "status"], "GET", "/admin/v1/memories/index/status", None),
    (["settings", "show"], "GET", "/admin/v1/memories/settings", None),
]


MOVING = ("head", "after_cursor", "events", "versions")
"""What tells where the log ends: a server goes on writing things of its own."""


def settled(answers: list[Any]) -> list[Any]:
    """The answers without where the log ends."""
    return [
        {name: None if name in MOVING and isinstance(value, str | int) else value for name, value in each.items()}
        for each in answers
    ]


def test_json_answers_are_those_of_the_api_through_either_door(run: Run, home: Path, tmp_path: Path) -> None:
    policy = tmp_path / "authz.rego"
    policy.write_text('package memories.authz\n\nallow if "admin" in input.context.roles\n')
    with serving(home) as server:
        run("put", "user/a", "k", "one", "--attributes", '{"kind": "note"}')
        run("put", "user/a", "k", '{"n": 1.5, "deep": {"list": [1, null, "é"]}}', "--expires-at", "2999-01-01")
        run("put", "user/a", "gone", "v")
        run("rm", "user/a", "gone")
        run("archive", "user/a", "k")
        run("put", "user/b", "k", "v")
        run("erase", "user:b", "--yes")
        run("sweep")
        run("unarchive", "user/a", "k")
        run("policy", "push", str(policy), "--note", "first")
        run("policy", "rollback")
        run("index", "trigger")
        headers = {"Authorization": f"Bearer {server.admin_key}"}
        with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
            expected = [client.request(method, path, json=body).json() for _, method, path, body in ANSWERS]
            caller = client.get("/v1/whoami").json()
        assert settled([told(run, *words) for words, *_ in ANSWERS]) == settled(expected)
        assert told(run, "whoami") == caller
    assert settled([told(run, *words) for words, *_ in ANSWERS]) == settled(expected)
    assert told(run, "whoami").keys() == caller.keys()


def test_confirmations_have_the_fields_of_the_api_through_either_door(run: Run, home: Path, server: Serving) -> None:
    headers = {"Authorization": f"Bearer {server.admin_key}"}
    place = {"namespace": ["user", "a"], "key": "k"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        put = client.put("/v1/memories", json=place | {"value": {}}).json()
        patch = client.patch("/v1/memories", json=place | {"archived": True}).json()
        delete = client.post("/v1/memories/batch", json={"operations": [place | {"op": "delete"}]}).json()["results"][0]
        token = client.post("/admin/v1/tokens", json={"user_id": "a"}).json()
        erased = client.post("/admin/v1/erase", json={"subject": "user:a"}).json()
    for where in (home, home.parent / "elsewhere"):
        at = ("--home", str(where))
        assert told(run, "put", "user/a", "k", "v", *at).keys() == put.keys()
        assert told(run, "archive", "user/a", "k", *at).keys() == patch.keys()
        assert told(run, "rm", "user/a", "k", *at).keys() == delete.keys()
        made = told(run, "tokens", "create", "a", *at)
        assert (made.keys(), made["token"].keys()) == (token.keys(), token["token"].keys())
        assert told(run, "erase", "user:a", "--yes", *at).keys() == erased.keys()
