"""The local embedder: e5-small-v2 as an ONNX model with eight-bit weights, run in this process on the CPU.

Each text is run by itself. The model quantises what flows through it by the largest number in the whole batch, so in
a batch a text's vector would depend on its neighbours (cosine down to 0.993), and E2 forbids that. Several texts are
run at once on threads of their own instead, each run on one thread, which is as fast and takes less memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from recollect.domain.errors import EmbedderTrouble, InvalidSetting, TextRefused
from recollect.ports.embedder import Embedder, Model, Purpose, Vectors

MODEL_NAME = "e5-small-v2-int8"
DIMENSION = 384
MOST_TOKENS = 512
MOST_THREADS = 4
HERE = Path(__file__).parent / "data" / "e5-small-v2"
"""Where the model's files lie in the package."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of the model, and how it is known again."""

    name: str
    size: int
    sha256: str


WEIGHTS = ModelFile("model.onnx", 33_968_307, "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad")
TOKENIZER = ModelFile("tokenizer.json", 742_346, "55b68f6407c0aa46551616c08e01f4b4605aef14f36aa1447d548f953ec764d1")

_WHAT_TO_DO = "fetch it with `python tools/fetch_model.py`, set model_dir to where it is, or choose another embedder"
# The most tokens that one word can become: the tokenizer takes longer words for unknown ones.
_MOST_IN_A_WORD = 100
_FIRST_REACH = 4_096


class LocalEmbedder(Embedder):
    """Runs the model. Queries have threads of their own, so they never wait behind a batch of passages."""

    model_name = MODEL_NAME

    def __init__(self, folder: Path | None = None, *, threads: int = 0, batch: int = 32) -> None:
        """Raises `InvalidSetting` when the model's files are not there, or are others."""
        self.batch = batch
        self._folder = folder or HERE
        for file in (WEIGHTS, TOKENIZER):
            _check_present(self._folder / file.name, file)
        workers = threads or min(_cores(), MOST_THREADS)
        self._lanes = {
            purpose: ThreadPoolExecutor(workers, thread_name_prefix=f"recollect-embed-{purpose.value}")
            for purpose in Purpose
        }
        self._loading = Lock()
        self._loaded: _Loaded | None = None
        self._closed = False

    def model(self) -> Model:
        """The model; nothing has to be loaded to know it."""
        return Model(MODEL_NAME, DIMENSION)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A vector for each text; loads the model when it is the first time."""
        loaded = self._load()

        def vector(place: int) -> Vectors:
            return loaded.vector(texts[place], purpose, place)

        try:
            found = list(self._lanes[purpose].map(vector, range(len(texts))))
        except (CancelledError, RuntimeError):
            if self._closed:
                raise EmbedderTrouble("the embedder was closed") from None
            raise
        return np.stack(found) if found else np.empty((0, DIMENSION), np.float32)

    def close(self) -> None:
        """Let the runs under way end, and let go of the model."""
        with self._loading:
            self._closed = True
            self._loaded = None
        for lane in self._lanes.values():
            lane.shutdown(cancel_futures=True)

    def _load(self) -> _Loaded:
        with self._loading:
            if self._closed:
                raise EmbedderTrouble("the embedder was closed")
            if self._loaded is None:
                self._loaded = _Loaded(self._folder)
            return self._loaded


class _Loaded:
    """The model in memory. Both parts may be used by any number of threads at once."""

    def __init__(self, folder: Path) -> None:
        weights, tokenizer = (_contents(folder / file.name, file) for file in (WEIGHTS, TOKENIZER))
        # Only here, because both take long to import and many processes never embed anything.
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # An arena keeps the most that was ever needed; without it, memory goes back after a long text.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.log_severity_level = 4
        try:
            self._session: Any = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
            self._tokenizer: Any = Tokenizer.from_buffer(tokenizer)
        except Exception as problem:
            raise EmbedderTrouble(f"the model could not be loaded: {type(problem).__name__}") from problem
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # A text that has `[SEP]` in it means those letters, not the token.
        self._tokenizer.encode_special_tokens = True

    def vector(self, text: str, purpose: Purpose, place: int) -> Vectors:
        """The mean of the tokens' vectors, at unit length."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise TextRefused("the text is not valid Unicode", index=place) from None
        row = np.array([self._tokens(f"{purpose.value}: {text}")], np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        try:
            hidden = self._session.run(["last_hidden_state"], given)[0][0]
        except Exception as problem:
            raise EmbedderTrouble(f"the model could not be run: {type(problem).__name__}") from problem
        mean = hidden.mean(axis=0, dtype=np.float64)
        unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
        return unit

    def _tokens(self, text: str) -> list[int]:
        """The first tokens of a text, without reading all of a long one.

        More is read until there are enough, and as many again as a word can have that was cut in two.
        """
        reach = _FIRST_REACH
        while True:
            tokens: list[int] = self._tokenizer.encode(text[:reach]).ids
            if reach >= len(text) or len(tokens) >= MOST_TOKENS + _MOST_IN_A_WORD:
                break
            reach *= 4
        return tokens if len(tokens) <= MOST_TOKENS else [*tokens[: MOST_TOKENS - 1], tokens[-1]]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_present(path: Path, file: ModelFile) -> None:
    """A first look that costs nothing; the contents are checked when they are loaded."""
    try:
        size = path.stat().st_size
    except OSError:
        raise InvalidSetting(f"the model's file {path} is not there: {_WHAT_TO_DO}") from None
    if size != file.size:
        raise InvalidSetting(f"{path} is not the file of {MODEL_NAME}, which has {file.size:,} bytes: {_WHAT_TO_DO}")


def _contents(path: Path, file: ModelFile) -> bytes:
    try:
        contents = path.read_bytes()
    except OSError as problem:
        raise EmbedderTrouble(f"the model's file {path} could not be read: {problem.strerror}") from None
    if hashlib.sha256(contents).hexdigest() != file.sha256:
        raise EmbedderTrouble(f"{path} was altered, it is not the file of {MODEL_NAME}: {_WHAT_TO_DO}")
    return contents
