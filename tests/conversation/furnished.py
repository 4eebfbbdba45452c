"""What lies between turns, written as it would be, with ids that anybody can foresee."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.pipeline.scene import TENANT, Scene

from recollect.domain.address import Address
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import new_caller
from recollect.domain.commits import Commit, Put
from recollect.domain.conversation.personas import DEFAULT_PERSONA, UserSeed
from recollect.domain.conversation.sessions import Message, Session
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine, Summary
from recollect.domain.conversation.todos import LoopKind, Todo, TodoStatus
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record
from recollect.service.conversation.places import Talks
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.shelving import FIELDS

SAID = '["user","ai"]'


class Furnished:
    """A user of a scene, whose memories and conversations are put there one by one, a minute apart."""

    def __init__(self, here: Scene, user: str = "alice", tenant: str = TENANT) -> None:
        self.here, self.user, self.tenant, self.talks = here, user, tenant, Talks(user)
        self.memories = here.root.for_caller(new_caller(tenant, user))
        self._number = 0
        self._said: dict[str, int] = {}

    async def record(self, text: str, **more: Any) -> Record:
        """A memory that was let in."""
        number = self._next()
        given: dict[str, Any] = {
            "id": f"user:{self.user}:semantic:{number}",
            "space": Space.USER,
            "owner": self.user,
            "kind": Kind.SEMANTIC,
            "event_type": EventType.FACT,
            "write_class": WriteClass.EVIDENCE_LINK,
            "tier": Tier.SEMANTIC,
            "entity": f"user:{self.user}",
            "predicate": "fact",
            "value": text,
            "text": text,
            "dedup_key": f"fact:{number}",
            "source": Source.USER,
            "authority": Authority.USER_ASSERTED,
            "authority_reason": "source:user",
            "trust": Trust.ASSERTED,
            "classification": Classification.INTERNAL,
            "confidence": 1.0,
            "importance": 3,
            "importance_reason": (),
            "tick": number,
            "promoted_at": self.here.clock(),
            "evidence_refs": (),
            "proposal_id": None,
            "principal": self.user,
        }
        made = Record(**given | more)
        address = Places(self.user).record(made.space, made.id.split(":", 2)[2])
        await self.put(address, made, made.labels(), FIELDS)
        return made

    async def about(self, ref: str, text: str, **more: Any) -> Record:
        """A memory that tells of somebody or something."""
        return await self.record(text, **{"entity": ref, "entity_refs": (ref,), "weight": 2} | more)

    async def session(self, persona: str = DEFAULT_PERSONA, *, over: bool = False) -> str:
        """A session that goes on, or is over."""
        now = self.here.clock()
        name = f"ses_{self._next():032x}"
        made = Session(id=name, user=self.user, persona=persona, started_at=now, last_activity_at=now)
        made = made.closed("idle") if over else made
        await self.put(self.talks.session(name), made, {"persona": persona, "open": not over})
        if not over:
            await self.put(self.talks.open_one(persona), {"session": name})
        return name

    async def say(
        self, user: str | None, ai: str | None = None, *, session: str, persona: str = DEFAULT_PERSONA
    ) -> int:
        """A turn."""
        number = self._said[persona] = self._said.get(persona, 0) + 1
        self._next()
        message = Message(
            number=number, session=session, persona=persona, at=self.here.clock(), user=user, ai=ai,
            captures=(f"cap_{number:032x}",),
        )  # fmt: skip
        await self.put(self.talks.message(persona, number), message, {"session": session}, SAID)
        await self.put(self.talks.counter(persona), {"number": number})
        return number

    async def todo(self, kind: str, content: str, persona: str = DEFAULT_PERSONA, **more: Any) -> Todo:
        """A todo, which is pending unless something else is said."""
        now = self.here.clock()
        made = Todo(
            id=f"tdo_{self._next():032x}", user=self.user, persona=persona, kind=LoopKind(kind), content=content,
            created_at=now, updated_at=now, **more,
        )  # fmt: skip
        labels = {"persona": persona, "kind": kind, "status": made.status.value}
        await self.put(self.talks.todo(made.id), made, labels)
        return made

    async def win(self, content: str, persona: str = DEFAULT_PERSONA, hours_ago: float = 0) -> Todo:
        """Something that was done."""
        done = self.here.clock() - round(hours_ago * 3_600_000_000)
        return await self.todo("COMMITMENT", content, persona, status=TodoStatus.COMPLETED, completed_at=done)

    async def seed(self, text: str) -> None:
        """What is told beforehand."""
        await self.put(self.talks.seed, UserSeed(text=text, at=self.here.clock()))

    async def spine(self, *profile: str) -> None:
        """A version of the spine."""
        made = Spine(version=1, profile=profile, at=self.here.clock(), by="extractive")
        await self.put(self.talks.spine(1), made)
        await self.put(self.talks.spine_counter, {"version": 1, "since": 0, "total": 21})

    async def rolling(self, session: str, text: str) -> None:
        """The summary of a session that goes on."""
        made = Rolling(session=session, text=text, message_count=4, at=self.here.clock(), by="extractive")
        await self.put(self.talks.rolling(session), made)

    async def summary(self, session: str, one_liner: str, persona: str = DEFAULT_PERSONA, **more: Any) -> None:
        """The summary of a session that is over."""
        said = Summary(one_liner=one_liner, **more)
        made = SessionSummary(session=session, persona=persona, summary=said, at=self.here.clock(), by="extractive")
        await self.put(self.talks.summary(session), made, {"persona": persona})

    async def put(
        self, address: Address, value: Any, labels: dict[str, Any] | None = None, fields: str | None = None
    ) -> None:
        """Write something below the user."""
        raw = msgspec.json.encode(value)
        put = Put(address, raw, None, encode_attributes(labels), index=fields is not None, index_fields=fields)
        await self.here.root._workings.store.commit(Commit(self.tenant, (put,)))

    async def pack(self, query: str | None = None, **asked: Any) -> dict[str, Any]:
        """What is given."""
        return await self.memories.conversation_context(query, **{"form": "markdown", "wait": 10} | asked)

    def _next(self) -> int:
        self.here.clock.advance(60)
        self._number += 1
        return self._number
