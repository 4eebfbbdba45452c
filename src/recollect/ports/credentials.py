"""Credentials: who a token from elsewhere stands for.

C1   A token is accepted only if its signature, issuer, audience and times were all checked and are right.
C2   Whatever is wrong with a token, the answer is `Unauthenticated`; nothing of the token is in the message.
C3   The way a token is checked is the service's choice, never the token's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from recollect.domain.callers import Caller


class Verifier(ABC):
    """Checks tokens that somebody else issued. The module's docstring has the promises."""

    @abstractmethod
    async def caller_of(self, token: str) -> Caller:
        """Whom the token stands for; `Unauthenticated` when it is not to be trusted."""
