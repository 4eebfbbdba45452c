"""Notes: the use-cases behind the four tools of an agent, each with its budget, in one transaction.

Notes are memories of the caller like any other: the same policy decides about them, and they are sealed, logged,
indexed and erased as all are. Which note replaced which is kept beside them, so that a note itself never changes.
"""

from __future__ import annotations

import math
import re
from bisect import insort
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from recollect.domain.address import Address, Namespace, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import FIRST_USER, LOCAL, Action, Caller
from recollect.domain.commits import Delete, Put
from recollect.domain.errors import BudgetSpent, ChainRefused, EmbedderTrouble, InvalidNote, NotFound
from recollect.domain.filters import EVERYTHING, Filter
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.notes import (
    BUDGETS,
    GROUP,
    MAX_CHAIN,
    PURGED_AFTER_DAYS,
    SUGGESTIONS,
    Note,
    NoteType,
    Spent,
    brief,
    chain_to,
    shown_content,
)
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import encode_value, stored_value
from recollect.ports.units import UnitOfWork
from recollect.service.pipeline.noting import deleted, noted
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.ranked import Wish
from recollect.service.workings import Workings

Result = TypeVar("Result")
_SESSION = re.compile(r"[!-~]{1,200}")
_GROUP = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
_FIELDS = '["content","tags[*]"]'
_PAGE = 200
_MOST_BRIEFED = 1_000
_FOUND_SECONDS = 2.0
_SPENT_SECONDS = 90 * 86_400
_REPLACED_SECONDS = PURGED_AFTER_DAYS * 86_400


class Session(msgspec.Struct, frozen=True):
    """In which session, and for which group, an agent calls its tools; told by the door, never by the agent."""

    id: str
    group: str = GROUP


def new_session(session_id: str, group: str = GROUP) -> Session:
    """A session, refused when its names could be mistaken for something else."""
    if not isinstance(session_id, str) or _SESSION.fullmatch(session_id) is None:
        raise InvalidNote("a session is named by 1 to 200 printable ASCII characters without spaces", field="session")
    if not isinstance(group, str) or _GROUP.fullmatch(group) is None:
        raise InvalidNote("a group is named by letters, digits, - and _, at most 64 of them", field="group")
    return Session(session_id, group)


class Link(msgspec.Struct, frozen=True):
    """Which note one replaced, and by which it was replaced."""

    older: str | None = None
    newer: str | None = None


class Kept(msgspec.Struct, frozen=True):
    """A note with its place in the chain."""

    note: Note
    link: Link


