"""Scenarios of governing: policies of one's own, why they say what they say, and what administrators do by them."""

from __future__ import annotations

from tests.scenarios.door import Plain
from tests.scenarios.finding import ALICE, keys
from tests.scenarios.play import Cast, refused, scene
from tests.scenarios.writing import NOTES

OWN_AND_ADMINS = """package memories.authz

import future.keywords.in

default allow = false

# Users access their own namespace subtree
allow if {
    input.namespace[0] == "user"
    input.namespace[1] == input.context.user_id
}

# Admins access everything
allow if {
    "admin" in input.context.jwt_claims.roles
}
"""
SHARED = """
# Agents can access shared namespace (read only)
allow if {
    input.namespace[0] == "shared"
    input.operation == "read"
    input.context.client_id != ""
}
"""
NEWER = OWN_AND_ADMINS.replace("import future.keywords.in", "import rego.v1")
PLAIN = OWN_AND_ADMINS.replace("import future.keywords.in\n\n", "")
NOBODY_DELETES = """package memories.authz

default decision := {"allow": false, "reason": "access denied"}

decision := {"allow": true} if {
    own
    input.operation != "delete"
}

decision := {"allow": false, "reason": "nothing is ever deleted"} if input.operation == "delete"

own if input.namespace == ["user", input.context.user_id, "notes"]
"""
LANGUAGES = """package memories.attributes

# Where it lies
attributes["namespace"] := input.namespace[0]

attributes["sub"] := input.namespace[1]

# The language that its value names
attributes["lang"] := input.value.lang if is_string(input.value.lang)
"""
ONLY_OWN = """package memories.filter

namespace_prefix := ["user", input.context.user_id]

attribute_filter := {"namespace": "user", "sub": input.context.user_id}
"""
TESTS = """package memories.authz_test

import data.memories.authz

alice := {"user_id": "alice", "jwt_claims": {"roles": []}}

test_everybody_reads_their_own if {
    authz.allow with input as {"operation": "read", "namespace": ["user", "alice"], "context": alice}
}

test_nobody_reads_what_is_somebody_elses if {
    not authz.allow with input as {"operation": "read", "namespace": ["user", "bob"], "context": alice}
}
"""
OPEN = "package memories.authz\n\nallow := true\n"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


def reads(entry: Plain) -> Plain:
    """What an entry of the audit tells of a read."""
    return {name: entry["details"][name] for name in ("call", "key", "as_user_id")}


