"""The OPA engine: a real server answers as the embedded engine does, and whatever goes wrong with it allows nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.policies.questions import Questions
from tests.policies.real_opa import OpaServer, found_opa, serving  # noqa: F401 - a fixture
from tests.policies.stubs import PLAIN, Answer, always, stubbed
from tests.policies.test_shipped import mistaken, written
from tests.sizes import sized

import recollect
from recollect import Settings
from recollect.backends.opa import OpaEngine
from recollect.backends.rego import RegoEngine, shipped_bundle
from recollect.config.secret import Secret
from recollect.domain.bundles import Bundle, bundle_of
from recollect.domain.callers import Action, Caller, new_caller
from recollect.domain.errors import Forbidden, PolicyTrouble, RecollectError, Unsupported
from recollect.ports.policy import Policy, Question, Verdict
from recollect.ports.rego import DENIED
from recollect.service.memories import Memories
from recollect.sync import drive
from recollect.testing.doubles import ManualClock
from recollect.testing.proxies import Fault, Proxy, in_thread
from recollect.testing.servers import running

ALICE = new_caller("t", "alice")
ROOT = new_caller("t", "root", roles=["admin"])
NOTES = ("user", "alice", "notes")
FACTS = {"filterable_attributes": ["topic", "score", "done", "tags"]}
HUGE = 1 << 21


@pytest.fixture(scope="module")
def server(opa: Path) -> Iterator[OpaServer]:
    """A server with the shipped policies, and the settings that they may know."""
    with serving(opa) as server:
        server.put("/v1/data/recollect", FACTS)
        yield server


@pytest.fixture(scope="module")
def embedded() -> Iterator[RegoEngine]:
    engine = RegoEngine(shipped_bundle(), clock=ManualClock(), facts=FACTS)
    yield engine
    asyncio.run(engine.close())


@pytest.fixture(params=[False, True], ids=["async", "direct"])
def direct(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@contextmanager
def asking(url: str, *, direct: bool, token: str | None = None, seconds: float = 5.0) -> Iterator[Callable[..., Any]]:
    """A function that runs something with the server's policy, in an event loop or without one."""
    engine = OpaEngine(url, token=token, seconds=seconds, clock=ManualClock(), direct=direct)

    async def put(work: Callable[..., Any], *given: Any) -> Any:
        return await work(await engine.policy(None), *given)

    if direct:
        try:
            yield lambda work, *given: drive(put(work, *given))
        finally:
            drive(engine.close())
    else:
        with asyncio.Runner() as runner:
            try:
                yield lambda work, *given: runner.run(put(work, *given))
            finally:
                runner.run(engine.close())


async def authorized(policy: Policy, caller: Caller = ALICE, action: Action = Action.READ) -> Any:
    return await policy.authorize(caller, action, NOTES, "k")


async def narrowed(policy: Policy) -> Any:
    return await policy.narrow(ALICE, ("user", "alice"), None)


async def extracted(policy: Policy) -> Any:
    return await policy.attributes(NOTES, "k", {"text": "x"}, None)


async def reviewed(policy: Policy) -> Any:
    return await policy.review(ALICE, {"origin": "user_stated", "risk": "low"})


# -- the same answers as the embedded engine gives


def differences(there: Callable[..., Any], policy: Policy, count: int) -> tuple[list[str], set[str]]:
    """The questions that both answer differently, and how many kinds of answers there were at all."""
    questions, said, different = Questions(count), set[str](), list[str]()
    for _ in range(count):
        ask = questions.put()
        ours = asyncio.run(ask(policy))
        said.add(repr(ours)[:60])
        if there(ask) != ours:
            different.append(ask.__name__)
    return different, said


@sized(small=400, full=20_000)
def test_a_real_server_answers_as_the_embedded_engine_does(
    server: OpaServer, embedded: RegoEngine, direct: bool, count: int
) -> None:
    with asking(server.url, direct=direct) as there:
        different, said = differences(there, asyncio.run(embedded.policy(None)), count)
    assert different == []
    assert len(said) > 20, "the questions were all alike"


