"""The examples of the contracts as one story: the commands on the page, run in order, are answered as they say."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
from tests.surfaces.contracts import COMPONENTS, CONTRACTS, each_operation
from tests.surfaces.serving import Answered, Served, served

from recollect.surfaces.rest.page import render

OPERATIONS = {operation["operationId"]: operation for _, _, operation in each_operation()}
STORY = """
    health readiness whoami listTools callTool brief listTokens putMemory getMemory getUsage listEvents
    exportEntries archiveMemory searchMemories getVersion batchMemories listHistory listNamespaces getHead
    verify erase sweep getImport importEntries createToken revokeToken rotateKeys backup metrics docs contract
    contractForAdministrators topUsage deleteMemory indexStatus checkPolicy pushPolicy showPolicy explainPolicy
    simulatePolicy rollbackPolicy triggerIndex showSettings changeSettings forceDelete listAudit startPhase
    listTraces getTrace capture listCaptures dryRunCapture getCapture listRecords getRecord recall
    compileContext why whyNot pinRecord unpinRecord listContradictions resolveContradiction captureConsent
    listConsents getConsent propose listProposals getProposal reviewLoad claimProposal releaseProposal
    decideProposals approveProposal revokeConsent correctRecord promoteRecord rejectProposal listSignals undo
    retractRecord rememberCaptures putProfile getProfile listProfiles takeTurn recallTurn replaySession
    diffPhases memoryMetrics putPersona listPersonas getPersona putSeed getSeed converse listSessions getSession
    listMessages listSessionMessages getSessionState addTodo listTodos getTodo changeTodo listEntities putEntity
    splitEntity undoEntityChange getEntity mergeEntities listEntitySuggestions decideEntitySuggestion closeSession
    curate listCurations undoCuration listSpines getSpine deleteSeed importTurns getImportedTurns
