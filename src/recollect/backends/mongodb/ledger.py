"""Commits: one document each, numbered without gaps per tenant; whoever inserts the next number has committed.

There are no transactions over several documents, so this is how a commit happens wholly or not at all:

1.  A writer reads the newest commit of the tenant, N, and makes sure that its plan is carried out. Then the collections
    hold exactly what the commits 1 to N did.
2.  It decides what to write, by what is stored, and inserts the plan as commit N + 1, under a name that only this
    number has. That is the commit: durable on a majority before anything else is written. If another writer was first,
    the server refuses the name, nothing has happened, and the decision is made anew. A decision that refuses or changes
    nothing counts only if there still is no commit N + 1, so none is taken on a mixture of two states.
3.  It carries the plan out and notes that in the commit. If it dies before, whoever comes next finds the newest commit
    not carried out, gives its writer a moment, and does it instead. Every write of a plan can be repeated, by several
    at a time.

A reader sees exactly what holds at one number: it takes the newest commit N, carried out, and reads. A later commit may
be carried out meanwhile, so documents say which commit made them, which one changed them last, and what they were
before. If there is a later commit when the search is over, the reader asks for what was changed after N in the same
scope, and sees that as it was at N, and nothing that began later. What was emptied or purged cannot be seen as it was:
then it starts again at a later N.

A commit that was sent and not answered is looked for by its random name. Trying again from fresh state can do no harm:
either the first attempt is found by then, or its number is taken and it can never arrive.

The newest commit also says where the log ends. Old ones are removed, but only long after, since a number that is free
again could be taken by a writer that slept all the time.

All of this needs one thing of the server: that no two documents of a collection get the same name. That a change of one
document is conditional and atomic is needed only when somebody slept in the middle of carrying out a plan and wakes up
after it was carried out for them; servers without that (FerretDB 1) are safe as long as nobody sleeps longer than
`patience_seconds` between two writes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from recollect.backends.mongodb.driver import Document, Driver, Taken
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.plans import Plan, carry_out
from recollect.backends.mongodb.schema import COMMITS, PARTS
from recollect.backends.mongodb.turns import Turns, pause
from recollect.domain.errors import OutcomeUnknown, StoreCorrupt, StoreTrouble
from recollect.domain.events import Head
from recollect.domain.instants import Instant

_PART_BYTES = 8 << 20
_FORGET_SECONDS = 600.0
"""After so long without a look, the newest commit is searched for instead of the one after the last known."""
KEPT_COMMITS = 1_000
KEPT_MICROSECONDS = 86_400 * 1_000_000
"""Commits are removed when there are so many later ones, and they are a day old."""
_LOOK_SECONDS = 0.01
_ID, _STATE = {"_id": 1}, {"plan": 0}


@dataclass(frozen=True, slots=True)
class State:
    """What a tenant is at one commit: its number, which is 0 before the first, and its log's head."""

    tenant: str
    number: int
    head: Head
    commit: bytes = b""


