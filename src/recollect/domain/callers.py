"""Callers: who asks, in which tenant, with which rights; made from a credential, never from the body of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from recollect.domain.address import checked_tenant
from recollect.domain.errors import Forbidden, InvalidCaller, InvalidTenant
from recollect.domain.text import flaw_in, shown

MAX_NAME = 128
MAX_ROLES = 32
LOCAL = "local"
"""What stands for the credential of the process itself."""
FIRST_USER = "admin"
"""Whom the first key of a service is made for; who opens the data directory itself is the same person."""
SYSTEM_TENANT = "recollect:system"
"""Where the service keeps what belongs to no tenant, such as API keys; no caller is ever of it."""


class Role(StrEnum):
    """The roles that the service itself knows; any other is only told to the policy."""

    ADMIN = "admin"
    """Everything in its own tenant."""
    AUDITOR = "auditor"
    """May check the log and read the metrics."""
    REVIEWER = "reviewer"
    """Decides about what is proposed to be remembered."""
    OPERATOR = "operator"
    """Runs the service: backups, encryption keys, and the API keys of every tenant."""


class Scope(StrEnum):
    """What a credential may be used for, whoever holds it."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    ADMIN = "admin"


class Action(StrEnum):
    """Everything that can be asked for, in the words of the guard."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    VERIFY = "verify"
    ERASE = "erase"
    SWEEP = "sweep"
    TRANSFER = "transfer"
    TOKENS = "tokens"
    BACKUP = "backup"
    ROTATE = "rotate"
    METRICS = "metrics"
    SHOW_POLICY = "show_policy"
    CHANGE_POLICY = "change_policy"
    AUDIT = "audit"
    JUSTIFY = "justify"
    FORCE_DELETE = "force_delete"
    SHOW_INDEX = "show_index"
    TRIGGER_INDEX = "trigger_index"
    CHANGE_SETTINGS = "change_settings"
    REVIEW = "review"


ALL_SCOPES = frozenset(Scope)
_NEEDS: dict[Action, tuple[Scope, frozenset[str]]] = {
    Action.READ: (Scope.READ, frozenset()),
    Action.WRITE: (Scope.WRITE, frozenset()),
    Action.DELETE: (Scope.DELETE, frozenset()),
    Action.VERIFY: (Scope.READ, frozenset({Role.ADMIN, Role.AUDITOR})),
    Action.METRICS: (Scope.READ, frozenset({Role.OPERATOR, Role.AUDITOR})),
    Action.ERASE: (Scope.ADMIN, frozenset({Role.ADMIN})),
    Action.SWEEP: (Scope.ADMIN, frozenset({Role.ADMIN})),
    Action.TRANSFER: (Scope.ADMIN, frozenset({Role.ADMIN})),
    Action.TOKENS: (Scope.ADMIN, frozenset({Role.ADMIN, Role.OPERATOR})),
    Action.BACKUP: (Scope.ADMIN, frozenset({Role.OPERATOR})),
    Action.ROTATE: (Scope.ADMIN, frozenset({Role.OPERATOR})),
    Action.SHOW_POLICY: (Scope.READ, frozenset({Role.ADMIN, Role.AUDITOR, Role.OPERATOR})),
    Action.CHANGE_POLICY: (Scope.ADMIN, frozenset({Role.ADMIN, Role.OPERATOR})),
    Action.AUDIT: (Scope.READ, frozenset({Role.ADMIN, Role.AUDITOR})),
    Action.JUSTIFY: (Scope.READ, frozenset({Role.ADMIN})),
    Action.FORCE_DELETE: (Scope.ADMIN, frozenset({Role.ADMIN})),
    Action.SHOW_INDEX: (Scope.READ, frozenset({Role.ADMIN, Role.AUDITOR, Role.OPERATOR})),
    Action.TRIGGER_INDEX: (Scope.ADMIN, frozenset({Role.ADMIN, Role.OPERATOR})),
    Action.CHANGE_SETTINGS: (Scope.ADMIN, frozenset({Role.OPERATOR})),
    Action.REVIEW: (Scope.WRITE, frozenset({Role.ADMIN, Role.REVIEWER})),
}


class Caller(msgspec.Struct, frozen=True):
    """Who asks. `credential` says by which key or token they were recognised; it is no secret."""

    tenant: str
    user_id: str
    client_id: str = ""
    roles: frozenset[str] = frozenset()
    scopes: frozenset[Scope] = ALL_SCOPES
    claims: Mapping[str, Any] = {}
    credential: str = ""

    @property
    def actor(self) -> str:
        """The caller as the log names them."""
        return f"{self.user_id} via {self.client_id}" if self.client_id else self.user_id

    @property
    def is_admin(self) -> bool:
        """True when everything in the tenant is open to them."""
        return Role.ADMIN in self.roles


def local_caller(tenant: str, actor: str = "") -> Caller:
    """The process itself: whoever can open the data directory holds all its rights already."""
    return Caller(tenant, actor, roles=frozenset(Role), credential=LOCAL)


def new_caller(
    tenant: object,
    user_id: object,
    client_id: object = "",
    roles: object = (),
    scopes: object = None,
    claims: Mapping[str, Any] | None = None,
    credential: str = "",
) -> Caller:
    """A caller from what a credential says, refused when any of it could be mistaken for something else."""
    if checked_tenant(tenant) == SYSTEM_TENANT:
        raise InvalidTenant(f"the tenant {SYSTEM_TENANT} belongs to the service itself")
    return Caller(
        str(tenant),
        _name(user_id, "user_id"),
        _name(client_id, "client_id") if client_id else "",
        _roles(roles),
        _scopes(scopes),
        claims or {},
        credential,
    )


def check_permitted(caller: Caller, action: Action) -> None:
    """Refuse what the caller's scopes and roles do not cover; the policy has its say after that."""
    scope, roles = _NEEDS[action]
    if scope not in caller.scopes:
        raise Forbidden("access denied", reason=f"the credential lacks the scope '{scope}'")
    if roles and not roles & caller.roles:
        raise Forbidden("access denied", reason=f"this needs the role {' or '.join(sorted(roles))}")


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or flaw_in(name) or not name.isprintable():
        raise InvalidCaller(f"a {what} is printable text of 1 to {MAX_NAME} characters, not {shown(name)}")
    return name


def _roles(roles: object) -> frozenset[str]:
    if isinstance(roles, str) or not isinstance(roles, Iterable):
        raise InvalidCaller("roles are a list of names")
    found = frozenset(_name(role, "role") for role in roles)
    if len(found) > MAX_ROLES:
        raise InvalidCaller(f"there are {len(found)} roles; at most {MAX_ROLES} are allowed")
    return found


def _scopes(scopes: object) -> frozenset[Scope]:
    if scopes is None:
        return ALL_SCOPES
    if isinstance(scopes, str) or not isinstance(scopes, Iterable):
        raise InvalidCaller("scopes are a list of names")
    try:
        return frozenset(Scope(scope) for scope in scopes)
    except ValueError:
        raise InvalidCaller(f"a scope is one of {', '.join(Scope)}") from None
