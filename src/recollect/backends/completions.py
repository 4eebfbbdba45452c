"""Asking a server for a chat completion, in OpenAI's protocol: one question, one reply, and why there is none.

Whoever asks decides how often, and what stands in for an answer. Nothing that was sent or said is ever logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from enum import StrEnum
from threading import Event, Lock
from typing import Any, NamedTuple

import httpx
import msgspec

from recollect.backends.asking import (
    NoAnswer,
    TooLong,
    asked_to_wait,
    check_key,
    check_url,
    client_for,
    headers_with,
    posted,
)
from recollect.backends.attempts import Attempt

MOST_CONNECTIONS = 16
MOST_TOKENS_TOLD = 10_000_000
"""No request costs more, whatever the server says of itself."""
_BYTES_PER_TOKEN = 64
_PASSING = frozenset({408, 425})
_KEY_REFUSED = frozenset({401, 403})
_WITHHELD = frozenset({"content_filter", "safety"})


class Failure(StrEnum):
    """Why a question brought nothing that can be read."""

    TIMEOUT = "timeout"
    """No answer came in time."""
    UNREACHABLE = "unreachable"
    """No connection came about, or it broke."""
    BUSY = "busy"
    """The server was asked too often."""
    KEY_REFUSED = "key_refused"
    """The server does not accept the key."""
    HTTP_ERROR = "http_error"
    """Another status than 200."""
    REFUSED = "refused"
    """The model would not answer, or a filter withheld what it said."""
    CUT_OFF = "cut_off"
    """The answer had more tokens than it may have."""
    INVALID_ANSWER = "invalid_answer"
    """It was no completion, or more than one can be."""
    CLOSED = "closed"
    """Whoever asks was closed."""


class Failed(Exception):
    """A request that brought no answer, whether that may pass, and after how long, if the server said so."""

    def __init__(self, failure: Failure, *, passing: bool = False, seconds: float | None = None) -> None:
        super().__init__(failure)
        self.failure = failure
        self.passing = passing
        self.seconds = seconds


class Reply(NamedTuple):
    """What one request brought, and what it cost."""

    content: str
    failure: Failure | None
    """Why there is nothing to read in it, if that is so."""
    tokens: int


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    total_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_decoder = msgspec.json.Decoder(_Completion)


class Completions:
    """A server that is asked. Any number of threads may ask it at once; they share nothing but the client."""

    def __init__(self, url: str, key: str | None, subject: str, log: logging.Logger, event: str) -> None:
        """`subject` is how the settings begin that name the server: `extractor` means `extractor_url`."""
        check_url(url, f"{subject}_url", f"{subject}_key")
        check_key(key, f"{subject}_key")
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._headers = headers_with(key)
        self._log = log
        self._event = event
        self._lock = Lock()
        self._client: httpx.Client | None = None
        self._under_way: set[Attempt] = set()
        self.closing = Event()
        """Set when it is closed; whoever waits before another attempt waits for it."""

    def ask(self, question: Mapping[str, Any], *, tokens: int, seconds: float) -> Reply:
        """What one request brings, of at most so many tokens. Raises `Failed`."""
        body = msgspec.json.encode(question)
        attempt = Attempt()
        client = self._opened(attempt)

        def post(extensions: Mapping[str, object]) -> bytes:
            return posted(
                client,
                self._url,
                body,
                self._headers,
                most=(1 << 16) + tokens * _BYTES_PER_TOKEN,
                seconds=seconds,
                check=self._check_status,
                extensions=extensions,
            )

        try:
            return _reply_in(attempt.within(seconds, post))
        except TooLong:
            raise Failed(Failure.INVALID_ANSWER) from None
        except NoAnswer as none:
            raise Failed(Failure.TIMEOUT if none.slow else Failure.UNREACHABLE, passing=True) from None
        finally:
            with self._lock:
                self._under_way.discard(attempt)

    def close(self) -> None:
        """Give up what is under way, and the connections."""
        self.closing.set()
        with self._lock:
            under_way, client = tuple(self._under_way), self._client
        for attempt in under_way:
            attempt.end()
        if client is not None:
            client.close()

    def _opened(self, attempt: Attempt) -> httpx.Client:
        """The client, for an attempt. It is made at the first; connections are not kept, each ends with its attempt."""
        with self._lock:
            if self.closing.is_set():
                raise Failed(Failure.CLOSED)
            if self._client is None:
                self._client = client_for(MOST_CONNECTIONS, kept=0)
            self._under_way.add(attempt)
            return self._client

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.OK:
            return
        self._log.warning(self._event, extra={"fields": {"status": status}})
        seconds = asked_to_wait(response.headers.get("retry-after"), time.time())
        if status == httpx.codes.TOO_MANY_REQUESTS:
            raise Failed(Failure.BUSY, passing=True, seconds=seconds)
        if status in _PASSING or status >= 500:
            raise Failed(Failure.HTTP_ERROR, passing=True, seconds=seconds)
        raise Failed(Failure.KEY_REFUSED if status in _KEY_REFUSED else Failure.HTTP_ERROR)


def _reply_in(answer: bytes) -> Reply:
    """The reply in what a server sent; what is no completion at all may be the beginning of one, and is asked again."""
    try:
        completion = _decoder.decode(answer)
        choice = completion.choices[0]
    except (msgspec.MsgspecError, ValueError, RecursionError, IndexError):
        raise Failed(Failure.INVALID_ANSWER, passing=True) from None
    told = 0 if completion.usage is None else completion.usage.total_tokens
    content = choice.message.content or ""
    return Reply(content, _withheld(choice, content), min(max(told, 0), MOST_TOKENS_TOLD))


def _withheld(choice: _Choice, content: str) -> Failure | None:
    """Why there is nothing to read, if that is so."""
    if choice.finish_reason == "length":
        return Failure.CUT_OFF
    if choice.message.refusal or choice.finish_reason in _WITHHELD or not content.strip():
        return Failure.REFUSED
    return None
