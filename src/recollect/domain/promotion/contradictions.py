"""Contradictions on one entity and predicate: nothing is overwritten silently.

What differs from what is known becomes an event for a person to decide, unless it is a correction that outranks it, or
an explicit rule of the tenant settles such cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.claims import Candidate, normalised
from recollect.domain.promotion.codes import ContradictionVerdict, Notice, Preference
from recollect.domain.promotion.standing import Trust

_FIELDS = frozenset({"existing", "verdict"})
CORRECTS_FROM = Trust.ASSERTED
"""The least trust of a correction that outranks. The seed speaks of operators; here users may, too."""


@dataclass(frozen=True, slots=True)
class Known:
    """A promoted record, as far as contradictions go."""

    record_id: str
    entity_ceid: str
    predicate: str
    value: Any = field(repr=False)
    write_class: WriteClass
    trust: Trust
    asserted_at: Instant


@dataclass(frozen=True, slots=True)
class Said:
    """A candidate with what the service knows of how it came."""

    candidate: Candidate
    write_class: WriteClass
    trust: Trust
    asserted_at: Instant
    corrects: str | None = None
    """The record that it is meant to put right."""


@dataclass(frozen=True, slots=True)
class ContradictionRules:
    """What a tenant has decided about contradictions beforehand; nothing, to begin with."""

    many_valued: frozenset[str] = frozenset()
    """Predicates of which an entity may have several values at once."""
    settled: Mapping[str, Preference] = field(default_factory=lambda: MappingProxyType({}))
    """Predicates whose contradictions are settled without a person, and how."""


@dataclass(frozen=True, slots=True)
class ContradictionCheck:
    """The record that was there, and the verdict, in the seed's shape."""

    existing: str | None
    verdict: ContradictionVerdict

    def __post_init__(self) -> None:
        if self.existing is None and self.verdict is not ContradictionVerdict.NO_CONFLICT:
            raise InvalidValue("a verdict on a record names it", field="existing")


NO_CONFLICT = ContradictionCheck(None, ContradictionVerdict.NO_CONFLICT)
NO_RULES = ContradictionRules()
# From the gravest to the lightest: with several records on one key, the gravest counts.
_GRAVITY = (
    ContradictionVerdict.CONTRADICTS,
    ContradictionVerdict.RESOLVED_FOR_EXISTING,
    ContradictionVerdict.CORRECTS,
    ContradictionVerdict.RESOLVED_FOR_CANDIDATE,
    ContradictionVerdict.SAME_VALUE,
    ContradictionVerdict.NO_CONFLICT,
)


def check_of(given: object) -> ContradictionCheck:
    """The check that this JSON object says."""
    told = shapes.members(given, "contradiction_check", _FIELDS)
    return ContradictionCheck(
        shapes.text_or_none(told["existing"], "existing"),
        shapes.one_of(ContradictionVerdict, told["verdict"], "verdict"),
    )


def as_json(check: ContradictionCheck) -> dict[str, Any]:
    """The check as the seed writes it."""
    return {"existing": check.existing, "verdict": check.verdict.value}


def checked(said: Said, known: Iterable[Known], rules: ContradictionRules = NO_RULES) -> ContradictionCheck:
    """The verdict on a candidate beside all live records; those on other keys do not matter."""
    found = [
        ContradictionCheck(each.record_id, _verdict(said, each, rules))
        for each in known
        if (each.entity_ceid, each.predicate) == said.candidate.key
    ]
    if said.candidate.predicate in rules.many_valued:
        same = ContradictionVerdict.SAME_VALUE
        found = [each for each in found if each.verdict is same or each.existing == said.corrects]
    if not found:
        return NO_CONFLICT
    return min(found, key=lambda each: (_GRAVITY.index(each.verdict), each.existing))


def _verdict(said: Said, known: Known, rules: ContradictionRules) -> ContradictionVerdict:
    if normalised(said.candidate.value) == normalised(known.value):
        return ContradictionVerdict.SAME_VALUE
    if said.write_class is WriteClass.CORRECTION:
        return ContradictionVerdict.CORRECTS if outranks(said, known) else ContradictionVerdict.CONTRADICTS
    if known.write_class is WriteClass.CORRECTION:
        return ContradictionVerdict.CONTRADICTS  # what a person corrected is never undone by a rule
    return _settled(said, known, rules.settled.get(said.candidate.predicate))


def outranks(correction: Said, known: Known) -> bool:
    """True when the correction takes the place of the record.

    One of sufficient trust outranks every plain record, whatever its trust (as the document of the contract has it, and
    unlike its code). Against another correction it must be as trusted and said later.
    """
    if correction.write_class is not WriteClass.CORRECTION or correction.trust < CORRECTS_FROM:
        return False
    if known.write_class is not WriteClass.CORRECTION:
        return True
    return correction.trust >= known.trust and correction.asserted_at > known.asserted_at


def _settled(said: Said, known: Known, preference: Preference | None) -> ContradictionVerdict:
    if preference is None or said.trust is Trust.UNTRUSTED:
        return ContradictionVerdict.CONTRADICTS
    newer, more_trusted = said.asserted_at - known.asserted_at, said.trust - known.trust
    ahead = newer if preference is Preference.NEWER else more_trusted
    if ahead == 0:
        return ContradictionVerdict.CONTRADICTS
    return ContradictionVerdict.RESOLVED_FOR_CANDIDATE if ahead > 0 else ContradictionVerdict.RESOLVED_FOR_EXISTING


@dataclass(frozen=True, slots=True)
class ContradictionEvent:
    """What is told when a candidate contradicts a record: ids and keys, and no values."""

    event_id: str
    tenant_id: str
    proposal_id: str
    existing: str
    entity_ceid: str
    predicate: str
    verdict: ContradictionVerdict
    at: Instant

    def as_json(self) -> dict[str, Any]:
        """The event as it is written. The seed names it and leaves its shape open."""
        return {
            "type": Notice.CONTRADICTION.value,
            "event_id": self.event_id,
            "tenant_id": self.tenant_id,
            "proposal_id": self.proposal_id,
            "existing": self.existing,
            "entity_ceid": self.entity_ceid,
            "predicate": self.predicate,
            "verdict": self.verdict.value,
            "at": shapes.written(self.at),
        }


def event_of(
    check: ContradictionCheck, candidate: Candidate, *, event_id: str, tenant_id: str, proposal_id: str, at: Instant
) -> ContradictionEvent | None:
    """The event of a check that found something else than what is known, also where a rule settled it."""
    if check.existing is None or check.verdict in (ContradictionVerdict.NO_CONFLICT, ContradictionVerdict.SAME_VALUE):
        return None
    entity, predicate = candidate.key
    return ContradictionEvent(event_id, tenant_id, proposal_id, check.existing, entity, predicate, check.verdict, at)
