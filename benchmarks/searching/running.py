"""Running the searches: for each size everybody is filled with the same memories, then all take turns at answering."""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recollect
from benchmarks.running import Disagreement, Tell
from benchmarks.searching import lexical
from benchmarks.searching.corpus import Layout, Query
from benchmarks.searching.footprint import measured
from benchmarks.searching.rates import rates
from benchmarks.searching.subjects import (
    HASHING,
    LOCAL,
    OURS,
    OURS_AWAITED,
    OURS_PGVECTOR,
    POSTGRES,
    SQLITE,
    Asked,
    Awaited,
    Called,
    NoPostgres,
    Postgres,
    Same,
    fill,
    sqlite_store,
)
from benchmarks.workload import PAGE, Counts, Sample, awaited, one_by_one
from recollect import Settings
from recollect.backends.embedding.hashing import HashingEmbedder
from recollect.backends.embedding.local import LocalEmbedder

STEPS = (1_000, 10_000, 100_000, 1_000_000)
MOST_WITH_PEERS = 100_000
USERS = 8
"""How many users' subtrees are searched by turns."""
USER, INSIDE, TEAM = "a user's", "a user's, inside an opened team's", "a team's"


@dataclass(frozen=True)
class Row:
    """What was searched: a subtree of so many memories in a tenant that has so many."""

    size: int
    scope: str
    within: int
    model: str = "hashing"


