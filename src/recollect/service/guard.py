"""The guard: the one place where it is decided whether a caller may do something, before anything else happens."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from recollect.domain.address import DEPTH_CEILING, Address, scope
from recollect.domain.attributes import GIVEN, stored_attributes
from recollect.domain.callers import Action, Caller, check_permitted
from recollect.domain.commits import Condition
from recollect.domain.errors import Forbidden, InvalidAttributes, InvalidInput, PolicyTrouble, RecollectError
from recollect.domain.filters import Filter, parse_filter
from recollect.domain.rows import Row
from recollect.ports.policy import Decision, Narrowed, Policy, Review, Verdict
from recollect.ports.store import Store

log = logging.getLogger("recollect.policy")


class View(msgspec.Struct, frozen=True):
    """What of a search the caller may see, once their wish and the policy are both taken into account."""

    prefix: tuple[str, ...]
    filter: Filter


class InForce(msgspec.Struct, frozen=True):
    """The policy in force in a tenant, and what must still hold when a write that it decided is committed."""

    policy: Policy
    conditions: tuple[Condition, ...] = ()


class Policies(Protocol):
    """Who knows which policy is in force."""

    async def in_force(self, tenant: str) -> InForce:
        """The policy of a tenant, as of now."""

    async def in_force_with(self, tenant: str, address: Address, store: Store) -> tuple[InForce, Row | None]:
        """The same, with what is at an address."""


class Decided(Protocol):
    """Who wants to know what was decided, to be able to decide it again under another policy."""

    def note(self, caller: Caller, action: Action, namespace: Sequence[str], key: str) -> None:
        """That this was asked."""


@dataclass(frozen=True, slots=True)
class Always:
    """One policy for everybody, for ever."""

    policy: Policy

    async def in_force(self, _: str) -> InForce:
        """That one."""
        return InForce(self.policy)

    async def in_force_with(self, tenant: str, address: Address, store: Store) -> tuple[InForce, Row | None]:
        """That one, with what is at an address."""
        return InForce(self.policy), await store.get(tenant, address)


class Guard:
    """Asks scopes and roles first, then the policy. Every use-case goes through it."""

    def __init__(self, policies: Policies, decided: Decided | None = None) -> None:
        self.policies = policies
        self._decided = decided

    def permit(self, caller: Caller, action: Action) -> None:
        """Refuse what the caller's scopes and roles do not cover."""
        check_permitted(caller, action)

    async def begin(self, caller: Caller) -> Ruling:
        """What decides about one request from beginning to end, whatever becomes of the policy meanwhile."""
        with _or_trouble():
            return Ruling(caller, await self.policies.in_force(caller.tenant), self._decided)

    async def begin_with(self, caller: Caller, address: Address, store: Store) -> tuple[Ruling, Row | None]:
        """What decides about reading what is at an address, and that itself, which nobody may see before it did."""
        with _or_trouble():
            in_force, row = await self.policies.in_force_with(caller.tenant, address, store)
            return Ruling(caller, in_force, self._decided), row


@contextmanager
def _or_trouble() -> Iterator[None]:
    try:
        yield
    except RecollectError:
        raise
    except Exception as problem:  # noqa: BLE001 - without a policy nothing is allowed, for whatever reason
        raise _trouble(problem) from None


