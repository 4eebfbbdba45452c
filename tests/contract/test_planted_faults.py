"""The suite is itself on trial: every fault planted in a backend must be caught by some check of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from recollect.backends.memory import MemoryStore
from recollect.backends.memory.shelf import Tenant
from recollect.backends.sqlite import SqliteStore, commits, log, reads, schema, upkeep
from recollect.backends.sqlite import store as sqlite_store
from recollect.backends.sqlite.writer import Group
from recollect.domain.address import Address, Namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.commits import Commit, Receipt, Relabel
from recollect.domain.errors import RecollectError
from recollect.domain.events import Entry
from recollect.domain.filters import EVERYTHING, matches
from recollect.domain.instants import Instant
from recollect.domain.planning import Label, Newest, Pinned, Plan, Version
from recollect.domain.queries import (
    Archived,
    EventPage,
    EventQuery,
    Find,
    NamespaceQuery,
    Page,
    check_reach,
    selects,
)
from recollect.domain.reasons import EventKind, IndexState, Plane
from recollect.domain.rows import Row
from recollect.ports.store import Mark
from recollect.testing.contract import CHECKS, MakeTrial, failures
from recollect.testing.drivers import fresh_folders, memory_trial, sqlite_trial


def first_alone(commit: Commit) -> Commit:
    """The commit of only its first operation."""
    return msgspec.structs.replace(commit, operations=commit.operations[:1], conditions=(), idempotency=None)


def happening_now(commit: Commit) -> Commit:
    """The commit as if everything in it had happened here and now."""
    now = [each if isinstance(each, Relabel) else msgspec.structs.replace(each, at=None) for each in commit.operations]
    return msgspec.structs.replace(commit, operations=tuple(now))


def relabelling_whatever_is_there(commit: Commit, newest: Callable[[Address], Newest | None]) -> Commit:
    """The commit as if everything that it relabels had been read just now."""

    def revision(address: Address) -> int:
        found = newest(address)
        return 0 if found is None else found.revision

    read = [
        msgspec.structs.replace(each, revision=revision(each.address)) if isinstance(each, Relabel) else each
        for each in commit.operations
    ]
    return msgspec.structs.replace(commit, operations=tuple(read))


def vouched_for(found: Pinned | None) -> Pinned | None:
    """A version with a digest that it certainly has."""
    return None if found is None else Pinned(found.version, found.version.digest())


def filtered_late(page: EventPage, query: EventQuery) -> EventPage:
    """The page of another query, without those of its events that this one does not ask for."""
    told = [entry for entry in page.entries if entry.row and _fits(query, entry.row)]
    return replace(page, entries=told)


def _fits(query: EventQuery, row: Row) -> bool:
    return matches(query.filter, stored_attributes(row.policy_attributes))


def without_deletes(plan: Plan) -> Plan:
    """The plan without the events that tell of a deletion."""
    return replace(plan, events=[event for event in plan.events if event.kind is not EventKind.DELETE])


# -- in memory


class PrefixWithoutBoundary(MemoryStore):
    def _within(self, tenant: Tenant, plane: Plane, within: Namespace) -> Iterator[Version]:
        for address, versions in tenant.versions.items():
            if address.plane is plane and address.namespace.encoded.startswith(within.encoded):
                yield from versions


class FoldedCase(MemoryStore):
    def _within(self, tenant: Tenant, plane: Plane, within: Namespace) -> Iterator[Version]:
        wanted = tuple(segment.lower() for segment in within.segments)
        for address, versions in tenant.versions.items():
            found = tuple(segment.lower() for segment in address.namespace.segments)
            if address.plane is plane and found[: len(wanted)] == wanted:
                yield from versions


class CommitOnError(MemoryStore):
    async def commit(self, commit: Commit) -> Receipt:
        try:
            return await super().commit(commit)
        except RecollectError:
            if len(commit.operations) > 1:
                await super().commit(first_alone(commit))
            raise


class LostEvent(MemoryStore):
    def _carry_out(self, tenant: Tenant, plan: Plan) -> None:
        super()._carry_out(tenant, without_deletes(plan))


class NothingUnique(MemoryStore):
    def _insert(self, tenant: Tenant, version: Version) -> None:
        tenant.versions.setdefault(version.address, []).append(version)
        tenant.by_id[version.id] = version


class UnconditionalMark(MemoryStore):
    def _mark(self, stored: Tenant, mark: Mark) -> bool:
        if mark.id not in stored.by_id:
            return False
        stored.by_id[mark.id].index_state = IndexState.DONE
        return True


class CursorByTime(MemoryStore):
    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        stored = self._tenant(tenant)
        check_reach(query.after, stored.head)
        told = sorted(stored.log, key=lambda event: (event.at, event.row_id))
        places = {event.sequence: place for place, event in enumerate(told, 1)}
        rest = [event for event in told[places.get(query.after, 0) :] if selects(query, event)]
        page, end = rest[: query.limit], stored.head.sequence
        entries = [Entry(event, self._row_of(tenant, stored, event.row_id, query)) for event in page]
        return EventPage(entries, page[-1].sequence if len(rest) > query.limit else end, end)

    def _row_of(self, tenant: str, stored: Tenant, row_id: bytes, query: EventQuery) -> Any:
        version = stored.by_id.get(row_id) if query.values else None
        return None if version is None else self._opened(tenant, version)


class ArchivedShown(MemoryStore):
    async def find(self, tenant: str, query: Find) -> Page:
        return await super().find(tenant, replace(query, archived=Archived.INCLUDE))


class UnfilteredNamespaces(MemoryStore):
    async def namespaces(self, tenant: str, query: NamespaceQuery) -> Sequence[tuple[str, ...]]:
        return await super().namespaces(tenant, replace(query, filter=EVERYTHING))


class EventsFilteredLate(MemoryStore):
    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        if not query.filter:
            return await super().events(tenant, query)
        return filtered_late(await super().events(tenant, replace(query, filter=EVERYTHING, values=True)), query)


class LostMoment(MemoryStore):
    async def commit(self, commit: Commit) -> Receipt:
        return await super().commit(happening_now(commit))


class RelabelledBlindly(MemoryStore):
    async def commit(self, commit: Commit) -> Receipt:
        return await super().commit(relabelling_whatever_is_there(commit, self._tenant(commit.tenant).newest))


class Credulous(Tenant):
    def pinned(self, row_id: bytes) -> Pinned | None:
        return vouched_for(super().pinned(row_id))


class AlteredPinnedAnew(MemoryStore):
    async def commit(self, commit: Commit) -> Receipt:
        self._tenants.setdefault(commit.tenant, Credulous())
        return await super().commit(commit)


class IndexNotTold(MemoryStore):
    def _label(self, tenant: Tenant, version: Version, label: Label) -> None:
        super()._label(tenant, version, msgspec.structs.replace(label, index_state=version.index_state))


class MarkOfAnyAttributes(MemoryStore):
    def _mark(self, stored: Tenant, mark: Mark) -> bool:
        version = stored.by_id.get(mark.id)
        return super()._mark(stored, replace(mark, pinned_sequence=version.pinned_sequence if version else None))


class StampOfOneTenant(MemoryStore):
    def stamp(self) -> object:
        return self._tenant("acme").head


IN_MEMORY: dict[str, type[MemoryStore]] = {
    "prefix without boundary": PrefixWithoutBoundary,
    "case folding": FoldedCase,
    "commit on error": CommitOnError,
    "lost event": LostEvent,
    "missing unique index": NothingUnique,
    "unconditional index mark": UnconditionalMark,
    "event cursor by time": CursorByTime,
    "archived rows found": ArchivedShown,
    "namespaces unfiltered": UnfilteredNamespaces,
    "events filtered after the page": EventsFilteredLate,
    "lost moment of an import": LostMoment,
    "stamp that misses changes": StampOfOneTenant,
    "relabelled whatever is live": RelabelledBlindly,
    "altered version pinned anew": AlteredPinnedAnew,
    "index not told of attributes": IndexNotTold,
    "mark of older attributes": MarkOfAnyAttributes,
}


# -- SQLite


def plant_prefix_without_boundary(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reads, "subtree_range", lambda within: (within.encoded, within.encoded + "\x7f"))


def plant_case_folding(patch: pytest.MonkeyPatch) -> None:
    honest = reads._find_sql

    def folded(tenant: str, query: Find, now: Instant) -> tuple[str, list[object]]:
        sql, bindings = honest(tenant, query, now)
        low, high = commits.subtree_range(query.within)
        like = f"{low}\x1e%" if low else "%"
        sql = sql.replace("namespace >= ? AND namespace < ?", "(namespace LIKE ? OR namespace LIKE ?)")
        return sql, [like if bound == high else bound for bound in bindings]

    patch.setattr(reads, "_find_sql", folded)


def plant_commit_on_error(patch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit

    def careless(group: Group, commit: Commit, **rest: Any) -> Receipt:
        try:
            return honest(group, commit, **rest)
        except RecollectError:
            if len(commit.operations) > 1:
                honest(group, first_alone(commit), **rest)
            raise

    patch.setattr(commits, "apply_commit", careless)


def plant_lost_event(patch: pytest.MonkeyPatch) -> None:
    honest = commits.write_plan
    patch.setattr(commits, "write_plan", lambda group, tenant, plan: honest(group, tenant, without_deletes(plan)))


def plant_missing_unique_index(patch: pytest.MonkeyPatch) -> None:
    unique = "CREATE UNIQUE INDEX versions_live"
    assert unique in schema.MIGRATIONS[0]
    loose = tuple(step.replace(unique, "CREATE INDEX versions_live") for step in schema.MIGRATIONS)
    patch.setattr(sqlite_store, "migrate", lambda db: schema.migrate(db, loose))


def plant_unconditional_mark(patch: pytest.MonkeyPatch) -> None:
    def mark(group: Group, tenant: str, marks: Sequence[Mark]) -> int:
        done = 0
        for each in marks:
            sql = "UPDATE versions SET index_state = 'done' WHERE tenant = ? AND id = ?"
            group.db.execute(sql, (tenant, each.id))
            done += group.db.changes()
        return done

    patch.setattr(upkeep, "mark_indexed", mark)


def plant_cursor_by_time(patch: pytest.MonkeyPatch) -> None:
    honest = log._events_sql

    def by_time(tenant: str, query: EventQuery) -> tuple[str, list[object]]:
        sql, bindings = honest(tenant, query)
        beyond = "(e.at, e.row_id) > (SELECT at, row_id FROM events WHERE tenant = ? AND sequence = ?)"
        if query.after:
            sql = sql.replace("e.tenant = ? AND e.sequence > ?", f"e.tenant = ? AND {beyond}")
            bindings = [tenant, *bindings]
        return sql.replace("ORDER BY e.sequence", "ORDER BY e.at, e.row_id"), bindings

    assert "ORDER BY e.sequence" in honest("t", EventQuery())[0]
    assert "e.tenant = ? AND e.sequence > ?" in honest("t", EventQuery())[0]
    patch.setattr(log, "_events_sql", by_time)


def plant_archived_shown(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reads, "_SHOWN", dict.fromkeys(Archived, ""))


def plant_unfiltered_namespaces(patch: pytest.MonkeyPatch) -> None:
    honest = reads.namespaces

    def listed(db: apsw.Connection, tenant: str, query: NamespaceQuery, now: Instant) -> Sequence[tuple[str, ...]]:
        return honest(db, tenant, replace(query, filter=EVERYTHING), now)

    patch.setattr(reads, "namespaces", listed)


def plant_events_filtered_late(patch: pytest.MonkeyPatch) -> None:
    honest = log.events

    def late(db: apsw.Connection, reader: reads.Reader, tenant: str, query: EventQuery) -> EventPage:
        if not query.filter:
            return honest(db, reader, tenant, query)
        return filtered_late(honest(db, reader, tenant, replace(query, filter=EVERYTHING, values=True)), query)

    patch.setattr(log, "events", late)


def plant_lost_moment(patch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit
    patch.setattr(commits, "apply_commit", lambda group, commit, **rest: honest(group, happening_now(commit), **rest))


def plant_stamp_of_one_instance(patch: pytest.MonkeyPatch) -> None:
    """What a store that counts its own commits would say: others' are not among them."""
    patch.setattr(SqliteStore, "stamp", lambda store: store._writer.db.total_changes())


