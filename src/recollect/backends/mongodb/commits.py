"""Deciding commits and erasures: load what they touch, let the domain decide, and put it down as a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.backends.mongodb.documents import (
    WITHOUT_ENTRIES,
    at_address,
    below,
    changed,
    name_of,
    newest_in,
    place_of,
    stored_version,
    version_document,
)
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.index import dropped
from recollect.backends.mongodb.ledger import State
from recollect.backends.mongodb.log import changed_since
from recollect.backends.mongodb.plans import Plan
from recollect.backends.mongodb.schema import ERASURES, EVENTS, RECEIPTS, VERSIONS
from recollect.domain.address import Address, subject_of
from recollect.domain.attributes import NONE
from recollect.domain.commits import Commit, Put, Receipt, Relabel, Unchanged
from recollect.domain.errors import IdempotencyMismatch
from recollect.domain.events import Event
from recollect.domain.instants import Instant
from recollect.domain.planning import (
    Erased,
    Erasure,
    Pinned,
    addresses_of,
    after,
    ended_index_state,
    plan_commit,
    plan_erasure,
)
from recollect.domain.reasons import EndReason, IndexState
from recollect.domain.verification import Kept
from recollect.ports.clock import Ids
from recollect.ports.keys import Sealer

_FEW = 4
"""Up to so many keys are looked up one by one; more are looked up together."""
EMPTY: Document = {
    "value": None,
    "attributes": None,
    "policy_attributes": NONE,
    "archived": 0,
    "index_fields": None,
    "pinned_sequence": None,
}
"""What an emptied version has in place of its contents."""

_encode_receipt = msgspec.msgpack.Encoder().encode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


async def known_receipt(driver: Driver, commit: Commit) -> Receipt | None:
    """The receipt of an earlier identical request."""
    request = commit.idempotency
    if request is None:
        return None
    known = await driver.find_one(RECEIPTS, {"_id": _receipt_name(commit.tenant, request.lookup)})
    if known is None:
        return None
    if known["fingerprint"] != request.fingerprint:
        raise IdempotencyMismatch("this idempotency key was used for a different request")
    first = _decode_receipt(known["receipt"])
    return Receipt(first.outcomes, first.head, replayed=True)


def _receipt_name(tenant: str, lookup: bytes) -> str:
    return f"{tenant}/{lookup.hex()}"


class Loaded:
    """What deciding a commit needs to know, loaded at one state."""

    def __init__(self, commit: Commit, state: State) -> None:
        self.commit = commit
        self.state = state
        self.newest: dict[Address, Document] = {}
        self.pinned: dict[bytes, Pinned] = {}
        self.changed: dict[Unchanged, bool] = {}

    @property
    def subjects(self) -> set[tuple[str, str]]:
        """Whose keys it needs."""
        return {
            (self.commit.tenant, subject_of(each.address.namespace))
            for each in self.commit.operations
            if type(each) is Put
        }

    def decide(self, now: Instant, ids: Ids, sealer: Sealer) -> tuple[Plan, Receipt]:
        """Let the domain decide, and put down what to write."""
        commit, number = self.commit, self.state.number + 1
        decided = plan_commit(
            commit,
            head=self.state.head,
            newest=lambda address: newest_in(found) if (found := self.newest.get(address)) else None,
            pinned=self.pinned.get,
            changed_since=lambda plane, within, since: self.changed[Unchanged(plane, within, since)],
            now=now,
            new_id=ids,
            seal=sealer.seal,
        )
        plan = Plan(decided.head)
        fields: dict[bytes, Document] = {}
        for label in decided.labels:
            fields[label.id] = {
                "policy_attributes": label.policy_attributes,
                "pinned_sequence": label.sequence,
                "index_state": label.index_state.value,
                **NOT_PUT_OFF,
            }
        for ending in decided.endings:
            fields.setdefault(ending.id, {}).update(
                ended_at=ending.at,
                end_reason=ending.reason.value,
                ended_sequence=ending.sequence,
                index_state=ending.index_state.value,
                slot=ending.id,
                **NOT_PUT_OFF,
            )
        stored = {document["_id"]: document for document in self.newest.values()}
        for row_id, change in fields.items():
            name = name_of(row_id)
            plan.changes.append((name, changed(stored[name], number, change), []))
        plan.versions = [version_document(commit.tenant, version, number) for version in decided.versions]
        plan.tell(decided.events)
        if commit.idempotency is not None:
            lookup, fingerprint = commit.idempotency.lookup, commit.idempotency.fingerprint
            kept = _encode_receipt(decided.receipt)
            plan.receipts = [
                {
                    "_id": _receipt_name(commit.tenant, lookup),
                    "tenant": commit.tenant,
                    "fingerprint": fingerprint,
                    "receipt": kept,
                    "at": now,
                }
            ]
        return plan, decided.receipt


NOT_PUT_OFF: Document = {"index_attempts": 0, "index_after": None}


async def load(driver: Driver, commit: Commit, state: State) -> Loaded:
    """Load what deciding the commit needs."""
    loaded = Loaded(commit, state)
    loaded.newest = await newest_of(driver, commit.tenant, addresses_of(commit))
    relabelled = {each.address for each in commit.operations if isinstance(each, Relabel)}
    for address in relabelled & set(loaded.newest):
        document = loaded.newest[address]
        if document["ended_at"] is None and (found := await pinned(driver, document["_id"])) is not None:
            loaded.pinned[found.version.id] = found
    for condition in commit.conditions:
        if isinstance(condition, Unchanged):
            loaded.changed[condition] = await changed_since(
                driver, commit.tenant, condition.plane, condition.within, condition.since
            )
    return loaded


_DECIDING = {"value": 0, "attributes": 0, "entries": 0}


async def newest_of(driver: Driver, tenant: str, addresses: Sequence[Address]) -> dict[Address, Document]:
    """The newest version of each of these keys: the live one, else the last that was."""
    if len(addresses) <= _FEW:
        return {address: found for address in addresses if (found := await _newest(driver, tenant, address))}
    places = {place_of(tenant, address): address for address in addresses}
    live = await driver.find(VERSIONS, {"tenant": tenant, "slot": {"$in": list(places)}}, fields=_DECIDING)
    newest = {places[document["slot"]]: document for document in live}
    rest = [place for place, address in places.items() if address not in newest]
    where = {"tenant": tenant, "place": {"$in": rest}, "gone": None}
    for document in await driver.find(VERSIONS, where, fields=_DECIDING) if rest else []:
        address = places[document["place"]]
        if address not in newest or newest[address]["revision"] < document["revision"]:
            newest[address] = document
    return newest


async def _newest(driver: Driver, tenant: str, address: Address) -> Document | None:
    where = {**at_address(tenant, address), "gone": None}
    last = await driver.find(VERSIONS, where, fields=_DECIDING, order=[("revision", -1)], limit=1)
    return last[0] if last else None


async def pinned(driver: Driver, name: str) -> Pinned | None:
    """A version, and what the event that it claims recorded of it."""
    document = await driver.find_one(VERSIONS, {"_id": name}, WITHOUT_ENTRIES)
    if document is None:
        return None
    claimed = document["pinned_sequence"]
    sequence = document["sequence"] if claimed is None else claimed
    event = await driver.find_one(EVENTS, {"tenant": document["tenant"], "sequence": sequence}, {"digest": 1})
    try:
        return Pinned(stored_version(document), None if event is None else event["digest"])
    except (ValueError, KeyError):  # a field of no known kind: `verify` tells of it
        return None


# -- erasing


async def known_erasure(driver: Driver, erasure: Erasure) -> Erased | None:
    """The receipt of an erasure that was done before."""
    known = await driver.find_one(ERASURES, {"_id": _erasure_name(erasure)})
    return None if known is None else Erased(erasure.id, erasure.tenant, *(known[name] for name in _ERASED))


_ERASED = ("subject", "sequence", "hash", "at", "versions", "live")


def _erasure_name(erasure: Erasure) -> str:
    return f"{erasure.tenant}/{erasure.id.hex()}"


async def plan_erasing(driver: Driver, state: State, erasure: Erasure, now: Instant) -> tuple[Plan, Erased]:
    """Empty every version of the subject in all planes, and leave the receipt."""
    where = {"tenant": erasure.tenant, "namespace": below(erasure.namespace), "gone": None}
    fields = {"value": 0, "attributes": 0, "policy_attributes": 0}
    mine = await driver.find(VERSIONS, where, fields=fields)
    live = sum(document["ended_at"] is None for document in mine)
    event, erased = plan_erasure(erasure, head=state.head, versions=len(mine), live=live, now=now)
    number = state.number + 1
    plan = Plan(after(state.head, event))
    for place, document in enumerate(mine):
        fields = {**EMPTY, **_ending(document, event), **NOT_PUT_OFF, **dropped(document, number, place)}
        plan.changes.append((document["_id"], changed(document, number, fields, forget=True), []))
    plan.note(Kept.EMPTIED, [document["sequence"] for document in mine])
    plan.tell([event])
    told: dict[str, Any] = {name: getattr(erased, name) for name in _ERASED}
    plan.erasures = [{"_id": _erasure_name(erasure), "tenant": erasure.tenant, **told}]
    return plan, erased


def _ending(document: Document, event: Event) -> Document:
    state = ended_index_state(IndexState(document["index_state"]))
    ending: Document = {"index_state": state.value}
    if document["ended_at"] is None:
        ending |= {
            "ended_at": max(event.at, document["written_at"]),
            "end_reason": EndReason.ERASED.value,
            "ended_sequence": event.sequence,
            "slot": bytes.fromhex(document["_id"]),
        }
    return ending