@scene("a policy keeps users apart, however it spells its imports")
def spellings(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    for text in (OWN_AND_ADMINS, NEWER, PLAIN, OWN_AND_ADMINS + SHARED):
        report = cast.admin.check_policy({"authz.rego": text})
        assert (report["sound"], report["problems"], report["packages"]) == (True, [], ["authz"])
        cast.admin.push_policy({"authz.rego": text})
        assert cast.alice.get(NOTES, "k")["value"] == {"n": 1}
        assert cast.admin.get(NOTES, "k")["value"] == {"n": 1}
        for ask in (cast.bob.get, cast.bob.history, cast.bob.delete, cast.bob.archive):
            with refused("forbidden"):
                ask(NOTES, "k")
        with refused("forbidden"):
            cast.bob.put(NOTES, "k", {"n": 2})
    assert cast.alice.get(NOTES, "k")["revision"] == 1


@scene("a policy that opens a shared namespace to agents takes effect at once, and for reading only")
def shared_namespace(cast: Cast) -> None:
    cast.admin.put(("shared", "facts"), "k", {"n": 1})
    with refused("forbidden"):
        cast.reader.get(("shared", "facts"), "k")
    pushed = cast.admin.push_policy({"authz.rego": OWN_AND_ADMINS + SHARED}, note="agents may read shared")
    assert (pushed["version"]["number"], pushed["version"]["note"]) == (1, "agents may read shared")
    assert (pushed["version"]["by"], pushed["packages"]) == ("root", ["authz"])
    assert pushed["modules"] == {"authz.rego": OWN_AND_ADMINS + SHARED}
    assert cast.reader.get(("shared", "facts"), "k")["value"] == {"n": 1}
    with refused("forbidden"):
        cast.alice.get(("shared", "facts"), "k")
    with refused("forbidden"):
        cast.writer.put(("shared", "facts"), "k", {"n": 2})
    assert cast.admin.show_policy() == pushed


@scene("a decision may say why not")
def reasons(cast: Cast) -> None:
    cast.admin.push_policy({"authz.rego": NOBODY_DELETES})
    cast.alice.put(NOTES, "k", {"n": 1})
    with refused("forbidden"):
        cast.alice.delete(NOTES, "k")
    explained = cast.admin.explain_policy("delete", NOTES, "k", user_id="alice")
    assert explained["decision"] == {"allow": False, "reason": "nothing is ever deleted"}


@scene("a search of everything finds what the policy opens, and no more")
def narrowed(cast: Cast) -> None:
    cast.alice.put(NOTES, "hers", {})
    cast.bob.put(("user", "bob"), "his", {})
    cast.admin.put(("shared", "facts"), "common", {})
    assert keys(cast.alice, ()) == ["hers"]
    assert sorted(keys(cast.admin, ())) == ["common", "hers", "his"]
    cast.admin.push_policy({"filter.rego": ONLY_OWN})
    assert keys(cast.alice, ()) == ["hers"]
    assert keys(cast.alice, ("user",)) == ["hers"]
    assert keys(cast.alice, ("user", "bob")) == []
    assert keys(cast.admin, ()) == []
    assert cast.alice.list_namespaces() == [list(NOTES)]
    assert [event["key"] for event in cast.alice.events()["events"]] == ["hers"]


@scene("what a new policy extracts is found in what was written before it, too")
def extracted_anew(cast: Cast) -> None:
    cast.alice.put(NOTES, "old python", {"text": "tip", "lang": "python"})
    cast.alice.put(NOTES, "old go", {"text": "tip", "lang": "go"}, attributes={"lang": "sealed"})
    cast.alice.put(NOTES, "neither", {"text": "tip"})
    assert keys(cast.alice, ALICE, filter={"lang": "python"}) == []
    cast.admin.push_policy({"attributes.rego": LANGUAGES})
    status = cast.admin.trigger_index()
    assert (status["extraction"]["running"], status["extraction"]["failed"]) == (False, 0)
    assert cast.admin.index_status() == status
    cast.alice.put(NOTES, "new python", {"text": "tip", "lang": "python"})
    assert sorted(keys(cast.alice, ALICE, filter={"lang": "python"})) == ["new python", "old python"]
    assert keys(cast.alice, ALICE, filter={"lang": {"in": ["go", "sealed"]}}) == ["old go"]
    assert keys(cast.alice, ALICE, filter={"lang": {"$exists": False}}) == ["neither"]
    assert cast.alice.get(NOTES, "old python")["revision"] == 1


@scene("an earlier policy can be put in force again")
def rolled_back(cast: Cast) -> None:
    cast.admin.put(("shared", "facts"), "k", {"n": 1})
    cast.admin.push_policy({"authz.rego": OWN_AND_ADMINS + SHARED})
    cast.admin.push_policy({"authz.rego": OWN_AND_ADMINS})
    with refused("forbidden"):
        cast.reader.get(("shared", "facts"), "k")
    assert cast.admin.rollback_policy()["version"]["number"] == 1
    assert cast.reader.get(("shared", "facts"), "k")["value"] == {"n": 1}
    assert cast.admin.rollback_policy(2)["version"]["number"] == 2
    with refused("forbidden"):
        cast.reader.get(("shared", "facts"), "k")
    back = cast.admin.rollback_policy(0)
    assert (back["version"]["number"], [each["number"] for each in back["versions"]]) == (0, [2, 1])
    assert back["version"]["source"] == "built-in"
    with refused("not_found"):
        cast.admin.rollback_policy(7)
    told = [(each["action"], each["details"]["to"]) for each in cast.admin.list_audit()["entries"]]
    assert told == [
        ("policy_rolled_back", 0),
        ("policy_rolled_back", 2),
        ("policy_rolled_back", 1),
        ("policy_pushed", 2),
        ("policy_pushed", 1),
    ]


@scene("a policy that cannot be relied on is refused, with every reason, and changes nothing")
def refused_policies(cast: Cast) -> None:
    before = cast.admin.show_policy()
    clocked = OWN_AND_ADMINS + "\nallow if time.now_ns() > 0\n"
    failing = {"authz.rego": OWN_AND_ADMINS, "authz_test.rego": TESTS + "\ntest_wrong if 1 == 2\n"}
    for modules in ({"authz.rego": OPEN}, {"authz.rego": clocked}, failing, {"authz.rego": "allow if"}):
        assert cast.admin.check_policy(modules)["sound"] is False
        with refused("invalid_bundle"):
            cast.admin.push_policy(modules)
    report = cast.admin.check_policy({"authz.rego": clocked})
    assert [(each["module"], each["line"]) for each in report["problems"]] == [("authz.rego", 18)]
    failed = [each["name"] for each in cast.admin.check_policy(failing)["checks"] if not each["passed"]]
    assert failed == ["memories.authz_test.test_wrong"]
    assert "a stranger reads another user's memories" in [
        each["name"] for each in cast.admin.check_policy({"authz.rego": OPEN})["checks"] if not each["passed"]
    ]
    assert cast.admin.show_policy() == before
    assert cast.admin.list_audit()["entries"] == []


@scene("the tests of a policy are run before it decides anything")
def own_tests(cast: Cast) -> None:
    modules = {"authz.rego": OWN_AND_ADMINS, "authz_test.rego": TESTS}
    report = cast.admin.check_policy(modules)
    tests = [each["name"] for each in report["checks"] if "test_" in each["name"]]
    assert tests == [
        "memories.authz_test.test_everybody_reads_their_own",
        "memories.authz_test.test_nobody_reads_what_is_somebody_elses",
    ]
    assert report["sound"]
    cast.admin.push_policy(modules)


@scene("an explanation names the clause that decides, and what did not hold in the others")
def explained(cast: Cast) -> None:
    modules = {"authz.rego": OWN_AND_ADMINS + SHARED}
    cast.admin.push_policy(modules)
    denied = cast.admin.explain_policy("read", ("shared", "facts"), "k", user_id="alice")
    assert (denied["rule"], denied["decision"]["allow"]) == ("memories.authz.allow", False)
    failed = {each["title"]: (each["line"], each["failed_line"], each["failed"]) for each in denied["clauses"]}
    assert failed["Users access their own namespace subtree"] == (8, 9, 'input.namespace[0] == "user"')
    assert failed["Agents can access shared namespace (read only)"] == (19, 22, 'input.context.client_id != ""')
    allowed = cast.admin.explain_policy("read", ("shared", "facts"), "k", user_id="alice", client_id="agent")
    held = [each["title"] for each in allowed["clauses"] if each["held"]]
    assert (allowed["decision"]["allow"], held) == (True, ["Agents can access shared namespace (read only)"])
    admin = cast.admin.explain_policy("write", NOTES, "k", user_id="x", roles=["admin"], value={"n": 1})
    assert (admin["decision"]["allow"], admin["input"]["value"]) == (True, {"n": 1})
    claimed = cast.admin.explain_policy("read", NOTES, "k", user_id="x", claims={"roles": ["admin"], "level": 3})
    assert (claimed["decision"]["allow"], claimed["input"]["context"]["jwt_claims"]["level"]) == (True, 3)
    search = cast.admin.explain_policy("search", ("user",), user_id="alice", filter={"lang": "go"})
    assert search["narrowed"] == {"prefix": ["user", "alice"], "filter": {}}
    other = cast.admin.explain_policy("read", NOTES, "k", user_id="alice", modules={"authz.rego": NOBODY_DELETES})
    assert (other["rule"], other["decision"]["allow"]) == ("memories.authz.decision", True)


@scene("what a policy would change is told before it is put in force")
def simulated(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"n": 1})
    cast.alice.delete(NOTES, "k")
    with refused("forbidden"):
        cast.reader.get(("shared", "facts"), "k")
    found = cast.admin.simulate_policy({"authz.rego": OWN_AND_ADMINS + SHARED})
    assert (found["tried"], found["report"]["sound"]) == (3, True)
    (change,) = found["changes"]
    assert (change["user_id"], change["client_id"], change["action"]) == ("alice", "reader", "read")
    assert (change["namespace"], change["before"]["allow"], change["after"]["allow"]) == (
        ["shared", "facts"],
        False,
        True,
    )
    assert [each["action"] for each in cast.admin.simulate_policy({"authz.rego": NOBODY_DELETES})["changes"]] == [
        "delete"
    ]
    assert cast.admin.simulate_policy({"authz.rego": "allow if"})["report"]["sound"] is False
    assert cast.admin.show_policy()["version"]["number"] == 0


