"""The vector store in PostgreSQL: each call on a connection of its own, and whatever fails is one kind of trouble."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray

from recollect.backends.postgres.connections import Link, Pool, is_lost, is_worth_repeating, translating
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.vectors import lexical, nearest, schema, writing
from recollect.backends.postgres.vectors.links import look_in, open_vector_link, refusing
from recollect.backends.postgres.vectors.options import VectorOptions
from recollect.domain.errors import StoreBusy, StoreUnavailable
from recollect.domain.instants import Instant
from recollect.ports.vectors import EXACT_FILTERS, Followed, Line, Point, Scope, Statistics, VectorStore

Result = TypeVar("Result")
SMALL = 2_000
"""In scopes of up to so many versions, everything is compared."""
_TRIES = 5
_MISSING = ("42P01", "3F000", "42704")
"""Tables, the schema or the type of vectors: somebody has removed them."""


class PostgresVectors(VectorStore):
    """Vectors and words in a schema of their own, in the store's database or another one.

    What waiting does not mend is refused at once: a server without pgvector, or with one that is too old, and a schema
    of another program. A server that is away may come back: it is tried again with every call.
    """

    capabilities = frozenset({EXACT_FILTERS})

    def __init__(self, options: VectorOptions) -> None:
        self._options = options
        self._pool = Pool(options.of_links(), self._open)
        self._lock = threading.Lock()
        self._home: str | None = None
        """The schema of the extension, once the tables are known to be there."""
        self._dimensions: set[int] = set()
        """Those that have an index."""
        self._sizes = lexical.Sizes()
        try:
            with translating():
                self._prepare()
        except (StoreBusy, StoreUnavailable):
            pass  # it may pass, and is told to whoever asks for something

    # -- the port

    def write(self, line: Line, number: int, points: Sequence[Point], removed: Sequence[bytes], now: Instant) -> None:
        """Keep some and remove others."""
        changes: dict[bytes, Point | None] = {point.id: point for point in points}
        changes |= dict.fromkeys(removed)
        given = list(changes.items())
        if any(point is not None and len(point.vectors) for point in changes.values()):
            self._make_index(line.dimension)
        for first in range(0, len(given), writing.AT_ONCE):
            some = dict(given[first : first + writing.AT_ONCE])
            self._do(partial(writing.write, line=line, number=number, changes=some, now=now))

    def nearest(
        self, line: Line, scope: Scope, vector: NDArray[np.float32], limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """The closest: of all in a small scope, and nearly so in a large one."""

        half = self._options.half

        def ask(link: Link) -> Sequence[tuple[bytes, float]]:
            held = writing.line_of(link, line)
            if held is None or not line.dimension:
                return []
            found = self._in_small(held, scope, lambda: nearest.compared(link, held, scope, vector, limit, SMALL))
            if found is None:
                found = nearest.walked(link, held, scope, vector, limit, half=half)
            return found if found is not None else nearest.compared(link, held, scope, vector, limit) or []

        return self._do(ask)

    def sharing(
        self, line: Line, scope: Scope, words: Mapping[int, float], average: float, limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """Those with the most of the lexical."""

        def ask(link: Link) -> Sequence[tuple[bytes, float]]:
            held = writing.line_of(link, line)
            if held is None or not words:
                return []
            rest = words, average, limit
            found = self._in_small(held, scope, lambda: lexical.shared(link, held, scope, *rest, SMALL))
            return lexical.shared_by_many(link, held, scope, *rest) if found is None else found

        return self._do(ask)

    def statistics(self, line: Line, scope: Scope, words: Sequence[int]) -> Statistics:
        """What there is in a scope."""

        def ask(link: Link) -> Statistics:
            held = writing.line_of(link, line)
            if held is None:
                return Statistics(0, 1.0, dict.fromkeys(words, 0))
            return lexical.counted(link, self._sizes, held, scope, words)

        return self._do(ask)

    def followed(self, line: Line) -> Followed | None:
        """How far it was followed."""
        return self._do(lambda link: writing.followed(link, line))

    def highest(self, line: Line) -> int:
        """The highest number."""
        return self._do(lambda link: writing.highest(link, line))

    def follow(self, line: Line, followed: Followed) -> None:
        """Note how far it was followed."""
        self._do(lambda link: writing.follow(link, line, followed))

    def lines(self, tenant: str) -> Sequence[Line]:
        """Those of a tenant."""
        return self._do(lambda link: writing.lines(link, tenant))

    def forget(self, line: Line) -> None:
        """Remove all of it."""
        self._do(lambda link: writing.forget(link, line))

    def tidy(self, before: Instant) -> None:
        """Forget older removals."""
        self._do(lambda link: writing.tidy(link, before))

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def _in_small(
        self, line: int, scope: Scope, search: Callable[[], Sequence[tuple[bytes, float]] | None]
    ) -> Sequence[tuple[bytes, float]] | None:
        """What a search finds that gives up in large scopes; it is not tried where it gave up a moment ago."""
        extent = lexical.Extent.of(line, scope)
        if self._sizes.known(extent, "large") is not None:
            return None
        found = search()
        if found is None:
            self._sizes.note(extent, "large")
        return found

    # -- connections

    def _do(self, work: Callable[[Link], Result]) -> Result:
        """Do some work on a connection; again when the connection had broken, or when writers met."""
        with refusing():
            for turn in range(1, _TRIES + 1):
                try:
                    with self._pool.lend() as link:
                        return work(link)
                except psycopg.Error as problem:
                    if problem.sqlstate in _MISSING:
                        self._forget_tables()
                    lost = is_lost(problem)
                    if lost:
                        self._pool.forget_idle()
                    if not is_worth_repeating(problem) or turn == _TRIES or (lost and turn > 1):
                        raise
            raise AssertionError("unreachable")

    def _open(self, options: PostgresOptions) -> Link:
        """A connection to tables that are there."""
        link = open_vector_link(options)
        try:
            with self._lock:
                if self._home is None:
                    home = schema.home_of_extension(link)
                    look_in(link, options.schema, home)
                    schema.migrate(link, options.schema)
                    self._home = home
                home = self._home
            look_in(link, options.schema, home)
        except BaseException:
            link.close()
            raise
        return link

    def _prepare(self) -> None:
        with self._pool.lend():
            pass

    def _forget_tables(self) -> None:
        """Let the next connection make what somebody has removed."""
        with self._lock:
            self._home = None
            self._dimensions.clear()
        self._pool.forget_idle()

    def _make_index(self, dimension: int) -> None:
        half = self._options.half
        if dimension in self._dimensions or not schema.is_indexable(dimension, half=half):
            return
        name = self._options.schema
        if self._do(lambda link: schema.make_index(link, name, dimension, half=half)):
            self._dimensions.add(dimension)
