"""Identity: from what a request carries to the caller it comes from; nobody else makes callers."""

from __future__ import annotations

import base64

from recollect.domain.callers import Caller
from recollect.domain.errors import Unauthenticated
from recollect.ports.credentials import Verifier
from recollect.service.tokens import PREFIX, Tokens

MAX_CREDENTIAL = 16_384


class Identity:
    """Recognises API keys, and tokens of an issuer when one is configured."""

    def __init__(self, tokens: Tokens, verifier: Verifier | None = None) -> None:
        self._tokens = tokens
        self._verifier = verifier

    async def caller_of(self, authorization: str | None, *, basic: bool = False) -> Caller:
        """The caller behind an `Authorization` header; `basic` lets a browser send a key as a password."""
        if not authorization:
            raise Unauthenticated("missing authorization")
        scheme, _, credential = authorization.partition(" ")
        credential = credential.strip()
        if len(credential) > MAX_CREDENTIAL:
            raise Unauthenticated("the credential is too long to be one")
        if basic and scheme.lower() == "basic":
            credential = _password(credential)
        elif scheme.lower() != "bearer":
            raise Unauthenticated("send the credential as `Authorization: Bearer …`")
        if credential.startswith(PREFIX):
            return await self._tokens.caller_of(credential)
        if self._verifier is None:
            raise Unauthenticated("the API key is not valid")
        return await self._verifier.caller_of(credential)


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        raise Unauthenticated("the credential is not valid") from None
