"""Recording: records as their owners see them, put right, taken back, pinned, moved, and undone with what followed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.address import ROOT, Address, Namespace
from recollect.domain.callers import Action
from recollect.domain.conversation.describing import pinned as described_as_pinned
from recollect.domain.errors import InvalidQuery, InvalidRequest, NotFound
from recollect.domain.filters import Filter, parse_filter
from recollect.domain.governance.phases import PhaseRequest
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import EventType, Kind, Space, Tier
from recollect.domain.promotion import shapes
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.queries import Archived, Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import Capture
from recollect.domain.remembering.records import Record, live_record, read_record, shown_record
from recollect.domain.rows import Row
from recollect.domain.statements import Statement
from recollect.domain.values import stored_value
from recollect.service.pipeline.capturing import Capturing
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.places import Places, places_at, places_of
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Remembered, Waiting, origin_of, origin_of_move
from recollect.service.reading import read_moment

_AT_ONCE = 150
"""So many records are ended in one transaction."""
_FILTERS = {"kind": Kind, "tier": Tier, "event_type": EventType}


class Recording(Capturing):
    """Records, in the name of one caller."""

    # -- reading

    async def get_record(self, record_id: str) -> dict[str, Any]:
        """A record, with everything that is known of it; nothing at all once it may not be seen."""
        self._check_own_name()
        record, _ = await self._record(record_id, Action.READ)
        return shown_record(record, self._tenant)

    async def list_records(
        self,
        *,
        space: str = Space.USER,
        session: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        tier: str | None = None,
        event_type: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """The records of a space, newest first."""
        self._check_own_name()
        places = Places(self._owner, session, project)
        wanted = shapes.one_of(Space, space, "space")
        if not places.has(wanted):
            raise InvalidQuery(f"say which {wanted.value} it is", field=wanted.value)
        root = places.root(wanted)
        given = {"kind": kind, "tier": tier, "event_type": event_type}
        asked = {
            name: shapes.one_of(_FILTERS[name], value, name).value for name, value in given.items() if value is not None
        }
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(root.segments, asked or None)
        if view is None or view.prefix != root.segments:
            return {"records": [], "cursor": None}
        return await self._page(root, view.filter, checked_limit(limit), cursor)

    async def _page(self, root: Namespace, wanted: Filter, limit: int, cursor: str | None) -> dict[str, Any]:
        """A page of the records at a root; those of sessions lie below their user's and are not among them."""
        found: list[dict[str, Any]] = []
        ledgers: dict[str, Ledger] = {}
        while True:
            query = Find(Plane.RECORD, root, wanted, Order.NEWEST, limit, cursor=cursor)
            page = await self._workings.store.find(self._tenant, query)
            own = [row for row in page.rows if row.address.namespace == root]
            seen = [await self._seen(row, ledgers) for row in own]
            found += [shown_record(record, self._tenant) for record in seen if record is not None]
            cursor = page.cursor
            if cursor is None or found:
                return {"records": found, "cursor": cursor}

    async def _seen(self, row: Row, ledgers: dict[str, Ledger]) -> Record | None:
        """The record in a row, if it may be seen now: consent is looked for at the last moment."""
        if row.value is None:
            return None
        record = live_record(row.value)
        rested = None if record is None else record.rested(self._tenant)
        if rested is None:
            return record
        subject = rested.need.subject_ceid
        if subject not in ledgers:
            ledgers[subject] = await read_ledger(self._workings.store, self._tenant, subject)
        return record if still_covered(ledgers[subject], rested, self._workings.clock()) else None

    async def _record(self, record_id: str, action: Action) -> tuple[Record, Places]:
        """The record of an id, in either spelling of it, if the caller may do this to it."""
        own = Places(self._owner)
        found = places_of(record_id, own) if isinstance(record_id, str) and len(record_id) <= 500 else None
        if found is None:
            raise NotFound("record not found")
        places, space, key = found
        address = places.record(space, key)
        ruling = await self._workings.guard.begin(self._caller)
        if not await ruling.allows(action, address.namespace.segments, key):
            raise NotFound("record not found")
        row = await self._workings.store.get(self._tenant, address)
        record = None if row is None else await self._seen(row, {})
        if record is None:
            raise NotFound("record not found")
        return record, Places(places.user or self._owner, places.session, places.project)

    # -- putting right

    async def correct_record(
        self, record_id: str, *, value: Any = None, text: str | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Say what is right in place of what a record says; it goes the way that everything goes in."""
        self._check_own_name()
        record, places = await self._record(record_id, Action.WRITE)
        if value is None and text is None:
            raise InvalidRequest("say what is right: value, text, or both", field="value")
        words = text if text is not None else f"{record.entity} {record.predicate}: {value}"
        speaker = "operator" if self._caller.is_admin else "user"
        raw = {"kind": "decision", "speaker": speaker, "text": words, "refs": [] if note is None else [f"note:{note}"]}
        made = self._made(raw, self._capture_id(None, 0))
        statement = Statement(
            text=made.text,
            event_type=EventType.CORRECTION,
            entity=record.entity,
            predicate=record.predicate,
            value=made.text if value is None else value,
            confidence=1.0,
            key=record.key,
        )
        origin = msgspec.structs.replace(
            origin_of(made),
            space=record.space if record.space in (Space.SESSION, Space.PROJECT, Space.SYSTEM) else None,
            subject=record.subject,
            purpose=record.purpose,
            classification=record.classification,
            session=record.session,
            corrects=record.id,
            persona=record.persona,
        )
        found = await self._enter_capture(made, places, statement, origin)
        return {"capture_id": made.id} | found.told()

    async def _enter_capture(self, made: Capture, places: Places, statement: Statement, origin: Any) -> Remembered:
        async def work(under_way: Promoting) -> Remembered:
            own = Places(self._owner)
            value = msgspec.json.encode(made)
            await under_way.ruling.allow(Action.WRITE, own.own("captures").segments, made.id, stored_value(value))
            under_way.draft.put(own.captures(made.id), value, {"kind": made.kind.value}, new=True)
            found = await under_way.consider(statement, origin)
            under_way.draft.put(own.work(made.id), {"by": "caller", "remembered": [found.told()]})
            return found

        return await self._workings.remembering.within(self._caller, places, work, made.id)

    async def retract_record(self, record_id: str) -> dict[str, Any]:
        """Take a record back: it is told that it is gone, and nothing of it is given to anybody."""
        self._check_own_name()
        record, places = await self._record(record_id, Action.DELETE)
        gone = await self._end(places, [record], Reason.RETRACTED)
        return {"record_id": record.id, "retracted": bool(gone)}

    async def pin_record(self, record_id: str, *, pinned: bool = True) -> dict[str, Any]:
        """Keep a record whatever its tier says, or no longer."""
        self._check_own_name()
        if not isinstance(pinned, bool):
            raise InvalidRequest("pinned is true or false", field="pinned")
        record, places = await self._record(record_id, Action.WRITE)

        async def work(under_way: Promoting) -> Record:
            held = await under_way.still_there(record)
            if held is None:
                raise NotFound("record not found")
            changed = described_as_pinned(held, keep=pinned)
            await under_way.write(changed)
            return changed

        changed = await self._workings.remembering.within(self._caller, places, work, record.id)
        return shown_record(changed, self._tenant)

    async def promote_record(self, record_id: str, to_space: str, *, project: str | None = None) -> dict[str, Any]:
        """Ask for a record to be known in another space; the rules say whether it may, and the policy who decides."""
        self._check_own_name()
        record, places = await self._record(record_id, Action.WRITE)
        target = shapes.one_of(Space, to_space, "to_space")
        places = Places(places.user, places.session, project or places.project)
        if not places.has(target) or target is record.space:
            raise InvalidRequest("say which project, and another space than its own", field="to_space")
        statement = Statement(
            text=record.text,
            event_type=record.event_type,
            entity=record.entity,
            predicate=record.predicate,
            value=record.value,
            confidence=record.confidence,
            key=record.key,
        )

        async def work(under_way: Promoting) -> Remembered:
            return await under_way.consider(statement, origin_of_move(record, target))

        found = await self._workings.remembering.within(self._caller, places, work, record.id)
        return {"record_id": record.id} | found.told()

    async def start_phase(
        self,
        token: str,
        *,
        name: str | None = None,
        reason: str | None = None,
        space: str = Space.USER,
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """Begin a new phase in a space; the token that began the last one begins none."""
        self._check_own_name()
        places = Places(self._owner, session, project)
        wanted = shapes.one_of(Space, space, "space")
        if not places.has(wanted):
            raise InvalidQuery(f"say which {wanted.value} it is", field=wanted.value)
        request = PhaseRequest(
            shapes.text(token, "token"), shapes.text_or_none(name, "name"), shapes.text_or_none(reason, "reason")
        )

        async def work(under_way: Promoting) -> dict[str, Any]:
            await under_way.ruling.allow(Action.WRITE, places.root(wanted).segments, "phase")
            began = await under_way.begin_phase(wanted, request)
            phases = await under_way.phases(wanted)
            return {"began": began is not None, "phase": phases[-1].noted() if phases else None}

        return await self._workings.remembering.within(self._caller, places, work, "phase")

    # -- undoing

    async def undo(
        self,
        *,
        source: str | None = None,
        principal: str | None = None,
        after: datetime | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Remove every record that comes from a source, a principal or a time, and all that was derived from those.

        A source is the id of a capture, a proposal, a record or a session, a tool, or anything that was named as
        evidence. Reviewers undo in the whole tenant, others among their own.
        """
        self._check_own_name()
        if sum(each is not None for each in (source, principal, after)) != 1:
            raise InvalidRequest("say one of source, principal and after")
        for action in (Action.WRITE, Action.DELETE):
            self._workings.guard.permit(self._caller, action)
        ruling = await self._workings.guard.begin(self._caller)
        within = ROOT if self._reviews else Places(self._owner).own()
        if self._reviews:
            self._workings.guard.permit(self._caller, Action.REVIEW)
        else:
            await ruling.allow(Action.DELETE, within.segments, "")
        named = source if source is not None else f"principal:{principal}"
        wanted = parse_filter(None if after is not None else {"lineage": shapes.text(named, "source")})
        since = None if after is None else read_moment(after)
        found = {row.address: row for row in await self._found(Plane.RECORD, within, wanted, since)}
        found |= {row.address: row for row in await self._itself(source)}
        found = await self._descendants(within, found)
        records = [read_record(row.value) for row in found.values() if row.value is not None]
        wanted_too = [wanted, *_naming([each.id for each in records])]
        proposals = [row for each in wanted_too for row in await self._found(Plane.PROPOSAL, within, each, since)]
        read = {waiting.id: waiting for waiting in (_read(row.value) for row in proposals if row.value)}
        waiting = [each for each in read.values() if each.status == "waiting"]
        if dry_run:
            return {"dry_run": True, "records": len(records), "proposals": len(waiting)}
        ended = 0
        by_place: dict[Places, list[Record]] = {}
        for address, row in found.items():
            if row.value is not None:
                by_place.setdefault(places_at(address.namespace, self._owner), []).append(read_record(row.value))
        for places, mine in by_place.items():
            for start in range(0, len(mine), _AT_ONCE):
                ended += await self._end(places, mine[start : start + _AT_ONCE], Reason.UNDONE)
        withdrawn = await self._withdraw(waiting)
        await self._workings.indexing.forget_ended(self._tenant)
        return {"dry_run": False, "records": ended, "proposals": withdrawn}

    async def _descendants(self, within: Namespace, found: dict[Address, Row]) -> dict[Address, Row]:
        """What was found, and all that was derived from it, however many steps away."""
        newest = list(found.values())
        while newest:
            ids = [read_record(row.value).id for row in newest if row.value is not None]
            rows = [row for each in _naming(ids) for row in await self._found(Plane.RECORD, within, each, None)]
            newest = [row for row in rows if row.address not in found]
            found = found | {row.address: row for row in newest}
        return found

    async def _itself(self, source: str | None) -> list[Row]:
        """The record that is named as a source, which goes with what was derived from it."""
        found = None if source is None else places_of(source, Places(self._owner))
        if found is None:
            return []
        places, space, key = found
        address = places.record(space, key)
        ruling = await self._workings.guard.begin(self._caller)
        if not self._reviews and not await ruling.allows(Action.DELETE, address.namespace.segments, key):
            return []
        row = await self._workings.store.get(self._tenant, address)
        return [] if row is None else [row]

    async def _found(self, plane: Plane, within: Namespace, wanted: Filter, since: Any) -> list[Row]:
        found: list[Row] = []
        cursor: str | None = None
        while True:
            query = Find(plane, within, wanted, Order.NEWEST, 500, cursor=cursor, archived=Archived.INCLUDE)
            page = await self._workings.store.find(self._tenant, query)
            found += [row for row in page.rows if since is None or row.created_at >= since]
            cursor = page.cursor
            if cursor is None or (since is not None and page.rows and page.rows[-1].written_at < since):
                return found

    async def _end(self, places: Places, records: list[Record], reason: Reason) -> int:
        async def work(under_way: Promoting) -> int:
            ended = 0
            for record in records:
                held = await under_way.kept(record)
                if held is not None:
                    await under_way.end(held, reason)
                    ended += 1
            return ended

        return await self._workings.remembering.within(self._caller, places, work)

    async def _withdraw(self, waiting: list[Waiting]) -> int:
        done = 0
        for each in waiting:

            async def work(under_way: Promoting, each: Waiting = each) -> bool:
                raw = await under_way.draft.bytes_at(each.places.proposal(each.id))
                held = None if raw is None else _read(raw)
                if held is None or held.status != "waiting":
                    return False
                under_way.keep(msgspec.structs.replace(held, status="withdrawn", decided_at=under_way.now))
                return True

            done += await self._workings.remembering.within(self._caller, each.places, work, each.id)
        return done


def _naming(ids: list[str]) -> list[Filter]:
    """What asks for everything that was derived from one of these, some at a time."""
    return [parse_filter({"parents": {"in": ids[start : start + 100]}}) for start in range(0, len(ids), 100)]


def _read(raw: bytes) -> Waiting:
    return msgspec.json.decode(raw, type=Waiting)
