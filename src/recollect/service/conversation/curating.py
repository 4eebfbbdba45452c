"""Curating: memories told together, copies and trifles put away, and all of it taken back, for one caller."""

from __future__ import annotations

from typing import Any

from recollect.domain.callers import Action
from recollect.domain.conversation.curations import Curation, proposed
from recollect.domain.conversation.personas import persona_name
from recollect.domain.promotion import shapes
from recollect.domain.reasons import Plane
from recollect.service.conversation.curator import REQUEST, Curator, curation_at
from recollect.service.conversation.talking import Talking, read_id, read_row
from recollect.service.pipeline.places import Places


class Curating(Talking):
    """The curator, at the service of one caller."""

    async def curate(self, *, persona: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Put away copies and trifles, and tell together what is known of one entity; all of it can be undone.

        With a persona, only what that one knows is looked at. With `dry_run`, nothing is written, and the same is told.
        """
        self._check_own_name()
        for action in (Action.WRITE, Action.DELETE):
            self._workings.guard.permit(self._caller, action)
        name = None if persona is None else persona_name(persona)
        curator, dry = Curator(self._workings), shapes.truth(dry_run, "dry_run")
        if not dry:
            return {"dry_run": False} | await curator.run(self._caller, self._owner, name, REQUEST)
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, Places(self._owner).own().segments, "records")
        records = await curator.active(self._tenant, self._owner, name)
        actions, _ = await curator.planned(self._tenant, self._owner, records)
        told = [proposed(each) | {"made": None} for each in actions]
        return {"dry_run": True, "id": None, "actions": told, "skipped_actions": []}

    async def list_curations(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What the curator did, newest first: ids, and nothing of what the memories say."""
        place = curation_at(self._owner, "").namespace
        rows, after = await self._listed(Plane.LINK, place, None, limit, cursor)
        return {"curations": [read_row(row, Curation).shown() for row in rows], "cursor": after}

    async def undo_curation(self, curation_id: str) -> dict[str, Any]:
        """Take back what one run of the curator did: what was put away is there again, as it was.

        What changed since stays as it is, and the answer says which that is and why.
        """
        self._check_own_name()
        for action in (Action.WRITE, Action.DELETE):
            self._workings.guard.permit(self._caller, action)
        return await Curator(self._workings).undo(self._caller, self._owner, read_id(curation_id))
