"""The built-in rule: everybody has their own subtree `user/<user_id>`; admins have everything in their tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.bundles import Bundle, Package
from recollect.domain.callers import Action, Caller, Role
from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Decision, Engine, Narrowed, Policy, Problem, Report, Review, Verdict

OWN_ROOT = "user"
_ALLOWED = Decision(True)
_DENIED = Decision(False, "access denied")


class BuiltinPolicy(Policy):
    """The rule in plain Python. `filterable` names sealed attributes that are also kept plain, to filter by."""

    version = "built-in"

    def __init__(self, filterable: Sequence[str] = ()) -> None:
        self._filterable = tuple(filterable)
        self.extraction = f"built-in:{','.join(sorted(filterable))}"

    async def authorize(
        self, caller: Caller, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> Decision:
        """Own subtree, or admin; whatever the action."""
        if action is Action.REVIEW:
            return _ALLOWED if caller.is_admin or Role.REVIEWER in caller.roles else _DENIED
        own = len(namespace) > 1 and namespace[0] == OWN_ROOT and namespace[1] == caller.user_id
        return _ALLOWED if own or caller.is_admin else _DENIED

    async def attributes(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], attributes: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """The first two segments, and those of the given attributes that were named as filterable."""
        found: dict[str, Any] = {"namespace": namespace[0], "sub": namespace[1]} if len(namespace) > 1 else {}
        for name in self._filterable if attributes else ():
            given = attributes.get(name) if attributes else None
            if isinstance(given, str | int | float | list):
                found[name] = given
        return found

    async def narrow(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> Narrowed:  # noqa: A002 - the word of the API
        """Admins as asked; others within their own subtree.

        No filter on `namespace` and `sub` is added: both follow from the prefix, also for events whose
        attributes are no longer kept.
        """
        asked = tuple(prefix)
        own = (OWN_ROOT, caller.user_id)
        return Narrowed(asked if caller.is_admin or asked[:2] == own else own)

    async def review(self, caller: Caller, proposal: Mapping[str, Any]) -> Review:
        """People decide, except about what an agent notes for itself."""
        if proposal.get("origin") == "noted" and proposal.get("risk") != "high":
            return Review(Verdict.APPROVE, "the agent noted it for itself", "noted_by_agent")
        return Review(Verdict.REVIEW, "no rule approves it", "default")


class BuiltinEngine(Engine):
    """Has that one rule, and takes no other."""

    manages = False

    def __init__(self, filterable: Sequence[str] = ()) -> None:
        self._policy = BuiltinPolicy(filterable)

    async def check(self, bundle: Bundle) -> Report:
        """No bundle is ever good enough."""
        return Report((Problem("the built-in rule cannot be replaced"),))

    def defaults(self) -> Bundle:
        """There is no text of it."""
        return Bundle(())

    def packages(self, bundle: Bundle) -> tuple[Package, ...]:
        """None."""
        return ()

    async def policy(self, bundle: Bundle | None) -> BuiltinPolicy:
        """Always the same; a bundle that was put in force by another engine is not passed over."""
        if bundle is not None:
            raise PolicyTrouble("a policy is in force that the built-in rule cannot stand in for")
        return self._policy

    async def configure(self, facts: Mapping[str, Any]) -> None:
        """Which attributes are kept plain."""
        self._policy = BuiltinPolicy(facts.get("filterable_attributes", ()))
