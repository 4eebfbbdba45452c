"""What is claimed: a value of a predicate of an entity, when two claims are the same, and whether one is personal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from recollect.domain.errors import InvalidValue
from recollect.domain.promotion import shapes
from recollect.domain.promotion.categories import categories_in
from recollect.domain.promotion.standing import Classification
from recollect.domain.scanning import Class, scan

_FIELDS = frozenset({"entity_ceid", "predicate", "value", "evidence_refs", "confidence"})
RECALLED = ("memory:", "record:", "mem-")
"""How references to memory itself begin. Memory is never evidence for memory."""
MAX_VALUE = 64 << 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """A typed fact that was extracted from captures, in the seed's shape. Its value is not shown when it is printed."""

    entity_ceid: str
    predicate: str
    value: Any = field(repr=False)
    evidence_refs: tuple[str, ...]
    confidence: float

    @property
    def key(self) -> tuple[str, str]:
        """What it says something about: contradictions are looked for here."""
        return (self.entity_ceid, self.predicate)


def candidate_of(given: object) -> Candidate:
    """The candidate that this JSON object says."""
    told = shapes.members(given, "a candidate", _FIELDS)
    if len(_plain(told["value"])) > MAX_VALUE:
        raise InvalidValue(f"value has more than {MAX_VALUE:,} characters as JSON", field="value")
    return Candidate(
        shapes.ceid(told["entity_ceid"], "entity_ceid"),
        shapes.text(told["predicate"], "predicate"),
        told["value"],
        shapes.texts(told["evidence_refs"], "evidence_refs"),
        shapes.share(told["confidence"], "confidence"),
    )


def as_json(candidate: Candidate) -> dict[str, Any]:
    """The candidate as the seed writes it."""
    return {
        "entity_ceid": candidate.entity_ceid,
        "predicate": candidate.predicate,
        "value": candidate.value,
        "evidence_refs": list(candidate.evidence_refs),
        "confidence": candidate.confidence,
    }


def _plain(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InvalidValue("value is JSON, without NaN", field="value") from None


def normalised(value: object) -> str:
    """Equal for values that mean the same: texts but for case, width and spaces; all else exactly, type included."""
    if isinstance(value, str):
        return _plain(" ".join(unicodedata.normalize("NFKC", value).casefold().split()))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_plain(name)}:{normalised(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(normalised(each) for each in value) + "]"
    return _plain(value)


def digest(tenant_id: str, candidate: Candidate) -> bytes:
    """What identifies a claim without telling it."""
    parts = (tenant_id, candidate.entity_ceid, candidate.predicate, normalised(candidate.value))
    return sha256(_plain(parts).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What counts as personal in a tenant.

    The seed speaks of PII-classified attributes and leaves open what classifies them: here a list of predicates, the
    classifications that are regulated, whatever the scanner finds in the value, and words that tell of a person's
    health, belief, politics, origin or love.
    """

    predicates: frozenset[str] = frozenset(
        {
            "allergic_to", "birth_date", "birthday", "email", "ethnicity", "full_name", "gender", "has_condition",
            "health", "home_address", "iban", "ip_address", "lives_at", "national_id", "phone", "political_opinion",
            "preferred_language", "prefers_communication_channel", "religion", "salary", "sexual_orientation",
        }
    )  # fmt: skip
    regulated: frozenset[Classification] = frozenset({Classification.RESTRICTED})
    people: frozenset[str] = frozenset({"person", "user"})
    """The types of entities that are people; what is said of them is looked through for special categories."""
    impersonal: frozenset[str] = frozenset({"decided", "executed", "instruction"})
    """Predicates that tell nothing of the person, whatever words are in them."""

    def covers(self, candidate: Candidate, classification: Classification) -> bool:
        """True when keeping the candidate needs consent."""
        return (
            candidate.predicate in self.predicates
            or classification in self.regulated
            or any(scan(each, {Class.PII}) for each in texts_in(candidate.value))
            or (self._tells_of_a_person(candidate) and any(map(categories_in, texts_in(candidate.value))))
        )

    def _tells_of_a_person(self, candidate: Candidate) -> bool:
        """True for what is said of somebody, not for what they want done or decided."""
        kind, _, _ = candidate.entity_ceid.partition(":")
        return kind in self.people and candidate.predicate not in self.impersonal


def texts_in(value: object) -> tuple[str, ...]:
    """Every text in a value, names of members included; numbers as they are written."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, int | float):
        return (str(value),)
    if isinstance(value, Mapping):
        return tuple(each for pair in value.items() for part in pair for each in texts_in(part))
    return tuple(each for part in value for each in texts_in(part)) if isinstance(value, list | tuple) else ()
