"""Policy: the settings of an AI profile, and the contract that follows from them."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.errors import InvalidSetting
from recollect.domain.governance.terms import (
    GOVERNED,
    Authority,
    EventType,
    ForgetPolicy,
    Kind,
    PhaseMode,
    Space,
    WritePolicy,
)

DECAY_TICKS = {
    EventType.CONTEXT: 12,
    EventType.CORRECTION: 45,
    EventType.DECISION: 40,
    EventType.EXECUTION: 18,
    EventType.FACT: 60,
    EventType.PREFERENCE: 40,
}
TTL_TICKS = 25
DENY_PATTERNS = (
    "password",
    "secret",
    "token",
    "api key",
    "apikey",
    "credit card",
    "ssn",
    "social security",
    "private key",
)
PROFILE_KEYS = ("name", "timezone", "language", "project", "editor", "units")
_CARRIED = (EventType.PREFERENCE, EventType.DECISION, EventType.FACT, EventType.CORRECTION)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an AI profile says about memory; only the first three are usually said."""

    short_term: int = 0
    """Messages of the conversation that are recalled; 0 for none. One exchange is two messages."""
    semantic: bool = False
    profile: bool = False
    short_term_token_budget: int | None = None
    """Shown, never enforced: the compiler has the budget."""
    semantic_top_k: int = 3
    write_policy: WritePolicy = WritePolicy.NORMAL
    forget_policy: ForgetPolicy = ForgetPolicy.DECAY
    dedupe_enabled: bool = True
    allow_cross_phase_recall: bool = False
    phase_enabled: bool = True
    phase_max_phases: int | None = None
    phase_diff_enabled: bool = True

    def __post_init__(self) -> None:
        for name in ("short_term", "semantic_top_k"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidSetting(f"{name} is a whole number from 0, not {value!r}")

    @property
    def phase_mode(self) -> PhaseMode:
        """Which phases a recall sees."""
        return PhaseMode.CURRENT_PLUS_HISTORY if self.allow_cross_phase_recall else PhaseMode.CURRENT_ONLY


class RetentionRule(msgspec.Struct, frozen=True):
    """How long an item is kept."""

    mode: ForgetPolicy = ForgetPolicy.NEVER
    ttl_ticks: int | None = None


class KindRule(msgspec.Struct, frozen=True):
    """Which event types a kind of memory accepts; none named means all."""

    allowed_event_types: tuple[EventType, ...] = ()


class Privacy(msgspec.Struct, frozen=True):
    """What must not be written, and which profile facts may be."""

    deny_patterns: tuple[str, ...] = DENY_PATTERNS
    """Each refuses every text that contains it, in whatever case and wherever in a word."""
    allow_profile_keys: tuple[str, ...] = PROFILE_KEYS
    deny_sensitive: bool = True


class SpacePromotion(msgspec.Struct, frozen=True):
    """A way from one space to another, and who may take it."""

    from_space: Space
    to_space: Space
    allowed_event_types: tuple[EventType, ...] = _CARRIED
    min_authority: Authority = Authority.USER_ASSERTED
    decision_override: bool = False
    """Decisions need only the user's word."""


class SpaceRules(msgspec.Struct, frozen=True):
    """Which spaces are read and written, and the ways between them."""

    read_order: tuple[Space, ...] = tuple(Space)
    write_spaces: tuple[Space, ...] = (Space.SESSION,)
    promotions: tuple[SpacePromotion, ...] = (
        SpacePromotion(Space.SESSION, Space.USER),
        SpacePromotion(Space.SESSION, Space.PROJECT, _CARRIED, Authority.TOOL_VERIFIED, True),
        SpacePromotion(Space.USER, Space.PROJECT),
    )


class PhaseRules(msgspec.Struct, frozen=True):
    """Whether phases are begun and compared, and which are seen."""

    enabled: bool = True
    mode: PhaseMode = PhaseMode.CURRENT_ONLY
    allow_cross_phase_recall: bool = False
    max_phases: int | None = None
    diff_enabled: bool = True


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """The policy in full, as it is enforced and as traces show it."""

    write_policy: WritePolicy
    allow_event_types: tuple[EventType, ...] = ()
    deny_event_types: tuple[EventType, ...] = ()
    retention: dict[Kind, dict[EventType, RetentionRule]]
    promotion: dict[Kind, KindRule]
    privacy: Privacy = Privacy()
    authority_order: tuple[Authority, ...] = tuple(Authority)
    spaces: SpaceRules = SpaceRules()
    phase: PhaseRules = PhaseRules()

    def snapshot(self) -> dict[str, Any]:
        """The contract as traces of decisions show it."""
        return _plain(self)

    def phase_snapshot(self) -> dict[str, Any]:
        """The part of the contract that traces about phases show."""
        return {"phase": _plain(self.phase)}


def contract_of(settings: Settings) -> Contract:
    """The contract that a profile's settings stand for. Only semantic memory is forgotten by policy."""
    phase = PhaseRules(
        settings.phase_enabled,
        settings.phase_mode,
        settings.allow_cross_phase_recall,
        settings.phase_max_phases,
        settings.phase_diff_enabled,
    )
    kept: dict[EventType, RetentionRule] = dict.fromkeys(GOVERNED, RetentionRule())
    forgotten: dict[EventType, RetentionRule] = {each: _retention(settings.forget_policy, each) for each in GOVERNED}
    return Contract(
        write_policy=settings.write_policy,
        retention={Kind.SHORT_TERM: kept, Kind.SEMANTIC: forgotten, Kind.PROFILE: kept},
        promotion={
            Kind.SHORT_TERM: KindRule(GOVERNED),
            Kind.SEMANTIC: KindRule(GOVERNED),
            Kind.PROFILE: KindRule((EventType.FACT, EventType.CORRECTION)),
        },
        phase=phase,
    )


def _retention(policy: ForgetPolicy, event_type: EventType) -> RetentionRule:
    if policy is ForgetPolicy.NEVER:
        return RetentionRule()
    return RetentionRule(policy, TTL_TICKS if policy is ForgetPolicy.TTL else DECAY_TICKS[event_type])


def recall_policy(settings: Settings, contract: Contract) -> dict[str, Any]:
    """The policy as the trace of a recall shows it: the settings one by one, then the contract."""
    flat = {
        "short_term": settings.short_term,
        "semantic": settings.semantic,
        "profile": settings.profile,
        "short_term_max_turns": settings.short_term,
        "short_term_token_budget": settings.short_term_token_budget,
        "semantic_top_k": settings.semantic_top_k,
        "write_policy": settings.write_policy.value,
        "forget_policy": settings.forget_policy.value,
        "dedupe_enabled": settings.dedupe_enabled,
        "phase_mode": settings.phase_mode.value,
        "allow_cross_phase_recall": settings.allow_cross_phase_recall,
        "phase_enabled": settings.phase_enabled,
        "phase_max_phases": settings.phase_max_phases,
        "phase_diff_enabled": settings.phase_diff_enabled,
    }
    return flat | contract.snapshot()


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return plain
