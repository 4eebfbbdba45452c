"""Standing in: the extractive summary of what was told, and why it stands in for a model's."""

from __future__ import annotations

from enum import StrEnum

from recollect.domain.conversation.extractive import rolling_of, summary_of
from recollect.domain.conversation.summaries import Summary
from recollect.ports.summarizer import Rolled, Summed, Told

EXTRACTIVE = "extractive"


class Trouble(StrEnum):
    """Why the extractive summary stood in for a model's. The set is closed: words are added, and never renamed."""

    TIMEOUT_OR_EXCEPTION = "timeout_or_exception"
    """No answer came within `summarizer_seconds`, or the server could not be asked, or would not be."""
    SUMMARY_EMPTY_OR_FAILED = "summary_empty_or_failed"
    """There was an answer, and no summary in it that can be relied on."""
    EXCEPTION = "exception"
    """Something else went wrong, that nobody foresaw."""


def rolled(told: Told, trouble: Trouble | None = None) -> Rolled:
    """The extractive rolling summary."""
    return Rolled(text=rolling_of(told.lines, told.before, told.persona), by=EXTRACTIVE, trouble=trouble)


def summed(told: Told, trouble: Trouble | None = None) -> Summed:
    """The extractive summary of a session."""
    return Summed(summary=extracted(told), by=EXTRACTIVE, trouble=trouble)


def extracted(told: Told) -> Summary:
    """What an extractive summary says of a session."""
    return summary_of(
        told.lines,
        told.before,
        told.persona,
        commitments=told.commitments,
        open_loops=told.open_loops,
        people=told.people,
    )