@scene("an administrator who reads in a user's place sees what they see, and it is written down with the reason")
def justified(cast: Cast) -> None:
    written = cast.alice.put(NOTES, "hers", {"n": 1})
    cast.bob.put(("user", "bob"), "his", {"n": 2})
    as_alice = cast.admin.justified("Prüfung 4711", as_user_id="alice")
    assert as_alice.get(NOTES, "hers")["value"] == {"n": 1}
    assert as_alice.get_by_id(written["id"])["value"] == {"n": 1}
    assert keys(as_alice, ()) == ["hers"]
    assert as_alice.list_namespaces() == [list(NOTES)]
    assert [version["revision"] for version in as_alice.history(NOTES, "hers")] == [1]
    assert [event["key"] for event in as_alice.events()["events"]] == ["hers"]
    with refused("forbidden"):
        as_alice.get(("user", "bob"), "his")
    assert cast.admin.justified("on duty").get(("user", "bob"), "his")["value"] == {"n": 2}
    entries = cast.auditor.list_audit(action="justified_read")["entries"]
    assert [reads(each) for each in entries] == [
        {"call": "get", "key": "his", "as_user_id": "root"},
        {"call": "get", "key": "his", "as_user_id": "alice"},
        {"call": "events", "key": "", "as_user_id": "alice"},
        {"call": "history", "key": "hers", "as_user_id": "alice"},
        {"call": "list_namespaces", "key": "", "as_user_id": "alice"},
        {"call": "search", "key": "", "as_user_id": "alice"},
        {"call": "get_by_id", "key": "hers", "as_user_id": "alice"},
        {"call": "get", "key": "hers", "as_user_id": "alice"},
    ]
    assert {each["justification"] for each in entries} == {"on duty", "Prüfung 4711"}
    assert {each["by"] for each in entries} == {"root"}


