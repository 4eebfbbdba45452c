"""What a disk may hold after the power went off, given everything that was asked of it before.

Per file, what was written up to its last sync is there. Of what was written since, each sector is there
or not, by chance; so is each truncate. A new name, or the lack of a deleted one, is certain only once the
folder was synced, which SQLite's own file layer does at the first sync of a journal or write-ahead log.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from recollect.testing.faults.files import SECTOR, MemoryFiles, Step, truncate, write_into

Image = dict[str, bytearray]
"""The contents of every file that is there."""
_CHANGES = frozenset({"open", "write", "truncate", "sync", "delete"})
_SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""How much of the unsynced tends to survive; the extremes make mistakes of order visible."""


class Recorder:
    """Keeps every change that is made to files, in order."""

    def __init__(self, files: MemoryFiles) -> None:
        self.steps: list[Step] = []
        files.watch = self._keep

    def _keep(self, step: Step) -> None:
        if step.kind in _CHANGES:
            self.steps.append(step)


class Disk:
    """A disk that is told of one step after the other, and can be asked at any time what a crash would leave."""

    def __init__(self) -> None:
        self._synced: Image = {}
        self._pending: dict[str, list[Step]] = {}
        self._unsure: set[str] = set()
        """Names that may not be there, since the folder was not synced after their making or deletion."""
        self._deleted: set[str] = set()

    def take(self, step: Step) -> None:
        """The next step happens."""
        path = step.path
        match step.kind:
            case "open" if path not in self._synced or path in self._deleted:
                self._synced[path], self._pending[path] = bytearray(), []
                self._deleted.discard(path)
                self._unsure.add(path)
            case "write" | "truncate":
                self._pending[path].append(step)
            case "sync":
                for each in self._pending[path]:
                    _apply(self._synced[path], each)
                self._pending[path] = []
                if path in self._unsure and path.endswith(("-wal", "-journal")):
                    self._sync_folder()
            case "delete":
                self._deleted.add(path)
                if step.at:
                    self._sync_folder()

    def _sync_folder(self) -> None:
        for path in self._deleted:
            del self._synced[path], self._pending[path]
        self._deleted.clear()
        self._unsure.clear()

    def left(self) -> Image:
        """What is there when only the process dies: everything."""
        image: Image = {}
        for path, synced in self._synced.items():
            if path not in self._deleted:
                image[path] = bytearray(synced)
                for step in self._pending[path]:
                    _apply(image[path], step)
        return image

    def crash(self, chance: random.Random) -> Image:
        """One of the many things that may be there when the power goes off now."""
        image: Image = {}
        share = chance.choice(_SHARES)
        for path, synced in self._synced.items():
            if (path in self._unsure or path in self._deleted) and chance.random() < 0.5:
                continue
            data = image[path] = bytearray(synced)
            for step in self._pending[path]:
                if step.kind == "write":
                    _tear(data, step, share, chance)
                elif chance.random() < share:
                    truncate(data, step.at)
        return image


def crashes(steps: list[Step], points: Iterable[int], chance: random.Random) -> Iterator[tuple[int, Image]]:
    """An image for each point, given as how many steps had happened; in rising order."""
    disk, done = Disk(), 0
    for point in sorted(points):
        for step in steps[done:point]:
            disk.take(step)
        done = point
        yield point, disk.crash(chance)


def _apply(data: bytearray, step: Step) -> None:
    if step.kind == "write":
        write_into(data, step.at, step.data)
    else:
        truncate(data, step.at)


def _tear(data: bytearray, step: Step, share: float, chance: random.Random) -> None:
    """Write some of the sectors that a write touches."""
    end = step.at + len(step.data)
    start = step.at
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        if chance.random() < share:
            write_into(data, start, step.data[start - step.at : stop - step.at])
        start = stop
