"""What the claims of a signed token come to: whom it stands for, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.backends.jwt.flaws import Flaw, Refused
from recollect.domain.callers import Caller, Role, Scope, new_caller
from recollect.domain.errors import InvalidInput
from recollect.domain.instants import LAST, Instant

DEFAULT_TENANT = "default"
_LAST_SECOND = LAST // 1_000_000
_SCOPES = frozenset(scope.value for scope in Scope)


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which a token holds, with the leeway included."""

    begins: int
    ends: int

    def check(self, now: Instant) -> None:
        """Refuse what is over or has not begun."""
        if now >= self.ends:
            raise Refused(Flaw.EXPIRED)
        if now < self.begins:
            raise Refused(Flaw.EARLY)


def window_of(claims: Mapping[str, Any], leeway_seconds: float) -> Window:
    """When the token holds: after `nbf` and `iat` where they are given, and before `exp`."""
    leeway = round(leeway_seconds * 1_000_000)
    begins = [_moment(claims[name]) for name in ("nbf", "iat") if name in claims]
    return Window(max(begins, default=leeway) - leeway, _moment(claims.get("exp")) + leeway)


def check_parties(claims: Mapping[str, Any], issuer: str, audience: str) -> None:
    """Refuse a token of another issuer or for another audience."""
    if "iss" not in claims or "aud" not in claims:
        raise Refused(Flaw.CLAIMS)
    if claims["iss"] != issuer:
        raise Refused(Flaw.ISSUER)
    meant = [claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"]
    if not _is_texts(meant):
        raise Refused(Flaw.CLAIMS)
    if audience not in meant:
        raise Refused(Flaw.AUDIENCE)


def caller_from(claims: Mapping[str, Any], tenant_claim: str, credential: str) -> Caller:
    """Whom the token stands for. A claim that is there must be what it should be; null is not absence."""
    client_id = claims.get("client_id", claims.get("azp", ""))
    roles = claims.get("roles", [])
    if not isinstance(client_id, str) or not _is_texts(roles):
        raise Refused(Flaw.CLAIMS)
    try:
        return new_caller(
            claims.get(tenant_claim, DEFAULT_TENANT),
            claims.get("sub"),
            client_id,
            [role for role in roles if role != Role.OPERATOR],  # the service itself is for its own keys only
            _scopes(claims),
            claims,
            credential,
        )
    except InvalidInput:
        raise Refused(Flaw.CLAIMS) from None


def _scopes(claims: Mapping[str, Any]) -> list[str] | None:
    """Our scopes among those named; None when the token does not speak of scopes at all."""
    name = next((name for name in ("scope", "scp") if name in claims), None)
    if name is None:
        return None
    named = claims[name].split() if isinstance(claims[name], str) else claims[name]
    if not _is_texts(named):
        raise Refused(Flaw.CLAIMS)
    return [scope for scope in named if scope in _SCOPES]


def _moment(seconds: object) -> int:
    """The microsecond that a number of seconds since 1970 names, up to the year 9999."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _LAST_SECOND:
        raise Refused(Flaw.CLAIMS)
    return round(seconds * 1_000_000)


def _is_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
