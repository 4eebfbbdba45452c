"""Sessions over HTTP: named so that every process knows, without remembering any, to whom one belongs.

The id of a session is a random part and a digest of it with the credential that opened it, so a request with another
credential does not know the session. The digest needs no key: whoever makes one up for their own credential has only
opened a session, as they may. Nothing is kept for a session but what it spent of its budgets, in the store.
"""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest

from recollect.domain.callers import Caller

_RANDOM_BYTES = 16
_ID = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{32})")


def opened(caller: Caller, chance: bytes) -> str:
    """The id of a new session of this credential, from 16 random bytes."""
    if len(chance) != _RANDOM_BYTES:
        raise AssertionError(f"a session is named by {_RANDOM_BYTES} random bytes")
    return f"{chance.hex()}.{_digest(caller, chance.hex())}"


def belongs(session: str, caller: Caller) -> bool:
    """True when this credential opened the session."""
    found = _ID.fullmatch(session)
    return found is not None and compare_digest(found[2], _digest(caller, found[1]))


def of_day(caller: Caller, day: str) -> str:
    """The session of clients that open none, as those of the protocol from 2026-07-28 on: one credential, one day."""
    return f"{day}.{_digest(caller, day)}"


def _digest(caller: Caller, part: str) -> str:
    # A renewed JWT is another credential by its bytes, but the same by what it says.
    key = "jwt" if caller.credential.startswith("jwt:") else caller.credential
    said = (caller.tenant, caller.user_id, caller.client_id, key, part)
    return sha256("\0".join(("recollect mcp session", *said)).encode()).hexdigest()[:32]
