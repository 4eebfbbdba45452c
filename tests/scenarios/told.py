"""What a door tells of policies, the audit, the index and the settings, made plain from objects and from JSON alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.scenarios.door import Plain, plain

VERSION = ("number", "digest", "source", "note", "by", "at")
CLAUSE = ("module", "line", "title", "held", "failed", "failed_line")
DECISION = ("allow", "reason")
ASKED = ("action", "namespace", "key")
WHO = ("user_id", "client_id", "roles")
ENTRY = ("id", "action", "by", "at", "justification")
EXTRACTION = ("running", "done", "total", "changed", "failed", "started_at", "finished_at")
INDEX = ("pending", "failed", "indexed", "model")
REBUILDING = ("model", "done", "total", "started_at")
OWN_TO_A_RUN = ("now_ns", "tenant")
"""What a policy is told that differs from door to door."""


def part(thing: Any, name: str, *others: str) -> Any:
    """A member or an attribute, under the first of these names that there is."""
    for each in (name, *others):
        if isinstance(thing, Mapping) and each in thing:
            return thing[each]
        if not isinstance(thing, Mapping) and hasattr(thing, each):
            return getattr(thing, each)
    raise KeyError(name)


def policy(found: Any) -> Plain:
    return {
        "version": plain(part(found, "version"), VERSION),
        "modules": dict(part(found, "modules")),
        "packages": [str(each) for each in part(found, "packages")],
        "versions": [plain(each, VERSION) for each in part(found, "versions")],
    }


def report(found: Any) -> Plain:
    return {
        "sound": part(found, "sound"),
        "problems": [plain(each, ("message", "module", "line")) for each in part(found, "problems")],
        "checks": [plain(each, ("name", "passed", "note")) for each in part(found, "checks")],
        "packages": [str(each) for each in part(found, "packages")],
    }


def explanation(found: Any) -> Plain:
    decision, narrowed = part(found, "decision"), part(found, "narrowed")
    told = json.loads(json.dumps(part(found, "input")))
    for name in OWN_TO_A_RUN:
        del told["context"][name]
    return {
        "package": str(part(found, "package")),
        "rule": part(found, "rule"),
        "decision": None if decision is None else plain(decision, DECISION),
        "narrowed": None
        if narrowed is None
        else {"prefix": list(part(narrowed, "prefix", "namespace_prefix")), "filter": dict(part(narrowed, "filter"))},
        "clauses": [plain(each, CLAUSE) for each in part(found, "clauses")],
        "input": told,
    }


def simulation(found: Any) -> Plain:
    return {
        "tried": part(found, "tried"),
        "changes": [_change(each) for each in part(found, "changes")],
        "report": report(part(found, "report")),
    }


def _change(found: Any) -> Plain:
    asked = getattr(found, "asked", found)
    turns = {name: plain(part(found, name), DECISION) for name in ("before", "after")}
    return plain(getattr(asked, "caller", asked), WHO) | plain(asked, ASKED) | turns


def audit(page: Any) -> Plain:
    return {"entries": [_entry(each) for each in part(page, "entries")], "cursor": part(page, "cursor")}


def _entry(found: Any) -> Plain:
    details = {name: value for name, value in part(found, "details").items() if name != "credential"}
    return plain(found, ENTRY) | {"details": details}


def index(found: Any) -> Plain:
    rebuilding = part(found, "rebuilding")
    return plain(found, INDEX) | {
        "rebuilding": None if rebuilding is None else plain(rebuilding, REBUILDING),
        "extraction": plain(part(found, "extraction"), EXTRACTION),
    }


def tuned(found: Any) -> Plain:
    return {"settings": dict(part(found, "settings")), "changed": list(part(found, "changed"))}
