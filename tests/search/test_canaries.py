"""No word of what is stored can be read from the index, its files or the log; turning vectors changes no ranking."""

from __future__ import annotations

import base64
import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.search.plain import SETTINGS
from tests.security.datafile import everything_in
from tests.sizes import sized

import recollect
from recollect import MemoriesSync
from recollect.backends.embedding import HashingEmbedder, LocalEmbedder
from recollect.backends.sqlite import SqliteStore
from recollect.config import Settings
from recollect.domain.blinding import Blinder, Hashes
from recollect.ports.embedder import Embedder, Purpose
from recollect.ports.store import Reflected
from recollect.testing.servers import running

MARK = "qzkanari"
"""What every canary begins with; eight letters, so that it could hide in a number."""
LOCAL = Settings(embedder="local", policy_engine="builtin")


def canary(number: int) -> str:
    return f"{MARK}{number:04d}"


def spellings() -> list[bytes]:
    """The mark however somebody might write it down."""
    plain = MARK.encode()
    forms = [
        plain,
        plain.upper(),
        plain[::-1],
        plain.hex().encode(),
        MARK.encode("utf-16-le"),
        MARK.encode("utf-32-le"),
    ]
    # Base64 looks different at each alignment, and its ends depend on the neighbours.
    return forms + [base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)]


SPELLINGS = spellings()


def leaks(data: bytes) -> bool:
    return any(form in data for form in SPELLINGS)


def leaking_files(folder: Path) -> list[str]:
    return [name for name, data in everything_in(folder).items() if leaks(data)]


@contextmanager
def kept() -> Iterator[list[bytes]]:
    """Everything that the index is given to keep, before the store seals it."""
    given: list[bytes] = []
    real = SqliteStore.reflect

    async def reflect(store: SqliteStore, tenant: str, series: int, reflected: list[Reflected]) -> int:
        for each in reflected:
            given.extend(part for part in (each.entry, getattr(each, "detail", None)) if part is not None)
        return await real(store, tenant, series, reflected)

    with patch.object(SqliteStore, "reflect", reflect):
        yield given


def live(memories: MemoriesSync, folder: Path, count: int) -> list[str]:
    """Write, index, search, update and delete canaries; return the files in which one shows meanwhile."""
    chance, shown = random.Random(count), list[str]()
    for number in range(count):
        value = {"text": f"the word is {canary(number)}, {canary(number)}", "list": [{"deep": canary(number)}], "n": 1}
        memories.put(("user", f"u{number % 5}"), f"k{number}", value, attributes={"sealed": canary(number)})
    for number in chance.sample(range(count), min(count, 60)):
        mode = chance.choice(("hybrid", "lexical", "semantic"))
        found = memories.search(query=canary(number), mode=mode, limit=3, explain=True)
        assert mode == "semantic" or f"k{number}" in [hit.key for hit in found]
    shown += leaking_files(folder)
    for number in range(0, count, 3):
        memories.put(("user", f"u{number % 5}"), f"k{number}", {"text": f"now {canary(count + number)}"})
    for number in range(1, count, 3):
        memories.delete(("user", f"u{number % 5}"), f"k{number}")
    memories.search(query=canary(0))
    memories.erase("user:u4")
    memories.sweep()
    return shown + leaking_files(folder)


