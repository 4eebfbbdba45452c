"""Assembling: what of a conversation, and of what was recalled for it, is offered to its pack, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

import msgspec

from recollect.domain.compiling.states import MAX_REFS, Excerpt, State
from recollect.domain.conversation.cards import Card
from recollect.domain.conversation.personas import UserSeed
from recollect.domain.conversation.sessions import Message
from recollect.domain.conversation.subjects import MemoryType, type_of
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine, Summary
from recollect.domain.conversation.todos import LoopKind, Todo
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.recall.asking import Ranker
from recollect.domain.remembering.records import Record

MOST_FOUNDATION = 20
MOST_OFFERED = 20
"""So many loops of a kind are offered; the template says how many of them are taken."""
SEED_CHARS, SPINE_CHARS, ROLLING_CHARS, SUMMARY_CHARS, MESSAGE_CHARS = 800, 1_200, 600, 600, 800
CUT = "…"
GOSPEL, OBSERVATION, SEEDED, UNKNOWN = "GOSPEL", "OBSERVATION", "seeded_profile", "unknown"
_SILENT = dict.fromkeys(map(ord, ".,!?;:'\"(){}[]\\/"))


class LeftOut(StrEnum):
    """Why a memory that was recalled for a conversation is not offered to its pack."""

    IN_FOUNDATION = "in_foundation"
    """A pinned memory says the same."""
    REPEATED = "repeated"
    """A better one says the same."""
    TYPE_CAP = "type_cap"
    """There are enough of its type: of the user themself, of people, of projects."""
    TOTAL_CAP = "total_cap"
    """There are enough of all types."""


class Helping(msgspec.Struct, frozen=True, kw_only=True):
    """How much is looked for, for the packs of a template."""

    ranker: Ranker = Ranker.BLENDED
    recalled: int = 12
    """So many memories are recalled."""
    total: int = 8
    """So many of them are offered."""
    types: tuple[tuple[MemoryType, int], ...] = (
        (MemoryType.PROFILE, 2),
        (MemoryType.PEOPLE, 3),
        (MemoryType.PROJECT, 3),
    )
    """So many of a type; of one that is not named, as many as there are."""
    messages: int = 6
    """So many of the last messages, counted on both sides."""
    earlier: int = 6
    """So many earlier turns."""
    words_first: bool = False
    """Whether earlier words are offered that a memory says as well."""


USUAL = Helping()
HELPINGS: Mapping[str, Helping] = MappingProxyType(
    {"evidence": Helping(ranker=Ranker.RELEVANCE, recalled=20, total=20, types=(), earlier=40, words_first=True)}
)
"""What templates ask for that want something else than usual."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What lies between the turns of a user and a persona, as far as a pack tells of it."""

    pending: tuple[Todo, ...] = ()
    """The newest first."""
    done: tuple[Todo, ...] = ()
    """Of late."""
    seed: UserSeed | None = None
    spine: Spine | None = None
    rolling: Rolling | None = None
    """Of the session that goes on."""
    summary: SessionSummary | None = None
    """Of the last session that is over."""
    messages: tuple[Message, ...] = ()
    """The last turns, the oldest first."""
    earlier: tuple[Message, ...] = ()
    """What was said before that, the best answer first."""


def foundation_of(known: Sequence[Record]) -> list[Record]:
    """The pinned memories, the oldest first, at most 20."""
    pinned = sorted((each for each in known if each.pinned), key=lambda each: (each.promoted_at, each.tick, each.id))
    return pinned[:MOST_FOUNDATION]


def offered(
    found: Sequence[Record], foundation: Sequence[Record], helping: Helping = USUAL
) -> tuple[list[Record], list[tuple[Record, LeftOut]]]:
    """Which of the memories that were recalled are offered, the best first, and why each of the others is not."""
    founded = {says(each.text) for each in foundation}
    caps, counts = dict(helping.types), dict.fromkeys(MemoryType, 0)
    said: set[str] = set()
    kept: list[Record] = []
    out: list[tuple[Record, LeftOut]] = []
    for each in found:
        words, kind = says(each.text), type_of(each.entity, each.entity_refs)
        reason = None
        if words in founded:
            reason = LeftOut.IN_FOUNDATION
        elif words in said:
            reason = LeftOut.REPEATED
        elif counts[kind] >= caps.get(kind, helping.total):
            reason = LeftOut.TYPE_CAP
        elif len(kept) >= helping.total:
            reason = LeftOut.TOTAL_CAP
        if reason is not None:
            out.append((each, reason))
            continue
        kept.append(each)
        said.add(words)
        counts[kind] += 1
    return kept, out


def says(text: str) -> str:
    """What two texts that say the same have in common."""
    return " ".join(text.casefold().translate(_SILENT).split())


def standing_of(record: Record) -> str:
    """What a pinned memory is, as the sources of a pack tell it: told beforehand, or observed, and how.

    It is no part of the words, which somebody may have said: nobody can call their own words gospel.
    """
    if record.origin == SEEDED:
        return f"{GOSPEL}:{SEEDED}"
    return f"{OBSERVATION}:{record.origin or UNKNOWN}"


