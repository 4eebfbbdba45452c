"""A tenant with users, agents and reviewers, for what comes in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import recollect
from recollect import Memories, Settings
from recollect.domain.callers import new_caller
from recollect.testing.doubles import ManualClock

TENANT = "tenant_acme_prod"
SETTINGS = Settings(embedder="hashing")


@dataclass
class Scene:
    """Everybody's view of one store."""

    root: Memories
    clock: ManualClock

    def as_user(self, name: str = "alice", *roles: str) -> Memories:
        """The memories in the name of a user."""
        return self.root.for_caller(new_caller(TENANT, name, roles=roles))

    @property
    def alice(self) -> Memories:
        return self.as_user()

    @property
    def maria(self) -> Memories:
        """A reviewer."""
        return self.as_user("maria", "reviewer")

    @property
    def theo(self) -> Memories:
        """Another reviewer."""
        return self.as_user("theo", "reviewer")

    @property
    def admin(self) -> Memories:
        return self.as_user("root", "admin")

    async def say(self, text: str, user: str = "alice", **more: Any) -> list[dict[str, Any]]:
        """What is remembered of what a user says."""
        told = await self.as_user(user).capture([{"text": text, **more}])
        found: list[dict[str, Any]] = told[0]["remembered"]
        return found

    async def outcomes(self, text: str, **more: Any) -> list[str]:
        return [each["outcome"] for each in await self.say(text, **more)]

    async def texts(self, user: str = "alice", **asked: Any) -> list[str]:
        """What the records of a user say, oldest first."""
        page = await self.as_user(user).list_records(limit=200, **asked)
        return [each["text"] for each in reversed(page["records"])]

    async def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.maria.list_proposals(limit=200))["proposals"]
        return found

    async def events(self, user: str = "alice") -> list[dict[str, Any]]:
        """Every trace event of a user, in order."""
        page = await self.as_user(user).list_traces(limit=200)
        return [event for each in reversed(page["traces"]) for event in each["events"]]


@asynccontextmanager
async def scene(place: str = ":memory:", **settings: Any) -> AsyncIterator[Scene]:
    """A scene over a store."""
    clock = ManualClock()
    async with recollect.open(place, settings=settings.pop("settings", SETTINGS), clock=clock) as root:
        yield Scene(root, clock)
