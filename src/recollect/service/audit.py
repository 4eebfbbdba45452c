"""The audit: what administrators did and why, in the tenant's own log, where nobody can change it unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from recollect.domain.address import Address, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import SYSTEM_TENANT, Action, Caller, Role, check_permitted
from recollect.domain.commits import Commit, Put
from recollect.domain.errors import Forbidden, InvalidRequest
from recollect.domain.filters import parse_filter
from recollect.domain.instants import datetime_of
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.text import flaw_in
from recollect.domain.values import encode_value, stored_value
from recollect.ports.clock import Clock, Ids
from recollect.ports.store import Store

MAX_JUSTIFICATION = 1_000
_SHELF = namespace(("audit",))


class Audited(StrEnum):
    """What is written down about administrators."""

    POLICY_PUSHED = "policy_pushed"
    """A new policy was put in force."""
    POLICY_ROLLED_BACK = "policy_rolled_back"
    """An earlier policy was put in force again."""
    POLICY_OF_SERVICE = "policy_of_service"
    """The policy of the service changed, which this tenant goes by."""
    JUSTIFIED_READ = "justified_read"
    """An administrator read memories and said why."""
    FORCE_DELETED = "force_deleted"
    """An administrator deleted a memory by its id."""
    SETTINGS_CHANGED = "settings_changed"
    """Settings of the service were changed."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done, by whom, why, and what exactly."""

    id: UUID
    action: Audited
    by: str
    at: datetime
    justification: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, newest first, and where to go on."""

    entries: list[AuditEntry]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Justification:
    """Why an administrator reads what may not be theirs, and who it is."""

    why: str
    by: Caller


class Audit:
    """What administrators did, tenant by tenant; what concerns the service is in its own tenant."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    def entry(self, by: Caller, action: Audited, details: Mapping[str, Any], justification: str = "") -> Put:
        """What writes an entry down, to be committed together with what it tells of."""
        said = {
            "action": action,
            "by": by.actor or by.credential,
            "credential": by.credential,
            "why": justification,
            **details,
        }
        key = UUID(bytes=self._ids(self._clock())).hex
        plain = encode_attributes({"action": action.value})
        return Put(Address(Plane.AUDIT, _SHELF, key), encode_value(said), None, plain, expected_revision=0)

    async def record(self, by: Caller, action: Audited, details: Mapping[str, Any], justification: str = "") -> None:
        """Write an entry down that stands for itself."""
        put = self.entry(by, action, details, justification)
        await self._store.commit(Commit(by.tenant, (put,), (), by.actor))

    async def list(
        self,
        by: Caller,
        *,
        action: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        service: bool = False,
    ) -> AuditPage:
        """What was done, newest first; with `service`, what concerns the service itself."""
        check_permitted(by, Action.AUDIT)
        if service and Role.OPERATOR not in by.roles:
            raise Forbidden("access denied", reason="what concerns the service is an operator's business")
        if action is not None and action not in tuple(Audited):
            raise InvalidRequest(f"an action is one of {', '.join(Audited)}")
        wanted = parse_filter(None if action is None else {"action": Audited(action).value})
        query = Find(Plane.AUDIT, _SHELF, wanted, Order.NEWEST, checked_limit(limit), 0, cursor)
        page = await self._store.find(SYSTEM_TENANT if service else by.tenant, query)
        return AuditPage([_entry(row.address.key, row.created_at, row.value) for row in page.rows], page.cursor)


def checked_justification(text: object) -> str:
    """The reason itself, refused when it says nothing or cannot be kept."""
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_JUSTIFICATION or flaw_in(text):
        raise InvalidRequest(f"a justification is text of 1 to {MAX_JUSTIFICATION:,} characters that says why")
    return text.strip()


def _entry(key: str, at: Any, value: bytes | None) -> AuditEntry:
    said: dict[str, Any] = {} if value is None else dict(stored_value(value))
    action, by, why = said.pop("action"), said.pop("by"), said.pop("why")
    return AuditEntry(UUID(hex=key), Audited(action), by, datetime_of(at), why, said)
