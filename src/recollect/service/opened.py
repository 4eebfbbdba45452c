"""Opened shelves: the entries of scopes that were searched lately, kept in memory and brought up to date."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from recollect.domain.address import ROOT, SEPARATOR, Namespace, decode_namespace
from recollect.domain.reasons import Plane
from recollect.domain.shelves import Shelf, Slip
from recollect.ports.store import Entry, EntryPage, Store
from recollect.service.series import Series

_PAGE = 2_000
_FEW = 200
"""So many entries are taken at once without stepping aside."""
_LARGE_SECONDS = 600.0
"""For so long it is remembered that a scope has too many entries for a shelf."""
_MOST_LARGE = 10_000
Aside = Callable[[Callable[[], Any]], Awaitable[Any]]


class Scope(NamedTuple):
    """What a shelf holds."""

    tenant: str
    plane: Plane
    within: str
    series: int


class OpenShelf:
    """A shelf, and the lock that keeps those who change it from those who read it."""

    __slots__ = ("lock", "scope", "shelf")

    def __init__(self, scope: Scope, dimension: int) -> None:
        self.scope = scope
        self.shelf = Shelf(dimension)
        self.lock = threading.Lock()

    def take(self, since: int, page: EntryPage) -> None:
        """Take what changed since a point, unless somebody else did so meanwhile."""
        with self.lock:
            if self.shelf.upto != since:
                return
            self.shelf.strike(entry.id for entry in page.entries if entry.content is None)
            self.shelf.take(slips_of(page.entries))
            self.shelf.upto = page.upto


def slips_of(entries: Iterable[Entry]) -> Iterator[Slip]:
    """What a shelf knows of these."""
    for each in entries:
        if each.content is not None:
            yield Slip(
                each.id,
                each.namespace,
                each.created_at,
                each.sequence,
                each.expires_at,
                each.archived,
                each.policy_attributes,
                each.content,
            )


class Shelves:
    """The shelves that were used lately, up to so many bytes of them."""

    def __init__(self, store: Store, aside: Aside, most_bytes: int) -> None:
        self._store = store
        self._aside = aside
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._open: OrderedDict[Scope, OpenShelf] = OrderedDict()
        self._large: OrderedDict[Scope, float] = OrderedDict()

    async def fresh(self, tenant: str, plane: Plane, within: Namespace, series: Series) -> tuple[OpenShelf, str | None]:
        """A shelf that has everything in a scope as of now, and the scope itself if the shelf holds more than that."""
        found = await self._fresh(tenant, plane, within, series, None)
        if found is None:
            raise AssertionError("unreachable: no shelf is too large where there is no bound")
        return found

    async def fresh_if_small(
        self, tenant: str, plane: Plane, within: Namespace, series: Series, most: int
    ) -> tuple[OpenShelf, str | None] | None:
        """The same; None when the scope has more than so many entries."""
        scope = Scope(tenant, plane, within.encoded, series.number)
        if not most or monotonic() - self._large.get(scope, -_LARGE_SECONDS) < _LARGE_SECONDS:
            return None
        found = await self._fresh(tenant, plane, within, series, most)
        if found is None:
            self._large[scope] = monotonic()
            self._large.move_to_end(scope)
            while len(self._large) > _MOST_LARGE:
                self._large.popitem(last=False)
        return found

    async def _fresh(
        self, tenant: str, plane: Plane, within: Namespace, series: Series, most: int | None
    ) -> tuple[OpenShelf, str | None] | None:
        found = self._held(tenant, plane, within, series.number)
        if found is None:
            found = await self._loaded(Scope(tenant, plane, within.encoded, series.number), series.dimension, most)
        else:
            await self._refresh(found)
        if found is None:
            return None
        if most is not None and len(found.shelf) > most:
            with self._lock:
                self._open.pop(found.scope, None)
            return None
        self._keep(found)
        return found, None if found.scope.within == within.encoded else within.encoded

    @property
    def nbytes(self) -> int:
        """About how much memory the shelves take."""
        return sum(each.shelf.nbytes for each in list(self._open.values()))

    def _held(self, tenant: str, plane: Plane, within: Namespace, series: int) -> OpenShelf | None:
        """The shelf of the scope, or of one around it."""
        with self._lock:
            for place in _around(within.encoded):
                scope = Scope(tenant, plane, place, series)
                found = self._open.get(scope)
                if found is not None:
                    self._open.move_to_end(scope)
                    return found
        return None

    async def _loaded(self, scope: Scope, dimension: int, most: int | None) -> OpenShelf | None:
        opened, within = OpenShelf(scope, dimension), _namespace(scope.within)
        after, upto = None, None
        slips: list[Slip] = []
        while True:
            page = await self._store.entries(scope.tenant, scope.plane, within, scope.series, after=after, limit=_PAGE)
            upto = page.upto if upto is None else upto
            slips += slips_of(page.entries)
            if most is not None and len(slips) > most:
                return None
            after = page.after
            if after is None:
                break
        if len(slips) <= _FEW:
            opened.shelf.take(slips)
        else:
            await self._aside(lambda: opened.shelf.take(slips))
        opened.shelf.upto = upto
        await self._refresh(opened)
        return opened

    async def _refresh(self, opened: OpenShelf) -> None:
        scope, within = opened.scope, _namespace(opened.scope.within)
        more = True
        while more:
            since = opened.shelf.upto
            page = await self._store.entry_changes(scope.tenant, scope.plane, within, scope.series, since, limit=_PAGE)
            if page.upto == since:
                return
            if len(page.entries) <= _FEW:
                opened.take(since, page)
            else:
                await self._aside(partial(opened.take, since, page))
            # Somebody else may have been first, with less than this page had.
            more = page.more or opened.shelf.upto < page.upto

    def _keep(self, opened: OpenShelf) -> None:
        """Keep it, and let go of those not used for longest; one that is too large by itself is not kept."""
        with self._lock:
            self._open[opened.scope] = opened
            left = self._most_bytes
            for scope in reversed(list(self._open)):
                left -= self._open[scope].shelf.nbytes
                if left < 0:
                    del self._open[scope]


def _around(encoded: str) -> Iterator[str]:
    """A scope, and all around it up to the root."""
    yield encoded
    while encoded:
        encoded = encoded.rpartition(SEPARATOR)[0]
        yield encoded


def _namespace(encoded: str) -> Namespace:
    return decode_namespace(encoded) if encoded else ROOT
