"""Whom a token stands for: one way in for all of them, and one answer to all that is wrong."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from recollect.backends.jwt.claims import Window, caller_from, check_parties, window_of
from recollect.backends.jwt.compact import Compact, checked_length, take_apart
from recollect.backends.jwt.flaws import Flaw, Refused
from recollect.backends.jwt.keys import PUBLIC_ALGORITHMS, KeySet, only_key, published_keys
from recollect.backends.jwt.options import JwtOptions
from recollect.backends.jwt.sources import GivenKeys, KeySource, LookedUpKeys, from_file, from_url, read_short_file
from recollect.domain.callers import Caller
from recollect.domain.errors import InvalidSetting, Unauthenticated
from recollect.ports.clock import Clock
from recollect.ports.credentials import Verifier

MAX_REMEMBERED = 2_048


@dataclass(frozen=True, slots=True)
class _Known:
    """What was found out about a token once, and when that holds."""

    caller: Caller
    window: Window


class JwtVerifier(Verifier):
    """Checks tokens with the keys of one issuer; for one event loop.

    A token that was good is remembered, so that it costs little the next time. Its times are looked at
    every time, and all are forgotten when the keys change.
    """

    def __init__(self, options: JwtOptions, source: KeySource, clock: Clock) -> None:
        if not options.issuer or not options.audience:
            raise InvalidSetting("a token must be checked for its issuer and its audience: give both")
        self._issuer = options.issuer
        self._audience = options.audience
        self._options = options
        self._algorithms = frozenset(options.algorithms)
        self._source = source
        self._clock = clock
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._keys: KeySet | None = None

    async def caller_of(self, token: str) -> Caller:
        """Whom the token stands for; `Unauthenticated` with a `reason` when it is not to be trusted."""
        try:
            known = await self._look_at(checked_length(token))
            known.window.check(self._clock())
        except Refused as refused:
            raise Unauthenticated("the token is not valid", reason=refused.flaw.value) from None
        return known.caller

    async def close(self) -> None:
        """Stop looking for keys."""
        await self._source.close()

    async def _look_at(self, token: str) -> _Known:
        digest = sha256(token.encode()).digest()
        # What has not even the form of a token is refused before anybody is asked for keys.
        compact = None if digest in self._known else self._checked_form(token)
        keys = self._use(await self._source.keys())
        if digest in self._known:
            self._known.move_to_end(digest)
            return self._known[digest]
        return await self._check(compact or self._checked_form(token), keys, digest)

    def _checked_form(self, token: str) -> Compact:
        compact = take_apart(token)
        if compact.algorithm not in self._algorithms:
            raise Refused(Flaw.ALGORITHM)
        return compact

    async def _check(self, token: Compact, keys: KeySet, digest: bytes) -> _Known:
        key = keys.find(token.kid, token.algorithm)
        if key is None:
            keys = self._use(await self._source.newer())
            key = keys.find(token.kid, token.algorithm)
        if key is None:
            raise Refused(Flaw.KEY)
        key.check(token.algorithm, token.signed, token.signature)
        claims = token.claims()
        check_parties(claims, self._issuer, self._audience)
        window = window_of(claims, self._options.leeway_seconds)
        caller = caller_from(claims, self._options.tenant_claim, f"jwt:{digest.hex()[:16]}")
        window.check(self._clock())
        known = self._known[digest] = _Known(caller, window)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)
        return known

    def _use(self, keys: KeySet) -> KeySet:
        """Take these keys as the present ones, and forget what others vouched for."""
        if keys is not self._keys:
            self._known.clear()
            self._keys = keys
        return keys


def jwt_verifier(options: JwtOptions, clock: Clock, ticks: Callable[[], float] = time.monotonic) -> JwtVerifier | None:
    """The verifier that these options ask for; None when no way is given. `ticks` is the clock for the age of keys."""
    if options.jwks_url is not None or options.jwks_file is not None:
        return JwtVerifier(options, _published(options, ticks), clock)
    given = _given(options)
    return None if given is None else JwtVerifier(options, GivenKeys(given), clock)


def _given(options: JwtOptions) -> KeySet | None:
    if options.key is not None:
        return only_key(options.key.encode(errors="surrogatepass"), options.algorithms, "jwt_key")
    if options.key_file is not None:
        text = _contents(options.key_file, "jwt_key_file")
        return only_key(_without_line_end(text), options.algorithms, "jwt_key_file")
    return None


def _published(options: JwtOptions, ticks: Callable[[], float]) -> KeySource:
    if not PUBLIC_ALGORITHMS & set(options.algorithms):
        raise InvalidSetting("a JWKS has public keys: jwt_algorithms must name RS256, ES256, EdDSA or alike")
    if options.jwks_file is None:
        return LookedUpKeys(from_url(str(options.jwks_url)), options.algorithms, ticks)
    try:
        published_keys(_contents(options.jwks_file, "jwks_file"), options.algorithms)
    except ValueError as problem:
        raise InvalidSetting(f"jwks_file cannot be used: {problem}") from None
    return LookedUpKeys(from_file(options.jwks_file), options.algorithms, ticks)


def _contents(path: Path, setting: str) -> bytes:
    try:
        return read_short_file(path)
    except (OSError, ValueError) as problem:
        raise InvalidSetting(f"{setting} cannot be read: {type(problem).__name__}") from None


def _without_line_end(text: bytes) -> bytes:
    """A secret as people mean it: an editor's last line end is not part of it, unless the file is binary."""
    try:
        return text.decode().rstrip("\r\n").encode()
    except UnicodeDecodeError:
        return text
