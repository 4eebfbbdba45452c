"""How often one principal may ask: a token bucket for each, in this process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address

from recollect.domain.errors import InvalidSetting

MAX_PRINCIPALS = 10_000
_WHOLE = 1 - 1e-9
"""A token that is whole but for rounding, so that whoever waits as long as told is let through."""


class Buckets:
    """A bucket of tokens for each principal: `rate` flow in a second, `burst` fit in, a request takes one.

    In any time of t seconds, a principal gets through at most rate x t + burst times. The bucket of whoever was not
    seen for longest is forgotten beyond `MAX_PRINCIPALS`; by then it is full again, and nothing is lost, unless more
    than that many come in the time that a bucket takes to fill. For one thread only, such as an event loop's.
    """

    def __init__(self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if burst is not None and not burst >= 1:
            raise InvalidSetting(f"a burst is at least 1, not {burst!r}")
        self._clock = clock
        self._given_burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._rate = self._burst = 0.0
        self.rate = rate

    @property
    def rate(self) -> float:
        """How many requests a second get through on average; 0: all. It may be changed at any time."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        if not 0 <= rate < float("inf"):
            raise InvalidSetting(f"a rate is a number of at least 0, not {rate!r}")
        if rate == self._rate:
            return
        now = self._clock()
        burst = self._given_burst or max(1.0, rate)
        if rate and self._rate:  # what flowed until now flowed at the old rate
            for who, bucket in self._buckets.items():
                self._buckets[who] = min(burst, self._filled(*bucket, now)), now
        else:
            self._buckets.clear()
        self._rate, self._burst = rate, burst

    def take(self, who: str) -> float:
        """Take a token: 0 when there was one, else the seconds until there will be."""
        if not self._rate:
            return 0.0
        now = self._clock()
        bucket = self._buckets.get(who)
        if bucket is None:
            tokens = self._burst
            if len(self._buckets) >= MAX_PRINCIPALS:
                self._buckets.popitem(last=False)
        else:
            tokens = self._filled(*bucket, now)
            self._buckets.move_to_end(who)
        if tokens >= _WHOLE:
            self._buckets[who] = (max(0.0, tokens - 1), now)
            return 0.0
        self._buckets[who] = (tokens, now)
        return (1 - tokens) / self._rate

    def _filled(self, tokens: float, at: float, now: float) -> float:
        return min(self._burst, tokens + max(0.0, now - at) * self._rate)


def address_group(address: str) -> str:
    """Whom to count an address as: an IPv6 network of 64 bits is one household, and can use any address in it."""
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
