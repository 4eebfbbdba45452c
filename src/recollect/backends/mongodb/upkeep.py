"""Sweeping: each batch of each pass is a commit like any other."""

from __future__ import annotations

from contextlib import aclosing

from recollect.backends.mongodb.commits import EMPTY
from recollect.backends.mongodb.documents import WITHOUT_ENTRIES, address_in, changed
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.ledger import State
from recollect.backends.mongodb.plans import Plan
from recollect.backends.mongodb.schema import EVENTS, RECEIPTS, VERSIONS
from recollect.domain.address import Address
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.retention import EMPTIES, Pass, Retention, Swept, cutoff
from recollect.domain.verification import Kept

_STUBS_MICROSECONDS = 86_400 * 1_000_000
"""How long what is left of a purged version keeps a late writer from making it anew."""
_OLDEST = [("ended_at", 1), ("sequence", 1)]
_KEY = {"place": 1, "revision": 1, "ended_at": 1, "value": 1, "index_state": 1}


async def expired(driver: Driver, state: State, now: Instant, limit: int) -> tuple[list[Address], bool]:
    """Where live versions are whose time is up, and whether there are more."""
    where = {"tenant": state.tenant, "ended_at": None, "expires_at": {"$lte": now}}
    order = [("expires_at", 1), ("sequence", 1)]
    fields = {"plane": 1, "namespace": 1, "key": 1}
    due = await driver.find(VERSIONS, where, fields=fields, order=order, limit=limit + 1)
    return [address_in(document) for document in due[:limit]], len(due) > limit


async def plan_emptying(driver: Driver, state: State, step: Pass, before: Instant, limit: int) -> tuple[Plan, Swept]:
    """Drop the values of versions that ended long enough ago."""
    reasons = [reason.value for reason in EMPTIES[step]]
    where = {**_ended(state, before), "end_reason": {"$in": reasons}, "value": {"$ne": None}}
    fields = {**WITHOUT_ENTRIES, "value": 0, "attributes": 0}
    due = await driver.find(VERSIONS, where, fields=fields, order=_OLDEST, limit=limit + 1)
    plan, number = Plan(state.head), state.number + 1
    for document in due[:limit]:
        plan.changes.append((document["_id"], changed(document, number, EMPTY, forget=True), []))
    plan.note(Kept.EMPTIED, [document["sequence"] for document in due[:limit]])
    return plan, Swept(len(due[:limit]), len(due) > limit)


def _ended(state: State, before: Instant) -> Document:
    """What ended by then, is known to the index, and was not purged."""
    return {
        "tenant": state.tenant,
        "ended_at": {"$lte": before, "$ne": None},
        "index_state": {"$ne": "pending"},
        "gone": None,
    }


async def plan_purging(driver: Driver, state: State, before: Instant, limit: int, now: Instant) -> tuple[Plan, Swept]:
    """Drop what is left of versions that ended long ago, the oldest of a key first."""
    await driver.remove(VERSIONS, {"tenant": state.tenant, "gone_at": {"$lte": now - _STUBS_MICROSECONDS}})
    due: list[Document] = []
    fields = {**WITHOUT_ENTRIES, "policy_attributes": 0}
    where = {**_ended(state, before), "value": None}
    async with aclosing(driver.stream(VERSIONS, where, fields=fields, order=_OLDEST)) as batches:
        async for batch in batches:
            due += await _without_older(driver, state.tenant, batch)
            if len(due) > limit:
                break
    plan, number = Plan(state.head), state.number + 1
    for document in due[:limit]:
        gone = changed(document, number, {"gone": number, "gone_at": now}, forget=True)
        plan.changes.append((document["_id"], gone, ["entries", "change"]))
    plan.note(Kept.PURGED, [document["sequence"] for document in due[:limit]])
    return plan, Swept(len(due[:limit]), len(due) > limit)


async def _without_older(driver: Driver, tenant: str, batch: list[Document]) -> list[Document]:
    """Those that no older version of their key has to wait for."""
    places = list({document["place"] for document in batch})
    where = {"tenant": tenant, "place": {"$in": places}, "gone": None}
    siblings = await driver.find(VERSIONS, where, fields=_KEY)
    waits: dict[bytes, int] = {}
    for each in siblings:
        if each["ended_at"] is not None and (each["value"] is not None or each["index_state"] == "pending"):
            waits[each["place"]] = min(each["revision"], waits.get(each["place"], each["revision"]))
    return [each for each in batch if each["place"] not in waits or each["revision"] < waits[each["place"]]]


async def plan_trimming(
    driver: Driver, state: State, retention: Retention, limit: int, now: Instant
) -> tuple[Plan, Swept]:
    """Forget receipts that are too old, and move the beginning of the log; what lies before it is removed next time.

    So whoever reads it just now still finds it.
    """
    head = state.head
    await driver.remove(EVENTS, {"tenant": state.tenant, "sequence": {"$lte": head.trimmed}})
    plan, old = Plan(head), cutoff(now, retention.receipts)
    if old is not None:
        where: Document = {"tenant": state.tenant, "at": {"$lte": old}}
        found = await driver.find(RECEIPTS, where, fields={"_id": 1}, limit=limit)
        plan.outdated, plan.forgotten = [document["_id"] for document in found], old
    cut: list[Document] = []
    old = cutoff(now, retention.events)
    if old is not None:
        where = {"tenant": state.tenant, "sequence": {"$gt": head.trimmed, "$lt": head.sequence}}
        oldest = await driver.find(EVENTS, where, order=[("sequence", 1)], limit=limit)
        for event in oldest:
            if event["at"] > old:
                break
            cut.append(event)
    if cut:
        plan.head = Head(head.sequence, head.hash, cut[-1]["sequence"], cut[-1]["hash"])
    receipts = len(plan.outdated)
    return plan, Swept(receipts + len(cut), more=receipts == limit or len(cut) == limit)
