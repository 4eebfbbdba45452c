"""The guard lets through only what both the caller's rights and the policy open; whatever the policy answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Settings
from recollect.backends.policy import BuiltinPolicy
from recollect.domain.callers import _NEEDS, Action, Caller, Role, Scope, check_permitted, new_caller
from recollect.domain.errors import Forbidden, InvalidAttributes, InvalidFilter, PolicyTrouble, RecollectError
from recollect.main import compose
from recollect.ports.policy import Decision, Narrowed, Policy
from recollect.service.guard import Always, InForce, Ruling, View
from recollect.service.memories import Memories
from recollect.sync import MemoriesSync

ALICE = new_caller("t", "alice")
ADMIN = new_caller("t", "root", roles=["admin"])
NOTES = ("user", "alice", "notes")
SEGMENTS = st.lists(st.sampled_from(["user", "alice", "aliced", "bob", "notes", "*"]), max_size=4).map(tuple)


class Scripted(Policy):
    """A policy that answers what it is told to, or fails."""

    def __init__(self, decision: Any = None, found: Any = None, narrowed: Any = None) -> None:
        self._decision, self._found, self._narrowed = decision, found, narrowed

    async def authorize(self, *_: Any, **__: Any) -> Any:
        return _said(self._decision)

    async def attributes(self, *_: Any, **__: Any) -> Any:
        return _said(self._found)

    async def narrow(self, *_: Any, **__: Any) -> Any:
        return _said(self._narrowed)

    async def review(self, *_: Any, **__: Any) -> Any:
        return _said(None)


class Guarded:
    """Rules of this policy, in the name of whomever."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    async def allow(self, caller: Caller, action: Action, namespace: Any, key: str, value: Any = None) -> None:
        await Ruling(caller, InForce(self.policy)).allow(action, namespace, key, value)

    async def extract(self, caller: Caller, *given: Any) -> Any:
        return await Ruling(caller, InForce(self.policy)).extract(*given)

    async def view(self, caller: Caller, prefix: Any, filter: Any) -> View | None:  # noqa: A002 - the word of the API
        return await Ruling(caller, InForce(self.policy)).view(prefix, filter)