"""
"""The operations in an order in which their examples can be true."""
ANOTHER_NAME = {
    "candidate": {
        "entity_ceid": "user:alice",
        "predicate": "name",
        "value": "Eve",
        "evidence_refs": ["tool:crm.lookup:tc_213"],
        "confidence": 0.9,
    },
    "class": "evidence_link",
}
TEA = "/v1/memories?ns=user&ns=alice&ns=notes&key=tea"
COFFEE = {"captures": [{"text": "I prefer coffee at noon."}]}
JON = ("PUT", "/v1/entities/person:jon", {"label": "Jon"})


def said(*texts: str) -> list[tuple[str, str, Any]]:
    """What is said to a friend, text by text."""
    return [("POST", "/v1/turns", {"user": each, "ai": "Yes.", "persona": "friend"}) for each in texts]


BEFORE: dict[str, list[tuple[str, str, Any]]] = {
    "listContradictions": [("POST", "/v1/proposals", ANOTHER_NAME)],
    "topUsage": [("GET", TEA, None)],
    "mergeEntities": [JON],
    "listEntitySuggestions": said("My brother Makesh lives in Berlin.", "My friend Mukesh lives in Rome."),
    "curate": said(*(f"My friend Jane likes {each}." for each in ("jazz", "chess", "cocoa"))),
    "listSpines": said(*(f"Hello number {each}." for each in range(8))),
    "diffPhases": [("POST", "/v1/phases", {"token": "release-3"}), ("POST", "/v1/captures", COFFEE)],
}
"""What must have happened for an example to be true, where no other example makes it so."""
NAMES = re.compile(
    r"(?<=_)[0-9a-f]{32}(?:[0-9a-f]{8})?(?![0-9A-Za-z])|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9A-Za-z])[0-9A-Za-z]{12}(?![0-9A-Za-z])"
)
EARLIEST = 10**15
"""A number above it is a time: in nanoseconds, as policies are told it, or in microseconds; that was in 2001."""
AGES = {"age_seconds", "oldest_seconds", "median_seconds", "p90_seconds", "oldest_open_seconds"} | {
    "median_waiting_seconds",
    "p90_waiting_seconds",
    "oldest_waiting_seconds",
}
"""How long something has waited, which is as long as the story takes."""
FEW = {"checks", "events"}
SOME = {"policy", "policy_snapshot", "contract"}
"""Of which an example shows the first few, and some members."""
CHANCE = re.compile(
    r"[0-9a-f]{64}|\b[0-9a-f]{16}\b|[0-9-]{10}T[0-9:]{8}(?:[.][0-9]{6})?Z|[0-9]{4}-[0-9]{2}-[0-9]{2}(?!T)|(?<=_)[0-9A-Za-z]{49}"
)


def test_the_story_has_every_operation() -> None:
    assert sorted(STORY.split()) == sorted(OPERATIONS)


def test_every_example_is_answered_as_it_says(tmp_path: Path) -> None:
    commands = commands_of(render(*CONTRACTS))
    with served(tmp_path, {"embedder": "local"}, still=True) as service:
        key = service.new_key("alice", name="laptop", roles=["admin", "auditor", "operator"])
        known: dict[str, str] = {}
        for name in STORY.split():
            for request in BEFORE.get(name, ()):
                assert service.ask(*request, key=key).status == 200
            answer = run(service, commands[name], key, known)
            status, example = expected(OPERATIONS[name])
            assert answer.status == status, (name, answer.body)
            if example is not None:
                assert same(example, answer.json(), known), (name, example, answer.json())


def test_an_example_that_is_not_true_is_caught() -> None:
    status, example = expected(OPERATIONS["batchMemories"])
    assert status == 200
    assert example is not None
    assert same(example, example, {})
    told = json.dumps(example)
    assert not same(example, json.loads(told.replace('"sequence": 3', '"sequence": 4')), {})
    assert not same(example, json.loads(told.replace("tea", "cocoa")), {})
    assert not same(example, json.loads(told.replace('"archived": false', '"archived": false, "more": 1')), {})
    _, turn = expected(OPERATIONS["takeTurn"])
    longer = json.loads(json.dumps(turn))
    longer["events"].append(turn["events"][0])
    longer["events"][0]["policy"]["more"] = 1
    assert same(turn, longer, {})
    assert not same(turn, {**turn, "events": turn["events"][1:]}, {})
    assert not same(
        turn, json.loads(json.dumps(turn).replace('"write_policy": "normal"', '"write_policy": "none"')), {}
    )
    _, report = expected(OPERATIONS["checkPolicy"])
    more = json.loads(json.dumps(report))
    more["checks"].append(report["checks"][0])
    assert same(report, more, {})
    assert not same(report, {**report, "checks": report["checks"][1:]}, {})
    assert not same({"now": 10**18 + 1}, {"now": 7}, {})
    assert not same({"score": 0.7}, {"score": 1.2}, {})
    assert not same({"score": 0.7}, {"score": None}, {})
    assert not same(example, example, {"019b76da-afd0-7000-8000-000000000003": "00000000-0000-0000-0000-000000000000"})


def test_a_stream_tells_of_events_in_the_promised_shape_and_resumes(tmp_path: Path) -> None:
    put = {"namespace": ["user", "admin"], "key": "k", "value": {"n": 1}}
    with served(tmp_path, {}) as service:
        for _ in range(3):
            assert service.ask("PUT", "/v1/memories", put).status == 200
        told = streamed(service, 2)
        assert [event["event"] for event in told] == ["add", "update"]
        schema = {"components": COMPONENTS, "$ref": "#/components/schemas/Event"}
        for event in told:
            jsonschema_rs.validate(schema, json.loads(event["data"]), validate_formats=True)
            assert json.loads(event["data"])["cursor"] == event["id"]
        assert [json.loads(event["data"])["sequence"] for event in streamed(service, 2, told[0]["id"])] == [2, 3]


def streamed(service: Served, count: int, after: str | None = None) -> list[dict[str, str]]:
    """So many events of a stream, which is then left; from the beginning, or after the one with this id."""
    connection = HTTPConnection(urlsplit(service.url).netloc, timeout=30)
    headers = {"Authorization": f"Bearer {service.admin_key}"} | ({"Last-Event-ID": after} if after else {})
    try:
        connection.request("GET", "/v1/memories/events?follow=true", headers=headers)
        answer = connection.getresponse()
        assert answer.headers.get_content_type() == "text/event-stream"
        found: list[dict[str, str]] = [{}]
        while len(found) <= count:
            line = answer.readline().decode().rstrip("\n")
            if not line and found[-1]:
                found.append({})
            elif line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                found[-1][name] = value
        return found[:count]
    finally:
        connection.close()


# -- reading the page


def commands_of(page: str) -> dict[str, list[str]]:
    """The command of every operation, as a shell would split it."""
    articles = re.findall(r'<h3 id="([A-Za-z]+)">.*?<pre><code>(curl .*?)</code></pre>', page, re.DOTALL)
    return {name: shlex.split(unescape(command).replace("\\\n", "")) for name, command in articles}


def run(service: Served, command: list[str], key: str, known: dict[str, str]) -> Answered:
    """What the service answers to the command, with the names that the story has met so far."""
    words = [NAMES.sub(lambda found: known.get(found[0], found[0]), word) for word in command]
    options = list(pairwise(words))
    method = next((value for name, value in options if name == "-X"), "GET")
    url = urlsplit(next(word for word in words if word.startswith("http://")))
    headers = dict(value.split(": ", 1) for name, value in options if name == "-H")
    assert headers.pop("Authorization", "Bearer $RECOLLECT_TOKEN") == "Bearer $RECOLLECT_TOKEN"
    body = next((json.loads(value) for name, value in options if name == "-d"), None)
    path = url.path + (f"?{url.query}" if url.query else "")
    return service.ask(method, path, body, key=key, **headers)


def expected(operation: dict[str, Any]) -> tuple[int, Any]:
    """The status and the body that the contract shows for success."""
    status = min(operation["responses"])
    content = operation["responses"][status].get("content", {})
    return int(status), content.get("application/json", {}).get("example")


def same(example: Any, answer: Any, known: dict[str, str]) -> bool:
    """True when both say the same, apart from times, hashes and secrets; names of chance may differ, but not change.

    A score is any, since it depends on the model and the machine. Of the many checks of a policy and the many events
    of a turn, an example shows the first few; of what governs a decision, some of it.
    """
    if isinstance(example, dict) and isinstance(answer, dict):
        answer = {name: _begun(name, example.get(name), each) for name, each in answer.items()}
        told = [name for name in example if name not in AGES]
        return example.keys() == answer.keys() and all(same(example[name], answer[name], known) for name in told)
    if isinstance(example, list) and isinstance(answer, list):
        return len(example) == len(answer) and all(map(same, example, answer, [known] * len(example)))
    if type(example) is type(answer) is float and 0 < example <= 1:
        return 0 < answer <= 1
    if type(example) is type(answer) is int and min(example, answer) > EARLIEST:
        return True
    if not isinstance(example, str) or not isinstance(answer, str):
        return bool(example == answer) and type(example) is type(answer)
    if CHANCE.sub("…", NAMES.sub("…", example)) != CHANCE.sub("…", NAMES.sub("…", answer)):
        return False
    names = zip(NAMES.findall(example), NAMES.findall(answer), strict=True)
    return all(known.setdefault(shown, met) == met for shown, met in names)


def _begun(name: str, shown: Any, answer: Any) -> Any:
    """As much of an answer as an example shows, where it shows only some."""
    if name in FEW and isinstance(shown, list) and shown and isinstance(answer, list):
        return answer[: len(shown)]
    if name in SOME and isinstance(shown, dict) and shown and isinstance(answer, dict):
        return {each: value for each, value in answer.items() if each in shown}
    return answer