def plant_relabelled_blindly(patch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit

    def blind(group: Group, commit: Commit, **rest: Any) -> Receipt:
        seen = relabelling_whatever_is_there(commit, lambda place: commits.newest(group.db, commit.tenant, place))
        return honest(group, seen, **rest)

    patch.setattr(commits, "apply_commit", blind)


def plant_altered_pinned_anew(patch: pytest.MonkeyPatch) -> None:
    honest = commits.pinned
    patch.setattr(commits, "pinned", lambda db, row_id: vouched_for(honest(db, row_id)))


def plant_index_not_told(patch: pytest.MonkeyPatch) -> None:
    assert ", index_state = ?4" in commits._LABEL
    patch.setattr(commits, "_LABEL", commits._LABEL.replace(", index_state = ?4", "") + " AND ?4 IS NOT NULL")


def plant_mark_of_any_attributes(patch: pytest.MonkeyPatch) -> None:
    def mark(group: Group, tenant: str, marks: Sequence[Mark]) -> int:
        done = 0
        for each in marks:
            sql = "UPDATE versions SET index_state = 'done' WHERE tenant = ? AND id = ? AND index_state = 'pending' "
            group.db.execute(sql + "AND (ended_at IS NULL) = ?", (tenant, each.id, each.live))
            done += group.db.changes()
        return done

    patch.setattr(upkeep, "mark_indexed", mark)


IN_SQLITE: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "prefix without boundary": plant_prefix_without_boundary,
    "case folding": plant_case_folding,
    "commit on error": plant_commit_on_error,
    "lost event": plant_lost_event,
    "missing unique index": plant_missing_unique_index,
    "unconditional index mark": plant_unconditional_mark,
    "event cursor by time": plant_cursor_by_time,
    "archived rows found": plant_archived_shown,
    "namespaces unfiltered": plant_unfiltered_namespaces,
    "events filtered after the page": plant_events_filtered_late,
    "lost moment of an import": plant_lost_moment,
    "stamp that misses changes": plant_stamp_of_one_instance,
    "relabelled whatever is live": plant_relabelled_blindly,
    "altered version pinned anew": plant_altered_pinned_anew,
    "index not told of attributes": plant_index_not_told,
    "mark of older attributes": plant_mark_of_any_attributes,
}

