"""Leases: every change of one is a document of its own, and whoever inserts the next one has made the change."""

from __future__ import annotations

from collections.abc import Callable

from recollect.backends.mongodb.driver import Document, Driver, Taken
from recollect.backends.mongodb.schema import LEASES
from recollect.domain.errors import LeaseLost, StoreBusy
from recollect.domain.instants import Instant, after_seconds
from recollect.ports.store import Lease

_KEPT_TURNS = 64
_ATTEMPTS = 1_000
Decide = Callable[[Lease | None], Lease | None]


async def acquire(driver: Driver, name: str, holder: str, seconds: float, now: Instant) -> Lease | None:
    """Take a lease that is free, ran out, or is one's own already."""

    def decide(held: Lease | None) -> Lease | None:
        fence = 1 if held is None else held.fence + 1
        if held is not None and held.expires_at > now:
            if held.holder != holder:
                return None
            fence = held.fence
        return Lease(name, holder, fence, after_seconds(now, seconds))

    return await _changed(driver, name, decide)


async def renew(driver: Driver, lease: Lease, seconds: float, now: Instant) -> Lease:
    """Prolong a lease that is still held."""

    def decide(held: Lease | None) -> Lease:
        _check_held(held, lease, now)
        return Lease(lease.name, lease.holder, lease.fence, after_seconds(now, seconds))

    renewed = await _changed(driver, lease.name, decide)
    if renewed is None:
        raise _lost(lease)
    return renewed


async def release(driver: Driver, lease: Lease, now: Instant) -> None:
    """Give a lease back; its fence stays, so that the next one is larger."""

    def decide(held: Lease | None) -> Lease:
        _check_held(held, lease, now)
        return Lease(lease.name, lease.holder, lease.fence, Instant(0))

    await _changed(driver, lease.name, decide)


def _check_held(held: Lease | None, lease: Lease, now: Instant) -> None:
    if held is None or held.fence != lease.fence or held.expires_at <= now:
        raise _lost(lease)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease {lease.name!r} is no longer held by {lease.holder!r}")


async def _changed(driver: Driver, name: str, decide: Decide) -> Lease | None:
    for _ in range(_ATTEMPTS):
        turn, held = await _newest(driver, name)
        wanted = decide(held)
        if wanted is None:
            return None
        document: Document = {
            "_id": f"{name}/{turn + 1:016x}",
            "name": name,
            "turn": turn + 1,
            "holder": wanted.holder,
            "fence": wanted.fence,
            "expires_at": wanted.expires_at,
        }
        try:
            await driver.insert(LEASES, document)
        except Taken:
            continue
        # One who slept may have taken a turn that was removed long ago: that is no turn at all.
        if (await _newest(driver, name))[0] > turn + 1:
            return None
        await driver.remove(LEASES, {"name": name, "turn": {"$lte": turn - _KEPT_TURNS}})
        return wanted
    raise StoreBusy(f"others kept changing the lease {name!r}")


async def _newest(driver: Driver, name: str) -> tuple[int, Lease | None]:
    found = await driver.find(LEASES, {"name": name}, order=[("turn", -1)], limit=1)
    if not found:
        return 0, None
    last = found[0]
    return last["turn"], Lease(name, last["holder"], last["fence"], last["expires_at"])
