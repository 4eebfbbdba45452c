"""Tokens: API keys, made and shown once, kept as hashes, refused from the moment they are revoked or expire."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from recollect.domain.address import Address, checked_tenant, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import SYSTEM_TENANT, Action, Caller, Role, Scope, new_caller
from recollect.domain.commits import Put
from recollect.domain.errors import Forbidden, InvalidCaller, InvalidExpiry, NotFound, Unauthenticated
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.text import flaw_in
from recollect.domain.values import encode_value, stored_value
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork
from recollect.service.guard import Guard
from recollect.service.reading import read_optional_moment

PREFIX = "rk_"
_MOST_REMEMBERED = 10_000
_ID_LENGTH = 12
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(r"rk_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})")
_SHELF = namespace(("token",))
_ADMINISTRATORS = frozenset({Role.ADMIN, Role.OPERATOR})
_REFUSED = "the API key is not valid"


@dataclass(frozen=True, slots=True)
class Token:
    """An API key as it is listed: whom it stands for and how long, never the secret."""

    id: str
    name: str
    tenant: str
    user_id: str
    client_id: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A fresh API key, and its secret: the only time that it is shown."""

    token: Token
    secret: str

    def __repr__(self) -> str:
        return f"NewToken({self.token!r}, secret=…)"


@dataclass(frozen=True, slots=True)
class _Known:
    """What authentication needs of a key that was read before."""

    caller: Caller
    digest: bytes
    expires_at: Instant | None
    revoked: bool


