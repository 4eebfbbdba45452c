"""Administration: everything about memories that is not a memory: keys, policies, the audit, and upkeep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from recollect.domain.address import DEPTH_CEILING, checked_key, namespace_of_subject, scope
from recollect.domain.callers import Action, Caller, new_caller
from recollect.domain.commits import Commit, Delete, checked_actor
from recollect.domain.errors import (
    InvalidCaller,
    InvalidQuery,
    InvalidRequest,
    NotFound,
    RevisionConflict,
    VectorsUnavailable,
)
from recollect.domain.filters import parse_filter
from recollect.domain.instants import datetime_of
from recollect.domain.planning import Erasure
from recollect.domain.queries import checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.values import encode_value
from recollect.ports.keys import erasure_of
from recollect.ports.policy import Explanation, Question, Report
from recollect.ports.store import Progress, Verification
from recollect.service.audit import Audited, AuditPage, checked_justification
from recollect.service.policies import PolicyInForce, Simulation
from recollect.service.reading import read_head, read_path
from recollect.service.sweeping import sweep
from recollect.service.tokens import NewToken, Token
from recollect.service.transfer import ExportPage, Imported
from recollect.service.tuning import Tuned
from recollect.service.views import ErasureReceipt, IndexStatus, Rebuilding, Sweep, Written
from recollect.service.workings import Workings


class Administration:
    """What administrators, auditors and operators do, in the name of one of them."""

    def __init__(self, workings: Workings, caller: Caller) -> None:
        self._workings = workings
        self._store = workings.store
        self._guard = workings.guard
        self._rules = workings.rules
        self._caller = caller
        self._tenant = caller.tenant
        self._actor = checked_actor(caller.actor)

    @property
    def workings(self) -> Workings:
        """What the memories of all callers have in common."""
        return self._workings

    # -- forgetting and keeping

    async def erase(self, subject: str) -> ErasureReceipt:
        """Make everything of a subject (`user:<id>`) unreadable for good, in every version, copy and backup."""
        self._guard.permit(self._caller, Action.ERASE)
        now = self._workings.clock()
        erasure = Erasure(self._workings.ids(now), self._tenant, subject, namespace_of_subject(subject), self._actor)
        await self._store.aside(lambda: self._workings.keyring.destroy(erasure))
        erased = await self._store.erase(erasure)
        await self._store.aside(lambda: self._workings.keyring.settle(erasure.id))
        self._workings.usage.forget(self._tenant, erasure.namespace)
        await self._workings.decisions.forget(self._tenant, erasure.namespace.segments[1])
        await self._workings.remembering.forget(self._tenant, erasure.namespace.segments[1])
        with suppress(VectorsUnavailable):  # it follows as soon as it is back
            await self._workings.searching.follow(self._tenant)
        return ErasureReceipt.of(erased)

    async def finish_erasures(self, *, everything: bool = False) -> int:
        """Carry through erasures that a crash interrupted; after a restore, `everything` that was ever erased."""
        gone = await self._store.aside(lambda: self._workings.keyring.destructions(unsettled=not everything))
        for each in gone:
            await self._store.erase(erasure_of(each))
            await self._store.aside(partial(self._workings.keyring.settle, each.id))
        return len(gone)

    async def sweep(self, *, batch: int = 100) -> Sweep:
        """Expire, evict, tombstone, purge and trim what is due, in batches, and say how much."""
        self._guard.permit(self._caller, Action.SWEEP)
        most = checked_limit(batch)
        done = await sweep(self._store, self._workings.indexing, self._tenant, self._rules.retention, most)
        await self._workings.usage.tidy(self._tenant, everything=True)
        return done

    async def rotate_keys(self) -> int:
        """Wrap every data key with a new master key; values stay as they are. Returns how many keys changed."""
        self._guard.permit(self._caller, Action.ROTATE)
        return await self._store.aside(self._workings.keyring.rotate)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the data to a new file. Keys are not in it: keep those apart."""
        self._guard.permit(self._caller, Action.BACKUP)
        await self._store.backup(read_path(target), progress)

    async def head(self) -> str:
        """Where the log ends, as text to keep elsewhere: given to `verify` later, it proves nothing was cut off."""
        self._guard.permit(self._caller, Action.VERIFY)
        return (await self._store.head(self._tenant)).text()

    async def verify(self, *, head: str | None = None, progress: Progress | None = None) -> Verification:
        """Check that nothing was altered, removed, swapped or cut off, in the log or in what it tells of."""
        self._guard.permit(self._caller, Action.VERIFY)
        expected = read_head(head)
        return await self._store.verify(self._tenant, expected=expected, progress=progress)

    # -- API keys, and moving elsewhere

    async def create_token(
        self,
        user_id: str,
        *,
        client_id: str = "",
        name: str = "",
        roles: Iterable[str] = (),
        scopes: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
    ) -> NewToken:
        """Make an API key for a user. Its secret is in the answer and nowhere else."""
        return await self._workings.tokens.create(
            self._caller,
            user_id,
            client_id=client_id,
            name=name,
            roles=roles,
            scopes=scopes,
            expires_at=expires_at,
            tenant=tenant,
        )

    async def list_tokens(self, *, tenant: str | None = None) -> list[Token]:
        """Every API key of the tenant, revoked and expired ones included."""
        return await self._workings.tokens.list(self._caller, tenant=tenant)

    async def revoke_token(self, token_id: str) -> Token:
        """Refuse an API key from now on, in every process."""
        return await self._workings.tokens.revoke(self._caller, token_id)

    async def export_page(self, cursor: str | None = None, *, limit: int = 500) -> ExportPage:
        """A page of all items with their history, in the order in which it happened."""
        return await self._workings.transfer.export_page(self._caller, cursor, limit=limit)

    async def import_progress(self, source: str) -> int:
        """Up to which entry of an export everything is here; 0 when nothing is."""
        return await self._workings.transfer.import_progress(self._caller, source)

    async def import_page(self, source: str, entries: Sequence[dict[str, Any]]) -> Imported:
        """Take over a page of an export; what is here already is skipped."""
        return await self._workings.transfer.import_page(self._caller, source, entries)

    # -- policies

    async def show_policy(self, *, service: bool = False) -> PolicyInForce:
        """The policy in force in the tenant, or that of the service, and the versions before it."""
        return await self._workings.policies.show(self._caller, service=service)

    async def check_policy(self, modules: Mapping[str, str]) -> Report:
        """What there is to say against a bundle of Rego modules, without putting it in force."""
        return await self._workings.policies.check(self._caller, modules)

    async def push_policy(self, modules: Mapping[str, str], *, note: str = "", service: bool = False) -> PolicyInForce:
        """Put a bundle in force, once its tests pass and it denies what every policy must; else all stays as it is."""
        return await self._workings.policies.push(self._caller, modules, note=note, service=service)

    async def rollback_policy(self, number: int | None = None, *, service: bool = False) -> PolicyInForce:
        """Put an earlier version in force again: the one before, or the one named; 0 is the policy of the service."""
        return await self._workings.policies.rollback(self._caller, number, service=service)

    async def explain_policy(
        self,
        action: str,
        namespace: Sequence[str],
        key: str = "",
        *,
        user_id: str,
        client_id: str = "",
        roles: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        value: Mapping[str, Any] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        modules: Mapping[str, str] | None = None,
    ) -> Explanation:
        """Why such a caller may or may not read, write or delete a memory, or what of a `search` they would see.

        With `modules`, as that bundle would decide.
        """
        search = action == "search"
        if not search and action not in (Action.READ, Action.WRITE, Action.DELETE):
            raise InvalidRequest("an action is read, write, delete or search")
        place = scope(namespace, DEPTH_CEILING).segments
        if value is not None:
            encode_value(value)
        if claims is not None:
            encode_value(claims, "claims", InvalidCaller)
        parse_filter(filter)
        caller = new_caller(self._tenant, user_id, client_id, roles, None, claims, "hypothetical")
        asked = Action.READ if search else Action(action)
        question = Question(caller, asked, place, checked_key(key) if key else "", value, filter, search)
        return await self._workings.policies.explain(self._caller, question, modules)

    async def simulate_policy(self, modules: Mapping[str, str]) -> Simulation:
        """Which of the decisions that were asked for lately a bundle would change, before it is put in force."""
        return await self._workings.policies.simulate(self._caller, modules)

    # -- the audit, and what administrators do with other people's memories

    async def list_audit(
        self, *, action: str | None = None, limit: int = 50, cursor: str | None = None, service: bool = False
    ) -> AuditPage:
        """What administrators did, newest first; with `service`, what concerns the service itself."""
        listed = self._workings.audit.list
        return await listed(self._caller, action=action, limit=limit, cursor=cursor, service=service)

    async def force_delete(self, item_id: UUID, *, justification: str) -> Written:
        """Delete a memory by the id of its live version, whoever's it is; that, and why, is written down."""
        self._guard.permit(self._caller, Action.FORCE_DELETE)
        why = checked_justification(justification)
        if not isinstance(item_id, UUID):
            raise InvalidQuery(f"an id is a UUID, not {type(item_id).__name__}")
        row = await self._store.get_by_id(self._tenant, item_id.bytes)
        if row is None or row.address.plane is not Plane.ITEM or row.ended_at is not None:
            raise NotFound("there is no memory with this id, or it is no longer the live version")
        details = {"id": str(item_id), "namespace": list(row.address.namespace.segments), "key": row.address.key}
        entry = self._workings.audit.entry(self._caller, Audited.FORCE_DELETED, details, why)
        delete = Delete(row.address, row.revision)
        try:
            receipt = await self._store.commit(Commit(self._tenant, (delete, entry), (), self._actor))
        except RevisionConflict:
            raise NotFound("it is no longer the live version of that memory") from None
        return Written(receipt.outcomes[0], receipt.replayed)

    # -- the index and the settings

    async def index_status(self) -> IndexStatus:
        """What is still to be indexed, and how far attributes were brought up to date with the policy."""
        self._guard.permit(self._caller, Action.SHOW_INDEX)
        return await self._index_status()

    async def trigger_index(self) -> IndexStatus:
        """Index and extract what is due now, instead of waiting for the next round."""
        self._guard.permit(self._caller, Action.TRIGGER_INDEX)
        await self._workings.extractor.round(self._tenant, asked=True)
        await self._workings.indexing.catch_up(self._tenant)
        await self._workings.searching.follow(self._tenant)
        return await self._index_status()

    async def _index_status(self) -> IndexStatus:
        lines = await self._workings.indexing.book.lines(self._tenant)
        figures = await self._store.index_figures(self._tenant, 0 if lines is None else lines.serving.number)
        rebuilding = None
        if lines is not None and lines.building is not None:
            series = lines.building.series
            made = (await self._store.index_figures(self._tenant, series.number)).entries
            total, began = max(figures.entries, made), datetime_of(lines.building.started_at)
            rebuilding = Rebuilding(series.model, made, total, began)
        return IndexStatus(
            figures.pending,
            await self._workings.extractor.status(self._tenant),
            figures.deferred,
            figures.entries,
            None if lines is None else lines.serving.model,
            rebuilding,
        )

    async def show_settings(self) -> Tuned:
        """The settings that can be changed at run time, and which of them were."""
        return await self._workings.tuning.show(self._caller)

    async def change_settings(self, settings: Mapping[str, float | None]) -> Tuned:
        """Change settings at run time, in every process; None takes a change back."""
        return await self._workings.tuning.change(self._caller, settings)
