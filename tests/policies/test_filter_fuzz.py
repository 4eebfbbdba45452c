"""Whatever a policy says and whatever is asked: nothing outside of both is shown, and all that lies in both is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.policies.scopes import SEGMENTS, Asked, Chance, Segments, Written
from tests.sizes import sized

from recollect import Settings
from recollect.backends.rego import RegoEngine, pool, shipped_bundle
from recollect.domain.bundles import bundle_of
from recollect.domain.callers import Caller, local_caller, new_caller
from recollect.domain.errors import InvalidInput, PolicyTrouble
from recollect.domain.filters import Filter, matches, parse_filter
from recollect.domain.queries import fixed_prefix, matches_patterns
from recollect.main import compose
from recollect.ports.policy import Decision, Narrowed, Policy, Review
from recollect.service import guard
from recollect.service.guard import Always, View
from recollect.service.memories import Memories
from recollect.sync import MemoriesSync
from recollect.testing.doubles import ManualClock

ITEMS = 150


class Scripted(Policy):
    """Opens what it is told to; and extracts what is written as `plain`."""

    def __init__(self) -> None:
        self.narrowed = Narrowed(())

    async def authorize(self, *_: Any, **__: Any) -> Decision:
        return Decision(True)

    async def attributes(self, *memory: Any, **__: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = memory[2]["plain"]
        return found

    async def narrow(self, *_: Any, **__: Any) -> Narrowed:
        return self.narrowed

    async def review(self, *_: Any, **__: Any) -> Review:
        raise AssertionError("nothing is proposed here")


# -- what must come of it


def within(prefix: Segments, place: Segments) -> bool:
    return len(place) >= len(prefix) and all(one == other for one, other in zip(prefix, place, strict=False))


def filter_of(text: Mapping[str, Any] | None) -> Filter | None:
    try:
        return parse_filter(text)
    except InvalidInput:
        return None


def expected(
    asked: Segments, wish: Mapping[str, Any] | None, opened: Narrowed
) -> Callable[[Written], bool] | type[Exception]:
    """Which of all versions are to be shown; or what is to be said instead."""
    theirs, ours = filter_of(wish), filter_of(opened.filter)
    if theirs is None:
        return InvalidInput
    if opened is NO_ANSWER or (len(opened.prefix) < len(asked) and within(opened.prefix, asked)):
        return PolicyTrouble
    if not within(asked, opened.prefix):
        return lambda _: False
    if ours is None:
        return PolicyTrouble
    return lambda each: (
        within(asked, each.namespace)
        and within(opened.prefix, each.namespace)
        and matches(theirs, each.plain)
        and matches(ours, each.plain)
    )


def shown(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except (InvalidInput, PolicyTrouble) as problem:
        return InvalidInput if isinstance(problem, InvalidInput) else PolicyTrouble


def chosen(versions: Sequence[Written], wanted: Callable[[Written], bool] | type[Exception]) -> Any:
    return wanted if isinstance(wanted, type) else [each for each in versions if wanted(each)]


def discrepancies(
    memories: MemoriesSync, log: Sequence[Written], asked: Asked, opened: Callable[[Segments], Narrowed]
) -> list[str]:
    """Where a search, a listing and the log show anything but what lies both in what is asked and what is opened."""
    found: list[str] = []

    def compare(what: str, here: Any, there: Any) -> None:
        if here != there:
            found.append(f"{what}: {asked} by {opened(asked.prefix)}: {here} instead of {there}")

    scope = opened(asked.prefix)
    live = [each for each in log if each.live]
    hits = chosen(live, expected(asked.prefix, asked.filter, scope))
    wanted = hits if isinstance(hits, type) else sorted((each.namespace, each.key) for each in hits)
    compare("search", shown(lambda: sorted(_searched(memories, asked))), wanted)
    past = chosen(log, expected(asked.prefix, None, scope))
    wanted = past if isinstance(past, type) else [(each.namespace, each.key) for each in past]
    compare("events", shown(lambda: _told(memories, asked)), wanted)
    start = fixed_prefix(asked.pattern)
    places = chosen(live, expected(start, None, opened(start)))
    if not isinstance(places, type):
        spots = {each.namespace for each in places}
        places = sorted(spot for spot in spots if matches_patterns(spot, asked.pattern, asked.suffix))
    listed = shown(lambda: sorted(memories.list_namespaces(prefix=asked.pattern, suffix=asked.suffix, limit=1_000)))
    compare("namespaces", listed, places)
    return found


def _searched(memories: MemoriesSync, asked: Asked) -> Iterator[tuple[Segments, str]]:
    cursor: str | None = None
    for _ in range(ITEMS + 1):
        page = memories.search(asked.prefix, filter=asked.filter, order=asked.order, limit=asked.limit, cursor=cursor)
        yield from ((item.namespace, item.key) for item in page.items)
        cursor = page.cursor
        if cursor is None:
            return
    raise AssertionError("the search has no end")


def _told(memories: MemoriesSync, asked: Asked) -> list[tuple[Segments, str]]:
    told: list[tuple[Segments, str]] = []
    after: str | None = None
    for _ in range(3 * ITEMS):
        page = memories.events(asked.prefix, after=after, limit=max(asked.limit, 20))
        told += [(each.namespace, each.key) for each in page.events]
        after = page.cursor
        if page.complete:
            return told
    raise AssertionError("the log has no end")


# -- the scene: one store with many items


@dataclass
class Scene:
    """Memories behind a policy, and all that was ever written to them."""

    memories: Memories
    log: list[Written]

    def by(self, policy: Policy, caller: Caller) -> MemoriesSync:
        self.memories.workings.guard.policies = Always(policy)
        return MemoriesSync(self.memories.for_caller(caller))


@contextmanager
def scene(place: str | Path, seed: int) -> Iterator[Scene]:
    workings = compose(place, Settings(), direct=True)
    workings.guard.policies = Always(Scripted())
    memories = Memories(workings, local_caller("t"))
    writer, chance, log = MemoriesSync(memories), Chance(seed), list[Written]()
    for number in range(ITEMS):
        spot, key, plain = chance.segments(1, 4), f"k{number % 7}", chance.plain()
        log = [Written(e.namespace, e.key, e.plain, e.live and (e.namespace, e.key) != (spot, key)) for e in log]
        log.append(Written(spot, key, plain, live=True))
        writer.put(spot, key, {"plain": plain})
    try:
        yield Scene(memories, log)
    finally:
        writer.close()


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return ":memory:" if request.param == "memory" else tmp_path / "data"


def named(place: str | Path) -> str:
    return "sqlite" if isinstance(place, Path) else "memory"


def run(there: Scene, count: int, seed: int) -> tuple[list[str], int]:
    """What went wrong in so many cases, and in how many of them anything was shown at all."""
    policy, chance, wrong, shows = Scripted(), Chance(seed), list[str](), 0
    memories = there.by(policy, new_caller("t", "alice"))
    for _ in range(count):
        asked = chance.asked()
        policy.narrowed = chance.narrowed(asked.prefix)
        wrong += discrepancies(memories, there.log, asked, lambda _: policy.narrowed)
        shows += bool(chosen(there.log, expected(asked.prefix, asked.filter, policy.narrowed)))
    return wrong, shows


@sized(small=300, full=10_000)
def test_only_what_lies_in_both_is_shown_and_all_of_it(place: str | Path, count: int) -> None:
    with scene(place, seed=count) as there:
        wrong, shows = run(there, count, seed=count + 1)
    print(f"filters on {named(place)}: {count:,} cases, {shows:,} of which show something, {len(wrong)} wrong")
    assert wrong == []
    assert shows > count // 10, "hardly anything was to be shown"


# -- bugs that must be caught


def _the_policys_prefix(asked: Segments, opened: Segments) -> Segments | None:
    return opened


def _the_callers_prefix(asked: Segments, opened: Segments) -> Segments | None:
    return asked if opened[: len(asked)] == asked or asked[: len(opened)] == opened else None


def _by_text(asked: Segments, opened: Segments) -> Segments | None:
    if "/".join(opened).startswith("/".join(asked)):
        return opened
    if "/".join(asked).startswith("/".join(opened)):
        raise PolicyTrouble("wider")
    return None


def _wider_becomes_asked(asked: Segments, opened: Segments) -> Segments | None:
    return opened if opened[: len(asked)] == asked else asked if asked[: len(opened)] == opened else None


@pytest.mark.parametrize("planted", [_the_policys_prefix, _the_callers_prefix, _by_text, _wider_becomes_asked])
def test_a_guard_with_another_idea_of_both_is_caught(
    place: str | Path, planted: Callable[[Segments, Segments], Segments | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with scene(place, seed=300) as there:
        monkeypatch.setattr(guard, "_both", planted)
        assert run(there, 300, seed=301)[0]


@pytest.mark.parametrize("left", [0, 1], ids=["the caller's filter is lost", "the policy's filter is lost"])
def test_a_guard_that_loses_a_filter_is_caught(place: str | Path, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "and_", lambda self, other: (other, self)[left])
    with scene(place, seed=300) as there:
        assert run(there, 300, seed=301)[0]


def test_a_guard_that_merges_filters_by_name_is_caught(place: str | Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a map would: of two conditions on one name, the policy's replaces the caller's."""

    def merged(self: Filter, other: Filter) -> Filter:
        names = {each.name for each in other.conditions}
        return Filter(tuple(each for each in self.conditions if each.name not in names) + other.conditions)

    monkeypatch.setattr(Filter, "and_", merged)
    with scene(place, seed=300) as there:
        assert run(there, 300, seed=301)[0]