class Notes:
    """The notes of one caller in one group, and what one session may still do about them."""

    def __init__(self, workings: Workings, caller: Caller, session: Session) -> None:
        self._workings = workings
        self._store = workings.store
        self._caller = caller
        self._session = session
        owner = FIRST_USER if caller.credential == LOCAL else caller.user_id
        self._place = namespace(("user", owner, "notes", session.group))
        self._budget = Address(Plane.BUDGET, namespace(("user", owner, "sessions")), session.id)

    # -- the four

    async def store(
        self, note_type: NoteType, content: str, tags: tuple[str, ...] = (), supersedes: str | None = None
    ) -> Kept:
        """Keep a note, perhaps in place of another one."""
        now = self._workings.clock()
        note_id = f"mem-{UUID(bytes=self._workings.ids(now))}"
        note = Note(note_id, note_type, content, tags, supersedes, self._session.id, self._session.group, now)
        value = _value_of(note)

        async def work(under_way: Promoting) -> Kept:
            ruling, unit = under_way.ruling, under_way.draft.unit
            address = self._address(Plane.ITEM, note_id)
            await ruling.allow(Action.WRITE, self._place.segments, note_id, value)
            plain = await ruling.extract(self._place.segments, note_id, value, None, None)
            await noted(under_way, note, self._caller)
            await self._spend(unit, "stores", "supersedes" if supersedes is not None else None)
            if supersedes is not None:
                await ruling.allow(Action.WRITE, self._place.segments, supersedes, value)
                await self._replace(unit, supersedes, note_id)
            unit.write(
                Put(address, encode_value(value), None, encode_attributes(plain), index=True, index_fields=_FIELDS)
            )
            return Kept(note, Link(older=supersedes))

        kept = await self._decided(work)
        await self._let_it_be_found(note_id)
        return kept

    async def search(
        self,
        query: str | None,
        tags: tuple[str, ...] = (),
        note_type: NoteType | None = None,
        *,
        include_superseded: bool = False,
        limit: int = 20,
    ) -> list[tuple[Kept, float]]:
        """The notes that answer a query, best first; without one, the newest."""
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(self._place.segments, None)
        if view is None:
            return []
        links = await self._links()

        def wanted(row: Row) -> bool:
            note = _note_in(row)
            if note is None or (note_type is not None and note.type is not note_type):
                return False
            return set(tags) <= set(note.tags) and (include_superseded or links.get(note.id, Link()).newer is None)

        within = namespace(view.prefix)
        if query is None:
            found = [(row, 0.0) for row in await self._newest(within, view.filter, wanted, limit)]
        else:
            if self._workings.indexing.inline:
                with suppress(EmbedderTrouble):  # what is indexed already can be searched all the same
                    await self._workings.indexing.settle(self._caller.tenant, math.inf)
            wish = Wish(self._caller.tenant, within, view.filter, (query,), limit=limit, keep=wanted)
            answer = await self._workings.searching.search(wish)
            found = [(hit.row, hit.score) for hit in answer.hits]
        kept = [(_note_in(row), score) for row, score in found]
        return [(Kept(note, links.get(note.id, Link())), score) for note, score in kept if note is not None]

    async def one(self, note_id: str) -> Kept:
        """A note by its id."""
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, self._place.segments, note_id)
        row = await self._store.get(self._caller.tenant, self._address(Plane.ITEM, note_id))
        note = None if row is None else _note_in(row)
        if note is None:
            raise NotFound(f'Memory entry "{note_id}" not found.')
        link = await self._store.get(self._caller.tenant, self._address(Plane.LINK, note_id))
        return Kept(note, _link_in(link))

    async def brief(self, *, provenance: bool = False) -> dict[str, Any]:
        """What an agent should know at the beginning of a session."""
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(self._place.segments, None)
        now = self._workings.clock()
        notes: list[Note] = []
        count = 0
        if view is not None:
            links = await self._links()
            async for row in self._rows(namespace(view.prefix), view.filter):
                note = _note_in(row)
                count += note is not None
                if note is not None and links.get(note.id, Link()).newer is None and len(notes) < _MOST_BRIEFED:
                    notes.append(note)
        entries = brief(notes, now, provenance=provenance)
        answer: dict[str, Any] = {
            "entries": entries,
            "generated_at": moment(now),
            "entry_count": count,
            "brief_count": len(entries),
        }
        if any(entry["behavioral"] for entry in entries):
            answer["notice"] = SUGGESTIONS
        return answer

    async def delete(self, note_id: str) -> None:
        """Delete a note for good; what it replaced and what replaced it now follow each other."""

        async def work(under_way: Promoting) -> None:
            unit = under_way.draft.unit
            await under_way.ruling.allow(Action.DELETE, self._place.segments, note_id)
            await self._spend(unit, "deletes", None)
            await self._remove(under_way, note_id)

        await self._decided(work)
        await self._workings.indexing.forget_ended(self._caller.tenant)

    async def _let_it_be_found(self, note_id: str) -> None:
        """Give a new note a moment to be indexed, since an agent looks for what it has just stored."""
        indexing, tenant = self._workings.indexing, self._caller.tenant
        indexing.stir()
        row = None if indexing.inline else await self._store.get(tenant, self._address(Plane.ITEM, note_id))
        if row is not None:
            with suppress(EmbedderTrouble):
                await indexing.settle(tenant, _FOUND_SECONDS, [row.id])

    # -- chains

    async def _replace(self, unit: UnitOfWork, older: str, newer: str) -> None:
        """Note that one is replaced by the other; refused where that would make a fork, or too long a chain."""
        row = await unit.get(self._address(Plane.ITEM, older))
        if row is None:
            raise NotFound(f'Memory entry "{older}" not found.')
        link = await self._link(unit, older)
        if link.newer is not None:
            raise ChainRefused(f'Memory entry "{older}" was superseded already, by "{link.newer}": supersede that one.')
        links = {older: link}
        replaced: dict[str, str] = {}
        at: str | None = older
        while at is not None and len(replaced) <= MAX_CHAIN:
            found = links.get(at) or await self._link(unit, at)
            if found.older is not None:
                replaced[at] = found.older
            at = found.older if found.older not in replaced else None
        if len(chain_to(older, replaced)) >= MAX_CHAIN:
            raise ChainRefused(f"a chain has at most {MAX_CHAIN} entries: store this one by itself, or delete old ones")
        self._relink(unit, older, Link(link.older, newer))
        self._relink(unit, newer, Link(older, None))
        _keep(unit, row, _REPLACED_SECONDS)

    async def _remove(self, under_way: Promoting, note_id: str) -> None:
        """Take a note out of its chain; what it alone had replaced counts again."""
        unit = under_way.draft.unit
        gone = await unit.get(self._address(Plane.ITEM, note_id))
        if gone is None:
            raise NotFound(f'Memory entry "{note_id}" not found.')
        if (note := _note_in(gone)) is not None:
            deleted(under_way, note)
        link = await self._link(unit, note_id)
        older, newer = link.older, link.newer
        row = None if older is None else await unit.get(self._address(Plane.ITEM, older))
        if older is not None and row is not None:
            self._relink(unit, older, Link((await self._link(unit, older)).older, newer))
            if newer is None:
                _keep(unit, row, None)
        if newer is not None:
            self._relink(unit, newer, Link(older if row else None, (await self._link(unit, newer)).newer))
        unit.write(Delete(self._address(Plane.ITEM, note_id)))
        unit.write(Delete(self._address(Plane.LINK, note_id)))

    async def _link(self, unit: UnitOfWork, note_id: str) -> Link:
        return _link_in(await unit.get(self._address(Plane.LINK, note_id)))

    def _relink(self, unit: UnitOfWork, note_id: str, link: Link) -> None:
        address = self._address(Plane.LINK, note_id)
        if link == Link():
            unit.write(Delete(address))
        else:  # it goes with its note, where that is to go
            ttl = None if link.newer is None else _REPLACED_SECONDS * 1_000_000
            unit.write(Put(address, encode_value(msgspec.to_builtins(link)), ttl=ttl))

    async def _links(self) -> dict[str, Link]:
        links: dict[str, Link] = {}
        cursor: str | None = None
        while True:
            query = Find(Plane.LINK, self._place, EVERYTHING, Order.KEY, _PAGE, cursor=cursor)
            page = await self._store.find(self._caller.tenant, query)
            links |= {row.address.key: _link_in(row) for row in page.rows}
            cursor = page.cursor
            if cursor is None:
                return links

    # -- budgets

    async def _spend(self, unit: UnitOfWork, first: str, second: str | None) -> None:
        row = await unit.get(self._budget)
        spent = {} if row is None or row.value is None else stored_value(row.value)
        for what in (first, second):
            if what is None:
                continue
            spent[what] = int(spent.get(what, 0)) + 1
            if spent[what] > BUDGETS[what]:
                raise BudgetSpent(f"this session may do {BUDGETS[what]} {what}, and has", budget=what)
        unit.write(Put(self._budget, encode_value(spent), ttl=_SPENT_SECONDS * 1_000_000))

    async def spent(self) -> Spent:
        """What the session has done so far."""
        row = await self._store.get(self._caller.tenant, self._budget)
        return Spent() if row is None or row.value is None else msgspec.json.decode(row.value, type=Spent)

    # -- deciding and reading

    async def _decided(self, work: Callable[[Promoting], Awaitable[Result]]) -> Result:
        """Decide and write in one transaction, one call of a session at a time, by the way that everything comes in."""
        places = Places(self._place.segments[1], self._session.id)
        async with self._workings.turns.of(self._caller.tenant, self._budget):
            return await self._workings.remembering.within(self._caller, places, work, self._session.id)

    async def _newest(self, within: Namespace, asked: Filter, wanted: Callable[[Row], bool], limit: int) -> list[Row]:
        """The wanted rows that were made last. What was written again later may be older, and is put in its place."""
        found: list[Row] = []
        async for row in self._rows(within, asked):
            if len(found) == limit and row.written_at < found[-1].created_at:
                break  # nothing that comes now was made later
            if wanted(row):
                insort(found, row, key=lambda each: -each.created_at)
                del found[limit:]
        return found

    async def _rows(self, within: Namespace, asked: Filter) -> AsyncIterator[Row]:
        cursor: str | None = None
        while True:
            query = Find(Plane.ITEM, within, asked, Order.NEWEST, _PAGE, cursor=cursor)
            page = await self._store.find(self._caller.tenant, query)
            for row in page.rows:
                yield row
            cursor = page.cursor
            if cursor is None:
                return

    def _address(self, plane: Plane, note_id: str) -> Address:
        return Address(plane, self._place, note_id)