def _said(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def memories(policy: Policy, caller: Caller = ALICE) -> MemoriesSync:
    """Memories in nobody's file, behind this policy."""
    workings = compose(":memory:", Settings(), direct=True)
    workings.guard.policies = Always(policy)
    return MemoriesSync(Memories(workings, caller))


# -- scopes and roles


@pytest.mark.parametrize("action", list(Action))
def test_an_action_needs_its_scope_and_one_of_its_roles(action: Action) -> None:
    scope, roles = _NEEDS[action]
    everything = new_caller("t", "x", roles=list(Role))
    check_permitted(everything, action)
    with pytest.raises(Forbidden):
        check_permitted(new_caller("t", "x", roles=list(Role), scopes=set(Scope) - {scope}), action)
    for role in Role:
        caller = new_caller("t", "x", roles=[role], scopes=[scope])
        if not roles or role in roles:
            check_permitted(caller, action)
        else:
            with pytest.raises(Forbidden):
                check_permitted(caller, action)
    if roles:
        with pytest.raises(Forbidden):
            check_permitted(new_caller("t", "x", roles=["Admin", "administrator", "root"]), action)


async def test_the_policy_is_not_asked_when_the_credential_lacks_the_scope() -> None:
    guard = Guarded(Scripted(RuntimeError("asked"), RuntimeError("asked"), RuntimeError("asked")))
    nobody = new_caller("t", "alice", scopes=[])
    for action in (Action.READ, Action.WRITE, Action.DELETE):
        with pytest.raises(Forbidden):
            await guard.allow(nobody, action, NOTES, "k")
    with pytest.raises(Forbidden):
        await guard.view(nobody, (), None)


# -- only an explicit allow allows (P1)

NO_DECISIONS: list[Any] = [
    None,
    True,
    1,
    "allow",
    {"allow": True},
    Ellipsis,
    [],
    Decision(False),
    Decision(1),  # type: ignore[arg-type] # what a careless engine may give
    Decision("true"),  # type: ignore[arg-type] # the same
    Decision(None),  # type: ignore[arg-type] # the same
    Decision,
    RuntimeError("the engine broke"),
    ValueError("no"),
    KeyError("allow"),
    TimeoutError(),
    RecursionError(),
    MemoryError(),
    PolicyTrouble("the engine is gone"),
]


@pytest.mark.parametrize("answer", NO_DECISIONS, ids=repr)
async def test_no_answer_a_wrong_answer_and_a_fault_are_denials(answer: Any) -> None:
    with pytest.raises((Forbidden, PolicyTrouble)) as caught:
        await Guarded(Scripted(answer)).allow(ADMIN, Action.READ, NOTES, "k")
    assert "broke" not in caught.value.message, "what went wrong inside is not for callers"


async def test_an_explicit_allow_allows_and_a_denial_may_say_why() -> None:
    await Guarded(Scripted(Decision(True))).allow(ALICE, Action.READ, ("anything",), "k")
    with pytest.raises(Forbidden) as caught:
        await Guarded(Scripted(Decision(False, "after office hours"))).allow(ADMIN, Action.READ, NOTES, "k")
    assert caught.value.details == {"reason": "after office hours"}


@pytest.mark.parametrize("answer", NO_DECISIONS, ids=repr)
def test_nothing_is_read_written_or_deleted_without_a_decision(answer: Any) -> None:
    store = memories(Scripted(answer, {}), ADMIN)
    calls: list[Callable[[], object]] = [
        lambda: store.put(NOTES, "k", {}),
        lambda: store.get(NOTES, "k"),
        lambda: store.delete(NOTES, "k"),
        lambda: store.archive(NOTES, "k"),
        lambda: store.history(NOTES, "k"),
    ]
    for call in calls:
        with pytest.raises((Forbidden, PolicyTrouble)):
            call()
    assert store.verify().events == 0


# -- narrowing: what both open (P3)


@pytest.mark.parametrize(
    ("asked", "opened", "seen"),
    [
        ((), ("user", "alice"), ("user", "alice")),
        (("user",), ("user", "alice"), ("user", "alice")),
        (("user", "alice"), ("user", "alice"), ("user", "alice")),
        (("user", "alice", "a"), ("user", "alice", "a"), ("user", "alice", "a")),
        (("user", "bob"), ("user", "alice"), None),
        (("user", "al"), ("user", "alice"), None),
        (("user", "alice"), ("user", "alice", "a"), ("user", "alice", "a")),
        ((), (), ()),
    ],
)
async def test_a_caller_sees_what_lies_in_both(asked: Any, opened: Any, seen: Any) -> None:
    view = await Guarded(Scripted(narrowed=Narrowed(opened))).view(ALICE, asked, None)
    assert (None if view is None else view.prefix) == seen


@given(SEGMENTS, SEGMENTS)
async def test_a_narrowed_scope_is_never_wider_than_either(asked: tuple[str, ...], opened: tuple[str, ...]) -> None:
    guard = Guarded(Scripted(narrowed=Narrowed(opened)))
    if len(opened) < len(asked) and asked[: len(opened)] == opened:
        with pytest.raises(PolicyTrouble):
            await guard.view(ALICE, asked, None)
        return
    view = await guard.view(ALICE, asked, None)
    if view is None:
        assert opened[: len(asked)] != asked
    else:
        assert view.prefix[: len(asked)] == asked
        assert view.prefix[: len(opened)] == opened


@given(SEGMENTS)
async def test_the_built_in_rule_opens_nothing_but_ones_own(asked: tuple[str, ...]) -> None:
    guard = Guarded(BuiltinPolicy())
    view = await guard.view(ALICE, asked, None)
    assert view is None or view.prefix[:2] == ("user", "alice")
    assert (await guard.view(ADMIN, asked, None)) is not None


NO_NARROWING: list[Any] = [
    None,
    True,
    (),
    {"prefix": ()},
    Narrowed(None),  # type: ignore[arg-type] # what a careless engine may give
    Narrowed("user"),  # type: ignore[arg-type] # the same
    Narrowed(5),  # type: ignore[arg-type] # the same
    Narrowed((), None),  # type: ignore[arg-type] # the same
    Narrowed((), []),  # type: ignore[arg-type] # the same
    Narrowed((), ""),  # type: ignore[arg-type] # the same
    Narrowed((), False),  # type: ignore[arg-type] # the same
    Narrowed((), "lang = 'en'"),  # type: ignore[arg-type] # the same
    Narrowed((), {"lang": {"$regex": "x"}}),
    Narrowed((), {"": 1}),
    Narrowed((5,)),  # type: ignore[arg-type] # the same
    Narrowed(("",)),
    RuntimeError("the engine broke"),
    TimeoutError(),
]


@pytest.mark.parametrize("answer", NO_NARROWING, ids=repr)
def test_a_narrowing_that_is_none_shows_nothing(answer: Any) -> None:
    store = memories(BuiltinPolicy(), ADMIN)
    store.put(NOTES, "k", {"secret": True})
    store._memories._workings.guard.policies = Always(Scripted(Decision(True), {}, answer))
    calls: list[Callable[[], Any]] = [store.search, store.list_namespaces, store.events]
    for call in calls:
        with suppress(PolicyTrouble):
            assert list(call()) == []


async def test_filters_of_caller_and_policy_must_both_hold() -> None:
    guard = Guarded(Scripted(narrowed=Narrowed((), {"lang": "en", "level": {"lte": 3}})))
    view = await guard.view(ALICE, (), {"lang": "de"})
    assert view is not None
    assert [(each.name, each.operands) for each in view.filter.conditions] == [
        ("lang", ("de",)),
        ("lang", ("en",)),
        ("level", (3,)),
    ]
    with pytest.raises(InvalidFilter):
        await guard.view(ALICE, (), {"lang": {"$regex": "x"}})


def test_a_policy_can_only_take_away_from_a_search() -> None:
    store = memories(BuiltinPolicy(("lang",)))
    for lang in ("en", "de"):
        store.put(NOTES, lang, {}, attributes={"lang": lang})
    own = ("user", "alice")
    store._memories._workings.guard.policies = Always(Scripted(Decision(True), {}, Narrowed(own, {"lang": "en"})))
    assert [item.key for item in store.search()] == ["en"]
    assert [item.key for item in store.search(filter={"lang": "de"})] == []
    assert [item.key for item in store.search(filter={"lang": {"in": ["de", "en"]}})] == ["en"]
    assert [event.key for event in store.events()] == ["en"]
    assert store.list_namespaces() == [NOTES]
    store._memories._workings.guard.policies = Always(Scripted(Decision(True), {}, Narrowed(own, {"lang": "fr"})))
    assert store.list_namespaces() == []


# -- attributes are the policy's (P2)


@pytest.mark.parametrize("answer", [None, 5, "x", [], [("a", 1)], RuntimeError("broke"), TimeoutError()], ids=repr)
def test_attributes_that_are_none_are_the_policys_trouble_and_nothing_is_written(answer: Any) -> None:
    store = memories(Scripted(Decision(True), answer), ADMIN)
    with pytest.raises(PolicyTrouble):
        store.put(NOTES, "k", {})
    assert store.verify().events == 0


@pytest.mark.parametrize(
    "answer", [{"a": {"b": 1}}, {5: 1}, {"a": ...}, {"": 1}, {"a": "x" * 20_000}], ids=lambda answer: str(answer)[:20]
)
def test_attributes_that_cannot_be_kept_are_refused_and_nothing_is_written(answer: Any) -> None:
    store = memories(Scripted(Decision(True), answer), ADMIN)
    with pytest.raises(InvalidAttributes):
        store.put(NOTES, "k", {})
    assert store.verify().events == 0


async def test_only_those_who_are_trusted_give_policy_attributes_and_the_policy_has_the_last_word() -> None:
    guard = Guarded(BuiltinPolicy())
    with pytest.raises(Forbidden):
        await guard.extract(ALICE, NOTES, "k", {}, None, {"sub": "bob"})
    with pytest.raises(Forbidden):
        await guard.extract(ALICE, NOTES, "k", {}, None, {})
    found = await guard.extract(ADMIN, NOTES, "k", {}, None, {"sub": "bob", "tier": "gold"})
    given = {"recollect.given": ["sub", "tier"]}
    assert found == {"namespace": "user", "sub": "alice", "tier": "gold", **given}


# -- an id tells nothing of whose it is


def test_an_id_of_somebody_else_looks_like_no_id() -> None:
    store = memories(BuiltinPolicy(), ALICE)
    written = store.put(NOTES, "k", {})
    assert written.id is not None
    assert store.get_by_id(written.id) is not None
    assert store.for_caller(new_caller("t", "bob")).get_by_id(written.id) is None
    assert store.for_caller(new_caller("u", "alice")).get_by_id(written.id) is None
    with pytest.raises(Forbidden):
        store.for_caller(new_caller("t", "alice", scopes=["write"])).get_by_id(written.id)


def test_a_change_of_policy_holds_from_the_next_request_on() -> None:
    store = memories(BuiltinPolicy())
    store.put(NOTES, "k", {})
    store._memories._workings.guard.policies = Always(Scripted(Decision(False)))
    with pytest.raises(Forbidden):
        store.get(NOTES, "k")


def test_a_guard_that_believes_anything_is_caught() -> None:
    class Gullible(Guarded):
        """A planted fault: whatever is not a denial allows."""

        async def allow(self, caller: Caller, action: Action, namespace: Any, key: str, value: Any = None) -> None:
            decision: Any = await self.policy.authorize(caller, action, namespace, key, value)
            if not decision:
                raise Forbidden("access denied")

    async def let_through(answer: Any) -> bool:
        try:
            await Gullible(Scripted(answer)).allow(ADMIN, Action.READ, NOTES, "k")
        except RecollectError:
            return False
        return True

    decisions = [each for each in NO_DECISIONS if not isinstance(each, Exception)]
    assert any(asyncio.run(let_through(answer)) for answer in decisions)
