"""The rows of the table over HTTP: which requests each sends, and over how many connections."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from benchmarks.http.load import Request, request
from benchmarks.workload import AT_ONCE, PAGE, Counts, Memo, Step, memos, mixed

PATH = "/v1/memories"
SEARCH = f"{PATH}/search"
BATCH = f"{PATH}/batch"
EVENTS = f"{PATH}/events"
WHOAMI = "/v1/whoami"
BATCH_SIZE = 100
EVENTS_PAGE = 50
Keys = Mapping[str, str]
"""The API key of every user."""


def get(memo: Memo, keys: Keys) -> Request:
    """Ask for an item in the name of its user."""
    return request("GET", f"{PATH}?{_place(memo)}", keys[memo.namespace[1]])


def put(memo: Memo, keys: Keys) -> Request:
    """Remember an item in the name of its user."""
    return request("PUT", PATH, keys[memo.namespace[1]], _body(memo))


def delete(memo: Memo, keys: Keys) -> Request:
    """Delete an item in the name of its user."""
    return request("DELETE", f"{PATH}?{_place(memo)}", keys[memo.namespace[1]], expected=204)


def search(like: Memo, keys: Keys) -> Request:
    """Ask for a user's newest items that share the topic of this one."""
    asked = {"namespace_prefix": like.namespace[:2], "filter": {"topic": like.value["topic"]}, "limit": PAGE}
    return request("POST", SEARCH, keys[like.namespace[1]], asked)


def batch(together: Sequence[Memo], key: str) -> Request:
    """Remember many items at once."""
    return request("POST", BATCH, key, {"operations": [{"op": "put", **_body(memo)} for memo in together]})


def events(user: str, keys: Keys) -> Request:
    """Ask for the first page of what happened to a user's items."""
    asked = [("ns", "user"), ("ns", user), ("limit", EVENTS_PAGE)]
    return request("GET", f"{EVENTS}?{urlencode(asked)}", keys[user])


def whoami(user: str, keys: Keys) -> Request:
    """Ask who one is: the whole chain of our server, and nothing behind it."""
    return request("GET", WHOAMI, keys[user])


def _place(memo: Memo) -> str:
    return urlencode([*(("ns", segment) for segment in memo.namespace), ("key", memo.key)])


def _body(memo: Memo) -> dict[str, object]:
    return {"namespace": memo.namespace, "key": memo.key, "value": memo.value, "attributes": memo.attributes}


@dataclass(frozen=True)
class Material:
    """What one round does: the same for our server, for the constant, and in process."""

    wanted: list[Memo]
    wanted_at_once: list[Memo]
    fresh: list[Memo]
    crowd: list[Memo]
    batches: list[list[Memo]]
    readers: list[str]
    alike: list[Memo]
    steps: list[Step]


def material(counts: Counts, stored: Sequence[Memo], number: int) -> Material:
    """The work of the round of that number. Whatever it puts, no other round does."""
    users, chance = counts.namespaces, random.Random(number)
    crowd = memos(0, counts.concurrent, users, f"c{number}-")
    steps = mixed(counts.mixed, stored, users, chance)
    # What is deleted is asked for by nobody, so that every answer to a get has an item in it.
    doomed = iter(crowd)
    steps = [step._replace(memo=next(doomed, step.memo)) if step.kind == "delete" else step for step in steps]
    size = max(1, counts.writes // 10)
    together = memos(0, size * BATCH_SIZE, users, f"b{number}-")
    return Material(
        chance.choices(stored, k=counts.reads),
        chance.choices(stored, k=4 * counts.reads),
        memos(0, counts.writes, users, f"f{number}-"),
        crowd,
        [together[at : at + BATCH_SIZE] for at in range(0, len(together), BATCH_SIZE)],
        [memo.namespace[1] for memo in chance.choices(stored, k=counts.searches)],
        chance.choices(stored, k=4 * counts.searches),
        steps,
    )


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    title: str
    connections: int
    requests: Callable[[Material, Keys, str], list[Request]]
    """Made of the material, the users' keys and the administrator's."""


def _steps(work: Material, keys: Keys, _: str) -> list[Request]:
    of_kind = {"get": get, "put": put, "delete": delete}
    return [
        search(step.memo, keys) if step.kind == "search" else of_kind[step.kind](step.memo, keys) for step in work.steps
    ]


ROWS = (
    Row("get_1", "get", 1, lambda work, keys, _: [get(memo, keys) for memo in work.wanted]),
    Row("get_16", "get", AT_ONCE, lambda work, keys, _: [get(memo, keys) for memo in work.wanted_at_once]),
    Row(
        "whoami_16",
        "whoami (our chain, no memory)",
        AT_ONCE,
        lambda work, keys, _: [whoami(memo.namespace[1], keys) for memo in work.wanted_at_once],
    ),
    Row("put_1", "put", 1, lambda work, keys, _: [put(memo, keys) for memo in work.fresh]),
    Row("put_16", "put", AT_ONCE, lambda work, keys, _: [put(memo, keys) for memo in work.crowd]),
    Row("search_16", "search, 10 hits", AT_ONCE, lambda work, keys, _: [search(memo, keys) for memo in work.alike]),
    Row("batch_1", "batch of 100 puts", 1, lambda work, _, key: [batch(part, key) for part in work.batches]),
    Row("events_1", "events, page of 50", 1, lambda work, keys, _: [events(user, keys) for user in work.readers]),
    Row("mixed_16", "mixed", AT_ONCE, _steps),
)
