"""Where keys come from: given once and for all, or looked up again and again."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import httpx

from recollect.backends.jwt.flaws import Flaw, Refused
from recollect.backends.jwt.keys import KeySet, published_keys

FRESH_SECONDS = 300.0
"""How long keys are used before the issuer is asked again."""
USABLE_SECONDS = 3_600.0
"""How long they are used at most, while the issuer cannot be asked."""
UNKNOWN_SECONDS = 30.0
"""How often the issuer is asked at most because of keys that it had not named."""
RETRY_SECONDS = 10.0
"""How long to wait after a failure before the issuer is asked again."""
FAILING_SECONDS = 60.0
"""How long after a failure the issuer counts as out of reach, so that nobody waits for it who has older keys."""
FETCH_SECONDS = 5.0
MAX_JWKS_BYTES = 256 << 10
_log = logging.getLogger(__name__)


class KeySource(ABC):
    """Gives the issuer's keys as they are now."""

    @abstractmethod
    async def keys(self) -> KeySet:
        """The keys; `Refused` when there are none to be had."""

    @abstractmethod
    async def newer(self) -> KeySet:
        """The keys, looked up again if that was not done just now: a token named one that is not among them."""

    @abstractmethod
    async def close(self) -> None:
        """Stop what is under way."""


class GivenKeys(KeySource):
    """Keys that stay as they are."""

    def __init__(self, keys: KeySet) -> None:
        self._keys = keys

    async def keys(self) -> KeySet:
        """The keys."""
        return self._keys

    async def newer(self) -> KeySet:
        """The same keys."""
        return self._keys

    async def close(self) -> None:
        """Nothing is ever under way."""


class LookedUpKeys(KeySource):
    """Keys of a JWKS, kept for a while; whoever needs them at the same time shares one look-up."""

    def __init__(
        self,
        look_up: Callable[[], Awaitable[bytes]],
        algorithms: Iterable[str],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._algorithms = frozenset(algorithms)
        self._ticks = ticks
        self._keys: KeySet | None = None
        self._found_at = 0.0
        self._failed_at: float | None = None
        self._unknown_at: float | None = None
        self._under_way: asyncio.Task[None] | None = None

    async def keys(self) -> KeySet:
        """The keys, looked up again when they are no longer fresh; older ones while that fails."""
        if self._keys is None or self._age() >= FRESH_SECONDS:
            due = self._is_due(self._failed_at, RETRY_SECONDS)
            failed_lately = not self._is_due(self._failed_at, FAILING_SECONDS)
            if self._keys is None or self._age() >= USABLE_SECONDS or not failed_lately:
                await self._wait(start=due)
            elif due:
                self._start()  # it will likely fail again, so nobody waits for it while the old keys serve
        return self._usable()

    async def newer(self) -> KeySet:
        """The keys, looked up again unless an unknown name was the reason to do so just now."""
        due = self._is_due(self._unknown_at, UNKNOWN_SECONDS)
        if due:
            self._unknown_at = self._ticks()
        await self._wait(start=due)
        return self._usable()

    async def close(self) -> None:
        """Stop a look-up that is under way."""
        if self._under_way is not None and not self._under_way.done():
            self._under_way.cancel()
            await asyncio.wait([self._under_way])

    async def _wait(self, *, start: bool) -> None:
        """Wait for the look-up that is under way; without one, for a new one if that is wanted."""
        if start or (self._under_way is not None and not self._under_way.done()):
            # Shielded: a caller who goes away must not take the answer from those who still wait.
            await asyncio.shield(self._start())

    def _start(self) -> asyncio.Task[None]:
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._refresh())
        return self._under_way

    async def _refresh(self) -> None:
        try:
            found = published_keys(await self._look_up(), self._algorithms)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
            self._failed_at = self._ticks()
            _log.warning("jwks.look_up_failed", extra={"fields": {"reason": type(problem).__name__}})
            return
        if self._keys is None or found.digest != self._keys.digest:
            self._keys = found
        self._found_at = self._ticks()

    def _usable(self) -> KeySet:
        if self._keys is None or self._age() >= USABLE_SECONDS:
            raise Refused(Flaw.UNAVAILABLE)
        return self._keys

    def _age(self) -> float:
        return self._ticks() - self._found_at

    def _is_due(self, last: float | None, pause: float) -> bool:
        return last is None or self._ticks() - last >= pause


def from_url(url: str, seconds: float = FETCH_SECONDS) -> Callable[[], Awaitable[bytes]]:
    """Look a JWKS up over HTTP: from exactly this address, within the time, and no more than is sensible."""
    trusted = httpx.create_ssl_context(trust_env=False)
    trusted.load_default_certs()  # the machine's own authorities too: many issuers are in-house
    asks = {"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"}

    async def look_up() -> bytes:
        client = httpx.AsyncClient(
            verify=trusted, trust_env=False, follow_redirects=False, timeout=seconds, headers=asks
        )
        found = bytearray()
        async with asyncio.timeout(seconds), client, client.stream("GET", url) as answer:
            if answer.status_code != httpx.codes.OK or "content-encoding" in answer.headers:
                raise ValueError("the answer is not a plain 200")
            async for chunk in answer.aiter_raw():
                found += chunk
                if len(found) > MAX_JWKS_BYTES:
                    raise ValueError("the answer is too long")
        return bytes(found)

    return look_up


def from_file(path: Path) -> Callable[[], Awaitable[bytes]]:
    """Look a JWKS up in a file, as it is by then."""

    async def look_up() -> bytes:
        return await asyncio.to_thread(read_short_file, path)

    return look_up


def read_short_file(path: Path) -> bytes:
    """The bytes of a file, refused when there are more than a key or a set of keys has."""
    with path.open("rb") as file:
        found = file.read(MAX_JWKS_BYTES + 1)
    if len(found) > MAX_JWKS_BYTES:
        raise ValueError("the file is too long")
    return found
