"""Extractors: the rules, and a model behind a URL for which they stand in."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.backends.extraction.llm import LlmExtractor
from recollect.backends.extraction.records import Trouble
from recollect.backends.extraction.rules import RulesExtractor
from recollect.domain.errors import InvalidSetting
from recollect.ports.extractor import Extractor

__all__ = ["ExtractionOptions", "LlmExtractor", "RulesExtractor", "Trouble", "extractor_of"]


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Which extractor is used, and what it needs to know; the settings have the meanings."""

    extractor: str = "rules"
    url: str | None = None
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    seconds: float = 20.0
    attempts: int = 3
    tokens: int = 1_024


def extractor_of(options: ExtractionOptions) -> Extractor:
    """The extractor that is configured."""
    match options.extractor:
        case "rules":
            return RulesExtractor()
        case "llm":
            if options.url is None or options.model is None:
                raise InvalidSetting("extractor = llm needs extractor_url and extractor_model")
            return LlmExtractor(
                options.url,
                options.model,
                key=options.key,
                seconds=options.seconds,
                attempts=options.attempts,
                tokens=options.tokens,
            )
    raise InvalidSetting(f"there is no extractor {options.extractor!r}: use rules or llm")
