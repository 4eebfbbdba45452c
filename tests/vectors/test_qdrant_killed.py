"""A process with Qdrant in a folder is killed while it writes: all that it had noted as written is there.

A killed process loses nothing that it had handed to the system. What a loss of power does is not tried here.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.sizes import sized
from tests.vectors import qdrant_victim
from tests.vectors.qdrant_victim import BATCH

from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.testing.contract.vectors import LINE, SCOPE


def _killed(folder: Path, begin: int, seconds: float, *, planted: bool = False) -> int:
    """Let a process write for a while after its first words; return the last batch that it spoke of."""
    command = [sys.executable, "-m", qdrant_victim.__name__, str(folder), str(begin), "planted" if planted else "sound"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        said = [first, *process.stdout]
    return int([each for each in said if each.endswith("\n")][-1])


def _flaws(folder: Path, said: int) -> tuple[int, list[str]]:
    """How far it was followed, and what is wrong with that."""
    vectors = QdrantVectors(QdrantOptions(path=folder))
    followed = vectors.followed(LINE)
    upto = followed.upto if followed else 0
    having = vectors.statistics(LINE, SCOPE, range(1, upto + 1)).having
    vectors.close()
    flaws = [f"batch {batch} has {count} of {BATCH}" for batch, count in having.items() if count != BATCH]
    return upto, flaws if upto >= said else [f"it was followed up to {said}, and now only to {upto}", *flaws]


@sized(2, 60)
def test_what_was_noted_is_there_after_a_kill(count: int, tmp_path: Path) -> None:
    chance, upto = random.Random(count), 0
    for _ in range(count):
        said = _killed(tmp_path, upto + 1, chance.random() * 0.5)
        upto, flaws = _flaws(tmp_path, said)
        assert not flaws
    assert upto >= count


def test_a_note_that_comes_too_early_is_noticed(tmp_path: Path) -> None:
    said = _killed(tmp_path, 1, 0.0, planted=True)
    _, flaws = _flaws(tmp_path, said)
    assert flaws == [f"batch 1 has 0 of {BATCH}"]
