"""The policy: who may do what with which memory, as promises that every engine keeps.

P1   Only an explicit allow allows; no answer, a wrong answer or a fault is a denial.
P2   Extracted attributes depend only on what is written and where, so that they can be computed again; they are
     never shown to clients.
P3   A narrowed scope lies within the one asked for, or beside it (then nothing is found); it is never wider.
P4   A decision may say why; the reason is for the caller's eyes and holds nothing of the memory.
P5   The engine changes as a whole: a request is decided by one state of the policy. (An engine that keeps no bundles
     itself is asked anew each time, and can only promise this for each question.)
P6   A bundle that cannot be relied on is refused before it decides anything, with every reason at once.
P7   An evaluation ends within its limit, whatever the policy says, and no policy can reach beyond its input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from recollect.domain.bundles import Bundle, Package
from recollect.domain.callers import Action, Caller
from recollect.domain.errors import PolicyTrouble, Unsupported


class Overrun(PolicyTrouble):
    """The policy takes too long or too much, so nothing was allowed: make it simpler, or its data smaller."""


class Decision(msgspec.Struct, frozen=True):
    """Whether something may be done, and why not."""

    allow: bool
    reason: str = ""


class Narrowed(msgspec.Struct, frozen=True):
    """The part of a search that the caller may see: below this prefix, and matching this filter."""

    prefix: tuple[str, ...]
    filter: Mapping[str, Any] = {}


class Verdict(StrEnum):
    """What is to become of a proposed memory."""

    APPROVE = "approve"
    """It becomes a memory without further ado."""
    REVIEW = "review"
    """A person decides."""
    REJECT = "reject"
    """It does not become one."""


class Review(msgspec.Struct, frozen=True):
    """What the policy says of a proposal, and which of its rules says so."""

    verdict: Verdict
    reason: str = ""
    rule: str = ""


class Policy(ABC):
    """One state of the policy. The module's docstring has the promises."""

    version: str = ""
    """What names this state."""
    extraction: str = ""
    """What names the part of it that extracts attributes: equal ones extract equally."""

    @abstractmethod
    async def authorize(
        self, caller: Caller, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> Decision:
        """Whether the caller may read, write or delete this memory (P1, P4)."""

    @abstractmethod
    async def attributes(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], attributes: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """The plain attributes to keep beside a memory, for filters to ask for (P2)."""

    @abstractmethod
    async def narrow(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> Narrowed:  # noqa: A002 - the word of the API
        """What of a search, a listing or the log the caller may see (P3)."""

    @abstractmethod
    async def review(self, caller: Caller, proposal: Mapping[str, Any]) -> Review:
        """What is to become of a proposed memory; without a clear answer, a person decides."""


class Problem(msgspec.Struct, frozen=True):
    """Why a bundle is refused, and where in it."""

    message: str
    module: str = ""
    line: int = 0


class Check(msgspec.Struct, frozen=True):
    """One test of a bundle, or one question to which every bundle must say no."""

    name: str
    passed: bool
    note: str = ""


class Report(msgspec.Struct, frozen=True):
    """What was found in a bundle before it may decide anything."""

    problems: tuple[Problem, ...] = ()
    checks: tuple[Check, ...] = ()
    packages: tuple[Package, ...] = ()
    """Those that the bundle itself has; the built-in ones stand in for the others."""

    @property
    def sound(self) -> bool:
        """True when it may be put in force."""
        return not self.problems and all(check.passed for check in self.checks)


class Question(msgspec.Struct, frozen=True):
    """A thing that a caller might do, for an engine to explain."""

    caller: Caller
    action: Action
    namespace: tuple[str, ...]
    key: str = ""
    value: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None
    search: bool = False
    """Whether it asks what of a search they would see, instead of a single memory."""


class Clause(msgspec.Struct, frozen=True):
    """One clause of the rule that decides: whether it held, and what in it did not."""

    module: str
    line: int
    title: str
    held: bool
    failed: str = ""
    """The first expression that did not hold."""
    failed_line: int = 0


class Explanation(msgspec.Struct, frozen=True):
    """Why the policy says what it says."""

    package: Package
    rule: str
    """The rule that was asked, by its full name."""
    decision: Decision | None = None
    narrowed: Narrowed | None = None
    clauses: tuple[Clause, ...] = ()
    input: Mapping[str, Any] = {}
    """What the rule was told."""


class Engine(ABC):
    """Turns bundles into policies. What it starts, it ends when it is closed."""

    manages: bool = True
    """Whether bundles are given to it; False when it has its own, kept elsewhere."""

    @abstractmethod
    async def check(self, bundle: Bundle) -> Report:
        """Compile a bundle and run its tests (P6)."""

    @abstractmethod
    def defaults(self) -> Bundle:
        """The built-in bundle."""

    @abstractmethod
    def packages(self, bundle: Bundle) -> tuple[Package, ...]:
        """Which of the packages that Recollect asks a bundle has itself."""

    @abstractmethod
    async def policy(self, bundle: Bundle | None) -> Policy:
        """A bundle ready to decide; the built-in one without any. Raises `PolicyTrouble` when it cannot be."""

    async def baseline(self) -> str:
        """What names the extraction of attributes that everybody begins with."""
        return (await self.policy(None)).extraction

    async def explain(self, bundle: Bundle | None, question: Question) -> Explanation:
        """Why a bundle says what it says."""
        raise Unsupported(f"{type(self).__name__} cannot explain {question.action} by {bundle}")

    def counts(self) -> tuple[int, int]:
        """How many evaluations there were so far, and how many of them had to be broken off."""
        return 0, 0

    async def configure(self, facts: Mapping[str, Any]) -> None:  # noqa: B027 - few engines have any use for it
        """What policies may know of the settings; from the next `policy` on."""

    async def close(self) -> None:  # noqa: B027 - not every engine holds something
        """Let go of everything."""
