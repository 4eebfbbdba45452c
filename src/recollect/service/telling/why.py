"""Why: the way of a memory from what was said to what was recalled, read from what was written down at each step.

Nothing is concluded here that was not recorded: each line says which row it was read from.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.errors import NotFound
from recollect.domain.governance.keys import dedup_key, normalised
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.terms import EventType
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import as_json as consent_as_json
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record, shown_record
from recollect.domain.rows import Row
from recollect.domain.telling import Step, capture_step, consent_step, event_step, proposal_step, record_steps
from recollect.domain.values import stored_value
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.places import Places, places_of
from recollect.service.pipeline.recording import Recording

_MOST_TRACES = 500


class Explaining(Recording):
    """Why something is remembered, in the name of one caller."""

    async def why(self, record_id: str) -> dict[str, Any]:
        """How a record came to be and what became of it, from capture to recall, each decision with its rule."""
        self._check_own_name()
        record, places = await self._past_or_present(record_id)
        captures = await self._captures_of(places, record)
        proposal = None if record.proposal_id is None else await self._value_at(places.proposal(record.proposal_id))
        consent = None if record.consent_id is None else await self._consent_of(record)
        traces = await self._traces_about(places, record.id)
        steps: list[Step] = [capture_step(each) for each in captures]
        steps += [] if proposal is None else [proposal_step(proposal)]
        steps += [] if consent is None else [consent_step(consent)]
        decisions: list[Step] = []
        recalls: list[Step] = []
        for trace in traces:
            for place, event in enumerate(trace["events"], 1):
                found = event_step(record.id, event, trace, place)
                if found is not None:
                    (recalls if event["type"] == "memory_recall" else decisions).append(found)
        steps += record_steps(record)
        told = sorted([*steps, *decisions, *recalls], key=lambda each: (each.at, each.order))
        return {
            "record": shown_record(record, self._tenant),
            "captures": captures,
            "proposal": None if proposal is None else proposal["proposal"],
            "consent": consent,
            "decisions": [msgspec.to_builtins(each) for each in decisions],
            "recalls": [msgspec.to_builtins(each) for each in recalls],
            "lines": [
                {"at": shapes.written(Instant(each.at)), "text": each.text, "source": each.source} for each in told
            ],
        }

    async def _past_or_present(self, record_id: str) -> tuple[Record, Places]:
        """The record of an id, though another may stand in its place by now."""
        found = places_of(record_id, Places(self._owner)) if isinstance(record_id, str) else None
        if found is None or len(record_id) > 500:
            raise NotFound("record not found")
        places, space, key = found
        address = places.record(space, key)
        ruling = await self._workings.guard.begin(self._caller)
        row = None
        if await ruling.allows(Action.READ, address.namespace.segments, key):
            row = await self._workings.store.get(self._tenant, address)
        record = None if row is None or row.value is None else read_record(row.value)
        if record is None or not await self._covered_now(record):
            raise NotFound("record not found")
        return record, Places(places.user or self._owner, places.session, places.project)

    async def _captures_of(self, places: Places, record: Record) -> list[dict[str, Any]]:
        """The captures that a record rests on; those of other users than its own are only named."""
        found = []
        for capture_id in record.captures:
            for owner in dict.fromkeys((places.user, record.principal, self._owner)):
                value = None if not owner else await self._value_at(Places(owner).captures(capture_id))
                if value is not None:
                    found.append(value)
                    break
            else:
                found.append({"id": capture_id, "text": None, "at": None})
        return found

    async def _consent_of(self, record: Record) -> dict[str, Any] | None:
        """The consent that a record rests on."""
        ledger = await read_ledger(self._workings.store, self._tenant, record.subject or record.entity)
        found = None if record.consent_id is None else ledger.get(record.consent_id)
        return None if found is None else consent_as_json(found)

    async def _value_at(self, address: Any) -> dict[str, Any] | None:
        """What lies at an address, if the caller may read it."""
        ruling = await self._workings.guard.begin(self._caller)
        if not await ruling.allows(Action.READ, address.namespace.segments, address.key):
            return None
        row = await self._workings.store.get(self._tenant, address)
        return None if row is None or row.value is None else dict(stored_value(row.value))

    async def _traces_about(self, places: Places, record_id: str) -> list[dict[str, Any]]:
        """The traces that tell of a record, oldest first."""
        found: list[Row] = []
        ruling = await self._workings.guard.begin(self._caller)
        for owner in dict.fromkeys((places.user, self._owner)):
            where = Places(owner).own("traces")
            view = await ruling.view(where.segments, {"records": record_id})
            if view is None or view.prefix != where.segments:
                continue
            cursor: str | None = None
            while len(found) < _MOST_TRACES:
                query = Find(Plane.TRACE, where, view.filter, Order.OLDEST, 100, cursor=cursor)
                page = await self._workings.store.find(self._tenant, query)
                found += page.rows
                cursor = page.cursor
                if cursor is None:
                    break
        return [{"id": row.address.key} | dict(stored_value(row.value)) for row in found if row.value is not None]

    # -- why not

    async def why_not(self, text: str) -> dict[str, Any]:
        """Why something is not remembered: what was decided about it, as far as that is known, and what would be now.

        What privacy refused is kept nowhere, so of that only the last part can tell.
        """
        self._check_own_name()
        words = shapes.text(text, "text")
        key = await self._workings.remembering.key(self._tenant)
        salt = Redaction(salt=key.hex())
        records = [each for each in await self._own(Plane.RECORD) if _says(each, words)]
        proposals = [each for each in await self._own(Plane.PROPOSAL) if _says(each["statement"], words)]
        denied = await self._denied(words, salt)
        would = await self.would_remember({"text": words})
        return {
            "remembered": [each["id"] for each in records if each.get("ended_at") is None],
            "past": [
                {"id": each["id"], "reason": each["ended_reason"], "superseded_by": each.get("superseded_by")}
                for each in records
                if each.get("ended_at") is not None
            ],
            "proposals": [
                {
                    "proposal_id": each["proposal"]["proposal_id"],
                    "status": each["status"],
                    "rule": each["rule"],
                    "reason": each["reason"],
                    "decided_by": each.get("decided_by"),
                    "note": each.get("note"),
                }
                for each in proposals
            ],
            "denied": denied,
            "would": would,
        }

    async def _own(self, plane: Plane) -> list[dict[str, Any]]:
        """The caller's own of a plane, the newest ones, past ones included."""
        root = Places(self._owner).own()
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(root.segments, None)
        if view is None or view.prefix != root.segments:
            return []
        query = Find(plane, root, view.filter, Order.NEWEST, 1_000, archived=Archived.INCLUDE)
        page = await self._workings.store.find(self._tenant, query)
        told = [dict(stored_value(row.value)) for row in page.rows if row.value is not None]
        if plane is not Plane.RECORD:
            return told
        kept = [
            (read_record(row.value), one) for row, one in zip(page.rows, told, strict=True) if row.value is not None
        ]
        return [one for record, one in kept if await self._covered_now(record)]

    async def _denied(self, words: str, redaction: Redaction) -> list[dict[str, Any]]:
        """What was told of attempts to remember just this, which were refused."""
        where = Places(self._owner).own("traces")
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(where.segments, {"types": "memory_denied"})
        if view is None or view.prefix != where.segments:
            return []
        query = Find(Plane.TRACE, where, view.filter, Order.NEWEST, 500)
        page = await self._workings.store.find(self._tenant, query)
        found = []
        for row in page.rows:
            for event in stored_value(row.value or b"{}")["events"]:
                if event["type"] == "memory_denied" and _is_about(event["attempted"], words, redaction):
                    told = {
                        "trace_id": row.address.key,
                        "reason": event["reason"],
                        "at": shapes.written(row.written_at),
                    }
                    found.append(told | {"kind": event["attempted"]["kind"]})
        return found

    async def _covered_now(self, record: Record) -> bool:
        """Whether a record may be seen, past or present: consent is looked for at the last moment."""
        rested = record.rested(self._tenant)
        if rested is None:
            return True
        ledger = await read_ledger(self._workings.store, self._tenant, rested.need.subject_ceid)
        return still_covered(ledger, rested, self._workings.clock())


def _says(told: dict[str, Any], words: str) -> bool:
    return normalised(str(told["text"])) == normalised(words)


def _is_about(attempted: dict[str, Any], words: str, redaction: Redaction) -> bool:
    """Whether an attempt was about just these words; where they are withheld, their digest tells."""
    key = dedup_key(EventType(attempted["meta"]["event_type"]), words)
    return attempted["meta"].get("dedup_key") in (key, redaction.digested(key))
