"""The embedder behind a URL, against a real server that fails in every way that servers do."""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.embedding.server import (
    DIMENSION,
    EmbeddingServer,
    Fault,
    Rows,
    cut_off,
    drips,
    endless,
    hangs_up,
    in_base64,
    rows,
    said,
    serving,
    slow,
    status,
    with_rows,
)

from recollect.backends.asking import ATTEMPTS, asked_to_wait
from recollect.backends.embedding import HashingEmbedder, HttpEmbedder
from recollect.domain.errors import EmbedderTrouble, InvalidSetting, TextRefused
from recollect.ports.embedder import Model, Purpose, Vectors

SECRET = "sk-hunter2-hunter2"
TEXTS = ["I like tea", "rockets fly", "the third one"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as scripted:
        yield scripted


def asking(server: EmbeddingServer, **options: Any) -> HttpEmbedder:
    usual: dict[str, Any] = {"key": SECRET, "seconds": 5.0, "chance": lambda: 0.0}
    return HttpEmbedder(server.url, "some-model", **usual | options)


def expected(texts: list[str] = TEXTS) -> Vectors:
    return HashingEmbedder(DIMENSION).embed(texts, Purpose.PASSAGE)


def embedded(embedder: HttpEmbedder, texts: list[str] = TEXTS) -> Vectors:
    try:
        return embedder.embed(texts, Purpose.PASSAGE)
    finally:
        embedder.close()


def trouble(embedder: HttpEmbedder, texts: list[str] = TEXTS) -> EmbedderTrouble:
    with pytest.raises(EmbedderTrouble) as caught:
        embedded(embedder, texts)
    shown = f"{caught.value!r} {caught.value.details} {caught.value.__cause__}"
    assert not [word for word in (SECRET, *TEXTS) if word in shown]
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def many(count: int) -> list[str]:
    return [f"text number {number}" for number in range(count)]


# -- what is sent


def test_the_model_the_texts_and_the_key_are_sent(server: EmbeddingServer) -> None:
    np.testing.assert_allclose(embedded(asking(server)), expected(), atol=1e-6)
    assert server.asked == [{"model": "some-model", "input": TEXTS, "path": "/v1/embeddings"}]
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


def test_without_a_key_none_is_sent_and_a_slash_at_the_end_does_no_harm(server: EmbeddingServer) -> None:
    server.url += "/"
    embedded(asking(server, key=None))
    assert "authorization" not in server.headers[0]
    assert server.asked[0]["path"] == "/v1/embeddings"


def test_a_dimension_is_asked_for_and_makes_another_model(server: EmbeddingServer) -> None:
    embedder = asking(server, dimension=DIMENSION)
    assert embedder.model() == Model(f"openai/some-model#{DIMENSION}", DIMENSION)
    assert not server.asked
    embedded(embedder)
    assert server.asked[0]["dimensions"] == DIMENSION


def test_texts_are_sent_in_batches(server: EmbeddingServer) -> None:
    texts = many(25)
    np.testing.assert_allclose(embedded(asking(server, batch=10), texts), expected(texts), atol=1e-6)
    assert server.counts == [10, 10, 5]


def test_the_dimension_is_found_out_by_asking(server: EmbeddingServer) -> None:
    embedder = asking(server)
    assert embedder.model() == Model("openai/some-model", DIMENSION)
    assert embedder.model() == embedder.model()
    assert len(server.asked) == 1
    assert embedder.embed([], Purpose.QUERY).shape == (0, DIMENSION)
    embedder.close()


def test_an_empty_text_is_sent_as_a_space_and_not_all_of_a_huge_one(server: EmbeddingServer) -> None:
    assert len(embedded(asking(server), ["", "word " * 200_000])) == 2
    assert server.asked[0]["input"][0] == " "
    assert len(server.asked[0]["input"][1]) < 200_000


# -- answers that are right in unusual ways


@pytest.mark.parametrize("change", [lambda found: found[::-1], in_base64], ids=["another order", "base64"])
def test_an_answer_in_another_form_is_the_same_answer(server: EmbeddingServer, change: Callable[[Rows], Rows]) -> None:
    server.faults.append(with_rows(change))
    np.testing.assert_allclose(embedded(asking(server)), expected(), atol=1e-6)
    assert len(server.asked) == 1


@pytest.mark.parametrize("factor", [1e-36, 1e36])
def test_a_vector_of_any_length_is_brought_to_unit_length(server: EmbeddingServer, factor: float) -> None:
    server.vectors = lambda texts: [
        row | {"embedding": [number * factor for number in row["embedding"]]} for row in rows(texts)
    ]
    np.testing.assert_allclose(embedded(asking(server)), expected(), atol=1e-5)


# -- trouble that passes


@pytest.mark.parametrize(
    "fault",
    [
        status(500),
        status(503),
        status(529),
        status(408),
        status(429, retry_after="0"),
        status(429, retry_after="soon"),
        status(503, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
        hangs_up,
        cut_off,
        said("not JSON"),
        said('{"data": [{"index": 0, "embedding": [NaN]}]}'),
        with_rows(lambda found: found[:-1]),
    ],
    ids=["500", "503", "529", "408", "429", "429 soon", "503 date", "hangs up", "cut off", "text", "NaN", "few"],
)
def test_what_passes_is_tried_again(server: EmbeddingServer, fault: Fault) -> None:
    server.faults.append(fault)
    np.testing.assert_allclose(embedded(asking(server)), expected(), atol=1e-6)
    assert len(server.asked) == 2


def test_it_is_waited_as_long_as_the_server_asks(server: EmbeddingServer) -> None:
    server.faults.append(status(429, retry_after="0.7"))
    begun = time.monotonic()
    embedded(asking(server))
    assert time.monotonic() - begun >= 0.7


def test_a_wait_that_is_longer_than_the_time_there_is_is_not_begun(server: EmbeddingServer) -> None:
    server.faults.extend([status(429, retry_after="3600")] * 2)
    begun = time.monotonic()
    assert "status 429" in trouble(asking(server)).message
    assert time.monotonic() - begun < 2
    assert len(server.asked) == 1


def test_a_slow_answer_and_one_without_an_end_are_given_up_in_time(server: EmbeddingServer) -> None:
    for fault in (slow(3), drips(3)):
        server.faults.append(fault)
        begun = time.monotonic()
        assert "in time" in trouble(asking(server, seconds=0.3)).message
        assert time.monotonic() - begun < 2


@pytest.mark.parametrize("fault", [status(503), hangs_up, said("[]")], ids=["503", "hangs up", "wrong"])
def test_what_does_not_pass_is_given_up_after_a_few_attempts(server: EmbeddingServer, fault: Fault) -> None:
    server.faults.extend([fault] * 50)
    trouble(asking(server))
    assert len(server.asked) == ATTEMPTS


def test_a_server_that_is_away_is_trouble(server: EmbeddingServer) -> None:
    server.stop()
    assert "cannot be reached" in trouble(asking(server)).message


def test_closing_ends_a_wait(server: EmbeddingServer) -> None:
    server.faults.append(status(429, retry_after="20"))
    embedder = asking(server, seconds=60.0)
    threading.Timer(0.3, embedder.close).start()
    begun = time.monotonic()
    assert "closed" in trouble(embedder).message
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("x", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert asked_to_wait(header, 10.0) == seconds


# -- trouble that does not


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(401), "does not accept the key (status 401): check embedder_key"),
        (status(403), "does not accept the key (status 403): check embedder_key"),
        (status(404), "check embedder_url and embedder_model"),
        (status(302, location="http://127.0.0.1:1/"), "points elsewhere (status 302)"),
        (status(402), "status 402"),
        (endless, "too long"),
        (with_rows(lambda found: [row | {"embedding": row["embedding"][:8]} for row in found]), "8 numbers instead"),
    ],
    ids=["401", "403", "404", "302", "402", "endless", "dimension"],
)
def test_what_does_not_pass_is_not_tried_again(server: EmbeddingServer, fault: Fault, words: str) -> None:
    server.faults.append(fault)
    assert words in trouble(asking(server, dimension=DIMENSION)).message
    assert len(server.asked) == 1


