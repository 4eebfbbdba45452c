"""A year of conversation: nothing that was said of anybody is lost, and what is kept of each stays within bounds."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Any

from tests.conversation.year import ENTITIES, year
from tests.pipeline.scene import scene
from tests.sizes import sized

from recollect import Memories
from recollect.domain.conversation.curating import FOLD_FROM, MOST_ITEMS

SOURCE = sha256(b"a year").hexdigest()
_PAGE = 100
_OF_ONE = 10
"""So many different things are said of one entity at most."""


def test_a_year_is_the_same_each_time() -> None:
    assert year(300) == year(300)
    assert year(300, seed=8) != year(300)
    assert len(year().facts) == ENTITIES
    assert [each["at"] for each in year(300).turns] == sorted(each["at"] for each in year(300).turns)


async def curated(alice: Memories) -> int:
    """Curate until there is nothing left to do."""
    done = 0
    while actions := (await alice.curate())["actions"]:
        done += len(actions)
    return done


async def live(alice: Memories) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await alice.list_records(limit=500, cursor=cursor)
        found += page["records"]
        cursor = page["cursor"]
        if cursor is None:
            return found


@sized(400, 50_000)
async def test_a_year_is_kept_whole_and_within_bounds(count: int) -> None:
    told = year(count)
    every = max(count // 20, _PAGE)
    async with scene() as here:
        alice, folded = here.alice, 0
        for start in range(0, count, _PAGE):
            page = told.turns[start : start + _PAGE]
            await alice.import_conversation(page, source=SOURCE, position=start)
            if (start + _PAGE) % every == 0:
                here.clock.advance(86_400)
                folded += await curated(alice)
        folded += await curated(alice)
        records = await live(alice)
        newest = (await alice.list_messages(limit=1))["messages"]
    assert newest[0]["number"] == count
    assert folded > 0
    said = {each["text"] for each in records}
    said |= {item for each in records if each.get("origin") == "curated_fold" for item in each["value"]}
    lost = {fact for facts in told.facts.values() for fact in facts} - said
    assert not lost
    loose = Counter(each["entity"] for each in records if each.get("origin") == "shadow_extraction")
    folds = Counter(each["entity"] for each in records if each.get("origin") == "curated_fold")
    known = {name: count for name, count in loose.items() if not name.startswith("user:")}
    assert not known or max(known.values()) < FOLD_FROM
    assert max(folds.values()) <= _OF_ONE // FOLD_FROM
    assert all(len(each["value"]) <= MOST_ITEMS for each in records if each.get("origin") == "curated_fold")
    assert len(known) + len(folds) <= 2 * ENTITIES
