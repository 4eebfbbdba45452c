"""The calls of LangGraph's `BaseStore`, timed on every store with the same items, questions and turns."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, PutOp

from benchmarks.agents.subjects import OURS, Subject, plain_subjects, semantic_subjects
from benchmarks.engines.databases import Databases
from benchmarks.running import Disagreement, Tell
from benchmarks.searching.corpus import Layout, Query
from benchmarks.searching.subjects import Same
from benchmarks.workload import BATCH, PAGE, TOPICS, Counts, Memo, Question, Sample, memos, one_by_one, questions
from recollect.backends.embedding.hashing import HashingEmbedder

STEPS = (1_000, 10_000)
DIMENSIONS = 384
_LOOKED_AT = 20
Series = dict[tuple[str, str], list[Sample]]
"""The samples of all rounds, by row and subject."""


@dataclass(frozen=True)
class Material:
    """What one round asks of every store."""

    wanted: list[Memo]
    narrow: list[Question]
    broad: list[Question]
    homes: list[tuple[str, ...]]
    listings: list[int]
    fresh: list[Memo]
    updates: list[Memo]


def material(counts: Counts, stored: Sequence[Memo], number: int) -> Material:
    """The work of the round of that number. Whatever it puts anew, no other round does."""
    users, chance = counts.namespaces, random.Random(number)
    fresh = memos(0, counts.writes, users, f"f{number}-")
    changed = chance.sample(range(len(stored)), min(counts.writes, len(stored)))
    return Material(
        chance.choices(stored, k=counts.reads),
        questions(counts.searches, users, chance, broad=False),
        questions(counts.broad, users, chance, broad=True),
        [question.prefix for question in questions(counts.searches, users, chance, broad=False)],
        [users] * counts.listings,
        fresh,
        [stored[at]._replace(value=stored[at - 1].value) for at in changed],
    )


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    title: str
    run: Callable[[BaseStore, Material], Sample]


def put(store: BaseStore, memo: Memo) -> None:
    """Put one."""
    store.put(memo.namespace, memo.key, memo.value)


def get(store: BaseStore, memo: Memo) -> dict[str, Any] | None:
    """The value of one."""
    item = store.get(memo.namespace, memo.key)
    return None if item is None else item.value


def filtered(store: BaseStore, question: Question) -> list[dict[str, Any]]:
    """The ten newest of a topic."""
    return [item.value for item in store.search(question.prefix, filter={"topic": question.topic}, limit=PAGE)]


def newest(store: BaseStore, prefix: tuple[str, ...]) -> list[dict[str, Any]]:
    """The ten newest below a namespace."""
    return [item.value for item in store.search(prefix, limit=PAGE)]


ROWS = (
    Row("get", "get", lambda s, work: one_by_one(lambda memo: get(s, memo), work.wanted)),
    Row("search_newest", "search, newest ten", lambda s, work: one_by_one(lambda each: newest(s, each), work.homes)),
    Row("search_filter", "search, filter", lambda s, work: one_by_one(lambda each: filtered(s, each), work.narrow)),
    Row("search_broad", "search everything, filter", lambda s, work: one_by_one(lambda e: filtered(s, e), work.broad)),
    Row(
        "list_namespaces",
        "list_namespaces",
        lambda s, work: one_by_one(lambda limit: s.list_namespaces(limit=limit), work.listings),
    ),
    Row("put", "put", lambda s, work: one_by_one(lambda memo: put(s, memo), work.fresh)),
    Row("update", "put over what is there", lambda s, work: one_by_one(lambda memo: put(s, memo), work.updates)),
)


def compare(counts: Counts, made: Databases | None, folder: Path, tell: Tell) -> tuple[Series, list[Subject]]:
    """Fill every store with the same items and let them take turns, row by row and round by round."""
    subjects, series = plain_subjects(made), Series()
    stored = memos(0, counts.items, counts.namespaces)
    with ExitStack() as stack:
        opened = [(each, stack.enter_context(each.opened(_made(folder / each.name)))) for each in subjects]
        for _, store in opened:
            for at in range(0, len(stored), BATCH):
                part = stored[at : at + BATCH]
                store.batch([PutOp(memo.namespace, memo.key, memo.value) for memo in part])
        if made is not None:
            made.settle()
        _check(opened, stored, material(counts, stored, 0))
        for number in range(counts.rounds):
            work = material(counts, stored, number)
            for place, row in enumerate(ROWS):
                for each, store in _turns(opened, number + place):
                    series.setdefault((row.name, each.name), []).append(row.run(store, work))
            tell(f"LangGraph's calls, round {number + 1} of {counts.rounds} done")
    if made is not None:
        made.drop()
    shutil.rmtree(folder)
    return series, subjects


def _check(opened: Sequence[tuple[Subject, BaseStore]], stored: Sequence[Memo], work: Material) -> None:
    """Refuse to time a store that does not answer what was put."""
    expected = sorted({memo.namespace for memo in stored})
    for each, store in opened:
        if sorted(store.list_namespaces(limit=work.listings[0])) != expected:
            raise Disagreement(f"{each.name} lists different namespaces")
        for memo in work.wanted[:_LOOKED_AT]:
            if get(store, memo) != memo.value:
                raise Disagreement(f"{each.name} does not give back what was put under {memo.key}")
        for question in (*work.narrow[:_LOOKED_AT], *work.broad[:2]):
            there = [memo for memo in stored if memo.namespace[: len(question.prefix)] == question.prefix]
            matching = sum(memo.value["topic"] == question.topic for memo in there)
            found = filtered(store, question)
            if len(found) != min(PAGE, matching) or any(value["topic"] != question.topic for value in found):
                raise Disagreement(f"{each.name} finds something else for {question}")
            if len(newest(store, question.prefix)) != min(PAGE, len(there)):
                raise Disagreement(f"{each.name} does not list what is below {question.prefix}")


# -- by meaning


def compare_by_meaning(counts: Counts, made: Databases | None, folder: Path, tell: Tell) -> Series:
    """The same for queries, at every size, with one embedder for all."""
    series: Series = defaultdict(list)
    for size in sorted({min(step, counts.items) for step in STEPS}):
        _at_size(Layout(size, size), counts, made, folder / f"s{size}", series, tell)
    return dict(series)


def _at_size(layout: Layout, counts: Counts, made: Databases | None, folder: Path, series: Series, tell: Tell) -> None:
    same = Same(HashingEmbedder(DIMENSIONS))
    stored = layout.memories(0, layout.size)
    same.learn(stored)
    with ExitStack() as stack:
        subjects = semantic_subjects(made, same)
        opened = [(each, stack.enter_context(each.opened(_made(folder / each.name)))) for each in subjects]
        for each, store in opened:
            for at in range(0, layout.size, BATCH):
                part = list(enumerate(stored))[at : at + BATCH]
                store.batch([PutOp(m.namespace, m.key, {"text": m.text, "topic": _topic(n)}) for n, m in part])
            store.search(layout.home(0), query="anything")  # in process, a search indexes all that waits
            tell(f"{layout.size:,} items: {each.name} is filled")
        if made is not None:
            made.settle()
        _check_by_meaning(opened, layout)
        for number in range(counts.rounds):
            for place, (name, ask) in enumerate(_ASKED.items()):
                queries = layout.of_users(max(counts.searches // 4, 4), 100 * number + place, 1)
                for each, store in _turns(opened, number + place):
                    ask(store, queries[0], 0)
                    sample = one_by_one(_asking(ask, store), list(enumerate(queries)))
                    series[f"{name}_{layout.size}", each.name].append(sample)
            tell(f"{layout.size:,} items by meaning, round {number + 1} of {counts.rounds} done")
    if made is not None:
        made.drop()
    shutil.rmtree(folder)


def _asking(
    ask: Callable[[BaseStore, Query, int], list[str]], store: BaseStore
) -> Callable[[tuple[int, Query]], list[str]]:
    return lambda numbered: ask(store, numbered[1], numbered[0])


def _meant(store: BaseStore, query: Query, _: int) -> list[str]:
    return [item.key for item in store.search(query.prefix, query=query.text, limit=PAGE)]


def _meant_of_topic(store: BaseStore, query: Query, number: int) -> list[str]:
    wanted = {"topic": _topic(number)}
    return [item.key for item in store.search(query.prefix, query=query.text, filter=wanted, limit=PAGE)]


def _put_and_meant(store: BaseStore, query: Query, number: int) -> list[str]:
    """Put something, and ask for it at once: what was written is found."""
    store.put((*query.prefix, "s0"), f"w{query.text}", {"text": query.text, "topic": _topic(number)})
    return _meant(store, query, number)


_ASKED: dict[str, Callable[[BaseStore, Query, int], list[str]]] = {
    "meaning": _meant,
    "meaning_filter": _meant_of_topic,
    "put_meaning": _put_and_meant,
}


def _topic(number: int) -> str:
    return TOPICS[number % len(TOPICS)]


def _check_by_meaning(opened: Sequence[tuple[Subject, BaseStore]], layout: Layout) -> None:
    """Refuse to time a store that does not find what everybody finds first, or not what was just put."""
    queries = layout.of_users(4, 7, 1)
    for each, store in opened:
        for number, query in enumerate(queries):
            if len(_meant(store, query, 0)) != min(PAGE, layout.size):
                raise Disagreement(f"{each.name} finds too little for {query.text!r}")
            topic = _topic(number)
            found = store.search(query.prefix, query=query.text, filter={"topic": topic}, limit=PAGE)
            if not found or any(item.value["topic"] != topic for item in found):
                raise Disagreement(f"{each.name} finds something else than the topic {topic}")
            if f"w{query.text}" not in _put_and_meant(store, query, number):
                raise Disagreement(f"{each.name} does not find what was put just before")
            store.delete((*query.prefix, "s0"), f"w{query.text}")


def _turns(opened: Sequence[tuple[Subject, BaseStore]], number: int) -> Sequence[tuple[Subject, BaseStore]]:
    return opened if number % 2 == 0 else opened[::-1]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def titles(series: Series) -> dict[str, str]:
    """What the rows are called, in the order of the table."""
    said = {row.name: row.title for row in ROWS}
    asked = {
        "meaning": "search by meaning",
        "meaning_filter": "search by meaning, filter",
        "put_meaning": "put, then search by meaning",
    }
    for row, name in series:
        if name == OURS and row not in said:
            kind, _, size = row.rpartition("_")
            said[row] = f"{asked[kind]}, {int(size):,} items"
    return {row: title for row, title in said.items() if (row, OURS) in series}
