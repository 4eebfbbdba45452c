"""What the REST door works with: the use-cases, who the callers are, and the limits that it keeps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from recollect.config import Settings
from recollect.ports.store import Store
from recollect.service.guard import Guard
from recollect.service.identity import Identity
from recollect.service.memories import Memories
from recollect.surfaces.metrics import Metrics
from recollect.surfaces.rest.deadlines import Deadlines
from recollect.surfaces.rest.limits import Buckets
from recollect.surfaces.telemetry import Telemetry


@dataclass(slots=True)
class Service:
    """One service, shared by all requests."""

    memories: Memories
    store: Store
    guard: Guard
    identity: Identity
    settings: Settings
    metrics: Metrics
    telemetry: Telemetry
    scratch: Path | None = None
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    held: int = 0
    """How many bytes of bodies the requests under way hold."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    rate: Buckets = field(init=False)
    failures: Buckets = field(init=False)

    def __post_init__(self) -> None:
        self.rate = Buckets(self.settings.rate_per_second)
        self.failures = Buckets(self.settings.failures_per_second)

    def apply(self, settings: Settings) -> None:
        """Follow changed settings, from the next request on."""
        self.settings = settings
        self.rate.rate = settings.rate_per_second
        self.failures.rate = settings.failures_per_second