@pytest.mark.parametrize(
    "name", ["an object's values are names", "a search of all users", "booleans are sealed", "silence is trust"]
)
def test_another_policy_on_the_server_would_be_noticed(
    opa: Path, embedded: RegoEngine, tmp_path: Path, name: str
) -> None:
    with serving(opa, written(tmp_path, mistaken(name))) as server, asking(server.url, direct=True) as there:
        server.put("/v1/data/recollect", FACTS)
        assert differences(there, asyncio.run(embedded.policy(None)), 1_000)[0]


# -- who may ask the server


TOKEN = "s3cret-token-of-the-tests"
ONLY_WITH_TOKEN = f"""package system.authz

import rego.v1

default allow := false

allow if input.identity == "{TOKEN}"

allow if input.path == ["health"]
"""


def test_a_token_is_shown_to_a_server_that_asks_for_one(opa: Path, tmp_path: Path, direct: bool) -> None:
    (tmp_path / "system.rego").write_text(ONLY_WITH_TOKEN)
    (tmp_path / "memories.rego").write_text("package memories.authz\n\nimport rego.v1\n\nallow := true\n")
    strict = ("--authentication=token", "--authorization=basic")
    with serving(opa, tmp_path, arguments=strict, token=TOKEN) as server:
        with asking(server.url, direct=direct, token=TOKEN) as there:
            assert there(authorized).allow
        for wrong in (None, "another", TOKEN + "x"):
            with asking(server.url, direct=direct, token=wrong) as there, pytest.raises(PolicyTrouble):
                there(authorized)


def test_a_token_is_never_printed_or_logged(direct: bool, caplog: pytest.LogCaptureFixture) -> None:
    with stubbed(lambda _: (500, b"", {})) as stub, asking(stub.url, direct=direct, token=TOKEN) as there:
        with pytest.raises(PolicyTrouble) as raised:
            there(authorized)
        assert TOKEN not in caplog.text + str(raised.value) + repr(raised.value)
        assert stub.requests[0][1]["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(Settings(policy_engine="opa", opa_url=stub.url, opa_token=Secret(TOKEN)))


# -- packages that are not there


def test_a_package_that_is_missing_allows_nothing(opa: Path, tmp_path: Path, direct: bool) -> None:
    (tmp_path / "other.rego").write_text("package other\n\nimport rego.v1\n\nallow := true\n")
    with serving(opa, tmp_path) as server, asking(server.url, direct=direct) as there:
        assert there(authorized, ROOT) == DENIED
        assert there(extracted) == {}
        assert there(reviewed).verdict is Verdict.REVIEW
        with pytest.raises(PolicyTrouble):
            there(narrowed)


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ("allow := true", True),
        ("allow := false", False),
        ('decision := {"allow": true}', True),
        ('decision := {"allow": false, "reason": "no"}\n\nallow := true', False),
        ("other := true", False),
        ("allow if input.nothing", False),
    ],
)
def test_only_an_explicit_answer_of_the_package_allows(opa: Path, tmp_path: Path, rules: str, allowed: bool) -> None:
    (tmp_path / "authz.rego").write_text(f"package memories.authz\n\nimport rego.v1\n\n{rules}\n")
    with serving(opa, tmp_path) as server, asking(server.url, direct=True) as there:
        assert there(authorized).allow is allowed


def test_a_policy_that_contradicts_itself_allows_nothing(opa: Path, tmp_path: Path, direct: bool) -> None:
    text = (
        "package memories.authz\n\nimport rego.v1\n\nallow := true if input.key\n\nallow := false if input.operation\n"
    )
    (tmp_path / "authz.rego").write_text(text)
    with serving(opa, tmp_path) as server, asking(server.url, direct=direct) as there, pytest.raises(PolicyTrouble):
        there(authorized)


def test_what_the_server_has_in_force_decides_at_once(opa: Path, direct: bool) -> None:
    text = "package memories.authz\n\nimport rego.v1\n\nallow := {}\n"
    with OpaServer(opa) as server, asking(server.url, direct=direct) as there:
        for answer in (True, False, True):
            server.put("/v1/policies/authz", text.format(str(answer).lower()).encode())
            assert there(authorized).allow is answer


# -- servers that fail


def refused() -> AbstractContextManager[object]:
    return pytest.raises(PolicyTrouble)


