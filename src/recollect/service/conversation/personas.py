"""Personas: whom the users of a tenant talk to, as it describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.commits import Commit, Put, checked_revision
from recollect.domain.conversation.personas import DEFAULT_PERSONA, Persona, persona_name, read_persona
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.service.conversation.places import PERSONAS, persona_at
from recollect.service.conversation.shown import shown_persona
from recollect.service.conversation.talking import Talking, read_row

MOST_PERSONAS = 1_000


class Personas(Talking):
    """The personas of a tenant, in the name of one caller."""

    async def list_personas(self) -> dict[str, Any]:
        """The personas that the tenant described, by name, and the one that is there in any case."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.READ)
        query = Find(Plane.SETTING, PERSONAS, order=Order.KEY, limit=MOST_PERSONAS)
        rows = (await self._workings.store.find(self._tenant, query)).rows
        found = {row.address.key: shown_persona(read_row(row, Persona), row.revision, row.written_at) for row in rows}
        found.setdefault(DEFAULT_PERSONA, shown_persona(Persona(name=DEFAULT_PERSONA), 0, None))
        return {"personas": [found[name] for name in sorted(found)]}

    async def get_persona(self, name: str) -> dict[str, Any]:
        """A persona as the tenant described it. One that nobody described can be talked to all the same."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.READ)
        address = persona_at(persona_name(name))
        row = await self._workings.store.get(self._tenant, address)
        if row is None or row.value is None:
            return shown_persona(Persona(name=name), 0, None)
        return shown_persona(read_row(row, Persona), row.revision, row.written_at)

    async def put_persona(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Describe a persona, in place of how it was described before. Administrators do.

        The settings may have a `label`, a `description`, `idle_seconds` and `spine`.
        """
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.CHANGE_POLICY)
        described = read_persona(persona_name(name), settings)
        value = msgspec.json.encode(described)
        put = Put(persona_at(name), value, expected_revision=checked_revision(expected_version))
        receipt = await self._workings.store.commit(Commit(self._tenant, (put,), actor=self._actor))
        done = receipt.outcomes[0]
        return shown_persona(described, done.revision or 0, done.written_at)
