"""What the search index keeps: entries within the documents of their versions, so that they share their fate.

A change of entries is numbered by its commit and its place in it, so that who reads on misses none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.backends.mongodb.documents import below, changed, name_of, stored_version
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.ledger import State
from recollect.backends.mongodb.plans import Plan
from recollect.backends.mongodb.reads import waiting
from recollect.backends.mongodb.schema import VERSIONS
from recollect.backends.mongodb.sealing import Sealing
from recollect.backends.mongodb.views import View
from recollect.domain.address import Namespace
from recollect.domain.errors import KeyErased
from recollect.domain.instants import Instant
from recollect.domain.planning import detail_field, entry_field
from recollect.domain.reasons import IndexState, Plane
from recollect.domain.retention import Swept
from recollect.ports.keys import Sealer
from recollect.ports.store import Entry, EntryPage, IndexFigures, Mark, Pending, Place, Reflected

_PLACES = 24
"""How many bits of a change's number say which place it has in its commit."""
_CONTENTS = {"value": 0, "attributes": 0}
_PENDING, _DONE, _UNWANTED = IndexState.PENDING.value, IndexState.DONE.value, IndexState.UNWANTED.value
_MARKED: Document = {"index_state": _DONE, "index_attempts": 0, "index_after": None}


def _series(series: int) -> str:
    return f"s{series}"


def _change(number: int, place: int) -> int:
    return (number << _PLACES) + place


def _upto(number: int) -> int:
    return ((number + 1) << _PLACES) - 1


def dropped(document: Document, number: int, place: int) -> Document:
    """What to set so that a version's entries are gone, and that those who read on hear of it."""
    kept = document.get("entries") or {}
    if not any("content" in each for each in kept.values()):
        return {}
    return {"entries": {name: {} for name in kept}, "change": _change(number, place)}


# -- deciding


async def _marked(driver: Driver, tenant: str, marks: Sequence[Mark]) -> dict[bytes, Document]:
    names = list({name_of(mark.id): None for mark in marks})
    where: Document = {"_id": names[0]} if len(names) == 1 else {"_id": {"$in": names}}
    found = await driver.find(VERSIONS, where, fields=_CONTENTS) if names else []
    mine = [document for document in found if document["tenant"] == tenant and not document.get("gone")]
    return {bytes.fromhex(document["_id"]): document for document in mine}


def _as_read(document: Document, mark: Mark) -> bool:
    read = (document["ended_at"] is None, document["pinned_sequence"])
    return read == (mark.live, mark.pinned_sequence)


async def plan_marks(driver: Driver, state: State, marks: Sequence[Mark]) -> tuple[Plan, int]:
    """Mark versions that are still as they were read."""
    plan, found = Plan(state.head), await _marked(driver, state.tenant, marks)
    for document in _still_as_read(found, marks):
        _put_down(plan, state, document, _MARKED)
    return plan, len(plan.changes)


def _still_as_read(found: dict[bytes, Document], marks: Sequence[Mark]) -> Iterator[Document]:
    """The versions that wait, and are as these marks say."""
    for mark in dict.fromkeys(marks):
        document = found.get(mark.id)
        if document is not None and document["index_state"] == _PENDING and _as_read(document, mark):
            yield document


async def plan_put_off(driver: Driver, state: State, marks: Sequence[Mark], until: Instant) -> tuple[Plan, None]:
    """Let these wait until a moment, unless they changed."""
    plan, found = Plan(state.head), await _marked(driver, state.tenant, marks)
    for document in _still_as_read(found, marks):
        fields = {"index_attempts": document["index_attempts"] + 1, "index_after": until}
        _put_down(plan, state, document, fields)
    return plan, None


