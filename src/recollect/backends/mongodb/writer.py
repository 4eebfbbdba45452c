"""Writing: decide on the newest state, append the commit, and begin again when another one was first."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from recollect.backends.mongodb import upkeep
from recollect.backends.mongodb.commits import known_erasure, known_receipt, load, plan_erasing
from recollect.backends.mongodb.driver import Driver, Lost
from recollect.backends.mongodb.index import plan_reflecting
from recollect.backends.mongodb.ledger import Attempts, Ledger, State
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.plans import Plan
from recollect.backends.mongodb.sealing import Sealing
from recollect.backends.mongodb.turns import Turns, pause
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import RecollectError, StoreBusy, StoreTrouble
from recollect.domain.planning import Erased, Erasure, expire_commit
from recollect.domain.retention import Pass, Retention, Swept, due_before
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import erasure_of
from recollect.ports.store import Reflected

Result = TypeVar("Result")
Decide = Callable[[State], Awaitable[tuple[Plan, Result]]]
_FRESH_SECONDS = 60.0
"""A decision older than this is made anew rather than sent: commits are removed only much later."""


class Writer:
    """Carries out what changes something, one after the other within a tenant."""

    def __init__(
        self,
        driver: Driver,
        ledger: Ledger,
        options: MongoOptions,
        turns: Turns,
        sealing: Sealing,
        clock: Clock,
        ids: Ids,
        *,
        direct: bool,
    ) -> None:
        self._driver = driver
        self._ledger = ledger
        self._options = options
        self._turns = turns
        self._sealing = sealing
        self._clock = clock
        self._ids = ids
        self._direct = direct

    async def write(self, tenant: str, decide: Decide[Result]) -> Result:
        """Append what is decided as a commit, and return what was decided with it."""
        until = time.monotonic() + self._options.busy_seconds
        attempts = Attempts(self._ledger)
        async with self._turns.turn(tenant):
            while True:
                try:
                    answer = await self._attempt(tenant, decide, attempts)
                except StoreTrouble as problem:
                    if not attempts.some or time.monotonic() > until:
                        raise attempts.unknown(problem) from problem
                    answer = None
                if answer is not None:
                    return answer[0]
                if time.monotonic() > until:
                    raise attempts.unknown(StoreBusy("other processes were always first: try again"))
                # Rivals that wait for different times get out of each other's way.
                await pause(random.uniform(0, 0.01), direct=self._direct)  # noqa: S311 - no secret

    async def _attempt(self, tenant: str, decide: Decide[Result], attempts: Attempts) -> tuple[Result] | None:
        """Try once: the result, or None when it is to be tried again."""
        began = time.monotonic()
        state = await self._ledger.own_state(tenant)
        if attempts.some and (landed := await attempts.landed()) is not None:
            return landed
        try:
            plan, result = await decide(state)
        except StoreTrouble:
            raise
        except RecollectError:
            if await self._ledger.is_newest(state):
                raise
            return None
        if plan.empty and plan.head == state.head:
            return (result,) if await self._ledger.is_newest(state) else None
        if time.monotonic() - began > _FRESH_SECONDS:
            return None
        commit = secrets.token_bytes(16)
        try:
            return (result,) if await self._ledger.append(state, commit, plan, self._clock()) else None
        except Lost:
            attempts.sent(state, commit, result)
            raise

    # -- what is written

    async def commit(self, commit: Commit) -> Receipt:
        """Carry out a commit."""
        return await self.write(commit.tenant, lambda state: self._decide(state, commit))

    async def _decide(self, state: State, commit: Commit) -> tuple[Plan, Receipt]:
        known = await known_receipt(self._driver, commit)
        if known is not None:
            return Plan(state.head), known
        state = await self._without_destroyed(state)
        loaded = await load(self._driver, commit, state)
        now = self._clock()

        def decide() -> tuple[Plan, Receipt]:
            self._sealing.sealer.prepare(loaded.subjects)
            return loaded.decide(now, self._ids, self._sealing.sealer)

        return await self._sealing.seal(decide)

    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries with their marks."""

        async def decide(state: State) -> tuple[Plan, int]:
            state = await self._without_destroyed(state)
            return await plan_reflecting(self._driver, state, series, reflected, self._sealing)

        return await self.write(tenant, decide)

    async def _without_destroyed(self, state: State) -> State:
        """The state once everything is emptied of which the keys were destroyed, so that new keys seal nothing old.

        If that took a commit, the caller's own is no longer the next one, and is decided anew.
        """
        for destruction in await self._sealing.seal(self._sealing.sealer.refresh):
            erasure = erasure_of(destruction)
            if destruction.tenant != state.tenant or await known_erasure(self._driver, erasure) is not None:
                continue
            plan, _ = await plan_erasing(self._driver, state, erasure, self._clock())
            await self._ledger.append(state, secrets.token_bytes(16), plan, self._clock())
            state = await self._ledger.own_state(state.tenant)
        return state

    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject, once."""

        async def decide(state: State) -> tuple[Plan, Erased]:
            known = await known_erasure(self._driver, erasure)
            if known is not None:
                return Plan(state.head), known
            return await plan_erasing(self._driver, state, erasure, self._clock())

        return await self.write(erasure.tenant, decide)

    async def sweep(self, tenant: str, step: Pass, retention: Retention, limit: int) -> Swept:
        """One batch of one pass."""
        now = self._clock()
        if step is Pass.EXPIRE:
            return await self.write(tenant, lambda state: self._expire(state, limit))
        if step is Pass.TRIM:
            swept = await self.write(
                tenant, lambda state: upkeep.plan_trimming(self._driver, state, retention, limit, now)
            )
            await self._ledger.trim(await self._ledger.state(tenant), now)
            return swept
        before = due_before(step, retention, now)
        if before is None:
            return Swept(0, more=False)
        if step is Pass.PURGE:
            return await self.write(tenant, lambda state: upkeep.plan_purging(self._driver, state, before, limit, now))
        return await self.write(tenant, lambda state: upkeep.plan_emptying(self._driver, state, step, before, limit))

    async def _expire(self, state: State, limit: int) -> tuple[Plan, Swept]:
        now = self._clock()
        addresses, more = await upkeep.expired(self._driver, state, now, limit)
        if not addresses:
            return Plan(state.head), Swept(0, more=False)
        loaded = await load(self._driver, expire_commit(state.tenant, addresses), state)
        plan, _ = await self._sealing.seal(lambda: loaded.decide(now, self._ids, self._sealing.sealer))
        return plan, Swept(len(addresses), more)
