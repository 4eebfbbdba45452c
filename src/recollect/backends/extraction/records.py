"""Records of what a model answered, so that a later run finds the same without asking, and why the rules stood in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from recollect.backends.extraction.answers import Ungrounded, Unreadable, statements_of
from recollect.domain.statements import statements_in
from recollect.ports.extractor import Extracted, Passage

RULES = "rules"
MOST_RECORDED = 1 << 20
_VERSION = 1


class Trouble(StrEnum):
    """Why the rules stood in for a model. The set is closed: words are added, and never renamed."""

    TIMEOUT = "timeout"
    """No answer came within `extractor_seconds`."""
    UNREACHABLE = "unreachable"
    """No connection came about, or it broke: look at `extractor_url` and at the server."""
    BUSY = "busy"
    """The server said that it was asked too often, until there was no time left."""
    KEY_REFUSED = "key_refused"
    """The server does not accept `extractor_key`."""
    HTTP_ERROR = "http_error"
    """Another status than 200: the server fails, or knows no such address, model or parameter."""
    REFUSED = "refused"
    """The model would not answer, or a filter of the server withheld what it said."""
    CUT_OFF = "cut_off"
    """The answer had more than `extractor_tokens`."""
    INVALID_ANSWER = "invalid_answer"
    """What was answered, or recorded, has not the shape that was asked for."""
    UNGROUNDED = "ungrounded"
    """Nothing of what was answered rests on the passage."""
    TOO_EXPENSIVE = "too_expensive"
    """The passage is too long to be sent."""
    CLOSED = "closed"
    """The extractor was closed."""


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of one run. `answer` is what the model said, word by word; None when the rules stood in."""

    v: int
    by: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    trouble: Trouble | None
    answer: str | None


_decoder = msgspec.json.Decoder(_Record)


def by_rules(passage: Passage, trouble: Trouble | None = None, *, tokens: int = 0) -> Extracted:
    """What the rules find; with a trouble, in place of a model, and with a record that says so."""
    found = statements_in(passage.text, passage.subject, passage.source)
    answer = None if trouble is None else _written(_Record(_VERSION, RULES, trouble, None))
    return Extracted(statements=found, by=RULES, answer=answer, trouble=trouble, tokens=tokens)


def by_model(passage: Passage, by: str, answer: str, *, tokens: int = 0) -> Extracted:
    """What a model found, with its record. Raises `Unreadable` and `Ungrounded`."""
    found = statements_of(passage, answer)
    return Extracted(
        statements=found, by=by, answer=_written(_Record(_VERSION, by, None, answer)), trouble=None, tokens=tokens
    )


def replayed(passage: Passage, recorded: str) -> Extracted:
    """What was found when the record was made; the rules stand in again where they did, or where it cannot be read."""
    try:
        if len(recorded) > MOST_RECORDED:
            raise Unreadable
        record = _decoder.decode(recorded)
        if record.v != _VERSION or (record.answer is None) == (record.trouble is None):
            raise Unreadable
        if record.answer is None:
            return by_rules(passage, record.trouble)
        return by_model(passage, record.by, record.answer)
    except Ungrounded:
        return by_rules(passage, Trouble.UNGROUNDED)
    except (Unreadable, msgspec.MsgspecError, ValueError, RecursionError):
        return by_rules(passage, Trouble.INVALID_ANSWER)


def _written(record: _Record) -> str:
    return msgspec.json.encode(record).decode()
