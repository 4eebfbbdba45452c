"""The local embedder: a small ColBERT as an ONNX model with eight-bit weights, run in this process on the CPU.

Each text is run by itself. The model quantises what flows through it by the largest number in the whole batch, so in
a batch a text's vector would depend on its neighbours (cosine down to 0.993), and E2 forbids that. Several texts are
run at once on threads of their own instead, each run on one thread, which takes less memory.

The vector of a text is the mean of those of its words. Those of the words themselves are kept in the few directions in
which words differ most (`projection.npy`, made by tools/make_projection.py), which loses next to nothing.
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
from recollect.ports.embedder import Embedder, Encoded, Model, Purpose, Vectors

MODEL_NAME = "colbert-small-int8"
DIMENSION = 384
LATE_DIMENSION = 64
MOST_TOKENS = 512
MOST_THREADS = 4
HERE = Path(__file__).parent / "data" / "colbert-small"
"""Where the model's files lie in the package."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of the model, and how it is known again."""

    name: str
    size: int
    sha256: str


WEIGHTS = ModelFile("model.onnx", 33_968_307, "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0")
TOKENIZER = ModelFile("tokenizer.json", 711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
PROJECTION = Path(__file__).parent / "data" / "projection.npy"

_WHAT_TO_DO = "fetch it with `python tools/fetch_model.py`, set model_dir to where it is, or choose another embedder"
# The most tokens that one word can become: the tokenizer takes longer words for unknown ones.
_MOST_IN_A_WORD = 100
_FIRST_REACH = 4_096
_MARKS = {Purpose.QUERY: 1, Purpose.PASSAGE: 2}
"""The tokens that tell the model which of both a text is."""


class LocalEmbedder(Embedder):
    """Runs the model. Queries have threads of their own, so they never wait behind a batch of passages."""

    model_name = MODEL_NAME
    late = LATE_DIMENSION

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
        found = [mean_of(states) for states in self._states(texts, purpose)]
        return np.stack(found) if found else np.empty((0, DIMENSION), np.float32)

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Encoded:
        """A vector for each text and for each of its words."""
        states = self._states(texts, purpose)
        directions = self._load().directions
        tokens = [unit(each @ directions) for each in states]
        vectors = [mean_of(each) for each in states]
        return Encoded(np.stack(vectors) if vectors else np.empty((0, DIMENSION), np.float32), tokens)

    def _states(self, texts: Sequence[str], purpose: Purpose) -> list[Vectors]:
        """What the model makes of each word of each text."""
        loaded = self._load()

        def run(place: int) -> Vectors:
            return loaded.states(texts[place], purpose, place)

        try:
            return list(self._lanes[purpose].map(run, range(len(texts))))
        except (CancelledError, RuntimeError):
            if self._closed:
                raise EmbedderTrouble("the embedder was closed") from None
            raise

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
        self.directions = np.load(PROJECTION).astype(np.float32)

    def states(self, text: str, purpose: Purpose, place: int) -> Vectors:
        """What the model makes of each word, in its context."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise TextRefused("the text is not valid Unicode", index=place) from None
        row = np.array([self._tokens(text, _MARKS[purpose])], np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        try:
            states: Vectors = self._session.run(["last_hidden_state"], given)[0][0]
        except Exception as problem:
            raise EmbedderTrouble(f"the model could not be run: {type(problem).__name__}") from problem
        return states

    def _tokens(self, text: str, mark: int) -> list[int]:
        """The first tokens of a text, behind the mark of what it is for, without reading all of a long one.

        More is read until there are enough, and as many again as a word can have that was cut in two.
        """
        reach = _FIRST_REACH
        while True:
            tokens: list[int] = self._tokenizer.encode(text[:reach]).ids
            if reach >= len(text) or len(tokens) >= MOST_TOKENS + _MOST_IN_A_WORD:
                break
            reach *= 4
        most = MOST_TOKENS - 1
        first, *rest = tokens if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
        return [first, mark, *rest]


def mean_of(states: Vectors) -> Vectors:
    """The mean of vectors, at unit length."""
    mean = states.mean(axis=0, dtype=np.float64)
    found: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
    return found


def unit(vectors: Vectors) -> Vectors:
    """Each vector at unit length."""
    found: Vectors = (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return found


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