YES = json.dumps(
    {"result": {"allow": True, "decision": {"allow": True}, "namespace_prefix": [], "attributes": {}}}
).encode()
FAULTS: dict[str, Answer] = {
    "an error of its own": (500, YES, PLAIN),
    "an error about the request": (400, YES, PLAIN),
    "no such thing": (404, YES, PLAIN),
    "another success": (201, YES, PLAIN),
    "nothing": (204, b"", {}),
    "an empty answer": (200, b"", PLAIN),
    "no JSON": (200, b"<html>yes</html>", PLAIN),
    "half an answer": (200, YES[:-3], PLAIN),
    "less than it promised": (200, YES, {**PLAIN, "content-length": str(len(YES) + 10)}),
    "not even text": (200, b'{"result": {"allow": true, "x": "\xff\xfe"}}', PLAIN),
    "a list": (200, b"[true]", PLAIN),
    "a result that is no package": (200, b'{"result": true}', PLAIN),
    "a list of results": (200, b'{"result": [{"allow": true}]}', PLAIN),
    "compressed nonsense": (200, YES, {**PLAIN, "content-encoding": "gzip"}),
    "far too deep": (200, b'{"result": {"allow": true, "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}", PLAIN),
    "far too much": (200, YES[:-1] + b" " * HUGE + b"}", PLAIN),
}
WRONG_ANSWERS: dict[str, Any] = {
    "text": {"allow": "true"},
    "a number": {"allow": 1},
    "a list": {"allow": [True]},
    "an object": {"allow": {"allow": True}, "decision": {"allow": "yes"}},
    "a decision without allow": {"decision": {"reason": "yes"}},
    "a decision that is text": {"decision": "allow", "allow": True},
    "a reason that is none": {"decision": {"allow": True, "reason": 7}},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_answer_allows_nothing_and_shows_nothing(name: str, direct: bool) -> None:
    with stubbed(lambda _: FAULTS[name]) as stub, asking(stub.url, direct=direct) as there:
        for work in (authorized, narrowed, extracted, reviewed):
            with pytest.raises(PolicyTrouble):
                there(work)


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_an_answer_of_the_wrong_kind_allows_nothing(name: str, direct: bool) -> None:
    said = json.dumps({"result": WRONG_ANSWERS[name]}).encode()
    with stubbed(lambda _: (200, said, PLAIN)) as stub, asking(stub.url, direct=direct) as there, refused():
        there(authorized)


def test_redirects_are_not_followed(direct: bool) -> None:
    with stubbed(lambda _: (200, YES, PLAIN)) as open_to_all:
        for status in (301, 302, 303, 307, 308):
            moved: Answer = (status, b"", {"location": f"{open_to_all.url}/v1/data/memories/authz"})
            with stubbed(always(moved)) as stub, asking(stub.url, direct=direct) as there, refused():
                there(authorized)
        assert open_to_all.requests == []


def test_an_answer_without_end_is_given_up_in_time(direct: bool) -> None:
    def drip() -> Iterator[bytes]:
        yield b'{"result": {"allow": true'
        for _ in range(100):
            time.sleep(0.1)
            yield b" "
        yield b"}}"

    with stubbed(lambda _: (200, drip(), PLAIN)) as stub, asking(stub.url, direct=direct, seconds=0.5) as there:
        began = time.monotonic()
        with pytest.raises(PolicyTrouble):
            there(authorized)
        assert time.monotonic() - began < 4.0


def test_an_answer_without_bounds_is_not_read_to_its_end(direct: bool) -> None:
    sent = [0]

    def flood() -> Iterator[bytes]:
        yield b'{"result": {"allow": true, "x": "'
        for _ in range(2_000):
            sent[0] += 1 << 20
            yield b"x" * (1 << 20)
        yield b'"}}'

    with stubbed(lambda _: (200, flood(), PLAIN)) as stub, asking(stub.url, direct=direct) as there, refused():
        there(authorized)
    assert sent[0] < 64 << 20


def test_a_server_that_is_away_allows_nothing_until_it_is_back(opa: Path, direct: bool) -> None:
    server = OpaServer(opa).start()
    try:
        server.put("/v1/policies/authz", b"package memories.authz\n\nimport rego.v1\n\nallow := true\n")
        proxy = Proxy(server.url)
        with in_thread(proxy), asking(proxy.url, direct=direct) as there:
            assert there(authorized).allow
            server.stop()
            for _ in range(3):
                with pytest.raises(PolicyTrouble):
                    there(authorized)
            server.start()
            server.put("/v1/policies/authz", b"package memories.authz\n\nimport rego.v1\n\nallow := true\n")
            proxy.target = server.url
            assert there(authorized).allow
    finally:
        server.stop()


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.CUT, Fault.DELAY])
def test_a_line_that_fails_allows_nothing(server: OpaServer, fault: Fault, direct: bool) -> None:
    fates = iter([Fault.NONE, fault, fault, Fault.NONE, *[Fault.NONE] * 20])
    proxy = Proxy(server.url, lambda: next(fates), delay_seconds=3.0)
    with in_thread(proxy), asking(proxy.url, direct=direct, seconds=0.5) as there:
        assert there(authorized).allow
        for _ in range(2):
            with pytest.raises(PolicyTrouble):
                there(authorized)
        assert there(authorized).allow


