"""Workings: what the memories of all callers have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.domain.address import MAX_DEPTH
from recollect.domain.retention import Retention
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Keyring
from recollect.ports.store import Store
from recollect.service.guard import Guard
from recollect.service.tokens import Tokens
from recollect.service.transfer import Transfer


@dataclass(slots=True)
class Rules:
    """What may change while the service runs, shared by everything that is open."""

    max_depth: int = MAX_DEPTH
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class Workings:
    """What all callers' memories have in common: the store, the keys, the guard, the time."""

    store: Store
    keyring: Keyring
    clock: Clock
    ids: Ids
    guard: Guard
    tokens: Tokens
    transfer: Transfer
    rules: Rules

    @staticmethod
    def over(store: Store, keyring: Keyring, *, clock: Clock, ids: Ids, guard: Guard, rules: Rules) -> Workings:
        """The workings over a store and its keys."""
        return Workings(store, keyring, clock, ids, guard, Tokens(store, guard, clock), Transfer(store, guard), rules)
