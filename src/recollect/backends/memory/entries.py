"""What the reference keeps of the search index of one tenant: sealed entries, and who was put off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recollect.domain.instants import Instant
from recollect.domain.planning import Version


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry as it is stored; without content, it was dropped."""

    change: int
    version: Version
    content: bytes | None
    detail: bytes | None = None


@dataclass(slots=True)
class Index:
    """Entries by version and series, and the versions that were put off."""

    changes: int = 0
    kept: dict[tuple[bytes, int], Kept] = field(default_factory=dict)
    waiting: dict[bytes, tuple[int, Instant]] = field(default_factory=dict)
    """How often a version was put off, and until when."""

    def keep(self, version: Version, series: int, content: bytes | None, detail: bytes | None = None) -> None:
        """Keep an entry in place of the one there may be."""
        self.changes += 1
        self.kept[version.id, series] = Kept(self.changes, version, content, detail)

    def drop(self, version: Version) -> None:
        """Drop what is kept of a version, in every series."""
        for (row_id, series), kept in list(self.kept.items()):
            if row_id == version.id and kept.content is not None:
                self.keep(version, series, None)

    def forget(self, row_id: bytes) -> None:
        """Leave nothing of a version that is gone for good."""
        for place in [place for place in self.kept if place[0] == row_id]:
            del self.kept[place]
        self.waiting.pop(row_id, None)

    def of(self, series: int) -> Iterator[Kept]:
        """What is kept in a series, dropped entries included."""
        return (kept for (_, kept_in), kept in self.kept.items() if kept_in == series)

    def put_off(self, row_id: bytes, until: Instant) -> None:
        """Count it, and note until when."""
        self.waiting[row_id] = (self.waiting.get(row_id, (0, until))[0] + 1, until)

    def is_due(self, row_id: bytes, now: Instant) -> bool:
        """True unless the version was put off until later."""
        return row_id not in self.waiting or self.waiting[row_id][1] <= now
