"""Curations: what the curator did in one run, so that it can be told and undone."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from recollect.domain.conversation.curating import Action, Deed, Why
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes


class NotRestored(StrEnum):
    """Why a memory that was put away does not come back."""

    GONE = "gone"
    """Nothing is left of it."""
    CHANGED = "changed"
    """It, or what stands in its place, changed since."""
    OUTDATED = "outdated"
    """Something else is known by now that cannot be true beside it."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One action as it was carried out: ids, and nothing of what the memories say."""

    kind: Deed
    reason: Why
    archived: tuple[str, ...]
    at: Instant
    keep: str | None = None
    made: str | None = None
    """The memory that was made."""
    mark: str | None = None
    """What that was, to see whether it changed since."""
    undone: bool = False

    def shown(self) -> dict[str, Any]:
        """The action as callers see it."""
        told = {
            "kind": self.kind.value,
            "reason": self.reason.value,
            "archived": list(self.archived),
            "keep": self.keep,
            "made": self.made,
        }
        return told | {"at": shapes.written(self.at), "undone": self.undone}


class Curation(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the curator that changed something."""

    id: str
    at: Instant
    by: str
    """`request`, or why it was due: `24h` or `25mem`."""
    persona: str | None = None
    """With whose eyes it looked; None: with those of all personas."""
    actions: tuple[Done, ...] = ()
    undone_at: Instant | None = None

    def did(self, done: Done) -> Curation:
        """The curation with one action more."""
        return msgspec.structs.replace(self, actions=(*self.actions, done))

    def took_back(self, place: int, at: Instant) -> Curation:
        """The curation, of which an action was undone."""
        after = msgspec.structs.replace(self.actions[place], undone=True)
        actions = (*self.actions[:place], after, *self.actions[place + 1 :])
        return msgspec.structs.replace(self, actions=actions, undone_at=at)

    def shown(self) -> dict[str, Any]:
        """The curation as callers see it."""
        return {
            "id": self.id,
            "at": shapes.written(self.at),
            "by": self.by,
            "persona": self.persona,
            "actions": [each.shown() for each in self.actions],
            "undone_at": shapes.written(self.undone_at),
        }


def proposed(action: Action) -> dict[str, Any]:
    """An action as callers see it before it is carried out; the run says the same of it."""
    return {
        "kind": action.kind.value,
        "reason": action.reason.value,
        "archived": list(action.archived),
        "keep": action.keep,
        "text": action.text,
        "entity": action.entity,
    }
