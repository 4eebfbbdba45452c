"""Memories, states and templates for packs: plain ones, random ones, and hostile ones."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from recollect.domain.compiling.codes import Part
from recollect.domain.compiling.counting import CHARS, WORDS, Counter, Named
from recollect.domain.compiling.states import State, state_of
from recollect.domain.compiling.templates import DEFAULT, Template, template_of
from recollect.domain.recall.memories import Memory

ROUNDED_DOWN = Named("thirds", lambda text: len(text) // 3)
"""A counter by which the whole is more than its lines."""
COUNTERS: tuple[Counter, ...] = (CHARS, WORDS, ROUNDED_DOWN)
CONVERSED = tuple(State.__struct_fields__)
_WORDS = (
    "tea",
    "coffee",
    "Ada",
    "the weekly report",
    "日本語",
    "naïve",
    "ships",
    "on Fridays",
    "prefers",
    "🙂",
    "never",
)


def memory_told(number: int = 1, text: str = "Ada drinks tea.", **more: Any) -> dict[str, Any]:
    """A memory as recall tells it."""
    kind = more.get("kind", "semantic")
    return {
        "id": f"user:alice:{kind}:{number}",
        "also_known_as": f"mem-{number}",
        "space": "user",
        "kind": kind,
        "event_type": "fact",
        "tier": "semantic",
        "entity": "person:ada",
        "predicate": "drinks",
        "text": text,
        "importance": 1,
        "classification": "INTERNAL",
        "provenance": {
            "source": "user",
            "authority": "user_asserted",
            "trust": "asserted",
            "principal": "alice",
            "evidence_refs": [f"turn:{number}"],
            "captures": [f"cap_{number}"],
            "promoted_at": f"2026-05-{number % 28 + 1:02}T09:30:00Z",
        },
        "reasons": ["matches_query", "space:user"],
    } | more


def memory(number: int = 1, text: str = "Ada drinks tea.", **more: Any) -> Memory:
    return msgspec.convert(memory_told(number, text, **more), Memory)


def dispute(number: int = 1, entity: str = "person:ada", predicate: str = "drinks") -> dict[str, Any]:
    existing = f"user:alice:semantic:{number}"
    return {"event_id": f"ctr_{number}", "entity": entity, "predicate": predicate, "existing": existing}


def sentence(chance: Random, most: int = 40) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, most)))


def random_memories(chance: Random, most: int = 30) -> list[Memory]:
    return [
        memory(
            number,
            chance.choice(("", "\u200b")) if chance.random() < 0.03 else sentence(chance),
            kind=chance.choice(("semantic", "semantic", "profile", "short_term")),
            pinned=chance.random() < 0.1,
            behavioral=chance.random() < 0.3,
        )
        for number in range(chance.randint(0, most))
    ]


def random_state(chance: Random) -> State:
    return state_of(
        {
            part: [
                {"id": f"{part}-{number}", "text": sentence(chance), "behavioral": chance.random() < 0.2}
                for number in range(chance.randint(0, 6))
            ]
            for part in CONVERSED
            if chance.random() < 0.6
        }
    )


def random_template(chance: Random) -> Template:
    """The default, or some blocks in some order, with caps that get in the way."""
    if chance.random() < 0.4:
        return DEFAULT
    parts = chance.sample(list(Part), chance.randint(1, len(Part)))

    def cap(most: int) -> int | None:
        return chance.randint(1, most) if chance.random() < 0.5 else None

    blocks = [
        {
            "name": part.value,
            "source": part.value,
            "title": f"About {part}",
            "entries": cap(8),
            "tokens": cap(300),
            "percent": cap(100),
            "drop": chance.randint(0, 5),
        }
        for part in parts
    ]
    return template_of({"name": "random", "version": 1, "blocks": blocks})


def shuffled(value: Any, chance: Random) -> Any:
    """The same JSON with the members of every object in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled(value[name], chance) for name in names}
    return [shuffled(each, chance) for each in value] if isinstance(value, list) else value
