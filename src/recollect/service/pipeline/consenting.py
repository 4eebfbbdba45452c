"""Consenting: what subjects agreed to, as records that are only ever added; what rests on one goes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.address import Address
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidRequest, InvalidValue, NotFound
from recollect.domain.governance.reasons import Reason
from recollect.domain.instants import Instant
from recollect.domain.promotion import consents, shapes
from recollect.domain.promotion.codes import ConsentState
from recollect.domain.promotion.consents import Consent, Ledger, consent_of, revocation, state_of
from recollect.domain.reasons import Plane
from recollect.domain.values import stored_value
from recollect.service.pipeline.lapsing import Lapse, read_ledger
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import CONSENTED, Places, consents_of, lapse
from recollect.service.pipeline.promoting import Promoting


class Consenting(Person):
    """Consents, in the name of one caller."""

    async def capture_consent(self, consent: Mapping[str, Any]) -> dict[str, Any]:
        """Add a consent. One that `supersedes` another stands in its place from then on; none is ever changed."""
        self._check_own_name()
        now = self._workings.clock()
        given = dict(consent) if isinstance(consent, Mapping) else consent
        if isinstance(given, dict):
            given = {
                "consent_id": self._new_consent_id(now),
                "tenant_id": self._tenant,
                "captured_at": shapes.written(now),
                "valid_until": None,
                "revoked_at": None,
                "auditor_id": None,
            } | given
        record = consent_of(given)
        if record.tenant_id != self._tenant:
            raise InvalidValue("the consent cannot be added: other_tenant", reason="other_tenant")
        if record.revoked_at is not None:
            raise InvalidRequest("a consent is added first, and revoked by a call of its own", field="revoked_at")
        await self._add(record)
        ended, _ = await self._settled(record.consent_id, record.captured_at)
        return consents.as_json(record) | {"state": await self._state(record), "impacted": list(ended)}

    async def revoke_consent(
        self, consent_id: str, *, evidence_refs: Sequence[str] = (), auditor_id: str | None = None
    ) -> dict[str, Any]:
        """Take a consent back: from the moment this returns, nothing that rested on it is given to anybody."""
        self._check_own_name()
        subject = await self._subject_of(consent_id, Action.WRITE)
        refs = shapes.texts(tuple(evidence_refs) or (f"revoked_by:{self._reviewer}",), "evidence_refs", least=1)
        place = consents_of(subject)

        async def work(under_way: Promoting) -> Consent:
            await under_way.ruling.allow(Action.WRITE, place.segments, consent_id)
            ledger = await under_way.ledger(subject)
            consent = ledger.get(consent_id)
            if consent is None:
                raise NotFound("consent not found")
            head = ledger.current(consent, under_way.now)
            if head.revoked_at is not None:
                raise InvalidRequest("the consent has been revoked", reason="revoked_is_final")
            said = revocation(head, self._new_consent_id(under_way.now), under_way.now, refs, auditor_id)
            self._put(under_way, said)
            self._note(under_way, said, said.revoked_at, Reason.CONSENT_REVOKED)
            return said

        said = await self._workings.remembering.within(self._caller, Places(self._owner), work, consent_id)
        ended, told = await self._settled(said.consent_id, said.revoked_at)
        state = ConsentState.TOMBSTONED.value
        return consents.as_json(said) | {"state": state, "impacted": list(ended), "event": told}

    async def list_consents(self, subject: str) -> dict[str, Any]:
        """Every consent record of a subject, in the order in which they were added, and where each stands."""
        self._check_own_name()
        place = consents_of(shapes.ceid(subject, "subject"))
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, place.segments, "")
        ledger = await self._ledger(subject)
        now = self._workings.clock()
        shown = [
            consents.as_json(each) | {"state": str(state_of(ledger, each.consent_id, now))} for each in ledger.records
        ]
        return {"consents": shown}

    async def get_consent(self, consent_id: str) -> dict[str, Any]:
        """A consent record, and where it stands."""
        found = await self.list_consents(await self._subject_of(consent_id, Action.READ))
        return next(each for each in found["consents"] if each["consent_id"] == consent_id)

    # -- inner

    def _new_consent_id(self, now: Instant) -> str:
        return f"cns_{self._workings.ids(now).hex()}"

    async def _subject_of(self, consent_id: str, action: Action) -> str:
        if not isinstance(consent_id, str) or not 0 < len(consent_id) <= shapes.MAX_TEXT:
            raise NotFound("consent not found")
        row = await self._workings.store.get(self._tenant, _pointer(consent_id))
        if row is None or row.value is None:
            raise NotFound("consent not found")
        subject = str(stored_value(row.value)["subject"])
        ruling = await self._workings.guard.begin(self._caller)
        if not await ruling.allows(action, consents_of(subject).segments, consent_id):
            raise NotFound("consent not found")
        return subject

    async def _ledger(self, subject: str) -> Ledger:
        return await read_ledger(self._workings.store, self._tenant, subject)

    async def _state(self, record: Consent) -> str:
        ledger = await self._ledger(record.subject_ceid)
        return str(state_of(ledger, record.consent_id, self._workings.clock()))

    async def _add(self, record: Consent) -> None:
        place = consents_of(record.subject_ceid)

        async def work(under_way: Promoting) -> None:
            await under_way.ruling.allow(Action.WRITE, place.segments, record.consent_id)
            if await under_way.draft.bytes_at(_pointer(record.consent_id)) is not None:
                raise InvalidValue("the consent cannot be added: id_taken", reason="id_taken")
            consents.added(await under_way.ledger(record.subject_ceid), record)
            self._put(under_way, record)
            if record.supersedes is not None:
                self._note(under_way, record, record.captured_at, Reason.CONSENT_LOST)
            self._note(under_way, record, record.valid_until, Reason.CONSENT_LOST)

        await self._workings.remembering.within(self._caller, Places(self._owner), work, record.consent_id)

    def _put(self, under_way: Promoting, record: Consent) -> None:
        address = Address(Plane.CONSENT, consents_of(record.subject_ceid), record.consent_id)
        under_way.draft.put(address, {"consent": consents.as_json(record), "by": self._actor}, new=True)
        under_way.draft.put(_pointer(record.consent_id), {"subject": record.subject_ceid}, new=True)

    def _note(self, under_way: Promoting, record: Consent, at: Instant | None, reason: Reason) -> None:
        """Draft the note that from a moment on less may be covered, so that no crash lets what rested on it stay."""
        if at is not None:
            told = Lapse(subject=record.subject_ceid, consent=record.consent_id, reason=reason, by=self._owner)
            under_way.draft.put(lapse(record.consent_id, at), msgspec.json.encode(told))

    async def _settled(self, consent_id: str, at: Instant | None) -> tuple[tuple[str, ...], dict[str, Any] | None]:
        """End what is covered no more, if that moment has come; which records, and what was told."""
        if at is None or at > self._workings.clock():
            return (), None
        return await self._workings.remembering.lapsing.settle(self._caller, lapse(consent_id, at))


def _pointer(consent_id: str) -> Address:
    """Whose consent it is."""
    return Address(Plane.LINK, CONSENTED, consent_id)
