"""How tokens are checked; who may sign them, for whom, and with what."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recollect.domain.errors import InvalidSetting

MAX_LEEWAY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class JwtOptions:
    """What a token must be like. One of `key`, `key_file`, `jwks_url` and `jwks_file` says how it is checked."""

    issuer: str | None = None
    """What `iss` must be."""
    audience: str | None = None
    """What `aud` must be, or contain."""
    key: str | None = field(default=None, repr=False)
    """A shared secret, or a public key in PEM."""
    key_file: Path | None = None
    """A file with that key."""
    jwks_url: str | None = None
    """Where the issuer publishes its public keys."""
    jwks_file: Path | None = None
    """A file with the issuer's public keys."""
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    """What a token may be signed with; of these, the ones that suit the key."""
    tenant_claim: str = "tenant"
    """Which claim names the tenant."""
    leeway_seconds: float = 30.0
    """How far the issuer's clock may be off."""

    def __post_init__(self) -> None:
        ways = self.ways()
        if len(ways) > 1:
            raise InvalidSetting(f"give one way to check JWTs, not {' and '.join(ways)}")
        if ways and not (self.issuer and self.audience):
            raise InvalidSetting(f"{ways[0]} needs jwt_issuer and jwt_audience: a token must be checked for both")
        if not 0 <= self.leeway_seconds <= MAX_LEEWAY_SECONDS:
            raise InvalidSetting(f"jwt_leeway_seconds must be a number from 0 to {MAX_LEEWAY_SECONDS}")

    def ways(self) -> list[str]:
        """The settings that say how a token is checked; none: tokens are not accepted at all."""
        given = {
            "jwt_key": self.key,
            "jwt_key_file": self.key_file,
            "jwks_url": self.jwks_url,
            "jwks_file": self.jwks_file,
        }
        return [name for name, value in given.items() if value is not None]