async def plan_reflecting(
    driver: Driver, state: State, series: int, reflected: Sequence[Reflected], sealing: Sealing
) -> tuple[Plan, int]:
    """Keep entries with their marks, where the versions are as they were read."""
    found = await _marked(driver, state.tenant, [each.mark for each in reflected])

    def decide() -> tuple[Plan, int]:
        plan, done = Plan(state.head), 0
        changes: dict[bytes, Document] = {}
        for place, each in enumerate(reflected):
            document = found.get(each.mark.id)
            if document is None or document["index_state"] == _UNWANTED:
                continue
            fields = _reflected(document, each, series, state.number + 1, place, sealing.sealer)
            if fields is not None:
                changes.setdefault(each.mark.id, {}).update(fields)
                done += 1
        for row_id, fields in changes.items():
            _put_down(plan, state, found[row_id], fields)
        return plan, done

    return await sealing.seal(decide)


def _reflected(
    document: Document, reflected: Reflected, series: int, number: int, place: int, sealer: Sealer
) -> Document | None:
    """What to set on a version that is as it was read; None when it is not."""
    mark = reflected.mark
    if not mark.live:
        ended = document["ended_at"] is not None and document["index_state"] == _PENDING
        return {**_MARKED, **dropped(document, number, place)} if ended else None
    if not _as_read(document, mark):
        return None
    if reflected.entry is None:
        return dict(_MARKED)
    version, tenant = stored_version({**document, "value": None, "attributes": None}), document["tenant"]
    where = (tenant, version.address, version.id, version.revision)
    entry = {"content": sealer.seal(*where, entry_field(series), reflected.entry)}
    if reflected.detail is not None:
        entry["detail"] = sealer.seal(*where, detail_field(series), reflected.detail)
    kept = {**(document.get("entries") or {}), _series(series): entry}
    document["entries"] = kept
    return {**_MARKED, "entries": kept, "change": _change(number, place)}


def _put_down(plan: Plan, state: State, document: Document, fields: Document) -> None:
    """Change a version. What the index kept of it is not needed again, unlike its other earlier states."""
    kept: Document = {name: fields[name] for name in ("entries", "change") if name in fields}
    rest = {name: value for name, value in fields.items() if name not in kept}
    plan.changes.append((document["_id"], {**changed(document, state.number + 1, rest), **kept}, []))


async def plan_dropping(driver: Driver, state: State, series: int, limit: int) -> tuple[Plan, Swept]:
    """Remove entries of a series; nobody who reads entries reads that one any more."""
    path = f"entries.{_series(series)}"
    where = {"tenant": state.tenant, path: {"$exists": True}}
    found = await driver.find(VERSIONS, where, fields=_CONTENTS, limit=limit)
    plan = Plan(state.head)
    for document in found:
        plan.changes.append((document["_id"], changed(document, state.number + 1, {}), [path]))
    return plan, Swept(len(found), more=len(found) == limit)


# -- reading


async def entries(
    driver: Driver,
    state: State,
    sealing: Sealing,
    plane: Plane,
    within: Namespace,
    series: int,
    after: Place | None,
    limit: int,
) -> EntryPage:
    """A page of what is kept in a scope. What is kept from now on comes again as a change."""
    where = {**_scope(state, plane, within), f"entries.{_series(series)}.content": {"$exists": True}}
    if after is not None:
        beyond = [{"namespace": {"$gt": after[0]}}, {"namespace": after[0], "sequence": {"$gt": after[1]}}]
        where = {"$and": [where, {"$or": beyond}]}
    order = [("namespace", 1), ("sequence", 1)]
    stored = await driver.find(VERSIONS, where, fields=_CONTENTS, order=order, limit=limit)
    found = await sealing.open(lambda: [_entry(document, series, sealing.sealer) for document in stored])
    last = (stored[-1]["namespace"], stored[-1]["sequence"]) if len(stored) == limit else None
    return EntryPage([entry for entry in found if entry.content is not None], _upto(state.number), last)


