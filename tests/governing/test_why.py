"""Why: every record is explained back to what was captured, from what was recorded and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.governing.test_replay import KEPT, talked
from tests.pipeline.scene import Scene, scene
from tests.sizes import sized

from recollect.domain.address import ROOT
from recollect.domain.commits import Commit, Delete
from recollect.domain.errors import NotFound
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import read_record

TENANT = "tenant_acme_prod"


async def every_record(here: Scene) -> list[str]:
    """The ids of all records of the tenant, past ones included."""
    query = Find(Plane.RECORD, ROOT, order=Order.KEY, limit=1_000, archived=Archived.INCLUDE)
    page = await here.root._workings.store.find(TENANT, query)
    return [read_record(row.value).id for row in page.rows if row.value is not None]


async def unexplained(here: Scene, ids: list[str]) -> list[str]:
    """What is missing in the explanations of these."""
    found = []
    sources = await recorded(here)
    for record_id in ids:
        told = await here.admin.why(record_id)
        kinds = [line["source"].partition(":")[0] for line in told["lines"]]
        if not told["captures"] or any(each["text"] is None for each in told["captures"]):
            found.append(f"{record_id} leads back to no capture")
        if "record" not in kinds or kinds[0] not in ("capture", "consent", "proposal"):
            found.append(f"{record_id} does not begin with what was said: {kinds}")
        found += [
            f"{record_id}: {line['source']} was not recorded"
            for line in told["lines"]
            if line["source"].partition("#")[0] not in sources
        ]
    return found


async def recorded(here: Scene) -> set[str]:
    """Every row that an explanation may rest on."""
    named = {Plane.CAPTURE: "capture", Plane.PROPOSAL: "proposal", Plane.TRACE: "trace"}
    found = {f"record:{each}" for each in await every_record(here)}
    for plane, name in named.items():
        cursor = None
        while True:
            query = Find(plane, ROOT, order=Order.KEY, limit=1_000, cursor=cursor)
            page = await here.root._workings.store.find(TENANT, query)
            found |= {f"{name}:{row.address.key}" for row in page.rows}
            cursor = page.cursor
            if cursor is None:
                break
    return found


@sized(6, 60)
async def test_every_record_of_a_random_run_is_explained(count: int) -> None:
    async with scene(settings=KEPT) as here:
        for seed in range(count):
            await talked(here, seed, user=random.Random(seed).choice(["alice", "bob"]))
        for waiting in await here.waiting():
            await here.maria.approve_proposal(waiting["proposal_id"])
        ids = await every_record(here)
        assert len(ids) > 3 * count
        assert await unexplained(here, ids) == []


async def test_an_explanation_that_lacks_its_captures_is_caught(here: Scene) -> None:
    await here.say("I prefer tea.")
    ids = await every_record(here)
    record = await here.alice.get_record(ids[0])
    assert await unexplained(here, ids) == []
    place = here.root._workings.store
    row = (await place.find(TENANT, Find(Plane.CAPTURE, ROOT))).rows[0]
    await place.commit(Commit(TENANT, (Delete(row.address),)))
    assert await unexplained(here, ids)
    assert record["captures"]


async def test_why_tells_the_way_of_a_memory_line_by_line(here: Scene) -> None:
    await here.say("I prefer concise updates.")
    (record,) = (await here.alice.list_records())["records"]
    await here.alice.recall("updates")
    told = await here.alice.why(record["id"])
    texts = [line["text"] for line in told["lines"]]
    assert texts[0].startswith("user said “I prefer concise updates.”")
    assert any(each.startswith("proposed; the policy said approve by rule") for each in texts)
    assert any(each.startswith("remembered in user as semantic, let in by rule") for each in texts)
    assert any(each.startswith("recalled in place 1 for “updates”") for each in texts)


async def test_why_tells_what_became_of_a_corrected_memory(here: Scene) -> None:
    await here.say("I prefer tea.")
    (old,) = (await here.alice.list_records())["records"]
    await here.alice.correct_record(old["id"], value="coffee", text="I prefer coffee.")
    (new,) = (await here.alice.list_records())["records"]
    told = await here.alice.why(old["id"])
    assert told["record"]["superseded_by"] == new["id"]
    assert f"superseded by {new['id']}" in [line["text"] for line in told["lines"]]


async def test_nobody_is_told_why_about_what_is_not_theirs(here: Scene) -> None:
    await here.say("I prefer tea.")
    (record,) = (await here.alice.list_records())["records"]
    with pytest.raises(NotFound):
        await here.as_user("bob").why(record["id"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I prefer tea.", {"remembered": 1, "proposals": 1}),
        ("I prefer coffee.", {"remembered": 0}),
        ("my password is hunter2", {"remembered": 0}),
    ],
)
async def test_why_not_tells_what_was_decided_and_what_would_be(here: Scene, text: str, wanted: dict[str, int]) -> None:
    await here.say("I prefer tea.")
    told: dict[str, Any] = await here.alice.why_not(text)
    assert {name: len(told[name]) for name in wanted} == wanted
    assert told["would"]["would"] or text.startswith("my password")


async def test_why_not_knows_what_a_turn_was_refused_for(here: Scene) -> None:
    await here.alice.take_turn("chat", user="I prefer my psychiatrist in Porto.", ai="ok")
    told = await here.alice.why_not("I prefer my psychiatrist in Porto.")
    assert [each["reason"] for each in told["denied"]] == ["consent_missing"]


async def test_traces_are_found_by_what_they_tell_of(here: Scene) -> None:
    await here.say("I prefer tea.")
    await here.alice.take_turn("chat", user="I like chess.", ai="ok")
    await here.alice.recall("tea")
    for asked in ({"type": "memory_recall"}, {"session": "chat"}, {"cause": "recall"}, {"cause": "turn"}):
        page = await here.alice.list_traces(**asked)  # type: ignore[arg-type]
        assert page["traces"], asked
    (one,) = (await here.alice.list_traces(cause="turn"))["traces"]
    assert (await here.alice.get_trace(one["id"]))["events"] == one["events"]
    plain = (await here.alice.get_trace(one["id"], plain=True))["plain"]
    assert len(plain) == len(one["events"])
    assert plain[0].startswith("ai_profile: default\n")
    with pytest.raises(NotFound):
        await here.as_user("bob").get_trace(one["id"])


async def test_phases_are_compared(here: Scene) -> None:
    state = {"_memory_phase_token": "one"}
    await here.alice.take_turn("chat", user="My name is Ada.", ai="ok", state=state)
    state = {"_memory_phase_token": "two"}
    await here.alice.take_turn("chat", user="Actually, my name is Ada Lovelace.", ai="ok", state=state)
    told = await here.alice.diff_phases("phase-1", "phase-2", session="chat")
    assert told["replaced_count"] == 1
    assert told["top_changes"][0]["dedupe_key"] == "fact:name"
    assert (await here.alice.diff_phases("phase-1", "phase-9", session="chat"))["added_count"] == 0
