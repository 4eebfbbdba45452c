"""Reading and checking the log."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from itertools import groupby
from typing import Any

from recollect.backends.mongodb.documents import (
    WITHOUT_ENTRIES,
    Moved,
    as_at,
    below,
    event_in,
    name_of,
    place_of,
    stored_version,
)
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.ledger import Ledger
from recollect.backends.mongodb.schema import EVENTS, VERSIONS
from recollect.backends.mongodb.sealing import Sealing
from recollect.backends.mongodb.views import View
from recollect.domain.address import SEPARATOR, Namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.events import Entry, Event
from recollect.domain.filters import matches
from recollect.domain.planning import Version
from recollect.domain.queries import EventPage, EventQuery, check_reach
from recollect.domain.reasons import EventKind, Finding, Plane
from recollect.domain.verification import Kept, LogChecker, Problem
from recollect.ports.store import Progress, Verification

_OPENING = (EventKind.ADD, EventKind.UPDATE)
_IN_ORDER = [("sequence", 1)]
_BY_PLACE = [("plane", 1), ("namespace", 1), ("key", 1), ("revision", 1)]


async def events(driver: Driver, ledger: Ledger, view: View, sealing: Sealing, query: EventQuery) -> EventPage:
    """A page of the log, and of the versions its events opened."""
    head = view.state.head
    check_reach(query.after, head)
    chosen: list[Entry] = []
    if query.after < head.sequence:
        stream = driver.stream(EVENTS, _asked(view, query), order=_IN_ORDER, likely=query.limit + 1)
        async with aclosing(stream) as batches:
            async for batch in batches:
                chosen += await _entries(view, sealing, query, batch)
                if len(chosen) > query.limit:
                    break
        # What was trimmed meanwhile may be missing.
        if (await ledger.state(view.state.tenant)).head.trimmed > query.after:
            raise Moved
    if len(chosen) > query.limit:
        return EventPage(chosen[: query.limit], chosen[query.limit - 1].event.sequence, head.sequence)
    return EventPage(chosen, head.sequence, head.sequence)


def _asked(view: View, query: EventQuery) -> Document:
    where: Document = {
        "tenant": view.state.tenant,
        "sequence": {"$gt": query.after, "$lte": view.state.head.sequence},
    }
    if query.within.segments:
        where["namespace"] = below(query.within)
    if query.planes is not None:
        planes = [plane.value for plane in query.planes]
        where["$or"] = [{"plane": {"$in": planes}}, {"kind": EventKind.ERASED.value}]
    if query.kinds is not None:
        where["kind"] = {"$in": [kind.value for kind in query.kinds]}
    at = {"$gt": query.since, "$lt": query.until}
    if at := {sign: moment for sign, moment in at.items() if moment is not None}:
        where["at"] = at
    return where


async def _entries(view: View, sealing: Sealing, query: EventQuery, batch: list[Document]) -> list[Entry]:
    """The entries of these events, without those that the query's filter leaves out."""
    told = [event_in(document) for document in batch]
    if not query.filter:
        told = told[: query.limit + 1]
    needed = told if query.filter else [event for event in told if query.values and event.kind in _OPENING]
    versions = await view.by_names(list({name_of(event.row_id): None for event in needed}))
    chosen: list[tuple[Event, Document | None]] = []
    for event in told:
        version = versions.get(name_of(event.row_id))
        if query.filter and (version is None or version["value"] is None or not _fits(query, version)):
            continue
        chosen.append((event, version if query.values and event.kind in _OPENING else None))
        if len(chosen) > query.limit:
            break
    rows = await sealing.rows(version for _, version in chosen if version is not None)
    opened = {row.id: row for row in rows}
    return [Entry(event, None if version is None else opened[event.row_id]) for event, version in chosen]


def _fits(query: EventQuery, version: Document) -> bool:
    return matches(query.filter, stored_attributes(version["policy_attributes"]))


