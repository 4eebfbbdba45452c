"""Tuning at run time: what operators changed, kept beside the data and followed by every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.domain.address import Address, namespace
from recollect.domain.callers import SYSTEM_TENANT, Action, Caller, check_permitted
from recollect.domain.commits import Put
from recollect.domain.errors import InvalidSetting
from recollect.domain.reasons import Plane
from recollect.domain.tuning import TUNABLE, checked_tuning
from recollect.domain.values import encode_value, stored_value
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork
from recollect.service.audit import Audit, Audited
from recollect.service.rules import Rules

_PLACE = Address(Plane.SETTING, namespace(("setting",)), "service")


@dataclass(frozen=True, slots=True)
class Tuned:
    """The settings that can be changed at run time, and which of them were."""

    settings: Mapping[str, float]
    changed: tuple[str, ...]


class Tuning:
    """What was changed at run time takes precedence over what the service was started with."""

    def __init__(self, store: Store, audit: Audit, rules: Rules) -> None:
        self._store = store
        self._audit = audit
        self._rules = rules
        self._configured = Rules()
        self._configured.follow(rules)
        self._stamp: object = object()

    async def show(self, by: Caller) -> Tuned:
        """The settings as they are in force."""
        check_permitted(by, Action.CHANGE_SETTINGS)
        changed = await self.follow()
        return Tuned({name: getattr(self._rules, name) for name in TUNABLE}, tuple(sorted(changed)))

    async def change(self, by: Caller, settings: Mapping[str, float | None]) -> Tuned:
        """Change some; None takes a change back. All processes follow within a second or so."""
        check_permitted(by, Action.CHANGE_SETTINGS)
        if not isinstance(settings, Mapping) or not settings:
            raise InvalidSetting(f"say which setting to change: {', '.join(TUNABLE)}")
        for name, value in settings.items():
            checked_tuning(name, TUNABLE[name].low if value is None and name in TUNABLE else value)

        async def work(unit: UnitOfWork) -> None:
            row = await unit.get(_PLACE)
            before = {} if row is None or row.value is None else stored_value(row.value)
            after = {name: value for name, value in {**before, **settings}.items() if value is not None}
            unit.write(Put(_PLACE, encode_value(after)))
            unit.write(self._audit.entry(by, Audited.SETTINGS_CHANGED, {"settings": dict(settings)}))

        await self._store.transact(SYSTEM_TENANT, work, actor=by.actor)
        return await self.show(by)

    async def follow(self, configured: Rules | None = None) -> Mapping[str, float]:
        """Bring the rules up to date: as configured, and over that what was changed at run time."""
        if configured is not None:
            self._configured.follow(configured)
        row = await self._store.get(SYSTEM_TENANT, _PLACE)
        changed = {} if row is None or row.value is None else stored_value(row.value)
        fresh = Rules()
        fresh.follow(self._configured)
        for name, value in changed.items():
            setattr(fresh, name, value)
        self._rules.follow(fresh)
        return changed
