"""Rules: what may change while the service runs, shared by everything that is open."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from recollect.domain.address import MAX_DEPTH
from recollect.domain.retention import Retention


@dataclass(slots=True)
class Rules:
    """What may change while the service runs, shared by everything that is open."""

    max_depth: int = MAX_DEPTH
    retention: Retention = field(default_factory=Retention)
    tenant_policies: bool = True
    """Whether administrators may give their tenant a policy of its own."""
    require_justification: bool = False
    """Whether administrators must say why they read what is not their own."""
    sweep_seconds: float = 60.0
    index_seconds: float = 30.0
    index_batch: int = 100
    usage_importance: int = 0
    """By how much the importance of a memory may grow with use when it is ranked."""

    curator: bool = False
    """Whether memories are curated without anybody asking for it."""

    def follow(self, other: Rules) -> None:
        """Take over what another says, for everybody who holds this one."""
        for each in fields(other):
            setattr(self, each.name, getattr(other, each.name))