@sized(150, 1_000)
def test_no_canary_is_in_any_file_nor_in_the_log_nor_in_an_entry(
    count: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with kept() as entries, recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
        shown = live(memories, tmp_path, count)
    shown += leaking_files(tmp_path)
    print(f"canaries: {count}, {len(entries)} entries of {sum(map(len, entries))} bytes")
    assert shown == []
    assert len(entries) >= count
    assert not any(leaks(each) for each in entries)
    assert not leaks(caplog.text.encode())


@sized(16, 200)
def test_no_canary_shows_with_the_local_model(count: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with kept() as entries, recollect.open_sync(tmp_path, settings=LOCAL) as memories:
        shown = live(memories, tmp_path, count)
    assert shown + leaking_files(tmp_path) == []
    assert len(entries) >= count
    assert not any(leaks(each) for each in entries)
    assert not leaks(caplog.text.encode())


def test_no_canary_is_in_the_log_of_a_server(tmp_path: Path) -> None:
    with running(tmp_path, policy_engine="builtin", log_level="debug") as server:
        for number in range(20):
            put = {"namespace": ["a"], "key": f"k{number}", "value": {"text": canary(number)}, "wait": "indexed"}
            assert server.request("PUT", "/v1/memories", put)[0] in (200, 201)
            for query in (canary(number), [canary(number), "tea"], canary(number) * 2_000, f"{canary(number)}\0"):
                asked = {"namespace_prefix": [], "query": query, "explain": True}
                assert server.request("POST", "/v1/memories/search", asked)[0] in (200, 400, 422)
        assert leaking_files(tmp_path) == []
    assert leaking_files(tmp_path) == []
    assert "server.log" in everything_in(tmp_path)


# -- the harness


def test_the_harness_finds_a_word_in_a_file(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
        memories.put(("a",), "k", {"text": "tea"}, policy_attributes={"label": canary(1)})
        assert leaking_files(tmp_path), "attributes for filters are plain"


def test_the_harness_finds_words_that_are_not_blinded(tmp_path: Path) -> None:
    def plain(_: Blinder, words: list[str]) -> Hashes:
        return np.array([int.from_bytes(word.encode()[:8].ljust(8), "little") for word in words], np.uint64)

    with patch.object(Blinder, "words", plain), kept() as entries:
        with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
            memories.put(("a",), "k", {"text": canary(1)})
            memories.trigger_index()
        assert any(leaks(each) for each in entries)
    assert leaking_files(tmp_path) == [], "entries are sealed all the same"


@pytest.mark.parametrize("shift", range(3))
def test_the_harness_reads_base64(shift: int) -> None:
    assert leaks(base64.b64encode(b"x" * shift + canary(7).encode() + b"more"))


# -- turning


def tau(one: NDArray[np.float32], other: NDArray[np.float32], least: float) -> float:
    """Kendall's tau of two rankings, over the pairs that lie further apart than so much in the first."""
    first, second = one[:, None] - one[None, :], other[:, None] - other[None, :]
    apart = np.abs(first) > least
    return float((np.sign(first[apart]) * np.sign(second[apart])).mean())


def texts(count: int) -> list[str]:
    chance = random.Random(count)
    words = [
        "tea",
        "coffee",
        "sugar",
        "garden",
        "indentation",
        "whitespace",
        "python",
        "tabs",
        "river",
        "mountain",
        "blue",
        "green",
        "invoice",
        "deadline",
        "meeting",
        "doctor",
        "sister",
        "holiday",
        "recipe",
        "bicycle",
        "guitar",
        "rent",
        "landlord",
        "passport",
        "train",
        "dentist",
    ]
    return [" ".join(chance.choices(words, k=chance.randrange(3, 12))) + f" {n}" for n in range(count)]


def turned(embedder: Embedder, count: int, blinder: Blinder | None = None) -> tuple[float, float]:
    """The worst tau over some queries, and the largest difference of cosines."""
    vectors = embedder.embed(texts(count), Purpose.PASSAGE)
    queries = embedder.embed(texts(count)[:20], Purpose.QUERY)
    kept, asked = Blinder(b"k" * 32).turn(vectors), (blinder or Blinder(b"k" * 32)).turn(queries)
    plain, blind = vectors @ queries.T, kept @ asked.T
    worst = min(tau(plain[:, n], blind[:, n], 1e-6) for n in range(len(queries)))
    return worst, float(np.abs(plain - blind).max())


@sized(1_000, 3_000)
def test_turning_hashed_vectors_changes_no_ranking(count: int) -> None:
    worst, difference = turned(HashingEmbedder(), count)
    print(f"turning {count} hashed vectors: tau {worst}, cosines differ by at most {difference:.1e}")
    assert worst == 1.0
    assert difference <= 1e-5


@sized(60, 1_000)
def test_turning_vectors_of_the_local_model_changes_no_ranking(count: int) -> None:
    began = time.perf_counter()
    embedder = LocalEmbedder()
    try:
        worst, difference = turned(embedder, count)
    finally:
        embedder.close()
    print(
        f"turning {count} vectors of the local model: tau {worst}, "
        f"cosines differ by at most {difference:.1e}, {time.perf_counter() - began:.0f} s"
    )
    assert worst == 1.0
    assert difference <= 1e-5


def test_the_harness_finds_queries_that_are_turned_otherwise() -> None:
    worst, difference = turned(HashingEmbedder(), 200, Blinder(b"o" * 32))
    assert worst < 0.9
    assert difference > 1e-2
