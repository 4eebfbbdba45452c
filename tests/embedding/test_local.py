"""The local model: its files, its tokens, its meaning, and why every text is run by itself."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized
from tokenizers import Tokenizer

from recollect.backends.embedding import LocalEmbedder
from recollect.backends.embedding.local import HERE, MOST_TOKENS, TOKENIZER, WEIGHTS
from recollect.domain.errors import EmbedderTrouble, InvalidSetting
from recollect.ports.embedder import Model, Purpose


@pytest.fixture(scope="module")
def embedder() -> Iterator[LocalEmbedder]:
    made = LocalEmbedder(threads=2)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in (WEIGHTS, TOKENIZER):
        shutil.copy(HERE / file.name, tmp_path / file.name)
    return tmp_path


# -- files


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER], ids=lambda file: file.name)
def test_a_file_that_is_missing_is_named_with_what_to_do(folder: Path, file: object) -> None:
    path = folder / getattr(file, "name", "")
    path.unlink()
    with pytest.raises(InvalidSetting) as caught:
        LocalEmbedder(folder)
    assert str(path) in caught.value.message
    assert "fetch it with `python tools/fetch_model.py`, set model_dir" in caught.value.message


def test_a_file_that_is_another_one_is_refused_at_once(folder: Path) -> None:
    (folder / WEIGHTS.name).write_text("version https://git-lfs")
    with pytest.raises(InvalidSetting, match="is not the file of colbert-small-int8, which has 33,968,307 bytes"):
        LocalEmbedder(folder)


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER], ids=lambda file: file.name)
def test_a_file_that_was_altered_is_never_loaded(folder: Path, file: object) -> None:
    path = folder / getattr(file, "name", "")
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    embedder = LocalEmbedder(folder)
    with pytest.raises(EmbedderTrouble, match="was altered, it is not the file of colbert-small-int8: fetch"):
        embedder.embed(["one"], Purpose.QUERY)
    embedder.close()


def test_a_model_in_another_folder_is_the_same(folder: Path, embedder: LocalEmbedder) -> None:
    other = LocalEmbedder(folder, threads=1)
    texts = ["I like tea", "rockets fly to the moon " * 20]
    assert other.model() == embedder.model() == Model("colbert-small-int8", 384)
    assert np.array_equal(other.embed(texts, Purpose.PASSAGE), embedder.embed(texts, Purpose.PASSAGE))
    other.close()


# -- meaning


def test_texts_of_like_meaning_lie_close_to_each_other(embedder: LocalEmbedder) -> None:
    passages = [
        "My sister drinks green tea every morning.",
        "The train to Berlin leaves at half past nine.",
        "He is allergic to peanuts and carries an adrenaline pen.",
    ]
    found = embedder.embed(passages, Purpose.PASSAGE)
    asked = ["Which beverage does a sibling prefer?", "when must I be at the station", "food he must not eat"]
    queries = embedder.embed(asked, Purpose.QUERY)
    assert np.argmax(queries @ found.T, axis=1).tolist() == [0, 1, 2]


def test_a_query_is_told_apart_from_a_passage(embedder: LocalEmbedder) -> None:
    query, passage = (embedder.embed(["tea"], purpose)[0] for purpose in (Purpose.QUERY, Purpose.PASSAGE))
    assert 0.5 < float(query @ passage) < 0.999


# -- tokens


@pytest.fixture(scope="module")
def plain() -> Tokenizer:
    """The tokenizer as it reads a whole text."""
    tokenizer = Tokenizer.from_file(str(HERE / TOKENIZER.name))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS - 1)
    tokenizer.encode_special_tokens = True
    return tokenizer


@sized(15, 500)
def test_the_beginning_of_a_long_text_is_read_as_in_the_whole(
    embedder: LocalEmbedder, plain: Tokenizer, count: int
) -> None:
    pieces = ["word ", "a", "日", "x" * 90 + " ", "\u0301", " ", "y" * 150, "[SEP]", "é", "don't-stop. ", "😀", "\n"]
    loaded = embedder._load()
    parts = st.lists(st.tuples(st.sampled_from(pieces), st.integers(1, 2_500)), max_size=4)

    @settings(max_examples=count, database=None, deadline=None)
    @given(parts)
    def check(parts: list[tuple[str, int]]) -> None:
        text = "passage: " + "".join(piece * times for piece, times in parts)
        first, *rest = plain.encode(text).ids
        assert loaded._tokens(text, 7) == [first, 7, *rest]

    check()


def test_no_more_is_run_than_the_model_takes(embedder: LocalEmbedder) -> None:
    loaded = embedder._load()
    assert len(loaded._tokens("word " * 1_000, 7)) == MOST_TOKENS
    assert len(loaded._tokens("word " * (MOST_TOKENS - 3), 7)) == MOST_TOKENS


# -- running


def test_in_a_batch_a_text_would_be_another_so_each_is_run_by_itself(embedder: LocalEmbedder) -> None:
    loaded = embedder._load()
    rows = np.array([loaded._tokens(f"{word} tea for two", 2) for word in ("black", "green")])
    assert rows.shape[0] == 2

    def hidden(
        given: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        told = {"input_ids": given, "attention_mask": np.ones_like(given), "token_type_ids": np.zeros_like(given)}
        found: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = loaded._session.run(["last_hidden_state"], told)[0]
        return found

    assert not np.array_equal(hidden(rows)[0], hidden(rows[:1])[0])


def test_closing_while_others_embed_ends_in_vectors_or_in_trouble() -> None:
    embedder = LocalEmbedder(threads=1)
    embedder.embed(["warm"], Purpose.PASSAGE)
    outcomes: list[object] = []

    def work() -> None:
        try:
            while True:
                outcomes.append(embedder.embed(["some text of a few words"] * 8, Purpose.PASSAGE).shape)
        except EmbedderTrouble as trouble:
            outcomes.append(trouble.message)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    threading.Event().wait(0.3)
    embedder.close()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert set(outcomes) <= {(8, 384), "the embedder was closed"}
    assert outcomes.count("the embedder was closed") == 4


@sized(1, 20)
def test_long_texts_at_once_take_a_bounded_memory(count: int) -> None:
    embedder = LocalEmbedder(threads=2)
    embedder.embed(["word " * 600] * 2, Purpose.PASSAGE)
    before = _resident()
    for _ in range(count):
        embedder.embed(["word " * 600] * 8, Purpose.PASSAGE)
    assert _resident() - before < 150
    embedder.close()


def _resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096 / 1e6