class Ledger:
    """The commits of all tenants."""

    def __init__(self, driver: Driver, options: MongoOptions, turns: Turns, *, direct: bool) -> None:
        self._driver = driver
        self._options = options
        self._turns = turns
        self._direct = direct
        self._known: dict[str, tuple[int, float]] = {}

    async def state(self, tenant: str) -> State:
        """The newest commit, carried out by whomever; what the collections hold is this, or later."""
        document = await self._newest(tenant)
        if document is not None and not document["applied"]:
            async with self._turns.turn(tenant):
                document = await self._settled(tenant)
        return _state(tenant, document)

    async def own_state(self, tenant: str) -> State:
        """The same, for one whose turn it is."""
        return _state(tenant, await self._settled(tenant))

    async def is_newest(self, state: State) -> bool:
        """True while there is no commit after this one."""
        return await self._driver.find_one(COMMITS, {"_id": commit_name(state.tenant, state.number + 1)}, _ID) is None

    async def append(self, state: State, commit: bytes, plan: Plan, now: Instant) -> bool:
        """Make this the next commit, and carry it out; False when another one was first."""
        encoded = plan.encoded()
        document = _document(state, commit, plan.head, now)
        if len(encoded) > _PART_BYTES:
            document["parts"] = await self._put_aside(state.tenant, commit, encoded, now)
        else:
            document["plan"] = encoded
        try:
            await self._driver.insert(COMMITS, document)
        except Taken:
            # The driver may have sent it twice, and been answered the second time only.
            if not await self.contains(state, commit):
                if document["parts"]:
                    await self._driver.remove(PARTS, {"commit": commit})
                return False
        try:
            await self._finish(document, encoded)
        except StoreCorrupt:
            raise
        except StoreTrouble:
            pass  # it is committed; whoever comes next carries it out
        return True

    async def contains(self, state: State, commit: bytes) -> bool:
        """True when one of the commits from this state on has that random name; they are all kept for a day."""
        where = {"tenant": state.tenant, "number": {"$gt": state.number}, "commit": commit}
        return await self._driver.find_one(COMMITS, where, _ID) is not None

    async def trim(self, state: State, now: Instant) -> None:
        """Remove commits that nobody needs any more, and parts of such as never came to be; this one is carried out."""
        old = {"$lte": now - KEPT_MICROSECONDS}
        last = {"$lte": state.number - KEPT_COMMITS}
        await self._driver.remove(COMMITS, {"tenant": state.tenant, "number": last, "at": old})
        await self._driver.remove(PARTS, {"tenant": state.tenant, "at": old})

    async def tenants(self) -> list[str]:
        """Every tenant with an event."""
        return sorted(await self._driver.distinct(COMMITS, "tenant", {"sequence": {"$gt": 0}}))

    # -- inner

    async def _newest(self, tenant: str) -> Document | None:
        """The newest commit: the one after the last known, if that was a moment ago; else searched for."""
        number, seen = self._known.get(tenant, (0, 0.0))
        found: Document | None = None
        if number and time.monotonic() - seen < _FORGET_SECONDS:
            found = await self._driver.find_one(COMMITS, {"_id": commit_name(tenant, number)}, _STATE)
            following = await self._driver.find_one(COMMITS, {"_id": commit_name(tenant, number + 1)}, _ID)
            if following is not None:
                found = None
        if found is None:
            newest = await self._driver.find(
                COMMITS, {"tenant": tenant}, fields=_STATE, order=[("number", -1)], limit=1
            )
            found = newest[0] if newest else None
        if found is not None:
            self._known[tenant] = (found["number"], time.monotonic())
        return found

    async def _settled(self, tenant: str) -> Document | None:
        until = time.monotonic() + self._options.patience_seconds
        while True:
            document = await self._newest(tenant)
            if document is None or document["applied"]:
                return document
            if time.monotonic() >= until:
                break
            await pause(_LOOK_SECONDS, direct=self._direct)
        whole = await self._driver.find_one(COMMITS, {"_id": document["_id"]})
        if whole is not None and not whole["applied"]:
            await self._finish(whole, await self._plan_in(whole))
        return document

    async def _finish(self, document: Document, encoded: bytes) -> None:
        await carry_out(self._driver, document["tenant"], document["number"], encoded)
        done = {"$set": {"applied": True}, "$unset": {"plan": ""}}
        await self._driver.change(COMMITS, [({"_id": document["_id"]}, done)])
        self._known[document["tenant"]] = (document["number"], time.monotonic())
        if document["parts"]:
            await self._driver.remove(PARTS, {"commit": document["commit"]})

    async def _put_aside(self, tenant: str, commit: bytes, encoded: bytes, now: Instant) -> int:
        """Insert a plan that is too large for one document in parts, before the commit that needs them."""
        pieces = [encoded[start : start + _PART_BYTES] for start in range(0, len(encoded), _PART_BYTES)]
        for place, piece in enumerate(pieces):
            name = f"{commit.hex()}/{place}"
            part: Document = {"_id": name, "tenant": tenant, "commit": commit, "at": now, "plan": piece}
            await self._driver.insert(PARTS, part)
        return len(pieces)

    async def _plan_in(self, document: Document) -> bytes:
        if not document["parts"]:
            return bytes(document["plan"])
        names = [f"{document['commit'].hex()}/{place}" for place in range(document["parts"])]
        found = {part["_id"]: part["plan"] for part in await self._driver.find(PARTS, {"_id": {"$in": names}})}
        if len(found) < len(names):
            # Whoever finished it removes the parts after noting that, so it is finished.
            again = await self._driver.find_one(COMMITS, {"_id": document["_id"]}, _STATE)
            if again is None or not again["applied"]:
                raise StoreCorrupt("a part of a commit is gone: restore from a backup")
            return Plan(Head()).encoded()
        return b"".join(found[name] for name in names)


class Attempts:
    """What became of commits that were sent and not answered."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._sent: list[tuple[State, bytes, Any]] = []

    def sent(self, state: State, commit: bytes, result: Any) -> None:
        """Remember an attempt, and what it would return."""
        self._sent.append((state, commit, result))

    async def landed(self) -> tuple[Any] | None:
        """What an earlier attempt returns, if one of them arrived after all."""
        for state, commit, result in self._sent:
            if await self._ledger.contains(state, commit):
                return (result,)
        return None

    def unknown(self, problem: StoreTrouble) -> StoreTrouble:
        """The error to raise when no more can be found out."""
        if self._sent and not isinstance(problem, OutcomeUnknown):
            return OutcomeUnknown("the connection to MongoDB broke while it was writing, and is still broken")
        return problem

    @property
    def some(self) -> bool:
        """True when the outcome of an attempt is open."""
        return bool(self._sent)


def commit_name(tenant: str, number: int) -> str:
    """The name of a commit's document."""
    return f"{tenant}/{number:016x}"


def _document(state: State, commit: bytes, head: Head, now: Instant) -> Document:
    return {
        "_id": commit_name(state.tenant, state.number + 1),
        "tenant": state.tenant,
        "number": state.number + 1,
        "commit": commit,
        "at": now,
        "sequence": head.sequence,
        "hash": head.hash,
        "trimmed": head.trimmed,
        "trimmed_hash": head.trimmed_hash,
        "applied": False,
        "parts": 0,
    }


def _state(tenant: str, document: Document | None) -> State:
    if document is None:
        return State(tenant, 0, Head())
    head = Head(document["sequence"], document["hash"], document["trimmed"], document["trimmed_hash"])
    return State(tenant, document["number"], head, document["commit"])
