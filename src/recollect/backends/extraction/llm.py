"""The extractor behind a URL: any server that speaks the OpenAI protocol for chat completions, with JSON schemas.

A model promises nothing, so its answer is read strictly and kept only as far as it rests on the passage. Wherever it
cannot be relied on, the rules stand in. It is told the passage and who speaks, and nothing that is remembered.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from threading import Event, Lock
from typing import Any, NamedTuple

import httpx
import msgspec

from recollect.backends.asking import (
    NoAnswer,
    Patience,
    TooLong,
    asked_to_wait,
    check_url,
    client_for,
    headers_with,
    posted,
)
from recollect.backends.extraction.answers import Ungrounded, Unreadable
from recollect.backends.extraction.attempts import Attempt
from recollect.backends.extraction.prompts import RESPONSE_FORMAT, messages_for, repair_of, sent_of
from recollect.backends.extraction.records import Trouble, by_model, by_rules, replayed
from recollect.domain.errors import InvalidSetting
from recollect.ports.extractor import Extracted, Extractor, Passage

NAME = "llm:"
MOST_CHARACTERS = 20_000
"""Longer passages are not sent."""
MOST_CONNECTIONS = 16
MOST_TOKENS_TOLD = 10_000_000
"""No request costs more, whatever the server says of itself."""
SEED = 7
_BYTES_PER_TOKEN = 64
_PASSING = frozenset({408, 425})
_KEY_REFUSED = frozenset({401, 403})
_WITHHELD = frozenset({"content_filter", "safety"})

log = logging.getLogger("recollect.extraction")


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


class _Reply(NamedTuple):
    """What one request brought, and what it cost."""

    content: str
    trouble: Trouble | None
    tokens: int


class LlmExtractor(Extractor):
    """Asks a model. Any number of threads may call it at once; they share nothing but the client."""

    name = "llm"
    asks = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        seconds: float = 20.0,
        attempts: int = 3,
        tokens: int = 1_024,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`seconds` and `attempts` are for one passage with all repetitions; `tokens` is what one answer may have."""
        check_url(url, "extractor_url", "extractor_key")
        if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key and key):
            raise InvalidSetting("extractor_key has characters that cannot be sent; give the key and nothing else")
        self._by = f"{NAME}{model}"[:300]
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._headers = headers_with(key)
        self._asked: dict[str, Any] = {
            "model": model,
            "temperature": 0,
            "seed": SEED,
            "max_tokens": tokens,
            "response_format": RESPONSE_FORMAT,
        }
        self._most = (1 << 16) + tokens * _BYTES_PER_TOKEN
        self._seconds = seconds
        self._attempts = attempts
        self._chance = chance
        self._lock = Lock()
        self._client: httpx.Client | None = None
        self._under_way: set[Attempt] = set()
        self._closing = Event()

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """The statements that the model finds; those of the rules, and why, where it cannot be relied on."""
        if recorded is not None:
            return replayed(passage, recorded)
        if len(passage.text) > MOST_CHARACTERS:
            return by_rules(passage, Trouble.TOO_EXPENSIVE)
        sent = sent_of(passage)
        return self._asking(passage, sent) if sent.strip() else by_rules(passage)

    def close(self) -> None:
        """Give up what is under way, and the connections."""
        self._closing.set()
        with self._lock:
            under_way, client = tuple(self._under_way), self._client
        for attempt in under_way:
            attempt.end()
        if client is not None:
            client.close()

    def _asking(self, passage: Passage, sent: str) -> Extracted:
        """Ask until there is an answer that can be used, or it is time to give up."""
        messages = messages_for(sent, passage.source)
        patience = Patience(self._seconds, self._chance, self._closing.wait, self._attempts)
        tokens, repaired = 0, False
        while True:
            try:
                reply = self._reply(messages, patience.left())
            except _Failed as failed:
                if failed.passing and not self._closing.is_set() and patience.wait(failed.seconds):
                    continue
                trouble = Trouble.CLOSED if self._closing.is_set() else failed.trouble
                return by_rules(passage, trouble, tokens=tokens)
            tokens += reply.tokens
            if reply.trouble is not None:
                return by_rules(passage, reply.trouble, tokens=tokens)
            try:
                return by_model(passage, self._by, reply.content, tokens=tokens)
            except Ungrounded:
                return by_rules(passage, Trouble.UNGROUNDED, tokens=tokens)
            except Unreadable:
                if repaired or not patience.again():
                    return by_rules(passage, Trouble.INVALID_ANSWER, tokens=tokens)
            messages, repaired = repair_of(messages, reply.content), True

    def _reply(self, messages: list[dict[str, str]], seconds: float) -> _Reply:
        """What one request brings."""
        body = msgspec.json.encode({**self._asked, "messages": messages})
        attempt = Attempt()
        client = self._opened(attempt)

        def ask(extensions: Mapping[str, object]) -> bytes:
            return posted(
                client,
                self._url,
                body,
                self._headers,
                most=self._most,
                seconds=seconds,
                check=_check_status,
                extensions=extensions,
            )

        try:
            return _reply_in(attempt.within(seconds, ask))
        except TooLong:
            raise _Failed(Trouble.INVALID_ANSWER) from None
        except NoAnswer as none:
            raise _Failed(Trouble.TIMEOUT if none.slow else Trouble.UNREACHABLE, passing=True) from None
        finally:
            with self._lock:
                self._under_way.discard(attempt)

    def _opened(self, attempt: Attempt) -> httpx.Client:
        """The client, for an attempt. It is made at the first; connections are not kept, each ends with its attempt."""
        with self._lock:
            if self._closing.is_set():
                raise _Failed(Trouble.CLOSED)
            if self._client is None:
                self._client = client_for(MOST_CONNECTIONS, kept=0)
            self._under_way.add(attempt)
            return self._client


class _Failed(Exception):
    """A request that brought no answer, whether that may pass, and after how long, if the server said so."""

    def __init__(self, trouble: Trouble, *, passing: bool = False, seconds: float | None = None) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.passing = passing
        self.seconds = seconds


def _check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    log.warning("extraction.status", extra={"fields": {"status": status}})
    seconds = asked_to_wait(response.headers.get("retry-after"), time.time())
    if status == httpx.codes.TOO_MANY_REQUESTS:
        raise _Failed(Trouble.BUSY, passing=True, seconds=seconds)
    if status in _PASSING or status >= 500:
        raise _Failed(Trouble.HTTP_ERROR, passing=True, seconds=seconds)
    raise _Failed(Trouble.KEY_REFUSED if status in _KEY_REFUSED else Trouble.HTTP_ERROR)


def _reply_in(answer: bytes) -> _Reply:
    """The reply in what a server sent; what is no completion at all may be the beginning of one, and is asked again."""
    try:
        completion = _decoder.decode(answer)
        choice = completion.choices[0]
    except (msgspec.MsgspecError, ValueError, RecursionError, IndexError):
        raise _Failed(Trouble.INVALID_ANSWER, passing=True) from None
    told = 0 if completion.usage is None else completion.usage.total_tokens
    content = choice.message.content or ""
    return _Reply(content, _withheld(choice, content), min(max(told, 0), MOST_TOKENS_TOLD))


def _withheld(choice: _Choice, content: str) -> Trouble | None:
    """Why there is nothing to read, if that is so."""
    if choice.finish_reason == "length":
        return Trouble.CUT_OFF
    if choice.message.refusal or choice.finish_reason in _WITHHELD or not content.strip():
        return Trouble.REFUSED
    return None
