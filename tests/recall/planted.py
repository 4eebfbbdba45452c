"""Records written as the way in writes them, of sorts that nobody can say yet."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.pipeline.scene import TENANT, Scene

from recollect.domain.callers import new_caller
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

_NUMBERS = count(100)


async def planted(
    here: Scene, text: str, *, user: str = "alice", session: str | None = None, project: str | None = None, **more: Any
) -> str:
    """The id of a record that says this."""
    kind, space = Kind(more.pop("kind", "semantic")), Space(more.pop("space", "user"))
    places, number = Places(user, session, project), next(_NUMBERS)
    given: dict[str, Any] = {
        "id": f"{places.owners.store_key(space)}:{kind}:{number}",
        "space": space,
        "owner": places.owners.of(space),
        "kind": kind,
        "event_type": EventType.FACT,
        "write_class": WriteClass.EVIDENCE_LINK,
        "tier": Tier.SEMANTIC,
        "entity": f"user:{user}",
        "predicate": f"said_{number}",
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
        "promoted_at": here.clock(),
        "evidence_refs": ("tool:crm:1",),
        "proposal_id": None,
        "principal": user,
        "session": session,
    }
    record = Record(**given | more)

    async def work(under_way: Promoting) -> None:
        await under_way.write(record)

    remembering = here.root.workings.remembering
    await remembering.within(new_caller(TENANT, user), places, work)
    return record.id


def texts(told: dict[str, Any]) -> list[str]:
    """What the memories of an answer say."""
    return [each["text"] for each in told["memories"]]


def ids(told: dict[str, Any]) -> list[str]:
    return [each["id"] for each in told["memories"]]


CONSENT = {
    "purpose": "support",
    "scope": {"predicates_allowed": ["preferred_language"], "data_classifications_allowed": ["INTERNAL"]},
    "basis": "user_opt_in",
    "evidence_refs": ["screen:1"],
}


async def consented(here: Scene, value: str = "Dutch", user: str = "alice") -> tuple[str, str]:
    """The ids of a consent and of a record that rests on it."""
    memories = here.as_user(user)
    consent = await memories.capture_consent(CONSENT | {"subject_ceid": f"user:{user}"})
    candidate = {
        "entity_ceid": f"user:{user}",
        "predicate": "preferred_language",
        "value": value,
        "evidence_refs": ["tool:crm:1"],
        "confidence": 0.9,
    }
    told = await memories.propose({"candidate": candidate, "class": "preference"})
    record_id = (await here.maria.approve_proposal(told["proposal_id"]))["record_id"]
    return consent["consent_id"], record_id
