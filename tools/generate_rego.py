"""Writes `docs/reference/rego.md`: the built-ins that policies may use, those that they may not, and what was measured.

Run by `make generate`; a test compares the page with what this would write. The figures are those of the last run of
OPA's test cases, which `python -m tests.policies.conformance` writes down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from recollect.backends.rego.builtins import ALLOWED, CAVEATS, REFUSED, SPELLED, Refusal

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/reference/rego.md"
SUMMARY = ROOT / "tests/policies/conformance.json"
PROBES = ROOT / "tests/policies/probes.json"


def page() -> str:
    """The page."""
    run = json.loads(SUMMARY.read_bytes())
    agreed = sum(len(asked) for calls in json.loads(PROBES.read_bytes())["agree"].values() for asked in calls.values())
    return f"""# Rego

<!-- Generated from the code by `make generate`. Change the code, not this page. -->

Policies are written in Rego v1. The embedded engine evaluates them. It is not OPA, so what it does was compared with
OPA {run["opa"]}. A policy may use a built-in when the engine gives OPA's answers in OPA's own test cases and in
{agreed:,} further calls, and when it can neither reach outside nor run for ever. A policy that uses any other built-in
is refused when it is loaded. With `policy_engine = "opa"`, an OPA server decides, and all of them are there.

Of OPA's {run["cases"]:,} test cases, {run["agreeing"]:,} have OPA's outcome in the embedded engine, regopy
{run["engine"]}. {run["uncompiled"]:,} use syntax that it does not know, and are refused. {run["excused"]} has
numbers beyond the range of a double, which stop the decision. All others that fail use a built-in that is refused.

## Allowed

Cases are those of OPA that use the built-in, and none that is refused.

{_allowed(run["builtins"])}

## Refused

{_refused()}
"""


def _refused() -> str:
    parts = []
    for why in Refusal:
        names = sorted(name for name, reason in REFUSED.items() if reason is why)
        parts.append(f"### {why.value}\n\nIt {why.sentence}.\n\n{', '.join(map(_spelled, names))}.")
    return "\n\n".join(parts)


def _allowed(measured: dict[str, list[int]]) -> str:
    rows = [
        (_spelled(name), "{} of {}".format(*measured[name]), CAVEATS.get(name, ""))
        for name in sorted(ALLOWED, key=lambda name: (name not in SPELLED, name))
    ]
    return _table(("built-in", "cases", "what to know"), rows)


def _spelled(name: str) -> str:
    return f"`{SPELLED.get(name, name)}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, tuple("---" for _ in head), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write(target: Path = TARGET) -> Path:
    """Write the page and say where."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page())
    return target


if __name__ == "__main__":
    print(f"wrote {write().relative_to(ROOT)}")
