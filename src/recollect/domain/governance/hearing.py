"""Hearing: everything that decisions rest on in a text, found once, so that a turn can be replayed without its secrets.

What privacy refuses is not kept anywhere, not even for a replay: of such a text only this is left, and it is enough.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.domain.governance.events import Fact, classified, fact_in, is_low_signal, weighed
from recollect.domain.governance.gate import holds_personal_data, is_personal, privacy_flaw
from recollect.domain.governance.items import Item
from recollect.domain.governance.keys import dedup_key, normalised
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.recalling import Query, similarity
from recollect.domain.governance.redaction import WITHHELD, Redaction
from recollect.domain.governance.spaces import PromotionRequest, hinted
from recollect.domain.governance.terms import EventType, Kind, Source

_IMPERSONAL = frozenset({EventType.DECISION, EventType.EXECUTION})
"""What was decided or done tells nothing of a person, whatever words are in it."""


class Heard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text as decisions see it."""

    text: str
    """Withheld where privacy refuses it."""
    source: Source
    event_type: EventType
    importance: int
    importance_reason: tuple[str, ...]
    dedup_key: str
    """As it may be told."""
    blank: bool = False
    low_signal: bool = False
    personal: bool = False
    """Whether keeping it beyond the conversation would need somebody's consent."""
    hint: PromotionRequest | None = None
    fact: Fact | None = None
    flaw: Reason | None = None
    """Why privacy refuses it."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was heard of one turn."""

    user: Heard
    ai: Heard
    tools: Heard | None = None


def heard(text: str, source: Source, redaction: Redaction) -> Heard:
    """Everything that decisions rest on in a text."""
    event_type = classified(text, source)
    weight = weighed(event_type, text, source)
    flaw = privacy_flaw(text, redaction.privacy)
    by_user = source is Source.USER
    fact = fact_in(text) if by_user else None
    key = dedup_key(event_type, text)
    return Heard(
        text=text if flaw is None else WITHHELD,
        source=source,
        event_type=event_type,
        importance=weight.importance,
        importance_reason=weight.reasons,
        dedup_key=key if flaw is None else redaction.digested(key),
        blank=not text.strip(),
        low_signal=is_low_signal(text),
        personal=holds_personal_data(text) or (event_type not in _IMPERSONAL and is_personal(text)),
        hint=hinted(text) if by_user else None,
        fact=fact if fact is None or flaw is None else Fact(fact.key, WITHHELD),
        flaw=flaw,
    )


def asked(text: str, items: Iterable[Item], redaction: Redaction) -> Query:
    """The query that a text is; where the text is withheld, what is left of it is how near each item comes to it."""
    words = normalised(text)
    if not redaction.withholds(text):
        return Query(shown=redaction.shown(text), words=words)
    near = {each.id: similarity(words, each.text) for each in items if each.kind is Kind.SEMANTIC}
    return Query(shown=WITHHELD, similar={item_id: points for item_id, points in near.items() if points})
