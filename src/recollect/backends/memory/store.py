"""The in-memory reference store: every promise kept in the plainest way, by the domain's own functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from recollect.backends.memory.alone import alone
from recollect.backends.memory.copying import Copyable
from recollect.backends.memory.shelf import Tenant, beyond, is_due, sort_key
from recollect.domain.address import ROOT, Address, Namespace, in_subtree, subject_of
from recollect.domain.attributes import stored_attributes
from recollect.domain.commits import Commit, Receipt, checked_commit
from recollect.domain.errors import IdempotencyMismatch, KeyErased, LeaseLost, StoreClosed, StoreCorrupt
from recollect.domain.events import Entry, Event, Head
from recollect.domain.filters import matches
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.planning import (
    ATTRIBUTES,
    VALUE,
    Ending,
    Erased,
    Erasure,
    Label,
    Plan,
    Version,
    addresses_of,
    after,
    empty_version,
    erase_version,
    expire_commit,
    plan_commit,
    plan_erasure,
)
from recollect.domain.queries import (
    EventPage,
    EventQuery,
    Find,
    NamespaceQuery,
    Order,
    Page,
    check_reach,
    concerns,
    find_cursor,
    matches_patterns,
    parse_find_cursor,
    selects,
    shows,
)
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention, Swept, cutoff, due_before
from recollect.domain.rows import Row, is_expired
from recollect.domain.verification import Kept as Extent
from recollect.domain.verification import LogChecker
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Sealer, erasure_of
from recollect.ports.signals import Signal
from recollect.ports.store import (
    Lease,
    Progress,
    Result,
    Verification,
)


class MemoryStore(Copyable):
    """Rows and log in plain Python structures. Nothing awaits, so it serves both kinds of caller."""

    def __init__(self, *, clock: Clock, ids: Ids, sealer: Sealer, direct: bool = False) -> None:
        self._clock = clock
        self._ids = ids
        self._sealer = sealer
        self._tenants: dict[str, Tenant] = {}
        self._leases: dict[str, Lease] = {}
        self._fences: dict[str, int] = {}
        self._commits = 0
        self._closed = False
        self.direct = direct
        self._lock = threading.RLock()
        self._signal = Signal(blocking=direct)

    # -- writing

    @alone
    async def commit(self, commit: Commit) -> Receipt:
        """Decide the commit and carry the plan out."""
        checked_commit(commit)
        tenant = self._tenants.setdefault(commit.tenant, Tenant())
        now = self._clock()
        if commit.idempotency is not None:
            known = tenant.receipts.get(commit.idempotency.lookup)
            if known is not None:
                if known[0] != commit.idempotency.fingerprint:
                    raise IdempotencyMismatch("this idempotency key was used for a different request")
                return Receipt(known[1].outcomes, known[1].head, replayed=True)
        for destruction in self._sealer.refresh():
            self._empty_subject(erasure_of(destruction))
        self._sealer.prepare((commit.tenant, subject_of(address.namespace)) for address in addresses_of(commit))
        plan = plan_commit(
            commit,
            head=tenant.head,
            newest=tenant.newest,
            pinned=tenant.pinned,
            changed_since=lambda plane, within, since: self._changed_since(tenant, plane, within, since),
            now=now,
            new_id=self._ids,
            seal=self._sealer.seal,
        )
        self._carry_out(tenant, plan)
        if commit.idempotency is not None:
            tenant.receipts[commit.idempotency.lookup] = (commit.idempotency.fingerprint, plan.receipt, now)
        self._signal.notify()
        return plan.receipt

    def _carry_out(self, tenant: Tenant, plan: Plan) -> None:
        for label in plan.labels:
            self._label(tenant, tenant.by_id[label.id], label)
        for ending in plan.endings:
            self._end(tenant, tenant.by_id[ending.id], ending)
        for version in plan.versions:
            self._insert(tenant, version)
        tenant.log.extend(plan.events)
        tenant.head = plan.head
        self._commits += 1

    def _label(self, tenant: Tenant, version: Version, label: Label) -> None:
        version.policy_attributes, version.pinned_sequence = label.policy_attributes, label.sequence
        version.index_state = label.index_state
        tenant.index.waiting.pop(version.id, None)

    def _end(self, tenant: Tenant, version: Version, ending: Ending) -> None:
        version.ended_at, version.end_reason = ending.at, ending.reason
        version.ended_sequence, version.index_state = ending.sequence, ending.index_state
        tenant.index.waiting.pop(version.id, None)

    def _insert(self, tenant: Tenant, version: Version) -> None:
        versions = tenant.versions.get(version.address)
        if versions is None:
            versions = tenant.versions[version.address] = []
        if version.ended_at is None and any(other.ended_at is None for other in versions):
            raise StoreCorrupt(f"{version.address.namespace} · {version.address.key} would have two live versions")
        versions.append(version)
        tenant.by_id[version.id] = version

    def _changed_since(self, tenant: Tenant, plane: Plane, within: Namespace, since: int) -> bool:
        return any(concerns(event, plane, within) for event in tenant.log[max(0, since - tenant.head.trimmed) :])

    # -- reading

    @alone
    async def get(self, tenant: str, address: Address, *, as_of: Instant | None = None) -> Row | None:
        """The live version, or the one that was live."""
        versions = self._tenant(tenant).versions.get(address, [])
        now = self._clock()
        for version in reversed(versions):
            row = self._visible(tenant, version, now, as_of)
            if row is not None:
                return row
        return None

    def _visible(self, tenant: str, version: Version, now: Instant, as_of: Instant | None) -> Row | None:
        if as_of is None:
            seen = version.ended_at is None and not is_expired(version.expires_at, now)
        else:
            seen = (
                version.value is not None
                and version.written_at <= as_of
                and (version.ended_at is None or as_of < version.ended_at)
                and not is_expired(version.expires_at, as_of)
            )
        row = self._opened(tenant, version) if seen else None
        return None if row is None or row.value is None else row

    @alone
    async def get_by_id(self, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        version = self._tenant(tenant).by_id.get(row_id)
        return None if version is None else self._opened(tenant, version)

    @alone
    async def find(self, tenant: str, query: Find) -> Page:
        """Live rows in a scope, sorted and cut."""
        now = self._clock()
        found = [
            row
            for version in self._within(self._tenant(tenant), query.plane, query.within)
            if shows(query.archived, archived=version.archived)
            and matches(query.filter, stored_attributes(version.policy_attributes))
            and (row := self._visible(tenant, version, now, query.as_of)) is not None
        ]
        found.sort(key=sort_key(query.order), reverse=query.order is Order.NEWEST)
        if query.cursor is not None:
            found = beyond(found, parse_find_cursor(query.cursor, query.order), query.order)
        page = found[query.offset : query.offset + query.limit]
        more = len(found) > query.offset + query.limit
        return Page(page, find_cursor(query.order, page[-1]) if more else None)

    def _within(self, tenant: Tenant, plane: Plane, within: Namespace) -> Iterator[Version]:
        for address, versions in tenant.versions.items():
            if address.plane is plane and in_subtree(within.encoded, address.namespace.encoded):
                yield from versions

    @alone
    async def history(
        self, tenant: str, address: Address, *, limit: int = 100, before: int | None = None
    ) -> Sequence[Row]:
        """Every kept version, newest first."""
        kept = self._tenant(tenant).versions.get(address, [])
        older = [version for version in reversed(kept) if before is None or version.revision < before]
        return [self._opened(tenant, version) for version in older[:limit]]

    @alone
    async def namespaces(self, tenant: str, query: NamespaceQuery) -> Sequence[tuple[str, ...]]:
        """Namespaces with a live row."""
        now = self._clock()
        live = {
            version.address.namespace
            for version in self._within(self._tenant(tenant), query.plane, query.within)
            if version.ended_at is None
            and not is_expired(version.expires_at, now)
            and shows(query.archived, archived=version.archived)
            and matches(query.filter, stored_attributes(version.policy_attributes))
        }
        chosen = {
            namespace if query.max_depth is None else namespace.truncated(query.max_depth)
            for namespace in live
            if matches_patterns(namespace.segments, query.prefix, query.suffix)
        }
        ordered = sorted(chosen, key=lambda namespace: namespace.encoded)
        return [namespace.segments for namespace in ordered[query.offset : query.offset + query.limit]]

    @alone
    async def count(self, tenant: str, plane: Plane) -> int:
        """How many live rows a plane has."""
        now, versions = self._clock(), self._within(self._tenant(tenant), plane, ROOT)
        return sum(each.ended_at is None and not is_expired(each.expires_at, now) for each in versions)

    @alone
    async def tenants(self) -> Sequence[str]:
        """Who has ever written."""
        return sorted(name for name, tenant in self._tenants.items() if tenant.head.sequence)

    def stamp(self) -> object:
        """How many changes there were."""
        self._check_open()
        return self._commits

    # -- the log

    @alone
    async def head(self, tenant: str) -> Head:
        """Where the log ends."""
        return self._tenant(tenant).head

    @alone
    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        """A page of the log."""
        stored = self._tenant(tenant)
        head = stored.head
        check_reach(query.after, head)
        chosen = [
            event
            for event in stored.log[query.after - head.trimmed :]
            if selects(query, event, stored.attributes_of(event) if query.filter else None)
        ]
        entries = [self._entry(tenant, stored, event, values=query.values) for event in chosen[: query.limit]]
        if len(chosen) > query.limit:
            return EventPage(entries, entries[-1].event.sequence, head.sequence)
        return EventPage(entries, head.sequence, head.sequence)

    def _entry(self, tenant: str, stored: Tenant, event: Event, *, values: bool) -> Entry:
        opened = values and event.kind in (EventKind.ADD, EventKind.UPDATE)
        version = stored.by_id.get(event.row_id) if opened else None
        return Entry(event, None if version is None else self._opened(tenant, version))

    async def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait until the log has grown."""
        self._check_open()
        until = time.monotonic() + seconds
        with self._signal.listen() as listener:
            while self._tenant(tenant).head.sequence <= after:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                await listener.wait(left)
        return True

    @alone
    async def verify(
        self, tenant: str, *, expected: tuple[int, bytes] | None = None, progress: Progress | None = None
    ) -> Verification:
        """Check the whole log."""
        stored = self._tenant(tenant)
        checker = LogChecker(stored.head, expected)
        at = {event.sequence: event for event in stored.log}
        for event in stored.log:
            checker.event(event, stored.kept.get(event.sequence, Extent.WHOLE), stored.by_id.get(event.row_id))
        for versions in stored.versions.values():
            for version in versions:
                opened, ended = at.get(version.sequence), at.get(version.ended_sequence or 0)
                checker.version(version, opened, ended, versions[-1].revision, at.get(version.pinned_sequence or 0))
        if progress is not None:
            progress(checker.events, checker.events)
        return Verification(stored.head, checker.events, checker.versions, checker.finish())

    # -- upkeep

    @alone
    async def sweep(self, tenant: str, step: Pass, retention: Retention, *, limit: int = 100) -> Swept:
        """One batch of one pass."""
        stored = self._tenant(tenant)
        now = self._clock()
        if step is Pass.EXPIRE:
            return await self._expire(tenant, stored, now, limit)
        if step is Pass.TRIM:
            return self._trim(stored, retention, now, limit)
        before = due_before(step, retention, now)
        due = [version for version in stored.by_id.values() if is_due(version, step, before)]
        if step is Pass.PURGE:
            due = [version for version in due if self._oldest_first(stored, version, before)]
        due.sort(key=lambda version: (version.ended_at, version.sequence))
        self._commits += 1
        for version in due[:limit]:
            if step is Pass.PURGE:
                self._purge(stored, version)
            else:
                self._empty(stored, version)
        return Swept(len(due[:limit]), len(due) > limit)

    def _oldest_first(self, stored: Tenant, version: Version, before: Instant | None) -> bool:
        """True when every older version of the key is due as well."""
        older = stored.versions[version.address]
        return all(is_due(each, Pass.PURGE, before) for each in older[: older.index(version)])

    async def _expire(self, tenant: str, stored: Tenant, now: Instant, limit: int) -> Swept:
        due = [
            version
            for version in stored.by_id.values()
            if version.ended_at is None and is_expired(version.expires_at, now)
        ]
        due.sort(key=lambda version: (version.expires_at, version.sequence))
        if due:
            await self.commit(expire_commit(tenant, [version.address for version in due[:limit]]))
        return Swept(len(due[:limit]), len(due) > limit)

    def _empty(self, stored: Tenant, version: Version) -> None:
        empty_version(version)
        stored.kept[version.sequence] = Extent.EMPTIED

    def _purge(self, stored: Tenant, version: Version) -> None:
        stored.versions[version.address].remove(version)
        if not stored.versions[version.address]:
            del stored.versions[version.address]
        del stored.by_id[version.id]
        stored.index.forget(version.id)
        stored.kept[version.sequence] = Extent.PURGED

    def _trim(self, stored: Tenant, retention: Retention, now: Instant, limit: int) -> Swept:
        self._commits += 1
        done = 0
        old = cutoff(now, retention.receipts)
        if old is not None:
            for lookup in [key for key, (_, _, at) in stored.receipts.items() if at <= old][:limit]:
                del stored.receipts[lookup]
                done += 1
        old = cutoff(now, retention.events)
        cut = 0
        while old is not None and cut < min(limit, len(stored.log) - 1) and stored.log[cut].at <= old:
            cut += 1
        if cut:
            last = stored.log[cut - 1]
            del stored.log[:cut]
            stored.head = Head(stored.head.sequence, stored.head.hash, last.sequence, last.hash)
        return Swept(done + cut, done == limit or cut == limit)

    @alone
    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or prolong a lease."""
        self._commits += 1
        now = self._clock()
        held = self._leases.get(name)
        if held is not None and held.holder != holder and held.expires_at > now:
            return None
        mine = held is not None and held.holder == holder and held.expires_at > now
        fence = held.fence if held is not None and mine else self._fences.get(name, 0) + 1
        self._fences[name] = fence
        self._leases[name] = Lease(name, holder, fence, after_seconds(now, seconds))
        return self._leases[name]

    @alone
    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Prolong a lease that is still held."""
        self._held(lease)
        self._leases[lease.name] = Lease(lease.name, lease.holder, lease.fence, after_seconds(self._clock(), seconds))
        return self._leases[lease.name]

    @alone
    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        self._held(lease)
        del self._leases[lease.name]

    def _held(self, lease: Lease) -> None:
        self._check_open()
        self._commits += 1
        held = self._leases.get(lease.name)
        if held is None or held.fence != lease.fence or held.expires_at <= self._clock():
            raise LeaseLost(f"the lease {lease.name!r} is no longer held by {lease.holder!r}")

    @alone
    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject, once."""
        erased = self._empty_subject(erasure)
        self._signal.notify()
        return erased

    def _empty_subject(self, erasure: Erasure) -> Erased:
        stored = self._tenants.setdefault(erasure.tenant, Tenant())
        if erasure.id in stored.erasures:
            return stored.erasures[erasure.id]
        mine = [
            version
            for version in stored.by_id.values()
            if in_subtree(erasure.namespace.encoded, version.address.namespace.encoded)
        ]
        live = sum(version.ended_at is None for version in mine)
        event, erased = plan_erasure(erasure, head=stored.head, versions=len(mine), live=live, now=self._clock())
        for version in mine:
            erase_version(version, event)
            stored.index.drop(version)
            stored.index.waiting.pop(version.id, None)
            stored.kept[version.sequence] = Extent.EMPTIED
        stored.log.append(event)
        stored.head = after(stored.head, event)
        stored.erasures[erasure.id] = erased
        self._commits += 1
        return erased

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Run it here: nothing of this store is worth a thread."""
        self._check_open()
        return work()

    async def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    # -- inner

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store was closed")

    def _tenant(self, name: str) -> Tenant:
        return self._tenants.get(name) or Tenant()

    def _opened(self, tenant: str, version: Version) -> Row:
        try:
            opened = [
                None
                if sealed is None
                else self._sealer.open(tenant, version.address, version.id, version.revision, name, sealed)
                for name, sealed in ((VALUE, version.value), (ATTRIBUTES, version.attributes))
            ]
        except KeyErased:
            opened = [None, None]
        return Row(
            tenant,
            version.address,
            version.id,
            version.revision,
            version.sequence,
            opened[0],
            opened[1],
            version.policy_attributes,
            version.created_at,
            version.written_at,
            version.expires_at,
            version.ended_at,
            version.end_reason,
            version.index_state,
            version.archived,
            version.index_fields,
        )
