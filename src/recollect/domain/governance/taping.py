"""Taping: one step of a governed conversation, kept so that it can be run again and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from recollect.domain.governance.hearing import Exchange, Heard, heard
from recollect.domain.governance.ids import Numbering, Owners
from recollect.domain.governance.ledger import State, Store
from recollect.domain.governance.machine import Call, Recalled, Recorded, Turn, exchange, question, recall, record
from recollect.domain.governance.phases import DiffRequest, Phase, PhaseRequest, Snapshot
from recollect.domain.governance.policy import Contract, Settings
from recollect.domain.governance.recalling import Query
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.terms import Source, Space
from recollect.domain.governance.traces import Trace
from recollect.domain.instants import Instant, after_seconds

MOST_DIFFERENCES = 50
_UNRECALLED_SECONDS = 4 * 3_600.0
"""So long turns are kept that no window recalls."""


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said in a turn: in words, or, where privacy withholds those, as what was heard of them."""

    user: str | Heard
    ai: str | Heard
    tool_events: tuple[Any, ...] = ()
    tools: Heard | None = None
    """What tools did, where privacy withholds it."""

    def exchange(self, call: Call) -> Exchange:
        """What is heard of it, by the rules of now."""
        redaction = call.teller().redaction
        tools = self.tools
        if tools is None and self.tool_events:
            tools = exchange(call, Turn(user="", ai="", tool_events=self.tool_events)).tools
        return Exchange(
            user=_heard(self.user, Source.USER, redaction), ai=_heard(self.ai, Source.AI, redaction), tools=tools
        )


def _heard(said: str | Heard, source: Source, redaction: Redaction) -> Heard:
    return heard(said, source, redaction) if isinstance(said, str) else said


def kept_of(turn: Turn, call: Call) -> Said:
    """A turn as it may be kept."""
    found = exchange(call, turn)
    withheld = found.tools is not None and found.tools.flaw is not None
    return Said(
        user=turn.user if found.user.flaw is None else found.user,
        ai=turn.ai if found.ai.flaw is None else found.ai,
        tool_events=() if withheld else turn.tool_events,
        tools=found.tools if withheld else None,
    )


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step: what it began with, what was asked and said, and what came of it."""

    number: int
    at: Instant
    seen: int
    """Up to where in the log the memories were read that it began with."""
    ai_profile: str
    profile_version: int
    settings: Settings
    contract: Contract
    session: str
    user: str
    owners: Owners
    numbering: Numbering
    project: str | None = None
    phases: dict[str, tuple[Phase, ...]] = {}
    snapshots: dict[str, tuple[Snapshot, ...]] = {}
    """What there was at the end of the phases that it compared."""
    hidden: tuple[str, ...] = ()
    """Memories that were there, and that this call might not see."""
    unread: tuple[Space, ...] = ()
    """Spaces of which nothing was read."""
    unreadable: tuple[Space, ...] = ()
    unwritable: tuple[Space, ...] = ()
    phase: PhaseRequest | None = None
    diff: DiffRequest | None = None
    query: str | Query | None = None
    """What was recalled for; None when nothing was."""
    said: Said | None = None
    """What was recorded; None when nothing was."""
    recall_hash: str | None = None
    hash: str = ""
    """Of all that was told."""
    trace_id: str = ""
    captures: tuple[str, ...] = ()

    def call(self, salt: str) -> Call:
        """The call that it was."""
        return Call(
            ai_profile=self.ai_profile,
            settings=self.settings,
            session=self.session,
            owners=self.owners,
            contract=self.contract,
            phase=self.phase,
            diff=self.diff,
            salt=salt,
            unreadable=self.unreadable,
            unwritable=self.unwritable,
        )

    def turns_end(self) -> Instant | None:
        """When the turns of this step are over: where no window recalls them, they are kept for a while only."""
        return unrecalled_until(self.settings, self.at)


def unrecalled_until(settings: Settings, at: Instant) -> Instant | None:
    """When turns that are said now are over; None where a window says so."""
    return None if settings.short_term else after_seconds(at, _UNRECALLED_SECONDS)


class Done(msgspec.Struct, frozen=True):
    """What a step came to."""

    recalled: Recalled | None
    recorded: Recorded | None
    state: State

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All that was told, in order."""
        return (*(self.recalled.traces if self.recalled else ()), *(self.recorded.traces if self.recorded else ()))


def taken(state: State, call: Call, query: str | Query | None, said: Said | None) -> Done:
    """Take a step: recall, record, or both."""
    found = done = None
    if query is not None:
        found = recall(state, call, question(state, call, query) if isinstance(query, str) else query)
        state = found.state
    if said is not None:
        done = record(state, call, said.exchange(call))
        state = done.state
    return Done(found, done, state)


def query_of(state: State, call: Call, text: str) -> str | Query:
    """A query as it may be kept: in words, unless privacy withholds those."""
    return question(state, call, text) if call.teller().redaction.withholds(text) else text


def hash_of(events: Sequence[Any]) -> str:
    """The hash of what was told."""
    return sha256(msgspec.json.encode(events, order="sorted")).hexdigest()


def beginning(step: Step, stores: dict[str, Store]) -> State:
    """The state that a step began with, from what the stores held then."""
    hidden = set(step.hidden)
    seen = {}
    for space in Space:
        key = step.owners.store_key(space)
        store = Store() if space in step.unread else stores.get(key, Store())
        items = tuple(each for each in store.items if each.id not in hidden)
        seen[key] = Store(items, step.phases.get(key, ()), step.snapshots.get(key, ()))
    return State(step.numbering, seen)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay tells something else than was told."""

    turn: int
    event: int
    """Which event of the turn, from 1; 0 for the turn as a whole."""
    type: str
    path: str
    recorded: Any = None
    replayed: Any = None


def differences(number: int, recorded: Sequence[Any], replayed: Sequence[Any]) -> list[Difference]:
    """Where the events of a turn differ, by event and path."""
    found: list[Difference] = []
    for place in range(max(len(recorded), len(replayed))):
        before = recorded[place] if place < len(recorded) else None
        after = replayed[place] if place < len(replayed) else None
        kind = str((before or after or {}).get("type", ""))
        if before is None or after is None:
            what = [("", None if before is None else kind, None if after is None else kind)]
        else:
            what = list(_unlike("", before, after))
        found += [
            Difference(turn=number, event=place + 1, type=kind, path=path, recorded=one, replayed=other)
            for path, one, other in what
        ]
        if len(found) >= MOST_DIFFERENCES:
            break
    return found[:MOST_DIFFERENCES]


def _unlike(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from _unlike(f"{path}.{name}" if path else name, one.get(name), other.get(name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True), 1):
            yield from _unlike(f"{path}.{place}", mine, theirs)
    elif one != other:
        yield path, one, other