async def changed_since(driver: Driver, tenant: str, plane: Plane, within: Namespace, since: int) -> bool:
    """True when the log tells of a change to this plane and scope after that point."""
    parts = within.encoded.split(SEPARATOR)
    ancestors = [SEPARATOR.join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    erased = [{"namespace": below(within)}, {"namespace": {"$in": ancestors}}]
    where = {
        "tenant": tenant,
        "sequence": {"$gt": since},
        "$or": [
            {"plane": plane.value, "namespace": below(within)},
            {"kind": EventKind.ERASED.value, "$or": erased},
        ],
    }
    return await driver.find_one(EVENTS, where, {"_id": 1}) is not None


# -- checking


async def verify(
    driver: Driver, ledger: Ledger, view: View, expected: tuple[int, bytes] | None, progress: Progress | None
) -> Verification:
    """Check every event and every version of a tenant, as they were at one commit."""
    state = view.state
    checker = LogChecker(state.head, expected)
    total = state.head.sequence - state.head.trimmed
    where = {"tenant": state.tenant, "sequence": {"$gt": state.head.trimmed}}
    async with aclosing(driver.stream(EVENTS, where, order=_IN_ORDER)) as batches:
        async for batch in batches:
            known = [document for document in batch if document["sequence"] <= state.head.sequence]
            # What is told after the head was told by a later commit; if there is none, the head is not where it was.
            whole = len(known) == len(batch) or not await ledger.is_newest(state)
            await _check_events(checker, view, known if whole else batch)
            if progress is not None:
                progress(min(checker.events, total), total)
            if checker.full:
                break
    if not checker.full:
        await _check_versions(checker, driver, view)
    if (await ledger.state(state.tenant)).head.trimmed > state.head.trimmed:
        raise Moved
    if progress is not None:
        progress(total, total)
    return Verification(state.head, checker.events, checker.versions, checker.finish())


async def _check_events(checker: LogChecker, view: View, batch: list[Document]) -> None:
    """Check events, each with the version that it tells of."""
    if any(document["kept_since"] > view.state.number for document in batch):
        raise Moved
    versions = await view.by_names(list({name_of(document["row_id"]): None for document in batch}))
    for document in batch:
        try:
            event, kept = event_in(document), Kept(document["kept"])
            found = versions.get(name_of(event.row_id))
            version = None if found is None else stored_version(found)
        except (ValueError, KeyError):
            checker.events += 1
            where = document["sequence"]
            checker.problems.append(
                Problem(Finding.EVENT_ALTERED, where, f"event {where} has a field of no known kind")
            )
            continue
        checker.event(event, kept, version)


async def _check_versions(checker: LogChecker, driver: Driver, view: View) -> None:
    """Check all versions, those of a key together, against the events that they claim."""
    held: list[Document] = []
    mine = {"tenant": view.state.tenant}
    async with aclosing(driver.stream(VERSIONS, mine, fields=WITHOUT_ENTRIES, order=_BY_PLACE)) as batches:
        async for batch in batches:
            seen = [document for each in batch if (document := as_at(each, view.state.number)) is not None]
            groups = [list(group) for _, group in groupby([*held, *seen], key=_place)]
            held = groups.pop() if groups else []
            await _check_keys(checker, driver, view, groups)
            if checker.full:
                return
    await _check_keys(checker, driver, view, [held] if held else [])


def _place(document: Document) -> tuple[Any, ...]:
    return document["plane"], document["namespace"], document["key"]


async def _check_keys(checker: LogChecker, driver: Driver, view: View, groups: Iterable[list[Document]]) -> None:
    groups = list(groups)
    claims = {
        document[field]
        for group in groups
        for document in group
        for field in ("sequence", "ended_sequence", "pinned_sequence")
        if document[field] is not None
    }
    where = {"tenant": view.state.tenant, "sequence": {"$in": sorted(claims)}}
    told = await driver.find(EVENTS, where) if claims else []
    at = {document["sequence"]: document for document in told}
    for group in groups:
        newest = max((each["revision"] for each in group if each["ended_at"] is not None), default=0)
        for document in group:
            _check_version(checker, view, document, at, newest)


def _check_version(checker: LogChecker, view: View, document: Document, at: dict[int, Document], newest: int) -> None:
    where = document["sequence"]
    try:
        version = stored_version(document)
        opened, ended, pinned = (
            _claimed(at, document[field]) for field in ("sequence", "ended_sequence", "pinned_sequence")
        )
    except (ValueError, KeyError):
        message = f"event {where} opened a version with a field of no known kind"
        checker.problems.append(Problem(Finding.VERSION_ALTERED, where, message))
        return
    checker.version(version, opened, ended, max(version.revision, newest), pinned)
    if not _in_its_slot(view.state.tenant, document, version):
        message = f"event {where} opened a version that is not found where it is"
        checker.problems.append(Problem(Finding.ENDING_MISMATCH, where, message))


def _claimed(at: dict[int, Document], sequence: int | None) -> Event | None:
    return event_in(at[sequence]) if sequence in at else None


def _in_its_slot(tenant: str, document: Document, version: Version) -> bool:
    """True when a live version is found by its place, and an ended one by nothing but its id."""
    place = place_of(tenant, version.address)
    if document["place"] != place:
        return False
    return bool(document["slot"] == (place if version.ended_at is None else version.id))
