"""The public contracts: valid, complete, true to the code, and strict enough that a wrong answer breaks them."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing.exceptions import Unresolvable
from tests.surfaces.contracts import (
    COMPONENTS,
    CONTRACT,
    CONTRACT_FOR_ADMINISTRATORS,
    CONTRACTS,
    OPERATIONS,
    PATHS,
    SCHEMAS,
    each_operation,
    followed,
)

from recollect.domain import (
    address,
    attributes,
    bundles,
    callers,
    commits,
    errors,
    filters,
    queries,
    ranking,
    tuning,
    verification,
)
from recollect.domain.compiling import codes as compiling
from recollect.domain.compiling import counting, packs, shipped, states, templates
from recollect.domain.conversation import assembling, curating, curations, personas, sessions, summaries, todos
from recollect.domain.entities import likeness, registry
from recollect.domain.entities import refs as naming
from recollect.domain.governance import items, policy, terms
from recollect.domain.promotion import claims, codes, consents, proposals, shapes, standing
from recollect.domain.reasons import TOLD, EndReason, Finding
from recollect.domain.recall import asking, memories
from recollect.domain.remembering import captures, deciding, records
from recollect.domain.retention import Pass
from recollect.service import audit, looking, reading, transfer
from recollect.service.conversation import importing, talking
from recollect.service.governing import profiles, turns
from recollect.service.measuring import measures
from recollect.service.pipeline import capturing, reviewing
from recollect.service.recalling import contexts
from recollect.service.telling import traces as tracing
from recollect.surfaces.rest.routes import ROUTES, Route
from recollect.surfaces.rest.traces import FORMATS
from recollect.wire import conversing, recalling, remembering, requests
from recollect.wire.errors import status_of

ROOT = Path(__file__).parents[2]
EACH = pytest.mark.parametrize("contract", CONTRACTS, ids=["everybody", "administrators"])
ANONYMOUS = {"/healthz", "/readyz"}
READERS = {"/docs", "/openapi.yaml", "/openapi-admin.yaml"}
ONLY_WHEN_OPENED = {"not_a_store", "store_incomplete", "schema_too_new", "engine_too_old"}
"""Raised before there is a service that could answer."""
ONLY_CLASSES = {
    "error",
    "invalid_input",
    "access_refused",
    "conflict",
    "key_trouble",
    "store_trouble",
    "service_trouble",
}
"""Names of whole branches, which are caught but never raised themselves."""
MEMORY_ACTIONS = [callers.Action.READ, callers.Action.WRITE, callers.Action.DELETE]


def complaints(schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, in the eyes of a schema of the contract."""
    whole = {"components": COMPONENTS, "allOf": [schema]}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)]


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body that an operation takes or gives, with a name for it."""
    for body in followed(operation.get("requestBody", {})).get("content", {}).values():
        yield "request", body
    for status, answer in operation["responses"].items():
        for body in followed(answer).get("content", {}).values():
            yield status, body


# -- the document


def flaws(contract: dict[str, Any]) -> list[str]:
    """What is wrong with a contract, in the eyes of OpenAPI itself."""
    try:
        return [problem.message for problem in OpenAPIV31SpecValidator(contract).iter_errors()]
    except Unresolvable as problem:
        return [f"{problem.ref} leads nowhere"]


@EACH
def test_a_contract_is_valid_openapi(contract: dict[str, Any]) -> None:
    assert flaws(contract) == []


@pytest.mark.parametrize("flaw", ["response", "reference", "parameter"])
def test_a_contract_that_is_not_valid_is_caught(flaw: str) -> None:
    broken = copy.deepcopy(CONTRACT)
    operation = broken["paths"]["/v1/memories"]["get"]
    if flaw == "response":
        del operation["responses"]["200"]["description"]
    elif flaw == "reference":
        operation["responses"]["404"] = {"$ref": "#/components/responses/Nowhere"}
    else:
        del broken["paths"]["/v1/memories/{id}"]["get"]["parameters"]
    assert flaws(broken)


@EACH
def test_a_contract_has_the_version_of_the_program(contract: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert contract["info"]["version"] == project["version"]


def test_what_administrators_do_is_in_the_contract_for_them_and_nothing_else() -> None:
    assert all(path.startswith("/admin/v1/") for path in CONTRACT_FOR_ADMINISTRATORS["paths"])
    assert not [path for path in CONTRACT["paths"] if path.startswith("/admin")]
    assert CONTRACT_FOR_ADMINISTRATORS["security"] == CONTRACT["security"]
    assert CONTRACT_FOR_ADMINISTRATORS["servers"] == CONTRACT["servers"]


def disagreeing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What has the same name in both contracts, but is not the same."""
    return [
        f"{group}/{name}"
        for group in one["components"]
        for name in one["components"][group].keys() & other["components"].get(group, {}).keys()
        if one["components"][group][name] != other["components"][group][name]
    ]


