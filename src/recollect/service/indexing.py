"""Indexing: brings the search index up to date with what is stored, batch by batch, by whoever is at it.

Two who index the same version do the same work twice and nothing else: an entry is kept only with its mark, and a mark
applies only to a version that is still as it was read. So it can be killed anywhere and go on from there.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from recollect.domain.blinding import Blinder
from recollect.domain.errors import EmbedderTrouble
from recollect.domain.instants import after_seconds
from recollect.ports.clock import Clock
from recollect.ports.keys import Keyring
from recollect.ports.store import Pending, Reflected, Store
from recollect.service.making import Failed, Made, Making
from recollect.service.rules import Rules
from recollect.service.series import Embedders, Lines, Series, SeriesBook

Result = TypeVar("Result")
_POLL_SECONDS = 0.01
_PURPOSE = "search index"
_MOST_BLINDERS = 256
_MEND_SECONDS = 600.0
_MEND_WITHIN = 86_400.0


class Indexing:
    """Makes entries for what waits, and drops those of what ended."""

    def __init__(
        self, store: Store, keyring: Keyring, embedders: Embedders, clock: Clock, rules: Rules, language: str
    ) -> None:
        self.embedders = embedders
        self.book = SeriesBook(store, embedders, clock)
        self.inline = True
        """Whether a search sees to it itself that everything is indexed, because nobody else does."""
        self._store = store
        self._keyring = keyring
        self._clock = clock
        self.rules = rules
        self._language = language
        self._blinders: dict[str, Blinder] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="recollect-indexer")
        self._stirred: list[Callable[[], None]] = []
        self._filled_upto: dict[tuple[str, int], int] = {}
        self._mended: dict[str, float] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    # -- being woken, and standing aside

    def on_stir(self, wake: Callable[[], None]) -> None:
        """Call this whenever something was written that is to be indexed."""
        self._stirred.append(wake)

    def stir(self) -> None:
        """Something was written."""
        for wake in self._stirred:
            wake()

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Do work that takes long where it holds up nobody."""
        if self._store.direct:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """End what is under way."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.embedders.close()

    async def blinder(self, tenant: str) -> Blinder:
        """What blinds the words and vectors of a tenant."""
        known = self._blinders.get(tenant)
        if known is None:
            key = await self._store.aside(lambda: self._keyring.derive(tenant, _PURPOSE))
            if len(self._blinders) >= _MOST_BLINDERS:
                self._blinders.clear()
            known = self._blinders[tenant] = Blinder(key)
        return known

    # -- working

    async def round(self, tenant: str, after_batch: Callable[[int], Awaitable[bool]] | None = None) -> int:
        """Index all that waits, fill the series that is being built, remove what is left of others; say how much."""
        while not self._begin(tenant):
            await self._store.pause(_POLL_SECONDS)
        try:
            return await self._round(tenant, after_batch)
        finally:
            self._busy.discard(tenant)

    async def _round(self, tenant: str, after_batch: Callable[[int], Awaitable[bool]] | None) -> int:
        total = 0
        # What was written meanwhile always comes first: a new series may take hours.
        while (
            done := await self.batch(tenant)
            or await self._build(tenant)
            or await self._clear(tenant)
            or await self._mend(tenant)
        ):
            total += done
            if after_batch is not None and not await after_batch(done):
                break
        return total

    async def settle(self, tenant: str, seconds: float, ids: Sequence[bytes] | None = None) -> bool:
        """Wait until nothing written so far waits, or until these versions do not; False when the time is up.

        Whoever waits also works, so that it comes to an end even if nobody else is at it.
        """
        deadline = monotonic() + seconds
        upto, most = (await self._store.head(tenant)).sequence, self.rules.index_batch
        while True:
            waiting = await self._store.pending(tenant, limit=most)
            if ids is not None and await self._are_done(tenant, ids):
                return True
            if not waiting:
                return ids is None or await self._are_done(tenant, ids)
            if ids is None and _only_later(waiting, upto, most):
                await self.forget_ended(tenant)  # they are shown to nobody, but still count in the statistics
                return True
            if monotonic() >= deadline:
                return False
            if not self._begin(tenant):  # somebody in this process is at it already
                await self._store.pause(_POLL_SECONDS)
                continue
            try:
                done = await self.batch(tenant)
            finally:
                self._busy.discard(tenant)
            if not done:
                await self._store.pause(_POLL_SECONDS)

    async def catch_up(self, tenant: str) -> None:
        """Index all that was written so far and complete what is being built, however much is written meanwhile."""
        await self.settle(tenant, math.inf)
        while not self._begin(tenant):
            await self._store.pause(_POLL_SECONDS)
        try:
            while await self._build(tenant) or await self._clear(tenant) or await self._mend(tenant, asked=True):
                pass
        finally:
            self._busy.discard(tenant)
        await self.forget_ended(tenant)

    def _begin(self, tenant: str) -> bool:
        """Be the one in this process who indexes a tenant; False while another is."""
        with self._lock:
            if tenant in self._busy:
                return False
            self._busy.add(tenant)
            return True

    async def _are_done(self, tenant: str, ids: Sequence[bytes]) -> bool:
        rows = await self._store.rows(tenant, ids)
        return all(row.index_state != "pending" for row in rows)

    async def forget_ended(self, tenant: str, batch: int = 100) -> int:
        """Drop the entries of versions that ended; nothing has to be understood for that."""
        total, more = 0, True
        while more:
            ended = await self._store.pending(tenant, limit=batch, ended=True)
            total += await self._store.reflect(tenant, 0, [Reflected(each.mark, None) for each in ended])
            more = len(ended) == batch
        return total

    async def batch(self, tenant: str) -> int:
        """Index the oldest that wait; return how many were dealt with."""
        waiting = await self._store.pending(tenant, limit=self.rules.index_batch)
        if not waiting:
            return 0
        ended = [Reflected(each.mark, None) for each in waiting if not each.live]
        if ended:
            await self._store.reflect(tenant, 0, ended)
        live = [each for each in waiting if each.live]
        if live:
            lines = await self._lines(tenant)
            await self._reflect(tenant, live, lines)
            await self._follow(tenant, live, lines)
        return len(waiting)

    async def _follow(self, tenant: str, live: Sequence[Pending], before: Lines) -> None:
        """Keep entries also in series that another process began or completed while these were made.

        Nobody else would: the one who completed it saw these versions still waiting. If this one dies before that,
        `_mend` finds them.
        """
        lines = await self.book.lines(tenant)
        if lines is None or lines.filled == before.filled:
            return
        for series in lines.filled:
            if series not in before.filled:
                await self._keep(tenant, live, series)
        for series in before.filled:
            if series not in lines.filled:
                await self._drop(tenant, series.number)

    async def _lines(self, tenant: str) -> Lines:
        """The series to keep entries in.

        While a new model cannot even be asked for its dimension, those there are; if there are none, words have to do.
        """
        try:
            return await self.book.agreed(tenant)
        except EmbedderTrouble:
            return await self.book.lines(tenant) or await self.book.begun(tenant)

    async def _reflect(self, tenant: str, live: Sequence[Pending], lines: Lines) -> None:
        """Keep entries in the series that serves, then in the one that is being built, which is also filled later.

        The model of a series that is being replaced may be gone: then words have to do until the new one serves.
        """
        replaced = lines.building is not None
        made = await self._made(tenant, live, lines.serving, lenient=replaced)
        pairs = list(zip(live, made, strict=True))
        kept = [Reflected(each.mark, one.entry, one.detail) for each, one in pairs if isinstance(one, Made)]
        await self._store.reflect(tenant, lines.serving.number, kept)
        for each, one in pairs:
            if isinstance(one, Failed):
                until = after_seconds(self._clock(), one.delay(each.attempts))
                await self._store.put_off(tenant, [each.mark], until)
        if lines.building is not None:
            await self._keep(tenant, live, lines.building.series)

    async def _keep(self, tenant: str, live: Sequence[Pending], series: Series) -> None:
        """Keep entries in a series that is being built; a text that its model refuses is found by its words."""
        made = await self._made(tenant, live, series)
        if any(isinstance(one, Failed) and not one.refused for one in made):
            raise EmbedderTrouble(f"{series.model} does not answer: its vectors are made when it does")
        if any(isinstance(one, Failed) for one in made):
            made = await self._made(tenant, live, series, lenient=True)
        pairs = [(each, one) for each, one in zip(live, made, strict=True) if isinstance(one, Made)]
        kept = [Reflected(each.mark, one.entry, one.detail) for each, one in pairs]
        await self._store.reflect(tenant, series.number, kept)

    async def _made(
        self, tenant: str, live: Sequence[Pending], series: Series, *, lenient: bool = False
    ) -> list[Made | Failed]:
        making = Making(await self.blinder(tenant), self._language, self.embedders.of(series))
        return await self.aside(lambda: making.make(live, lenient=lenient))

    async def _build(self, tenant: str) -> int:
        """Fill the series that is being built a little more; once nothing lacks in it, let it serve."""
        lines = await self.book.lines(tenant)
        if lines is None:
            return 0
        lines = await self.book.agreed(tenant)
        building = lines.building
        if building is None:
            return 0
        done = await self._fill(tenant, building.series)
        if not done:
            await self.book.complete(tenant, building)
        return done

    async def _mend(self, tenant: str, *, asked: bool = False) -> int:
        """See that all that counts as indexed can be found, and that nothing is left of series that were removed.

        Only one who died while the model changed leaves such things, so it is looked for in the day after.
        """
        if not asked and monotonic() - self._mended.get(tenant, -math.inf) < _MEND_SECONDS:
            return 0
        lines = await self.book.lines(tenant)
        if lines is None or lines.building is not None:
            return 0
        done = 0
        if asked or self._clock() < after_seconds(lines.serving_since, _MEND_WITHIN):
            done = await self._fill(tenant, lines.serving)
            for number in () if done else range(1, lines.last + 1):
                if number != lines.serving.number:
                    await self._drop(tenant, number)
        if not done:
            self._mended[tenant] = monotonic()
        return done

    async def _drop(self, tenant: str, number: int) -> None:
        while (await self._store.drop_series(tenant, number)).more:
            pass

    async def _fill(self, tenant: str, series: Series) -> int:
        number = series.number
        after = self._filled_upto.get((tenant, number), 0)
        lacking, upto = await self._store.lacking(tenant, number, after=after, limit=self.rules.index_batch)
        if not lacking and after:  # once more from the beginning: what was written meanwhile may have been passed
            self._filled_upto.pop((tenant, number), None)
            return await self._fill(tenant, series)
        if not lacking:
            return 0
        await self._keep(tenant, lacking, series)
        self._filled_upto[tenant, number] = upto
        return len(lacking)

    async def _clear(self, tenant: str) -> int:
        """Remove what is left of a series that serves no longer."""
        lines = await self.book.lines(tenant)
        for number in () if lines is None else lines.leftover[:1]:
            swept = await self._store.drop_series(tenant, number)
            if not swept.more:
                await self.book.removed(tenant, number)
            return max(swept.done, 1)
        return 0


def _only_later(waiting: Sequence[Pending], upto: int, most: int) -> bool:
    """Whether nothing that waits was written up to a point of the log; what merely ended does not count.

    Those written later come after the others, so the first of them tells that there are no more of those.
    """
    live = [each for each in waiting if each.live]
    return all(each.row.sequence > upto for each in live) and (bool(live) or len(waiting) < most)