def test_a_policy_that_burns_time_allows_nothing(opa: Path, tmp_path: Path, direct: bool) -> None:
    burn = "allow if count([x | some x in numbers.range(1, 4000); some y in numbers.range(1, 4000); x == y]) > 0"
    (tmp_path / "authz.rego").write_text(f"package memories.authz\n\nimport rego.v1\n\n{burn}\n")
    with serving(opa, tmp_path) as server, asking(server.url, direct=direct, seconds=0.3) as there:
        began = time.monotonic()
        with pytest.raises(PolicyTrouble):
            there(authorized)
        assert time.monotonic() - began < 3.0


def test_nothing_of_the_request_is_in_the_path(direct: bool) -> None:
    caller = new_caller("t", "../alice?q=1#f", client_id="../../v1/policies", roles=["a/b"], claims={"x": "/etc"})
    place = ("user", "../../..", "%2e%2e", "?pretty=true", "a b")

    async def everything(policy: Policy) -> None:
        await policy.authorize(caller, Action.WRITE, place, "../k?x", {"a": "/b"})
        await policy.attributes(place, "../k?x", {"a": "/b"}, {"c": "../d"})
        await policy.narrow(caller, place, {"topic": "../x"})
        await policy.review(caller, {"origin": "../x"})

    with stubbed(lambda _: (200, YES, PLAIN)) as stub, asking(stub.url, direct=direct) as there:
        there(everything)
        packages = ("authz", "attributes", "filter", "review")
        assert [path for path, _, _ in stub.requests] == [f"/v1/data/memories/{package}" for package in packages]
        told = [json.loads(body)["input"] for _, _, body in stub.requests]
        assert told[0]["namespace"] == list(place)
        assert "context" not in told[1], "attributes are extracted whoever writes"
        assert told[2]["context"]["user_id"] == caller.user_id
        assert told[3]["proposal"] == {"origin": "../x"}


# -- composed


@pytest.fixture
async def memories(server: OpaServer) -> AsyncIterator[Memories]:
    settings = Settings(policy_engine="opa", opa_url=server.url, opa_seconds=5.0)
    async with recollect.open(":memory:", settings=settings) as opened:
        yield opened


async def test_memories_go_by_the_server(memories: Memories) -> None:
    alice = memories.for_caller(new_caller("default", "alice", claims={"projects": {"apollo": "read"}}))
    await memories.put(("project", "apollo"), "plan", {"text": "moon"})
    await alice.put(NOTES, "k", {"text": "x"}, attributes={"topic": "tea", "other": 1})
    assert await alice.get(("project", "apollo"), "plan")
    with pytest.raises(Forbidden):
        await alice.put(("project", "apollo"), "plan", {"text": "mars"})
    with pytest.raises(Forbidden):
        await alice.get(("user", "bob"), "k")
    found = await alice.search(("user", "alice"), filter={"topic": "tea", "sub": "alice"})
    assert [item.key for item in found.items] == ["k"]
    assert (await alice.search(("user", "bob"))).items == []
    assert await alice.list_namespaces() == [NOTES]


async def test_a_push_is_refused_with_the_reason(memories: Memories) -> None:
    modules = dict(shipped_bundle().modules)
    for call in (memories.push_policy, memories.check_policy, memories.simulate_policy):
        with pytest.raises(Unsupported, match="OPA server"):
            await call(modules)
    with pytest.raises(Unsupported):
        await memories.explain_policy("read", NOTES, user_id="alice", modules=modules)
    assert (await memories.show_policy()).version.number == 0
    assert (await memories.list_audit()).entries == []


