"""The policy: who may do what with which memory, as promises that every engine keeps.

P1   Only an explicit allow allows; no answer, a wrong answer or a fault is a denial.
P2   Extracted attributes depend only on what is written and by whom; they are never shown to clients.
P3   A narrowed scope lies within the one asked for, or beside it (then nothing is found); it is never wider.
P4   A decision may say why; the reason is for the caller's eyes and holds nothing of the memory.
P5   The engine changes as a whole: a request is decided by one state of the policy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.callers import Action, Caller


class Decision(msgspec.Struct, frozen=True):
    """Whether something may be done, and why not."""

    allow: bool
    reason: str = ""


class Narrowed(msgspec.Struct, frozen=True):
    """The part of a search that the caller may see: below this prefix, and matching this filter."""

    prefix: tuple[str, ...]
    filter: Mapping[str, Any] = {}


class Policy(ABC):
    """An engine that decides. The module's docstring has the promises."""

    @abstractmethod
    async def authorize(
        self, caller: Caller, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> Decision:
        """Whether the caller may read, write or delete this memory (P1, P4)."""

    @abstractmethod
    async def attributes(
        self,
        caller: Caller,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        attributes: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        """The plain attributes to keep beside a memory, for filters to ask for (P2)."""

    @abstractmethod
    async def narrow(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> Narrowed:  # noqa: A002 - the word of the API
        """What of a search, a listing or the log the caller may see (P3)."""
