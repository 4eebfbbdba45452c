"""Stepping: one step of a conversation as one transaction, from what its spaces hold to what is kept and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.address import Namespace, namespace
from recollect.domain.callers import LOCAL, Action, Caller
from recollect.domain.commits import Unchanged
from recollect.domain.errors import InvalidRequest
from recollect.domain.governance.ids import ANONYMOUS, Numbering, project_id
from recollect.domain.governance.ledger import Change, State, Store
from recollect.domain.governance.machine import Turn
from recollect.domain.governance.phases import DiffRequest, Phase, PhaseRequest, Snapshot
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.taping import Done, Step, hash_of, kept_of, query_of, taken, unrecalled_until
from recollect.domain.governance.terms import EventType, Source, Space
from recollect.domain.governance.traces import as_json, ids_in
from recollect.domain.instants import Instant
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import MAX_TEXT, Capture, CaptureKind, Given, Speaker, captured, channel_of
from recollect.domain.scrubbing import cleaned
from recollect.domain.text import flaw_in
from recollect.domain.values import stored_value
from recollect.service.governing.keeping import Provenance, keep
from recollect.service.governing.profiles import Profile
from recollect.service.governing.spaces import Held, OpenSpaces
from recollect.service.pipeline.places import TICK, Places
from recollect.service.pipeline.promoting import Promoting

UNKNOWN_PROJECT = "unknown"
CAUSE = "turn"
_TURNS = "turns"


@dataclass(frozen=True, slots=True)
class Asked:
    """A step that somebody asks for, checked."""

    places: Places
    session: str
    profile: Profile
    query: str | None
    turn: Turn | None
    phase: PhaseRequest | None
    diff: DiffRequest | None
    captures: tuple[Capture, ...]


def text_of(given: object, field: str) -> str:
    """What was said, without characters that show nothing; it may be empty."""
    if not isinstance(given, str) or flaw_in(given):
        raise InvalidRequest(f"{field} is text", field=field)
    if len(given) > MAX_TEXT:
        raise InvalidRequest(f"{field} has {len(given):,} characters; at most {MAX_TEXT:,} are taken", field=field)
    return cleaned(given)


def places_for(
    caller: Caller,
    owner: str,
    session: str,
    project: str | None,
    state: Mapping[str, Any] | None,
    identity: Mapping[str, Any] | None,
) -> Places:
    """Whose spaces a step is about: the caller's own, or those of whom they name; the policy says whether they may.

    A project is named, or is where its files lie: then its name is made from the path. A session of nobody in
    particular is an anonymous user's, where the caller may act for others.
    """
    for name, given in (("state", state), ("identity", identity)):
        if given is not None and not isinstance(given, Mapping):
            raise InvalidRequest(f"{name} is an object", field=name)
    user = (state or {}).get("user")
    named = user.get("id") if isinstance(user, Mapping) else None
    known = (identity or {}).get("id") or (identity or {}).get("user_id") or named
    if known is not None and (not isinstance(known, str | int) or isinstance(known, bool) or not str(known).strip()):
        raise InvalidRequest("a user is named by text", field="identity")
    acts_for_others = caller.credential == LOCAL or caller.is_admin
    nobody = ANONYMOUS if session == ANONYMOUS and acts_for_others else owner
    if project is None:
        roots = [(state or {}).get(name) for name in ("project_root", "app_path")]
        path = next((str(each) for each in roots if each), None)
        project = UNKNOWN_PROJECT if path is None else project_id(path)
    return Places(nobody if known is None else str(known), session, project)


def captures_of(
    turn: Turn, asked: Places, caller: Caller, profile: Profile, ids: Sequence[str], at: Instant
) -> list[Capture]:
    """The captures of a turn: who said what, each as what may be kept of it."""
    said = [(Speaker.USER, CaptureKind.TURN, turn.user), (Speaker.ASSISTANT, CaptureKind.TURN, turn.ai)]
    if turn.tool_events:
        events = f"tool_events:{list(turn.tool_events)}"
        said.append((Speaker.TOOL, CaptureKind.TOOL_RESULT, text_of(events, "tool_events")))
    project = None if asked.project == UNKNOWN_PROJECT else asked.project
    made = []
    for (speaker, kind, text), capture_id in zip(said, ids, strict=False):
        given = Given(kind=kind, speaker=speaker, text=text, session=asked.session, project=project)
        channel, privacy = channel_of(given, caller), profile.contract.privacy
        capture = captured(given, caller, asked.user, channel, privacy, capture_id=capture_id, at=at)
        # Nothing is a thing to say in a conversation, and no secret.
        blank = msgspec.structs.replace(capture, text="", withheld=False)
        made.append(capture if text.strip() else blank)
    return made


@dataclass(slots=True)
class Begun:
    """What a step begins with."""

    state: State
    held: dict[str, Held]
    hidden: tuple[str, ...]
    seen: int
    unread: tuple[Space, ...]
    unreadable: tuple[Space, ...]
    unwritable: tuple[Space, ...]


class Stepping:
    """Takes one step within a transaction."""

    def __init__(self, under_way: Promoting, spaces: OpenSpaces, caller: Caller) -> None:
        self._way = under_way
        self._spaces = spaces
        self._caller = caller
        self._ledgers: dict[str, Ledger] = {}
        self._upto = 0

    async def take(self, asked: Asked) -> tuple[Step, Done, list[Any]]:
        """Take the step: what it was, what came of it, and what is told of it."""
        way, places, profile = self._way, asked.places, asked.profile
        await self._allow(asked)
        begun = await self._begin(asked)
        contract = profile.contract
        redaction = Redaction(contract.privacy, way.key.hex())
        number = await self._number()
        step = Step(
            number=number,
            at=way.now,
            seen=begun.seen,
            ai_profile=profile.name,
            profile_version=profile.version,
            settings=profile.settings,
            contract=contract,
            session=asked.session,
            user=places.user,
            owners=places.owners,
            project=places.project,
            numbering=begun.state.numbering,
            phases={key: store.phases for key, store in begun.state.stores.items() if store.phases},
            snapshots={key: store.snapshots for key, store in begun.state.stores.items() if store.snapshots},
            hidden=begun.hidden,
            unread=begun.unread,
            unreadable=begun.unreadable,
            unwritable=begun.unwritable,
            phase=None if asked.phase is None else redaction.kept_request(asked.phase),
            diff=asked.diff,
            captures=tuple(each.id for each in asked.captures),
        )
        call = step.call(way.key.hex())
        query = None if asked.query is None else query_of(begun.state, call, asked.query)
        said = None if asked.turn is None else kept_of(asked.turn, call)
        done = taken(begun.state, call, query, said)
        changes: list[Change] = [*(done.recalled.changes if done.recalled else ())]
        changes += done.recorded.changes if done.recorded else ()
        written = await keep(way, changes, begun.state, done.state, begun.held, self._provenance(asked))
        events = [as_json(each) for each in done.traces]
        step = msgspec.structs.replace(
            step,
            query=query,
            said=said,
            recall_hash=None if done.recalled is None else events[0]["deterministic_hash"],
            hash=hash_of(events),
            trace_id=way.new_id("trc"),
        )
        self._tell(asked, step, done, events, written)
        return step, done, events

    async def _allow(self, asked: Asked) -> None:
        """Refuse unless the caller may say something in this user's name."""
        place = asked.places.own("captures").segments
        action = Action.READ if asked.turn is None else Action.WRITE
        if not asked.captures:
            await self._way.ruling.allow(action, asked.places.root(Space.SESSION).segments, _TURNS)
        for each in asked.captures:
            value = msgspec.json.encode(each)
            await self._way.ruling.allow(action, place, each.id, stored_value(value))
            self._way.draft.put(asked.places.captures(each.id), value, _labels(each), new=True)

    async def _begin(self, asked: Asked) -> Begun:
        """Read the spaces of a step; the transaction rests on nothing being written there meanwhile."""
        way, places = self._way, asked.places
        stores: dict[str, Store] = {}
        held: dict[str, Held] = {}
        hidden: list[str] = []
        closed, unwritable = await self._borders(asked)
        counts: dict[str, int] = {}
        for space in Space:
            root, key = places.root(space), places.owners.store_key(space)
            counters = await way.draft.at(places.counters(space)) or {"counts": {}, "phases": []}
            phases = tuple(msgspec.convert(each, Phase) for each in counters["phases"])
            counts |= counters["counts"]
            # A project that nobody named is nobody's to read: it holds what is promoted there, for who may.
            known = [] if space in closed else await self._known(root, way.draft.unit.require)
            held |= {each.record.id: each for each in known}
            unseen = {each.record.id for each in known if not await self._may_see(each)}
            visible = [each for each in known if each.record.id not in unseen]
            hidden += sorted(unseen)
            snapshots = await self._snapshots(space, phases, asked.diff)
            stores[key] = Store(tuple(each.item for each in visible), phases, snapshots)
        numbering = Numbering((await way.draft.at(TICK) or {}).get("tick", 0), counts)
        unreadable = tuple(each for each in closed if each is not Space.PROJECT or places.project != UNKNOWN_PROJECT)
        return Begun(State(numbering, stores), held, tuple(hidden), self._upto, closed, unreadable, unwritable)

    async def _known(self, root: Namespace, require: Any) -> list[Held]:
        within = namespace(root.segments[:2]) if root.segments[0] == "user" else root
        space = await self._spaces.fresh(self._way.tenant, within)
        upto = space.upto
        self._upto = max(self._upto, upto)
        require(Unchanged(Plane.RECORD, root, upto))
        return space.at(root, self._way.now)

    async def _borders(self, asked: Asked) -> tuple[tuple[Space, ...], tuple[Space, ...]]:
        """The spaces whose memories the policy keeps from the caller, and those that nothing may be promoted to."""
        closed, unwritable = [], []
        for space in (Space.USER, Space.PROJECT, Space.SYSTEM):
            root = asked.places.root(space).segments
            may_read = await self._way.ruling.allows(Action.READ, root, "records")
            closed += [] if may_read else [space]
            if asked.turn is not None:
                may_write = may_read and await self._way.ruling.allows(Action.WRITE, root, "records")
                unwritable += [] if may_write else [space]
        return tuple(closed), tuple(unwritable)

    async def _may_see(self, held: Held) -> bool:
        """Whether a memory may be seen now: what rests on a consent is looked at anew each time."""
        if held.record.consent_id is None:
            return held.record.persona is None
        rested = held.record.rested(self._way.tenant)
        if rested is None:
            return False
        subject = rested.need.subject_ceid
        if subject not in self._ledgers:
            self._ledgers[subject] = await self._way.ledger(subject)
        return held.record.persona is None and still_covered(self._ledgers[subject], rested, self._way.now)

    async def _snapshots(
        self, space: Space, phases: tuple[Phase, ...], diff: DiffRequest | None
    ) -> tuple[Snapshot, ...]:
        """What the space held at the end of the phases that are compared."""
        found = []
        for phase in phases[:-1]:
            if diff is not None and diff.space is space and phase.id in (diff.from_phase_id, diff.to_phase_id):
                raw = await self._way.draft.bytes_at(self._way.places.phase(space, phase.id))
                found += [] if raw is None else [msgspec.json.decode(raw, type=Snapshot)]
        return tuple(found)

    async def _number(self) -> int:
        address = self._way.places.request("last")
        number: int = (await self._way.draft.at(address) or {}).get("turn", 0) + 1
        self._way.draft.put(address, {"turn": number})
        return number

    def _provenance(self, asked: Asked) -> Provenance:
        speakers = {Speaker.USER: Source.USER, Speaker.ASSISTANT: Source.AI, Speaker.TOOL: Source.TOOL}
        return Provenance(
            user=asked.places.user,
            session=asked.session,
            principal=self._caller.user_id or asked.places.user,
            rule=asked.profile.rule,
            at=self._way.now,
            captures={speakers[each.speaker]: each.id for each in asked.captures},
            turns_end=unrecalled_until(asked.profile.settings, self._way.now),
            most_phases=asked.profile.settings.phase_max_phases,
        )

    def _tell(self, asked: Asked, step: Step, done: Done, events: list[Any], written: list[str]) -> None:
        """Draft the traces, what became of the captures, and the step itself: last, so that its event ends them all."""
        way, places = self._way, asked.places
        recalled = [] if done.recalled is None else [each.id for each in done.recalled.context.items()]
        labels = {
            "types": sorted({each["type"] for each in events}),
            "session": step.session,
            "records": ids_in(events),
            "cause": CAUSE,
        }
        value: dict[str, Any] = {"events": events, "cause": CAUSE, "at": int(way.now), "turn": step.number}
        if done.recalled is not None:
            tokens = sum(-(-len(each.text) // 4) for each in done.recalled.context.items())
            value["recall"] = {"intent": None, "hits": len(recalled), "ranker": "deterministic", "tokens": tokens}
        ends = way.terms.traces_end(way.now)
        way.draft.put(places.trace(step.trace_id), value, labels, expires_at=ends, new=True)
        rule = asked.profile.rule
        types = {} if done.recorded is None else {each.id: each.event_type.value for each in done.recorded.written}
        for each in asked.captures:
            mine = [] if each.speaker is not Speaker.USER else written
            told = [_became(record_id, types, rule) for record_id in mine]
            way.draft.put(places.work(each.id), {"by": rule, "trouble": None, "tokens": 0, "remembered": told})
        address, tape = places.turn(step.number), msgspec.json.encode(step)
        way.draft.put(address, tape, {"trace": step.trace_id}, expires_at=ends, new=True)


def _became(record_id: str, types: Mapping[str, str], rule: str) -> dict[str, Any]:
    """What became of a part of a turn; its words are where they are kept, and told nowhere else."""
    told = {"outcome": "promoted", "event_type": types.get(record_id, EventType.CONTEXT.value), "text": None}
    return told | {"reason": "", "rule": rule, "record_id": record_id}


def _labels(capture: Capture) -> dict[str, Any]:
    told = {"kind": capture.kind.value, "channel": capture.channel.value}
    return told if capture.session is None else told | {"session": capture.session}
