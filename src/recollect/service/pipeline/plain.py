"""The extractor that needs nothing else: the rules alone."""

from __future__ import annotations

from recollect.domain.statements import statements_in
from recollect.ports.extractor import Extracted, Extractor, Passage


class RulesOnly(Extractor):
    """Finds what the rules find."""

    name = "rules"

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """The same statements in the same passage, always; what was recorded adds nothing."""
        del recorded
        return Extracted(statements=statements_in(passage.text, passage.subject, passage.source), by=self.name)
