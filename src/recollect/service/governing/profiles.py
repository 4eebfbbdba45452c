"""Profiles: what the memory of an AI is set to, stored and versioned; every turn says under which it was taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.address import Address, namespace
from recollect.domain.callers import Action
from recollect.domain.commits import Commit, Put, checked_revision
from recollect.domain.errors import InvalidRequest, InvalidSetting, NotFound
from recollect.domain.governance.policy import (
    DENY_PATTERNS,
    Contract,
    KindRule,
    Privacy,
    RetentionRule,
    Settings,
    SpaceRules,
    contract_of,
)
from recollect.domain.governance.terms import Authority, EventType, Kind
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.text import shown
from recollect.service.pipeline.person import Person

DEFAULT = "default"
SHIPPED = Settings(short_term=10, semantic=True, profile=True)
"""The settings of the default profile, until somebody sets others."""
MOST_PROFILES = 1_000
_PLACE = namespace(("profiles",))
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HISTORY = 1_000


class Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a profile says beyond its settings. Privacy can be made stricter, never laxer."""

    allow_event_types: tuple[EventType, ...] = ()
    deny_event_types: tuple[EventType, ...] = ()
    deny_patterns: tuple[str, ...] = ()
    """Refused besides what is always refused."""
    allow_profile_keys: tuple[str, ...] | None = None
    retention: dict[Kind, dict[EventType, RetentionRule]] = {}
    """In place of what follows from the forget policy, for the event types that are named."""
    promotion: dict[Kind, KindRule] = {}
    authority_order: tuple[Authority, ...] | None = None
    spaces: SpaceRules | None = None

    def contract(self, settings: Settings) -> Contract:
        """The contract that holds."""
        usual = contract_of(settings)
        retention = {kind: {**rules, **self.retention.get(kind, {})} for kind, rules in usual.retention.items()}
        privacy = usual.privacy
        keys = privacy.allow_profile_keys if self.allow_profile_keys is None else self.allow_profile_keys
        patterns = (*DENY_PATTERNS, *(each for each in self.deny_patterns if each not in DENY_PATTERNS))
        return msgspec.structs.replace(
            usual,
            allow_event_types=self.allow_event_types,
            deny_event_types=self.deny_event_types,
            privacy=Privacy(deny_patterns=patterns, allow_profile_keys=keys),
            retention=retention,
            promotion={**usual.promotion, **self.promotion},
            authority_order=usual.authority_order if self.authority_order is None else self.authority_order,
            spaces=usual.spaces if self.spaces is None else self.spaces,
        )


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in one of its versions; version 0 is the one that ships."""

    name: str
    version: int
    settings: Settings
    terms: Terms = Terms()
    at: Instant | None = None

    @property
    def contract(self) -> Contract:
        """The contract that it stands for."""
        return self.terms.contract(self.settings)

    @property
    def rule(self) -> str:
        """How records name what let them in."""
        return f"profile:{self.name}@{self.version}"

    def told(self) -> dict[str, Any]:
        """The profile as callers see it, with the contract that follows from it."""
        return {
            "name": self.name,
            "version": self.version,
            "settings": _plain(self.settings) | _plain(self.terms),
            "contract": self.contract.snapshot(),
            "at": shapes.written(self.at),
        }


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return plain


def read_profile(given: object) -> tuple[Settings, Terms]:
    """The settings and terms in what a caller gives, refused with a clear message when there is something else."""
    if not isinstance(given, Mapping):
        raise InvalidRequest("settings are an object", field="settings")
    own, others = set(Settings.__struct_fields__), set(Terms.__struct_fields__)
    for name in given:
        if name not in own | others:
            known = ", ".join(sorted(own | others))
            raise InvalidRequest(f"{shown(name)} is no setting of a profile; there are {known}", field="settings")
    for name in ("short_term", "semantic_top_k", "short_term_token_budget", "phase_max_phases"):
        value = given.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000):
            raise InvalidRequest(f"{name} is a whole number from 0 to 10,000, not {shown(value)}", field=name)
    try:
        settings = msgspec.convert({name: given[name] for name in given if name in own}, Settings)
        terms = msgspec.convert({name: given[name] for name in given if name in others}, Terms)
    except (msgspec.ValidationError, InvalidSetting) as problem:
        raise InvalidRequest(f"these are no settings of a profile: {problem}", field="settings") from None
    return settings, terms


def _read(row: Row) -> Profile:
    told = msgspec.json.decode(row.value or b"{}")
    settings, terms = read_profile(told)
    return Profile(name=row.address.key, version=row.revision, settings=settings, terms=terms, at=row.written_at)


class Profiles(Person):
    """The profiles of a tenant, in the name of one caller."""

    async def put_profile(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Set what the memory of an AI does, as a new version of its profile. Administrators do.

        Turns that were taken under an earlier version stay as they are, and replay under that one.
        """
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.CHANGE_POLICY)
        address = _address(name)
        mine, terms = read_profile(settings)
        value = msgspec.json.encode(_plain(mine) | _plain(terms))
        put = Put(address, value, expected_revision=checked_revision(expected_version))
        receipt = await self._workings.store.commit(Commit(self._tenant, (put,), actor=self._actor))
        done = receipt.outcomes[0]
        return Profile(name=name, version=done.revision, settings=mine, terms=terms, at=done.written_at).told()

    async def get_profile(self, name: str, *, version: int | None = None) -> dict[str, Any]:
        """A profile as it is now, or in an earlier version."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.READ)
        return (await self._profile(name, version)).told()

    async def list_profiles(self) -> dict[str, Any]:
        """The profiles of the tenant, by name; the one that ships is always among them."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.READ)
        query = Find(Plane.SETTING, _PLACE, order=Order.KEY, limit=MOST_PROFILES)
        page = await self._workings.store.find(self._tenant, query)
        known = {row.address.key: _read(row) for row in page.rows if row.value is not None}
        known.setdefault(DEFAULT, Profile(name=DEFAULT, version=0, settings=SHIPPED))
        return {"profiles": [known[name].told() for name in sorted(known)]}

    async def _profile(self, name: str, version: int | None = None) -> Profile:
        address = _address(name)
        if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
            raise InvalidRequest(f"a version is a whole number from 0, not {shown(version)}", field="version")
        store = self._workings.store
        row = await store.get(self._tenant, address)
        if version is not None and version > 0 and (row is None or row.revision != version):
            past = await store.history(self._tenant, address, limit=1, before=version + 1)
            row = next((each for each in past if each.revision == version), None)
        elif version == 0:
            row = None
        if row is not None and row.value is not None:
            return _read(row)
        if name == DEFAULT and not version:
            return Profile(name=DEFAULT, version=0, settings=SHIPPED)
        raise NotFound("profile not found")


def _address(name: object) -> Address:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InvalidRequest(
            "a profile is named by letters, digits, dots, - and _, at most 64 of them", field="profile"
        )
    return Address(Plane.SETTING, _PLACE, name)
