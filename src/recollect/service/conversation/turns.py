"""Turns: what the user said and the persona answered, taken in as one thing that happens once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.errors import IdempotencyMismatch, InvalidRequest, RecollectError
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.promotion import shapes
from recollect.domain.remembering.captures import Capture
from recollect.domain.text import flaw_in
from recollect.ports.extractor import Extracted
from recollect.service.conversation.curator import Curator
from recollect.service.conversation.fitting import fitted, personas, window
from recollect.service.conversation.places import Talks
from recollect.service.conversation.taking import Taking, Turn
from recollect.service.pipeline.capturing import Capturing
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Remembered
from recollect.service.pipeline.requests import REMEMBERED_SECONDS, marker_of
from recollect.service.reading import read_moment


class Conversing(Capturing):
    """Turns with personas, in the name of one caller."""

    async def converse(
        self,
        user: str | None = None,
        *,
        ai: str | None = None,
        persona: str = DEFAULT_PERSONA,
        session: str | None = None,
        private: bool = False,
        project: str | None = None,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Take in what the user said, what the persona answered, or both: one turn, in one transaction.

        It goes into the session with the persona that goes on, or into a new one after half an hour of silence. What
        of the user's words is worth remembering goes the way that everything goes in, for all personas, or with
        `private` for this one alone. With an `at`, it was said then: turns are told in their order. With an
        `idempotency_key`, a repeated call changes nothing and is answered the same.
        """
        self._check_own_name()
        given = {
            "user": user,
            "ai": ai,
            "persona": persona_name(persona),
            "session": _named(session),
            "private": shapes.truth(private, "private"),
            "project": project,
            "at": None if at is None else int(self._past(at)),
        }
        engine = self._workings.remembering
        marker = await marker_of(engine, self._tenant, self._actor, idempotency_key, given)
        talks = Talks(self._owner)
        if marker is not None:
            row = await self._workings.store.get(self._tenant, talks.request(marker[0]))
            if row is not None and row.value is not None:
                return _again(msgspec.json.decode(row.value), marker[1])
        turn = await self._turn(given)

        async def work(under_way: Promoting) -> tuple[dict[str, Any], bool]:
            if marker is not None:
                before = await under_way.draft.at(talks.request(marker[0]))
                if before is not None:
                    return _again(before, marker[1]), False
            told = await Taking(under_way, engine, turn, talks).take()
            if marker is not None:
                until = after_seconds(under_way.now, REMEMBERED_SECONDS)
                kept = {"request": marker[1], "answer": told}
                under_way.draft.put(talks.request(marker[0]), kept, expires_at=until)
            return told, bool(told["due"])

        places = Places(self._owner, None, turn.project)
        told, due = await engine.within(self._caller, places, work, turn.captures[0].id)
        if due:
            await self._workings.summarizing.stirred(self._tenant, self._owner)
        if self._workings.summarizing.inline:  # nobody else curates
            with suppress(RecollectError):  # the turn is kept in any case
                await Curator(self._workings).curate_due(self._tenant, self._owner, told["session"]["persona"])
        return told

    async def _turn(self, given: Mapping[str, Any]) -> Turn:
        """The turn that is asked for, with what was found in it; whoever is asked for that takes their time now."""
        told = given["at"] is not None
        at = Instant(given["at"]) if told else self._workings.clock()
        user = self._said(given, "user", 0, at)
        ai = self._said(given, "ai", 1, at)
        if user is None and ai is None:
            raise InvalidRequest("say what the user said, what the persona answered, or both", field="user")
        found, refused = await self._extracted(user)
        return Turn(
            owner=self._owner,
            persona=given["persona"],
            session=given["session"],
            project=None if (user or ai) is None else (user or ai).project,  # type: ignore[union-attr] # one is there
            private=given["private"],
            at=at,
            told=told,
            user=user,
            ai=ai,
            found=found,
            unfit=refused,
        )

    async def _extracted(self, user: Capture | None) -> tuple[Extracted | None, tuple[Remembered, ...]]:
        """What is found in the user's words, and why some of that is no memory. The rules know that by themselves."""
        engine = self._workings.remembering
        if user is None:
            return None, ()
        found = await engine.extracted(user)
        if not engine.extractor.asks:
            return found, ()
        late = await window(engine.store, self._tenant, self._owner, user.text, user.at)
        return fitted(found, late, await personas(engine.store, self._tenant))

    def _said(self, given: Mapping[str, Any], whose: str, place: int, at: Instant) -> Capture | None:
        """The capture of somebody's words; None when they said nothing."""
        words = given[whose]
        if words is None or (isinstance(words, str) and not words.strip()):
            return None
        speaker = "user" if whose == "user" else "assistant"
        raw = {"text": words, "speaker": speaker, "project": given["project"]}
        return msgspec.structs.replace(self._made(raw, self._capture_id(None, place)), at=at)

    def _past(self, at: datetime) -> Instant:
        moment = read_moment(at)
        if moment > self._workings.clock():
            raise InvalidRequest("at lies in the future; nothing was said then yet", field="at")
        return moment


def _named(session: object) -> str | None:
    if session is None:
        return None
    if not isinstance(session, str) or not 0 < len(session) <= 100 or flaw_in(session) or not session.isprintable():
        raise InvalidRequest("a session is named by its id, ses_…", field="session")
    return session


def _again(before: Mapping[str, Any], request: str) -> dict[str, Any]:
    """What was answered to the same request before."""
    if before["request"] != request:
        raise IdempotencyMismatch("this idempotency key was used for another turn")
    answer: dict[str, Any] = before["answer"]
    return answer | {"replayed": True}