def state_of(
    kept: Kept, cards: Sequence[Card], shown: Sequence[Record], told: Sequence[Record], helping: Helping
) -> State:
    """What the conversation contributes beside memories that are shown; `told` are those that cards are made from."""
    behavioral = frozenset(each.id for each in told if each.behavioral)
    known = frozenset() if helping.words_first else frozenset(says(each.text) for each in shown)
    repeated = {each.number for each in kept.earlier if says(each.user or "") in known or says(each.ai or "") in known}
    return State(
        cards=tuple(_card(each, behavioral) for each in cards),
        commitments=_loops(kept.pending, LoopKind.COMMITMENT),
        threads=_loops(kept.pending, LoopKind.THREAD),
        frictions=_loops(kept.pending, LoopKind.FRICTION),
        habits=_loops(kept.pending, LoopKind.HABIT),
        wins=_wins(kept.done),
        seed=_seed(kept.seed),
        spine=_spine(kept.spine),
        rolling=_rolling(kept.rolling),
        summaries=_summary(kept.summary),
        turns=sides(kept.messages)[-helping.messages :],
        earlier=sides([each for each in kept.earlier if each.number not in repeated]),
    )


def lately(messages: Sequence[Message], most: int) -> tuple[Message, ...]:
    """The last of some turns, as few as have so many messages of either side."""
    found, count = 0, 0
    for each in reversed(messages):
        if count >= most:
            break
        found, count = found + 1, count + len(sides([each]))
    return tuple(messages[len(messages) - found :])


def sides(messages: Sequence[Message]) -> tuple[Excerpt, ...]:
    """What either side said, turn by turn, as far as it was kept."""
    found: list[Excerpt] = []
    for each in messages:
        for whose, source, words in (("user", "user", each.user), ("ai", "assistant", each.ai)):
            name = f"message:{each.number}:{whose}"
            found += _texts(name, words, MESSAGE_CHARS, source, each.at, each.captures)
    return tuple(found)


def cut(text: str, most: int) -> str:
    """The text, or its beginning up to the end of a word where it has more than so many characters."""
    if len(text) <= most:
        return text
    begun = text[: most - len(CUT)]
    whole = begun if text[len(begun)].isspace() else begun.rpartition(" ")[0]
    return (whole if len(whole) * 2 > most else begun).rstrip() + CUT


def summary_text(summary: Summary) -> str:
    """A summary in a line or some."""
    parts = [("What mattered", summary.what_mattered), ("Open", summary.open_loops)]
    parts += [("Commitments", summary.commitments), ("People", summary.people)]
    lines = [summary.one_liner, *(f"{name}: {'; '.join(each)}" for name, each in parts if each)]
    return "\n".join([*lines, *([] if summary.tone in ("", UNKNOWN) else [f"Tone: {summary.tone}"])])


def _texts(
    name: str, text: str | None, most: int, source: str, at: Instant | None, refs: Sequence[str] = ()
) -> tuple[Excerpt, ...]:
    if not text or not text.strip():
        return ()
    said = cut(text.strip(), most)
    return (Excerpt(id=name, text=said, source=source, at=shapes.written(at), refs=tuple(refs)[:MAX_REFS]),)


def _card(card: Card, behavioral: frozenset[str]) -> Excerpt:
    steers = not behavioral.isdisjoint(card.records)
    return Excerpt(id=card.ref, text=card.text, source="memories", refs=card.records[:MAX_REFS], behavioral=steers)


def _loops(pending: Sequence[Todo], kind: LoopKind) -> tuple[Excerpt, ...]:
    mine = sorted(
        (each for each in pending if each.kind is kind), key=lambda each: (-each.created_at, each.content, each.id)
    )
    return tuple(_todo(each, each.created_at) for each in mine[:MOST_OFFERED])


def _wins(done: Sequence[Todo]) -> tuple[Excerpt, ...]:
    """What was done, the latest first."""
    mine = [(each.completed_at, each) for each in done if each.is_win and each.completed_at is not None]
    return tuple(
        _todo(each, at)
        for at, each in sorted(mine, key=lambda pair: (-pair[0], pair[1].content, pair[1].id))[:MOST_OFFERED]
    )


def _todo(todo: Todo, at: Instant) -> Excerpt:
    return Excerpt(id=todo.id, text=todo.content, source="user", at=shapes.written(at), refs=todo.captures[:MAX_REFS])


def _seed(seed: UserSeed | None) -> tuple[Excerpt, ...]:
    return () if seed is None else _texts("seed", seed.text, SEED_CHARS, "seed", seed.at)


def _spine(spine: Spine | None) -> tuple[Excerpt, ...]:
    if spine is None:
        return ()
    return _texts(f"spine:{spine.version}", spine.text(), SPINE_CHARS, spine.by, spine.at)


def _rolling(rolling: Rolling | None) -> tuple[Excerpt, ...]:
    if rolling is None:
        return ()
    return _texts(f"rolling:{rolling.session}", rolling.text, ROLLING_CHARS, rolling.by, rolling.at)


def _summary(kept: SessionSummary | None) -> tuple[Excerpt, ...]:
    if kept is None:
        return ()
    return _texts(f"summary:{kept.session}", summary_text(kept.summary), SUMMARY_CHARS, kept.by, kept.at)
