"""Policies: which one is in force in a tenant, how another takes its place, and what that would change."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.domain.address import Address, namespace
from recollect.domain.bundles import KEPT_VERSIONS, Bundle, Package, bundle_of
from recollect.domain.callers import SYSTEM_TENANT, Action, Caller, Role, check_permitted, local_caller
from recollect.domain.commits import Delete, Expect, Put
from recollect.domain.errors import Forbidden, InvalidBundle, NotFound, PolicyTrouble, Unsupported
from recollect.domain.instants import datetime_of
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.text import flaw_in
from recollect.domain.values import encode_value, stored_value
from recollect.ports.policy import Decision, Engine, Explanation, Policy, Question, Report
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork
from recollect.service.audit import MAX_JUSTIFICATION, Audit, Audited
from recollect.service.canaries import put_canaries
from recollect.service.decisions import Asked, Decisions
from recollect.service.guard import InForce
from recollect.service.rules import Rules

log = logging.getLogger("recollect.policy")
_SHELF = namespace(("policy",))
_VERSIONS = namespace(("policy", "version"))
ACTIVE = Address(Plane.POLICY, _SHELF, "active")
_MOST_TENANTS = 10_000


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One policy that was in force once, or is."""

    number: int
    """Counted from 1; 0 stands for the policy of the service, which is the built-in one unless it has its own."""
    digest: str
    source: str
    note: str
    by: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The policy in force, with its texts, and the versions that can be gone back to."""

    version: PolicyVersion
    modules: Mapping[str, str]
    packages: tuple[Package, ...]
    """Those that it has itself; the built-in ones stand in for the others."""
    versions: tuple[PolicyVersion, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that would be another one."""

    asked: Asked
    before: Decision
    after: Decision


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a policy would have decided otherwise, of all that was asked lately."""

    tried: int
    changes: tuple[Change, ...]
    report: Report


@dataclass(frozen=True, slots=True)
class _State:
    """What a tenant's rows say: which version is in force, and at which revision they say so."""

    revision: int
    number: int
    bundle: Bundle | None


@dataclass(slots=True)
class _Known:
    stamp: object
    own: _State
    base: _State | None
    generation: int
    in_force: InForce


