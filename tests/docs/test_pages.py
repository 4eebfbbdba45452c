"""The documentation does what it says: code runs, output is exact, links lead somewhere, verbs exist."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import psutil
import pytest
from tests.docs.commands import unknown_in
from tests.docs.pages import (
    ROOT,
    WrongPage,
    blocks,
    broken_links,
    fenced,
    needs_grpc,
    needs_service,
    run,
    written_pages,
)
from tests.docs.transcripts import Outcome, run_transcripts, typed

from recollect.config.sources import load
from recollect.domain.errors import InvalidSetting
from recollect.testing import contract
from recollect.testing.servers import Server

NOT_RUN = {"docs/how-to/write-a-backend.md"}
"""Shown, not run: it tells of code that its reader has still to write."""
RUN_ELSEWHERE = {
    "docs/how-to/run-several-processes.md",
    "docs/how-to/use-an-opa-server.md",
    "docs/how-to/use-mongodb.md",
    "docs/how-to/use-postgresql.md",
}
"""Their steps need a server, which tests/{policies,contract,postgres,processes} start to take them."""
GUIDES = sorted(
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("tutorial*.md"), *(ROOT / "docs/how-to").glob("*.md")]
    if page.name != "index.md"
)
PAGES = [str(page.relative_to(ROOT)) for page in written_pages()]


CODED = [name for name in GUIDES if name not in NOT_RUN | RUN_ELSEWHERE and any(blocks((ROOT / name).read_text()))]
SPOKEN = [name for name in GUIDES if any(typed((ROOT / name).read_text()))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run a page in, without anything that the machine's own settings might change."""
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CODED)
def test_the_code_of_a_guide_runs_and_prints_what_the_guide_says(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / name).read_text()
    if not needs_service(text):
        assert run(text, name) > 0
        return
    door = {"grpc_port": 0} if needs_grpc(text) else {}
    with Server(folder / ".recollect", embedder="local", **door) as server:
        monkeypatch.setenv("RECOLLECT_URL", server.url)
        monkeypatch.setenv("RECOLLECT_TOKEN", server.token)
        assert run(text, name) > 0


@pytest.mark.parametrize("name", SPOKEN)
def test_the_transcripts_of_a_guide_are_what_a_shell_says(name: str, folder: Path) -> None:
    outcome = run_transcripts((ROOT / name).read_text(), name, folder)
    told = f"{outcome.missing} is not installed: {outcome.left} of {outcome.ran + outcome.left} commands were not run"
    if outcome.missing is not None:
        assert not os.environ.get("CI"), told
        pytest.skip(told)


def test_every_guide_is_run() -> None:
    assert set(GUIDES) == {*CODED, *SPOKEN, *NOT_RUN, *RUN_ELSEWHERE}


@pytest.mark.parametrize("name", PAGES)
def test_commands_that_are_only_shown_have_names_and_options_that_exist(name: str) -> None:
    assert unknown_in((ROOT / name).read_text()) == []


@pytest.mark.parametrize("name", PAGES)
def test_settings_that_are_shown_can_be_used(name: str, tmp_path: Path) -> None:
    for number, shown in enumerate(fenced((ROOT / name).read_text(), "toml")):
        home = tmp_path / str(number)
        home.mkdir()
        (home / "recollect.toml").write_text(shown)
        assert "file" in load(home, environment={}, flags={}).origin.values()


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_code_that_is_only_shown_compiles_and_names_what_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    for block in blocks(text):
        compile(block.code, name, "exec")
    named = set(re.findall(r"\bcontract\.(\w+)", text))
    assert named
    assert [part for part in sorted(named) if not hasattr(contract, part)] == []


@pytest.mark.parametrize("name", [name for name in PAGES if name not in GUIDES])
def test_code_stands_only_on_pages_that_run_it(name: str) -> None:
    text = (ROOT / name).read_text()
    assert [*blocks(text), *typed(text)] == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files_that_exist(name: str) -> None:
    assert broken_links(ROOT / name) == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set(), [ROOT / "docs/index.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
        waiting += [page.parent / link for link in links if "://" not in link]
    assert {page.resolve() for page in (ROOT / "docs").rglob("*.md")} <= reached


def test_every_verb_that_the_pages_name_exists() -> None:
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in written_pages():
        named = set(re.findall(r"`make ([a-z]+)|^make ([a-z]+)", page.read_text(), re.MULTILINE))
        assert {first or second for first, second in named} <= verbs, page


def test_a_page_opens_with_its_title() -> None:
    for page in written_pages():
        assert page.read_text().startswith("# "), page


# -- the runner itself


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("```python\nprint(1)\n```\n\n```text\n2\n```\n", id="other output"),
        pytest.param("```python\nprint(1)\n```\n", id="output that the page does not show"),
        pytest.param("```python\npass\n```\n\n```text\n1\n```\n", id="no output where the page shows some"),
        pytest.param("```python\nprint(1)\n```\nprose\n\n```text\n1\n```\n", id="output that belongs to nothing"),
    ],
)
def test_a_page_that_is_wrong_is_caught(page: str) -> None:
    with pytest.raises(WrongPage):
        run(page)


def test_a_page_whose_code_fails_is_caught() -> None:
    with pytest.raises(ZeroDivisionError):
        run("```python\n1 / 0\n```\n")


