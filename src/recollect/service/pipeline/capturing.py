"""Capturing: what was said and done is appended, looked into, and remembered as far as the rules let it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec

from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import Action
from recollect.domain.commits import Commit, Idempotency, Put, idempotency
from recollect.domain.errors import InvalidCapture, InvalidQuery, NotFound
from recollect.domain.governance.terms import EventType, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.claims import candidate_of, texts_in
from recollect.domain.promotion.standing import classification_of
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import (
    MAX_CAPTURES,
    Capture,
    captured,
    channel_of,
    given_of,
)
from recollect.domain.scrubbing import cleaned
from recollect.domain.statements import Statement
from recollect.domain.values import stored_value
from recollect.service.pipeline.engine import Pending, pointer
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Remembered, origin_of

NOW, LATER = "now", "later"
EVENT_OF = {
    WriteClass.PREFERENCE: EventType.PREFERENCE,
    WriteClass.EVIDENCE_LINK: EventType.FACT,
    WriteClass.DECISION_OUTCOME: EventType.DECISION,
    WriteClass.CORRECTION: EventType.CORRECTION,
}
_PROPOSED = frozenset({"candidate", "class"})
_CHECKS = frozenset({"proposal_id", "tier_target", "consent_check", "contradiction_check", "auto_promote_eligible"})
_ASKED = frozenset(
    {"text", "space", "session", "project", "purpose", "subject_ceid", "data_classification", "via", "derived_from"}
)


class _Scrapped(Exception):
    """Ends a transaction of which nothing is to be written."""


class Capturing(Person):
    """What comes in, in the name of one caller."""

    async def capture(
        self,
        captures: Sequence[Mapping[str, Any]],
        *,
        remember: str = NOW,
        idempotency_key: str | None = None,
    ) -> list[dict[str, Any]]:
        """Append what was said and done, and remember what of it the rules let in.

        Each has a `text` and may have a `kind` (`turn`, `tool_result`, `decision`, `effect`), a `speaker`, a `session`,
        a `project`, a `tool`, `refs` and `via`. With `remember="later"` it is looked into in the background.
        """
        self._check_own_name()
        if isinstance(captures, str | bytes | Mapping) or not isinstance(captures, Sequence):
            raise InvalidCapture("captures are a list of objects")
        if not 0 < len(captures) <= MAX_CAPTURES:
            raise InvalidCapture(f"1 to {MAX_CAPTURES} captures are taken at once, not {len(captures)}")
        if remember not in (NOW, LATER):
            raise InvalidCapture(f"remember is {NOW!r} or {LATER!r}", field="remember")
        engine = self._workings.remembering
        made = [self._made(raw, self._capture_id(idempotency_key, place)) for place, raw in enumerate(captures)]
        if len(made) == 1 and remember == NOW and idempotency_key is None and not engine.extractor.asks:
            return [await self._at_once(made[0])]
        replayed = await self._append(made, idempotency_key, captures)
        engine.wake()
        told = []
        for each in made:
            if remember == NOW:
                await engine.look_at(self._tenant, each.id)
            told.append(await self._became(each.id, replayed=replayed))
        return told

    def _made(self, raw: Mapping[str, Any], capture_id: str) -> Capture:
        given = given_of(raw)
        terms = self._workings.remembering.terms
        channel = channel_of(given, self._caller, terms.verified_tools)
        privacy, at = terms.contract.privacy, self._workings.clock()
        return captured(given, self._caller, self._owner, channel, privacy, capture_id=capture_id, at=at)

    def _capture_id(self, idempotency_key: str | None, place: int) -> str:
        if idempotency_key is None:
            return f"cap_{UUID(bytes=self._workings.ids(self._workings.clock())).hex}"
        said = msgspec.msgpack.encode((self._tenant, self._actor, place))
        return f"cap_{hmac.digest(str(idempotency_key).encode(), said, 'sha256').hex()[:32]}"

    async def _at_once(self, capture: Capture) -> dict[str, Any]:
        """Append a capture and look into it in one transaction."""
        engine = self._workings.remembering
        extracted = await engine.extracted(capture)
        places = Places(self._owner, capture.session, capture.project)

        async def work(under_way: Promoting) -> list[Remembered]:
            address = places.captures(capture.id)
            value = msgspec.json.encode(capture)
            await under_way.ruling.allow(Action.WRITE, address.namespace.segments, capture.id, stored_value(value))
            under_way.draft.put(address, value, _labels(capture), new=True)
            return await engine.look_into(under_way, capture, extracted)

        found = await engine.within(self._caller, places, work, capture.id)
        return {
            "capture_id": capture.id,
            "state": "done",
            "by": extracted.by,
            "trouble": extracted.trouble,
            "tokens": extracted.tokens,
            "remembered": [each.told() for each in found],
        }

    async def _append(
        self, made: Sequence[Capture], idempotency_key: str | None, given: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Append captures and note that they wait; True when an earlier identical request had done it."""
        ruling = await self._workings.guard.begin(self._caller)
        operations = []
        for each in made:
            address = Places(self._owner).captures(each.id)
            value = msgspec.json.encode(each)
            await ruling.allow(Action.WRITE, address.namespace.segments, each.id, stored_value(value))
            operations.append(Put(address, value, None, encode_attributes(_labels(each)), expected_revision=0))
            waits = msgspec.json.encode(Pending(self._owner, each.id, self._caller))
            operations.append(Put(pointer(each.id), waits, expected_revision=0))
        request = None
        if idempotency_key is not None:
            named = idempotency(idempotency_key, f"captures:{self._actor}", ())
            said = msgspec.json.encode([dict(each) for each in given], order="sorted")
            request = Idempotency(named.lookup, hmac.digest(idempotency_key.encode(), said, "sha256"))
        commit = Commit(self._tenant, tuple(operations), ruling.conditions, self._actor, request)
        return (await self._workings.store.commit(commit)).replayed

    async def _became(self, capture_id: str, *, replayed: bool = False) -> dict[str, Any]:
        row = await self._workings.store.get(self._tenant, Places(self._owner).work(capture_id))
        told: dict[str, Any] = {"capture_id": capture_id, "state": "pending", "remembered": []}
        if row is not None and row.value is not None:
            told |= {"state": "done"} | stored_value(row.value)
        return told | ({"replayed": True} if replayed else {})

    async def get_capture(self, capture_id: str) -> dict[str, Any]:
        """A capture, and what became of it."""
        self._check_own_name()
        address = Places(self._owner).captures(_name(capture_id))
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, address.namespace.segments, capture_id)
        row = await self._workings.store.get(self._tenant, address)
        if row is None or row.value is None:
            raise NotFound("capture not found")
        return _shown(row.value) | await self._became(capture_id)

    async def list_captures(
        self, *, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The captures of the caller, newest first."""
        self._check_own_name()
        place = Places(self._owner).own("captures")
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(place.segments, None if session is None else {"session": session})
        if view is None or view.prefix != place.segments:
            return {"captures": [], "cursor": None}
        query = Find(Plane.CAPTURE, place, view.filter, Order.NEWEST, checked_limit(limit), cursor=cursor)
        page = await self._workings.store.find(self._tenant, query)
        shown = [_shown(row.value) for row in page.rows if row.value is not None]
        return {"captures": shown, "cursor": page.cursor}

    async def would_remember(self, capture: Mapping[str, Any]) -> dict[str, Any]:
        """What would be remembered of something, and why not the rest; nothing is written."""
        self._check_own_name()
        made = self._made(capture, self._capture_id(None, 0))
        engine = self._workings.remembering
        extracted = await engine.extracted(made)
        places = Places(self._owner, made.session, made.project)
        told: list[dict[str, Any]] = []

        async def work(under_way: Promoting) -> None:
            await under_way.ruling.allow(Action.WRITE, places.own("captures").segments, made.id)
            found = await engine.look_into(under_way, made, extracted)
            told[:] = [
                each.told() | {"predicate": each.statement.predicate, "confidence": each.statement.confidence}
                for each in found
            ]
            raise _Scrapped

        try:
            await engine.within(self._caller, places, work)
        except _Scrapped:
            pass
        for each in told:
            for name in ("record_id", "proposal_id"):
                each.pop(name, None)
        return {"by": extracted.by, "trouble": extracted.trouble, "withheld": made.withheld, "would": told}

    async def propose(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """Propose a typed candidate, in the shape of a memory write proposal; the service makes every check anew."""
        self._check_own_name()
        told = shapes.members(proposal, "a proposal", _PROPOSED, _CHECKS | _ASKED)
        given = candidate_of(told["candidate"])
        candidate = replace(given, predicate=cleaned(given.predicate), value=_cleaned(given.value))
        write_class = shapes.one_of(WriteClass, told["class"], "class")
        text = told.get("text") or f"{candidate.entity_ceid} {candidate.predicate}: {_words(candidate.value)}"
        raw = {"kind": "effect", "speaker": "assistant", "text": text, "refs": list(candidate.evidence_refs)}
        raw |= {name: told[name] for name in ("session", "project", "via") if told.get(name) is not None}
        made = self._made(raw, self._capture_id(None, 0))
        statement = Statement(
            text=made.text,
            event_type=EVENT_OF[write_class],
            entity=candidate.entity_ceid,
            predicate=candidate.predicate,
            value=candidate.value,
            confidence=candidate.confidence,
        )
        places = Places(self._owner, made.session, made.project)
        space = shapes.or_none(lambda given, field: shapes.one_of(Space, given, field), told.get("space"), "space")
        tier = shapes.or_none(lambda given, field: shapes.one_of(Tier, given, field), told.get("tier_target"), "tier")
        classified = told.get("data_classification")
        origin = msgspec.structs.replace(
            origin_of(made),
            evidence=candidate.evidence_refs,
            purpose=shapes.text_or_none(told.get("purpose"), "purpose"),
            subject=shapes.or_none(shapes.ceid, told.get("subject_ceid"), "subject_ceid"),
            space=space,
            tier=tier,
            **({} if classified is None else {"classification": classification_of(str(classified))}),
        )

        parents = shapes.texts(told.get("derived_from", ()), "derived_from")

        async def work(under_way: Promoting) -> Remembered:
            address = places.captures(made.id)
            value = msgspec.json.encode(made)
            await under_way.ruling.allow(Action.WRITE, address.namespace.segments, made.id, stored_value(value))
            under_way.draft.put(address, value, _labels(made), new=True)
            found = await under_way.consider(statement, await under_way.derived(origin, parents))
            under_way.draft.put(places.work(made.id), {"by": "caller", "remembered": [found.told()]})
            return found

        found = await self._workings.remembering.within(self._caller, places, work, made.id)
        return {"capture_id": made.id} | found.told()

    async def remember_pending(self) -> int:
        """Look into everything that waits in the tenant, now; say how much that was."""
        self._workings.guard.permit(self._caller, Action.SWEEP)
        return await self._workings.remembering.round(self._tenant)


def _labels(capture: Capture) -> dict[str, Any]:
    told = {"kind": capture.kind.value, "channel": capture.channel.value}
    return told if capture.session is None else told | {"session": capture.session}


def _shown(value: bytes) -> dict[str, Any]:
    told: dict[str, Any] = dict(stored_value(value))
    told["capture_id"] = told.pop("id")
    return told | {"at": shapes.written(Instant(told["at"]))}


def _name(given: object) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= 200 or not given.isprintable():
        raise InvalidQuery("an id is text of 1 to 200 characters")
    return given


def _cleaned(value: Any) -> Any:
    """The value without characters that show nothing, wherever they are."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {cleaned(name): _cleaned(each) for name, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _words(value: object) -> str:
    return " ".join(texts_in(value)) or str(value)
