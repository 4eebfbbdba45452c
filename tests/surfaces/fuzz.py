"""Requests made from the contracts, valid and not, against a running service; and what its answers break of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import schemathesis
from schemathesis import engine
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events
from schemathesis.hooks import HookContext
from tests.surfaces.contracts import CONTRACTS, each_operation, operations_of

from recollect.domain.address import DEPTH_CEILING, MAX_DEPTH
from recollect.service.reading import MAX_WAIT_SECONDS

_there: dict[str, str] = {}
PHASES = ("examples", "coverage", "fuzzing", "stateful")
OPERATIONS = len(list(each_operation()))
MOST_IN_A_ROUND = 50
"""Random requests per operation."""
LONGEST_QUERY = 60_000
REFUSALS = [400, 401, 403, 404, 405, 409, 413, 415, 429, 501]
"""How a request that the contract does not allow may be answered; one may be too large to be looked at."""
LONGEST_WAIT = 0.01
"""Seconds; whatever wait a request would ask for."""


@dataclass(slots=True)
class Findings:
    """How many requests were made, how they were answered, and what was wrong."""

    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    succeeded: set[str] = field(default_factory=set)
    """The operations that did what was asked at least once."""
    wrong: dict[str, str] = field(default_factory=dict)
    """What was wrong, each kind of it once, with a request that shows it."""

    def report(self) -> str:
        """Everything that was wrong, for people."""
        return "\n\n".join(f"{what[:1_000]}\n{shown[:1_000]}" for what, shown in self.wrong.items())


def fuzz(
    url: str,
    key: str,
    count: int,
    *,
    edges: bool = True,
    only: str | None = None,
    headers: Mapping[str, str] | None = None,
    there: Mapping[str, str] | None = None,
) -> Findings:
    """Make at least so many requests with this key: the examples, those at the edges of every limit, random ones.

    `there` names, for operations on one thing, one that is there: an example's own would hardly ever be.
    """
    _there.clear()
    _there.update(there or {})
    sent = {"Authorization": f"Bearer {key}"} | dict(headers or {})
    found = Findings()
    _round(found, _config(url, sent, "examples"), only)
    if edges and found.cases < count:
        _round(found, _config(url, sent, "coverage"), only)
    seed = 1
    while found.cases < count:
        each = min(MOST_IN_A_ROUND, 1 + (count - found.cases) // OPERATIONS)
        _round(found, _config(url, sent, "fuzzing", seed, each), only)
        seed += 1
    return found


def _round(found: Findings, config: schemathesis.Config, only: str | None) -> None:
    for contract in CONTRACTS:
        if only is None or only in {each["operationId"] for _, _, each in operations_of(contract)}:
            _part(found, contract, config, only)


def _part(found: Findings, contract: dict[str, Any], config: schemathesis.Config, only: str | None) -> None:
    schema = schemathesis.openapi.from_dict(contract, config=config)
    for event in engine.from_schema(schema if only is None else schema.include(operation_id=only)).execute():
        if isinstance(event, events.ScenarioFinished):
            _collect(found, event)
        elif isinstance(event, events.NonFatalError):
            found.wrong[f"{event.label}: {type(event.value).__name__}"] = str(event.value)
        elif isinstance(event, events.FatalError):
            raise event.exception


def _config(url: str, headers: dict[str, str], phase: str, seed: int = 0, each: int = 1) -> schemathesis.Config:
    return schemathesis.Config.from_dict(
        {
            "base-url": url,
            "headers": headers,
            "seed": seed,
            "workers": 1,
            "request-timeout": 30,
            "cache": {"enabled": False},
            "suppress-health-check": ["all"],
            "generation": {"mode": "all", "max-examples": each, "no-shrink": True, "database": "none"},
            "phases": {name: {"enabled": name == phase} for name in PHASES},
            "checks": {
                # What a schema cannot say is refused too: 1,024 bytes are not 1,024 characters.
                "positive_data_acceptance": {"enabled": False},
                "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", 501]},
                "negative_data_rejection": {"expected-statuses": REFUSALS},
            },
        }
    )


@schemathesis.hook("before_call")
def _bounded(context: HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Let no request wait for long, follow for ever, revoke the key of the others, or change what is valid for them."""
    query = case.query or {}
    try:
        if LONGEST_WAIT < float(query.get("wait", 0)) <= MAX_WAIT_SECONDS:
            query["wait"] = LONGEST_WAIT
    except (TypeError, ValueError):
        pass
    if str(query.get("follow")).lower() == "true":
        query["follow"] = False
    if len(urlencode(query, doseq=True, errors="replace")) > LONGEST_QUERY:
        # What does not fit into a URL never reaches the service: the HTTP parser refuses it.
        case.query = {"too": "long"}
    operation = case.operation.definition.raw.get("operationId")
    if operation == "revokeToken" and case.method == "DELETE":
        case.path_parameters["id"] = "000000000000"
    if operation in _there and case.method == case.operation.method.upper() and _is_sound(case):
        case.path_parameters["ref" if "ref" in case.path_parameters else "id"] = _there[operation]
    body = case.body if isinstance(case.body, dict) else {}
    wait = body.get("wait")
    if isinstance(wait, int | float) and wait is not True and LONGEST_WAIT < wait <= MAX_WAIT_SECONDS:
        body["wait"] = LONGEST_WAIT
    depth = body.get("max_depth")
    if operation == "changeSettings" and isinstance(depth, int) and depth is not True and 1 <= depth <= DEPTH_CEILING:
        body["max_depth"] = MAX_DEPTH
    if "X-Justification" not in (case.headers or {}):
        # Without it, nothing but the refusal to say anything would ever be seen of the reads that could have it.
        query.pop("as_user_id", None)


def _is_sound(case: schemathesis.Case[Any]) -> bool:
    """Whether the path is one that the contract allows."""
    part = None if case.meta is None else case.meta.components.get(ParameterLocation.PATH)
    return part is None or part.mode.is_positive


def _collect(found: Findings, event: events.ScenarioFinished) -> None:
    recorder = event.recorder
    found.cases += len(recorder.interactions)
    for interaction in recorder.interactions.values():
        if interaction.response is not None:
            found.statuses[interaction.response.status_code] += 1
            if interaction.response.status_code < 300:
                found.succeeded.add(recorder.label)
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                what = f"{recorder.label}: {failure.title}: {failure.message}"
                found.wrong.setdefault(what, check.failure_info.code_sample)