class Tokens:
    """The API keys of all tenants, as rows of the service's own tenant: sealed, logged, backed up like all else."""

    def __init__(self, store: Store, guard: Guard, clock: Clock) -> None:
        self._store = store
        self._guard = guard
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._stamp: object = object()
        self._head = -1
        self._looked = False
        self._catching_up: asyncio.Future[None] | None = None

    async def create(
        self,
        by: Caller,
        user_id: str,
        *,
        client_id: str = "",
        name: str = "",
        roles: Iterable[str] = (),
        scopes: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
        fresh: tuple[str, str] | None = None,
    ) -> NewToken:
        """Make a key that stands for a user in a tenant. Nobody can give away more than they have.

        Without `scopes` it has all that its roles could make use of.

        `fresh` is what `new_secret` gave, for those who must keep it before it counts.
        """
        self._guard.permit(by, Action.TOKENS)
        whose = self._tenant(by, tenant)
        caller = new_caller(whose, user_id, client_id, roles, scopes)
        if scopes is None and not caller.roles & _ADMINISTRATORS:
            caller = replace(caller, scopes=caller.scopes - {Scope.ADMIN})
        if Role.OPERATOR in caller.roles and Role.OPERATOR not in by.roles:
            raise Forbidden("access denied", reason="only an operator can make an operator's key")
        if not caller.scopes <= by.scopes:
            raise Forbidden("access denied", reason="a key cannot have scopes that its maker lacks")
        if not isinstance(name, str) or len(name) > 255 or flaw_in(name):
            raise InvalidCaller("the name of a key is text of at most 255 characters")
        expiry = read_optional_moment(expires_at)
        if expiry is not None and expiry <= self._clock():
            raise InvalidExpiry("the key would have expired already; give a moment in the future, or none")
        token_id, secret = fresh or new_secret()
        value: dict[str, Any] = {
            "name": name,
            "tenant": whose,
            "user_id": caller.user_id,
            "client_id": caller.client_id,
            "roles": sorted(caller.roles),
            "scopes": sorted(caller.scopes),
            "created_by": by.actor,
            "expires_at": expiry,
            "revoked_at": None,
            "digest": _digest(secret).hex(),
        }
        put = Put(
            _address(token_id), encode_value(value), None, encode_attributes({"tenant": whose}), expected_revision=0
        )
        async with self._store.begin(SYSTEM_TENANT, by.actor) as unit:
            unit.write(put)
        row = await self._store.get(SYSTEM_TENANT, _address(token_id))
        if row is None:
            raise NotFound("the key was removed at once by somebody else")
        return NewToken(_token(row), secret)

    async def list(self, by: Caller, *, tenant: str | None = None) -> list[Token]:
        """Every key of a tenant, oldest first, revoked and expired ones included."""
        self._guard.permit(by, Action.TOKENS)
        mine = parse_filter({"tenant": self._tenant(by, tenant)})
        found: list[Token] = []
        cursor: str | None = None
        while True:
            query = Find(Plane.TOKEN, _SHELF, mine, Order.OLDEST, 1_000, 0, cursor)
            page = await self._store.find(SYSTEM_TENANT, query)
            found += [_token(row) for row in page.rows]
            cursor = page.cursor
            if cursor is None:
                return sorted(found, key=lambda token: token.created_at)

    async def revoke(self, by: Caller, token_id: str) -> Token:
        """Refuse a key from now on, in every process; it stays listed. Revoking it again changes nothing."""
        self._guard.permit(by, Action.TOKENS)
        if not isinstance(token_id, str) or not re.fullmatch("[0-9A-Za-z]{12}", token_id):
            raise NotFound("there is no such API key")

        async def work(unit: UnitOfWork) -> None:
            row = await unit.get(_address(token_id))
            value = None if row is None or row.value is None else stored_value(row.value)
            if row is None or value is None or not self._may_manage(by, value["tenant"]):
                raise NotFound("there is no such API key")
            if value["revoked_at"] is None:
                changed = {**value, "revoked_at": self._clock()}
                unit.write(Put(row.address, encode_value(changed), None, row.policy_attributes))

        await self._store.transact(SYSTEM_TENANT, work, actor=by.actor)
        row = await self._store.get(SYSTEM_TENANT, _address(token_id))
        if row is None:
            raise NotFound("there is no such API key")
        return _token(row)

    async def caller_of(self, secret: str) -> Caller:
        """Whom a key stands for, as of now: what another process revoked a moment ago is refused here too."""
        await self._catch_up()
        known = self._known.get(secret[len(PREFIX) : len(PREFIX) + _ID_LENGTH]) or await self._look_up(secret)
        if known is None or not hmac.compare_digest(known.digest, _digest(secret)):
            raise Unauthenticated(_REFUSED)
        if known.revoked:
            raise Unauthenticated("the API key was revoked")
        if known.expires_at is not None and self._clock() >= known.expires_at:
            raise Unauthenticated("the API key has expired")
        return known.caller

    async def any(self) -> bool:
        """True when there is a key at all."""
        return bool((await self._store.find(SYSTEM_TENANT, Find(Plane.TOKEN, _SHELF, limit=1))).rows)

    async def _catch_up(self) -> None:
        """Forget what was read before, if any key changed since.

        Once in a turn of the loop is enough: whatever is asked in that turn had arrived before it began.
        """
        if not self._looked:
            self._looked, self._catching_up = True, None
            asyncio.get_running_loop().call_soon(self._end_turn)
            stamp = self._store.stamp()
            if stamp != self._stamp:
                self._catching_up = asyncio.ensure_future(self._read_log(stamp))
        if self._catching_up is not None:
            await asyncio.shield(self._catching_up)

    def _end_turn(self) -> None:
        self._looked = False

    async def _read_log(self, stamp: object) -> None:
        """Something was committed; only if it was in our own log, what was read before is void."""
        head = (await self._store.head(SYSTEM_TENANT)).sequence
        if head != self._head:
            self._known = {}
            self._head = head
        self._stamp = stamp

    async def _look_up(self, secret: str) -> _Known | None:
        token_id = checked_form(secret)
        shelf = self._known
        row = await self._store.get(SYSTEM_TENANT, _address(token_id))
        if row is None or row.value is None:
            return None
        said = stored_value(row.value)
        caller = new_caller(
            said["tenant"],
            said["user_id"],
            said["client_id"],
            said["roles"],
            said["scopes"],
            {"sub": said["user_id"], "roles": said["roles"]},
            f"token:{token_id}",
        )
        known = _Known(caller, bytes.fromhex(said["digest"]), said["expires_at"], said["revoked_at"] is not None)
        if len(shelf) >= _MOST_REMEMBERED:
            shelf.clear()
        # Had a key changed meanwhile, this shelf would already have been replaced by an empty one.
        shelf[token_id] = known
        return known

    def _tenant(self, by: Caller, tenant: str | None) -> str:
        wanted = by.tenant if tenant is None else checked_tenant(tenant)
        if not self._may_manage(by, wanted):
            raise Forbidden("access denied", reason="the keys of another tenant are an operator's business")
        return wanted

    def _may_manage(self, by: Caller, tenant: str) -> bool:
        return Role.OPERATOR in by.roles or tenant == by.tenant


def new_secret() -> tuple[str, str]:
    """The id and the text of a fresh key: 256 random bits, with a checksum that catches a slip of the pen."""
    token_id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
    body = f"{PREFIX}{token_id}_{''.join(secrets.choice(_ALPHABET) for _ in range(43))}"
    return token_id, body + _checksum(body)


def checked_form(secret: str) -> str:
    """The id within a key, refused when the text cannot be one; no store is asked."""
    found = _FORM.fullmatch(secret)
    if found is None or _checksum(secret[:-6]) != found[3]:
        raise Unauthenticated(_REFUSED)
    return found[1]


def _checksum(body: str) -> str:
    rest, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits = _ALPHABET[digit] + digits
    return digits


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _address(token_id: str) -> Address:
    return Address(Plane.TOKEN, _SHELF, token_id)


def _token(row: Row) -> Token:
    said: dict[str, Any] = {} if row.value is None else stored_value(row.value)
    return Token(
        row.address.key,
        said["name"],
        said["tenant"],
        said["user_id"],
        said["client_id"],
        tuple(said["roles"]),
        tuple(said["scopes"]),
        datetime_of(row.created_at),
        said["created_by"],
        None if said["expires_at"] is None else datetime_of(said["expires_at"]),
        None if said["revoked_at"] is None else datetime_of(said["revoked_at"]),
    )
