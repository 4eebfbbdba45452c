"""Summarizers: the extractive one, and a model behind a URL for which it stands in."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.backends.summarizing.extractive import ExtractiveSummarizer
from recollect.backends.summarizing.llm import LlmSummarizer
from recollect.backends.summarizing.standing_in import Trouble
from recollect.domain.errors import InvalidSetting
from recollect.ports.summarizer import Summarizer

__all__ = ["ExtractiveSummarizer", "LlmSummarizer", "SummarizingOptions", "Trouble", "summarizer_of"]


@dataclass(frozen=True, slots=True)
class SummarizingOptions:
    """Which summarizer is used, and what it needs to know; the settings have the meanings."""

    summarizer: str = "extractive"
    url: str | None = None
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    seconds: float = 2.5
    attempts: int = 2


def summarizer_of(options: SummarizingOptions) -> Summarizer:
    """The summarizer that is configured."""
    match options.summarizer:
        case "extractive":
            return ExtractiveSummarizer()
        case "llm":
            if options.url is None or options.model is None:
                raise InvalidSetting("summarizer = llm needs summarizer_url and summarizer_model")
            return LlmSummarizer(
                options.url,
                options.model,
                key=options.key,
                seconds=options.seconds,
                attempts=options.attempts,
            )
    raise InvalidSetting(f"there is no summarizer {options.summarizer!r}: use extractive or llm")
