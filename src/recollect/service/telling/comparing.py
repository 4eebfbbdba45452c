"""Comparing: whether the same past gives the same answer, and what changed from one phase to another."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.errors import InvalidQuery, NotFound
from recollect.domain.governance.phases import Phase, Snapshot, compared, member_of
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.terms import Space
from recollect.domain.promotion import shapes
from recollect.domain.values import stored_value
from recollect.service.governing.stepping import places_for
from recollect.service.governing.turns import Governing
from recollect.service.pipeline.places import Places
from recollect.service.telling.replaying import Replaying

_PARTED = "/"


class Comparing(Governing):
    """Recorded conversations and phases, in the name of one caller."""

    async def replay(self, session: str) -> dict[str, Any]:
        """Run a recorded session again, on a scratch store, and compare every hash; nothing is written.

        `equal` says whether all of them are what they were; `differences` name the event, where in it, and by which
        rule it came. Whoever acts for others names a session like ids do: `alice/chat`.
        """
        self._check_own_name()
        places, name = self._session_named(session)
        ruling = await self._workings.guard.begin(self._caller)
        if not await ruling.allows(Action.READ, places.root(Space.SESSION).segments, "turns"):
            raise NotFound("session not found")
        salt = (await self._workings.remembering.key(self._tenant)).hex()
        done = await Replaying(self._workings.store, self._tenant, salt).run(places, name)
        if not done.turns:
            raise NotFound("session not found")
        return done.told()

    def _session_named(self, session: object) -> tuple[Places, str]:
        given = shapes.text(session, "session")
        others = self._caller.is_admin or not self._caller.user_id
        user, parted, name = given.partition(_PARTED)
        if parted and user and name and others:
            return Places(user, name), name
        return places_for(self._caller, self._owner, given, None, None, None), given

    async def diff_phases(
        self,
        from_phase: str,
        to_phase: str,
        *,
        space: str = Space.SESSION,
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """What changed in a space from one phase to another; nothing when one of them is not known."""
        self._check_own_name()
        wanted = shapes.one_of(Space, space, "space")
        places = Places(self._owner, None, project)
        if session is not None:
            own, _ = self._session_named(session)
            places = Places(own.user, own.session, project)
        if not places.has(wanted):
            raise InvalidQuery(f"say which {wanted.value} it is", field=wanted.value)
        before, after = shapes.text(from_phase, "from"), shapes.text(to_phase, "to")
        root = places.root(wanted)
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, root.segments, "phases")
        diff = compared(await self._snapshots(places, wanted, before, after), before, after)
        return {
            "space": wanted.value,
            "from_phase_id": before,
            "to_phase_id": after,
            "added_count": len(diff.added),
            "deleted_count": len(diff.deleted),
            "replaced_count": len(diff.replaced),
            "top_changes": diff.top_changes(),
            "summary_lines": diff.summary_lines(),
        }

    async def _snapshots(self, places: Places, space: Space, *wanted: str) -> list[Snapshot]:
        """What the space held at the end of the phases that are asked for, or holds now."""
        store, root = self._workings.store, places.root(space)
        row = await store.get(self._tenant, places.counters(space))
        told = [] if row is None or row.value is None else stored_value(row.value)["phases"]
        phases = [msgspec.convert(each, Phase) for each in told]
        found = []
        for phase in phases[:-1]:
            if phase.id in wanted:
                kept = await store.get(self._tenant, places.phase(space, phase.id))
                found += [] if kept is None or kept.value is None else [msgspec.json.decode(kept.value, type=Snapshot)]
        if phases and phases[-1].id in wanted:
            key = await self._workings.remembering.key(self._tenant)
            redaction = Redaction(salt=key.hex())
            own = places.own() if space in (Space.SESSION, Space.USER) else root
            held = (await self._workings.spaces.fresh(self._tenant, own)).at(root, self._workings.clock())
            items = [each.item if each.record.consent_id is None else redaction.hidden(each.item) for each in held]
            members = tuple(member_of(each, redaction.shown_key(each)) for each in items)
            found.append(Snapshot(phases[-1].id, members))
        return found