async def test_what_the_server_says_is_explained_as_far_as_it_can_be(memories: Memories) -> None:
    explained = await memories.explain_policy("read", ("user", "bob"), user_id="alice")
    assert explained.decision is not None
    assert (explained.decision.allow, explained.package) == (False, "authz")
    seen = await memories.explain_policy("search", (), user_id="alice")
    assert seen.narrowed is not None
    assert seen.narrowed.prefix == ("user", "alice")


async def test_a_bundle_from_before_is_not_passed_over(server: OpaServer, tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as before:
        await before.push_policy({"authz.rego": _CLOSED})
    settings = Settings(policy_engine="opa", opa_url=server.url)
    async with recollect.open(tmp_path, settings=settings) as after:
        with pytest.raises(PolicyTrouble, match="roll back to version 0"):
            await after.put(NOTES, "k", {"text": "x"})
        await after.rollback_policy(0)
        await after.put(NOTES, "k", {"text": "x"})


_CLOSED = "package memories.authz\n\nimport rego.v1\n\ndefault allow := false\n"


def test_without_an_event_loop_it_is_the_same(server: OpaServer) -> None:
    settings = Settings(policy_engine="opa", opa_url=server.url, opa_seconds=5.0)
    with recollect.open_sync(":memory:", settings=settings) as memories:
        alice = memories.for_caller(new_caller("default", "alice"))
        alice.put(NOTES, "k", {"text": "x"})
        with pytest.raises(Forbidden):
            alice.put(("user", "bob"), "k", {"text": "x"})
        assert [item.key for item in alice.search().items] == ["k"]
        assert alice.search(("user", "bob")).items == []


async def test_memories_without_their_server_refuse_everything(opa: Path) -> None:
    with serving(opa) as server:
        settings = Settings(policy_engine="opa", opa_url=server.url, opa_seconds=2.0)
        async with recollect.open(":memory:", settings=settings) as memories:
            await memories.put(NOTES, "k", {"text": "x"})
            server.stop()
            calls = (
                memories.get(NOTES, "k"),
                memories.put(NOTES, "k", {"text": "y"}),
                memories.delete(NOTES, "k"),
                memories.search(NOTES),
                memories.list_namespaces(),
                memories.events(),
                memories.history(NOTES, "k"),
            )
            for call in calls:
                with pytest.raises(PolicyTrouble):
                    await call


def test_the_service_goes_by_the_server(server: OpaServer, tmp_path: Path) -> None:
    settings = {"policy_engine": "opa", "opa_url": server.url, "opa_seconds": 5}
    with running(tmp_path / "home", **settings) as service:
        key = service.key_for("alice")
        body = {"namespace": list(NOTES), "key": "k", "value": {"text": "x"}}
        assert service.request("PUT", "/v1/memories", body, token=key)[0] == 200
        other = {**body, "namespace": ["user", "bob"]}
        assert service.request("PUT", "/v1/memories", other, token=key)[0] == 403
        status, found, _ = service.request("POST", "/v1/memories/search", {"namespace_prefix": ["user"]}, token=key)
        assert (status, [item["key"] for item in found["items"]]) == (200, ["k"])


async def test_engines_of_both_kinds_refuse_to_explain_what_is_not_theirs(server: OpaServer) -> None:
    engine = OpaEngine(server.url, clock=ManualClock())
    question = Question(ALICE, Action.READ, NOTES, "k")
    try:
        with pytest.raises(Unsupported):
            await engine.explain(bundle_of({"authz.rego": _CLOSED}), question)
        with pytest.raises(PolicyTrouble):
            await engine.policy(bundle_of({"authz.rego": _CLOSED}))
        report = await engine.check(bundle_of({"authz.rego": _CLOSED}))
        assert (report.sound, engine.manages, engine.defaults()) == (False, False, Bundle(()))
    finally:
        await engine.close()
    with pytest.raises((RecollectError, RuntimeError)):
        await (await engine.policy(None)).authorize(ALICE, Action.READ, NOTES, "k")
