"""Nothing is ever found outside of the namespace and the tenant that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count as counting
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.sizes import sized

import recollect
from recollect import DeleteOp, MemoriesSync, PutOp

QUERIES = 80
"""How many questions each filling of the store is asked."""
AWKWARD = (
    *("_", "%", "\\", ".", "\x1e", "\x1f", "*", " ", "~", "\x7f", "🜚", "日本", "a/b", "%1E", "%25"),
    *("al", "alice", "aliced", "alice ", "Alice", "ALICE", "al\x1eice", "alice%", "al_ce", "a"),
    *("caf\u00e9", "cafe\u0301", "CAF\u00c9", "x'; --", "user"),
)
KEYS = ("k", "K", "key%", "k_y", "\x1e", "caf\u00e9", "cafe\u0301", "*", "🜚")
Path_ = tuple[str, ...]
Place = tuple[Path_, str]

segments = st.one_of(st.sampled_from(AWKWARD), st.sampled_from(AWKWARD), st.text(min_size=1, max_size=4))
storable = segments.filter(lambda text: "\x00" not in text and not any(0xD800 <= ord(c) < 0xE000 for c in text))
paths = st.one_of(
    st.lists(storable, min_size=1, max_size=3), st.lists(st.sampled_from(AWKWARD[15:20]), min_size=1, max_size=10)
).map(tuple)
fillings = st.lists(
    st.lists(st.tuples(paths, st.sampled_from(KEYS), st.sampled_from("puud")), min_size=2, max_size=12),
    min_size=2,
    max_size=3,
)


@dataclass
class Model:
    """What one tenant holds, in the plainest words."""

    versions: dict[Place, list[dict[str, Any]]] = field(default_factory=dict)
    live: dict[Place, dict[str, Any]] = field(default_factory=dict)
    log: list[tuple[str, Path_, str]] = field(default_factory=list)

    def put(self, place: Place, value: dict[str, Any]) -> None:
        self.log.append(("update" if place in self.live else "add", *place))
        self.versions.setdefault(place, []).insert(0, value)
        self.live[place] = value

    def delete(self, place: Place) -> None:
        if place in self.live:
            del self.live[place]
            self.log.append(("delete", *place))


def below(path: Path_, prefix: Path_) -> bool:
    return len(path) >= len(prefix) and all(path[place] == segment for place, segment in enumerate(prefix))


def like(found: Path_, pattern: Path_) -> bool:
    return all(asked == "*" or asked == actual for asked, actual in zip(pattern, found, strict=True))


def listed(model: Model, prefix: Path_, suffix: Path_) -> set[Path_]:
    longest = max(len(prefix), len(suffix))
    return {
        path
        for path, _ in model.live
        if len(path) >= longest and like(path[: len(prefix)], prefix) and like(path[len(path) - len(suffix) :], suffix)
    }


def fill(memories: MemoriesSync, tenant: str, wishes: list[tuple[Path_, str, str]]) -> Model:
    """Write the wishes into a tenant and its model: puts, then updates (u) and deletions (d)."""
    model = Model()
    operations: list[PutOp | DeleteOp] = []
    for turn, (path, key, wish) in enumerate(wishes):
        for again in range(1 + (wish == "u")):
            value = {"tenant": tenant, "path": list(path), "key": key, "turn": turn, "again": again}
            operations.append(PutOp(path, key, value))
            model.put((path, key), value)
        if wish == "d":
            operations.append(DeleteOp(path, key))
            model.delete((path, key))
    memories.batch(operations)
    return model


def nearby(path: Path_, chance: Random) -> Path_:
    """A namespace that is easily mistaken for this one."""
    cut = path[: chance.randint(1, len(path))]
    last = cut[-1]
    turned = chance.choice(
        (last, last.swapcase(), last + "d", last[:-1] or "x", last.replace("\u00e9", "e\u0301"), "%", "_", last + "%")
    )
    return chance.choice((path, cut, (*cut[:-1], turned), ("*",), (*cut, "*")[:10]))


def starred(path: Path_, chance: Random) -> Path_:
    return tuple("*" if chance.random() < 0.3 else segment for segment in path)


def ask(memories: MemoriesSync, model: Model, place: Place, chance: Random) -> None:
    """Ask one question, and demand exactly what the model says: nothing from elsewhere, nothing missing."""
    path, key = place
    match chance.randrange(5):
        case 0:
            item = memories.get(path, key)
            assert (None if item is None else item.value) == model.live.get(place)
        case 1:
            prefix = chance.choice((path, path, ()))
            found = [((item.namespace, item.key), item.value) for item in memories.search(prefix, limit=1_000)]
            assert len(found) == len(dict(found))
            assert dict(found) == {at: value for at, value in model.live.items() if below(at[0], prefix)}
        case 2:
            prefix, suffix = starred(path, chance), starred(path, chance)[-chance.randint(1, 3) :]
            if chance.random() < 0.5:
                prefix, suffix = chance.choice(((prefix, ()), ((), suffix)))
            names = memories.list_namespaces(prefix=prefix, suffix=suffix, limit=1_000)
            assert len(names) == len(set(names))
            assert set(names) == listed(model, prefix, suffix)
        case 3:
            prefix = chance.choice((path, path, ()))
            told = [(str(event.kind), event.namespace, event.key) for event in memories.events(prefix, limit=1_000)]
            assert told == [entry for entry in model.log if below(entry[1], prefix)]
        case 4:
            values = [item.value for item in memories.history(path, key, limit=1_000)]
            assert values == model.versions.get(place, [])


_serial = counting()


def check(memories: MemoriesSync, filling: list[list[tuple[Path_, str, str]]], chance: Random) -> int:
    """Fill fresh tenants of the store and ask about all of them; returns how many questions were asked."""
    turn = next(_serial)
    tenants = {f"{name}{turn}": wishes for name, wishes in zip(("t", "T", "t_"), filling, strict=False)}
    views = {tenant: memories.for_tenant(tenant) for tenant in tenants}
    models = {tenant: fill(views[tenant], tenant, wishes) for tenant, wishes in tenants.items()}
    known = [(path, key) for wishes in filling for path, key, _ in wishes]
    for _ in range(QUERIES):
        path, key = chance.choice(known)
        tenant = chance.choice(list(tenants))
        ask(views[tenant], models[tenant], (nearby(path, chance), chance.choice((key, chance.choice(KEYS)))), chance)
    return QUERIES


@contextmanager
def opened(backend: str, folder: Path) -> Iterator[MemoriesSync]:
    with recollect.open_sync(":memory:" if backend == "memory" else folder / "data") as memories:
        yield memories


def run(memories: MemoriesSync, count: int) -> int:
    """Ask at least so many questions, over fillings that hypothesis makes up."""
    asked = 0

    @settings(
        max_examples=-(-count // QUERIES),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(fillings, st.randoms(use_true_random=False))
    def one(filling: list[list[tuple[Path_, str, str]]], chance: Random) -> None:
        nonlocal asked
        asked += check(memories, filling, chance)

    one()
    return asked


@sized(4_000, 100_000)
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_no_question_is_answered_with_anything_from_elsewhere(count: int, backend: str, tmp_path: Path) -> None:
    with opened(backend, tmp_path) as memories:
        asked = 0
        while asked < count:  # hypothesis may find fewer distinct examples than it was allowed
            asked += run(memories, count - asked)
    print(f"isolation on {backend}: {asked:,} questions, 0 answers from elsewhere")
    assert asked >= count


def test_a_scope_that_forgets_the_separator_is_caught_in_sqlite(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "recollect.backends.sqlite.reads.subtree_range", lambda within: (within.encoded, within.encoded + "\x7f")
    )
    with opened("sqlite", tmp_path) as memories, pytest.raises(AssertionError):
        run(memories, 4_000)


def test_a_scope_that_forgets_the_separator_is_caught_in_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "recollect.backends.memory.store.in_subtree", lambda encoded, candidate: candidate.startswith(encoded)
    )
    with opened("memory", tmp_path) as memories, pytest.raises(AssertionError):
        run(memories, 4_000)


def test_a_reader_that_forgets_the_tenant_is_caught(tmp_path: Path, monkeypatch: Any) -> None:
    forgetful = "recollect.backends.sqlite.reads._WALK"
    from recollect.backends.sqlite import reads

    monkeypatch.setattr(forgetful, reads._WALK.replace("tenant = ?1", "tenant >= '' AND ?1 = ?1"))
    with opened("sqlite", tmp_path) as memories, pytest.raises(AssertionError):
        run(memories, 4_000)
