"""The curator at work: what it does is what it said it would, is told, and can be taken back exactly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conversation.test_curating_rules import record
from tests.engines.postgres import own_database  # noqa: F401 - a fixture
from tests.pipeline.scene import SETTINGS, TENANT, Scene, scene

from recollect.config import Secret
from recollect.domain.errors import NotFound
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Space
from recollect.domain.promotion.standing import Classification
from recollect.domain.remembering.records import Record, read_record
from recollect.service.conversation.curator import Curator
from recollect.service.memories import Memories
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

DAY = 86_400
BACKENDS = ["memory", "sqlite", "postgres"]


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Any]]:
    match request.param:
        case "postgres":
            yield str(tmp_path), replace(SETTINGS, store=Secret(request.getfixturevalue("database")))
        case "sqlite":
            yield str(tmp_path), SETTINGS
        case _:
            yield ":memory:", SETTINGS


@pytest.fixture
async def here(place: tuple[str, Any]) -> AsyncIterator[Scene]:
    async with scene(place[0], settings=place[1]) as found:
        yield found


@pytest.fixture
async def near() -> AsyncIterator[Scene]:
    """A scene in memory, for what no backend can do differently."""
    async with scene() as found:
        yield found


def door(here: Scene, name: str = "alice") -> Memories:
    return here.as_user(name)


async def keep(here: Scene, *records: Record, user: str = "alice") -> None:
    """Memories, as if they had come the way in."""
    workings = here.root._workings

    async def work(under_way: Promoting) -> None:
        for each in records:
            await under_way.write(each)

    await workings.remembering.within(door(here, user)._caller, Places(user), work)


def known(here: Scene, number: int, text: str, entity: str = "person:john", **more: Any) -> Record:
    return record(number, text, entity, **{"promoted_at": here.root._workings.clock()} | more)


async def rows(here: Scene, user: str = "alice") -> dict[str, tuple[bytes | None, bool, str]]:
    """Every memory of a user as it is stored."""
    workings = here.root._workings
    found = {}
    for number in range(1, 60):
        address = Places(user).record(Space.USER, f"semantic:{number}")
        row = await workings.store.get(TENANT, address)
        if row is not None:
            found[address.key] = (row.value, row.archived, row.policy_attributes or "")
    return found


async def furnished(here: Scene) -> None:
    """Copies, three memories about John and two about Ada, and a trifle that is a month old."""
    await keep(here, known(here, 30, "It rained.", "user:alice", weight=0))
    here.clock.advance(31 * DAY)
    await keep(
        here,
        known(here, 31, "John is my cofounder."),
        known(here, 32, "John handles backend.", entity_label="John Doe"),
        known(here, 33, "John likes tea!", classification=Classification.CONFIDENTIAL),
        known(here, 34, "john likes tea", pinned=True),
        known(here, 35, "John runs."),
        known(here, 36, "Ada sings.", "person:ada"),
        known(here, 37, "Ada plays chess.", "person:ada"),
        known(here, 38, "Has a dog.", "user:alice"),
        known(here, 39, "has a dog", "user:alice"),
    )


def plainly(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "made"} for each in told["actions"]]


async def test_a_dry_run_says_exactly_what_the_run_does(here: Scene) -> None:
    await furnished(here)
    alice, before = door(here), await rows(here)
    would = await alice.curate(dry_run=True)
    assert await rows(here) == before
    did = await alice.curate()
    assert plainly(would) == plainly(did)
    assert [(each["kind"], each["reason"]) for each in did["actions"]] == [
        ("dedupe", "says_the_same"),
        ("dedupe", "says_the_same"),
        ("fold", "told_together"),
        ("archive", "trivial_and_old"),
    ]
    assert not did["skipped_actions"]
    assert (await alice.curate(dry_run=True))["actions"] == []
    assert (await alice.curate())["id"] is None


async def test_a_fold_stands_in_the_place_of_what_it_was_made_from(here: Scene) -> None:
    await furnished(here)
    alice = door(here)
    (fold,) = [each for each in (await alice.curate())["actions"] if each["kind"] == "fold"]
    made = await alice.get_record(fold["made"])
    assert made["text"] == "John Doe: John is my cofounder / John handles backend / John runs"
    assert (made["origin"], made["weight"], made["entity"]) == ("curated_fold", 2, "person:john")
    assert made["folded_from"] == [f"user:alice:semantic:{each}" for each in (31, 32, 35)]
    texts = {each["text"] for each in (await alice.list_records(limit=200))["records"]}
    assert texts == {made["text"], "john likes tea", "Ada sings.", "Ada plays chess.", "has a dog"}
    past = read_record((await rows(here))["semantic:31"][0] or b"")
    assert (past.ended_reason, past.superseded_by) == (Reason.CURATED, fold["made"])


async def test_what_was_curated_is_undone_to_the_byte(here: Scene) -> None:
    await furnished(here)
    alice, before = door(here), await rows(here)
    did = await alice.curate()
    assert await rows(here) != before
    here.clock.advance(60)
    back = await alice.undo_curation(did["id"])
    assert back["not_restored"] == []
    assert sorted(back["restored"]) == sorted(name for each in did["actions"] for name in each["archived"])
    assert back["removed"] == [each["made"] for each in did["actions"] if each["made"]]
    assert await rows(here) == before
    again = await alice.undo_curation(did["id"])
    assert (again["restored"], again["removed"], again["not_restored"]) == ([], [], [])


async def test_everything_is_told(here: Scene) -> None:
    await furnished(here)
    alice = door(here)
    did = await alice.curate()
    gone = {each["memory_id"]: each for each in await here.events() if each["type"] == "memory_deleted"}
    for action in did["actions"]:
        for name in action["archived"]:
            heir = action["made"] or action["keep"]
            assert gone[name]["reason"] == "curated"
            assert gone[name].get("replaced_by") == heir
    written = [item["id"] for each in await here.events() if each["type"] == "memory_write" for item in each["written"]]
    assert written == [each["made"] for each in did["actions"] if each["made"]]
    (told,) = (await alice.list_curations())["curations"]
    assert (told["id"], told["by"]) == (did["id"], "request")
    assert [each["archived"] for each in told["actions"]] == [each["archived"] for each in did["actions"]]
    assert b"cofounder" not in msgspec.json.encode(told)


async def test_what_changed_since_is_not_restored_and_the_answer_says_why(near: Scene) -> None:
    alice = door(near)
    ids = [f"user:alice:semantic:{each}" for each in range(30, 40)]
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)), known(near, 33, "Is vegan", "user:alice"))
    await keep(near, known(near, 34, "is vegan", "user:alice"), known(near, 35, "Ann", "user:alice", predicate="name"))
    await keep(near, known(near, 36, "ann", "user:alice", predicate="name"))
    did = await alice.curate()
    (fold,) = [each["made"] for each in did["actions"] if each["made"]]
    await alice.pin_record(fold)
    await alice.undo(source=ids[3])  # a copy that was put away is gone for good
    await alice.retract_record(ids[6])
    await keep(near, known(near, 37, "Grace", "user:alice", predicate="name", value="Grace"))
    back = await alice.undo_curation(did["id"])
    assert {each["id"]: each["reason"] for each in back["not_restored"]} == {
        **dict.fromkeys(ids[:3], "changed"),
        ids[3]: "gone",
        ids[5]: "outdated",
    }
    assert (back["restored"], back["removed"]) == ([], [])


async def test_what_a_fold_was_made_from_comes_back_though_the_fold_is_gone(near: Scene) -> None:
    alice = door(near)
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    did = await alice.curate()
    await alice.retract_record(did["actions"][0]["made"])
    back = await alice.undo_curation(did["id"])
    assert len(back["restored"]) == 3


async def test_nobody_undoes_what_was_curated_for_another(near: Scene) -> None:
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    did = await door(near).curate()
    with pytest.raises(NotFound):
        await door(near, "bob").undo_curation(did["id"])
    assert (await door(near, "bob").list_curations())["curations"] == []


async def test_what_was_curated_is_erased_with_its_user(near: Scene) -> None:
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    did = await door(near).curate()
    await near.admin.erase("user:alice")
    assert (await door(near).list_curations())["curations"] == []
    with pytest.raises(NotFound):
        await door(near).undo_curation(did["id"])


async def test_private_memories_are_told_together_for_their_persona_alone(near: Scene) -> None:
    alice = door(near)
    await keep(near, *(known(near, 30 + n, f"John {n}", persona="coach") for n in range(3)))
    await keep(near, *(known(near, 33 + n, f"John {n}") for n in range(2)))
    assert (await alice.curate(persona="chef"))["actions"] == []
    (did,) = (await alice.curate(persona="coach"))["actions"]
    assert (await alice.get_record(did["made"]))["persona"] == "coach"


async def test_the_curator_runs_by_itself_only_when_it_is_wanted_and_due(near: Scene) -> None:
    workings = near.root._workings
    curator = Curator(workings)
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    assert await curator.curate_due(TENANT, "alice", "default") == {"skipped": "off"}
    workings.rules.curator = True
    first = await curator.curate_due(TENANT, "alice", "default")
    assert first["reason"] == "24h"
    assert [each["kind"] for each in first["actions"]] == ["fold"]
    near.clock.advance(59)
    assert await curator.curate_due(TENANT, "alice", "default") == {"skipped": "cooldown"}
    near.clock.advance(1)
    assert await curator.curate_due(TENANT, "alice", "default") == {"skipped": "not_due"}
    await keep(near, *(known(near, 33 + n, f"fact {n}", f"person:p{n}") for n in range(25)))
    assert (await curator.curate_due(TENANT, "alice", "default"))["reason"] == "25mem"
    assert (await curator.curate_due(TENANT, "alice", "coach"))["reason"] == "25mem"  # each persona has its own state
    near.clock.advance(DAY)
    assert (await curator.curate_due(TENANT, "alice", "default"))["reason"] == "24h"


async def test_turns_and_the_worker_curate_where_that_is_wanted(near: Scene) -> None:
    alice, workings = door(near), near.root._workings
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    await alice.converse("Good morning!")
    assert (await alice.list_curations())["curations"] == []
    workings.rules.curator = True
    workings.summarizing.inline = False  # as in a server, where the worker does it
    await alice.converse("Good morning!")
    assert (await alice.list_curations())["curations"] == []
    assert await Curator(workings).curate_late(TENANT) == 1
    assert await Curator(workings).curate_late(TENANT) == 0
    (told,) = (await alice.list_curations())["curations"]
    assert (told["by"], told["persona"]) == ("24h", "default")
    workings.summarizing.inline = True
    near.clock.advance(DAY)
    await keep(near, *(known(near, 40 + n, f"Ada {n}", "person:ada") for n in range(3)))
    await alice.converse("Good morning!")
    assert len((await alice.list_curations())["curations"]) == 2
    state = await alice.get_session_state()
    assert state["curator"]["last_run_at"] is not None


async def test_what_changed_while_the_curator_thought_is_left_alone(near: Scene) -> None:
    alice = door(near)
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    curator = Curator(alice._workings)
    real = curator.planned

    class Slow(Curator):
        """A curator that thinks while somebody pins a memory."""

        async def planned(self, tenant: str, user: str, records: Any) -> Any:
            found = await real(tenant, user, records)
            await alice.pin_record("user:alice:semantic:31")
            return found

    told = await Slow(alice._workings).run(alice._caller, "alice", None, "request")
    assert (told["actions"], len(told["skipped_actions"])) == ([], 1)
    assert not (await alice.get_record("user:alice:semantic:31")).get("ended_at")


async def test_what_is_said_again_after_it_was_folded_does_not_pile_up(near: Scene) -> None:
    alice = door(near)
    for again in range(5):
        await keep(near, *(known(near, 30 + 3 * again + n, f"John {n}.") for n in range(3)))
        near.clock.advance(60)
        await alice.curate()
    live = (await alice.list_records(limit=200))["records"]
    assert [each["text"] for each in live] == ["John: John 0 / John 1 / John 2"]


async def test_the_moment_of_a_curation_is_told(near: Scene) -> None:
    alice = door(near)
    await keep(near, *(known(near, 30 + n, f"John {n}") for n in range(3)))
    await alice.curate()
    (told,) = (await alice.list_curations())["curations"]
    assert told["at"].endswith("Z")
    assert told["undone_at"] is None