class Policies:
    """The policies of all tenants. A tenant without its own goes by that of the service."""

    def __init__(self, store: Store, engine: Engine, audit: Audit, decisions: Decisions, rules: Rules) -> None:
        self._store = store
        self._rules = rules
        self._engine = engine
        self._audit = audit
        self._decisions = decisions
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._generation = 0

    # -- deciding

    async def in_force(self, tenant: str) -> InForce:
        """The policy of a tenant, as of now: what any process put in force before is noticed at once."""
        stamp = self._store.stamp()
        known = self._known.get(tenant)
        if known is not None and known.stamp == stamp and known.generation == self._generation:
            return known.in_force
        own, base = await self._store.get_each(((tenant, ACTIVE), (SYSTEM_TENANT, ACTIVE)))
        return await self._following(tenant, stamp, own, base)

    async def in_force_with(self, tenant: str, address: Address, store: Store) -> tuple[InForce, Row | None]:
        """The policy of a tenant and what is at an address, as of now: where a server is asked, with one question."""
        stamp = store.stamp()
        known = self._known.get(tenant)
        if known is not None and known.stamp == stamp and known.generation == self._generation:
            return known.in_force, await store.get(tenant, address)
        places = ((tenant, ACTIVE), (SYSTEM_TENANT, ACTIVE), (tenant, address))
        own, base, row = await store.get_each(places)
        return await self._following(tenant, stamp, own, base), row

    async def _following(self, tenant: str, stamp: object, own_row: Row | None, base_row: Row | None) -> InForce:
        """What these rows put in force: what is known already, unless they changed."""
        known, generation = self._known.get(tenant), self._generation
        own = await self._state_of(tenant, own_row, known.own if known else None)
        base = None if own.number else await self._state_of(SYSTEM_TENANT, base_row, known.base if known else None)
        if known is not None and (known.own, known.base, known.generation) == (own, base, generation):
            known.stamp = stamp
            return known.in_force
        bundle = own.bundle if own.number else base.bundle if base else None
        policy = await self._engine.policy(bundle)
        in_force = InForce(policy, (Expect(ACTIVE, own.revision),))
        self._known[tenant] = _Known(stamp, own, base, generation, in_force)
        while len(self._known) > _MOST_TENANTS:
            self._known.popitem(last=False)
        return in_force

    async def _state(self, tenant: str) -> _State:
        return await self._state_of(tenant, await self._store.get(tenant, ACTIVE), None)

    async def _state_of(self, tenant: str, row: Row | None, before: _State | None) -> _State:
        if row is None or row.value is None:
            return _State(0, 0, None)
        if before is not None and before.revision == row.revision:
            return before
        number = int(stored_value(row.value)["number"])
        return _State(row.revision, number, await self._bundle(tenant, number) if number else None)

    async def _bundle(self, tenant: str, number: int) -> Bundle:
        row = await self._store.get(tenant, _version_address(number))
        if row is None or row.value is None:
            raise PolicyTrouble(f"version {number} of the policy is in force, but gone")
        return bundle_of(stored_value(row.value)["modules"])

    def counts(self) -> tuple[int, int]:
        """How many evaluations there were so far, and how many of them had to be broken off."""
        return self._engine.counts()

    async def configure(self, facts: Mapping[str, Any]) -> None:
        """What policies may know of the settings; from the next request on."""
        await self._engine.configure(facts)
        self._generation += 1

    # -- showing

    async def show(self, by: Caller, *, service: bool = False) -> PolicyInForce:
        """The policy in force, and the versions before it."""
        check_permitted(by, Action.SHOW_POLICY)
        return await self._shown(_tenant(by, service=service))

    async def _shown(self, tenant: str) -> PolicyInForce:
        state = await self._state(tenant)
        versions = await self._versions(tenant)
        found = next((each for each in versions if each.number == state.number), None)
        bundle = state.bundle
        if bundle is None and tenant != SYSTEM_TENANT:
            bundle = (await self._state(SYSTEM_TENANT)).bundle
        shown = bundle or self._engine.defaults()
        version = found or PolicyVersion(0, shown.digest, "service" if bundle else "built-in", "", "", None)
        packages = self._engine.packages(shown)
        return PolicyInForce(version, dict(shown.modules), packages, versions)

    async def _versions(self, tenant: str) -> tuple[PolicyVersion, ...]:
        query = Find(Plane.POLICY, _VERSIONS, order=Order.KEY, limit=1_000)
        rows = (await self._store.find(tenant, query)).rows
        return tuple(reversed([_version(row) for row in rows]))

    # -- changing

    async def check(self, by: Caller, modules: object) -> Report:
        """What there is to say against a bundle, without putting it in force."""
        check_permitted(by, Action.CHANGE_POLICY)
        return await self._checked(bundle_of(modules))

    async def _checked(self, bundle: Bundle) -> Report:
        report = await self._engine.check(bundle)
        if not self._engine.manages:
            raise Unsupported(report.problems[0].message)
        if report.problems:
            return report
        policy = await self._engine.policy(bundle)
        return Report(report.problems, (*report.checks, *await put_canaries(policy)), report.packages)

    async def push(self, by: Caller, modules: object, *, note: str = "", service: bool = False) -> PolicyInForce:
        """Put a bundle in force, once it is compiled, its tests pass, and it denies what every policy must."""
        check_permitted(by, Action.CHANGE_POLICY)
        if not service and not self._rules.tenant_policies:
            raise Forbidden("access denied", reason="tenants have no policies of their own here")
        await self._push(by, _tenant(by, service=service), bundle_of(modules), "api", _checked_note(note))
        return await self._shown(_tenant(by, service=service))

    async def follow(self, by: Caller, modules: Mapping[str, str]) -> bool:
        """Put what a directory holds in force for the service, unless that was done before; True if it was now.

        A version that was put in force since, by hand, stays until the directory changes again.
        """
        bundle = bundle_of(modules)
        row = await self._store.get(SYSTEM_TENANT, ACTIVE)
        followed = None if row is None or row.value is None else stored_value(row.value).get("followed")
        if followed == bundle.digest:
            return False
        await self._push(by, SYSTEM_TENANT, bundle, "directory", "")
        return True

    async def rollback(self, by: Caller, number: int | None = None, *, service: bool = False) -> PolicyInForce:
        """Put an earlier version in force again; the one before the present one, unless a number is given."""
        check_permitted(by, Action.CHANGE_POLICY)
        tenant = _tenant(by, service=service)
        present = (await self._state(tenant)).number
        versions = await self._versions(tenant)
        if number is None:
            number = next((each.number for each in versions if each.number < present), 0)
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InvalidBundle("a version is a whole number from 0")
        if number and number not in {each.number for each in versions}:
            raise NotFound(f"there is no version {number} of the policy; the last {KEPT_VERSIONS} are kept")
        if number:
            _refuse_unsound(await self._checked(await self._bundle(tenant, number)))
        await self._activate(by, tenant, number, None, Audited.POLICY_ROLLED_BACK, {})
        return await self._shown(_tenant(by, service=service))

    async def _push(self, by: Caller, tenant: str, bundle: Bundle, source: str, note: str) -> None:
        _refuse_unsound(await self._checked(bundle))
        said = {
            "modules": dict(bundle.modules),
            "digest": bundle.digest,
            "source": source,
            "note": note,
            "by": by.actor or by.credential,
        }
        await self._activate(by, tenant, None, said, Audited.POLICY_PUSHED, {"digest": bundle.digest, "source": source})

    async def _activate(
        self,
        by: Caller,
        tenant: str,
        number: int | None,
        version: Mapping[str, Any] | None,
        action: Audited,
        details: Mapping[str, Any],
    ) -> None:
        """Put a version in force, a new one or an old one, in one commit with the entry that tells of it."""

        async def work(unit: UnitOfWork) -> None:
            row = await unit.get(ACTIVE)
            before: Mapping[str, Any] = {} if row is None or row.value is None else stored_value(row.value)
            last, was = int(before.get("last", 0)), int(before.get("number", 0))
            new = last + 1 if number is None else number
            state = {"number": new, "last": max(last, new), "followed": before.get("followed")}
            if version is not None:
                if version["source"] == "directory":
                    state["followed"] = version["digest"]
                unit.write(Put(_version_address(new), encode_value(version)))
                for old in (await unit.find(Find(Plane.POLICY, _VERSIONS, order=Order.KEY, limit=1_000))).rows:
                    if int(old.address.key) <= new - KEPT_VERSIONS and int(old.address.key) != was:
                        unit.write(Delete(old.address))
            unit.write(Put(ACTIVE, encode_value(state)))
            unit.write(self._audit.entry(by, action, {**details, "from": was, "to": new}))

        await self._store.transact(tenant, work, actor=by.actor)
        log.info("policy.activated", extra={"fields": {"tenant": tenant, "action": action.value}})
        if tenant == SYSTEM_TENANT:
            await self._tell_tenants(by)

    async def _tell_tenants(self, by: Caller) -> None:
        """Let every tenant that goes by the policy of the service know, so that no write is decided by the old one."""
        for tenant in await self._store.tenants():
            if tenant == SYSTEM_TENANT:
                continue

            async def work(unit: UnitOfWork) -> None:
                row = await unit.get(ACTIVE)
                before: Mapping[str, Any] = {} if row is None or row.value is None else stored_value(row.value)
                if not before.get("number"):
                    unit.write(Put(ACTIVE, encode_value({**before, "number": 0, "last": before.get("last", 0)})))
                    unit.write(self._audit.entry(by, Audited.POLICY_OF_SERVICE, {}))

            await self._store.transact(tenant, work, actor=by.actor)

    # -- explaining

    async def explain(self, by: Caller, question: Question, modules: object = None) -> Explanation:
        """Why the policy in force, or a bundle that is given, says what it says."""
        check_permitted(by, Action.SHOW_POLICY)
        bundle = await self._bundle_in_force(by.tenant) if modules is None else bundle_of(modules)
        try:
            return await self._engine.explain(bundle, question)
        except PolicyTrouble as trouble:
            if modules is None or bundle is None:
                raise
            _refuse_unsound(Report((await self._engine.check(bundle)).problems))  # this tells where it goes wrong
            raise InvalidBundle(f"the policy gives no usable answer: {trouble.message}") from None

    async def simulate(self, by: Caller, modules: object) -> Simulation:
        """What a bundle would decide otherwise than the policy in force, of all that was asked lately."""
        check_permitted(by, Action.CHANGE_POLICY)
        bundle = bundle_of(modules)
        report = await self._checked(bundle)
        if report.problems:
            return Simulation(0, (), report)
        await self._decisions.keep()
        before = (await self.in_force(by.tenant)).policy
        after = await self._engine.policy(bundle)
        asked = await self._decisions.of(by.tenant)
        changes = []
        for each in asked:
            value = await self._value(by.tenant, each)
            first, second = await _decided(before, each, value), await _decided(after, each, value)
            if first.allow != second.allow:
                changes.append(Change(each, first, second))
        return Simulation(len(asked), tuple(changes), report)

    async def _value(self, tenant: str, asked: Asked) -> Mapping[str, Any] | None:
        """What a write that was asked for may have written: what is there now."""
        if asked.action is not Action.WRITE:
            return None
        row = await self._store.get(tenant, Address(Plane.ITEM, namespace(asked.namespace, 64), asked.key))
        return {} if row is None or row.value is None else stored_value(row.value)

    async def _bundle_in_force(self, tenant: str) -> Bundle | None:
        own = await self._state(tenant)
        return own.bundle if own.number else (await self._state(SYSTEM_TENANT)).bundle

    async def warm_up(self) -> None:
        """Have everything started that the first decision would wait for; what is wrong, that one will say."""
        with suppress(PolicyTrouble):
            policy = (await self.in_force(SYSTEM_TENANT)).policy
            await policy.authorize(local_caller(SYSTEM_TENANT), Action.READ, ("system",), "k")

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()