# -- real Rego, made at random


@dataclass(frozen=True)
class Opening:
    """What a rule opens: as Rego, and what it means."""

    text: str
    meaning: Callable[[Segments, Caller], Segments | None]


OPENINGS = (
    Opening("input.namespace_prefix", lambda asked, _: asked),
    Opening('["user", input.context.user_id]', lambda _, caller: ("user", caller.user_id)),
    Opening("[]", lambda *_: ()),
    Opening('["a"]', lambda *_: ("a",)),
    Opening('["a", "ab"]', lambda *_: ("a", "ab")),
    Opening("[input.namespace_prefix[0]]", lambda asked, _: asked[:1] or None),
    Opening('[input.namespace_prefix[0], "ab"]', lambda asked, _: (*asked[:1], "ab") if asked else None),
    Opening("[segment | some segment in input.namespace_prefix]", lambda asked, _: asked),
)
CONDITIONS: dict[str, Callable[[Segments, Caller, str], bool]] = {
    "input.namespace_prefix[0] == {}": lambda asked, _, root: asked[:1] == (root,),
    '"admin" in input.context.roles': lambda _, caller, __: caller.is_admin,
    "count(input.namespace_prefix) == 2": lambda asked, _, __: len(asked) == 2,
}


NO_ANSWER = Narrowed(("",), {"$nothing": 1})
"""Stands for a rule that says nothing: whatever is asked, that is the policy's trouble."""


