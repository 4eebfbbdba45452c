"""The guard: the one place where it is decided whether a caller may do something, before anything else happens."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.callers import Action, Caller, check_permitted
from recollect.domain.errors import Forbidden, InvalidAttributes, InvalidInput, PolicyTrouble
from recollect.domain.filters import Filter, parse_filter
from recollect.ports.policy import Decision, Narrowed, Policy

log = logging.getLogger("recollect.policy")


class View(msgspec.Struct, frozen=True):
    """What of a search the caller may see, once their wish and the policy are both taken into account."""

    prefix: tuple[str, ...]
    filter: Filter


class Guard:
    """Asks scopes and roles first, then the policy. Every use-case goes through it."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        """The engine in force; replacing it is one assignment, so that no request sees half a change."""

    def permit(self, caller: Caller, action: Action) -> None:
        """Refuse what the caller's scopes and roles do not cover."""
        check_permitted(caller, action)

    async def allow(
        self,
        caller: Caller,
        action: Action,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any] | None = None,
    ) -> None:
        """Refuse unless the caller may do this to this memory."""
        check_permitted(caller, action)
        try:
            decision = await self.policy.authorize(caller, action, namespace, key, value)
        except Exception as problem:  # noqa: BLE001 - whatever an engine raises is a denial
            raise _trouble(problem) from None
        if not isinstance(decision, Decision) or decision.allow is not True:
            reason = decision.reason if isinstance(decision, Decision) else ""
            raise Forbidden("access denied", reason=reason or "access denied")

    async def extract(
        self,
        caller: Caller,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        attributes: Mapping[str, Any] | None,
        given: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        """The plain attributes of a memory: what the policy says, over what a trusted caller gave."""
        if given is not None and not caller.is_admin:
            raise Forbidden("access denied", reason="policy attributes are extracted by the policy, not given")
        if given is not None and not isinstance(given, Mapping):
            raise InvalidAttributes(f"policy attributes are an object, not {type(given).__name__}")
        try:
            extracted = await self.policy.attributes(caller, namespace, key, value, attributes)
        except Exception as problem:  # noqa: BLE001 - whatever an engine raises, nothing is written
            raise _trouble(problem) from None
        if not isinstance(extracted, Mapping):
            raise PolicyTrouble("the policy gave attributes that are none")
        return {**given, **extracted} if given else extracted

    async def view(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> View | None:  # noqa: A002 - the word of the API
        """The part of a search that both the caller asks for and the policy opens; None when that is nothing."""
        check_permitted(caller, Action.READ)
        asked = parse_filter(filter)
        try:
            narrowed = await self.policy.narrow(caller, prefix, filter)
        except Exception as problem:  # noqa: BLE001 - whatever an engine raises, nothing is shown
            raise _trouble(problem) from None
        if not _is_narrowing(narrowed):
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


def _both(asked: tuple[str, ...], opened: tuple[str, ...]) -> tuple[str, ...] | None:
    """The subtree that lies in both; None when they have nothing in common."""
    if opened[: len(asked)] == asked:
        return opened
    if asked[: len(opened)] == opened:
        raise PolicyTrouble("the policy opened more than was asked for")
    return None