async def _decided(policy: Policy, asked: Asked, value: Mapping[str, Any] | None) -> Decision:
    try:
        return await policy.authorize(asked.caller, asked.action, asked.namespace, asked.key, value)
    except PolicyTrouble as trouble:
        return Decision(False, trouble.message)


def _tenant(by: Caller, *, service: bool) -> str:
    if not service:
        return by.tenant
    if Role.OPERATOR not in by.roles:
        raise Forbidden("access denied", reason="the policy of the service is an operator's business")
    return SYSTEM_TENANT


def _checked_note(note: object) -> str:
    if not isinstance(note, str) or len(note) > MAX_JUSTIFICATION or flaw_in(note):
        raise InvalidBundle(f"a note is text of at most {MAX_JUSTIFICATION:,} characters")
    return note


def _refuse_unsound(report: Report) -> None:
    if report.sound:
        return
    problems = [
        {"message": problem.message, "module": problem.module, "line": problem.line} for problem in report.problems
    ]
    failed = [{"check": check.name, "note": check.note} for check in report.checks if not check.passed]
    first = problems[0]["message"] if problems else f"{failed[0]['check']}: {failed[0]['note'] or 'failed'}"
    raise InvalidBundle(f"the policy is refused: {first}", problems=problems, failed=failed)


def _version_address(number: int) -> Address:
    return Address(Plane.POLICY, _VERSIONS, f"{number:08d}")


def _version(row: Row) -> PolicyVersion:
    said: Mapping[str, Any] = stored_value(row.value or b"{}")
    return PolicyVersion(
        int(row.address.key), said["digest"], said["source"], said["note"], said["by"], datetime_of(row.created_at)
    )
