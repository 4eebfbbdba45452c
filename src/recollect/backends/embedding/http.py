"""The embedder behind a URL: any server that speaks the OpenAI protocol for embeddings.

A server promises little, so E2 holds as far as the server keeps it, and everything else is seen to here. A text that
the server refuses is looked for by halves, so that it never stands in the way of the others. A text that is refused
and long is taken to be too long, and is given again with its first half alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from threading import Event, Lock

import httpx
import msgspec
import numpy as np

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
from recollect.backends.embedding.answers import rows_of, unit_of
from recollect.domain.errors import EmbedderTrouble, TextRefused
from recollect.ports.embedder import Embedder, Model, Purpose, Vectors

NAME = "openai/"
MOST_CHARACTERS = 1 << 17
"""How much of a text is sent."""
MOST_CONNECTIONS = 8
_SHORT = 256
"""No model is too small for a text of so many characters."""
_PROBE = "hello"
_TEXT_AT_FAULT = frozenset({400, 413, 422})
_PASSING = frozenset({408, 425, 429})


class HttpEmbedder(Embedder):
    """Asks a server; the purpose makes no difference to it."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dimension: int | None = None,
        seconds: float = 30.0,
        batch: int = 32,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """With a dimension, the server is asked for it; `seconds` are for one request with all its repetitions."""
        check_url(url, "embedder_url", "embedder_key")
        self.model_name = name_of(model, dimension)
        self.batch = batch
        self._url = f"{url.rstrip('/')}/embeddings"
        self._asked = {"model": model} | ({} if dimension is None else {"dimensions": dimension})
        self._headers = headers_with(key)
        self._seconds = seconds
        self._chance = chance
        self._lock = Lock()
        self._dimension = dimension
        self._client: httpx.Client | None = None
        self._closing = Event()

    def model(self) -> Model:
        """The model; the server is asked for a vector when nobody has said the dimension yet."""
        if self._dimension is None:
            self._embed_all([_PROBE])
        if self._dimension is None:
            raise AssertionError("a vector has a dimension")
        return Model(self.model_name, self._dimension)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:  # noqa: ARG002 - servers do not ask for it
        """A vector for each text."""
        if self._closing.is_set():
            raise EmbedderTrouble("the embedder was closed")
        found: list[Vectors] = []
        sent = [_sendable(text, place) for place, text in enumerate(texts)]
        for start in range(0, len(sent), self.batch):
            try:
                found += self._embed_all(sent[start : start + self.batch])
            except _Refused as refused:
                place = start + refused.place
                raise TextRefused(f"the embedding server refuses a text ({refused.why})", index=place) from None
        return np.stack(found) if found else np.empty((0, self.model().dimension), np.float32)

    def close(self) -> None:
        """Give up what is under way, and the connections."""
        self._closing.set()
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _embed_all(self, texts: list[str]) -> list[Vectors]:
        """A vector for each text; when one is refused, it is first made sure that not all of them would be."""
        try:
            return self._request(texts)
        except _Refused as refused:
            why = refused.why
        try:
            self._request([_PROBE])
        except _Refused:
            raise EmbedderTrouble(
                f"the embedding server refuses every text ({why}): "
                "check embedder_url, embedder_model and embedder_dimension"
            ) from None
        return self._by_halves(texts, 0, why)

    def _by_halves(self, texts: list[str], place: int, why: str) -> list[Vectors]:
        """A vector for each of some texts that were refused together; the first of them is at a place."""
        middle = len(texts) // 2
        if middle == 0:
            return [self._shortened(texts[0], place, why)]
        found: list[Vectors] = []
        for start, part in ((place, texts[:middle]), (place + middle, texts[middle:])):
            try:
                found += self._request(part)
            except _Refused as refused:
                found += self._by_halves(part, start, refused.why)
        return found

    def _shortened(self, text: str, place: int, why: str) -> Vectors:
        """The vector of as much of a refused text as the server takes."""
        while len(text) > _SHORT:
            text = text[: len(text) // 2]
            try:
                return self._request([text])[0]
            except _Refused as refused:
                why = refused.why
        raise _Refused(why, place)

    def _request(self, texts: list[str]) -> list[Vectors]:
        """One request, repeated while its trouble may pass."""
        body = msgspec.json.encode({**self._asked, "input": texts})
        most = (1 << 20) + len(texts) * (1 << 19)
        patience = Patience(self._seconds, self._chance, self._closing.wait)
        while True:
            try:
                answer = self._post(body, most, patience.left())
                return self._checked(answer, len(texts))
            except _Passing as passing:
                if self._closing.is_set():
                    raise EmbedderTrouble("the embedder was closed") from None
                if not patience.wait(passing.seconds):
                    if passing.status == httpx.codes.INTERNAL_SERVER_ERROR:
                        # Some servers fail over a certain text, every time.
                        raise _Refused("it fails with status 500") from None
                    raise EmbedderTrouble(passing.message) from None

    def _post(self, body: bytes, most: int, seconds: float) -> bytes:
        """The answer to one attempt."""
        client = self._opened()
        try:
            return posted(client, self._url, body, self._headers, most=most, seconds=seconds, check=_check_status)
        except TooLong:
            raise EmbedderTrouble("the embedding server gave an answer that is too long") from None
        except NoAnswer as none:
            if none.slow:
                raise _Passing("the embedding server did not answer in time") from None
            raise _Passing(f"the embedding server cannot be reached: {none.why}") from None

    def _opened(self) -> httpx.Client:
        """The client; made at the first request, because reading the trusted certificates takes long."""
        with self._lock:
            if self._closing.is_set():
                raise EmbedderTrouble("the embedder was closed")
            if self._client is None:
                self._client = client_for(MOST_CONNECTIONS, kept=MOST_CONNECTIONS)
            return self._client

    def _checked(self, answer: bytes, count: int) -> list[Vectors]:
        try:
            rows = rows_of(answer, count)
        except EmbedderTrouble as trouble:
            # Half an answer looks like a wrong one, so it is worth another try.
            raise _Passing(trouble.message) from None
        with self._lock:
            if self._dimension is None:
                self._dimension = len(rows[0])
        if len(rows[0]) != self._dimension:
            raise EmbedderTrouble(
                f"the embedding server gave vectors of {len(rows[0]):,} numbers instead of {self._dimension:,}"
            )
        units = [unit_of(row) for row in rows]
        found = [unit for unit in units if unit is not None]
        if len(found) < len(units):
            raise _Refused("its vector has no length or is not made of numbers")
        return found


class _Refused(Exception):
    """The server refuses some text; at which place is known once it stands alone."""

    def __init__(self, why: str, place: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.place = place


class _Passing(Exception):
    """Trouble that may pass, and after how long, if the server said so."""

    def __init__(self, message: str, *, status: int | None = None, seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.seconds = seconds


def name_of(model: str, dimension: int | None) -> str:
    """The name of a server's model; one that was asked for a dimension is another model."""
    return f"{NAME}{model}" if dimension is None else f"{NAME}{model}#{dimension}"


def _sendable(text: str, place: int) -> str:
    """What is sent of a text: not all of a huge one, and never nothing, which servers refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TextRefused("the text is not valid Unicode", index=place) from None
    return text[:MOST_CHARACTERS] or " "


def _check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in _TEXT_AT_FAULT:
        raise _Refused(f"status {status}")
    if status in _PASSING or status >= 500:
        seconds = asked_to_wait(response.headers.get("retry-after"), time.time())
        raise _Passing(f"the embedding server answered with status {status}", status=status, seconds=seconds)
    if status in (401, 403):
        raise EmbedderTrouble(f"the embedding server does not accept the key (status {status}): check embedder_key")
    if status == httpx.codes.NOT_FOUND:
        raise EmbedderTrouble(
            "the embedding server knows no such address or model: check embedder_url and embedder_model"
        )
    if 300 <= status < 400:
        raise EmbedderTrouble(
            f"the embedding server points elsewhere (status {status}), which is not followed: check embedder_url"
        )
    raise EmbedderTrouble(f"the embedding server answered with status {status}")
