"""Courses of conversations: personas, turns, and a summarizer that says what it was told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.pipeline.scene import TENANT, Scene

from recollect import Memories
from recollect.domain.conversation.summaries import Summary
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.ports.summarizer import Rolled, Summarizer, Summed, Told

MINUTE = 60


@dataclass
class Echo(Summarizer):
    """Says what it was told, in few words; fails or asks as it is set."""

    name: str = "echo"
    asks: bool = False
    fails: int = 0
    """So many calls fail before one succeeds."""
    told: list[Told] = field(default_factory=list)

    def rolling(self, told: Told) -> Rolled:
        self._called(told)
        return Rolled(text=" / ".join(line.text for line in told.lines), by=self.name)

    def session(self, told: Told) -> Summed:
        self._called(told)
        said = told.lines[0].text if told.lines else "nothing"
        return Summed(summary=Summary(one_liner=said, commitments=told.commitments, people=told.people), by=self.name)

    def _called(self, told: Told) -> None:
        self.told.append(told)
        if self.fails:
            self.fails -= 1
            raise RuntimeError("out of order")


@contextmanager
def summarised_by(memories: Memories, summarizer: Summarizer, *, inline: bool = True) -> Iterator[None]:
    """Let another summarizer make what is due."""
    summarizing = memories.workings.summarizing
    before = summarizing.summarizer, summarizing.inline
    summarizing.summarizer, summarizing.inline = summarizer, inline
    try:
        yield
    finally:
        summarizing.summarizer, summarizing.inline = before


async def rows(memories: Memories, plane: Plane, tenant: str = TENANT) -> list[dict[str, Any]]:
    """Everything in a plane of a tenant, by key."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        query = Find(plane, order=Order.KEY, limit=500, cursor=cursor)
        page = await memories.workings.store.find(tenant, query)
        for row in page.rows:
            where = "/".join((*row.address.namespace.segments, row.address.key))
            found.append({"where": where, "value": msgspec.json.decode(row.value or b"null")})
        cursor = page.cursor
        if cursor is None:
            return found


async def due(here: Scene) -> list[str]:
    """What is noted as due, by its key."""
    return [each["where"] for each in await rows(here.root, Plane.LINK) if each["where"].startswith("conversing/due/")]


async def going_on(here: Scene) -> list[str]:
    """The sessions that are noted as going on."""
    notes = [each["where"] for each in await rows(here.root, Plane.LINK)]
    return [each.rpartition("/")[2] for each in notes if each.startswith("conversing/sessions/")]


async def talk(
    here: Scene, *lines: str, persona: str = "Coach", user: str = "alice", **more: Any
) -> list[dict[str, Any]]:
    """Say these one after the other, a second apart."""
    told = []
    for line in lines:
        here.clock.advance(1)
        told.append(await here.as_user(user).converse(line, persona=persona, **more))
    return told
