"""Did a reader of the event log get all of it: nothing missed, doubled, invented or out of order?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """How many events a reader got wrong, by what was wrong with them."""

    missed: int
    """In the log, and never given to the reader."""
    doubled: int
    """Given to the reader once more than they are in the log."""
    invented: int
    """Given to the reader, and not in the log."""
    reordered: int
    """Given to the reader after an event that follows them in the log."""

    @property
    def none(self) -> bool:
        """True when the reader got exactly the log."""
        return not (self.missed or self.doubled or self.invented or self.reordered)


def compare(log: Sequence[Hashable], read: Sequence[Hashable]) -> Discrepancies:
    """Compare what a reader got, in the order it got it, with the log it should have got; events of it differ."""
    places = {event: place for place, event in enumerate(log)}
    if len(places) != len(log):
        raise ValueError("a log in which two events are equal cannot tell a doubled one")
    times = Counter(read)
    reordered, furthest = 0, -1
    for event in read:
        place = places.get(event, furthest)
        reordered += place < furthest
        furthest = max(furthest, place)
    return Discrepancies(
        missed=sum(event not in times for event in log),
        doubled=sum(count - 1 for event, count in times.items() if event in places),
        invented=sum(event not in places for event in read),
        reordered=reordered,
    )