EXPECTED = {
    "prefix without boundary": "S14",
    "case folding": "S14",
    "commit on error": "S1",
    "lost event": "S25",
    "missing unique index": "S2",
    "unconditional index mark": "S37",
    "event cursor by time": "S26",
    "archived rows found": "S45",
    "namespaces unfiltered": "S22",
    "events filtered after the page": "S27",
    "lost moment of an import": "S46",
    "stamp that misses changes": "S47",
    "relabelled whatever is live": "S49",
    "altered version pinned anew": "S50",
    "index not told of attributes": "S49",
    "mark of older attributes": "S37",
}
"""The clause that each fault breaks, and whose checks must notice."""


# -- the trials


def in_memory(folder: Path, make: type[MemoryStore] = MemoryStore) -> MakeTrial:
    fresh = fresh_folders(folder)
    return lambda: memory_trial(fresh(), make)


def in_sqlite(folder: Path) -> MakeTrial:
    fresh = fresh_folders(folder)
    return lambda: sqlite_trial(fresh(), encrypted=False)


async def caught(fault: str, make_trial: MakeTrial) -> dict[str, Exception]:
    """Those checks of the very clause that the fault breaks which failed; on the honest backend none does."""
    found = await failures(make_trial, [check for check in CHECKS if EXPECTED[fault] in check.clauses])
    for name, problem in found.items():
        print(f"{fault}: caught by {name} ({type(problem).__name__})")
    return found


