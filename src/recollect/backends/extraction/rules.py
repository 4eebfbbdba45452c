"""The rules as an extractor: known patterns, no model, nobody asked."""

from __future__ import annotations

from recollect.backends.extraction.records import by_rules, replayed
from recollect.ports.extractor import Extracted, Extractor, Passage


class RulesExtractor(Extractor):
    """Finds what the patterns of the domain find; what a model once answered is found again all the same."""

    name = "rules"
    asks = False

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """The statements that the patterns find, or those of the recorded answer."""
        return by_rules(passage) if recorded is None else replayed(passage, recorded)
