"""The client for code without an event loop; generated from `_async_entities.py` by `make generate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client._answers import Answer
from recollect_client._files import Download
from recollect_client._requests import Call
from recollect_client.errors import InvalidRequest

_ENTITIES = "/v1/entities"
_SUGGESTIONS = "/v1/entity-suggestions"
_CURATIONS = "/v1/curations"


class Entities(ABC):
    """People, places, organisations and projects, and the memories about them; everything in one's own name."""

    @abstractmethod
    def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered."""

    @abstractmethod
    def _in_own_name(self) -> None:
        """Refuse what is not done with a justification."""

    def _known(self, call: Call) -> dict[str, Any]:
        self._in_own_name()
        return answers.decoded(self._send(call), dict[str, Any])

    def list_entities(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the word of the API
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Whom and what the caller speaks of: people, places, organisations and projects."""
        return self._known(requests.read(_ENTITIES, [("type", type), ("limit", limit), ("cursor", cursor)]))

    def get_entity(self, ref: str, *, persona: str | None = None) -> dict[str, Any]:
        """One of them with its card, facts, names and changes, and what contradicts what is known of it."""
        return self._known(requests.read(f"{_ENTITIES}/{requests.in_path(ref)}", [("persona", persona)]))

    def put_entity(self, ref: str, *, label: str | None = None, aliases: Sequence[str] | None = None) -> dict[str, Any]:
        """Say how one is called, and how else."""
        fields = {"label": label, "aliases": requests.names(aliases, "aliases", InvalidRequest)}
        return self._known(requests.write("PUT", f"{_ENTITIES}/{requests.in_path(ref)}", fields))

    def merge_entities(self, ref: str, into: str, *, forced: bool = False) -> dict[str, Any]:
        """Say that one is another: from then on both are one, on every card at once; it can be undone.

        Those of different types are one only if it is `forced`.
        """
        path = f"{_ENTITIES}/{requests.in_path(ref)}/merge"
        return self._known(requests.act(path, {"into": into, "forced": forced}))

    def split_entity(self, ref: str, *, aliases: Sequence[str]) -> dict[str, Any]:
        """Say that some names of one belong to another after all."""
        path = f"{_ENTITIES}/{requests.in_path(ref)}/split"
        return self._known(requests.act(path, {"aliases": requests.names(aliases, "aliases", InvalidRequest)}))

    def undo_entity_change(self, change_id: str) -> dict[str, Any]:
        """Take a merge, a split or another change back."""
        return self._known(requests.act(f"/v1/entity-changes/{requests.in_path(change_id)}/undo"))

    def list_entity_suggestions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Which of them may be one, and why it seems so: `open`, `accepted` or `rejected`."""
        return self._known(requests.read(_SUGGESTIONS, [("status", status), ("limit", limit), ("cursor", cursor)]))

    def decide_entity_suggestion(self, suggestion_id: str, accept: bool) -> dict[str, Any]:
        """Say whether they are one; what was rejected is not suggested again."""
        path = f"{_SUGGESTIONS}/{requests.in_path(suggestion_id)}"
        return self._known(requests.act(path, {"accept": accept}))

    # -- curating

    def curate(self, *, persona: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Look through the memories: the same said twice, much about one entity, and what no longer matters.

        With `dry_run`, it tells exactly what it would do, and does nothing. Everything can be undone.
        """
        fields = {"persona": persona, "dry_run": dry_run}
        return self._known(requests.act(_CURATIONS, fields, slow=True, repeatable=dry_run))

    def list_curations(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What the curator did, newest first."""
        return self._known(requests.read(_CURATIONS, [("limit", limit), ("cursor", cursor)]))

    def undo_curation(self, curation_id: str) -> dict[str, Any]:
        """Bring back what it set aside, but for what changed since."""
        return self._known(requests.act(f"{_CURATIONS}/{requests.in_path(curation_id)}/undo"))
