"""Governed turns: what is said is recalled for and recorded under a profile's contract, with every decision told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.errors import IdempotencyMismatch, InvalidRequest
from recollect.domain.governance.items import Item
from recollect.domain.governance.machine import Turn
from recollect.domain.governance.phases import diff_request_in, request_in
from recollect.domain.governance.taping import Done, Step
from recollect.domain.instants import after_seconds
from recollect.domain.measuring.figures import Figure
from recollect.domain.scrubbing import cleaned
from recollect.domain.values import encode_value, stored_value
from recollect.service.governing.profiles import DEFAULT, Profiles
from recollect.service.governing.stepping import Asked, Stepping, captures_of, places_for, text_of
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.requests import REMEMBERED_SECONDS, marker_of

MAX_TOOL_EVENTS = 100
MAX_NAME = 200


class Governing(Profiles):
    """Turns of a conversation, in the name of one caller."""

    async def take_turn(
        self,
        session: str,
        *,
        user: str,
        ai: str = "",
        profile: str = DEFAULT,
        tool_events: Sequence[Any] = (),
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
        recall: bool = True,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Recall for what the user said, and record it with what the AI answered, under the contract of a profile.

        Who needs what is recalled before the AI answers calls `recall_turn` first, and this with `recall=False`. A
        `state` may ask for a phase (`_memory_phase_token`, `_name`, `_reason`) and for a comparison
        (`_memory_phase_diff_from`, `_to`, `_space`), and names the user (`user.id`) where the caller acts for one.
        """
        if not isinstance(recall, bool):
            raise InvalidRequest("recall is true or false", field="recall")
        words, answer = text_of(user, "user"), text_of(ai, "ai")
        turn = Turn(user=words, ai=answer, tool_events=_events(tool_events))
        given = {"user": user, "ai": ai, "tools": list(tool_events), "recall": recall, "profile": profile}
        return await self._step(
            session, words if recall else None, turn, profile, project, state, identity, idempotency_key, given
        )

    async def recall_turn(
        self,
        session: str,
        query: str,
        *,
        profile: str = DEFAULT,
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What is recalled for a query under the contract of a profile, before an AI answers."""
        words = text_of(query, "query")
        return await self._step(session, words, None, profile, project, state, identity, None, {})

    async def _step(
        self,
        session: str,
        query: str | None,
        turn: Turn | None,
        profile: str,
        project: str | None,
        state: Mapping[str, Any] | None,
        identity: Mapping[str, Any] | None,
        idempotency_key: str | None,
        given: Mapping[str, Any],
    ) -> dict[str, Any]:
        self._check_own_name()
        name = _name(session, "session")
        place = None if project is None else _name(project, "project")
        places = places_for(self._caller, self._owner, name, place, state, identity)
        known = await self._profile(profile)
        engine = self._workings.remembering
        phase, diff = request_in(state or {}), diff_request_in(state or {})
        marker = await self._marker(idempotency_key, {**given, "state": state, "project": project})

        async def work(under_way: Promoting) -> tuple[Step, Done | None, list[Any], bool]:
            if marker is not None:
                before = await under_way.draft.at(places.request(marker[0]))
                if before is not None:
                    return await self._again(under_way, places, before, marker[1])
            ids = [under_way.new_id("cap") for _ in range(3)]
            captures = () if turn is None else captures_of(turn, places, self._caller, known, ids, under_way.now)
            asked = Asked(places, name, known, query, turn, phase, diff, tuple(captures))
            step, done, events = await Stepping(under_way, self._workings.spaces, self._caller).take(asked)
            if marker is not None:
                until = after_seconds(under_way.now, REMEMBERED_SECONDS)
                told = {"turn": step.number, "request": marker[1], "answer": _told(step, done, events)}
                under_way.draft.put(places.request(marker[0]), told, expires_at=until)
            return step, done, events, False

        step, done, events, replayed = await engine.within(self._caller, places, work)
        if turn is not None and not replayed:
            self._workings.figures.count(Figure.GOVERNED_TURNS)
        return events[0] | {"replayed": True} if replayed else _told(step, done, events)

    async def _marker(self, key: str | None, given: Mapping[str, Any]) -> tuple[str, str] | None:
        """What stands for a request that its caller named, and for what it asks."""
        return await marker_of(self._workings.remembering, self._tenant, self._actor, key, given)

    async def _again(
        self, under_way: Promoting, places: Places, before: Mapping[str, Any], request: str
    ) -> tuple[Step, Done | None, list[Any], bool]:
        """What was answered to the same request before."""
        if before["request"] != request:
            raise IdempotencyMismatch("this idempotency key was used for another turn")
        raw = await under_way.draft.bytes_at(places.turn(before["turn"]))
        step = msgspec.json.decode(raw or b"{}", type=Step)
        return step, None, [before["answer"]], True


def _told(step: Step, done: Done | None, events: list[Any]) -> dict[str, Any]:
    """A step as its caller sees it."""
    found, made = (None, None) if done is None else (done.recalled, done.recorded)
    return {
        "session": step.session,
        "turn": step.number,
        "profile": {"name": step.ai_profile, "version": step.profile_version},
        "recalled": None if found is None else {"items": _plain(found.context.items()), "hash": step.recall_hash},
        "written": [] if made is None else _plain(made.written),
        "events": events,
        "captures": list(step.captures),
        "trace_id": step.trace_id,
        "hash": step.hash,
    }


def _plain(items: Sequence[Item]) -> list[Any]:
    plain: list[Any] = msgspec.json.decode(msgspec.json.encode(items))
    return plain


def _name(given: object, field: str) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= MAX_NAME or not given.strip() or not given.isprintable():
        raise InvalidRequest(f"{field} is a name of 1 to {MAX_NAME} characters on one line", field=field)
    return given


def _events(given: object) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence) or len(given) > MAX_TOOL_EVENTS:
        raise InvalidRequest(f"tool_events are a list of at most {MAX_TOOL_EVENTS}", field="tool_events")
    checked: list[Any] = stored_value(encode_value({"events": list(given)}))["events"]
    return tuple(_cleaned(each) for each in checked)


def _cleaned(value: Any) -> Any:
    """The value without characters that show nothing, wherever they are."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {cleaned(name): _cleaned(each) for name, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value
