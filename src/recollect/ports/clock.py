"""Time and identity, as things that are given."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.instants import Instant


class Clock(Protocol):
    """Tells what time it is."""

    def __call__(self) -> Instant:
        """The present moment."""
        ...


class Ids(Protocol):
    """Makes identities for new rows."""

    def __call__(self, at: Instant) -> bytes:
        """Sixteen bytes that no other row has."""
        ...