class Ruling:
    """One state of the policy, in the name of one caller."""

    __slots__ = ("_caller", "_decided", "_policy", "conditions")

    def __init__(self, caller: Caller, in_force: InForce, decided: Decided | None = None) -> None:
        self._caller = caller
        self._policy = in_force.policy
        self._decided = decided
        self.conditions = in_force.conditions
        """What must still hold when what was decided is committed."""

    async def allow(
        self, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse unless the caller may do this to this memory."""
        check_permitted(self._caller, action)
        if self._decided is not None:
            self._decided.note(self._caller, action, namespace, key)
        try:
            decision = await self._policy.authorize(self._caller, action, namespace, key, value)
        except Exception as problem:  # noqa: BLE001 - whatever an engine raises is a denial
            raise _trouble(problem) from None
        if not isinstance(decision, Decision) or decision.allow is not True:
            reason = decision.reason if isinstance(decision, Decision) else ""
            raise Forbidden("access denied", reason=reason or "access denied")

    async def allows(self, action: Action, namespace: Sequence[str], key: str) -> bool:
        """Whether the caller may do this to this memory."""
        try:
            await self.allow(action, namespace, key)
        except Forbidden:
            return False
        return True

    async def extract(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        attributes: Mapping[str, Any] | None,
        given: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        """The plain attributes of a memory: what the policy says, over what a trusted caller gave."""
        if given is not None and not self._caller.is_admin:
            raise Forbidden("access denied", reason="policy attributes are extracted by the policy, not given")
        if given is not None and (not isinstance(given, Mapping) or GIVEN in given):
            raise InvalidAttributes(f"policy attributes are an object without {GIVEN}, not {type(given).__name__}")
        return await extracted(self._policy, namespace, key, value, attributes, given)

    async def extracted_again(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        attributes: Mapping[str, Any] | None,
        given: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        """The plain attributes of what is stored already, whoever gave some of them then."""
        return await extracted(self._policy, namespace, key, value, attributes, given)

    async def review(self, proposal: Mapping[str, Any]) -> Review:
        """What is to become of a proposed memory. Whatever is wrong with the policy, a person decides."""
        try:
            found = await self._policy.review(self._caller, proposal)
        except Exception as problem:
            log.error("policy.fault", exc_info=problem)
            return Review(Verdict.REVIEW, "the policy could not be asked", "trouble")
        return found if isinstance(found, Review) else Review(Verdict.REVIEW, "the policy gave no verdict", "trouble")

    async def view(self, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> View | None:  # noqa: A002 - the word of the API
        """The part of a search that both the caller asks for and the policy opens; None when that is nothing."""
        check_permitted(self._caller, Action.READ)
        asked = parse_filter(filter)
        try:
            narrowed = await self._policy.narrow(self._caller, prefix, filter)
        except Exception as problem:  # noqa: BLE001 - whatever an engine raises, nothing is shown
            raise _trouble(problem) from None
        if not _is_narrowing(narrowed) or not _is_scope(narrowed.prefix):
            raise PolicyTrouble("the policy gave a scope that is none")
        both = _both(tuple(prefix), narrowed.prefix)
        if both is None:
            return None
        if not narrowed.filter:
            return View(both, asked)
        try:
            return View(both, asked.and_(parse_filter(narrowed.filter)))
        except InvalidInput as problem:
            raise PolicyTrouble(f"the policy gave a filter that is none: {problem.message}") from None


async def extracted(
    policy: Policy,
    namespace: Sequence[str],
    key: str,
    value: Mapping[str, Any],
    attributes: Mapping[str, Any] | None,
    given: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """The plain attributes of a memory; the names of given ones are kept, so that they outlive the policy."""
    try:
        found = await policy.attributes(namespace, key, value, attributes)
    except Exception as problem:  # noqa: BLE001 - whatever an engine raises, nothing is written
        raise _trouble(problem) from None
    if not isinstance(found, Mapping) or GIVEN in found:
        raise PolicyTrouble("the policy gave attributes that are none")
    return {**given, **found, GIVEN: sorted(given)} if given else found


def given_in(policy_attributes: str) -> Mapping[str, Any] | None:
    """Those of a row's plain attributes that a trusted caller gave, not the policy."""
    stored = stored_attributes(policy_attributes)
    names = stored.get(GIVEN)
    return {name: stored[name] for name in names if name in stored} if names else None


def _trouble(problem: Exception) -> PolicyTrouble:
    """What callers are told of an engine's fault: that there was one. The log knows more."""
    if isinstance(problem, PolicyTrouble):
        return problem
    log.error("policy.fault", exc_info=problem)
    return PolicyTrouble("the policy could not be asked")


def _is_narrowing(answer: object) -> bool:
    return (
        isinstance(answer, Narrowed)
        and isinstance(answer.filter, Mapping)
        and isinstance(answer.prefix, tuple)
        and all(isinstance(segment, str) and segment for segment in answer.prefix)
    )


def _is_scope(prefix: tuple[str, ...]) -> bool:
    """Whether there can be memories below a prefix; otherwise callers would be blamed for what the policy said."""
    try:
        scope(prefix, DEPTH_CEILING)
    except InvalidInput:
        return False
    return True


def _both(asked: tuple[str, ...], opened: tuple[str, ...]) -> tuple[str, ...] | None:
    """The subtree that lies in both; None when they have nothing in common."""
    if opened[: len(asked)] == asked:
        return opened
    if asked[: len(opened)] == opened:
        raise PolicyTrouble("the policy opened more than was asked for")
    return None
