"""The client for code without an event loop; generated from `_async_recalling.py` by `make generate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client import _scopes as scopes
from recollect_client._answers import Answer
from recollect_client._files import Download
from recollect_client._requests import Call


class Recalling(ABC):
    """What is recalled, compiled and governed, what was decided, and why; everything in one's own name."""

    @abstractmethod
    def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered."""

    @abstractmethod
    def _in_own_name(self) -> None:
        """Refuse what is not done with a justification."""

    def _given(self, call: Call) -> dict[str, Any]:
        self._in_own_name()
        return answers.decoded(self._send(call), dict[str, Any])

    # -- recalling

    def recall(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = 10,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        explain: bool = False,
        include_usage: bool = False,
        wait: float | None = None,
    ) -> dict[str, Any]:
        """The memories that answer a query, best first, each with what it rests on and why it is there.

        First come the last turns of the session, then what answers the query, then facts of profiles. A border that may
        not be crossed is told, and nothing behind it. `freshness` is how old they may be, in seconds. The ranker is
        `relevance`, `blended` or `deterministic`. With `as_of`, as they were recalled then; with `history`, also what
        others stand in place of. `explain` says how each was ranked.
        """
        fields = {
            "query": query,
            "spaces": spaces,
            "session": session,
            "project": project,
            "persona": persona,
            "phase": phase,
            "intent": intent,
            "classification": classification,
            "freshness": freshness,
            "kinds": kinds,
            "tiers": tiers,
            "event_types": event_types,
            "ranker": ranker,
            "limit": limit,
            "min_score": min_score,
            "as_of": as_of,
            "history": history,
            "explain": explain,
            "include_usage": include_usage,
            "wait": wait,
        }
        return self._given(requests.ask("/v1/recall", scopes.scoped(fields), held=scopes.held(wait)))

    def context(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = 50,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        wait: float | None = None,
        budget: int = 1200,
        counter: str = "chars",
        template: str | Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        form: str = "json",
    ) -> dict[str, Any]:
        """The memories that answer a query, as blocks of a context that stays within a budget of tokens.

        What had no room is named, with the reason. The form is `json`, `markdown` or `messages`; the same memories,
        state and budget give the same bytes.
        """
        fields = {
            "query": query,
            "spaces": spaces,
            "session": session,
            "project": project,
            "persona": persona,
            "phase": phase,
            "intent": intent,
            "classification": classification,
            "freshness": freshness,
            "kinds": kinds,
            "tiers": tiers,
            "event_types": event_types,
            "ranker": ranker,
            "limit": limit,
            "min_score": min_score,
            "as_of": as_of,
            "history": history,
            "wait": wait,
            "budget": budget,
            "counter": counter,
            "template": scopes.template_given(template),
            "state": scopes.object_given(state, "state"),
            "form": form,
        }
        return self._given(requests.ask("/v1/context", scopes.scoped(fields), held=scopes.held(wait)))

    # -- governed turns

    def take_turn(
        self,
        session: str,
        *,
        user: str,
        ai: str = "",
        profile: str = "default",
        tool_events: Sequence[Any] = (),
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
        recall: bool = True,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Take a turn of a session under a profile: recall for it, and write what it leaves behind.

        Every call has an idempotency key, yours or a fresh one, so that a turn is taken once however often it is sent.
        """
        self._in_own_name()
        fields = {
            "user": user,
            "ai": ai,
            "profile": profile,
            "tool_events": requests.entries_given(tool_events, "tool_events"),
            "project": project,
            "state": scopes.object_given(state, "state"),
            "identity": scopes.object_given(identity, "identity"),
            "recall": recall,
        }
        path = f"/v1/sessions/{requests.in_path(session)}/turns"
        return self._given(requests.write("POST", path, fields, key=idempotency_key))

    def recall_turn(
        self,
        session: str,
        query: str,
        *,
        profile: str = "default",
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What a session is given for a question under a profile; nothing is written but the trace of it."""
        fields = {
            "query": query,
            "profile": profile,
            "project": project,
            "state": scopes.object_given(state, "state"),
            "identity": scopes.object_given(identity, "identity"),
        }
        return self._given(requests.ask(f"/v1/sessions/{requests.in_path(session)}/recall", fields))

    def put_profile(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Say what a profile is from now on; the versions before stay, and turns that they governed keep them.

        It is not repeated when its answer was lost: that would make another version.
        """
        fields = {"settings": scopes.object_given(settings, "settings"), "expected_version": expected_version}
        path = f"/v1/profiles/{requests.in_path(name)}"
        return self._given(requests.write("PUT", path, fields, repeatable=False))

    def get_profile(self, name: str, *, version: int | None = None) -> dict[str, Any]:
        """A profile in its latest version, or an earlier one."""
        return self._given(requests.read(f"/v1/profiles/{requests.in_path(name)}", [("version", version)]))

    def list_profiles(self) -> dict[str, Any]:
        """Every profile, in its latest version."""
        return self._given(requests.read("/v1/profiles"))

    # -- why

    def list_traces(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the word of the API
        session: str | None = None,
        record: str | None = None,
        cause: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        plain: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What was decided about the caller's memories, newest first, each with its events in order.

        Only those with an event of a type, of a session, about a record, of a cause, or from a stretch of time. With
        `plain`, each event is told as lines of `key: value`.
        """
        query = [
            ("type", type),
            ("session", session),
            ("record", record),
            ("cause", cause),
            ("since", requests.moment(since)),
            ("until", requests.moment(until)),
            *scopes.format_asked(plain),
            ("limit", limit),
            ("cursor", cursor),
        ]
        return self._given(requests.read("/v1/traces", query))

    def get_trace(self, trace_id: str, *, plain: bool = False) -> dict[str, Any]:
        """One trace, with its events in order."""
        path = f"/v1/traces/{requests.in_path(trace_id)}"
        return self._given(requests.read(path, scopes.format_asked(plain)))

    def why(self, record_id: str) -> dict[str, Any]:
        """The way of a record: what was said, who or which rule let it in, and where it was recalled."""
        return self._given(requests.read(f"/v1/records/{requests.in_path(record_id)}/why"))

    def why_not(self, text: str) -> dict[str, Any]:
        """Why some words are not remembered, or not recalled any more."""
        return self._given(requests.ask("/v1/why-not", {"text": text}))

    def replay(self, session: str) -> dict[str, Any]:
        """Take the turns of a session again, in memory, and say whether everything was decided as it was then."""
        path = f"/v1/sessions/{requests.in_path(session)}/replay"
        return self._given(requests.act(path, slow=True, repeatable=True))

    def diff_phases(
        self,
        from_phase: str,
        to_phase: str,
        *,
        space: str = "session",
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """What was added, replaced and removed between two phases of a space."""
        query = [
            ("from", from_phase),
            ("to", to_phase),
            ("space", space),
            ("session", session),
            ("project", project),
        ]
        return self._given(requests.read("/v1/phases/diff", query))

    # -- measuring

    def memory_metrics(self, *, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
        """How well memory works, over a while: what it hits, costs, contradicts and corrects."""
        query = [("since", requests.moment(since)), ("until", requests.moment(until))]
        return self._given(requests.read("/v1/metrics/memory", query))

    def get_usage(self, namespace: Sequence[str], key: str) -> dict[str, Any]:
        """How often an item was loaded, and when."""
        return self._given(requests.read("/admin/v1/memories/usage", requests.address(namespace, key)))

    def top_usage(
        self, *, sort: str = "fetch_count", namespace_prefix: Sequence[str] = (), limit: int = 100
    ) -> dict[str, Any]:
        """What is loaded most, or was loaded last."""
        below = requests.repeated("ns", requests.segments(namespace_prefix))
        return self._given(requests.read("/admin/v1/memories/usage/top", [("sort", sort), *below, ("limit", limit)]))
