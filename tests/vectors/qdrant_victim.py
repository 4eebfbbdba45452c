"""A process that writes to Qdrant in a folder, notes how far it is, and says so, until it is killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.ports.vectors import Followed
from recollect.testing.contract.vectors import LINE, NOW, point, unit

BATCH = 20


def main(folder: Path, begin: int, planted: bool) -> None:
    """Write batch after batch; `planted` notes each before it is written, which must not go unnoticed."""
    vectors = QdrantVectors(QdrantOptions(path=folder))
    for number in range(begin, begin + 100_000):
        points = [point(number * BATCH + each, unit(1, each), words={number: 1}) for each in range(BATCH)]
        if planted:
            vectors.follow(LINE, Followed(number, NOW))
            print(number, flush=True)
            time.sleep(60)
        vectors.write(LINE, number, points, [], NOW)
        vectors.follow(LINE, Followed(number, NOW))
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "planted")