@pytest.mark.parametrize("fault", IN_MEMORY)
async def test_a_fault_planted_in_memory_is_caught(fault: str, tmp_path: Path) -> None:
    assert await caught(fault, in_memory(tmp_path, IN_MEMORY[fault]))


@pytest.mark.parametrize("fault", IN_SQLITE)
async def test_a_fault_planted_in_sqlite_is_caught(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    IN_SQLITE[fault](monkeypatch)
    assert await caught(fault, in_sqlite(tmp_path))


def test_the_same_faults_are_planted_in_both() -> None:
    assert set(IN_MEMORY) == set(IN_SQLITE) == set(EXPECTED)


async def test_the_honest_memory_store_has_no_failures(tmp_path: Path) -> None:
    assert await failures(in_memory(tmp_path)) == {}


async def test_the_honest_sqlite_store_has_no_failures(tmp_path: Path) -> None:
    assert await failures(in_sqlite(tmp_path)) == {}


async def test_a_check_that_raises_is_reported_and_the_others_still_run(tmp_path: Path) -> None:
    class Broken(SqliteStore):
        async def tenants(self) -> Sequence[str]:
            raise apsw.Error("planted")

    fresh = fresh_folders(tmp_path)
    some = [check for check in CHECKS if set(check.clauses) & {"S43", "S44", "S9"}]
    found = await failures(lambda: sqlite_trial(fresh(), encrypted=False, make=Broken), some)
    assert isinstance(found["tenants_are_those_that_have_ever_written_sorted"], apsw.Error)
    assert "deleting_what_is_not_there_changes_nothing" not in found