@scene("only administrators read in a user's place, and only with a reason")
def unjustified(cast: Cast) -> None:
    cast.alice.put(NOTES, "hers", {"n": 1})
    for person in (cast.bob, cast.auditor, cast.operator, cast.alice):
        with refused("forbidden"):
            person.justified("curious", as_user_id="alice").get(NOTES, "hers")
        with refused("forbidden"):
            person.justified("curious").search(NOTES)
    with refused("invalid_request"):
        cast.admin.justified("", as_user_id="alice").get(NOTES, "hers")
    with refused("invalid_caller"):
        cast.admin.justified("curious", as_user_id="").get(NOTES, "hers")
    assert cast.auditor.list_audit()["entries"] == []


@scene("an administrator deletes by id, whoever's it is, and says why")
def force_deleted(cast: Cast) -> None:
    first = cast.alice.put(NOTES, "k", {"n": 1})
    second = cast.alice.put(NOTES, "k", {"n": 2})
    with refused("forbidden"):
        cast.alice.force_delete(second["id"], justification="mine")
    with refused("not_found"):
        cast.admin.force_delete(first["id"], justification="no longer the live version")
    with refused("not_found"):
        cast.admin.force_delete(UNKNOWN_ID, justification="never there")
    with refused("invalid_request"):
        cast.admin.force_delete(second["id"], justification=" ")
    cast.admin.force_delete(second["id"], justification="unlawful")
    with refused("not_found"):
        cast.alice.get(NOTES, "k")
    assert cast.alice.history(NOTES, "k")[0]["end_reason"] == "deleted"
    (entry,) = cast.admin.list_audit()["entries"]
    assert (entry["action"], entry["by"], entry["justification"]) == ("force_deleted", "root", "unlawful")
    assert entry["details"] == {"id": second["id"], "namespace": list(NOTES), "key": "k"}


