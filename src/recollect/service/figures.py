"""Figures: what use-cases count goes to whoever watches the service, and nowhere where nobody does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from recollect.domain.measuring.figures import LABELS, OTHER, Figure


class Observer(Protocol):
    """Who wants to know what is counted."""

    def counted(self, figure: Figure, labels: tuple[str, ...], amount: int) -> None:
        """So many more, by the values of the labels in their order."""
        ...


class Figures:
    """Where use-cases count."""

    def __init__(self) -> None:
        self._observer: Observer | None = None

    def follow(self, observer: Observer) -> None:
        """Tell this one from now on."""
        self._observer = observer

    def count(self, name: Figure | str, labels: Mapping[str, str] | None = None, amount: int = 1) -> None:
        """Count something; a value of a label that is not known counts as `other`."""
        if self._observer is None or amount <= 0:
            return
        figure, given = Figure(name), labels or {}
        told = tuple(given[label] if given.get(label) in known else OTHER for label, known in LABELS[figure].items())
        self._observer.counted(figure, told, amount)
