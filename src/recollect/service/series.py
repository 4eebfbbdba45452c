"""Series: which model's vectors a tenant's searches use, and which are being made to take their place.

Vectors of two models are never compared. Each model has a series of its own; a search uses the one that serves until
the one that is being built has everything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from recollect.domain.address import Address, namespace
from recollect.domain.callers import SYSTEM_TENANT
from recollect.domain.commits import Commit, Put
from recollect.domain.errors import RevisionConflict
from recollect.domain.instants import Instant
from recollect.domain.reasons import Plane
from recollect.domain.values import encode_value
from recollect.ports.clock import Clock
from recollect.ports.embedder import Embedder
from recollect.ports.store import Store

_SHELF = namespace(("index",))
NO_MODEL = "none"
_ACTOR = "indexer"


class Series(msgspec.Struct, frozen=True):
    """Vectors of one model."""

    number: int
    model: str
    dimension: int


class Building(msgspec.Struct, frozen=True):
    """A series that is to serve once it is complete."""

    series: Series
    started_at: Instant


class Lines(msgspec.Struct, frozen=True):
    """The series that serves, and the one that is being built."""

    serving: Series
    building: Building | None = None
    leftover: tuple[int, ...] = ()
    """Series whose entries are still to be removed."""
    last: int = 1
    """The highest number that was given."""
    chosen_at: Instant = Instant(0)
    """When the model was last changed."""
    serving_since: Instant = Instant(0)
    """When the present one took the place of another."""

    @property
    def filled(self) -> tuple[Series, ...]:
        """Those that every new version is to be in."""
        return (self.serving,) if self.building is None else (self.serving, self.building.series)


class Embedders:
    """The embedder that is configured, and others by the names of their models."""

    def __init__(self, configured: Embedder | None, named: Callable[[str], Embedder | None]) -> None:
        self.configured = configured
        self._named = named
        self._others: dict[str, Embedder | None] = {}

    def of(self, series: Series) -> Embedder | None:
        """What made a series, if it can still be had."""
        if self.configured is not None and series.model == self.configured.model_name:
            return self.configured
        if series.model == NO_MODEL:
            return None
        if series.model not in self._others:
            self._others[series.model] = self._named(series.model)
        return self._others[series.model]

    def close(self) -> None:
        """Let go of all of them."""
        for each in (self.configured, *self._others.values()):
            if each is not None:
                each.close()


class SeriesBook:
    """Keeps which series a tenant has, among the service's own things: it is no event of the tenant's.

    Every process sees the same.
    """

    def __init__(self, store: Store, embedders: Embedders, clock: Clock) -> None:
        self._store = store
        self._embedders = embedders
        self._clock = clock
        self._since = clock()

    async def lines(self, tenant: str) -> Lines | None:
        """The series of a tenant; None when nothing was ever indexed."""
        return (await self._read(tenant))[0]

    async def agreed(self, tenant: str) -> Lines:
        """The same, brought in line with the embedder that is configured: for whoever is about to index.

        Of processes with different ones, the one that was started last decides, so that none undoes another's work.
        """
        while True:
            lines, revision = await self._read(tenant)
            wanted = await self._wanted(lines)
            if lines is not None and wanted == lines:
                return lines
            with suppress(RevisionConflict):
                await self._write(tenant, wanted, revision)

    async def begun(self, tenant: str) -> Lines:
        """The series of a tenant, which begins without vectors if there is none; those of a model can come later."""
        lines, revision = await self._read(tenant)
        if lines is None:
            with suppress(RevisionConflict):
                await self._write(tenant, Lines(Series(1, NO_MODEL, 0)), revision)
            return await self.begun(tenant)
        return lines

    async def _wanted(self, lines: Lines | None) -> Lines:
        embedder = self._embedders.configured
        name = NO_MODEL if embedder is None else embedder.model_name
        if lines is not None:
            aim = lines.serving if lines.building is None else lines.building.series
            if aim.model == name or lines.chosen_at > self._since:
                return lines
        dimension = 0 if embedder is None else (await self._store.aside(embedder.model)).dimension
        if lines is None:
            return Lines(Series(1, name, dimension))
        leftover = lines.leftover
        if lines.building is not None:
            leftover = (*leftover, lines.building.series.number)
        now = self._clock()
        if name == lines.serving.model:
            return Lines(lines.serving, None, leftover, lines.last, now, now)
        new = Series(lines.last + 1, name, dimension)
        return Lines(lines.serving, Building(new, now), leftover, new.number, now, lines.serving_since)

    async def complete(self, tenant: str, built: Building) -> None:
        """Let a series serve that has everything, unless something else was decided meanwhile."""
        lines, revision = await self._read(tenant)
        if lines is None or lines.building != built:
            return
        leftover = (*lines.leftover, lines.serving.number)
        after = Lines(built.series, None, leftover, lines.last, lines.chosen_at, self._clock())
        with suppress(RevisionConflict):
            await self._write(tenant, after, revision)

    async def removed(self, tenant: str, number: int) -> None:
        """Note that nothing is left of a series."""
        lines, revision = await self._read(tenant)
        if lines is not None and number in lines.leftover:
            left = tuple(each for each in lines.leftover if each != number)
            with suppress(RevisionConflict):
                await self._write(tenant, msgspec.structs.replace(lines, leftover=left), revision)

    async def _read(self, tenant: str) -> tuple[Lines | None, int]:
        row = await self._store.get(SYSTEM_TENANT, _place(tenant))
        if row is None or row.value is None:
            return None, 0
        return msgspec.json.decode(row.value, type=Lines), row.revision

    async def _write(self, tenant: str, lines: Lines, revision: int) -> None:
        value = encode_value(msgspec.json.decode(msgspec.json.encode(lines)))
        put = Put(_place(tenant), value, expected_revision=revision)
        await self._store.commit(Commit(SYSTEM_TENANT, (put,), (), _ACTOR))


def _place(tenant: str) -> Address:
    return Address(Plane.INDEX, _SHELF, tenant)