async def entry_changes(
    driver: Driver,
    state: State,
    sealing: Sealing,
    plane: Plane,
    within: Namespace,
    series: int,
    since: int,
    limit: int,
) -> EntryPage:
    """What was kept or dropped in a scope; a later commit may be on its way, so no more than this state is promised."""
    if _upto(state.number) <= since:
        return EntryPage([], since)
    where = {
        **_scope(state, plane, within),
        "change": {"$gt": since},
        f"entries.{_series(series)}": {"$exists": True},
    }
    stored = await driver.find(VERSIONS, where, fields=_CONTENTS, order=[("change", 1)], limit=limit)
    more = len(stored) == limit and stored[-1]["change"] <= _upto(state.number)
    found = await sealing.open(lambda: [_entry(document, series, sealing.sealer) for document in stored])
    return EntryPage(found, int(stored[-1]["change"]) if more else _upto(state.number), more=more)


def _scope(state: State, plane: Plane, within: Namespace) -> Document:
    return {"tenant": state.tenant, "plane": plane.value, "namespace": below(within)}


def _entry(document: Document, series: int, sealer: Sealer) -> Entry:
    kept = document["entries"][_series(series)]
    return Entry(
        bytes.fromhex(document["_id"]),
        document["namespace"],
        document["created_at"],
        document["sequence"],
        document["expires_at"],
        document["archived"] == 1,
        document["policy_attributes"],
        _opened(document, entry_field(series), kept.get("content"), sealer),
    )


def _opened(document: Document, field: str, sealed: bytes | None, sealer: Sealer) -> bytes | None:
    if sealed is None:
        return None
    version = stored_version({**document, "value": None, "attributes": None})
    try:
        return sealer.open(document["tenant"], version.address, version.id, version.revision, field, sealed)
    except KeyErased:
        return None


async def entries_of(driver: Driver, state: State, sealing: Sealing, series: int, ids: Sequence[bytes]) -> list[Entry]:
    """What is kept of these."""
    path = f"entries.{_series(series)}.content"
    where = {"_id": {"$in": [name_of(each) for each in ids]}, "tenant": state.tenant, path: {"$exists": True}}
    stored = await driver.find(VERSIONS, where, fields=_CONTENTS) if ids else []
    found = await sealing.open(lambda: [_entry(document, series, sealing.sealer) for document in stored])
    return [entry for entry in found if entry.content is not None]


async def details(
    driver: Driver, state: State, sealing: Sealing, series: int, ids: Sequence[bytes]
) -> dict[bytes, bytes]:
    """What entries have beside their contents."""
    path = f"entries.{_series(series)}.detail"
    where = {"_id": {"$in": [name_of(each) for each in ids]}, "tenant": state.tenant, path: {"$exists": True}}
    stored = await driver.find(VERSIONS, where, fields=_CONTENTS) if ids else []

    def opened() -> dict[bytes, bytes]:
        found = {
            bytes.fromhex(each["_id"]): _opened(
                each, detail_field(series), each["entries"][_series(series)]["detail"], sealing.sealer
            )
            for each in stored
        }
        return {row_id: detail for row_id, detail in found.items() if detail is not None}

    return await sealing.open(opened)


async def lacking(
    driver: Driver, view: View, sealing: Sealing, series: int, after: int, limit: int
) -> tuple[list[Pending], int]:
    """Live versions that are reflected elsewhere but not in this series."""
    where = {
        "tenant": view.state.tenant,
        "sequence": {"$gt": after},
        "began": {"$lte": view.state.number},
        "ended_at": None,
        "index_state": _DONE,
        f"entries.{_series(series)}.content": {"$exists": False},
    }
    found = await driver.find(VERSIONS, where, fields={"entries": 0}, order=[("sequence", 1)], limit=limit)
    last = found[-1]["sequence"] if found else after
    return await waiting(sealing, [{**document, "index_attempts": 0} for document in found]), last


async def figures(driver: Driver, state: State, series: int) -> IndexFigures:
    """How much there is, and how much waits."""
    mine: Document = {"tenant": state.tenant}
    kept = await driver.count(VERSIONS, {**mine, f"entries.{_series(series)}.content": {"$exists": True}})
    pending = await driver.count(VERSIONS, {**mine, "index_state": _PENDING})
    deferred = await driver.count(VERSIONS, {**mine, "index_state": _PENDING, "index_attempts": {"$gt": 0}})
    return IndexFigures(kept, pending, deferred)