def test_what_has_the_same_name_in_both_contracts_is_the_same() -> None:
    assert disagreeing(*CONTRACTS) == []
    changed = copy.deepcopy(CONTRACT)
    changed["components"]["schemas"]["Error"]["properties"]["details"]["type"] = "array"
    assert disagreeing(changed, CONTRACT_FOR_ADMINISTRATORS) == ["schemas/Error"]


@EACH
def test_everything_that_a_contract_defines_is_used_in_it(contract: dict[str, Any]) -> None:
    used = set(re.findall("#/components/([A-Za-z]+)/([A-Za-z]+)", json.dumps(contract)))
    schemes = {each for _, _, operation in each_operation() for one in operation.get("security", ()) for each in one}
    schemes |= {each for one in contract["security"] for each in one}
    defined = {(group, name) for group, members in contract["components"].items() for name in members}
    assert {(group, name) for group, name in defined if group != "securitySchemes"} == used
    assert {name for group, name in defined if group == "securitySchemes"} <= schemes


def test_operations_have_names_of_their_own_words_and_a_place() -> None:
    names = [operation["operationId"] for _, _, operation in each_operation()]
    assert len(names) == len(set(names))
    chapters = [tag["name"] for contract in CONTRACTS for tag in contract["tags"]]
    assert len(chapters) == len(set(chapters))
    for contract in CONTRACTS:
        for methods in contract["paths"].values():
            for operation in methods.values():
                assert operation["summary"]
                assert operation["description"]
                assert set(operation["tags"]) <= {tag["name"] for tag in contract["tags"]}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_only_health_is_answered_to_strangers(path: str, method: str, operation: dict[str, Any]) -> None:
    security = operation.get("security", CONTRACT["security"])
    assert (security == []) is (path in ANONYMOUS)
    assert ("401" in operation["responses"]) is (path not in ANONYMOUS)
    assert ({"basic": []} in security) is (path in READERS)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_answer_names_its_request_and_every_error_has_the_one_shape(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    for status, written in operation["responses"].items():
        answer = followed(written)
        assert answer["headers"]["X-Request-Id"] == {"$ref": "#/components/headers/RequestId"}
        if status >= "400" and (path, status) != ("/readyz", "503"):
            assert list(answer["content"]) == ["application/json"]
            assert answer["content"]["application/json"]["schema"]["$ref"] == "#/components/schemas/Error"
    assert {"400", "500"} <= set(operation["responses"])
    if "requestBody" in operation:
        assert {"408", "413", "415"} <= set(operation["responses"])


def test_every_object_says_whether_it_takes_more_than_is_listed() -> None:
    open_ended = {"Value", "StoredValue", "StoredAttributes", "PolicyAttributes", "Filter", "Modules", "Counts"} | {
        "TraceEvent",
    }
    for name, schema in SCHEMAS.items():
        if schema.get("type") == "object" and name not in open_ended:
            assert schema["additionalProperties"] is False, name
            assert set(schema.get("required", ())) <= set(schema["properties"]), name


# -- the examples


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_examples_are_what_their_schemas_say(path: str, method: str, operation: dict[str, Any]) -> None:
    for where, body in contents(operation):
        if "example" in body:
            assert complaints(body["schema"], body["example"]) == [], where
    for written in operation.get("parameters", ()):
        parameter = followed(written)
        if "example" in parameter:
            assert complaints(parameter["schema"], parameter["example"]) == [], parameter["name"]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_what_is_sent_or_answered_in_json_has_an_example(path: str, method: str, operation: dict[str, Any]) -> None:
    for body in followed(operation.get("requestBody", {})).get("content", {}).values():
        assert "example" in body
    for status, answer in operation["responses"].items():
        if status.startswith("2") and "application/json" in followed(answer).get("content", {}):
            assert "example" in followed(answer)["content"]["application/json"]


def test_the_shapes_that_others_agreed_on_are_taken_as_they_are_written() -> None:
    (consent,), (proposal,) = SCHEMAS["Consent"]["examples"], SCHEMAS["Propose"]["examples"]
    assert complaints(SCHEMAS["Consent"], consent) == complaints(SCHEMAS["Propose"], proposal) == []
    assert consents.as_json(consents.consent_of(consent)) == consent
    assert proposals.as_json(proposals.proposal_of(proposal)) == proposal


def spoiled(example: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The same answer with one thing wrong at a time; where any JSON will do, none is wrong."""
    anything = {name for name, each in followed(schema).get("properties", {}).items() if each == ANYTHING}
    yield "an unknown field", {**example, "surprise": 1}
    for name in example:
        if name not in OPTIONAL:
            yield f"no {name}", {each: value for each, value in example.items() if each != name}
        if name not in anything:
            yield f"a wrong {name}", {**example, name: {"of": ["no", "such", "type"]} if name not in OPEN else 7}


ANYTHING = {"$ref": "#/components/schemas/AnyJson"}
OPTIONAL = {"existing", "fact_type", "memory_key", "weight_reason"}
"""What an answer may have or not: something may stand beside nothing that is known, and turns have none of the rest."""
OPEN = {"value", "attributes", "details", "detail", "policy_attributes", "input", "explanation"}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_a_wrong_answer_breaks_the_contract(path: str, method: str, operation: dict[str, Any]) -> None:
    for where, body in contents(operation):
        if where.startswith("2") and "example" in body:
            for flaw, wrong in spoiled(body["example"], body["schema"]):
                assert complaints(body["schema"], wrong), flaw


# -- the code


def test_the_routes_of_the_service_are_those_of_the_contract() -> None:
    promised = {(method.upper(), path) for path, method, _ in each_operation()}
    assert {(route.method, route.path) for route in ROUTES} == promised
    assert len(promised) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_route_asks_for_what_the_contract_says(route: Route) -> None:
    operation = PATHS[route.path][route.method.lower()]
    security = operation.get("security", CONTRACT["security"])
    assert route.body is ("requestBody" in operation)
    assert route.anonymous is (security == [])
    assert route.basic is ({"basic": []} in security)
    if route.action is not None:
        _, _, needs = operation["description"].partition("Needs")
        assert set(re.findall(r"`([a-z]+)`", needs)) == needed(route.action)


def needed(action: callers.Action) -> set[str]:
    """The scopes and roles without which nobody is let through, and those of which any one will do."""
    scopes = {scope.value for scope in callers.Scope if not permitted(action, scopes=callers.ALL_SCOPES - {scope})}
    roles = {role.value for role in callers.Role if permitted(action, roles=frozenset({role}))}
    return scopes if permitted(action, roles=frozenset()) else scopes | roles


def permitted(
    action: callers.Action,
    roles: frozenset[str] = frozenset(callers.Role),
    scopes: frozenset[callers.Scope] = callers.ALL_SCOPES,
) -> bool:
    try:
        callers.check_permitted(callers.Caller("default", "alice", roles=roles, scopes=scopes), action)
    except errors.Forbidden:
        return False
    return True


def test_every_error_that_can_reach_a_client_is_documented_under_its_status() -> None:
    documented: dict[str, set[int]] = {}
    for answer in {answer["$ref"] for _, _, operation in each_operation() for answer in refs(operation)}:
        status = next(
            status
            for _, _, operation in each_operation()
            for status, written in operation["responses"].items()
            if written.get("$ref") == answer
        )
        schema = followed({"$ref": answer})["content"]["application/json"]["schema"]
        for code in schema["properties"]["code"]["enum"]:
            documented.setdefault(code, set()).add(int(status))
    documented["method_not_allowed"] = {405}
    sent = {
        error.code: {status_of(error)}
        for error in errors.all_errors()
        if error.__module__ == errors.__name__ and error.code not in ONLY_WHEN_OPENED | ONLY_CLASSES
    }
    assert documented == sent
    assert set(SCHEMAS["Error"]["properties"]["code"]["enum"]) == set(sent)


def refs(operation: dict[str, Any]) -> Iterator[dict[str, str]]:
    yield from (answer for answer in operation["responses"].values() if "$ref" in answer)


def parameter(path: str, method: str, name: str) -> dict[str, Any]:
    found = (followed(each) for each in PATHS[path][method]["parameters"])
    schema: dict[str, Any] = followed(next(each for each in found if each["name"] == name)["schema"])
    return schema


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        (SCHEMAS["EventKind"]["enum"], TOLD),
        (SCHEMAS["EndReason"]["enum"][:-1], EndReason),
        (SCHEMAS["Problem"]["properties"]["finding"]["enum"], Finding),
        (list(SCHEMAS["Swept"]["properties"]), Pass),
        (SCHEMAS["Order"]["enum"], queries.Order),
        (SCHEMAS["Archived"]["enum"], queries.Archived),
        (SCHEMAS["Mode"]["enum"], ranking.Mode),
        (SCHEMAS["WaitIndexed"]["enum"][:-1], [reading.INDEXED]),
        (SCHEMAS["Permission"]["enum"], callers.Scope),
        ([name for name in SCHEMAS["Condition"]["properties"] if name.startswith("$")], filters.Operator),
        (SCHEMAS["Package"]["enum"], bundles.Package),
        (SCHEMAS["Audited"]["enum"], audit.Audited),
        (list(SCHEMAS["ChangeSettings"]["properties"]), tuning.TUNABLE),
        (list(SCHEMAS["Tuned"]["properties"]["settings"]["properties"]), tuning.TUNABLE),
        (SCHEMAS["Tuned"]["properties"]["changed"]["items"]["enum"], tuning.TUNABLE),
        (SCHEMAS["ExplainPolicy"]["properties"]["action"]["enum"], [*MEMORY_ACTIONS, "search"]),
        (SCHEMAS["Change"]["properties"]["action"]["enum"], [*MEMORY_ACTIONS, callers.Action.REVIEW]),
        (SCHEMAS["CaptureKind"]["enum"], captures.CaptureKind),
        (SCHEMAS["Speaker"]["enum"], captures.Speaker),
        (SCHEMAS["Via"]["enum"][:-1], captures.Via),
        (SCHEMAS["Channel"]["enum"], standing.Channel),
        (SCHEMAS["SourceClass"]["enum"], standing.SourceClass),
        (SCHEMAS["Trust"]["enum"], [each.name.lower() for each in standing.Trust]),
        (SCHEMAS["Classification"]["enum"], [each.name for each in standing.Classification]),
        (SCHEMAS["Space"]["enum"], terms.Space),
        (SCHEMAS["SpaceOrNull"]["enum"][:-1], terms.Space),
        (SCHEMAS["MemoryKind"]["enum"], terms.Kind),
        (SCHEMAS["Tier"]["enum"], terms.Tier),
        (SCHEMAS["TierOrNull"]["enum"][:-1], terms.Tier),
        (SCHEMAS["EventType"]["enum"], terms.EventType),
        (SCHEMAS["WriteClass"]["enum"], terms.WriteClass),
        (SCHEMAS["Authority"]["enum"], terms.Authority),
        (SCHEMAS["SaidBy"]["enum"], terms.Source),
        (SCHEMAS["Basis"]["enum"], codes.Basis),
        (SCHEMAS["ConsentStanding"]["enum"], codes.ConsentState),
        (SCHEMAS["ConsentCheck"]["enum"], codes.ConsentCheck),
        (SCHEMAS["ContradictionVerdict"]["enum"], codes.ContradictionVerdict),
        (SCHEMAS["Risk"]["enum"], codes.Risk),
        (SCHEMAS["RiskReason"]["enum"], codes.RiskReason),
        (SCHEMAS["SignalKind"]["enum"], codes.SignalKind),
        (SCHEMAS["Outcome"]["enum"], deciding.Outcome),
        (SCHEMAS["ProposalStatus"]["enum"], reviewing.STATUSES),
        (SCHEMAS["GivenCaptures"]["properties"]["remember"]["enum"], [capturing.NOW, capturing.LATER]),
        (list(SCHEMAS["GivenCapture"]["properties"]), captures._FIELDS),
        (list(SCHEMAS["Candidate"]["properties"]), claims._FIELDS),
        (list(SCHEMAS["Propose"]["properties"]), capturing._PROPOSED | capturing._CHECKS | capturing._ASKED),
        (SCHEMAS["Propose"]["required"], capturing._PROPOSED),
        (list(SCHEMAS["Consent"]["properties"]), consents._FIELDS | {"supersedes"}),
        (list(SCHEMAS["Approve"]["properties"]["edit"]["properties"]), reviewing._EDITS),
        (list(SCHEMAS["Record"]["properties"]), {*records.Record.__struct_fields__, "also_known_as", "behavioral"}),
        (SCHEMAS["Capture"]["required"], {*captures.Capture.__struct_fields__, "capture_id"} - {"id"}),
        (SCHEMAS["Ranker"]["enum"], asking.Ranker),
        (list(SCHEMAS["Memory"]["properties"]), memories.Memory.__struct_fields__),
        (SCHEMAS["Provenance"]["required"], memories.Provenance.__struct_fields__),
        (SCHEMAS["ContextForm"]["enum"], compiling.Form),
        (SCHEMAS["ContextPart"]["enum"], compiling.Part),
        (SCHEMAS["LeftOut"]["properties"]["reason"]["enum"], compiling.DropReason),
        (SCHEMAS["CompileContext"]["properties"]["counter"]["enum"], counting.COUNTERS),
        (list(SCHEMAS["ConversationState"]["properties"]), states.State.__struct_fields__),
        (list(SCHEMAS["Excerpt"]["properties"]), states.Excerpt.__struct_fields__),
        (list(SCHEMAS["TemplateBlock"]["properties"]), templates.Section.__struct_fields__),
        (SCHEMAS["ContextBlock"]["required"], packs.Block.__struct_fields__),
        (SCHEMAS["ContextEntry"]["required"], packs.Entry.__struct_fields__),
        (SCHEMAS["BudgetReport"]["required"], packs.Report.__struct_fields__),
        (SCHEMAS["ContextManifest"]["required"], packs.Manifest.__struct_fields__),
        (SCHEMAS["GovernedItem"]["required"], items.Item.__struct_fields__),
        (list(SCHEMAS["GovernedMeta"]["properties"]), items.Meta.__struct_fields__),
        (
            list(SCHEMAS["ProfileSettings"]["properties"]),
            {*policy.Settings.__struct_fields__, *profiles.Terms.__struct_fields__},
        ),
        (SCHEMAS["ProfileSettings"]["properties"]["write_policy"]["enum"], terms.WritePolicy),
        (SCHEMAS["ForgetPolicy"]["enum"], terms.ForgetPolicy),
        (list(SCHEMAS["GovernedContract"]["properties"]), policy.contract_of(policy.Settings()).snapshot()),
        (parameter("/admin/v1/memories/usage/top", "get", "sort")["enum"], measures.SORTS),
        (SCHEMAS["TraceType"]["enum"], tracing.TYPES),
        (SCHEMAS["TraceFormat"]["enum"], FORMATS),
        (SCHEMAS["CompileContext"]["properties"]["template"]["anyOf"][1]["enum"], shipped.SHIPPED),
        (SCHEMAS["LoopKind"]["enum"], todos.LoopKind),
        (SCHEMAS["TodoStatus"]["enum"], todos.TodoStatus),
        (list(SCHEMAS["Todo"]["properties"]), {*todos.Todo.__struct_fields__, "win"}),
        (list(SCHEMAS["AddedTodo"]["properties"]), {*SCHEMAS["Todo"]["properties"], "opened"}),
        (list(SCHEMAS["ConversationSession"]["properties"]), {*sessions.Session.__struct_fields__, "open"}),
        (
            list(SCHEMAS["SessionInFull"]["properties"]),
            {*SCHEMAS["ConversationSession"]["properties"], "rolling", "summary"},
        ),
        (list(SCHEMAS["SessionState"]["properties"]), sessions.SessionState.__struct_fields__),
        (list(SCHEMAS["AcrossSessions"]["properties"]), {*SCHEMAS["SessionState"]["properties"], "persona", "session"}),
        (list(SCHEMAS["Message"]["properties"]), sessions.Message.__struct_fields__),
        (list(SCHEMAS["RollingSummary"]["properties"]), summaries.Rolling.__struct_fields__),
        (list(SCHEMAS["SessionSummary"]["properties"]), summaries.SessionSummary.__struct_fields__),
        (list(SCHEMAS["SummaryOfSession"]["properties"]), summaries.Summary.__struct_fields__),
        (list(SCHEMAS["Spine"]["properties"]), {*summaries.Spine.__struct_fields__, "text"}),
        (list(SCHEMAS["Persona"]["properties"]), {*personas.Persona.__struct_fields__, "version", "at"}),
        (list(SCHEMAS["PersonaSettings"]["properties"]), {*personas.Persona.__struct_fields__} - {"name"}),
        (SCHEMAS["EntityType"]["enum"], naming.EntityType),
        (SCHEMAS["EntityChange"]["properties"]["kind"]["enum"], registry.ChangeKind),
        (SCHEMAS["EntitySuggestion"]["properties"]["reasons"]["items"]["enum"], likeness.Likeness),
        (SCHEMAS["CuratorDeed"]["enum"], curating.Deed),
        (SCHEMAS["CuratorWhy"]["enum"], curating.Why),
        (
            SCHEMAS["CurationUndone"]["properties"]["not_restored"]["items"]["properties"]["reason"]["enum"],
            curations.NotRestored,
        ),
        (
            SCHEMAS["ContextOfConversation"]["properties"]["left_out"]["items"]["properties"]["reason"]["enum"],
            assembling.LeftOut,
        ),
    ],
    ids=[
        *("event kinds", "end reasons", "findings", "passes", "orders", "archived"),
        *("modes of search", "waits of writes", "scopes", "operators"),
        *("packages", "audited", "settings to change", "settings", "changed settings", "explained", "simulated"),
        *("capture kinds", "speakers", "ways through", "channels", "source classes", "trust", "classifications"),
        *("spaces", "spaces to ask for", "memory kinds", "tiers", "tiers to ask for", "event types", "write classes"),
        *("authorities", "sources", "bases", "consent states", "consent checks", "verdicts", "risks", "risk reasons"),
        *("signals", "outcomes", "proposal statuses", "when to remember", "capture", "candidate", "proposal"),
        *("proposal at least", "consent", "edits", "record", "shown capture", "rankers", "memory", "provenance"),
        *("forms", "parts", "what is left out", "counters", "state", "excerpt", "sections", "blocks", "entries"),
        *("report", "manifest", "governed items", "governed meta", "profile", "write policies", "forget policies"),
        *("governed contract", "orders of usage", "types of traces", "formats of traces"),
        *("templates", "loop kinds", "todo statuses", "todo", "added todo", "session", "session in full", "state"),
        *("state across sessions", "message", "rolling summary", "session summary", "summary", "spine", "persona"),
        *("settings of a persona", "entity types", "entity changes", "likenesses", "deeds", "whys", "not restored"),
        "left out of conversations",
    ],
)
def test_closed_sets_are_those_of_the_code(listed: list[str], known: Any) -> None:
    assert sorted(listed) == sorted(known)


def bounds_of(setting: str) -> tuple[float, float, bool]:
    schema = SCHEMAS["ChangeSettings"]["properties"][setting]
    return schema["minimum"], schema["maximum"], schema["type"] == ["integer", "null"]


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        (SCHEMAS["Namespace"]["maxItems"], address.MAX_DEPTH),
        (SCHEMAS["Scope"]["maxItems"], address.MAX_DEPTH),
        (SCHEMAS["StoredNamespace"]["maxItems"], address.DEPTH_CEILING),
        (SCHEMAS["Pattern"]["maxItems"], address.DEPTH_CEILING),
        (SCHEMAS["Segment"]["maxLength"], address.MAX_SEGMENT_BYTES),
        (SCHEMAS["Key"]["maxLength"], address.MAX_KEY_BYTES),
        (SCHEMAS["PolicyAttributes"]["maxProperties"], attributes.MAX_NAMES),
        (SCHEMAS["AttributeName"]["pattern"], f"^{attributes.NAME.pattern}$"),
        (SCHEMAS["Filter"]["maxProperties"], filters.MAX_CONDITIONS),
        (SCHEMAS["Choices"]["maxItems"], filters.MAX_CHOICES),
        (SCHEMAS["Batch"]["properties"]["operations"]["maxItems"], commits.MAX_OPERATIONS),
        (SCHEMAS["Search"]["properties"]["limit"]["maximum"], requests.MAX_SEARCH),
        (SCHEMAS["Search"]["properties"]["offset"]["maximum"], queries.MAX_OFFSET),
        (SCHEMAS["Search"]["properties"]["wait"]["maximum"], reading.MAX_WAIT_SECONDS),
        (SCHEMAS["Search"]["properties"]["query"]["anyOf"][1]["maxItems"], looking.MAX_QUERIES),
        (SCHEMAS["FoundItem"]["properties"]["matched_queries"]["items"]["maximum"], looking.MAX_QUERIES - 1),
        (SCHEMAS["Query"]["maxLength"], looking.MAX_QUERY),
        (SCHEMAS["Import"]["properties"]["entries"]["maxItems"], transfer.MAX_ENTRIES),
        (SCHEMAS["Verification"]["properties"]["problems"]["maxItems"], verification.MAX_PROBLEMS),
        (SCHEMAS["Sweep"]["properties"]["batch"]["maximum"], queries.MAX_LIMIT),
        (SCHEMAS["CreateToken"]["properties"]["user_id"]["maxLength"], callers.MAX_NAME),
        (SCHEMAS["CreateToken"]["properties"]["roles"]["maxItems"], callers.MAX_ROLES),
        (SCHEMAS["UserId"]["maxLength"], callers.MAX_NAME),
        (SCHEMAS["Search"]["properties"]["as_user_id"]["maxLength"], callers.MAX_NAME),
        (SCHEMAS["Justification"]["maxLength"], audit.MAX_JUSTIFICATION),
        (SCHEMAS["Modules"]["maxProperties"], bundles.MAX_MODULES),
        (SCHEMAS["Modules"]["propertyNames"]["pattern"], f"^{bundles._NAME.pattern}$"),
        (SCHEMAS["Modules"]["additionalProperties"]["maxLength"], bundles.MAX_BUNDLE_BYTES),
        *((SCHEMAS["Bundle"]["properties"][name]["maxLength"], bundles.MAX_BUNDLE_BYTES) for name in bundles.Package),
        (SCHEMAS["PushPolicy"]["properties"]["note"]["maxLength"], audit.MAX_JUSTIFICATION),
        (SCHEMAS["ExplainPolicy"]["properties"]["namespace"]["maxItems"], address.DEPTH_CEILING),
        (SCHEMAS["ExplainPolicy"]["properties"]["roles"]["maxItems"], callers.MAX_ROLES),
        (SCHEMAS["AuditPage"]["properties"]["entries"]["maxItems"], queries.MAX_LIMIT),
        (parameter("/admin/v1/audit", "get", "limit")["maximum"], queries.MAX_LIMIT),
        *((bounds_of(name), (bounds.low, bounds.high, bounds.whole)) for name, bounds in tuning.TUNABLE.items()),
        (parameter("/v1/memories", "put", "Idempotency-Key")["maxLength"], commits.MAX_IDEMPOTENCY_KEY),
        (parameter("/v1/memories/history", "get", "limit")["maximum"], queries.MAX_LIMIT),
        (parameter("/v1/memories/namespaces", "get", "limit")["maximum"], queries.MAX_LIMIT),
        (parameter("/v1/memories/namespaces", "get", "max_depth")["maximum"], address.DEPTH_CEILING),
        (parameter("/v1/memories/events", "get", "limit")["maximum"], requests.MAX_EVENTS),
        (parameter("/v1/memories/events", "get", "wait")["maximum"], reading.MAX_WAIT_SECONDS),
        (SCHEMAS["GivenCaptures"]["properties"]["captures"]["maxItems"], captures.MAX_CAPTURES),
        (SCHEMAS["GivenCapture"]["properties"]["text"]["maxLength"], captures.MAX_TEXT),
        (SCHEMAS["GivenCapture"]["properties"]["refs"]["maxItems"], captures.MAX_REFS),
        (SCHEMAS["Text"]["maxLength"], shapes.MAX_TEXT),
        (SCHEMAS["Refs"]["maxItems"], shapes.MAX_REFS),
        (SCHEMAS["Note"]["maxLength"], reviewing.MAX_NOTE),
        (SCHEMAS["Claim"]["properties"]["seconds"]["maximum"], reviewing.MOST_CLAIM_SECONDS),
        (SCHEMAS["Claim"]["properties"]["seconds"]["default"], reviewing.CLAIM_SECONDS),
        *(
            (parameter(path, "get", "limit")["maximum"], queries.MAX_LIMIT)
            for path in ("/v1/captures", "/v1/records", "/v1/proposals", "/v1/contradictions", "/v1/traces")
        ),
        (parameter("/admin/v1/memories/usage/top", "get", "limit")["maximum"], queries.MAX_LIMIT),
        (SCHEMAS["Wording"]["maxLength"], asking.MAX_QUERY),
        (SCHEMAS["Chosen"]["maxLength"], asking.MAX_NAME),
        (SCHEMAS["SessionName"]["maxLength"], asking.MAX_NAME),
        (SCHEMAS["SessionName"]["maxLength"], turns.MAX_NAME),
        (SCHEMAS["Recall"]["properties"]["limit"]["maximum"], asking.MOST),
        (SCHEMAS["CompileContext"]["properties"]["limit"]["maximum"], asking.MOST),
        (SCHEMAS["CompileContext"]["properties"]["limit"]["default"], contexts.LIMIT),
        (SCHEMAS["CompileContext"]["properties"]["budget"]["maximum"], counting.MAX_BUDGET),
        (SCHEMAS["CompileContext"]["properties"]["budget"]["default"], contexts.BUDGET),
        (SCHEMAS["WaitOrNull"]["maximum"], reading.MAX_WAIT_SECONDS),
        (SCHEMAS["Excerpts"]["maxItems"], states.MAX_EXCERPTS),
        (SCHEMAS["Excerpt"]["properties"]["text"]["maxLength"], states.MAX_EXCERPT),
        (SCHEMAS["Excerpt"]["properties"]["id"]["maxLength"], states.MAX_NAME),
        (SCHEMAS["Excerpt"]["properties"]["refs"]["maxItems"], states.MAX_REFS),
        (SCHEMAS["Template"]["properties"]["blocks"]["maxItems"], len(compiling.Part)),
        (SCHEMAS["TemplateBlock"]["properties"]["title"]["maxLength"], templates.MAX_TITLE),
        (SCHEMAS["TemplateBlock"]["properties"]["drop"]["maximum"], templates.MAX_RANK),
        (SCHEMAS["TakeTurn"]["properties"]["tool_events"]["maxItems"], turns.MAX_TOOL_EVENTS),
        (SCHEMAS["TakeTurn"]["properties"]["user"]["maxLength"], captures.MAX_TEXT),
        (SCHEMAS["ProfileName"]["pattern"], f"^{profiles._NAME.pattern}$"),
        (SCHEMAS["PiiViolations"]["properties"]["record_ids"]["maxItems"], measures.MOST_IDS),
        (SCHEMAS["Said"]["maxLength"], captures.MAX_TEXT),
        (SCHEMAS["PersonaName"]["maxLength"], personas.MAX_PERSONA),
        (SCHEMAS["PersonaOrNull"]["maxLength"], personas.MAX_PERSONA),
        (SCHEMAS["PutSeed"]["properties"]["text"]["maxLength"], personas.MAX_SEED),
        (SCHEMAS["PersonaSettings"]["properties"]["label"]["maxLength"], personas.MAX_LABEL),
        (SCHEMAS["PersonaSettings"]["properties"]["description"]["maxLength"], personas.MAX_DESCRIPTION),
        (SCHEMAS["PersonaSettings"]["properties"]["idle_seconds"]["maximum"], personas.MAX_IDLE),
        (SCHEMAS["TodoContent"]["maxLength"], todos.MAX_CONTENT),
        (SCHEMAS["ChangeTodo"]["properties"]["content"]["maxLength"], todos.MAX_CONTENT),
        (SCHEMAS["RollingSummary"]["properties"]["text"]["maxLength"], summaries.MAX_ROLLING),
        (SCHEMAS["SummaryOfSession"]["properties"]["one_liner"]["maxLength"], summaries.MAX_ONE_LINER),
        (SCHEMAS["SummaryOfSession"]["properties"]["tone"]["maxLength"], summaries.MAX_TONE),
        (SCHEMAS["SummaryEntries"]["maxItems"], summaries.MAX_ENTRIES),
        (SCHEMAS["SummaryEntries"]["items"]["maxLength"], summaries.MAX_ENTRY),
        (SCHEMAS["SessionState"]["properties"]["last_user_message"]["maxLength"], sessions.LAST_MESSAGE),
        (SCHEMAS["EntityLabel"]["maxLength"], naming.MAX_LABEL),
        (SCHEMAS["EntityRef"]["pattern"], f"^{naming._REF.pattern}$"),
        (SCHEMAS["PutEntity"]["properties"]["aliases"]["maxItems"], registry.MAX_ALIASES),
        (SCHEMAS["SplitEntity"]["properties"]["aliases"]["maxItems"], registry.MAX_ALIASES),
        (SCHEMAS["ImportTurns"]["properties"]["turns"]["maxItems"], importing.MAX_PAGE),
        (SCHEMAS["SourceDigest"]["pattern"], f"^{importing._SOURCE.pattern}$"),
        (SCHEMAS["AnyId"]["maxLength"], talking._LONGEST_ID),
    ],
)
def test_limits_are_those_of_the_code(said: object, limit: object) -> None:
    assert said == limit


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Put", requests.PutBody),
        ("BatchPut", requests.PutStep),
        ("BatchDelete", requests.DeleteStep),
        ("Batch", requests.BatchBody),
        ("Archive", requests.PatchBody),
        ("Search", requests.SearchBody),
        ("Verify", requests.VerifyBody),
        ("Erase", requests.EraseBody),
        ("Sweep", requests.SweepBody),
        ("CreateToken", requests.TokenBody),
        ("Import", requests.ImportBody),
        ("Entry", requests.ImportEntry),
        ("Nothing", requests.Nothing),
        ("Bundle", requests.BundleBody),
        ("PushPolicy", requests.PushBody),
        ("RollbackPolicy", requests.RollbackBody),
        ("ExplainPolicy", requests.ExplainBody),
        ("GivenCaptures", remembering.CaptureBody),
        ("Claim", remembering.ClaimBody),
        ("Approve", remembering.ApproveBody),
        ("Reject", remembering.RejectBody),
        ("Decide", remembering.DecideBody),
        ("Revoke", remembering.RevokeBody),
        ("Correct", remembering.CorrectBody),
        ("Promote", remembering.PromoteBody),
        ("Undo", remembering.UndoBody),
        ("Resolve", remembering.ResolveBody),
        ("StartPhase", remembering.PhaseBody),
        ("Recall", recalling.RecallBody),
        ("CompileContext", recalling.ContextBody),
        ("TakeTurn", recalling.TurnBody),
        ("RecallTurn", recalling.RecallTurnBody),
        ("PutProfile", recalling.ProfileBody),
        ("Converse", conversing.ConverseBody),
        ("AddTodo", conversing.TodoBody),
        ("ChangeTodo", conversing.ChangeTodoBody),
        ("PutSeed", conversing.SeedBody),
        ("PutPersona", conversing.PersonaBody),
        ("PutEntity", conversing.EntityBody),
        ("MergeEntities", conversing.MergeBody),
        ("SplitEntity", conversing.SplitBody),
        ("DecideSuggestion", conversing.SuggestionBody),
        ("Curate", conversing.CurateBody),
        ("ImportTurns", conversing.ImportTurnsBody),
    ],
)
def test_what_is_asked_has_the_fields_that_the_service_reads(name: str, shape: type[Any]) -> None:
    assert asked(SCHEMAS[name]) == read_by(shape)


def asked(schema: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    """The fields that the contract lists, each with whether it is required, and whether null will do."""
    assert schema["additionalProperties"] is False
    required = schema.get("required", ())
    return {name: (name in required, takes_null(field)) for name, field in schema["properties"].items()}


def takes_null(field: dict[str, Any]) -> bool:
    if field == ANYTHING:
        return True
    whole = followed(field)
    if "anyOf" in whole:
        return any(takes_null(choice) for choice in whole["anyOf"])
    return "null" in (whole["type"] if isinstance(whole.get("type"), list) else [whole.get("type")])


def read_by(shape: type[Any]) -> dict[str, tuple[bool, bool]]:
    """The same of the struct into which the service reads a body."""
    config = shape.__struct_config__
    assert config.forbid_unknown_fields
    tag = {config.tag_field: (True, False)} if config.tag_field else {}
    return tag | {
        field.encode_name: (
            field.required,
            type(None) in get_args(field.type) or (field.type is Any and not field.required),
        )
        for field in msgspec.structs.fields(shape)
    }


def test_a_field_that_the_contract_forgets_is_caught() -> None:
    forgetful = copy.deepcopy(SCHEMAS["Put"])
    del forgetful["properties"]["ttl_seconds"]
    assert asked(forgetful) != read_by(requests.PutBody)
