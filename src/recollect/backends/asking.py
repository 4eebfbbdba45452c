"""Asking a server over HTTP: which addresses are safe, how long to wait and how often, and how much of it is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from urllib.parse import urlsplit

import httpx

from recollect.domain.errors import InvalidSetting

ATTEMPTS = 4
_FIRST = 0.25
_LEAST = 0.05
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NoAnswer(Exception):
    """The server gave no answer, or only the beginning of one; another attempt may have it."""

    def __init__(self, why: str, *, slow: bool = False) -> None:
        super().__init__(why)
        self.why = why
        """What went wrong, as the name of an error; nothing that was sent or said."""
        self.slow = slow
        """Whether it was for want of time."""


class TooLong(Exception):
    """The answer has more bytes than it may have."""


class Patience:
    """The time for one request with all its repetitions: so many attempts, further and further apart."""

    def __init__(
        self,
        seconds: float,
        chance: Callable[[], float],
        sleep: Callable[[float], object],
        attempts: int = ATTEMPTS,
    ) -> None:
        self._end = time.monotonic() + seconds
        self._chance = chance
        self._sleep = sleep
        self._attempts = attempts
        self._attempt = 1

    def left(self) -> float:
        """How long the next attempt may take."""
        return max(self._end - time.monotonic(), _LEAST)

    def again(self) -> bool:
        """Count another attempt, made at once; False when it is time to give up."""
        if self._attempt >= self._attempts or time.monotonic() >= self._end:
            return False
        self._attempt += 1
        return True

    def wait(self, asked: float | None) -> bool:
        """Wait before another attempt, at least as long as was asked for; False when it is time to give up."""
        if self._attempt >= self._attempts:
            return False
        pause = float(_FIRST * 2 ** (self._attempt - 1) * (0.5 + self._chance() / 2))
        if asked is not None:
            # A little after the others that were told the same.
            pause = asked + pause * self._chance()
        if time.monotonic() + pause >= self._end:
            return False
        self._attempt += 1
        self._sleep(pause)
        return True


def asked_to_wait(header: str | None, now: float) -> float | None:
    """The seconds of a `Retry-After`, which has a number or a date; None when it says nothing useful."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None


def check_url(url: str, setting: str, key: str) -> None:
    """Refuse an address to which texts and key would travel in the open, or that has a password in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        raise InvalidSetting(f"{setting} must be an address, like https://example.com/v1") from None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        raise InvalidSetting(f"{setting} must begin with https://, or with http:// on loopback")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidSetting(f"{setting} must be a plain address; give the key with {key}")


def check_key(key: str | None, setting: str) -> None:
    """Refuse a key that could not be sent in a header, or has something around it."""
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key and key):
        raise InvalidSetting(f"{setting} has characters that cannot be sent; give the key and nothing else")


def client_for(connections: int, *, kept: int) -> httpx.Client:
    """A client that follows nobody elsewhere, and does not look at the environment."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=kept)
    return httpx.Client(limits=limits, trust_env=False, follow_redirects=False)


def headers_with(key: str | None) -> dict[str, str]:
    """The headers of a question, with the key if there is one."""
    said = {"content-type": "application/json", "accept-encoding": "identity"}
    return said if key is None else said | {"authorization": f"Bearer {key}"}


def posted(
    client: httpx.Client,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    most: int,
    seconds: float,
    check: Callable[[httpx.Response], None],
    extensions: Mapping[str, object] | None = None,
) -> bytes:
    """The answer to one attempt, of which no more is read than there may be, and no longer.

    `check` looks at the status before anything is read, and may raise. Raises `NoAnswer` and `TooLong`.
    """
    answer = bytearray()
    deadline = time.monotonic() + seconds
    given = dict(extensions or {})
    try:
        with client.stream(
            "POST", url, content=body, headers=dict(headers), timeout=seconds, extensions=given
        ) as response:
            check(response)
            for piece in response.iter_bytes():
                answer += piece
                if time.monotonic() > deadline:
                    raise NoAnswer("it took too long", slow=True)
                if len(answer) > most:
                    raise TooLong
    except httpx.TimeoutException:
        raise NoAnswer("it took too long", slow=True) from None
    except (httpx.HTTPError, httpx.StreamError, RuntimeError, OSError) as problem:
        raise NoAnswer(type(problem).__name__) from None
    return bytes(answer)
