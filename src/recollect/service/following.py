"""Following: brings a vector store up to date with what the store's index keeps, change by change.

Any number of processes may follow at once: each write carries a number that only grows, so one who is late changes
nothing. How far it was followed is kept in the vector store itself; one that lost everything is filled from the start.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic

import numpy as np

from recollect.domain.address import ROOT
from recollect.domain.contents import content_in
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.reasons import Plane
from recollect.ports.clock import Clock
from recollect.ports.store import Entry, EntryPage, Store
from recollect.ports.vectors import REMEMBERED_SECONDS, Followed, Line, Point, VectorStore
from recollect.service.opened import Aside
from recollect.service.rules import Rules
from recollect.service.series import Lines, Series

SEARCHED = (Plane.ITEM,)
"""The planes that can be searched by words and meaning."""
_PAGE = 1_000
_FEW_PAGES = 4
"""A search waits for so many pages to be followed, and no more."""
_POLL_SECONDS = 0.005
_TIDY_SECONDS = 300.0
_NOTED_SECONDS = 10.0
"""How often it is noted how far it was followed: what came after that is written again by whoever comes next."""
_CONFIRMED_SECONDS = 3_600.0
"""How often that is done even if nothing changed."""


class Following:
    """Follows the store's entries with a vector store."""

    def __init__(self, store: Store, vectors: VectorStore, clock: Clock, rules: Rules, aside: Aside) -> None:
        self.vectors = vectors
        self._store = store
        self._clock = clock
        self._rules = rules
        self._aside = aside
        self._upto: dict[Line, Followed] = {}
        self._noted: dict[Line, tuple[Followed, float]] = {}
        self._busy: set[Line] = set()
        self._tidied: dict[str, float] = {}
        self._lock = threading.Lock()

    async def fresh(self, line: Line) -> bool:
        """Bring a line up to date if little lacks; False when it is still being filled."""
        return await self._follow(line, _FEW_PAGES)

    async def round(
        self, tenant: str, lines: Lines | None, after_page: Callable[[int], Awaitable[bool]] | None = None
    ) -> int:
        """Follow all series that a tenant uses, and forget those that it does not; say how much was written."""
        total = 0

        async def counted(done: int) -> bool:
            nonlocal total
            total += done
            return after_page is None or await after_page(done)

        filled = () if lines is None else lines.filled
        for series in filled:
            for plane in SEARCHED:
                await self._follow(line_of(tenant, plane, series), None, counted)
        await self._tidy(tenant, {series.number for series in filled})
        return total

    async def _follow(
        self, line: Line, most: int | None, after_page: Callable[[int], Awaitable[bool]] | None = None
    ) -> bool:
        while not self._begin(line):  # somebody in this process is at it already
            await self._store.pause(_POLL_SECONDS)
        try:
            since, pages = (await self._begun(line)).upto, 0
            while most is None or pages < most:
                page = await self._store.entry_changes(line.tenant, line.plane, ROOT, line.series, since, limit=_PAGE)
                if page.upto != since:
                    await self._take(line, page)
                    since, pages = page.upto, pages + 1
                    if after_page is not None and not await after_page(len(page.entries)):
                        return False
                if not page.more:
                    return True
            return False
        finally:
            await self._note(line)
            self._busy.discard(line)

    def _begin(self, line: Line) -> bool:
        with self._lock:
            if line in self._busy:
                return False
            self._busy.add(line)
            return True

    async def _begun(self, line: Line) -> Followed:
        """How far it was followed. What is behind by too much, or ahead of the store, is made anew.

        Ends are forgotten by the store after a while, so one that did not follow for long may have missed some; and a
        store that was restored from a backup counts its changes anew.
        """
        known = self._upto.get(line)
        if known is not None:
            return known
        # What is there is asked about first: while others follow, the store is never behind what they write.
        found: Followed | None = await self._aside(lambda: self.vectors.followed(line))
        highest: int = await self._aside(lambda: self.vectors.highest(line))
        followed = found or Followed(0, self._clock())
        newest = (await self._store.entries(line.tenant, line.plane, ROOT, line.series, limit=1)).upto
        if max(followed.upto, highest) > newest or self._is_stale(followed):
            await self._aside(lambda: self.vectors.forget(line))
            followed = Followed(0, self._clock())
        self._upto[line] = followed
        return followed

    def _is_stale(self, followed: Followed) -> bool:
        kept = self._rules.retention.tombstones
        return kept is not None and self._clock() - followed.at > kept // 2

    async def _take(self, line: Line, page: EntryPage) -> None:
        now = self._clock()

        def write() -> None:
            points = list(points_of(line, page.entries))
            removed = [entry.id for entry in page.entries if entry.content is None]
            if points or removed:
                self.vectors.write(line, page.upto, points, removed, now)

        await self._aside(write)
        self._upto[line] = Followed(page.upto, now)
        await self._note(line)

    async def _note(self, line: Line) -> None:
        """Note now and then how far it was followed; that may be dear, and nothing is lost without it."""
        known = self._upto.get(line)
        if known is None:
            return
        noted, at = self._noted.get(line, (None, -_NOTED_SECONDS))
        if monotonic() - at < _NOTED_SECONDS:
            return
        now = self._clock()
        if noted is not None and noted.upto == known.upto and now <= after_seconds(noted.at, _CONFIRMED_SECONDS):
            return
        self._upto[line] = known = Followed(known.upto, now)
        await self._aside(lambda: self.vectors.follow(line, known))
        self._noted[line] = known, monotonic()

    async def _tidy(self, tenant: str, used: set[int]) -> None:
        if monotonic() - self._tidied.get(tenant, -_TIDY_SECONDS) < _TIDY_SECONDS:
            return
        before = Instant(self._clock() - int(REMEMBERED_SECONDS * 1e6))

        def tidy() -> list[Line]:
            gone = [line for line in self.vectors.lines(tenant) if line.series not in used]
            for line in gone:
                self.vectors.forget(line)
            self.vectors.tidy(before)
            return gone

        for line in await self._aside(tidy):
            self._upto.pop(line, None)
            self._noted.pop(line, None)
        self._tidied[tenant] = monotonic()

    def close(self) -> None:
        """Let go of the vector store."""
        self.vectors.close()


def line_of(tenant: str, plane: Plane, series: Series) -> Line:
    """What of a vector store a search of this plane uses."""
    return Line(tenant, plane, series.number, series.model, series.dimension)


def points_of(line: Line, entries: Iterable[Entry]) -> Iterable[Point]:
    """What a vector store keeps of these entries."""
    for entry in entries:
        if entry.content is None:
            continue
        content = content_in(entry.content)
        vectors = np.frombuffer(content.vectors, "<f4")
        usable = bool(line.dimension) and len(vectors) == line.dimension * len(content.paths)
        yield Point(
            entry.id,
            entry.namespace,
            entry.expires_at,
            entry.archived,
            entry.policy_attributes,
            np.frombuffer(content.words, "<u8"),
            np.frombuffer(content.counts, np.uint8),
            content.length,
            content.paths if usable else (),
            vectors.reshape(-1, line.dimension) if usable else np.zeros((0, line.dimension), np.float32),
        )
