"""Run every check of the contracts on every backend, and write into the reference which clauses each of them keeps."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections import defaultdict
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "backends.md"
SUITES = ("tests/contract/test_contract.py", "tests/vectors/test_contract.py")
_RUN = re.compile(r"test_(?:the_backend_keeps_the|it_keeps_its)_promise\[(?P<backend>.+?)-(?P<rest>[SVv]\d.*)\]")
_CLAUSE = re.compile(r"[SV]\d+")
_HOW_TO_READ = (
    "Which clauses of [the contracts](clauses.md) each backend keeps, as the last run of all checks found it: a number "
    "says how many checks of the clause passed, `✗` that one failed, and `–` that the engine was not there. Written by "
    "`make table`."
)
Outcomes = dict[str, dict[str, list[str]]]
"""By clause and backend: how each check that cites the clause went."""


def outcomes_in(report: Path) -> Outcomes:
    """What a run of the suites came to."""
    found: Outcomes = defaultdict(lambda: defaultdict(list))
    for case in Xml.parse(report).iter("testcase"):
        run = _RUN.fullmatch(case.get("name", ""))
        if run is None:
            continue
        cited = run["rest"].upper().partition("-")[0].partition("_")[0]
        outcome = "passed"
        for kind in ("failure", "error", "skipped"):
            outcome = kind if case.find(kind) is not None else outcome
        for clause in _CLAUSE.findall(cited):
            found[clause][run["backend"]].append(outcome)
    return found


def page(found: Outcomes) -> str:
    """The tables: the store's clauses, then those of the vector store."""
    parts = [
        "# Backends",
        _HOW_TO_READ,
    ]
    for title, letter in (("The store", "S"), ("The vector store", "V")):
        clauses = sorted((clause for clause in found if clause[0] == letter), key=lambda clause: int(clause[1:]))
        backends = list(dict.fromkeys(backend for clause in clauses for backend in found[clause]))
        rows = [["clause", *backends], ["---"] * (len(backends) + 1)]
        rows += [[clause, *(_cell(found[clause].get(backend, [])) for backend in backends)] for clause in clauses]
        parts.append(f"## {title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts) + "\n"


def _cell(outcomes: list[str]) -> str:
    if not outcomes or "skipped" in outcomes:
        return "–"
    return "✗" if set(outcomes) != {"passed"} else str(len(outcomes))


def main() -> int:
    """Run the suites and write the page; the exit code is theirs."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", f"--junitxml={report}"]
        done = subprocess.run([*command, *SUITES], check=False)
        PAGE.write_text(page(outcomes_in(report)))
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent.parent)}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