def test_blocks_share_names_and_an_event_loop() -> None:
    page = (
        "```python\nimport asyncio\nhere = asyncio.get_running_loop\nloop = here()\nawait asyncio.sleep(0)\n```\n"
        "```python\nawait asyncio.sleep(0)\nprint(here() is loop)\n```\n\n```text\nTrue\n```\n"
    )
    assert run(page) == 2


def test_a_link_that_leads_nowhere_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    links = [
        "page.md#a-part-of-it",
        "#a-part-of-it",
        "https://example.org",
        "lost.md",
        "page.md#lost",
        "#not-a-heading",
    ]
    page.write_text("# A part, of it\n```sh\n# not a heading\n```\n" + " ".join(f"[x]({link})" for link in links))
    assert broken_links(page) == ["lost.md", "page.md#lost", "#not-a-heading"]


# -- the runner of transcripts


@pytest.fixture(scope="module")
def right() -> str:
    """A page with nothing wrong in it."""
    return (
        "```console\n"
        "$ recollect --quiet put user/alice diet vegan \\\n    --json\n"
        '{"id":"…","namespace":["user","alice"],"key":"diet","kind":"add",…}\n'
        "$ WHO=alice\n"
        "$ recollect get user/$WHO diet\n"
        '{\n  "text": "vegan"\n}\n'
        "$ recollect whoami --url http://127.0.0.1:4747 | grep ^user\n"
        "user\tadmin\n"
        "```\nprose\n```console\n"
        "$ cat > there <<END\n> $WHO\n> END\n"
        "$ recollect get user/$WHO city\n"
        "error: memory not found\n…\n"
        "$ cat there | tr a-z A-Z\nALICE\n"
        "```\n"
    )


def test_a_transcript_that_is_right_is_run_whole(right: str, folder: Path) -> None:
    assert run_transcripts(right, "page", folder) == Outcome(7)


@pytest.mark.parametrize(
    ("page", "where"),
    [
        pytest.param("$ echo 1\n2\n", "page:2", id="other output"),
        pytest.param("$ echo 1\n", "page:2", id="output that the page does not show"),
        pytest.param("$ true\n1\n", "page:2", id="no output where the page shows some"),
        pytest.param("$ echo 1\n1\n$ echo 12\n1…3\n", "page:4", id="other output around what differs"),
        pytest.param("$ echo a.c\nabc\n", "page:2", id="a dot is only a dot"),
        pytest.param("$ false\n", "page:2", id="a failure that the page does not show"),
        pytest.param("$ exit 3\n", "the shell ended", id="a shell that ends"),
    ],
)
def test_a_transcript_that_is_wrong_is_caught(page: str, where: str, folder: Path) -> None:
    with pytest.raises(WrongPage, match=where):
        run_transcripts(f"```console\n{page}```\n", "page", folder)


def test_what_a_transcript_leaves_running_is_ended(folder: Path) -> None:
    page = "```console\n$ sleep 600 & echo $! > left\n$ false\n```\n"
    with pytest.raises(WrongPage):
        run_transcripts(page, "page", folder)
    left = int((folder / "left").read_text())
    until = time.monotonic() + 10
    while runs(left) and time.monotonic() < until:
        time.sleep(0.02)
    assert not runs(left)


def runs(pid: int) -> bool:
    """True for a process that is under way; one that has ended may still be listed, until somebody asks how."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_commands_after_a_program_that_is_not_there_are_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None if program == "curl" else "/bin/true")
    page = "```console\n$ echo 1\n1\n$ curl -s nowhere\n?\n$ touch here\n```\n"
    assert run_transcripts(page, "page", folder) == Outcome(1, "curl", 2)
    assert not (folder / "here").exists()


@pytest.mark.parametrize("page", ["# Title\n", "```console\n$ echo 1\n1\n```\n"])
def test_a_page_that_is_not_about_the_service_gets_none(page: str, folder: Path) -> None:
    assert run_transcripts(page, "page", folder).missing is None
    assert not (folder / ".recollect").exists()


def test_only_code_that_speaks_to_a_service_gets_one() -> None:
    assert needs_service("```python\nimport recollect_client\n```\n")
    assert not needs_service("recollect_client\n```python\nimport recollect\n```\n")
    assert needs_service("```python\nimport recollect.surfaces.grpc\n```\n")
    assert not needs_grpc("```python\nimport recollect_client\n```\n")


# -- what is only shown


@pytest.mark.parametrize(
    "shown",
    ["recollect forget user:alice", "recollect put a b c --soon", "recollect tokens make alice", "x && recollect nod"],
)
def test_a_command_that_does_not_exist_is_caught(shown: str) -> None:
    assert unknown_in(f"```sh\n{shown}\n```\n") == [shown]


def test_commands_that_exist_are_let_through() -> None:
    page = "```sh\nrecollect --home x serve --port 1\nsudo recollect tokens create a --role b --json\nls -l\n```\n"
    assert unknown_in(page) == []


def test_settings_that_cannot_be_used_are_caught(tmp_path: Path) -> None:
    (tmp_path / "recollect.toml").write_text(fenced("```toml\nprot = 4747\n```\n", "toml")[0])
    with pytest.raises(InvalidSetting):
        load(tmp_path, environment={}, flags={})
