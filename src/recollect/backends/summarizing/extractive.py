"""The extractive summarizer: the sentences that tell most, nobody asked."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.backends.summarizing.standing_in import EXTRACTIVE, rolled, summed
from recollect.domain.conversation.extractive import condensed
from recollect.ports.summarizer import Rolled, Summarizer, Summed, Told


class ExtractiveSummarizer(Summarizer):
    """Picks what is said best. The same is always summarised alike."""

    name = EXTRACTIVE
    asks = False

    def rolling(self, told: Told) -> Rolled:
        """The conversation so far, in its own sentences."""
        return rolled(told)

    def session(self, told: Told) -> Summed:
        """What a session was about, in its own sentences."""
        return summed(told)

    def condensed(self, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """The most telling lines, by the same score as sentences."""
        return condensed(lines, most)
