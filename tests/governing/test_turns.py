"""Governed turns through the service: what the machine says, on every backend, and no more than may be."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.governing.scene import Talk, on_the_machine, sayings_by_chance, settings_by_chance
from tests.pipeline.scene import Scene, scene
from tests.pipeline.test_backends import BACKENDS, place, scene_at  # noqa: F401 - a fixture
from tests.sizes import sized

from recollect.domain.address import ROOT
from recollect.domain.errors import Forbidden, IdempotencyMismatch, InvalidInput, InvalidRequest, NotFound
from recollect.domain.governance.traces import schema
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.service.governing import spaces

VALIDATOR = jsonschema_rs.Draft202012Validator(schema())


async def check_alike(here: Scene, seed: int, most: int = 12) -> None:
    """Have a conversation by chance, in a tenant of its own, and compare it with the same on the bare machine."""
    chance, tenant = random.Random(seed), f"t{seed}"
    settings, said = settings_by_chance(chance), sayings_by_chance(chance, most)
    talk = await Talk(here.root.for_tenant(tenant)).set(**settings)
    for text, tools, asked in said:
        await talk.say(text, tools, **asked)
    salt = (await here.root._workings.remembering.key(tenant)).hex()
    assert talk.events == on_the_machine(settings, said, salt), seed
    for event in talk.events:
        VALIDATOR.validate(event)


@sized(25, 1_000)
async def test_the_service_tells_what_the_machine_tells(count: int) -> None:
    async with scene() as here:
        for seed in range(count):
            await check_alike(here, seed)


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_every_backend_tells_what_the_machine_tells(place: tuple[str, Any]) -> None:  # noqa: F811
    async with scene_at(place) as here:
        # The server that stands for MongoDB in tests reads all that it keeps at every question.
        for seed in [100, 101, 102] if place[1].store is None else [103]:
            await check_alike(here, seed, most=4)


async def test_a_turn_at_once_tells_what_its_two_steps_tell() -> None:
    async with scene() as here:
        talk = await Talk(here.root).set(short_term=2, semantic=True, profile=True)
        other = Talk(here.root.for_tenant("other"), at_once=True)
        await other.set(short_term=2, semantic=True, profile=True)
        for text in ("My name is Ada.", "Remember this for me: I prefer tea.", "my password is 123"):
            done = await other.say(text)
            found = await talk.memories.recall_turn("anonymous", text, profile="assistant")
            made = await talk.memories.take_turn("anonymous", user=text, ai="ok", profile="assistant", recall=False)
            assert done["recalled"] == found["recalled"]
            assert done["written"] == made["written"]
            assert [each["type"] for each in done["events"]] == [
                each["type"] for each in (*found["events"], *made["events"])
            ]


async def test_everybody_has_sessions_of_their_own(here: Scene) -> None:
    for name in ("alice", "bob"):
        talk = Talk(here.as_user(name), session="chat", profile="default")
        await talk.say(f"My name is {name.title()}.")
        await talk.say("Remember this for me: I like tea.")
    done = await here.as_user("alice").take_turn("chat", user="tea?", ai="yes")
    told = {each["id"] for each in done["recalled"]["items"]}
    assert told
    assert all(each.split(":")[1] in ("alice/chat", "alice") for each in told)
    assert "Bob" not in str(done["recalled"])


async def test_nobody_takes_a_turn_in_another_s_name(here: Scene) -> None:
    with pytest.raises(Forbidden):
        await here.as_user("bob").take_turn("chat", user="I like tea.", ai="", identity={"id": "alice"})
    done = await here.admin.take_turn("chat", user="I like tea.", ai="", identity={"id": "alice"})
    assert done["written"][0]["id"] == "session:alice/chat:short_term:1"


async def test_what_a_policy_closes_stays_closed(here: Scene) -> None:
    member = here.as_user("carol", "project:apollo")
    await member.take_turn("c", user="Remember this for the project: We decided to ship.", ai="", project="apollo")
    done = await member.take_turn("c", user="ship", ai="", project="apollo")
    assert any(each["id"].startswith("project:apollo:") for each in done["recalled"]["items"])
    stranger = here.as_user("dave")
    done = await stranger.take_turn("d", user="ship", ai="", project="apollo")
    assert done["recalled"]["items"] == []
    borders = {each["from_space"]: each["allowed"] for each in done["events"] if each.get("action") == "read"}
    assert borders == {"session": True, "user": True, "project": False, "system": True}
    said = "Remember this for the project: We decided to wait."
    done = await stranger.take_turn("d", user=said, ai="", project="apollo")
    (kept_back,) = [each for each in done["events"] if each["type"] == "memory_promotion_denied"]
    assert (kept_back["to_space"], kept_back["reason"]) == ("project", "promotion_disallowed")


async def test_what_is_personal_is_not_kept_beyond_the_conversation_without_consent(here: Scene) -> None:
    done = await here.alice.take_turn("chat", user="I prefer my psychiatrist in Porto.", ai="ok")
    (denied,) = [each for each in done["events"] if each["type"] == "memory_denied"]
    assert (denied["reason"], denied["attempted"]["kind"], denied["attempted"]["text"]) == (
        "consent_missing",
        "semantic",
        "(redacted)",
    )
    assert {each["kind"] for each in done["written"]} == {"short_term"}


async def test_no_trace_tells_what_is_personal(here: Scene) -> None:
    for text in ("My email is eve@example.com", "We decided to mail eve@example.com", "I am pregnant."):
        await here.alice.take_turn("chat", user=text, ai="ok")
        await here.alice.recall(text)
    told = str(await here.alice.list_traces(limit=100))
    assert "eve@" not in told
    assert "pregnant" not in told
    assert (await here.alice.replay("chat"))["equal"]


async def test_what_was_reviewed_is_not_forgotten_by_a_profile(here: Scene) -> None:
    await here.say("I prefer concise updates.")
    before = await here.texts()
    await here.admin.put_profile("quick", {"semantic": True, "forget_policy": "decay"})
    for number in range(30):
        await here.alice.take_turn("chat", user=f"Hello {number}", ai="ok", profile="quick")
    assert await here.texts() == before == ["I prefer concise updates."]


async def test_a_repeated_turn_happens_once(here: Scene) -> None:
    first = await here.alice.take_turn("chat", user="I like tea.", ai="ok", idempotency_key="k1")
    again = await here.alice.take_turn("chat", user="I like tea.", ai="ok", idempotency_key="k1")
    assert again == first | {"replayed": True}
    with pytest.raises(IdempotencyMismatch):
        await here.alice.take_turn("chat", user="I like coffee.", ai="ok", idempotency_key="k1")
    assert (await here.alice.take_turn("chat", user="I like coffee.", ai="ok"))["turn"] == 2


async def test_profiles_have_versions(here: Scene) -> None:
    assert (await here.alice.get_profile("default"))["version"] == 0
    one = await here.admin.put_profile("mine", {"short_term": 2})
    two = await here.admin.put_profile("mine", {"short_term": 4, "deny_patterns": ["project x"]}, expected_version=1)
    assert (one["version"], two["version"]) == (1, 2)
    assert (await here.alice.get_profile("mine", version=1))["settings"]["short_term"] == 2
    assert "project x" in (await here.alice.get_profile("mine"))["contract"]["privacy"]["deny_patterns"]
    assert [each["name"] for each in (await here.alice.list_profiles())["profiles"]] == ["default", "mine"]
    with pytest.raises(Forbidden):
        await here.alice.put_profile("mine", {"short_term": 9})
    with pytest.raises(NotFound):
        await here.alice.take_turn("chat", user="hi", ai="", profile="nobody")


@pytest.mark.parametrize(
    "settings",
    [{"short_term": -1}, {"short_term": True}, {"nonsense": 1}, {"write_policy": "all"}, {"retention": {"x": {}}}],
)
async def test_settings_that_are_none_are_refused(here: Scene, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await here.admin.put_profile("mine", settings)


@pytest.mark.parametrize(
    "given",
    [{"user": 7}, {"user": "a\x00b"}, {"tool_events": "x"}, {"state": 3}, {"recall": "yes"}, {"profile": "../x"}],
)
async def test_turns_that_are_none_are_refused(here: Scene, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await here.alice.take_turn("chat", **({"user": "hi", "ai": "ho"} | given))


@pytest.mark.parametrize("word", ["a\x00b", "\ud800", "x" * 1_025])
@pytest.mark.parametrize("name", ["token", "name", "reason", "diff_from", "diff_to", "diff_space"])
async def test_a_phase_is_asked_for_in_words_that_can_be_kept(here: Scene, name: str, word: str) -> None:
    state = {"_memory_phase_token": "t", "_memory_phase_diff_from": "phase-1", "_memory_phase_diff_to": "phase-2"}
    with pytest.raises(InvalidInput):
        await here.alice.take_turn("chat", user="hi", state=state | {f"_memory_phase_{name}": word})


async def test_no_secret_is_kept_of_a_phase(here: Scene) -> None:
    asked = {"token": "password hunter2", "name": "my password is hunter2", "reason": "the password is hunter2"}
    state = {f"_memory_phase_{name}": word for name, word in asked.items()}
    first = await here.alice.take_turn("chat", user="I prefer tea.", ai="ok", state=state)
    await here.alice.take_turn("chat", user="I prefer coffee.", ai="ok", state=state)
    began = await here.alice.start_phase(asked["token"], name=asked["name"], reason=asked["reason"])
    assert (await here.alice.start_phase(asked["token"]))["began"] is False
    meta = first["written"][0]["meta"]
    assert (meta["phase_id"], meta["phase_name"], meta["phase_reason"]) == ("phase-1", "(redacted)", "(redacted)")
    assert (began["phase"]["phase_name"], began["phase"]["phase_reason"]) == ("(redacted)", "(redacted)")
    again = await here.alice.recall_turn("chat", "tea", state=state)
    assert again["events"][0]["current_phase"]["phase_id"] == "phase-1"
    store, kept = here.root._workings.store, []
    for plane in Plane:
        page = await store.find("tenant_acme_prod", Find(plane, ROOT, order=Order.KEY, limit=1_000))
        kept += [row.value for row in page.rows if row.value is not None]
    assert kept
    assert not any(b"hunter2" in each for each in kept)
    assert (await here.alice.replay("chat"))["equal"]


async def test_a_turn_leads_back_to_its_captures(here: Scene) -> None:
    done = await here.alice.take_turn("chat", user="I prefer tea.", ai="Noted.")
    capture = await here.alice.get_capture(done["captures"][0])
    assert capture["text"] == "I prefer tea."
    ids = [each["record_id"] for each in capture["remembered"]]
    assert "session:alice/chat:semantic:1" in ids
    record = await here.alice.get_record("session:alice/chat:semantic:1")
    assert (record["captures"], record["rule"]) == ([done["captures"][0]], "profile:default@0")


async def test_what_is_gone_is_not_recalled_by_the_next_turn(here: Scene) -> None:
    for text in ("I prefer green tea.", "I prefer long walks."):
        await here.say(text)
    done = await here.alice.take_turn("chat", user="tea", ai="ok")
    assert sum(each["id"].startswith("user:") for each in done["recalled"]["items"]) == 2
    records = (await here.alice.list_records())["records"]
    await here.alice.retract_record(records[0]["id"])
    done = await here.alice.take_turn("chat", user="tea", ai="ok")
    assert [each["id"] for each in done["recalled"]["items"] if each["id"].startswith("user:")] == [records[1]["id"]]
    await here.admin.erase("user:alice")
    done = await here.alice.take_turn("chat", user="tea", ai="ok")
    assert done["recalled"]["items"] == []


async def test_spaces_that_were_not_used_lately_are_let_go(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "_MOST_RECORDS", 12)
    for number in range(8):
        await here.as_user(f"u{number}").take_turn("chat", user="I prefer tea.", ai="ok")
    opened = here.root._workings.spaces
    assert opened._held == sum(each.held for each in opened._open.values()) <= 12 + 4
    done = await here.as_user("u0").take_turn("chat", user="tea", ai="ok")
    assert any(each["text"] == "I prefer tea." for each in done["recalled"]["items"])


@sized(12, 200)
async def test_turns_of_one_session_at_once_lose_nothing(count: int, tmp_path: Path) -> None:
    async with scene(str(tmp_path)) as here:
        said = [here.alice.take_turn("chat", user=f"I prefer tea number {n}.", ai="ok") for n in range(count)]
        done = await asyncio.gather(*said)
        assert sorted(each["turn"] for each in done) == list(range(1, count + 1))
        told = await here.alice.replay("chat")
        assert (told["equal"], told["turns"]) == (True, count)
