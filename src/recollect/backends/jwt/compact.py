"""What the text of a token says, before anybody has vouched for it."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from recollect.backends.jwt.flaws import Flaw, Refused
from recollect.domain.errors import InvalidInput
from recollect.domain.values import decode_value

MAX_CHARACTERS = 8_192
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_TYPES = frozenset({"jwt", "at+jwt"})


@dataclass(frozen=True, slots=True)
class Compact:
    """A token taken apart: nothing in it is true until its signature was checked."""

    algorithm: str
    kid: str | None
    signed: bytes
    payload: bytes
    signature: bytes

    def claims(self) -> dict[str, Any]:
        """The claims; to be asked for once the signature was checked."""
        return _json_object(self.payload)


def checked_length(token: object) -> str:
    """The token itself, refused when it is too long or not plain text."""
    if not isinstance(token, str) or len(token) > MAX_CHARACTERS or not token.isascii():
        raise Refused(Flaw.MALFORMED)
    return token


def take_apart(token: str) -> Compact:
    """The parts of a token, refused when its form leaves any doubt about what was signed.

    `jwk`, `jku`, `x5u` and `x5c` are never looked at: which key is used is not the token's choice.
    """
    form = _FORM.fullmatch(token)
    if form is None:
        raise Refused(Flaw.MALFORMED)
    header = _json_object(_bytes_of(form[1]))
    if "crit" in header or "b64" in header:
        raise Refused(Flaw.HEADER)
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise Refused(Flaw.HEADER)
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str):
        raise Refused(Flaw.ALGORITHM)
    if "kid" in header and not isinstance(kid, str):
        raise Refused(Flaw.HEADER)
    return Compact(algorithm, kid, token[: form.end(2)].encode(), _bytes_of(form[2]), _bytes_of(form[3]))


def _bytes_of(part: str) -> bytes:
    """The bytes behind base64url without padding; only the one way to write them is accepted."""
    if len(part) % 4 == 1:
        raise Refused(Flaw.MALFORMED)
    found = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if urlsafe_b64encode(found).rstrip(b"=").decode() != part:
        raise Refused(Flaw.MALFORMED)
    return found


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        return decode_value(text.decode())
    except (UnicodeDecodeError, InvalidInput):
        raise Refused(Flaw.MALFORMED) from None
