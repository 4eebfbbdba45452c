"""The part of the reference store that the search index needs: what waits, what is kept, what is lacking."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence

from recollect.backends.memory.alone import alone
from recollect.backends.memory.entries import Index, Kept
from recollect.backends.memory.shelf import Tenant
from recollect.domain.address import Namespace, in_subtree
from recollect.domain.errors import KeyErased
from recollect.domain.instants import Instant
from recollect.domain.planning import Version, detail_field, entry_field
from recollect.domain.reasons import IndexState, Plane
from recollect.domain.retention import Swept
from recollect.domain.rows import Row
from recollect.ports.clock import Clock
from recollect.ports.keys import Sealer
from recollect.ports.store import Entry, EntryPage, IndexFigures, Mark, Pending, Place, Reflected, Store


def _place(kept: Kept) -> Place:
    return kept.version.address.namespace.encoded, kept.version.sequence


class IndexKeeping(Store):
    """Keeps entries in plain Python structures; what it needs of a store is below."""

    _clock: Clock
    _sealer: Sealer
    _lock: threading.RLock
    _commits: int

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse when it is closed."""

    @abstractmethod
    def _tenant(self, name: str) -> Tenant:
        """What is kept of a tenant."""

    @abstractmethod
    def _opened(self, tenant: str, version: Version) -> Row:
        """A version as a row."""

    @alone
    async def pending(self, tenant: str, *, limit: int = 100, ended: bool = False) -> Sequence[Pending]:
        """Versions the index does not reflect."""
        stored, now = self._tenant(tenant), self._clock()
        waiting = [
            version
            for version in stored.by_id.values()
            if version.index_state is IndexState.PENDING
            and stored.index.is_due(version.id, now)
            and (version.ended_at is not None or not ended)
        ]
        waiting.sort(key=lambda version: version.sequence)
        return [self._pending(tenant, stored, version) for version in waiting[:limit]]

    def _pending(self, tenant: str, stored: Tenant, version: Version) -> Pending:
        attempts = stored.index.waiting.get(version.id, (0,))[0]
        return Pending(self._opened(tenant, version), version.ended_at is None, version.pinned_sequence, attempts)

    @alone
    async def mark_indexed(self, tenant: str, marks: Sequence[Mark]) -> int:
        """Mark versions that are still as they were read."""
        self._commits += 1
        return sum(self._mark(self._tenant(tenant), mark) for mark in marks)

    def _mark(self, stored: Tenant, mark: Mark) -> bool:
        version = stored.by_id.get(mark.id)
        if version is None or version.index_state is not IndexState.PENDING:
            return False
        if (version.ended_at is None, version.pinned_sequence) != (mark.live, mark.pinned_sequence):
            return False
        version.index_state = IndexState.DONE
        stored.index.waiting.pop(version.id, None)
        return True

    @alone
    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries with their marks."""
        self._commits += 1
        return sum(self._reflect(tenant, series, each) for each in reflected)

    def _reflect(self, tenant: str, series: int, reflected: Reflected) -> bool:
        stored, mark = self._tenant(tenant), reflected.mark
        version = stored.by_id.get(mark.id)
        if version is None or version.index_state is IndexState.UNWANTED:
            return False
        if not mark.live:
            done = self._mark(stored, mark)
            if done:
                stored.index.drop(version)
            return done
        if version.ended_at is not None or version.pinned_sequence != mark.pinned_sequence:
            return False
        if reflected.entry is not None:
            sealed = self._sealed(tenant, version, entry_field(series), reflected.entry)
            detail = reflected.detail
            if detail is not None:
                detail = self._sealed(tenant, version, detail_field(series), detail)
            stored.index.keep(version, series, sealed, detail)
        version.index_state = IndexState.DONE
        stored.index.waiting.pop(version.id, None)
        return True

    def _sealed(self, tenant: str, version: Version, field: str, plain: bytes) -> bytes:
        return self._sealer.seal(tenant, version.address, version.id, version.revision, field, plain)

    def _unsealed(self, tenant: str, version: Version, field: str, sealed: bytes) -> bytes | None:
        try:
            return self._sealer.open(tenant, version.address, version.id, version.revision, field, sealed)
        except KeyErased:
            return None

    @alone
    async def put_off(self, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
        """Let these wait, unless they changed."""
        self._commits += 1
        stored = self._tenant(tenant)
        for mark in marks:
            version = stored.by_id.get(mark.id)
            if version is None or version.index_state is not IndexState.PENDING:
                continue
            if (version.ended_at is None, version.pinned_sequence) == (mark.live, mark.pinned_sequence):
                stored.index.put_off(version.id, until)

    @alone
    async def entries(
        self,
        tenant: str,
        plane: Plane,
        within: Namespace,
        series: int,
        *,
        after: Place | None = None,
        limit: int = 1_000,
    ) -> EntryPage:
        """A page of the entries in a scope."""
        index = self._tenant(tenant).index
        found = [
            kept
            for kept in self._kept(index, plane, within, series)
            if kept.content is not None and (after is None or _place(kept) > after)
        ]
        found.sort(key=_place)
        opened = [self._entry_of(tenant, series, kept) for kept in found[:limit]]
        last = _place(found[limit - 1]) if len(found) > limit else None
        return EntryPage([entry for entry in opened if entry.content is not None], index.changes, last)

    @alone
    async def entry_changes(
        self, tenant: str, plane: Plane, within: Namespace, series: int, since: int, *, limit: int = 1_000
    ) -> EntryPage:
        """What was kept or dropped in a scope since."""
        index = self._tenant(tenant).index
        found = [kept for kept in self._kept(index, plane, within, series) if kept.change > since]
        found.sort(key=lambda kept: kept.change)
        opened = [self._entry_of(tenant, series, kept) for kept in found[:limit]]
        more = len(found) > limit
        return EntryPage(opened, found[limit - 1].change if more else index.changes, more=more)

    def _kept(self, index: Index, plane: Plane, within: Namespace, series: int) -> Iterator[Kept]:
        for kept in index.of(series):
            address = kept.version.address
            if address.plane is plane and in_subtree(within.encoded, address.namespace.encoded):
                yield kept

    def _entry_of(self, tenant: str, series: int, kept: Kept) -> Entry:
        version, content = kept.version, kept.content
        if content is not None:
            content = self._unsealed(tenant, version, entry_field(series), content)
        return Entry(
            version.id,
            version.address.namespace.encoded,
            version.created_at,
            version.sequence,
            version.expires_at,
            version.archived,
            version.policy_attributes,
            content,
        )

    @alone
    async def entries_of(self, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
        """Entries by the ids of their versions."""
        kept = self._tenant(tenant).index.kept
        found = [kept[each, series] for each in ids if (each, series) in kept]
        opened = [self._entry_of(tenant, series, each) for each in found if each.content is not None]
        return [entry for entry in opened if entry.content is not None]

    @alone
    async def details(self, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The details of entries."""
        kept = self._tenant(tenant).index.kept
        found: dict[bytes, bytes] = {}
        for each in ids:
            entry = kept.get((each, series))
            if entry is not None and entry.detail is not None:
                detail = self._unsealed(tenant, entry.version, detail_field(series), entry.detail)
                if detail is not None:
                    found[each] = detail
        return found

    @alone
    async def lacking(
        self, tenant: str, series: int, *, after: int = 0, limit: int = 100
    ) -> tuple[Sequence[Pending], int]:
        """Live versions without an entry in a series."""
        stored = self._tenant(tenant)
        having = {kept.version.id for kept in stored.index.of(series) if kept.content is not None}
        found = [
            version
            for version in stored.by_id.values()
            if version.sequence > after
            and version.ended_at is None
            and version.index_state is IndexState.DONE
            and version.id not in having
        ]
        found.sort(key=lambda version: version.sequence)
        last = found[:limit][-1].sequence if found else after
        return [self._pending(tenant, stored, version) for version in found[:limit]], last

    @alone
    async def drop_series(self, tenant: str, series: int, *, limit: int = 1_000) -> Swept:
        """Remove entries of a series."""
        self._commits += 1
        kept = self._tenant(tenant).index.kept
        places = [place for place in kept if place[1] == series][:limit]
        for place in places:
            del kept[place]
        return Swept(len(places), more=len(places) == limit)

    @alone
    async def rows(self, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        """Versions by their ids."""
        by_id = self._tenant(tenant).by_id
        return [self._opened(tenant, by_id[each]) for each in ids if each in by_id]

    @alone
    async def index_figures(self, tenant: str, series: int) -> IndexFigures:
        """How much there is, and how much waits."""
        stored = self._tenant(tenant)
        entries = sum(kept.content is not None for kept in stored.index.of(series))
        waiting = [each for each in stored.by_id.values() if each.index_state is IndexState.PENDING]
        return IndexFigures(entries, len(waiting), sum(each.id in stored.index.waiting for each in waiting))