@dataclass(frozen=True)
class Ruled:
    """A filter policy in Rego, and what it must say."""

    text: str
    says: Callable[[Segments, Caller], Narrowed | None]


def ruled(chance: Chance) -> Ruled:
    """A policy that opens one thing when a condition holds, and another when it does not."""
    one, other = chance.random.choice(OPENINGS), chance.random.choice(OPENINGS)
    root = chance.random.choice(SEGMENTS[:3])
    condition, holds = chance.random.choice(list(CONDITIONS.items()))
    first, second = chance.filter(sound=True), chance.filter(sound=True)
    text = f"""package memories.filter

import rego.v1

first if {condition.format(_rego(root))}

namespace_prefix := {one.text} if first

namespace_prefix := {other.text} if not first

attribute_filter := {_rego(first)} if first

attribute_filter := {_rego(second)} if not first
"""

    def says(asked: Segments, caller: Caller) -> Narrowed | None:
        chosen, attributes = (one, first) if holds(asked, caller, root) else (other, second)
        prefix = chosen.meaning(asked, caller)
        return None if prefix is None else Narrowed(prefix, attributes)

    return Ruled(text, says)


def _said(rule: Ruled, caller: Caller, prefix: Segments) -> Narrowed:
    return rule.says(prefix, caller) or NO_ANSWER


