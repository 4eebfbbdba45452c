"""What the doors of a service work with: the use-cases, who the callers are, and the limits that all doors share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from recollect.config import Settings
from recollect.domain.callers import SYSTEM_TENANT, Caller
from recollect.domain.errors import RateLimited, RecollectError, Unauthenticated
from recollect.ports.store import Store
from recollect.service.guard import Guard
from recollect.service.identity import Identity
from recollect.service.memories import Memories
from recollect.surfaces.deadlines import Deadlines
from recollect.surfaces.limits import Buckets, address_group
from recollect.surfaces.metrics import Metrics
from recollect.surfaces.telemetry import Telemetry

LONG_SECONDS = 3_600.0
"""How long what goes through all the data, tries a policy on it, or waits for news, may take."""
MAX_HELD_BYTES = 32 << 20
"""How much of the bodies of all requests under way is held at once."""
_READY_SECONDS = 2.0


@dataclass(slots=True)
class Service:
    """One service, shared by all requests at all doors."""

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

    async def admit(self, authorization: str | None, address: str, *, basic: bool = False) -> Caller:
        """The caller behind a credential, unless there is too much to do, for everybody, for them, or for strangers."""
        if self.under_way > self.settings.max_connections:
            raise RateLimited("too many requests are under way", retry_after=1)
        try:
            caller = await self.identity.caller_of(authorization, basic=basic)
        except Unauthenticated:
            if wait := self.failures.take(address_group(address)):
                raise RateLimited("too many requests without a valid credential", retry_after=wait) from None
            raise
        if wait := self.rate.take(caller.credential):
            raise RateLimited("too many requests for this credential", retry_after=wait)
        return caller

    def hold(self, size: int) -> None:
        """Note that so much more of a body is held; refused when it is too much of all together."""
        self.held += size
        if self.held > max(MAX_HELD_BYTES, self.settings.max_body_bytes):
            raise RateLimited("too much is being sent to the service at once", retry_after=1)

    async def ready(self) -> bool:
        """True while the store answers and the service is not about to stop."""
        if self.closing.is_set():
            return False
        try:
            async with asyncio.timeout(_READY_SECONDS):
                await self.store.head(SYSTEM_TENANT)
        except (RecollectError, TimeoutError):
            return False
        return True
