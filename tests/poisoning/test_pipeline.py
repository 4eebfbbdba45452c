"""What attackers write is never remembered without a person; what people say of themselves nearly always is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest
from tests.pipeline.scene import Scene, scene
from tests.poisoning.benign import benign
from tests.poisoning.corpus import Attack, attacks
from tests.sizes import sized

from recollect.domain.governance.terms import Source
from recollect.domain.promotion.standing import Channel
from recollect.domain.remembering import captures
from recollect.domain.statements import Statement, statements_in
from recollect.ports.extractor import Extracted, Extractor, Passage

STEERING = {"preference", "correction", "decision"}


class Gullible(Extractor):
    """Takes whatever it reads for the user's own words, as a model might that fell for it."""

    name = "gullible"
    asks = True

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """Everything that the rules would find if the user had said it."""
        del recorded
        return Extracted(statements=statements_in(passage.text, passage.subject, Source.USER), by=self.name)


def captured(attack: Attack) -> dict[str, Any]:
    match attack.channel:
        case "tool_result":
            return {"kind": "tool_result", "tool": "fetch", "text": attack.text}
        case "web":
            return {"text": attack.text, "speaker": "assistant", "via": "web"}
        case "peer":
            return {"text": attack.text, "speaker": "assistant", "via": "agent"}
        case _:
            return {"text": attack.text, "speaker": "assistant"}


async def attacked(here: Scene, some: list[Attack]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for each in some:
        told = await here.alice.capture([captured(each)])
        outcomes.update(found["outcome"] for found in told[0]["remembered"])
    return outcomes


@sized(small=160, full=640)
async def test_nothing_that_attackers_write_is_promoted_even_if_the_extractor_falls_for_it(count: int) -> None:
    async with scene() as here:
        await here.say("My name is Ada.")
        await here.say("I prefer concise updates.")
        before = await here.texts()
        here.root.workings.remembering.extractor = Gullible()
        some = attacks()
        outcomes = await attacked(here, some[:: len(some) // count])
        assert outcomes["promoted"] == 0
        assert outcomes["waiting"] > count / 2, "a corpus of which nothing is extracted shows nothing"
        assert await here.texts() == before
        assert not (await here.alice.search(("user", "alice"))).items


async def test_a_service_that_trusts_what_it_is_told_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    always: Callable[..., Channel] = lambda *_: Channel.USER_TURN  # noqa: E731 - the planted fault
    monkeypatch.setattr(captures, "_said_channel", always)
    async with scene() as here:
        here.root.workings.remembering.extractor = Gullible()
        assert (await attacked(here, attacks()[:40]))["promoted"] > 0


@sized(small=250, full=2_000)
async def test_what_people_say_of_themselves_is_remembered_at_once(count: int) -> None:
    async with scene() as here:
        everything = benign()
        outcomes: Counter[str] = Counter()
        told = []
        for number, each in enumerate(everything[:: len(everything) // count]):
            user = f"user{number % 50}"
            here.clock.advance(1)
            (answer,) = await here.as_user(user).capture([{"text": each.text}])
            said = {found["outcome"] for found in answer["remembered"]}
            best = next((name for name in ("promoted", "known", "waiting", "denied") if name in said), "nothing")
            outcomes[best] += 1
            if best not in ("promoted", "known"):
                told.append((each.text, answer["remembered"]))
        kept = outcomes["promoted"] + outcomes["known"]
        assert kept >= 0.95 * outcomes.total(), json.dumps(told[:10], indent=1)
        load = await here.maria.review_load()
        print(f"of {outcomes.total()} kept {kept}, waiting for a person {load['waiting']}")
        assert load["waiting"] <= 0.03 * outcomes.total(), json.dumps(told[:10], indent=1)


@sized(small=100, full=1_000)
async def test_undoing_a_source_leaves_nothing_of_it(count: int) -> None:
    async with scene() as here:
        kept = await here.say("I prefer oolong.")
        (root,) = await here.say("I prefer tea.", session="bad")
        parent = root["record_id"]
        for number in range(count - 1):
            candidate = {
                "entity_ceid": "user:alice",
                "predicate": f"drinks_{number}",
                "value": f"tea {number}",
                "evidence_refs": ["tool:x:1"],
                "confidence": 0.9,
            }
            body = {"candidate": candidate, "class": "evidence_link", "derived_from": [parent]}
            told = await here.alice.propose(body)
            done = await here.maria.approve_proposal(told["proposal_id"])
            if number % 7 == 0:
                parent = done["record_id"]
        await here.alice.search(("user", "alice"), query="tea")  # which indexes everything first
        assert (await here.admin.index_status()).indexed == count + 1
        began = perf_counter()
        done = await here.alice.undo(source="bad")
        took = perf_counter() - began
        print(f"undid {done['records']} records in {took:.2f} s")
        assert done["records"] == count
        assert [each["id"] for each in (await here.alice.list_records(limit=200))["records"]] == [kept[0]["record_id"]]
        status = await here.admin.index_status()
        assert (status.pending, status.indexed) == (0, 1)


def test_the_statement_of_an_attack_is_of_a_class_that_matters() -> None:
    found: list[Statement] = [each for attack in attacks() for each in statements_in(attack.text, "user:alice")]
    assert {each.event_type.value for each in found} >= STEERING