@scene("the audit is read page by page, and by what was done")
def audit_pages(cast: Cast) -> None:
    for number in range(3):
        cast.admin.push_policy({"authz.rego": OWN_AND_ADMINS}, note=f"{number}")
    first = cast.auditor.list_audit(limit=2)
    assert [each["details"]["to"] for each in first["entries"]] == [3, 2]
    rest = cast.auditor.list_audit(limit=2, cursor=first["cursor"])
    assert ([each["details"]["to"] for each in rest["entries"]], rest["cursor"]) == ([1], None)
    assert cast.auditor.list_audit(action="force_deleted")["entries"] == []
    with refused("invalid_request"):
        cast.auditor.list_audit(action="invented")


@scene("who may see a policy, and who may change it")
def governors(cast: Cast) -> None:
    modules = {"authz.rego": OWN_AND_ADMINS}
    status = cast.admin.trigger_index()
    for person in (cast.admin, cast.auditor, cast.operator):
        assert person.show_policy()["version"]["number"] == 0
        assert person.explain_policy("read", NOTES, "k", user_id="alice")["decision"]["allow"]
        assert person.index_status() == status
    for ask in (cast.alice.show_policy, cast.alice.list_audit, cast.alice.index_status, cast.alice.trigger_index):
        with refused("forbidden"):
            ask()
    for person in (cast.alice, cast.auditor, cast.reader):
        for change in (person.check_policy, person.push_policy, person.simulate_policy):
            with refused("forbidden"):
                change(modules)
        with refused("forbidden"):
            person.rollback_policy()
    with refused("forbidden"):
        cast.admin.show_policy(service=True)
    with refused("forbidden"):
        cast.admin.push_policy(modules, service=True)
    assert cast.operator.show_policy(service=True)["version"]["number"] == 0


@scene("an operator changes settings while the service runs, and takes it back")
def settings(cast: Cast) -> None:
    for person in (cast.admin, cast.auditor, cast.alice):
        with refused("forbidden"):
            person.show_settings()
        with refused("forbidden"):
            person.change_settings({"index_batch": 50})
    assert cast.operator.show_settings()["changed"] == []
    tuned = cast.operator.change_settings({"index_batch": 50, "index_seconds": 12.5})
    assert (tuned["settings"]["index_batch"], tuned["settings"]["index_seconds"]) == (50, 12.5)
    assert tuned["changed"] == ["index_batch", "index_seconds"]
    assert cast.operator.show_settings() == tuned
    for bad in ({"index_batch": 0}, {"sweep_seconds": 1e9}):
        with refused("invalid_setting"):
            cast.operator.change_settings(bad)
    back = cast.operator.change_settings({"index_batch": None, "index_seconds": None})
    assert (back["settings"]["index_batch"], back["changed"]) == (100, [])
