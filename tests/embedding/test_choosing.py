"""Which embedder is made for a name and for the settings, and what hashing can tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.backends.embedding import (
    EmbeddingOptions,
    HashingEmbedder,
    HttpEmbedder,
    LocalEmbedder,
    embedder_named,
    embedder_of,
)
from recollect.domain.errors import InvalidSetting
from recollect.ports.embedder import Model, Purpose

URL = "http://127.0.0.1:9/v1"
HASHED = [
    0.331,
    -0.166,
    0.000,
    -0.473,
    0.000,
    -0.166,
    -0.166,
    0.166,
    0.331,
    0.000,
    0.000,
    0.000,
    0.000,
    0.000,
    0.473,
    -0.473,
]


@pytest.mark.parametrize(
    ("options", "name", "kind"),
    [
        (EmbeddingOptions(), "colbert-small-int8", LocalEmbedder),
        (EmbeddingOptions("hashing"), "hashing-256", HashingEmbedder),
        (EmbeddingOptions("hashing", dimension=64), "hashing-64", HashingEmbedder),
        (EmbeddingOptions("openai", URL, "some/model:1"), "openai/some/model:1", HttpEmbedder),
        (EmbeddingOptions("openai", URL, "model", dimension=64), "openai/model#64", HttpEmbedder),
        (EmbeddingOptions("openai", URL, "mo#del"), "openai/mo#del", HttpEmbedder),
    ],
)
def test_what_is_configured_can_be_had_again_by_its_name(
    options: EmbeddingOptions, name: str, kind: type[object]
) -> None:
    later = EmbeddingOptions("none", URL, "another", dimension=32, batch=7)
    for made in (embedder_of(options), embedder_named(name, later)):
        assert made is not None
        assert type(made) is kind
        assert made.model_name == name
        made.close()


def test_none_is_none() -> None:
    assert embedder_of(EmbeddingOptions("none")) is None


@pytest.mark.parametrize(
    "name", ["", "hashing-", "hashing-0", "hashing-x", "e5", "openai/", "openai/model", "OPENAI/x"]
)
def test_a_model_that_cannot_be_had_is_none(name: str) -> None:
    assert embedder_named(name, EmbeddingOptions()) is None


def test_the_dimension_of_a_name_is_the_one_that_is_asked_for() -> None:
    made = embedder_named("openai/model#64", EmbeddingOptions("openai", URL, "model", dimension=32))
    assert made is not None
    assert made.model() == Model("openai/model#64", 64)


@pytest.mark.parametrize(
    "options",
    [EmbeddingOptions("openai"), EmbeddingOptions("openai", URL), EmbeddingOptions("word2vec")],
)
def test_what_cannot_be_made_is_a_wrong_setting(options: EmbeddingOptions) -> None:
    with pytest.raises(InvalidSetting):
        embedder_of(options)


def test_another_folder_is_looked_into(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="is not there"):
        embedder_of(EmbeddingOptions(model_dir=str(tmp_path)))


def test_the_key_does_not_show() -> None:
    assert "hunter2" not in repr(EmbeddingOptions("openai", URL, "model", key="hunter2"))


def test_hashing_puts_texts_with_the_same_words_and_stems_together() -> None:
    passages = ["Ada likes green tea", "The rocket flew to the moon", "Bob plays the violin"]
    queries = ["does ada like tea", "rockets to the moon", "violins"]
    embedder = HashingEmbedder()
    found = embedder.embed(queries, Purpose.QUERY) @ embedder.embed(passages, Purpose.PASSAGE).T
    assert np.argmax(found, axis=1).tolist() == [0, 1, 2]


def test_hashing_is_the_same_in_every_process() -> None:
    row = HashingEmbedder(16).embed(["I like tea"], Purpose.QUERY)[0]
    assert row.tolist() == pytest.approx(HASHED, abs=1e-3)