def _rego(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_rego(name)}: {_rego(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_rego, value)) + "]"
    return (
        {True: "true", False: "false"}[value]
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else repr(value)
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[RegoEngine]:
    """Decides without a limit that a busy machine might reach: what is found is looked at here, not how fast."""
    engine = RegoEngine(shipped_bundle(), clock=ManualClock(), direct=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "EVALUATION_SECONDS", 1.0)
        yield engine
    asyncio.run(engine.close())


@sized(small=8, full=300)
def test_policies_of_random_rego_open_only_what_they_say(engine: RegoEngine, place: str | Path, count: int) -> None:
    chance, wrong, shows = Chance(count), list[str](), 0
    callers = [new_caller("t", "alice"), new_caller("t", "a"), new_caller("t", "bob", roles=["admin"])]
    with scene(place, seed=count) as there:
        for _ in range(count):
            rule = ruled(chance)
            policy = asyncio.run(engine.policy(bundle_of({"filter.rego": rule.text})))
            for number in range(24):
                caller, asked = callers[number % 3], chance.asked()
                says = partial(_said, rule, caller)
                wrong += discrepancies(there.by(policy, caller), there.log, asked, says)
                shows += bool(chosen(there.log, expected(asked.prefix, asked.filter, says(asked.prefix))))
    print(f"policies of Rego on {named(place)}: {count:,}, {count * 24:,} cases, {shows:,} show something")
    assert wrong == []
    assert shows > count


# -- answers that are no scope


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "user",
        ("user", "alice"),
        Narrowed("user"),  # type: ignore[arg-type]
        Narrowed(["user"]),  # type: ignore[arg-type]
        Narrowed(("user", "")),
        Narrowed(("user", 1)),  # type: ignore[arg-type]
        Narrowed(("user", "\x00")),
        Narrowed(("user", "\ud800")),
        Narrowed(("user",) * 65),
        Narrowed(("user",), "all"),  # type: ignore[arg-type]
        Narrowed(("user",), {"topic": {"$regex": ".*"}}),
        Narrowed(("user",), {"": 1}),
        View(("user",), Filter()),
    ],
    ids=lambda answer: repr(answer)[:40],
)
def test_an_answer_that_is_no_scope_shows_nothing(place: str | Path, answer: Any) -> None:
    with scene(place, seed=1) as there:
        policy = Scripted()
        policy.narrowed = answer
        memories = there.by(policy, new_caller("t", "alice"))
        calls: list[Callable[[], Any]] = [
            lambda: memories.search(("user",)),
            lambda: memories.list_namespaces(prefix=("user",)),
            lambda: memories.events(("user",)),
        ]
        for call in calls:
            with pytest.raises(PolicyTrouble):
                call()


def test_what_is_only_to_be_searched_is_not_opened_for_more() -> None:
    """The narrowing is asked with the caller's own words, whatever was asked before."""
    told: list[tuple[Segments, Any]] = []

    class Listening(Scripted):
        async def narrow(self, *asked: Any, **__: Any) -> Narrowed:
            told.append((tuple(asked[1]), asked[2]))
            return Narrowed(tuple(asked[1]))

        async def authorize(self, *_: Any, **__: Any) -> Decision:
            return Decision(False)

    with scene(":memory:", seed=1) as there:
        memories = there.by(Listening(), new_caller("t", "alice"))
        memories.search(("a",), filter={"topic": "tea"})
        memories.list_namespaces(prefix=("a", "*"))
        memories.events(("a", "ab"))
    assert told == [(("a",), {"topic": "tea"}), (("a",), None), (("a", "ab"), None)]
