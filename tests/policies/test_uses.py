"""What a policy is not told, and what is not part of the question when its answer is kept, cannot matter to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from tests.policies.random_policies import CLAIMS, VALUES, Author, random_input
from tests.sizes import sized

from recollect.backends.rego import RegoEngine
from recollect.backends.rego.engine import Flawed, RegoPolicy
from recollect.backends.rego.inputs import pruned
from recollect.backends.rego.plan import NOTHING, Uses, tree
from recollect.backends.rego.shipped import shipped_bundle
from recollect.domain.bundles import bundle_of
from recollect.domain.callers import Action, Caller, Scope
from recollect.domain.errors import PolicyTrouble
from recollect.ports.rego import decision_of
from recollect.testing.doubles import ManualClock

ENTRY = "memories/authz/allow"


@pytest.fixture(scope="module")
def engine() -> Iterator[RegoEngine]:
    opened = RegoEngine(shipped_bundle(), clock=ManualClock(), direct=True)
    yield opened
    asyncio.run(opened.close())


def accepted(engine: RegoEngine, seed: int) -> tuple[RegoPolicy, str] | None:
    """A random policy, if the engine accepts it."""
    text = Author(Random(seed), careless=False).policy()
    try:
        return asyncio.run(engine.policy(bundle_of({"authz.rego": text}))), text
    except Flawed:
        return None


def answer(engine: RegoEngine, policy: RegoPolicy, told: Mapping[str, Any]) -> object:
    """What the policy says of exactly this."""
    try:
        asked = engine.evaluate(policy.compiled.loadable, policy.compiled.authz, json.dumps(told).encode())
        return asyncio.run(asked)[0]
    except PolicyTrouble as trouble:
        return trouble.message


def changed(random: Random, told: Mapping[str, Any], times: int) -> dict[str, Any]:
    """The same, but for something taken away, replaced or added, a few times over."""
    copy: dict[str, Any] = deepcopy(dict(told))
    for _ in range(times):
        at: Any = copy
        while True:
            steps = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not steps:
                break
            step = random.choice(steps)
            if isinstance(at[step], dict | list) and at[step] and random.random() < 0.8:
                at = at[step]
                continue
            if random.random() < 0.4:
                del at[step]
            else:
                at[step] = random.choice((None, 0, "changed", False, [], {}, ["ann"], {"ann": "user"}))
            break
        if isinstance(at, dict) and random.random() < 0.2:
            at["added"] = 1
    return copy


def difference(engine: RegoEngine, policy: RegoPolicy, uses: Uses, random: Random, rounds: int) -> object:
    """Two inputs that look alike to the policy and are answered differently; None when none was found."""
    for _ in range(rounds):
        told = random_input(random)
        said = answer(engine, policy, told)
        alike = [pruned(uses, told)]
        other = changed(random, told, random.randrange(1, 6))
        if pruned(uses, other) == pruned(uses, told):
            alike.append(other)
        for each in alike:
            if answer(engine, policy, each) != said:
                return told, each
    return None


@sized(60, 3_000)
def test_inputs_that_are_alike_in_what_is_used_are_answered_alike(engine: RegoEngine, count: int) -> None:
    tried = 0
    for seed in range(count):
        if (found := accepted(engine, seed)) is None:
            continue
        policy, text = found
        uses = policy.compiled.plan.uses(ENTRY)
        assert difference(engine, policy, uses, Random(seed), 6) is None, text
        tried += 1
    assert tried > count // 2


def without(uses: Uses, path: tuple[Any, ...]) -> Uses:
    """Uses that forget a path."""
    step, *rest = path
    below = {**uses}
    if rest:
        below[step] = without(uses[step], tuple(rest))
        if below[step]:
            return below
    del below[step]
    return below or NOTHING


def leaves(uses: Uses, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in it."""
    for step, below in uses.items():
        if below:
            yield from leaves(below, (*above, step))
        else:
            yield (*above, step)


def test_uses_that_forget_a_path_are_caught(engine: RegoEngine) -> None:
    """The test above could fail: of policies that use several parts, hardly any survives without one of them."""
    caught = tried = 0
    for seed in range(60):
        if (found := accepted(engine, seed)) is None:
            continue
        policy, _ = found
        uses = policy.compiled.plan.uses(ENTRY)
        paths = [path for path in leaves(uses) if path != ("",)]
        if len(paths) < 2:
            continue
        tried += 1
        random = Random(seed)
        caught += any(
            difference(engine, policy, without(uses, path), random, 8) is not None for path in random.sample(paths, 2)
        )
    assert tried > 20
    assert caught > tried // 3, (caught, tried)


def test_whether_something_is_there_matters_even_when_what_it_is_does_not(engine: RegoEngine) -> None:
    for body in (
        "there := input.value.secret",
        "ignores(input.value.secret)",
        "some there in [input.value.secret]",
        "there := [input.value.secret]",
        'there := {"it": input.value.secret}',
        "there := input.value.secret.deeper",
    ):
        text = (
            "package memories.authz\n\nimport rego.v1\n\nallow if not denied\n\n"
            f'denied if {{\n\tinput.key == "k"\n\t{body}\n}}\n\nignores(_) := true\n'
        )
        policy = asyncio.run(engine.policy(bundle_of({"authz.rego": text})))
        uses = policy.compiled.plan.uses(ENTRY)
        value = {"secret": {"deeper": 1}, "other": 1}
        assert pruned(uses, {"key": "k", "value": value, "operation": "read"}) == {
            "key": "k",
            "value": {"secret": {"deeper": 1}},
        }
        caller = Caller("t", "ann", scopes=frozenset(Scope), credential="x")
        assert not asyncio.run(policy.authorize(caller, Action.WRITE, ("user", "ann"), "k", value)).allow, body
        assert asyncio.run(policy.authorize(caller, Action.WRITE, ("user", "ann"), "k", {"other": 1})).allow, body


