"""A conversation on a server: its turns and sessions, what is to be done, and what is kept from one to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client import _scopes as scopes
from recollect_client._answers import Answer
from recollect_client._files import Download
from recollect_client._requests import Call

_SESSIONS = "/v1/sessions"
_TODOS = "/v1/todos"
_SEED = "/v1/seed"
_PERSONAS = "/v1/personas"
_IMPORT = "/v1/turns/import"


class AsyncConversing(ABC):
    """Who said what to which persona, and what came of it; everything in one's own name."""

    @abstractmethod
    async def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered."""

    @abstractmethod
    def _in_own_name(self) -> None:
        """Refuse what is not done with a justification."""

    async def _heard(self, call: Call) -> dict[str, Any]:
        self._in_own_name()
        return answers.decoded(await self._send(call), dict[str, Any])

    # -- turns

    async def converse(
        self,
        user: str | None = None,
        *,
        ai: str | None = None,
        persona: str = "default",
        session: str | None = None,
        private: bool = False,
        project: str | None = None,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Take a turn of a conversation: what the user said, what the persona answered, or both.

        It belongs to the session with the persona that goes on; after half an hour of silence a new one is opened.
        What is remembered is told with its reasons, and so is what is to be done, was done, or was called off. With
        `private`, only this persona will know it. `at` is when it was said, where that is not now. Every call has an
        idempotency key, yours or a fresh one, so that a turn is taken once however often it is sent.
        """
        fields = {
            "user": user,
            "ai": ai,
            "persona": persona,
            "session": session,
            "private": private,
            "project": project,
            "at": requests.moment(at),
        }
        return await self._heard(requests.write("POST", "/v1/turns", fields, key=idempotency_key))

    async def conversation_context(
        self,
        query: str | None = None,
        *,
        persona: str = "default",
        session: str | None = None,
        budget: int = 1200,
        counter: str = "chars",
        form: str = "json",
        template: str | Mapping[str, Any] | None = None,
        wait: float | None = None,
        at: datetime | None = None,
    ) -> dict[str, Any]:
        """What a persona is to know for its next answer, as blocks of a context within a budget of tokens.

        What always holds, whom it is about, what answers the query, what is to be done, and how the conversation went.
        The template is `conversation`, the name of another one, or one of your own.
        """
        fields = {
            "conversation": True,
            "query": query,
            "persona": persona,
            "session": session,
            "budget": budget,
            "counter": counter,
            "form": form,
            "template": scopes.template_given(template),
            "wait": wait,
            "at": requests.moment(at),
        }
        return await self._heard(requests.ask("/v1/context", fields, held=scopes.held(wait)))

    # -- sessions, and what was said in them

    async def list_sessions(
        self, *, persona: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The sessions of the caller, newest first, with one persona or with all."""
        query = [("persona", persona), ("limit", limit), ("cursor", cursor)]
        return await self._heard(requests.read(_SESSIONS, query))

    async def get_session(self, session_id: str) -> dict[str, Any]:
        """A session: when it was, and what it was about."""
        return await self._heard(requests.read(f"{_SESSIONS}/{requests.in_path(session_id)}"))

    async def close_session(self, session_id: str) -> dict[str, Any]:
        """Say that a session is over; its summary is made, and what is said next begins another."""
        path = f"{_SESSIONS}/{requests.in_path(session_id)}/close"
        return await self._heard(requests.act(path, slow=True, repeatable=True))

    async def get_session_state(self, persona: str = "default") -> dict[str, Any]:
        """What is known of the caller and a persona across their sessions."""
        return await self._heard(requests.read("/v1/session-state", [("persona", persona)]))

    async def list_messages(
        self,
        *,
        persona: str | None = None,
        session: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What was said, newest first: with a persona, or in one session."""
        query = [("persona", persona), ("session", session), ("limit", limit), ("cursor", cursor)]
        return await self._heard(requests.read("/v1/messages", query))

    async def list_spines(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """Everything about the caller in sections, newest version first."""
        return await self._heard(requests.read("/v1/spines", [("limit", limit), ("cursor", cursor)]))

    async def get_spine(self, version: int | None = None) -> dict[str, Any]:
        """One version of it; the latest, if none is named."""
        return await self._heard(requests.read(f"/v1/spines/{_version(version)}"))

    # -- what is to be done

    async def list_todos(
        self,
        *,
        persona: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Commitments, habits, threads and frictions, newest first: of one persona, kind or status."""
        query = [("persona", persona), ("kind", kind), ("status", status), ("limit", limit), ("cursor", cursor)]
        return await self._heard(requests.read(_TODOS, query))

    async def get_todo(self, todo_id: str) -> dict[str, Any]:
        """One of them."""
        return await self._heard(requests.read(f"{_TODOS}/{requests.in_path(todo_id)}"))

    async def add_todo(
        self,
        content: str,
        *,
        kind: str = "COMMITMENT",
        persona: str = "default",
        dedupe_key: str | None = None,
    ) -> dict[str, Any]:
        """Add something by hand; what means the same as something that is pending is that."""
        fields = {"content": content, "kind": kind, "persona": persona, "dedupe_key": dedupe_key}
        return await self._heard(requests.act(_TODOS, fields))

    async def change_todo(
        self,
        todo_id: str,
        *,
        status: str | None = None,
        kind: str | None = None,
        content: str | None = None,
    ) -> dict[str, Any]:
        """Say what is different about one: that it is done or called off, another kind, other words."""
        fields = {"status": status, "kind": kind, "content": content}
        return await self._heard(requests.write("PATCH", f"{_TODOS}/{requests.in_path(todo_id)}", fields))

    # -- what is told beforehand

    async def get_seed(self) -> dict[str, Any]:
        """What was told of the caller beforehand."""
        return await self._heard(requests.read(_SEED))

    async def put_seed(self, text: str) -> dict[str, Any]:
        """Tell of the caller beforehand, for all personas."""
        return await self._heard(requests.write("PUT", _SEED, {"text": text}))

    async def delete_seed(self) -> dict[str, Any]:
        """Take back what was told beforehand."""
        return await self._heard(requests.write("DELETE", _SEED))

    async def list_personas(self) -> dict[str, Any]:
        """The personas that were described."""
        return await self._heard(requests.read(_PERSONAS))

    async def get_persona(self, name: str) -> dict[str, Any]:
        """One persona, as it was described."""
        return await self._heard(requests.read(f"{_PERSONAS}/{requests.in_path(name)}"))

    async def put_persona(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Say what a persona is from now on; for administrators.

        It is not repeated when its answer was lost: that would make another version.
        """
        fields = {"settings": scopes.object_given(settings, "settings"), "expected_version": expected_version}
        path = f"{_PERSONAS}/{requests.in_path(name)}"
        return await self._heard(requests.write("PUT", path, fields, repeatable=False))

    # -- conversations from elsewhere

    async def import_conversation(
        self,
        turns: Sequence[Mapping[str, Any]],
        *,
        source: str,
        position: int,
        persona: str = "default",
    ) -> dict[str, Any]:
        """Take a page of a conversation from elsewhere; one that was taken before is not taken again."""
        fields = {
            "turns": requests.entries_given(turns, "turns"),
            "source": source,
            "position": position,
            "persona": persona,
        }
        return await self._heard(requests.act(_IMPORT, fields, slow=True, repeatable=True))

    async def conversation_progress(self, source: str) -> dict[str, Any]:
        """How far the import of a source came."""
        return await self._heard(requests.read(_IMPORT, [("source", source)]))


def _version(version: int | None) -> str:
    return "latest" if version is None else requests.in_path(str(version))
