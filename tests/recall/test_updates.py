"""Knowledge that changed: what is right now is given, and what was right before only to those who ask for history."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from tests.pipeline.scene import Scene, scene
from tests.recall.planted import ids, planted
from tests.sizes import sized

from recollect.service.recalling import recall

WORDS = ("green", "black", "Delft", "Berlin", "weekly", "daily", "tea", "coffee", "blue", "Friday")
SAID = (
    ("I prefer {}.", "Which {} do I prefer?"),
    ("My name is {}.", "What is my name, {}?"),
    ("We decided to use {}.", "What did we decide about {}?"),
    ("I live in {}.", "Where do I live, {}?"),
)


async def corrected(here: Scene, chance: Random, user: str, ranker: str) -> None:
    """Say something, put it right, some of them twice, and look at what is given."""
    template, question = chance.choice(SAID)
    words = chance.sample(WORDS, 3)
    said = await here.say(template.format(words[0]), user)
    line = [each["record_id"] for each in said if each["outcome"] == "promoted"][:1]
    if not line:
        line = [await planted(here, template.format(words[0]), user=user)]
    for value in words[1 : 1 + chance.randint(1, 2)]:
        here.clock.advance(chance.choice((1, 86_400, 30 * 86_400)))
        told = await here.as_user(user).correct_record(line[-1], value=value, text=template.format(value))
        if told["outcome"] == "waiting":
            told = await here.maria.approve_proposal(told["proposal_id"])
        line.append(told["record_id"])
    for _ in range(chance.randrange(3)):
        await planted(here, f"{chance.choice(WORDS)} {chance.choice(WORDS)}", user=user)
    # The old words are asked for: by words and meaning, the old record answers best.
    asked = question.format(words[0])
    given = ids(await here.as_user(user).recall(asked, ranker=ranker))
    assert line[-1] in given
    assert not set(line[:-1]) & set(given)
    told = await here.as_user(user).recall(asked, ranker=ranker, history=True)
    places = {each["id"]: place for place, each in enumerate(told["memories"])}
    for old, new in pairwise(line):
        assert places[new] < places[old]
        memory = told["memories"][places[old]]
        assert memory["superseded_by"] == new
        assert memory["ended_at"]


@sized(small=40, full=200)
@pytest.mark.parametrize("ranker", ["relevance", "blended", "deterministic"])
@pytest.mark.timeout(3_600)
async def test_what_was_put_right_comes_above_what_was_wrong_which_only_history_shows(count: int, ranker: str) -> None:
    await played(count, ranker)


async def played(count: int, ranker: str) -> None:
    async with scene() as here:
        for number in range(count):
            await corrected(here, Random(number), f"user{number}", ranker)


async def test_a_history_that_is_not_put_in_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "below_their_heirs", list)
    with pytest.raises(AssertionError):
        await played(40, "relevance")


async def test_what_was_retracted_is_no_history(here: Scene) -> None:
    gone = (await here.say("I prefer green tea."))[0]["record_id"]
    await here.alice.retract_record(gone)
    assert ids(await here.alice.recall("tea", history=True)) == []
