"""Every embedder keeps what the port promises, each clause is proved, and the proofs can fail."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.embedding import promises
from tests.embedding.server import serving

import recollect.ports.embedder
from recollect.backends.embedding import HashingEmbedder, HttpEmbedder, LocalEmbedder
from recollect.backends.embedding.local import HERE, WEIGHTS
from recollect.ports.embedder import Embedder, Purpose, Vectors
from recollect.testing.contract import clauses_of


@dataclass(frozen=True, slots=True)
class Subject:
    """An embedder in three states: ready, not yet made, and with something wrong underneath."""

    embedder: Embedder
    make: Callable[[], Embedder]
    broken: Callable[[], Embedder]
    idle: Callable[[], bool]


@pytest.fixture(scope="module", params=["local", "http", "hashing"])
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    made = {"local": _local, "http": _http, "hashing": _hashing}[request.param]
    for each in made(tmp_path_factory.mktemp("model")):
        yield each
        each.embedder.close()


def _local(folder: Path) -> Iterator[Subject]:
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    altered = bytearray((folder / WEIGHTS.name).read_bytes())
    altered[-1] ^= 1
    (folder / WEIGHTS.name).write_bytes(altered)

    def idle() -> bool:
        # In a process of its own: in this one, another test has loaded the runtime long ago.
        program = (
            "import sys; from recollect.backends.embedding import EmbeddingOptions, embedder_of\n"
            "made = embedder_of(EmbeddingOptions()); made.model(); made.close()\n"
            "sys.exit('onnxruntime' in sys.modules or 'tokenizers' in sys.modules)"
        )
        return subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

    yield Subject(LocalEmbedder(threads=2), lambda: LocalEmbedder(threads=1), lambda: LocalEmbedder(folder), idle)


def _http(folder: Path) -> Iterator[Subject]:
    with serving() as busy, serving() as quiet:

        def broken() -> Embedder:
            return HttpEmbedder("http://127.0.0.1:9/v1", "some-model", seconds=1.0)

        yield Subject(
            HttpEmbedder(busy.url, "some-model"),
            lambda: HttpEmbedder(quiet.url if not quiet.asked else busy.url, "some-model"),
            broken,
            lambda: not quiet.asked,
        )


def _hashing(folder: Path) -> Iterator[Subject]:
    def broken() -> Embedder:
        # Nothing can fail underneath; the one trouble it has is to be closed.
        closed = HashingEmbedder()
        closed.close()
        return closed

    yield Subject(HashingEmbedder(), HashingEmbedder, broken, lambda: True)


def test_e1_rows_are_unit_vectors_at_the_place_of_their_text(subject: Subject) -> None:
    promises.e1_rows_are_unit_vectors_at_the_place_of_their_text(subject.embedder)


def test_e2_a_vector_does_not_depend_on_the_batch(subject: Subject) -> None:
    promises.e2_a_vector_does_not_depend_on_the_batch(subject.embedder)


def test_e3_any_text_can_be_embedded(subject: Subject) -> None:
    promises.e3_any_text_can_be_embedded(subject.embedder)


def test_e4_a_refused_text_is_named(subject: Subject) -> None:
    promises.e4_a_refused_text_is_named(subject.embedder)


def test_e4_what_else_fails_is_trouble(subject: Subject) -> None:
    promises.e4_what_else_fails_is_trouble(subject.broken())


def test_e5_nobody_is_asked_before_the_first_text(subject: Subject) -> None:
    promises.e5_nobody_is_asked_before_the_first_text(subject.make, subject.idle)


def test_e6_many_threads_may_embed_at_once(subject: Subject) -> None:
    promises.e6_many_threads_may_embed_at_once(subject.embedder)


def test_e7_a_closed_embedder_refuses(subject: Subject) -> None:
    promises.e7_a_closed_embedder_refuses(subject.make)


def test_e8_words_have_vectors_beside_those_of_texts(subject: Subject) -> None:
    promises.e8_words_have_vectors_beside_those_of_texts(subject.embedder)


# -- the clauses, and the proofs


def _clauses(module: object, prefix: str) -> set[str]:
    names = [name for name, _ in inspect.getmembers(module, inspect.isfunction) if name.startswith(prefix)]
    return {name.removeprefix(prefix[:-1]).split("_")[0].upper() for name in names}


def test_every_promise_has_a_proof_and_every_proof_a_promise() -> None:
    numbered = clauses_of(recollect.ports.embedder.__doc__, "E")
    assert numbered == [f"E{number}" for number in range(1, 9)]
    assert _clauses(sys.modules[__name__], "test_e") >= set(numbered)
    assert _clauses(promises, "e") == set(numbered)
    for name, _ in inspect.getmembers(promises, inspect.isfunction):
        if name.startswith("e"):
            assert f"test_{name}" in globals(), f"{name} is never run"


class Stretched(HashingEmbedder):
    """Breaks E1: its vectors are too long."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        found: Vectors = super().embed(texts, purpose) * np.float32(1.01)
        return found


class Shuffled(HashingEmbedder):
    """Breaks E1: its rows are in another order."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return super().embed(texts, purpose)[::-1]


class Sociable(HashingEmbedder):
    """Breaks E2: a text's neighbours rub off on it, as in a batch that is quantised as one."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        found = super().embed(texts, purpose)
        mixed = found + np.float32(0.001) * found.mean(axis=0, keepdims=True)
        near: Vectors = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return near


class Choosy(HashingEmbedder):
    """Breaks E3: it does not take long texts."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if any(len(text) > 10_000 for text in texts):
            raise ValueError("too long")
        return super().embed(texts, purpose)


class Blunt(HashingEmbedder):
    """Breaks E4: it lets an error of another kind through."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        "".join(texts).encode()
        return super().embed(texts, purpose)


class Undying(HashingEmbedder):
    """Breaks E7: it goes on."""

    def close(self) -> None:
        pass


class Forgetful(HashingEmbedder):
    """Breaks E6: what one thread embeds, another gets."""

    _texts: Sequence[str] = ()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        self._texts = texts
        time.sleep(0.01)
        found = [super(Forgetful, self).embed([text], purpose)[0] for text in texts]
        return np.stack(found) if self._texts is texts else super().embed(self._texts, purpose)


@pytest.mark.parametrize(
    ("check", "faulty"),
    [
        (promises.e1_rows_are_unit_vectors_at_the_place_of_their_text, Stretched),
        (promises.e1_rows_are_unit_vectors_at_the_place_of_their_text, Shuffled),
        (promises.e2_a_vector_does_not_depend_on_the_batch, Sociable),
        (promises.e3_any_text_can_be_embedded, Choosy),
        (promises.e4_a_refused_text_is_named, Blunt),
        (promises.e4_what_else_fails_is_trouble, HashingEmbedder),
        (promises.e6_many_threads_may_embed_at_once, Forgetful),
    ],
)
def test_the_proofs_notice_a_broken_promise(check: Callable[[Embedder], None], faulty: Callable[[], Embedder]) -> None:
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        check(faulty())


def test_the_proofs_notice_who_goes_on_or_begins_too_early() -> None:
    with pytest.raises(pytest.fail.Exception):
        promises.e7_a_closed_embedder_refuses(Undying)
    with pytest.raises(AssertionError):
        promises.e5_nobody_is_asked_before_the_first_text(HashingEmbedder, lambda: False)
