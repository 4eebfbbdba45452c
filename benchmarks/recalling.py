"""What the way out costs: governed turns, and recall beside plain search in one run, in tenants of growing size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

import recollect
from benchmarks.running import Tell
from benchmarks.workload import Counts
from recollect import MemoriesSync, Settings
from recollect.domain.address import Address, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Put
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.service.pipeline.shelving import FIELDS
from recollect.sync import drive

RECORDS = 1_000
"""How many records the space holds that is asked about; other users of the tenant have as many each."""
SMALL, LARGE = 100_000, 1_000_000
GOALS = {"governed turn, ms": 15.0, "recall, ms": 20.0, "recall as the tenant grows": 1.5}
_SETTINGS = Settings(embedder="hashing")
_AT_ONCE = 500
_THINGS = ("tea", "chess", "the sea", "mountains", "jazz", "bread", "trains", "linen", "clay", "winter")


def measured(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> dict[str, Any]:
    """Medians in milliseconds of single calls on SQLite in process, with the hashing embedder."""
    records = min(RECORDS, counts.items)
    with recollect.open_sync(folder / "recalling", settings=_SETTINGS) as memories:
        tell(f"a space of {records:,} records")
        record = _begun(memories)
        _fill(memories, record, "admin", records)
        for number in range(records):
            memories.put(("user", "admin", "plain"), str(number), {"text": _text(number)})
        tell("governed turns")
        turn = _each(counts.writes, lambda number: memories.take_turn("bench", user=_text(number), ai="Noted."))
        grown = []
        for size in sorted({min(SMALL, max(counts.searched, records)), max(counts.searched, records)}):
            tell(f"a tenant of {size:,} records")
            grown.append(_grown(memories, record, size, records, counts))
    first, last = grown[0], grown[-1]
    return {
        "machine": dict(machine),
        "records": records,
        "milliseconds": {"governed turn": round(median(turn), 3)},
        "tenants": grown,
        "ratios": {"recall as the tenant grows": round(last["recall"] / first["recall"], 3)},
        "goals": GOALS,
    }


def _begun(memories: MemoriesSync) -> Record:
    """A record that came the usual way, after which all others are made."""
    memories.capture([{"text": "I prefer tea number zero."}])
    (found,) = memories.list_records(limit=1)["records"]
    store = memories._memories._workings.store
    address = Address(Plane.RECORD, namespace(("user", "admin")), found["id"].split(":", 2)[2])
    row = drive(store.get("default", address))
    if row is None or row.value is None:
        raise AssertionError("it was just remembered")
    return read_record(row.value)


def _text(number: int) -> str:
    return f"I like {_THINGS[number % len(_THINGS)]} on day {number} of year {1900 + number % 120}."


def _fill(memories: MemoriesSync, record: Record, user: str, count: int) -> None:
    """So many records of a user, written as they would be, without what leads to them."""
    store, root = memories._memories._workings.store, namespace(("user", user))
    for start in range(1, count + 1, _AT_ONCE):
        operations = []
        for number in range(start, min(start + _AT_ONCE, count + 1)):
            key = f"semantic:{number + 1_000_000}"
            mine = msgspec.structs.replace(record, id=f"user:{user}:{key}", owner=user, text=_text(number), tick=number)
            value, labels = msgspec.json.encode(mine), encode_attributes(mine.labels())
            operations.append(
                Put(Address(Plane.RECORD, root, key), value, None, labels, index=True, index_fields=FIELDS)
            )
        drive(store.commit(Commit("default", tuple(operations))))


def _grown(memories: MemoriesSync, record: Record, size: int, each: int, counts: Counts) -> dict[str, Any]:
    """Recall beside plain search, by turns, among so many records of the tenant."""
    there = drive(memories._memories._workings.store.count("default", Plane.RECORD))
    for number in range(there // each, size // each):
        _fill(memories, record, f"user{number}", each)
    drive(memories._memories._workings.indexing.catch_up("default"))
    recall: list[float] = []
    search: list[float] = []
    for _ in range(counts.rounds):
        recall += _each(counts.writes, partial(_recalled, memories))
        search += _each(counts.writes, partial(_searched, memories))
    taken = {"recall": round(median(recall), 3), "search": round(median(search), 3)}
    return {"size": size} | taken | {"recall beside search": round(taken["recall"] / taken["search"], 3)}


def _recalled(memories: MemoriesSync, number: int) -> None:
    memories.recall(f"what about {_THINGS[number % len(_THINGS)]} on day {number}?")


def _searched(memories: MemoriesSync, number: int) -> None:
    query = f"what about {_THINGS[number % len(_THINGS)]} on day {number}?"
    memories.search(("user", "admin", "plain"), query=query, limit=10)


def _each(count: int, call: Callable[[int], object]) -> list[float]:
    taken = []
    for number in range(count):
        began = perf_counter()
        call(number)
        taken.append((perf_counter() - began) * 1_000)
    return taken


def table(found: Mapping[str, Any]) -> str:
    """The figures, for people."""
    lines = [f"The way out, in process on SQLite, {found['records']:,} records in the space (medians)"]
    lines += [f"  {name:<28} {taken:8.3f} ms" for name, taken in found["milliseconds"].items()]
    for each in found["tenants"]:
        beside = f"{each['recall beside search']:.2f} × a search of {each['search']:.3f} ms"
        lines.append(f"  recall among {each['size']:>9,}      {each['recall']:8.3f} ms  ({beside})")
    lines += [f"  {name:<28} {ratio:8.2f} ×" for name, ratio in found["ratios"].items()]
    return "\n".join(lines)
