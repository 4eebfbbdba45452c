"""A year of conversation, made from a seed: the same seed gives the same turns, and what was said of whom is known."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

BEGAN = datetime(2024, 1, 1, 7, tzinfo=UTC)
SPAN = timedelta(days=365)
FULL = 50_000
ENTITIES = 200
_FIRST = (
    "Anna", "Boris", "Carla", "David", "Elena", "Felix", "Greta", "Henry", "Irene", "Jonas",
    "Karin", "Leon", "Maria", "Nadia", "Oscar", "Petra",
)  # fmt: skip
_LAST = ("Abel", "Brook", "Castro", "Dorn", "Ekberg", "Fuchs", "Gruber", "Holm", "Ibsen", "Jensen")
_PROJECTS = (
    "Apollo", "Borealis", "Cascade", "Delta", "Eclipse", "Falcon", "Gemini", "Horizon", "Indigo", "Jupiter",
    "Krypton", "Lantern", "Meridian", "Nimbus", "Orion", "Phoenix", "Quasar", "Rhodium", "Saturn", "Titan",
    "Umbra", "Vega", "Willow", "Xenon", "Yukon", "Zephyr", "Atlas", "Beacon", "Comet", "Dynamo",
    "Ember", "Fjord", "Glacier", "Harbor", "Island", "Jasmine", "Kestrel", "Lagoon", "Monsoon", "Nebula",
)  # fmt: skip
_LIKED = ("tea", "chess", "jazz", "hiking", "tulips", "sushi", "poetry", "rowing", "opera", "cycling")
_USED = ("React", "Python", "Postgres", "Kafka", "Rust", "Docker", "Redis", "Grafana", "Flask", "Qdrant")
_TALK = (
    "What a day.", "How are you?", "Tell me something nice.", "The weather is grey today.", "Thanks, that helps.",
    "Do you think it will rain?", "It was a long meeting.", "Good morning!", "Good night!", "That sounds right.",
)  # fmt: skip
_DEEDS = ("call the bank", "water the plants", "write the report", "book the train", "clean the bike", "pay the rent")
_ANSWERS = ("I see.", "Noted.", "Tell me more.", "That makes sense.", "Good to know.")
_SESSION = (4, 16)
"""How many turns one conversation has."""


@dataclass(frozen=True, slots=True)
class Year:
    """The turns in their order, and what was said of whom, each in the words in which it was said first."""

    turns: list[dict[str, Any]]
    facts: dict[str, set[str]] = field(default_factory=dict)


def year(count: int = FULL, seed: int = 7) -> Year:
    """So many turns, spread over a year, about up to 200 people and projects; what is said is said again and again."""
    chance = random.Random(seed)
    people = [f"{first} {last}" for last in _LAST for first in _FIRST]
    subjects = [*((name, True) for name in people), *((name, False) for name in _PROJECTS)]
    turns: list[dict[str, Any]] = []
    facts: dict[str, set[str]] = defaultdict(set)
    while len(turns) < count:
        at = BEGAN + SPAN * (len(turns) / count)
        for minute in range(min(chance.randint(*_SESSION), count - len(turns))):
            said = _said(chance, subjects, facts)
            moment = (at + timedelta(seconds=30 * minute)).isoformat().replace("+00:00", "Z")
            turns.append({"at": moment, "user": said, "ai": chance.choice(_ANSWERS)})
    turns.sort(key=lambda each: each["at"])
    return Year(turns, dict(facts))


def _said(chance: random.Random, subjects: list[tuple[str, bool]], facts: dict[str, set[str]]) -> str:
    """What is said in one turn: mostly of somebody, now and then what is to be done, or nothing much."""
    sort = chance.random()
    if sort < 0.6:
        name, is_person = chance.choice(subjects)
        if is_person:
            text = f"My friend {name} likes {chance.choice(_LIKED)}."
        else:
            text = f"Project {name} uses {chance.choice(_USED)}."
        facts[name].add(text)
        return text
    if sort < 0.65:
        return f"I'll {chance.choice(_DEEDS)} tomorrow."
    return chance.choice(_TALK)
