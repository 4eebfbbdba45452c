"""The documentation does what it says: code runs, output is exact, links lead somewhere, verbs exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, WrongPage, blocks, broken_links, run, written_pages

from recollect.testing import contract

NOT_RUN = {"docs/how-to/write-a-backend.md"}
"""Shown, not run: it tells of code that its reader has still to write."""
GUIDES = sorted(
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", ROOT / "docs/tutorial.md", *(ROOT / "docs/how-to").glob("*.md")]
    if page.name != "index.md"
)
PAGES = [str(page.relative_to(ROOT)) for page in written_pages()]


@pytest.mark.parametrize("name", [name for name in GUIDES if name not in NOT_RUN])
def test_the_code_of_a_guide_runs_and_prints_what_the_guide_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run((ROOT / name).read_text(), name) > 0


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
    assert list(blocks((ROOT / name).read_text())) == []


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
    page.write_text("[there](page.md#part) [elsewhere](https://example.org) [nowhere](lost.md)")
    assert broken_links(page) == ["lost.md"]