def test_the_dimension_seen_first_is_held_to(server: EmbeddingServer) -> None:
    embedder = asking(server)
    embedder.embed(TEXTS, Purpose.PASSAGE)
    server.vectors = lambda texts: [row | {"embedding": row["embedding"] * 2} for row in rows(texts)]
    assert "512 numbers instead of 256" in trouble(embedder).message


@pytest.mark.parametrize(
    "change",
    [
        lambda found: [found[0], found[0], found[2]],
        lambda found: [*found, found[0] | {"index": 3}],
        lambda found: [row | {"index": row["index"] + 1} for row in found],
        lambda found: found[:0],
        lambda found: [row | {"embedding": row["embedding"][: 9 - row["index"]]} for row in found],
        lambda found: [row | {"embedding": []} for row in found],
        lambda found: [row | {"embedding": "§§§"} for row in found],
        lambda found: [row | {"embedding": "AAA="} for row in found],
        lambda found: [row | {"embedding": ["1"]} for row in found],
        lambda found: [row | {"embedding": [1.0] * 20_000} for row in found],
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server: EmbeddingServer, change: Callable[[Rows], Rows]) -> None:
    server.vectors = lambda texts: change(rows(texts)) if len(texts) > 1 else rows(texts)
    trouble(asking(server))


# -- texts that are refused


@pytest.mark.parametrize("code", [400, 413, 422])
@pytest.mark.parametrize("place", [0, 6, 13, 24])
def test_a_text_that_is_refused_is_named_and_found_by_halves(server: EmbeddingServer, place: int, code: int) -> None:
    texts = many(25)
    server.status, server.refuses = code, lambda text: text == texts[place]
    refused = trouble(asking(server, batch=16), texts)
    assert isinstance(refused, TextRefused)
    assert refused.details == {"index": place}
    assert len(server.asked) <= 2 + 2 * 5


def test_a_text_over_which_the_server_falls_is_refused_too(server: EmbeddingServer) -> None:
    server.status, server.refuses = 500, lambda text: text == TEXTS[1]
    refused = trouble(asking(server, seconds=1.0))
    assert isinstance(refused, TextRefused)
    assert refused.details == {"index": 1}


@pytest.mark.parametrize("numbers", [[float("nan")] * DIMENSION, [float("inf")] * DIMENSION, [0.0] * DIMENSION])
def test_a_text_whose_vector_is_none_is_refused(server: EmbeddingServer, numbers: list[float]) -> None:
    spoiled = b64encode(np.array(numbers, "<f4").tobytes()).decode()

    def spoil(texts: list[str]) -> Rows:
        return [row | ({"embedding": spoiled} if texts[row["index"]] == TEXTS[2] else {}) for row in rows(texts)]

    server.vectors = spoil
    refused = trouble(asking(server))
    assert isinstance(refused, TextRefused)
    assert refused.details == {"index": 2}


def test_a_server_that_refuses_everything_names_no_text(server: EmbeddingServer) -> None:
    server.refuses = lambda text: bool(text)
    found = trouble(asking(server))
    assert not isinstance(found, TextRefused)
    assert "refuses every text (status 400): check embedder_url, embedder_model" in found.message
    assert len(server.asked) == 2


def test_a_batch_that_is_too_large_is_halved(server: EmbeddingServer) -> None:
    texts = many(16)
    embedder = asking(server)
    server.faults.append(status(413))
    np.testing.assert_allclose(embedded(embedder, texts), expected(texts), atol=1e-6)
    assert server.counts == [16, 1, 8, 8]


def test_a_text_that_is_too_long_counts_as_far_as_the_server_takes_it(server: EmbeddingServer) -> None:
    long = "word and " * 1_000
    server.refuses = lambda text: len(text) > 3_000
    found = embedded(asking(server), [TEXTS[0], long])
    np.testing.assert_allclose(found, expected([TEXTS[0], long[:2_250]]), atol=1e-6)


# -- addresses


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/v1",
        "http://127.0.0.1.example.com",
        "ftp://127.0.0.1",
        "example.com/v1",
        "",
        "https://",
        "https://[::1",
        "https://example.com:99999",
        f"https://me:{SECRET}@example.com",
        f"https://example.com/?key={SECRET}",
    ],
)
def test_an_address_that_is_not_safe_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match="embedder_url must be") as caught:
        HttpEmbedder(url, "some-model")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", ["https://example.com/v1", "http://localhost:1", "http://[::1]:1/v1"])
def test_an_address_that_is_safe_is_taken(url: str) -> None:
    HttpEmbedder(url, "some-model").close()
