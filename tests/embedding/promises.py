"""What every embedder promises, as checks that any embedder can be put through; the names begin with the clause."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from recollect.domain.errors import EmbedderTrouble, TextRefused
from recollect.ports.embedder import Embedder, Purpose

TEXTS = [
    "I like my tea without sugar",
    "rockets fly to the moon",
    "Tee",
    "",
    " ",
    "!?",
    "日本語のテキスト",
    "😀",
    "line\nbreak\ttab",
    "[SEP] [CLS] [PAD]",
    "é e\u0301 \u200b \x01",
    "the cat sat on the mat " * 12,
]


def e1_rows_are_unit_vectors_at_the_place_of_their_text(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS, Purpose.PASSAGE)
    assert together.dtype == np.float32
    assert together.shape == (len(TEXTS), embedder.model().dimension)
    np.testing.assert_allclose(np.linalg.norm(together.astype(np.float64), axis=1), 1.0, atol=1e-5)
    for text, row in zip(TEXTS, together, strict=True):
        alone = embedder.embed([text], Purpose.PASSAGE)[0]
        assert np.argmax(together @ alone) in [place for place, each in enumerate(together) if np.allclose(each, alone)]
        np.testing.assert_allclose(row, alone, atol=0.05)
    assert embedder.embed([], Purpose.QUERY).shape == (0, embedder.model().dimension)
    assert embedder.model().name == embedder.model_name


def e2_a_vector_does_not_depend_on_the_batch(embedder: Embedder) -> None:
    chance = random.Random(7)
    for purpose in Purpose:
        alone = {text: embedder.embed([text], purpose)[0] for text in TEXTS}
        for _ in range(3):
            batch = [*chance.sample(TEXTS, chance.randint(2, len(TEXTS))), TEXTS[0]]
            for text, row in zip(batch, embedder.embed(batch, purpose), strict=True):
                assert np.array_equal(row, alone[text]), f"{text!r} is another beside others"


def e3_any_text_can_be_embedded(embedder: Embedder) -> None:
    awkward = [
        "a" * 300_000,
        "word " * 60_000,
        " " * 300_000,
        "日" * 100_000,
        "\u0301" * 50_000,
        "\ufffe\U0010ffff",
        ".",
    ]
    found = embedder.embed(awkward, Purpose.PASSAGE)
    np.testing.assert_allclose(np.linalg.norm(found.astype(np.float64), axis=1), 1.0, atol=1e-5)
    long = "the beginning of it " * 8_000
    first, second = embedder.embed([long + "one end", long + "another"], Purpose.PASSAGE)
    assert np.array_equal(first, second)


def e4_a_refused_text_is_named(embedder: Embedder) -> None:
    with pytest.raises(TextRefused) as caught:
        embedder.embed(["one", "two", "\ud800", "four"], Purpose.PASSAGE)
    assert caught.value.details == {"index": 2}
    assert not caught.value.retriable
    assert len(embedder.embed(["one", "two", "four"], Purpose.PASSAGE)) == 3


def e4_what_else_fails_is_trouble(broken: Embedder) -> None:
    with pytest.raises(EmbedderTrouble) as caught:
        broken.embed(["one"], Purpose.QUERY)
    assert type(caught.value) is EmbedderTrouble
    assert caught.value.retriable


def e5_nobody_is_asked_before_the_first_text(make: Callable[[], Embedder], idle: Callable[[], bool]) -> None:
    embedder = make()
    assert embedder.model_name
    assert embedder.batch >= 1
    assert idle()
    embedder.close()
    assert idle()


def e6_many_threads_may_embed_at_once(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS, Purpose.PASSAGE)
    queries = embedder.embed(TEXTS[:3], Purpose.QUERY)

    def work(turn: int) -> bool:
        if turn % 2:
            return np.array_equal(embedder.embed(TEXTS[:3], Purpose.QUERY), queries)
        return np.array_equal(embedder.embed(TEXTS, Purpose.PASSAGE), expected)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def e7_a_closed_embedder_refuses(make: Callable[[], Embedder]) -> None:
    used, fresh = make(), make()
    used.embed(["one"], Purpose.QUERY)
    for embedder in (used, fresh):
        embedder.close()
        embedder.close()
        with pytest.raises(EmbedderTrouble, match="closed"):
            embedder.embed(["one"], Purpose.QUERY)


def e8_words_have_vectors_beside_those_of_texts(embedder: Embedder) -> None:
    for purpose in Purpose:
        encoded = embedder.encode(TEXTS, purpose)
        assert np.array_equal(encoded.vectors, embedder.embed(TEXTS, purpose))
        if not embedder.late:
            assert encoded.tokens is None
            continue
        assert encoded.tokens is not None
        assert len(encoded.tokens) == len(TEXTS)
        for text, words in zip(TEXTS, encoded.tokens, strict=True):
            assert words.dtype == np.float32
            assert words.shape[1] == embedder.late
            assert len(words) >= len(text.split()) or len(text) > 1_000
            np.testing.assert_allclose(np.linalg.norm(words.astype(np.float64), axis=1), 1.0, atol=1e-5)
        alone = embedder.encode(TEXTS[:1], purpose).tokens
        assert alone is not None
        assert np.array_equal(alone[0], encoded.tokens[0])
        assert (embedder.encode([], purpose).tokens or []) == []