def test_a_used_part_covers_what_is_below_it_and_a_reached_one_does_not() -> None:
    assert tree({("a",), ("a", "b")}) == {"a": {}}
    assert tree({("a", "b")}, {("a",), ("a", "c")}) == {"a": {"b": {}, "c": {}}}
    assert tree({("a",)}, {("a", "b")}) == {"a": {}}
    assert tree(set(), {("a",), ("a", "b", 0)}) == {"a": {"b": {0: {}}}}
    assert tree({()}, {("a",)}) == {}
    assert tree(set()) == NOTHING


CALLERS = tuple(
    Caller(
        "t",
        user,
        client_id,
        roles=frozenset(roles),
        scopes=frozenset({Scope.READ}),
        claims=claims,
        credential="x",
    )
    for user in ("ann", "bob")
    for client_id, roles in (("", ()), ("k", ("admin",)), ("", ("ann", "user")))
    for claims in CLAIMS
)
NAMESPACES = (("user", "ann"), ("user",), ("project", "notes", "k"), ("ann", "user", "read"))


def questions(random: Random, count: int) -> Iterator[tuple[Caller, Action, tuple[str, ...], str, Any]]:
    """Random questions of few kinds, so that answers that were kept are asked for."""
    for _ in range(count):
        action = random.choice((Action.READ, Action.WRITE, Action.DELETE))
        value = random.choice(VALUES) if action is Action.WRITE else None
        yield random.choice(CALLERS), action, random.choice(NAMESPACES), random.choice(("k", "notes")), value


async def decided(policy: RegoPolicy, question: Any) -> object:
    try:
        return await policy.authorize(*question)
    except PolicyTrouble as trouble:
        return trouble.message


async def afresh(engine: RegoEngine, policy: RegoPolicy, question: Any) -> object:
    """What the policy says when it is told everything, and nothing is kept."""
    caller, action, namespace, key, value = question
    told = {"operation": action.value, "namespace": namespace, "key": key, "context": policy.context(caller)}
    if value is not None:
        told["value"] = value
    try:
        found = await engine.evaluate(policy.compiled.loadable, policy.compiled.authz, json.dumps(told).encode())
        return decision_of(found[0])
    except PolicyTrouble as trouble:
        return trouble.message


async def wrong_answers(engine: RegoEngine, seeds: range, each: int) -> tuple[int, int]:
    """How many answers there were, and how many of them differ from fresh ones."""
    asked = wrong = 0
    for seed in seeds:
        text = Author(Random(seed), careless=False).policy()
        try:
            policy = await engine.policy(bundle_of({"authz.rego": text}))
        except Flawed:
            continue
        for question in questions(Random(seed), each):
            asked += 1
            wrong += await decided(policy, question) != await afresh(engine, policy, question)
    return asked, wrong


@sized(20, 500)
def test_answers_that_were_kept_equal_fresh_ones(engine: RegoEngine, count: int) -> None:
    asked, wrong = asyncio.run(wrong_answers(engine, range(10_000, 10_000 + count), 60))
    assert asked > 30 * count
    assert wrong == 0


def test_a_cache_that_forgets_a_part_of_the_question_is_caught(
    engine: RegoEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above could fail: a policy that does not see the key gives wrong answers."""
    from recollect.backends.rego.inputs import Telling

    text = Telling.text
    monkeypatch.setattr(Telling, "text", lambda self, part, value: None if part == "key" else text(self, part, value))
    _, wrong = asyncio.run(wrong_answers(engine, range(10_000, 10_040), 40))
    assert wrong > 0


def test_the_shipped_policies_give_kept_answers_that_equal_fresh_ones(engine: RegoEngine) -> None:
    async def compare() -> int:
        policy = await engine.policy(None)
        asked = list(questions(Random(1), 400))
        return sum([await decided(policy, each) != await afresh(engine, policy, each) for each in asked])

    assert asyncio.run(compare()) == 0


def test_an_answer_that_depends_on_the_time_is_not_kept() -> None:
    clock = ManualClock()
    engine = RegoEngine(shipped_bundle(), clock=clock, direct=True)

    async def decisions() -> list[bool]:
        start = clock() * 1_000
        text = f"package memories.authz\n\nimport rego.v1\n\nallow if input.context.now_ns > {start}\n"
        policy = await engine.policy(bundle_of({"authz.rego": text}))
        before = await policy.authorize(CALLERS[0], Action.READ, ("user",), "k")
        clock.advance(1)
        after = await policy.authorize(CALLERS[0], Action.READ, ("user",), "k")
        await engine.close()
        return [before.allow, after.allow]

    assert asyncio.run(decisions()) == [False, True]
