"""Entities in a store: whom a user speaks of, merged and parted at once on every card, and gone with the user."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.pipeline.scene import TENANT, Scene, scene
from tests.pipeline.test_backends import BACKENDS, place, scene_at  # noqa: F401 - a fixture
from tests.pipeline.test_consents import promoted
from tests.sizes import sized

from recollect import Memories
from recollect.domain.address import Address
from recollect.domain.callers import new_caller
from recollect.domain.conversation.cards import cards
from recollect.domain.entities.registry import Registry
from recollect.domain.errors import Conflict, Forbidden, InvalidInput, InvalidRequest, NotFound
from recollect.domain.instants import parse_rfc3339
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.service.conversation import entities, registers
from recollect.service.conversation.entities import all_canonical, canonical_refs, note_entities
from recollect.service.conversation.registers import Shelf, registry_of
from recollect.service.pipeline.lapsing import Lapsing
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

_IDS = re.compile(r"\b(ech_|esg_|mwp_|cap_|ctr_)[0-9a-f]{16,40}\b")


class Door(Memories):
    """The memories of a caller, with the entities that are spoken of."""


class Told:
    """A scene in which somebody speaks of others."""

    def __init__(self, here: Scene) -> None:
        self.here = here

    def door(self, user: str = "alice", *roles: str, tenant: str = TENANT) -> Door:
        return Door(self.here.root.workings, new_caller(tenant, user, roles=roles))

    async def name(self, *named: str | tuple[str, str], user: str = "alice", tenant: str = TENANT) -> tuple[str, ...]:
        """Speak of some in one turn."""
        told = [(each, None) if isinstance(each, str) else each for each in named]

        async def work(under_way: Promoting) -> tuple[str, ...]:
            return await note_entities(under_way, user, told, under_way.now)

        door = self.door(user, tenant=tenant)
        self.here.clock.advance(1)
        return await door._workings.remembering.within(door._caller, Places(user), work)

    async def fact(self, text: str, *refs: str, user: str = "alice", **more: Any) -> str:
        """Remember something about entities; the id of the record."""
        self.here.clock.advance(1)
        (found, *_) = await self.here.say(text, user)
        door = self.door(user)
        held: str = found["record"]["id"] if isinstance(found.get("record"), dict) else found["record_id"]

        async def work(under_way: Promoting) -> None:
            record = await under_way._named(held)
            assert record is not None
            told = {"weight": 2, "entity_refs": refs} | more
            await under_way.write(msgspec.structs.replace(record, **told))

        await door._workings.remembering.within(door._caller, Places(user), work)
        return held

    async def records(self, user: str = "alice") -> list[Record]:
        page = await self.here.root.workings.store.find(
            TENANT, Find(Plane.RECORD, Places(user).own(), order=Order.OLDEST, limit=500)
        )
        return [read_record(row.value) for row in page.rows if row.value is not None]

    async def card_lines(self, user: str = "alice") -> list[str]:
        """The cards of all that is known, as a context would have them."""
        known = await self.records(user)
        return [
            each.text for each in cards(known, known, await all_canonical(self.here.root.workings.store, TENANT, user))
        ]


@asynccontextmanager
async def telling(at: str = ":memory:") -> AsyncIterator[Told]:
    async with scene(at) as here:
        yield Told(here)


@pytest.fixture(params=["memory", "sqlite"])
async def told(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Told]:
    async with telling(":memory:" if request.param == "memory" else str(tmp_path)) as found:
        yield found


def refs(page: dict[str, Any]) -> list[str]:
    return [each["ref"] for each in page["entities"]]


async def test_whoever_is_spoken_of_is_known_and_counted(told: Told) -> None:
    assert await told.name("person:john", ("org:acme", "ACME Inc.")) == ("person:john", "org:acme")
    assert await told.name("person:john", "person:john") == ()
    john = await told.door().get_entity("person:john")
    assert john["mentions"]["count"] == 2
    assert john["mentions"]["first"] < john["mentions"]["last"]
    assert (john["label"], john["type"], john["card"], john["facts"]) == ("John", "person", None, [])
    assert (await told.door().get_entity("org:acme"))["label"] == "ACME Inc."
    assert refs(await told.door().list_entities()) == ["person:john", "org:acme"]
    assert refs(await told.door().list_entities(type="org")) == ["org:acme"]


async def test_what_is_no_ref_is_not_noted(told: Told) -> None:
    assert await told.name("user:alice", "John", "person:Jöhn") == ()
    assert refs(await told.door().list_entities()) == []


async def test_entities_come_page_by_page_each_once(told: Told) -> None:
    for number in range(7):
        await told.name(f"project:p{number}")
    door, found, cursor = told.door(), list[str](), None
    while True:
        page = await door.list_entities(limit=3, cursor=cursor)
        found += refs(page)
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == [f"project:p{number}" for number in reversed(range(7))]


async def test_the_card_of_an_entity_has_its_three_weightiest_facts(told: Told) -> None:
    await told.name("person:john")
    for number in range(4):
        await told.fact(f"I prefer number {number}.", "person:john")
    light = await told.fact("I like small talk.", "person:john", weight=1)
    john = await told.door().get_entity("person:john")
    assert john["card"]["text"] == "[person:john]: I prefer number 3.; I prefer number 2.; I prefer number 1."
    assert len(john["facts"]) == 5
    assert john["facts"][-1]["id"] == light


async def test_a_merge_changes_every_card_at_once_and_can_be_taken_back(told: Told) -> None:
    door = told.door()
    await told.name("person:john", "person:jonny")
    await told.fact("I prefer tea.", "person:john")
    await told.fact("I prefer rain.", "person:jonny")
    apart = await told.card_lines()
    assert sorted(apart) == ["[person:john]: I prefer tea.", "[person:jonny]: I prefer rain."]
    merged = await door.merge_entities("person:jonny", "person:john")
    assert merged["ref"] == "person:john"
    assert merged["aliases"] == ["Jonny"]
    assert merged["mentions"]["count"] == 2
    assert await told.card_lines() == ["[person:john]: I prefer rain.; I prefer tea."]
    assert (await door.get_entity("person:jonny"))["card"]["lines"] == ["I prefer rain.", "I prefer tea."]
    assert refs(await door.list_entities()) == ["person:john"]
    undone = await door.undo_entity_change(merged["change"]["id"])
    assert undone["change"]["undoes"] == merged["change"]["id"]
    assert await told.card_lines() == apart
    assert (await door.get_entity("person:jonny"))["ref"] == "person:jonny"
    again = await door.undo_entity_change(undone["change"]["id"])
    assert again["change"]["kind"] == "undo"
    assert (await door.get_entity("person:jonny"))["ref"] == "person:john"


async def test_merges_lead_to_one_in_chains_and_are_refused_in_circles(told: Told) -> None:
    door = told.door()
    await told.name("person:a", "person:b", "person:c", "org:d")
    await door.merge_entities("person:a", "person:b")
    await door.merge_entities("person:b", "person:c")
    store = told.here.root.workings.store
    mapped = await canonical_refs(store, TENANT, "alice", ["person:a", "person:b", "person:c", "person:z"])
    assert mapped == {"person:a": "person:c", "person:b": "person:c", "person:c": "person:c", "person:z": "person:z"}
    with pytest.raises(InvalidInput):
        await door.merge_entities("person:c", "person:a")
    with pytest.raises(InvalidInput):
        await door.merge_entities("person:a", "org:d")
    assert (await door.merge_entities("person:a", "org:d", forced=True))["ref"] == "org:d"


async def test_an_alias_leads_to_its_entity_and_memories_under_it_are_on_its_card(told: Told) -> None:
    door = told.door()
    put = await door.put_entity("person:john", label="John Doe", aliases=["Jonny", "Йон"])
    assert (put["label"], put["aliases"]) == ("John Doe", ["Jonny", "Йон"])
    await told.name(("person:jonny", "Jonny"))
    await told.fact("I prefer rain.", "person:jonny")
    john = await door.get_entity("person:john")
    assert john["card"]["text"] == "[person:john]: I prefer rain."
    assert john["mentions"]["count"] == 1
    same = await door.put_entity("person:john", aliases=["JONNY"])
    assert same["change"] is None
    assert refs(await door.list_entities()) == ["person:john"]


async def test_names_that_are_split_off_take_their_memories_with_them(told: Told) -> None:
    door = told.door()
    await told.name("person:john", "person:jonny")
    await told.fact("I prefer tea.", "person:john")
    await told.fact("I prefer rain.", "person:jonny")
    await door.merge_entities("person:jonny", "person:john")
    split = await door.split_entity("person:john", aliases=["Jonny"])
    assert split["ref"] == "person:jonny"
    assert sorted(await told.card_lines()) == ["[person:john]: I prefer tea.", "[person:jonny]: I prefer rain."]
    await door.undo_entity_change(split["change"]["id"])
    assert await told.card_lines() == ["[person:john]: I prefer rain.; I prefer tea."]


async def test_a_change_is_kept_with_who_made_it_and_what_it_was_before(told: Told) -> None:
    door = told.door()
    await told.name("person:john", "person:jonny")
    await door.merge_entities("person:jonny", "person:john")
    await door.put_entity("person:john", label="John Doe")
    later, first = (await door.get_entity("person:john"))["changes"]
    assert (later["kind"], first["kind"], first["by"]) == ("put", "merge", "alice")
    assert first["steps"] == [
        {
            "ref": "person:jonny",
            "before": {"label": "Jonny", "merged_into": None},
            "after": {"label": "Jonny", "merged_into": "person:john"},
        }
    ]


async def test_one_that_sounds_the_same_is_suggested_and_merged_only_once_somebody_says_so(told: Told) -> None:
    door = told.door()
    await told.name("person:mukesh")
    await told.name("person:makesh", "place:makesh")
    (suggestion,) = (await door.list_entity_suggestions())["suggestions"]
    assert suggestion["entity"] == {"ref": "person:makesh", "label": "Makesh"}
    assert suggestion["into"] == {"ref": "person:mukesh", "label": "Mukesh"}
    assert set(suggestion["reasons"]) == {"same_sound", "nearly_spelt"}
    assert (await door.get_entity("person:makesh"))["ref"] == "person:makesh"
    decided = await door.decide_entity_suggestion(suggestion["id"], True)
    assert (decided["status"], decided["decided_by"]) == ("accepted", "alice")
    assert (await door.get_entity("person:makesh"))["ref"] == "person:mukesh"
    assert (await door.list_entity_suggestions())["suggestions"] == []
    with pytest.raises(Conflict):
        await door.decide_entity_suggestion(suggestion["id"], False)
    await door.undo_entity_change(decided["change_id"])
    assert [each["id"] for each in (await door.list_entity_suggestions())["suggestions"]] == [suggestion["id"]]


async def test_a_rejected_suggestion_is_not_made_again(told: Told) -> None:
    door = told.door()
    put = await door.put_entity("person:makesh", label="Makesh")
    await told.name("person:mukesh")
    (suggestion,) = (await door.list_entity_suggestions())["suggestions"]
    await door.decide_entity_suggestion(suggestion["id"], False)
    assert (await door.list_entity_suggestions())["suggestions"] == []
    await door.undo_entity_change(put["change"]["id"])
    await told.name("person:makesh")  # new once more
    assert (await door.list_entity_suggestions())["suggestions"] == []
    (kept,) = (await door.list_entity_suggestions(status="rejected"))["suggestions"]
    assert kept["decided_by"] == "alice"


async def test_two_that_were_merged_anyhow_are_not_asked_about(told: Told) -> None:
    door = told.door()
    await told.name("person:mukesh", "person:makesh")
    await door.merge_entities("person:makesh", "person:mukesh")
    assert (await door.list_entity_suggestions())["suggestions"] == []
    assert len((await door.list_entity_suggestions(status="accepted"))["suggestions"]) == 1


async def test_what_only_one_persona_knows_is_told_to_that_one(told: Told) -> None:
    await told.name("person:john")
    await told.fact("I prefer tea.", "person:john")
    secret = await told.fact("I prefer rain.", "person:john", persona="sophie")

    async def known(persona: str | None) -> list[str]:
        return [each["id"] for each in (await told.door().get_entity("person:john", persona=persona))["facts"]]

    assert secret in await known("sophie")
    assert secret not in await known(None)
    assert secret not in await known("william")


async def test_a_memory_that_is_taken_back_is_no_fact_any_more(told: Told) -> None:
    await told.name("person:john")
    gone = await told.fact("I prefer tea.", "person:john")
    await told.door().retract_record(gone)
    assert (await told.door().get_entity("person:john"))["facts"] == []


async def test_an_open_contradiction_is_told_with_whom_it_is_about(told: Told) -> None:
    await told.name("person:john")
    held = await told.fact("My name is Ada.", "person:john")
    await told.here.say("My name is Grace.")
    disputed = (await told.door().get_entity("person:john"))["contradictions"]
    assert [each["existing"] for each in disputed] == [held]


async def test_users_and_tenants_never_meet(told: Told) -> None:
    await told.name("person:john")
    await told.name("person:jonny", user="bob")
    await told.name("person:jon", tenant="tenant_other")
    assert refs(await told.door("alice").list_entities()) == ["person:john"]
    assert refs(await told.door("bob").list_entities()) == ["person:jonny"]
    assert refs(await told.door("alice", tenant="tenant_other").list_entities()) == ["person:jon"]
    with pytest.raises(NotFound):
        await told.door("bob").get_entity("person:john")
    with pytest.raises(NotFound):
        await told.door("bob").merge_entities("person:jonny", "person:john")
    made = await told.door("alice").put_entity("person:john", label="John D")
    with pytest.raises(NotFound):
        await told.door("bob").undo_entity_change(made["change"]["id"])
    assert (await told.door("bob").list_entity_suggestions())["suggestions"] == []


async def test_everything_is_erased_with_the_user(told: Told) -> None:
    door = told.door()
    await told.name("person:mukesh", "person:makesh")
    await door.put_entity("person:mukesh", label="Mukesh S", aliases=["Mu"])
    await told.name("person:paul", user="bob")
    await told.here.admin.erase("user:alice")
    assert refs(await door.list_entities()) == []
    assert (await door.list_entity_suggestions())["suggestions"] == []
    with pytest.raises(NotFound):
        await door.get_entity("person:mukesh")
    store = told.here.root.workings.store
    left = await store.find(TENANT, Find(Plane.ENTITY, Places("alice").own(), limit=100, archived=Archived.INCLUDE))
    assert left.rows == []
    assert refs(await told.door("bob").list_entities()) == ["person:paul"]


async def test_no_name_is_in_a_key_a_namespace_or_a_label(told: Told) -> None:
    assert await named_plainly(told) == []


async def test_a_name_in_a_key_is_found(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "blinded", lambda _, *parts: "_".join(parts))
    assert await named_plainly(told) != []


async def named_plainly(told: Told) -> list[str]:
    """The keys, namespaces and labels in which somebody can read who is spoken of."""
    door = told.door()
    await told.name(("person:canaria", "Canaria"), ("person:kanaria", "Kanaria"), ("org:canarycorp", "CanaryCorp"))
    await door.put_entity("person:canaria", label="Canaria Q", aliases=["Canny"])
    await door.split_entity("person:canaria", aliases=["Canny"])
    await door.merge_entities("person:kanaria", "person:canaria")
    store = told.here.root.workings.store
    plain = []
    for plane in Plane:
        page = await store.find(TENANT, Find(plane, limit=1_000, archived=Archived.INCLUDE))
        plain += [f"{row.address.namespace.segments} {row.address.key} {row.policy_attributes}" for row in page.rows]
    assert sum("ent_" in each for each in plain) >= 4
    return [each for each in plain if any(word in each.lower() for word in ("canar", "kanar", "canny"))]


async def test_whom_only_memories_tell_of_can_be_looked_at_as_well(told: Told) -> None:
    held = await told.fact("I prefer tea.", "person:jose_xd994e1d0", entity_label="José")
    jose = await told.door().get_entity("person:jose_xd994e1d0")
    assert (jose["label"], jose["mentions"]["count"]) == ("José", 0)
    assert [each["id"] for each in jose["facts"]] == [held]


async def test_what_rests_on_a_consent_is_told_while_that_covers_it(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = parse_rfc3339("2026-05-04T09:31:00Z")
    assert moment is not None
    told.here.clock.advance((moment - told.here.clock()) / 1_000_000)
    record = await promoted(told.here)
    door, here = told.door(), told.here

    async def work(under_way: Promoting) -> None:
        held = await under_way._named(record["id"])
        assert held is not None
        await under_way.write(msgspec.structs.replace(held, weight=3, entity_refs=("person:john",)))

    await door._workings.remembering.within(door._caller, Places("alice"), work)
    assert [each["id"] for each in (await door.get_entity("person:john"))["facts"]] == [record["id"]]
    await told.name("person:john")

    async def cut_off(*_: object) -> None:
        raise OSError("cut off")

    monkeypatch.setattr(Lapsing, "settle", cut_off)  # so that only the last look is between it and the reader
    with pytest.raises(OSError, match="cut off"):
        await here.admin.revoke_consent(record["consent_id"])
    assert record["id"] in [each.id for each in await told.records()]
    john = await door.get_entity("person:john")
    assert (john["facts"], john["card"]) == ([], None)


async def test_who_may_not_read_is_told_that_there_is_nobody(told: Told) -> None:
    await told.name("person:john")
    writer = Door(told.here.root.workings, new_caller(TENANT, "alice", scopes=["write"]))
    with pytest.raises(NotFound):
        await writer.get_entity("person:john")


# -- two at once


async def crossed(here: Scene, there: Scene, rounds: int) -> int:
    """How often two processes merged the same two into each other, each in the other direction."""
    one, other, both = Told(here), Told(there), 0
    for number in range(rounds):
        left, right = f"project:left{number}", f"project:right{number}"
        await one.name(left, right)
        done = await asyncio.gather(
            one.door().merge_entities(left, right), other.door().merge_entities(right, left), return_exceptions=True
        )
        for each in done:
            if isinstance(each, BaseException) and not isinstance(each, InvalidRequest | Conflict):
                raise each
        both += not any(isinstance(each, BaseException) for each in done)
    return both


@sized(15, 500)
async def test_two_that_merge_each_other_at_once_never_make_a_circle(tmp_path: Path, count: int) -> None:
    async with scene(str(tmp_path)) as here, scene(str(tmp_path)) as there:
        assert await crossed(here, there, count) == 0


@sized(40, 200)
async def test_a_merge_that_rests_on_nothing_makes_circles(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(str(tmp_path)) as here, scene(str(tmp_path)) as there:
        store = here.root.workings.store

        async def careless(under_way: Promoting, shelf: Shelf, user: str, refs: Iterable[str]) -> Registry:
            async def get(address: Address) -> bytes | None:
                row = await store.get(under_way.tenant, address)
                return None if row is None else row.value

            return await registry_of(partial(store.find, under_way.tenant), get, shelf, user, refs)

        monkeypatch.setattr(entities, "_registry_within", careless)
        assert await crossed(here, there, count) > 0


async def test_what_is_asked_for_wrongly_is_refused(told: Told) -> None:
    door = told.door()
    await told.name("person:john")
    for work in (
        door.get_entity("john"), door.list_entities(type="animal"), door.list_entities(limit=0),
        door.put_entity("person:john"), door.put_entity("person:john", label=" "),
        door.put_entity("person:john", aliases=["?!"]), door.merge_entities("person:john", "John"),
        door.split_entity("person:john", aliases=[]), door.list_entity_suggestions(status="maybe"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            await work
    for work in (
        door.get_entity("person:nobody"), door.merge_entities("person:john", "person:nobody"),
        door.undo_entity_change("ech_none"), door.undo_entity_change("../x"),
        door.decide_entity_suggestion("esg_none", True), door.split_entity("person:nobody", aliases=["x"]),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await work


async def test_who_may_only_read_changes_nothing(told: Told) -> None:
    await told.name("person:john", "person:jonny")
    reader = Door(told.here.root.workings, new_caller(TENANT, "alice", scopes=["read"]))
    assert refs(await reader.list_entities()) == ["person:jonny", "person:john"]
    with pytest.raises(Forbidden):
        await reader.merge_entities("person:jonny", "person:john")
    with pytest.raises(Forbidden):
        await reader.put_entity("person:john", label="J")
    assert refs(await told.door().list_entities()) == ["person:jonny", "person:john"]


async def test_with_a_justification_nothing_of_it_is_read(told: Told) -> None:
    class Justified(Door):
        _in_own_name = False

    await told.name("person:john")
    door = Justified(told.here.root.workings, new_caller(TENANT, "alice"))
    with pytest.raises(Forbidden):
        await door.get_entity("person:john")
    with pytest.raises(Forbidden):
        await door.list_entities()


async def played(told: Told) -> str:
    """Everything that is told after a course of events, without the ids that time and keys give."""
    door, found = told.door(), list[Any]()
    await told.name("person:mukesh", ("person:makesh", "Makesh"), "org:acme")
    await told.fact("I prefer tea.", "person:mukesh")
    await told.fact("I prefer rain.", "person:makesh", "org:acme")
    found.append((await door.list_entity_suggestions())["suggestions"])
    found.append(await door.decide_entity_suggestion(found[0][0]["id"], True))
    found.append(await door.put_entity("person:makesh", label="Mukesh Shah", aliases=["Mike", "मुकेश"]))
    await told.name("person:mike")
    found.append(await door.split_entity("person:mukesh", aliases=["Mike"]))
    found.append(await door.undo_entity_change(found[1]["change_id"]))
    found.append(await door.list_entities())
    found += [await door.get_entity(each) for each in ("person:mukesh", "person:makesh", "person:mike", "org:acme")]
    found.append(await told.card_lines())
    return _IDS.sub(lambda each: f"{each[1]}…", json.dumps(found, sort_keys=True, indent=1))


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
async def test_every_backend_tells_the_same_of_entities(place: tuple[str, Any]) -> None:  # noqa: F811 - the fixture
    async with telling() as usual:
        wanted = await played(usual)
    async with scene_at(place) as here:
        assert await played(Told(here)) == wanted
