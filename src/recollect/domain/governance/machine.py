"""Machine: a turn of a governed conversation, recalled and recorded, as a function from state to state.

Nothing is stored here. A service reads the state of a call's spaces, takes the step, and writes its changes together
with its traces.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.domain.governance.conflicts import settle
from recollect.domain.governance.events import Fact, Weight, attempts_profile, authority_of, is_worth_trying
from recollect.domain.governance.gate import Candidate, Standing, judged
from recollect.domain.governance.hearing import Exchange, Heard, asked, heard
from recollect.domain.governance.ids import ANONYMOUS, Owners
from recollect.domain.governance.items import Item
from recollect.domain.governance.keys import dedup_key, fact_key
from recollect.domain.governance.ledger import Change, Ledger, State
from recollect.domain.governance.phases import DiffRequest, PhaseRequest, compared, seen_phases
from recollect.domain.governance.policy import Contract, Settings, contract_of, recall_policy
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.recalling import Context, Query, by_phase, placed, recalled
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.retention import Forgotten, sift
from recollect.domain.governance.spaces import (
    CLOSED,
    Passage,
    PromotionRequest,
    consulted,
    diff_border,
    promotion,
    read_border,
    requested,
    write_border,
)
from recollect.domain.governance.summaries import AUTHORITY_REASON, IMPORTANCE, IMPORTANCE_REASON, overflowing
from recollect.domain.governance.telling import Teller
from recollect.domain.governance.terms import Authority, BorderAction, EventType, Kind, Source, Space
from recollect.domain.governance.traces import Trace


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, under which settings, and what is asked besides."""

    ai_profile: str
    settings: Settings
    session: str = ANONYMOUS
    owners: Owners = Owners()
    contract: Contract | None = None
    """In place of the contract that follows from the settings."""
    phase: PhaseRequest | None = None
    diff: DiffRequest | None = None
    salt: str = ""
    unreadable: tuple[Space, ...] = ()
    """Spaces that the caller may not read, whatever the contract says."""
    unwritable: tuple[Space, ...] = ()
    """Spaces that the caller may not promote anything to."""

    @property
    def terms(self) -> Contract:
        """The contract that holds."""
        return self.contract or contract_of(self.settings)

    def teller(self) -> Teller:
        """Who tells what happens in this call."""
        contract = self.terms
        return Teller(self.ai_profile, self.session, contract, Redaction(contract.privacy, self.salt))


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What was said and done in one exchange."""

    user: str
    ai: str
    tool_events: tuple[Any, ...] = ()


class Recalled(msgspec.Struct, frozen=True):
    """What a recall found, and what it changed: a phase may begin, and items may be forgotten."""

    context: Context
    state: State
    traces: tuple[Trace, ...]
    changes: tuple[Change, ...]


class Recorded(msgspec.Struct, frozen=True):
    """What of a turn was written, and all that followed."""

    written: tuple[Item, ...]
    state: State
    traces: tuple[Trace, ...]
    changes: tuple[Change, ...]


def recall(state: State, call: Call, said: Query | str) -> Recalled:
    """What is known that answers the query, space by space in the order of reading."""
    contract, teller = call.terms, call.teller()
    query = question(state, call, said) if isinstance(said, str) else said
    ledger = Ledger(state, teller, call.owners)
    ledger.enter(Space.SESSION, call.phase, writing=False)
    context = Context()
    recall_counts: dict[str, int] = {}
    phase_counts: dict[str, dict[str, int]] = {}
    for space in consulted(contract):
        border = CLOSED if space in call.unreadable else read_border(contract, space)
        ledger.tell(teller.checked(BorderAction.READ, border, space))
        found = Context()
        if border.allowed:
            _forget(ledger, call.settings, space, state.numbering.tick)
            store = ledger.store(space)
            phase_ids = seen_phases(store.phases, history=contract.phase.allow_cross_phase_recall)
            found = recalled(store.items, query, phase_ids, call.settings)
            found = placed(found, space, call.owners.of(space), contract)
            if phase_ids:
                phase_counts[space.value] = by_phase(found)
        recall_counts[space.value] = len(found.items())
        context = context.joined(found)
    policy = recall_policy(call.settings, contract)
    current = ledger.store(Space.SESSION).current
    told = teller.recalled(query, context, policy, recall_counts, phase_counts, current)
    return Recalled(context, ledger.state(), (told, *ledger.traces), tuple(ledger.changes))


def question(state: State, call: Call, text: str) -> Query:
    """The query that a text is in this state."""
    items = (each for space in consulted(call.terms) for each in state.store(call.owners.store_key(space)).items)
    return asked(text, items, call.teller().redaction)


def exchange(call: Call, turn: Turn) -> Exchange:
    """What is heard of a turn."""
    redaction = call.teller().redaction
    events = f"tool_events:{list(turn.tool_events)}" if turn.tool_events else None
    return Exchange(
        user=heard(turn.user, Source.USER, redaction),
        ai=heard(turn.ai, Source.AI, redaction),
        tools=None if events is None else heard(events, Source.TOOL, redaction),
    )


def record(state: State, call: Call, said: Turn | Exchange) -> Recorded:
    """Write what a turn says, as far as the contract lets it, and settle what follows from it."""
    teller = call.teller()
    turn = exchange(call, said) if isinstance(said, Turn) else said
    ledger = Ledger(state, teller, call.owners)
    ledger.enter(Space.SESSION, call.phase, writing=True)
    written = _turns(ledger, turn)
    written += _summarised(ledger, call.settings.short_term)
    written += _learnt(ledger, call.settings, turn, written)
    moved = _promoted(ledger, call, written)
    for space in _swept(call, moved):
        _forget(ledger, call.settings, space, ledger.numbering.tick)
    _compare(ledger, call.diff)
    all_written = (*written, *moved)
    return Recorded(all_written, ledger.state(), (teller.written(all_written), *ledger.traces), tuple(ledger.changes))


def _turns(ledger: Ledger, turn: Exchange) -> list[Item]:
    """What the user said and what the AI answered, as far as they may be kept."""
    written = []
    for said in (turn.user, turn.ai):
        kept = _admitted(ledger, _made(ledger, Kind.SHORT_TERM, said), said)
        if kept is not None:
            ledger.put(Space.SESSION, kept)
            written.append(kept)
    return written


def _summarised(ledger: Ledger, window: int) -> list[Item]:
    """The summary of what falls out of the window. What it is made of was let in, so it is not judged again."""
    store = ledger.store(Space.SESSION)
    overflow = overflowing(store.items, store.current.id, window) if store.current else None
    if overflow is None:
        return []
    text = overflow.text
    summary = ledger.make(
        Space.SESSION,
        Kind.SHORT_TERM,
        text,
        Source.SYSTEM,
        Weight(IMPORTANCE, IMPORTANCE_REASON),
        event_type=EventType.CONTEXT,
        summary_of=overflow.summary_of,
        dedup_key=dedup_key(EventType.CONTEXT, text),
        authority=Authority.SYSTEM_IMPOSED,
        authority_reason=AUTHORITY_REASON,
    )
    ledger.put(Space.SESSION, summary)
    if overflow.prior is not None:
        ledger.drop(Space.SESSION, overflow.prior, Reason.SUPERSEDED, summary.id)
    _expire(ledger, Space.SESSION, [Forgotten(each, Reason.DECAY) for each in overflow.evicted])
    return [summary]


def _learnt(ledger: Ledger, settings: Settings, turn: Exchange, turns: Iterable[Item]) -> list[Item]:
    """What is to be remembered of a turn: the words, the fact in them, and what tools did."""
    user, tools, policy = turn.user, turn.tools, ledger.teller.contract.write_policy
    tried: list[Item | None] = []

    def attempt(item: Item, said: Heard) -> None:
        tried.append(_kept(ledger, settings, Space.SESSION, _admitted(ledger, item, said)))

    worth = is_worth_trying(user.event_type, policy, blank=user.blank, low_signal=user.low_signal)
    if settings.semantic and worth:
        attempt(_made(ledger, Kind.SEMANTIC, user), user)
    if settings.profile and user.fact is not None and attempts_profile(user.event_type, user.fact):
        attempt(_fact(ledger, user, user.fact, [each.id for each in turns if each.source == Source.USER]), user)
    if settings.semantic and tools is not None:
        attempt(_made(ledger, Kind.SEMANTIC, tools), tools)
    return [item for item in tried if item is not None]


def _made(ledger: Ledger, kind: Kind, said: Heard) -> Item:
    """An item of the session, with all that is known of it."""
    authority, reason = authority_of(said.source)
    return ledger.make(
        Space.SESSION,
        kind,
        said.text,
        said.source,
        Weight(said.importance, said.importance_reason),
        event_type=said.event_type,
        dedup_key=said.dedup_key,
        authority=authority,
        authority_reason=reason,
        **_asked(said.hint),
    )


def _fact(ledger: Ledger, said: Heard, fact: Fact, turns: list[str]) -> Item:
    """The profile fact in a text; how much it matters is what the whole text says."""
    authority, reason = authority_of(Source.USER)
    return ledger.make(
        Space.SESSION,
        Kind.PROFILE,
        fact.value,
        Source.USER,
        Weight(said.importance, said.importance_reason),
        event_type=said.event_type,
        dedup_key=fact_key(fact.key),
        key=fact.key,
        source_turn_ids=tuple(turns),
        authority=authority,
        authority_reason=reason,
        **_asked(said.hint),
    )


def _asked(request: PromotionRequest | None) -> dict[str, Any]:
    return {} if request is None else {"promotion_target": request.to_space, "promotion_reason": request.reason}


def _admitted(ledger: Ledger, item: Item, said: Heard) -> Item | None:
    """The item with what allowed it; None when the border or the gate refuses it, which is told."""
    teller = ledger.teller
    border = write_border(teller.contract, Space.SESSION)
    ledger.tell(teller.checked(BorderAction.WRITE, border, Space.SESSION, Space.SESSION, item.id))
    if not border.allowed:
        return None
    candidate = Candidate(
        kind=item.kind,
        event_type=item.event_type,
        text=said.text,
        key=item.meta.key,
        low_signal=said.low_signal,
        flaw=said.flaw,
    )
    # A turn is what was said; what is remembered of it beyond the conversation may need somebody's consent.
    needed = said.personal and item.kind is not Kind.SHORT_TERM
    verdict = judged(candidate, teller.contract, Standing(consent_needed=needed))
    if not verdict.allowed:
        ledger.tell(teller.denied(item, candidate, verdict))
        return None
    return item.with_meta(policy_tags=verdict.tags)


def _kept(ledger: Ledger, settings: Settings, space: Space, item: Item | None) -> Item | None:
    """Put an item among those that are there; None when it is not kept. A conflict is told, and its loser dropped."""
    if item is None:
        return None
    order = ledger.teller.contract.authority_order
    settled = settle(item, ledger.store(space).items, order, dedupe=settings.dedupe_enabled)
    if settled.kept is not None:
        ledger.put(space, settled.kept)
    if settled.conflict is not None:
        ledger.tell(ledger.teller.conflicted(settled.conflict))
    if settled.replaced is not None and settled.kept is not None:
        ledger.drop(space, settled.replaced, Reason.SUPERSEDED, settled.kept.id)
    return settled.kept


def _promoted(ledger: Ledger, call: Call, written: Iterable[Item]) -> list[Item]:
    """The items that went to another space. Their text was judged when they were written, and is not judged again."""
    teller, moved = ledger.teller, []
    for item in written:
        request = requested(item)
        if request is None:
            continue
        passage = promotion(teller.contract, item, Space.SESSION, request.to_space)
        if request.to_space in call.unwritable:
            passage = Passage(False, Reason.PROMOTION_DISALLOWED, passage.authority)
        ledger.tell(teller.checked(BorderAction.PROMOTE, passage, Space.SESSION, request.to_space, item.id))
        if not passage.allowed:
            ledger.tell(teller.kept_back(Space.SESSION, request.to_space, item, passage))
            continue
        ledger.enter(request.to_space, None, writing=True)
        copy = _copied(ledger, item, request)
        kept = _kept(ledger, call.settings, request.to_space, copy)
        if kept is not None:
            moved.append(kept)
            ledger.tell(teller.promoted(Space.SESSION, item, kept, passage, request))
            ledger.drop(Space.SESSION, item, Reason.PROMOTED, kept.id)
    return moved


def _copied(ledger: Ledger, item: Item, request: PromotionRequest) -> Item:
    """The item as another space has it: with an id, a tick and a phase of that space."""
    told = {name: getattr(item.meta, name) for name in item.meta.__struct_fields__}
    for own in ("importance_reason", "space", "owner", "phase_id", "phase_name", "phase_started_at", "phase_reason"):
        del told[own]
    told |= {"promoted_from": item.id, "promotion_reason": request.reason, "expires_at": None}
    weight = Weight(0, item.meta.importance_reason)
    copy = ledger.make(request.to_space, item.kind, item.text, item.source, weight, **told)
    return msgspec.structs.replace(copy, importance=item.importance)


def _swept(call: Call, moved: Iterable[Item]) -> tuple[Space, ...]:
    """The spaces whose retention is due: those that are read, and those that something was promoted to."""
    read = tuple(each for each in consulted(call.terms) if each not in call.unreadable)
    others = {each.meta.space for each in moved if each.meta.space} - set(read)
    return (*read, *sorted(others))


def _forget(ledger: Ledger, settings: Settings, space: Space, now: int) -> None:
    """Forget what is due in a space, of the kinds that the profile uses."""
    for kind, used in ((Kind.SEMANTIC, settings.semantic), (Kind.PROFILE, settings.profile)):
        if used:
            items = [each for each in ledger.store(space).items if each.kind is kind]
            sifted = sift(items, ledger.teller.contract, now)
            known = {id(each) for each in items}
            for item in sifted.kept:
                if id(item) not in known:  # its last tick was noted just now
                    ledger.note(space, item)
            _expire(ledger, space, sifted.forgotten)


def _expire(ledger: Ledger, space: Space, forgotten: Iterable[Forgotten]) -> None:
    """Tell what is forgotten, then let it go."""
    gone = list(forgotten)
    ledger.tell(*(ledger.teller.forgot(each) for each in gone))
    for each in gone:
        ledger.drop(space, each.item, Reason.EXPIRED)


def _compare(ledger: Ledger, request: DiffRequest | None) -> None:
    """Compare two phases, if somebody asked."""
    if request is None:
        return
    teller = ledger.teller
    border = diff_border(teller.contract, request.space)
    ledger.tell(teller.checked(BorderAction.PHASE_DIFF, border, request.space))
    if border.allowed:
        held = ledger.held(request.space)
        known = (*ledger.store(request.space).snapshots, *([] if held is None else [held]))
        diff = compared(known, request.from_phase_id, request.to_phase_id)
        ledger.tell(teller.differed(ledger.owners.of(request.space), request, diff))
