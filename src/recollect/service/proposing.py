"""Proposing: a vector store names candidates in a large scope; they are read from the store and scored as everywhere.

Of the whole scope only some statistics are asked for, so that the scores are those that a look at everything gives.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from recollect.domain.instants import Instant
from recollect.domain.ranking import Asked, Candidate, Mode, Rarity, allowed, arms_of, weight_of
from recollect.domain.shelves import Shelf
from recollect.ports.store import Store
from recollect.ports.vectors import COUNTED, Line, Scope, Statistics, VectorStore
from recollect.service.opened import Aside, slips_of
from recollect.service.ranked import Wish, Work, ranking

_MORE = 50
"""So many more than are to be ranked does each arm propose, because both together decide."""
_KNOWN_SECONDS = 30.0
"""For so long the statistics of a large scope are taken to hold."""
_MOST_KNOWN = 1_000


class Proposal(NamedTuple):
    """Who is proposed for a query, whether there is nobody else, and what there is to know of the whole scope."""

    ids: list[bytes]
    whole: bool
    rarity: Rarity
    floor: float | None


class Proposing:
    """Asks a vector store for candidates."""

    def __init__(self, store: Store, vectors: VectorStore, aside: Aside) -> None:
        self._store = store
        self._vectors = vectors
        self._aside = aside
        self._known: OrderedDict[object, tuple[float, Statistics]] = OrderedDict()

    async def propose(self, line: Line, scope: Scope, mode: Mode, asked: Asked, most: int) -> Proposal:
        """So many candidates by each arm."""
        found: Proposal = await self._aside(lambda: self._proposed(line, scope, mode, asked, most))
        return found

    def _proposed(self, line: Line, scope: Scope, mode: Mode, asked: Asked, most: int) -> Proposal:
        rarity = self._rarity(line, scope, asked.words)
        weights = {word: weight_of(word, weight, rarity) for word, weight in asked.words.items()}
        weights = {word: weight for word, weight in weights.items() if weight}
        wordy = self._vectors.sharing(line, scope, weights, rarity.average, most) if weights else ()
        close: Sequence[tuple[bytes, float]] = ()
        floor = None
        if asked.vector is not None and line.dimension:
            close = self._vectors.nearest(line, scope, asked.vector, most)
            if mode is Mode.HYBRID:
                floor = min((-score for _, score in self._vectors.nearest(line, scope, -asked.vector, 1)), default=None)
        ids = list(dict.fromkeys(row_id for row_id, _ in (*close, *wordy)))
        return Proposal(ids, len(close) < most and len(wordy) < most, rarity, floor)

    def _rarity(self, line: Line, scope: Scope, words: Mapping[int, float]) -> Rarity:
        """How rare the words are in the scope, and among how many versions."""
        place = (line, scope.within, scope.filter, scope.archived)
        now, having = monotonic(), dict[int, int]()
        whole = self._remembered(place, now)
        unknown = []
        for word in words:
            known = self._remembered((place, word), now)
            if known is None or whole is None:
                unknown.append(word)
            else:
                having[word] = known.having[word]
        if whole is None or unknown:
            found = self._vectors.statistics(line, scope, unknown)
            having.update(found.having)
            whole = found
            if found.count > COUNTED:
                self._remember(place, now, found)
                for word in unknown:
                    self._remember((place, word), now, found)
        return Rarity(whole.count, whole.average, having)

    def _remembered(self, what: object, now: float) -> Statistics | None:
        at, found = self._known.get(what, (0.0, None))
        return found if now - at < _KNOWN_SECONDS else None

    def _remember(self, what: object, now: float, found: Statistics) -> None:
        self._known[what] = (now, found)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    async def shelf_of(self, line: Line, ids: Sequence[bytes]) -> Shelf:
        """A shelf with these versions, as the store knows them now."""
        entries = await self._store.entries_of(line.tenant, line.series, ids)
        shelf = Shelf(line.dimension)
        await self._aside(lambda: shelf.take(slips_of(entries)))
        return shelf


class InVectors(Work):
    """A search of a scope that is too large for a shelf."""

    def __init__(self, proposing: Proposing, line: Line, wish: Wish, asked: Sequence[Asked], now: Instant) -> None:
        self._proposing, self._line, self._wish, self._asked, self._now = proposing, line, wish, asked, now
        self.searched = 0

    async def rank(self, most: int) -> tuple[list[list[Candidate]], bool]:
        """The best of those that are proposed."""
        wish, line = self._wish, self._line
        scope = Scope(self._now, wish.within, wish.filter, wish.archived)
        rankings, whole = [], True
        for asked in self._asked:
            proposal = await self._proposing.propose(line, scope, wish.mode, asked, most + _MORE)
            shelf = await self._proposing.shelf_of(line, proposal.ids)
            within = wish.within.encoded if wish.within.segments else None
            roots = tuple(root.encoded for root in wish.roots)
            masks = allowed(shelf, within, wish.archived, self._now, wish.filter, roots=roots)
            arms = arms_of(shelf, asked, masks, proposal.rarity, proposal.floor)
            rankings.append(ranking(shelf, wish, asked, arms, most))
            whole = whole and proposal.whole and len(rankings[-1]) < most
            self.searched = proposal.rarity.count
        return rankings, whole
