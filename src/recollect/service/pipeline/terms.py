"""Terms: the rules by which a tenant remembers, together."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.domain.governance.policy import Contract
from recollect.domain.instants import Instant
from recollect.domain.promotion.contradictions import ContradictionRules
from recollect.domain.promotion.gate import WritePolicy
from recollect.domain.promotion.tiers import LIFETIMES, Lifetimes
from recollect.domain.remembering.deciding import usual_contract
from recollect.domain.statements import MANY_VALUED

PROFILE = "captures"
"""The profile under which traces tell of what was captured, where no other is named."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What may be written, where, how long it is kept, and who is trusted."""

    contract: Contract = field(default_factory=usual_contract)
    policy: WritePolicy = field(
        default_factory=lambda: WritePolicy(contradictions=ContradictionRules(many_valued=MANY_VALUED))
    )
    lifetimes: Lifetimes = LIFETIMES
    verified_tools: frozenset[str] = frozenset()
    """Tools that are known to be right about what they return."""
    keep_traces: int | None = None
    """How long it is kept what was decided, in microseconds; None: for ever."""

    def traces_end(self, now: Instant) -> Instant | None:
        """When what is told now is over."""
        return None if self.keep_traces is None else Instant(now + self.keep_traces)


USUAL = Terms()