@dataclass
class Found:
    """Everything that a run found."""

    laps: dict[tuple[Row, str], list[Sample]] = field(default_factory=lambda: defaultdict(list))
    cold: dict[Row, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds of first searches."""
    loads: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each size: writes and entries per second, and bytes on disk per memory."""
    recall: dict[str, float] = field(default_factory=dict)
    """Share of the ten closest, by who looked for them."""
    lexical: list[dict[str, Any]] = field(default_factory=list)
    footprints: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of a process that opens the memories of each size: memory, and first searches."""
    rates: dict[str, float] = field(default_factory=dict)
    """Texts indexed in a second, by model and length."""
    notes: list[str] = field(default_factory=list)


def sizes(most: int) -> list[int]:
    """How many memories there are, step by step."""
    return sorted({min(step, most) for step in STEPS if step <= most} | {most})


def compare(counts: Counts, folder: Path, tell: Tell, *, user: int = 1_000) -> Found:
    """Measure everything: `user` is how many memories a user has."""
    found = Found()
    with ExitStack() as stack:
        postgres = _postgres(folder / "postgres", found, stack)
        for size in sizes(counts.searched):
            part = _Part(Layout(size, user), counts, folder / f"s{size}", HASHING, found, tell)
            part.run(Same(HashingEmbedder(384)) if size <= MOST_WITH_PEERS else None, postgres)
        few = Layout(min(user, counts.searched), user)
        part = _Part(few, counts, folder / "local", LOCAL, found, tell)
        part.run(Same(LocalEmbedder()), postgres)
    for size in sizes(min(counts.searched, MOST_WITH_PEERS)):
        if size in (1_000, min(counts.searched, MOST_WITH_PEERS)):
            tell(f"words alone, {size:,} memories")
            found.lexical.append(lexical.compare(Layout(size, user), counts.searches))
    tell("how fast texts are indexed")
    found.rates = rates(folder, counts)
    return found


def _postgres(folder: Path, found: Found, stack: ExitStack) -> Postgres | None:
    try:
        postgres = Postgres(folder)
    except NoPostgres as error:
        found.notes.append(f"PostgreSQL could not be started here, so {POSTGRES} is missing. {error}")
        return None
    stack.callback(postgres.close)
    found.notes.append(f"{POSTGRES} runs on PostgreSQL {postgres.version()}, over a Unix socket.")
    return postgres


class _Part:
    """One size with one embedder."""

    def __init__(
        self, layout: Layout, counts: Counts, folder: Path, settings: Settings, found: Found, tell: Tell
    ) -> None:
        self._layout, self._counts, self._folder = layout, counts, folder
        self._settings, self._found, self._tell = settings, found, tell
        model = "hashing" if settings is HASHING else "local model"
        self._name = f"{layout.size:,} memories, {model}"
        self._team = Row(layout.size, TEAM, layout.in_team, model)
        self._user = Row(layout.size, USER, layout.in_user, model)
        self._inside = Row(layout.size, INSIDE, layout.in_user, model)
        self._parted = layout.in_user < layout.in_team

    def run(self, same: Same | None, postgres: Postgres | None) -> None:
        """Fill everybody, then search; without a common embedder, only this store is filled."""
        self._folder.mkdir()
        self._fill()
        with ExitStack() as stack:
            peers = stack.enter_context(self._peers(same, postgres))
            loop = stack.enter_context(asyncio.Runner())
            called = Called(recollect.open_sync(self._folder / "ours", settings=self._settings))
            stack.callback(called.memories.close)
            waited = Awaited(loop.run(self._open()))
            stack.callback(lambda: loop.run(waited.memories.close()))
            if self._parted:
                self._cold(self._user, called, self._layout.of_users(USERS, 1, USERS))
            for number in range(self._counts.rounds):
                self._round(number, self._user if self._parted else self._team, called, waited, peers, loop)
            if self._parted:
                self._cold(self._team, called, self._layout.of_team(1, 2))
                for number in range(self._counts.rounds):
                    self._round(number, self._team, called, waited, peers, loop)
                    self._look_inside(number, called)
            if same is not None:
                self._recall(called, same, peers)
        scopes = ["/".join(prefix) for prefix in (self._layout.home(0), ("team", "t000"))]
        embedder = "hashing" if self._settings is HASHING else "local"
        self._found.footprints[self._name] = measured(self._folder / "ours", embedder, scopes)
        shutil.rmtree(self._folder)

    def _look_inside(self, number: int, called: Called) -> None:
        """Search subtrees of users that were not searched before, of a team that was."""
        if self._layout.in_team < 2 * USERS * self._layout.user:
            return
        before = self._layout.of_users(USERS, 300 + number, USERS, skipped=USERS)
        queries = self._layout.of_users(self._many(self._team), 400 + number, USERS, skipped=USERS)
        one_by_one(called.search, before)
        self._found.laps[self._inside, OURS].append(one_by_one(called.search, queries))

    async def _open(self) -> recollect.Memories:
        return await recollect.open(self._folder / "ours", settings=self._settings)

    def _fill(self) -> None:
        put = indexed = 0.0
        with recollect.open_sync(self._folder / "ours", settings=self._settings) as memories:
            for at in range(0, self._layout.size, 10_000):
                took = fill(memories, self._layout.memories(at, 10_000))
                put, indexed = put + took[0], indexed + took[1]
                if at and at % 100_000 == 0:
                    self._tell(f"{self._name}: {at:,} are in")
        size = self._layout.size
        disk = sum(each.stat().st_size for each in (self._folder / "ours").rglob("*") if each.is_file())
        self._found.loads[self._name] = {
            "put_per_second": size / put,
            "indexed_per_second": size / indexed,
            "bytes_each": disk / size,
        }
        self._tell(f"{self._name}: put {size / put:,.0f}/s, indexed {size / indexed:,.0f}/s, {disk / size:,.0f} B each")

    @contextmanager
    def _peers(self, same: Same | None, postgres: Postgres | None) -> Iterator[dict[str, Asked]]:
        if same is None:
            yield {}
            return
        stored = self._layout.memories(0, self._layout.size)
        same.learn(stored)
        with ExitStack() as stack:
            peers: dict[str, Asked] = {}
            sqlite = stack.enter_context(sqlite_store(self._folder, same))
            self._loading(SQLITE, lambda: sqlite.load(stored))
            peers[SQLITE] = sqlite
            if postgres is not None:
                began = perf_counter()
                peer, said = stack.enter_context(postgres.store(self._folder.name, same, stored))
                self._tell(f"{self._name}: {POSTGRES} filled in {perf_counter() - began:.0f} s")
                self._found.notes.append(f"{POSTGRES}, {self._name}: {said}.")
                peers[POSTGRES] = peer
                place = stack.enter_context(
                    postgres.followed(f"{self._folder.name}_vectors", self._folder / "ours", self._settings)
                )
                peers[OURS_PGVECTOR], took = place
                self._found.notes.append(f"{OURS_PGVECTOR}, {self._name}: filled in {took:.0f} s.")
                self._tell(f"{self._name}: {OURS_PGVECTOR} filled in {took:.0f} s")
            yield peers

    def _loading(self, name: str, load: Any) -> None:
        began = perf_counter()
        load()
        self._tell(f"{self._name}: {name} filled in {perf_counter() - began:.0f} s")

    def _cold(self, row: Row, called: Called, queries: Sequence[Query]) -> None:
        """The first searches of scopes, which read all of their entries."""
        sample = one_by_one(called.search, queries)
        self._found.cold[row] += [lap / 1e6 for lap in sample.laps]

    def _many(self, row: Row) -> int:
        """How many searches a round has: fewer where each takes long."""
        many, few = max(self._counts.searches, 4), max(self._counts.broad, 3)
        if row.model != "hashing":
            return max(many // 4, few)
        return many if row.within <= 1_000 else max(many // 4, few) if row.within <= 10_000 else few

    def _round(
        self,
        number: int,
        row: Row,
        called: Called,
        waited: Awaited,
        peers: Mapping[str, Asked],
        loop: asyncio.Runner,
    ) -> None:
        """Everybody answers the same questions, whoever began last time now at the end."""
        queries = self._queries(row, self._many(row), 100 + number)
        before = self._queries(row, USERS, 200 + number)  # so that everything is warm
        names = [OURS, OURS_AWAITED, *peers]
        for name in names if number % 2 == 0 else names[::-1]:
            if name == OURS_AWAITED:
                loop.run(awaited(waited.search, before))
                sample = loop.run(awaited(waited.search, queries))
            else:
                search = called.search if name == OURS else peers[name].search
                first = one_by_one(search, before)
                if name == OURS and number == 0 and not self._parted:
                    self._found.cold[row].append(first.laps[0] / 1e6)
                sample = one_by_one(search, queries)
            self._found.laps[row, name].append(sample)
        self._tell(f"{self._name}: {row.scope} subtree, round {number + 1} of {self._counts.rounds} done")

    def _queries(self, row: Row, count: int, seed: int) -> list[Query]:
        return self._layout.of_users(count, seed, USERS) if row == self._user else self._layout.of_team(count, seed)

    def _recall(self, called: Called, same: Same, peers: Mapping[str, Asked]) -> None:
        """How many of the ten closest, by exact arithmetic over all vectors, each of them finds."""
        exact, stored = same.vectors.astype(np.float64), self._layout.size
        names: dict[str, list[float]] = defaultdict(list)
        for query in self._layout.of_team(self._many(self._team), 7):
            cosines = exact[: self._layout.in_team] @ same.of_query(query.text)
            found = {
                OURS: called.search(query, "semantic"),
                **{
                    name: peer.search(query, "semantic") if isinstance(peer, Called) else peer.search(query)
                    for name, peer in peers.items()
                },
            }
            for name, keys in found.items():
                names[name].append(share(cosines, [int(key[1:]) for key in keys]))
            if len(found[OURS]) < min(PAGE, stored):
                raise Disagreement(f"recollect finds {len(found[OURS])} of {stored} memories")
        said = {f"{self._name}, {name}": sum(each) / len(each) for name, each in names.items()}
        self._found.recall.update(said)


def share(cosines: NDArray[np.float64], found: Sequence[int]) -> float:
    """The share of those found that are as close as the tenth closest; equally close ones are equally good."""
    wanted = min(PAGE, len(cosines))
    bar = np.partition(cosines, len(cosines) - wanted)[len(cosines) - wanted]
    return sum(bool(cosines[place] >= bar - 1e-6) for place in found[:wanted]) / wanted