def _keep(unit: UnitOfWork, row: Row, seconds: int | None) -> None:
    """Keep a note as it is, for so long from now; with None, for good."""
    ttl = None if seconds is None else seconds * 1_000_000
    if row.value is not None:  # a live version has its value
        plain, fields = row.policy_attributes, row.index_fields
        unit.write(Put(row.address, row.value, row.attributes, plain, ttl=ttl, index=True, index_fields=fields))


def _link_in(row: Row | None) -> Link:
    return Link() if row is None or row.value is None else msgspec.json.decode(row.value, type=Link)


def told(kept: Kept) -> dict[str, Any]:
    """A note as `memory_store` tells of it."""
    note = kept.note
    return {
        "id": note.id,
        "type": note.type.value,
        "content": shown_content(note.content),
        "behavioral": note.behavioral,
        "tags": list(note.tags),
        "supersedes": kept.link.older,
        "superseded_by": kept.link.newer,
        "session_id": note.session_id,
        "group": note.group,
        "created_at": moment(note.created_at),
    }


def moment(instant: Instant) -> str:
    """A moment as tools tell it: ISO 8601, in milliseconds."""
    return datetime_of(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value_of(note: Note) -> dict[str, Any]:
    return {
        "type": note.type.value,
        "content": note.content,
        "tags": list(note.tags),
        "session_id": note.session_id,
        "group": note.group,
        "created_at": int(note.created_at),
    }


def _note_in(row: Row) -> Note | None:
    """The note that a row holds; None when something else was put in its place."""
    value: Mapping[str, Any] = {} if row.value is None else stored_value(row.value)
    try:
        return Note(
            row.address.key,
            NoteType(value["type"]),
            str(value["content"]),
            tuple(str(tag) for tag in value.get("tags", ())),
            None,
            str(value.get("session_id", "")),
            str(value.get("group", "")),
            Instant(int(value.get("created_at", row.created_at))),
        )
    except (KeyError, ValueError, TypeError):
        return None
