"""How the program answers to what was typed wrongly, and how it explains itself."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.conftest import Run
from tests.cli.typed import typed, without_traceback

from recollect.cli.program import app

GROUP: Any = typer.main.get_command(app)
COMMANDS = sorted(
    [name] if not hasattr(command, "commands") else [name, verb]
    for name, command in GROUP.commands.items()
    for verb in getattr(command, "commands", [""])
)
EXPECTED = {
    *[
        "serve",
        "mcp",
        "copy",
        "migrate",
        "put",
        "get",
        "rm",
        "search",
        "ls",
        "log",
        "history",
        "report",
        "archive",
        "unarchive",
        "whoami",
        "erase",
        "verify",
        "head",
        "sweep",
    ],
    *["backup", "restore", "export", "import", "settings", "doctor", "version", "tokens", "keys"],
    *["policy", "audit", "index", "ipc", "tool"],
    *["capture", "captures", "propose", "remember", "records", "record", "undo", "phase", "consent"],
    *["proposals", "review", "contradictions", "contradiction", "signals", "traces"],
    *["recall", "context", "turn", "replay", "trace", "why", "why-not", "diff", "profile", "usage", "report"],
    *["talk", "session", "todo", "persona", "seed", "entity", "spine", "curate", "curations", "converse"],
}

WRONG: list[tuple[str, int, str]] = [
    ("frobnicate", 2, "No such command"),
    ("get --frobnicate", 2, "No such option"),
    ("put user/a", 2, "Missing argument"),
    ("put user/a k v w", 2, "unexpected extra argument"),
    ("get user/a", 2, "a namespace and a key are needed"),
    ("get user//a k", 2, "empty segment"),
    ("get user/%zz k", 2, "%25"),
    ("get user/a k --id 1", 2, "not both"),
    ("get --id 1", 2, "not a UUID"),
    ("get user/a k --as-of soon", 2, "is not a moment"),
    ("get user/a k --archived maybe", 2, "maybe"),
    ("put user/a k v --ttl soon", 2, "30s, 10m, 2h or 7d"),
    ("put user/a k v --ttl 1h --expires-at 2030-01-01", 2, "not both"),
    ("put user/a k {oops}", 2, "--text"),
    ("put user/a k @nowhere", 2, "nowhere cannot be read"),
    ("put user/a k v --attributes []", 2, "--attributes"),
    ("put user/a k v --expected-revision x", 2, "--expected-revision"),
    ("search --order sideways", 2, "sideways"),
    ("search --filter kind", 2, "name=value"),
    ("log --kind sideways", 2, "sideways"),
    ("log --limit 0", 2, "--limit"),
    ("log --follow --until 2h", 2, "leave --until out"),
    ("tokens create a --scope everything", 2, "everything"),
    ("tokens frobnicate", 2, "No such command"),
    ("policy frobnicate", 2, "No such command"),
    ("settings frobnicate", 2, "No such command"),
    ("rm user/a", 2, "a namespace and a key are needed"),
    ("rm user/a k --id 1", 2, "not both"),
    ("rm --id 1 --why x", 2, "not a UUID"),
    ("rm --id 0190d7e8-0000-7000-8000-000000000001", 2, "say why with --why"),
    ("rm user/a k --why x", 2, "--why goes with --id"),
    ("get user/a k --as-user b", 2, "say why with --why"),
    ("policy explain read user/a k", 2, "--user alice"),
    ("policy explain read --user a", 2, "say what they want to read"),
    ("policy explain frobnicate user/a --user a", 2, "frobnicate"),
    ("policy explain read user/a k --user a --claim level", 2, "name=value"),
    ("policy explain read user/a k --user a --value []", 2, "--value"),
    ("policy push", 2, "Missing argument"),
    ("policy push nowhere", 1, "recollect policy init nowhere"),
    ("policy test nowhere", 1, "nowhere is not there"),
    ("policy simulate nowhere", 1, "nowhere is not there"),
    ("policy rollback first", 2, "valid integer"),
    ("policy show", 1, "there are no memories in"),
    ("policy explain read user/a k --user a", 1, "there are no memories in"),
    ("audit", 1, "there are no memories in"),
    ("index status --timeout soon", 2, "30s, 10m, 2h or 7d"),
    ("index trigger", 1, "there are no memories in"),
    ("settings show", 1, "there are no memories in"),
    ("settings set", 2, "Missing argument"),
    ("settings set max_depth", 2, "sweep_seconds=30"),
    ("settings set max_depth=deep", 2, "is not a number"),
    ("settings unset", 2, "Missing argument"),
    ("restore a b", 2, "--keys"),
    ("recall --ranker best", 2, "best"),
    ("recall tea --space cellar", 2, "cellar"),
    ("recall tea --fresh soon", 2, "30s, 10m, 2h or 7d"),
    ("recall tea --as-of soon", 2, "is not a moment"),
    ("recall tea", 1, "there are no memories in"),
    ("context tea --form song", 2, "song"),
    ("context tea --state []", 2, "--state"),
    ("turn monday", 2, "Missing argument"),
    ("talk x --at soon", 2, "is not a moment"),
    ("todo add x --kind DREAM", 2, "DREAM"),
    ("todo list --status LATER", 2, "LATER"),
    ("entity list --type animal", 2, "animal"),
    ("entity split person:john", 2, "Missing argument"),
    ("session frobnicate", 2, "No such command"),
    ("session show", 2, "Missing argument"),
    ("curate undo", 2, "Missing argument"),
    ("spine first", 2, "valid integer"),
    ("persona put coach nowhere", 2, "nowhere cannot be read"),
    ("context tea --conversation --history", 2, "a scope of its own"),
    ("turn monday x --state {oops}", 2, "--state"),
    ("turn monday x --ask --ai y", 2, "--ask writes nothing"),
    ("usage show user/a", 2, "Missing argument"),
    ("replay", 2, "Missing argument"),
    ("profile frobnicate", 2, "No such command"),
    ("profile put careful nowhere", 2, "nowhere cannot be read"),
    ("trace --since soon", 2, "is not a moment"),
    ("why", 2, "Missing argument"),
    ("why-not", 2, "Missing argument"),
    ("diff phase-1", 2, "Missing argument"),
    ("usage top --sort colour", 2, "colour"),
    ("capture", 2, "Missing argument"),
    ("capture x --kind song", 2, "song"),
    ("capture x --speaker parrot", 2, "parrot"),
    ("capture x --via mail", 2, "mail"),
    ("capture x --dry-run --later", 2, "writes nothing"),
    ("capture @nowhere", 2, "nowhere cannot be read"),
    ("propose nowhere", 2, "nowhere cannot be read"),
    ("consent add nowhere", 2, "nowhere cannot be read"),
    ("records --space cellar", 2, "cellar"),
    ("records", 1, "there are no memories in"),
    ("record frobnicate", 2, "No such command"),
    ("record correct user:a:profile:1", 2, "say what is right"),
    ("undo", 2, "--source, --principal and --after"),
    ("undo --source a --principal b", 2, "--source, --principal and --after"),
    ("undo --after soon", 2, "is not a moment"),
    ("review", 2, "needs a terminal"),
    ("review --approve a --load", 2, "one of them"),
    ("review --note x", 2, "go with --approve or --reject"),
    ("contradiction resolve ctr_1 nobody", 2, "nobody"),
    ("proposals --status asleep", 2, "asleep"),
    ("get user/a k", 1, "there are no memories in"),
    ("put user/a k v --expires-at 9999-12-31T23:59:59-12:00", 2, "is not a moment"),
    ("put user/a k v --expires-at 1901-01-01", 1, "1970"),
    ("put user/a k v --expected-revision 7", 1, "revision"),
    ("put a/b/c/d/e/f/g/h/i/j/k k v", 1, "depth 11"),
    ("put user/a k v --tenant recollect:system", 1, "tenant"),
    ("whoami --token rk_x", 1, "--token means nothing without a server"),
    ("search --url ftp://x", 1, "URL"),
    ("search --url http://127.0.0.1:1", 1, "127.0.0.1:1"),
    ("serve --url http://127.0.0.1:1", 1, "--url"),
    ("serve --port 99999", 1, "port"),
    ("serve --host 0.0.0.0", 1, "plain text"),
    ("restore nowhere target --keys nowhere", 1, "no backup"),
    ("import nowhere", 1, "nowhere cannot be read"),
    ("keys show --url http://127.0.0.1:1", 1, "not told over the network"),
]


@pytest.mark.parametrize(("words", "status", "why"), WRONG, ids=[each[0] for each in WRONG])
def test_what_is_typed_wrongly_is_explained(run: Run, words: str, status: int, why: str) -> None:
    done = run(*shlex.split(words))
    assert (done.exit_code, done.stdout) == (status, "")
    assert done.stderr.startswith(("error: ", "no server runs"))
    assert why in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    assert without_traceback(done.stderr)


@pytest.mark.parametrize(("words", "status", "why"), WRONG, ids=[each[0] for each in WRONG])
def test_programs_get_the_error_in_the_envelope_of_the_api(run: Run, words: str, status: int, why: str) -> None:
    done = run(*shlex.split(words), "--json")
    assert (done.exit_code, done.stdout) == (status, "")
    told = json.loads(done.stderr)
    assert set(told) == {"error", "code", "details"}
    assert why in told["error"]
    assert told["details"]["advice"]


def test_words_after_two_dashes_are_never_options(run: Run) -> None:
    assert run("put", "user/a", "--", "--json", "v").exit_code == 0
    missing = run("get", "user/a", "--", "--nothing")
    assert missing.exit_code == 3
    assert missing.stderr.splitlines()[1] == "error: memory not found"
    assert json.loads(run("get", "user/a", "--", "--json").stdout) == {"text": "v"}


def test_nothing_typed_prints_the_help(run: Run) -> None:
    done = run()
    assert done.exit_code == 0
    assert "Memory for AI agents that can say why." in done.stdout
    assert all(f" {name} " in done.stdout for name in EXPECTED)
    assert set(GROUP.commands) == EXPECTED


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example_that_can_be_typed(run: Run, path: list[str]) -> None:
    done = run(*path, "--help")
    assert done.exit_code == 0
    assert "Usage: recollect " + " ".join(path) in done.stdout
    command = GROUP
    for name in path:
        command = command.commands[name]
    assert command.help
    _, _, example = command.help.partition("Example: ")
    words = shlex.split(example.splitlines()[0].partition(" > ")[0])
    assert words[: len(path) + 1] == ["recollect", *path]
    command.make_context(path[-1], words[len(path) + 1 :])
    with pytest.raises(typer.TyperException):
        command.make_context(path[-1], [*words[len(path) + 1 :], "--frobnicate"])


@pytest.mark.parametrize("name", ["tokens", "keys", "policy", "index", "tool", "record", "consent"])
def test_a_group_alone_prints_its_help(run: Run, name: str) -> None:
    done = run(name)
    assert done.exit_code == 0
    assert f"Usage: recollect {name}" in done.stdout


def test_options_count_before_and_after_the_command(run: Run, tmp_path: Path) -> None:
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    assert run("--home", here, "--json", "put", "user/a", "k", "one").exit_code == 0
    assert run("put", "user/a", "k", "two", "--home", there, "--json").exit_code == 0
    assert json.loads(run("--home", here, "get", "user/a", "k").stdout) == {"text": "one"}
    after = run("--home", here, "get", "user/a", "k", "--home", there, "--json")
    assert json.loads(after.stdout)["value"] == {"text": "two"}
    assert after.stderr == ""


def test_tenants_of_an_opened_directory_never_meet(run: Run) -> None:
    run("put", "user/a", "k", "mine", "--tenant", "acme")
    assert run("get", "user/a", "k").exit_code == 3
    assert json.loads(run("--tenant", "acme", "get", "user/a", "k").stdout) == {"text": "mine"}


def test_how_the_directory_was_opened_is_said_once_and_quietly_not_at_all(run: Run, home: Path) -> None:
    assert run("put", "user/a", "k", "v").stderr == f"no server runs; opened {home} as the local administrator\n"
    assert run("search", "--quiet").stderr == ""
    assert run("search", "--json").stderr == ""


def test_reading_never_makes_a_data_directory(run: Run, home: Path) -> None:
    reads = ("search", "log", "verify", "ls", "doctor", "tokens list", "export", "policy show", "audit", "index status")
    for words in reads:
        assert run(*words.split()).exit_code in (1, 4)
    assert not home.exists()


def test_the_shell_can_complete_commands(home: Path) -> None:
    script = typed(home, _RECOLLECT_COMPLETE="source_bash")
    assert script.returncode == 0
    assert b"complete " in script.stdout
    asked = typed(home, _RECOLLECT_COMPLETE="complete_bash", COMP_WORDS="recollect se", COMP_CWORD="1")
    assert sorted(asked.stdout.split()) == [b"search", b"seed", b"serve", b"session", b"settings"]
