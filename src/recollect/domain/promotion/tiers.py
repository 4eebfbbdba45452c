"""Tiers: where a promoted record goes, and how long it is kept there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
ORDER = tuple(Tier)
RANGES: Mapping[Tier, tuple[int, int]] = MappingProxyType(
    {
        Tier.WORKING: (_MINUTE, _DAY),
        Tier.EPISODIC: (_HOUR, 30 * _DAY),
        Tier.DURABLE: (30 * _DAY, 3_660 * _DAY),
    }
)
"""What "minutes to hours", "hours to days" and "months to years" may be, in microseconds. Semantic has no end."""
_DEFAULTS: Mapping[Tier, int | None] = MappingProxyType(
    {Tier.WORKING: 4 * _HOUR, Tier.EPISODIC: 7 * _DAY, Tier.SEMANTIC: None, Tier.DURABLE: 730 * _DAY}
)
_DEFAULT_TIER: Mapping[WriteClass, Tier] = MappingProxyType(
    {
        WriteClass.EVIDENCE_LINK: Tier.EPISODIC,
        WriteClass.PREFERENCE: Tier.SEMANTIC,
        WriteClass.DECISION_OUTCOME: Tier.SEMANTIC,
        WriteClass.CORRECTION: Tier.SEMANTIC,
    }
)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long records are kept: by tier, and shorter by class where a tenant says so. None is until deprecated."""

    by_tier: Mapping[Tier, int | None] = field(default_factory=lambda: _DEFAULTS)
    by_class: Mapping[WriteClass, int] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if set(self.by_tier) != set(Tier):
            raise InvalidValue("each tier has a time to live")
        if self.by_tier[Tier.SEMANTIC] is not None:
            raise InvalidValue("the semantic tier has no time to live: its records are deprecated explicitly")
        for tier, (least, most) in RANGES.items():
            kept = self.by_tier[tier]
            if kept is None or not least <= kept <= most:
                raise InvalidValue(f"the time to live of the {tier.value} tier is out of its range", field=tier.value)
        if any(kept <= 0 for kept in self.by_class.values()):
            raise InvalidValue("a time to live of a class is above 0")

    def of(self, tier: Tier, write_class: WriteClass) -> int | None:
        """How long such a record is kept: the shorter of the two."""
        known = [each for each in (self.by_tier[tier], self.by_class.get(write_class)) if each is not None]
        return min(known) if known else None

    def ends(self, tier: Tier, write_class: WriteClass, now: Instant) -> Instant | None:
        """When a record that is promoted now is over; None when it is not before it is deprecated."""
        kept = self.of(tier, write_class)
        return None if kept is None else Instant(now + kept)


LIFETIMES = Lifetimes()


def routed(write_class: WriteClass, *, keyed: bool, asked: Tier | None = None, corrected: Tier | None = None) -> Tier:
    """The tier of a candidate.

    A correction goes where what it corrects is. What a source says goes to the semantic tier when it is about an entity
    and a predicate of the schema (`keyed`), else to the episode. Whoever asks for another tier gets it: for `durable`,
    review asks for more (see `review.approvals_needed`).
    """
    if write_class is WriteClass.CORRECTION and corrected is not None:
        return corrected
    if asked is not None:
        return asked
    if write_class is WriteClass.EVIDENCE_LINK and keyed:
        return Tier.SEMANTIC
    return _DEFAULT_TIER[write_class]
