"""The turns as promoted records, asked for through recall: what an agent is given, measured like plain search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import recollect
from benchmarks.recall.cached import Remembering
from benchmarks.recall.data import Conversation, Turn
from benchmarks.recall.subjects import Ranking
from recollect.config import Settings
from recollect.domain.callers import FIRST_USER, new_caller
from recollect.domain.governance.keys import dedup_key
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant, after_seconds, instant_of
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.sync import MemoriesSync, drive

RANKERS = ("blended", "relevance")
DEPTH = 50
_AT_ONCE = 200
_DAY = 86_400
_DATES = (("%I:%M %p on %d %B, %Y", None), ("%Y/%m/%d", 10))


@contextmanager
def opened_with(folder: Path, cache: Path | None, conversation: Conversation) -> Iterator[MemoriesSync]:
    """Recollect on the day after a conversation ended, with every turn of it as a record of its own day."""
    asked_at = after_seconds(max(moments(conversation.turns)), _DAY)
    with recollect.open_sync(folder, settings=Settings(), clock=lambda: asked_at) as memories:
        embedders = memories._memories.workings.indexing.embedders
        if cache is not None and embedders.configured is not None:
            embedders.configured = Remembering(embedders.configured, cache)
        _promote(memories, conversation)
        yield memories


def moments(turns: Sequence[Turn]) -> list[Instant]:
    """When each turn was said: a minute after the one before it in its session."""
    found: list[Instant] = []
    places: dict[str, int] = {}
    for turn in turns:
        place = places[turn.session] = places.get(turn.session, -1) + 1
        found.append(after_seconds(_moment(turn.date), 60 * place))
    return found


def _moment(date: str) -> Instant:
    for pattern, length in _DATES:
        try:
            return instant_of(datetime.strptime(date[:length], pattern).replace(tzinfo=UTC))
        except ValueError:
            continue
    raise ValueError("a date of the benchmark cannot be read")


def _promote(memories: MemoriesSync, conversation: Conversation) -> None:
    """Write the records as the way in does once it has let them in, with the notes that go with them."""
    remembering = memories._memories.workings.remembering
    caller = new_caller(memories._memories._tenant, FIRST_USER)
    records = iter(list(_records(conversation)))
    while part := list(islice(records, _AT_ONCE)):

        async def work(under_way: Promoting, part: Sequence[Record] = part) -> None:
            for record in part:
                await under_way.write(record)

        drive(remembering.within(caller, Places(FIRST_USER), work))


def _records(conversation: Conversation) -> Iterator[Record]:
    for number, (turn, at) in enumerate(zip(conversation.turns, moments(conversation.turns), strict=True), 1):
        text = f"{turn.speaker}: {turn.text} ({turn.date})"
        yield Record(
            id=f"user:{FIRST_USER}:semantic:{number}",
            space=Space.USER,
            owner=FIRST_USER,
            kind=Kind.SEMANTIC,
            event_type=EventType.CONTEXT,
            write_class=WriteClass.EVIDENCE_LINK,
            tier=Tier.SEMANTIC,
            entity=f"person:{turn.speaker}",
            predicate="event",
            value=turn.id,
            text=text,
            dedup_key=dedup_key(EventType.CONTEXT, f"{turn.id} {text}"),
            source=Source.USER,
            authority=Authority.USER_ASSERTED,
            authority_reason="source:user",
            trust=Trust.ASSERTED,
            classification=Classification.INTERNAL,
            confidence=1.0,
            importance=1,
            importance_reason=(),
            tick=number,
            promoted_at=at,
            evidence_refs=(f"turn:{turn.id}",),
            proposal_id=None,
            principal=FIRST_USER,
        )


def ask_recall(memories: MemoriesSync, conversation: Conversation, question: str, ranker: str) -> Ranking:
    """What recall gives."""
    told = memories.recall(question, ranker=ranker, limit=DEPTH)
    turns = [conversation.turns[int(each["id"].rpartition(":")[2]) - 1] for each in told["memories"]]
    return [(turn.id, turn.session) for turn in turns]
