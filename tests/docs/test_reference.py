"""The reference pages are what the code says now, and leave nothing out."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest
from tools import generate_access, generate_backends, generate_langgraph, generate_reference, generate_tools

import recollect
from recollect.domain.errors import all_errors
from recollect.domain.filters import Operator
from recollect.ports import credentials, embedder, keys, policy, store
from recollect.sync import MemoriesSync

PAGES = generate_reference.pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (generate_reference.TARGET / name).read_text() == PAGES[name], "run `make generate`"


def test_the_page_of_the_tools_is_up_to_date() -> None:
    assert generate_tools.TARGET.read_text() == generate_tools.page(), "run `make generate`"


def test_no_page_is_left_over() -> None:
    others = {
        generate_access.TARGET.name,
        generate_backends.PAGE.name,
        generate_langgraph.PAGE.name,
        generate_tools.TARGET.name,
    }
    assert {page.name for page in generate_reference.TARGET.glob("*.md")} == {*PAGES, *others}


def test_pages_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    written = generate_reference.write(tmp_path / "reference")
    assert {path.name: path.read_text() for path in written} == PAGES


def test_every_error_is_told_with_its_code_and_advice() -> None:
    for error in all_errors():
        retriable = "yes" if error.retriable else "no"
        assert f"| `{error.__name__}` | `{error.code}` | {retriable} | {error.advice()} |" in PAGES["errors.md"]


def test_every_error_gives_advice_of_its_own_under_a_code_of_its_own() -> None:
    errors = all_errors()
    assert len({error.code for error in errors}) == len(errors)
    assert len({error.advice() for error in errors}) == len(errors)
    assert all("__doc__" in vars(error) and error.__doc__ for error in errors)


def test_every_setting_is_told_with_its_default_and_meaning() -> None:
    for setting in dataclasses.fields(recollect.Settings):
        row = next(line for line in PAGES["settings.md"].splitlines() if line.startswith(f"| `{setting.name}` |"))
        assert f"`{setting.default!r}`" in row
        assert setting.metadata["meaning"].endswith(".")
        assert setting.metadata["meaning"] in row


def test_every_code_is_told() -> None:
    for closed in generate_reference.reason_sets():
        section = PAGES["reasons.md"].partition(f"## {closed.__name__}\n")[2].partition("\n## ")[0]
        for member in closed:
            assert f"`{member.value}`" in section


PLAIN = {
    "Plane", "Source", "Authority", "Space", "PhaseMode", "BorderAction", "Speaker", "SourceClass",
    "Basis", "Risk", "Notice",
}  # fmt: skip
"""Sets of words that say it all."""


def test_every_code_of_an_event_an_ending_and_a_finding_has_a_meaning() -> None:
    for closed in generate_reference.reason_sets():
        said = generate_reference._docstrings_below(closed)
        assert closed.__name__ in PLAIN or set(said) == set(closed.__members__)


def test_every_operator_is_told() -> None:
    for operator in Operator:
        assert f"| `{operator.value}`" in PAGES["filters.md"]


def test_every_clause_is_told_and_none_is_skipped() -> None:
    for letter, module in (("S", store), ("K", keys), ("P", policy), ("C", credentials), ("E", embedder)):
        clauses = generate_reference.clauses_of(module)
        assert [number for number, _ in clauses] == [f"{letter}{n}" for n in range(1, len(clauses) + 1)]
        for number, promise in clauses:
            assert f"| {number} | {promise} |" in PAGES["clauses.md"]


def test_every_limit_is_told_with_its_value() -> None:
    told = {(limit.module, limit.name) for limit in generate_reference.LIMITS}
    assert set(generate_reference.constants()) <= told
    assert "| Bytes of a key in UTF-8. | 1,024 |" in PAGES["limits.md"]


def test_every_public_method_is_told() -> None:
    for name, method in inspect.getmembers(recollect.Memories, inspect.isfunction):
        if not name.startswith("_"):
            assert f"### {name}\n" in PAGES["python.md"]
            assert inspect.getdoc(method)
            assert hasattr(MemoriesSync, name)


def test_every_exported_name_is_told() -> None:
    everything = "\n".join(PAGES.values())
    for name in recollect.__all__:
        assert f"# {name}\n" in everything or f"`{name}`" in everything
