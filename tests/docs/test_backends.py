"""The table of what each backend keeps names every clause and every backend, and tells of no failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.test_contract import BACKENDS
from tests.vectors.test_contract import VECTORS
from tools.generate_backends import PAGE, outcomes_in, page

from recollect.ports import store, vectors
from recollect.testing.contract import clauses_of

PARTS = {"S": (store, list(BACKENDS)), "V": (vectors, [name for name in VECTORS if name != "qdrant-server"])}
"""The ports, and the backends that can be had wherever the tests run."""


@pytest.mark.parametrize("letter", list(PARTS))
def test_the_table_tells_of_every_clause_and_every_backend(letter: str) -> None:
    port, backends = PARTS[letter]
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    rows = {line[0]: line[1:] for line in lines if line[0].startswith(letter) and line[0][1:].isdigit()}
    heads = [line[1:] for line in lines if line[0] == "clause"]
    assert list(rows) == clauses_of(port.__doc__, letter)
    head = next(head for head in heads if set(backends) <= set(head))
    kept = {name: [row[place] for row in rows.values()] for place, name in enumerate(head) if name in backends}
    assert all(cell.isdigit() and int(cell) for cells in kept.values() for cell in cells), "run `make table`"


def test_a_failure_and_a_missing_engine_show_in_the_table(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    name = "test_the_backend_keeps_the_promise"
    report.write_text(
        "<testsuite>"
        f'<testcase name="{name}[sqlite-encrypted-S1+S12-one]"/><testcase name="{name}[sqlite-encrypted-S1-two]"/>'
        f'<testcase name="{name}[postgres-S1-one]"><failure/></testcase>'
        f'<testcase name="{name}[mongodb-S1-one]"><skipped/></testcase>'
        '<testcase name="test_it_keeps_its_promise[memory-v10_threads]"/>'
        "</testsuite>"
    )
    written = page(outcomes_in(report))
    assert "| S1 | 2 | ✗ | – |\n| S12 | 1 | – | – |" in written
    assert "| V10 | 1 |" in written
