"""The shape of the code: layers, purity, names and sizes; each rule with a breach that it must catch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture import rules
from tests.architecture.rules import ROOT, SOURCE, modules

import recollect

MODULES = [pytest.param(path, id=str(path.relative_to(SOURCE))) for path in modules()]
DOMAIN = [pytest.param(path, id=path.stem) for path in modules(SOURCE / "domain")]
_SQL_BACKENDS = [SOURCE / "backends/sqlite", SOURCE / "backends/postgres"]
SQL = [
    pytest.param(path, id=str(path.relative_to(SOURCE / "backends")))
    for backend in _SQL_BACKENDS
    for path in modules(backend)
]
_ABOUT_SQL = {
    # The fault injectors and the planted faults work on the tables themselves.
    path
    for path in modules()
    if any(path.is_relative_to(folder) for folder in [*_SQL_BACKENDS, SOURCE / "testing"])
}
ELSEWHERE = [pytest.param(path, id=str(path.relative_to(SOURCE))) for path in modules() if path not in _ABOUT_SQL]
MOST_LINES = 500


# -- layers


def linted(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_imports_run_downward_only() -> None:
    result = linted(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def test_an_import_that_runs_upward_is_caught(tmp_path: Path) -> None:
    package = tmp_path / "shape"
    for layer, text in (("", ""), ("domain", "import shape.service\n"), ("service", "")):
        (package / layer).mkdir(exist_ok=True)
        (package / layer / "__init__.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_package = "shape"\n[[tool.importlinter.contracts]]\nname = "down"\n'
        'type = "layers"\ncontainers = ["shape"]\nlayers = ["service", "domain"]\n'
    )
    assert linted(tmp_path).returncode == 1


# -- what code may do


@pytest.mark.parametrize("path", MODULES)
def test_nothing_runs_what_was_stored(path: Path) -> None:
    assert rules.runs_stored_code(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from marshal import loads", "eval('1')", "exec(x)", "import yaml", "from yaml import load"],
)
def test_running_what_was_stored_is_caught(code: str) -> None:
    assert rules.runs_stored_code(code)


@pytest.mark.parametrize("path", ELSEWHERE)
def test_only_the_backends_for_it_know_sql(path: Path) -> None:
    assert rules.knows_sql(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "import apsw",
        "from psycopg import sql",
        "def f():\n    import sqlite3",
        "x = 'SELECT a FROM b'",
        "f'DELETE FROM {x}'",
    ],
)
def test_knowing_sql_is_caught(code: str) -> None:
    assert rules.knows_sql(code)


@pytest.mark.parametrize("path", SQL)
def test_values_are_bound_and_never_pasted_into_sql(path: Path) -> None:
    assert rules.unbound_values(path.read_text()) == []


@pytest.mark.parametrize(
    "code", ["db.execute('… = %s' % key)", "db.execute(f'… = {key}', ())", "link.send(f'… = {key}', 1)"]
)
def test_a_value_pasted_into_sql_is_caught(code: str) -> None:
    assert rules.unbound_values(code)


@pytest.mark.parametrize("path", DOMAIN)
def test_the_domain_is_given_time_chance_and_identity(path: Path) -> None:
    assert rules.knows_the_world(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "import time",
        "from random import random",
        "import os.path",
        "from uuid import uuid4",
        "uuid.uuid7()",
        "datetime.now(UTC)",
        "date.today()",
        "def f():\n    import secrets",
        "open('x')",
    ],
)
def test_a_domain_that_asks_the_world_is_caught(code: str) -> None:
    assert rules.knows_the_world(code)


# -- how code reads


@pytest.mark.parametrize("path", MODULES)
def test_a_module_opens_with_one_sentence(path: Path) -> None:
    assert rules.opening_flaw(path.read_text()) is None


@pytest.mark.parametrize("code", ["", '"""Two. Sentences."""', '"""no end"""'])
def test_a_module_without_an_opening_sentence_is_caught(code: str) -> None:
    assert rules.opening_flaw(code)


@pytest.mark.parametrize("path", MODULES)
def test_a_module_is_named_for_what_it_is_for_and_stays_short(path: Path) -> None:
    assert not rules.says_nothing(path)
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES or rules.is_generated(text)


def test_a_name_that_says_nothing_is_caught() -> None:
    assert rules.says_nothing(Path("recollect/domain/utils.py"))
    assert rules.says_nothing(Path("recollect/common/text.py"))


@pytest.mark.parametrize("folder", ["src", "tests", "tools", "examples"])
def test_a_silenced_check_says_which(folder: str) -> None:
    silent = {path: rules.unreasoned(path.read_text()) for path in modules(ROOT / folder)}
    assert {path: lines for path, lines in silent.items() if lines and path != Path(__file__)} == {}


@pytest.mark.parametrize("code", ["x = 1  # noqa", "x = 1  # type: ignore", "x = 1  # noqa: S101 # type: ignore"])
def test_a_check_that_is_silenced_without_saying_which_is_caught(code: str) -> None:
    assert rules.unreasoned(code) == [1]


def test_a_check_that_is_silenced_by_name_is_let_through() -> None:
    assert rules.unreasoned("x = 1  # noqa: S101\ny = 1  # type: ignore[arg-type, misc] # because") == []


# -- what is shipped


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


def test_the_exported_names_are_exactly_those_that_exist() -> None:
    assert list(recollect.__all__) == sorted(recollect.__all__)
    assert all(hasattr(recollect, name) for name in recollect.__all__)


def test_help_lists_every_verb() -> None:
    calm = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(["make", "help"], cwd=ROOT, env=calm, capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"test", "check", "bench", "soak", "help"} <= set(verbs)
    assert re.findall(r"^  make ([a-z]+) +\S", shown, re.MULTILINE) == sorted(verbs)
