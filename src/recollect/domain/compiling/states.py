"""States: what a conversation contributes to a pack beside what was recalled, as short texts with ids."""

from __future__ import annotations

import msgspec

from recollect.domain.compiling.codes import Part
from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import parse_rfc3339
from recollect.domain.text import flaw_in

MAX_EXCERPTS = 200
MAX_EXCERPT = 8_000
MAX_NAME = 500
MAX_REFS = 50


class Excerpt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A short text of a conversation: a turn, a summary, a commitment, a card."""

    id: str
    text: str
    source: str | None = None
    """Who said it, or what made it."""
    at: str | None = None
    """When, as RFC 3339 writes it."""
    refs: tuple[str, ...] = ()
    """What it rests on."""
    behavioral: bool = False
    """Whether it may steer what an agent does; then it comes with a warning."""


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a conversation contributes, each part in the order in which it is shown."""

    cards: tuple[Excerpt, ...] = ()
    commitments: tuple[Excerpt, ...] = ()
    threads: tuple[Excerpt, ...] = ()
    spine: tuple[Excerpt, ...] = ()
    rolling: tuple[Excerpt, ...] = ()
    summaries: tuple[Excerpt, ...] = ()
    turns: tuple[Excerpt, ...] = ()
    frictions: tuple[Excerpt, ...] = ()
    habits: tuple[Excerpt, ...] = ()
    wins: tuple[Excerpt, ...] = ()
    seed: tuple[Excerpt, ...] = ()
    earlier: tuple[Excerpt, ...] = ()

    def parts(self) -> tuple[tuple[Part, tuple[Excerpt, ...]], ...]:
        """The excerpts of each part."""
        return tuple((Part(name), getattr(self, name)) for name in self.__struct_fields__)


NOTHING = State()


def state_of(given: object) -> State:
    """The state that this JSON object says; none of it is kept anywhere."""
    if given is None:
        return NOTHING
    try:
        state = msgspec.convert(given, State)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the state cannot be used: {error}", field="state") from None
    for part, excerpts in state.parts():
        field = f"state.{part}"
        if len(excerpts) > MAX_EXCERPTS:
            raise InvalidRequest(f"{field} has {len(excerpts):,} texts; at most {MAX_EXCERPTS} are taken", field=field)
        for each in excerpts:
            _check(each, field)
    return state


def _check(excerpt: Excerpt, field: str) -> None:
    if not 1 <= len(excerpt.text) <= MAX_EXCERPT or _is_unusable(excerpt.text):
        raise InvalidRequest(f"the text of one of {field} is not of 1 to {MAX_EXCERPT:,} characters", field=field)
    names = [excerpt.id, *excerpt.refs, *([] if excerpt.source is None else [excerpt.source])]
    if len(excerpt.refs) > MAX_REFS or any(not 1 <= len(each) <= MAX_NAME or _is_unusable(each) for each in names):
        raise InvalidRequest(
            f"ids, sources and refs of {field} are texts of 1 to {MAX_NAME} characters, and refs at most {MAX_REFS}",
            field=field,
        )
    if excerpt.at is not None and parse_rfc3339(excerpt.at) is None:
        raise InvalidRequest(f"at in {field} is a moment in time, e.g. 2026-05-04T09:30:00Z", field=field)


def _is_unusable(text: str) -> bool:
    return flaw_in(text) is not None
