"""The machine: pure, replayable, and in step with the changes that it tells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.governance.rows import item
from tests.governance.scenes import Scene
from tests.sizes import sized

from recollect.domain.errors import InvalidInput
from recollect.domain.governance.ids import Owners, other_spelling, owners_of
from recollect.domain.governance.items import Item, rank_of, read_item
from recollect.domain.governance.ledger import Begin, Change, Drop, Put, State
from recollect.domain.governance.machine import Call, Turn, recall, record
from recollect.domain.governance.phases import Member, Snapshot, closed, compared, diff_request_in, request_in
from recollect.domain.governance.plain import plain
from recollect.domain.governance.policy import Settings, contract_of
from recollect.domain.governance.recalling import scored
from recollect.domain.governance.spaces import PromotionRequest, requested, root_of
from recollect.domain.governance.terms import ForgetPolicy, Kind, Space, WritePolicy
from recollect.domain.governance.traces import as_json

WORDS = [
    "Hello",
    "My name is Ada.",
    "My name is Ada Lovelace.",
    "Actually, my name is Grace.",
    "my password is 123",
    "I like tea.",
    "I like TEA!",
    "Remember this for me: I like tea.",
    "Remember this for me: my name is Ada.",
    "Remember this for the project: We decided to ship.",
    "Remember this for everyone: I like tea.",
    "We decided to use Postgres",
    "我叫李雷。",
    "👍",
    "",
    "  ",
]


def conversation(chance: random.Random) -> Scene:
    """A conversation by chance, under settings by chance."""
    settings = Settings(
        short_term=chance.choice([0, 1, 2, 5]),
        semantic=chance.random() < 0.7,
        profile=chance.random() < 0.7,
        write_policy=chance.choice(list(WritePolicy)),
        forget_policy=chance.choice(list(ForgetPolicy)),
        dedupe_enabled=chance.random() < 0.8,
        allow_cross_phase_recall=chance.random() < 0.3,
        phase_enabled=chance.random() < 0.8,
        phase_max_phases=chance.choice([None, None, 1, 2]),
    )
    scene = Scene(settings)
    for _ in range(chance.randint(1, 12)):
        asked: dict[str, object] = {}
        if chance.random() < 0.2:
            asked["phase_token"] = chance.choice("abc")
        if chance.random() < 0.2:
            asked |= {"phase_diff_from": "phase-1", "phase_diff_to": f"phase-{chance.randint(1, 3)}"}
        scene.say(chance.choice(WORDS), [{"tool": chance.randint(1, 2)}] if chance.random() < 0.2 else [], **asked)
    return scene


def applied(before: State, changes: Sequence[Change]) -> dict[str, dict[str, Item]]:
    """What the stores hold when the changes are carried out one by one."""
    held = {key: {each.id: each for each in store.items} for key, store in before.stores.items()}
    for change in changes:
        store = held.setdefault(change.store_key, {})
        if isinstance(change, Put):
            store[change.item.id] = change.item
        elif isinstance(change, Drop):
            store.pop(change.item.id, None)
    return held


def flaws(scene: Scene) -> list[str]:
    """What is not as it should be after a conversation."""
    found: list[str] = []
    state, made = State(), set()
    for recalled, recorded in zip(scene.recalled, scene.recorded, strict=True):
        for step in (recalled, recorded):
            if applied(state, step.changes) != applied(step.state, ()):
                found.append("the changes do not lead to the state")
            new = [each.item for each in step.changes if isinstance(each, Put) and each.item.meta.expires_at is None]
            made |= {(each.created_at, each.id) for each in new}
            began = [each for each in step.changes if isinstance(each, Begin)]
            made |= {(each.phase.started_at, f"{each.store_key}:{each.phase.id}") for each in began}
            if step.state.numbering.tick < state.numbering.tick:
                found.append("the clock ran backwards")
            state = step.state
    ticks = [tick for tick, _ in made]
    if len(set(ticks)) != len(ticks):
        found.append("two things happened at one tick")
    for store in state.stores.values():
        over = [each.id for each in store.phases[:-1]]
        if [each.phase_id for each in store.snapshots] != over[len(over) - len(store.snapshots) :]:
            found.append("a phase that is over is not remembered")
        keys = [each.meta.key for each in store.items if each.kind is Kind.PROFILE]
        if len(set(keys)) != len(keys):
            found.append("a fact has two values")
    return found


@sized(60, 3_000)
def test_conversations_by_chance_leave_everything_in_order(count: int) -> None:
    for seed in range(count):
        assert flaws(conversation(random.Random(seed))) == []


@sized(20, 500)
def test_a_conversation_replayed_is_told_byte_for_byte_alike(count: int) -> None:
    for seed in range(count):
        one, other = (conversation(random.Random(seed)) for _ in range(2))
        assert msgspec.json.encode(one.traces()) == msgspec.json.encode(other.traces())
        assert one.state == other.state


def test_a_change_that_is_not_told_is_caught() -> None:
    scene = Scene(Settings(short_term=5))
    done = scene.say("Hello")
    assert flaws(scene) == []
    scene.recorded[-1] = msgspec.structs.replace(done, changes=done.changes[:-1])
    assert flaws(scene) == ["the changes do not lead to the state"]
    store = done.state.stores["session:anonymous"]
    strange = {"session:anonymous": msgspec.structs.replace(store, snapshots=(Snapshot("phase-9"),))}
    scene.recorded[-1] = msgspec.structs.replace(done, state=State(done.state.numbering, strange))
    assert "a phase that is over is not remembered" in flaws(scene)
    early = msgspec.structs.replace(done.changes[-1].item, created_at=2)  # type: ignore[union-attr]
    twice = (*done.changes[:-1], Put("session:anonymous", early))
    scene.recorded[-1] = msgspec.structs.replace(done, changes=twice)
    assert "two things happened at one tick" in flaws(scene)


def test_a_step_leaves_the_state_it_was_given_as_it_was() -> None:
    call = Call(ai_profile="a", settings=Settings(short_term=1, semantic=True, profile=True))
    state = State()
    for text in ("My name is Ada.", "I like tea.", "My name is Grace."):
        before = msgspec.json.encode(state)
        found = recall(state, call, text)
        done = record(found.state, call, Turn(user=text, ai="ok"))
        assert msgspec.json.encode(state) == before
        state = done.state


def test_owners_have_stores_of_their_own() -> None:
    ada, bob = (
        Call(ai_profile="a", settings=Settings(short_term=3, profile=True), owners=Owners(session=owner))
        for owner in ("ada", "bob")
    )
    state = record(State(), ada, Turn(user="My name is ada.", ai="ok")).state
    state = record(state, bob, Turn(user="My name is bob.", ai="ok")).state
    found = recall(state, bob, "name")
    assert {each.text for each in found.context.profile} == {"bob"}
    assert {each.id for each in found.context.items()} == {
        "session:bob:short_term:1",
        "session:bob:short_term:2",
        "session:bob:profile:1",
    }
    assert found.state.numbering.tick == 8  # one clock for all


def test_the_summary_of_a_summary_names_all_that_came_before() -> None:
    scene = Scene(Settings(short_term=2))
    for text in ("one", "two", "three"):
        scene.say(text)
    summary = scene.recorded[-1].written[-1]
    assert summary.meta.summary_of == tuple(f"session:anonymous:short_term:{n}" for n in (1, 2, 3, 4))
    assert summary.text.startswith("Earlier: user: one | ai: [mock-model] one")
    gone = [(each["memory_id"], each["reason"]) for each in scene.told("memory_deleted")]
    assert gone[2:] == [
        ("session:anonymous:short_term:5", "superseded"),
        ("session:anonymous:short_term:3", "expired"),
        ("session:anonymous:short_term:4", "expired"),
    ]
    assert [each.is_summary for each in recall(scene.state, scene.call, "x").context.short_term] == [True, False, False]


def test_scores_are_whole_numbers_that_add_up() -> None:
    old = item(1, text="Ada likes tea", importance=4)
    for query, newest, expected in (
        ("likes TEA", 1, (2, 2, 2)),
        ("tea time", 3, (1, 2, 2)),
        ("coffee", 4, (0, 1, 2)),
        ("", 6, (0, 1, 2)),
        ("coffee", 7, (0, 0, 2)),
    ):
        assert scored(old, query, newest) == expected
    assert scored(item(1, importance=2), "", 99).importance == 1
    assert scored(item(1, importance=1), "", 99).reasons == ("active_rule",)
    assert scored(old, "tea", 1).reasons == ("matches_query", "recency", "importance")


def test_the_best_are_recalled_and_then_the_newest() -> None:
    scene = Scene(Settings(semantic=True))
    for text in ("I like tea", "I like milk", "I like rum", "I like oats"):
        scene.say(text)
    found = recall(scene.state, scene.call, "milk").context.semantic
    assert [(each.text, each.meta.score) for each in found] == [
        ("I like oats", 4),
        ("I like milk", 4),
        ("I like rum", 3),
    ]
    found = recall(scene.state, scene.call, "I like milk, and tea, or rum").context.semantic
    assert [(each.text, each.meta.score) for each in found] == [
        ("I like oats", 5),
        ("I like rum", 4),
        ("I like milk", 3),
    ]


# -- phases


def test_a_diff_counts_what_is_gone_what_is_new_and_what_took_its_place() -> None:
    old = [Member(f"s:a:semantic:{n}", Kind.SEMANTIC, key) for n, key in ((1, "k"), (2, "k"), (9, "x"), (3, "kept"))]
    new = [
        Member(f"s:a:semantic:{n}", Kind.SEMANTIC, key) for n, key in ((4, "k"), (10, "y"), (3, "kept"), (5, "kept"))
    ]
    diff = compared([Snapshot("phase-1", tuple(old)), Snapshot("phase-2", tuple(new))], "phase-1", "phase-2")
    assert [(pair.before.id[-1], pair.after.id[-1]) for pair in diff.replaced] == [("1", "4")]
    assert [each.id for each in diff.added] == ["s:a:semantic:5", "s:a:semantic:10"]
    assert [each.id for each in diff.deleted] == ["s:a:semantic:2", "s:a:semantic:9"]
    assert len(new) - len(old) == len(diff.added) - len(diff.deleted)
    assert [each["change"] for each in diff.top_changes()] == ["replaced", "added", "added", "deleted", "deleted"]


def test_a_diff_shows_eight_changes_at_most_and_nothing_of_unknown_phases() -> None:
    many = Snapshot("phase-2", tuple(Member(f"s:a:semantic:{n}", Kind.SEMANTIC) for n in range(1, 21)))
    diff = compared([Snapshot("phase-1"), many], "phase-1", "phase-2")
    assert [each["memory_id"] for each in diff.top_changes()] == [f"s:a:semantic:{n}" for n in range(1, 9)]
    assert diff.summary_lines() == ["Added 20 items", "Deleted 0 items", "Replaced 0 items"]
    assert compared([many], "phase-1", "phase-2") == ((), (), ())


def test_only_snapshots_are_trimmed() -> None:
    snapshots: tuple[Snapshot, ...] = ()
    for number in range(1, 5):
        snapshots = closed(snapshots, Snapshot(f"phase-{number}"), 3)
    assert [each.phase_id for each in snapshots] == ["phase-3", "phase-4"]  # and phase-5, which begins
    scene = Scene(Settings(short_term=9, phase_max_phases=1))
    for token in "abc":
        scene.say("Hello", phase_token=token)
    store = scene.state.store("session:anonymous")
    assert (len(store.snapshots), len(store.phases), len(store.items)) == (0, 3, 6)


def test_requests_are_read_from_the_caller_s_state() -> None:
    assert request_in({}) is None
    assert request_in({"_memory_phase_token": " "}) is None
    assert request_in({"_memory_phase_token": 7, "_memory_phase_name": "n"}) == ("7", "n", None)
    assert diff_request_in({"_memory_phase_diff_from": "a"}) is None
    asked = {"_memory_phase_diff_from": "a", "_memory_phase_diff_to": "b"}
    assert diff_request_in(asked) == ("a", "b", Space.SESSION)
    assert diff_request_in(asked | {"_memory_phase_diff_space": "user"}) == ("a", "b", Space.USER)
    with pytest.raises(InvalidInput, match="not a space"):
        diff_request_in(asked | {"_memory_phase_diff_space": "moon"})


# -- spaces


def test_spaces_that_are_not_read_are_not_recalled() -> None:
    contract = contract_of(Settings())
    nothing = msgspec.structs.replace(contract.spaces, read_order=())
    call = Call(
        ai_profile="a",
        settings=Settings(short_term=2),
        contract=msgspec.structs.replace(contract, spaces=nothing),
    )
    state = record(State(), call, Turn(user="Hello", ai="Hi")).state
    found = recall(state, call, "Hello")
    assert found.context.items() == ()
    shown = as_json(found.traces[0])
    assert (shown["spaces_consulted"], shown["recall_counts"]) == (["session"], {"session": 0})
    assert as_json(found.traces[1])["reason"] == "space_disabled"


def test_every_space_has_a_namespace_of_its_own() -> None:
    roots = {str(space): root_of(space, user="a:b", session="s", project="p").segments for space in Space}
    assert roots == {
        "session": ("user", "a:b", "session", "s"),
        "user": ("user", "a:b"),
        "project": ("project", "p"),
        "system": ("system",),
    }


def test_an_item_may_name_the_space_it_is_for() -> None:
    asked = PromotionRequest(Space.USER, "meta:promotion_target")
    assert requested(item(1, promotion_target=Space.USER, space=Space.SESSION)) == asked
    assert requested(item(1, promotion_target=Space.SESSION, space=Space.SESSION)) is None
    assert requested(item(1, promotion_target=Space.USER, promoted_from="x")) is None
    assert requested(item(1, kind=Kind.SHORT_TERM, promotion_target=Space.USER)) is None


# -- items and ids


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": 7},
        {"kind": "episodic"},
        {"text": None},
        {"source": ""},
        {"created_at": -1},
        {"created_at": True},
        {"created_at": 1.5},
        {"importance": True},
        {"importance": "high"},
        {"scope": "user"},
        {"meta": []},
        {"meta": {"surprise": 1}},
        {"surprise": 1},
    ],
)
def test_what_is_no_item_is_refused(wrong: dict[str, Any]) -> None:
    right = {"id": "a", "kind": "semantic", "text": "", "source": "user", "created_at": 0, "importance": 1.5}
    assert read_item(right).scope == "session"
    assert read_item(right | {"meta": None}).meta == read_item(right).meta
    with pytest.raises(InvalidInput):
        read_item(right | wrong)


def test_ids_are_ordered_by_number() -> None:
    ids = ["s:a:semantic:10", "s:a:semantic:9", "s:a:profile:11", "x"]
    assert sorted(ids, key=rank_of) == ["s:a:profile:11", "s:a:semantic:9", "s:a:semantic:10", "x"]


def test_owners_come_from_state_and_identity() -> None:
    assert owners_of() == Owners("anonymous", "anonymous", "unknown", "system")
    state = {"user": {"id": "Ada L"}}
    assert owners_of(state=state) == Owners("Ada_L", "Ada_L", "unknown", "system")
    assert owners_of(state=state, identity={"user_id": "u:1"}).user == "u_1"
    assert owners_of(identity={"id": "a", "user_id": "b"}) == Owners("anonymous", "a", "unknown", "system")
    assert owners_of(state={"user": "ada"}).session == "anonymous"


def test_the_other_spelling_of_an_id_is_one_of_its_own() -> None:
    one = other_spelling("t", "session:a:semantic:1")
    assert one == other_spelling("t", "session:a:semantic:1")
    assert len({one, other_spelling("t", "session:a:semantic:2"), other_spelling("u", "session:a:semantic:1")}) == 3
    assert one.startswith("mem-")
    assert one[18] == "5"


def test_a_trace_in_the_plain_view_has_no_brackets() -> None:
    scene = Scene(Settings(short_term=2))
    scene.say("Hello")
    for trace in scene.traces():
        shown = plain(as_json(trace))
        assert all(each not in shown for each in "{}()")
        assert f"type: {as_json(trace)['type']}" in shown.splitlines()
