"""Whether the answers are right: a server that answers wrongly is not timed."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from benchmarks.http.load import Answer, Misbehaved, Request, answer_to, request
from benchmarks.http.rows import (
    BATCH,
    BATCH_SIZE,
    EVENTS,
    EVENTS_PAGE,
    PATH,
    SEARCH,
    WHOAMI,
    Keys,
    batch,
    delete,
    events,
    get,
    put,
    search,
    whoami,
)
from benchmarks.workload import PAGE, Memo, memos

_LOOKED_AT = 20
Recorded = dict[str, dict[str, dict[str, Any]]]
"""By path and method: an answer for the constant to repeat."""


def check_ours(port: int, stored: Sequence[Memo], keys: Keys, admin: str) -> Recorded:
    """Ask everything once that will be timed, refuse what is wrong, and give the right answers to be repeated."""
    some = stored[:: max(1, len(stored) // _LOOKED_AT)]
    new = memos(0, BATCH_SIZE, len(keys), "check-")
    first = new[0]
    _expect(port, request("GET", get(first, keys).target, "", expected=401))
    recorded: Recorded = {PATH: {}, SEARCH: {}, BATCH: {}, EVENTS: {}, WHOAMI: {}}
    recorded[WHOAMI]["GET"] = _plain(_known(port, first.namespace[1], keys))
    recorded[PATH]["GET"] = _plain(_middle([_same(port, memo, keys) for memo in some]))
    recorded[SEARCH]["POST"] = _plain(_middle([_found(port, memo, keys) for memo in some]))
    recorded[EVENTS]["GET"] = _plain(_middle([_told(port, memo.namespace[1], keys) for memo in some]))
    _expect(port, get(first, keys)._replace(expected=404))
    written = _expect(port, put(first, keys))
    said = json.loads(written.body)
    if (said["kind"], said["key"], said["revision"]) != ("add", first.key, 1):
        raise Misbehaved(f"a put is confirmed as {said}")
    recorded[PATH]["PUT"] = _plain(written)
    _same(port, first, keys)
    recorded[PATH]["DELETE"] = _plain(_expect(port, delete(first, keys)))
    _expect(port, get(first, keys)._replace(expected=404))
    done = _expect(port, batch(new, admin))
    if [result["key"] for result in json.loads(done.body)["results"]] != [memo.key for memo in new]:
        raise Misbehaved("a batch is confirmed as something else")
    recorded[BATCH]["POST"] = _plain(done)
    for memo in new[:: BATCH_SIZE // 4]:
        _same(port, memo, keys)
    return recorded


def check_constant(port: int, recorded: Recorded, key: str) -> None:
    """Refuse a constant that is not, in everything that costs, what our server answers."""
    for path, methods in recorded.items():
        for method, said in methods.items():
            body: object = {} if method in ("PUT", "POST") else None
            got = _expect(port, request(method, path, key, body, expected=said["status"]))
            if _plain(got) != said:
                raise Misbehaved(f"the constant does not repeat the answer to {method} {path}")


def _same(port: int, memo: Memo, keys: Keys) -> Answer:
    reply = _expect(port, get(memo, keys))
    said = json.loads(reply.body)
    given = {"namespace": list(memo.namespace), "key": memo.key, "value": memo.value, "attributes": memo.attributes}
    if {name: said[name] for name in given} != given:
        raise Misbehaved(f"a get does not give back what was put under {memo.key}")
    return reply


def _known(port: int, user: str, keys: Keys) -> Answer:
    reply = _expect(port, whoami(user, keys))
    if json.loads(reply.body)["user_id"] != user:
        raise Misbehaved(f"{user} is taken for somebody else")
    return reply


def _found(port: int, like: Memo, keys: Keys) -> Answer:
    reply = _expect(port, search(like, keys))
    items = json.loads(reply.body)["items"]
    if len(items) != PAGE or any(
        item["value"]["topic"] != like.value["topic"] or item["namespace"] != list(like.namespace) for item in items
    ):
        raise Misbehaved(f"a search for {like.value['topic']} finds something else")
    return reply


def _told(port: int, user: str, keys: Keys) -> Answer:
    reply = _expect(port, events(user, keys))
    told = json.loads(reply.body)["events"]
    sequences = [event["sequence"] for event in told]
    if len(told) != EVENTS_PAGE or sequences != sorted(set(sequences)) or any(e["namespace"][1] != user for e in told):
        raise Misbehaved(f"the events of {user} are not the first {EVENTS_PAGE} of theirs, in order")
    return reply


def _expect(port: int, asked: Request) -> Answer:
    reply = answer_to(port, asked)
    if reply.status != asked.expected:
        raise Misbehaved(f"{asked.method} {asked.target} answers {reply.status}, not {asked.expected}")
    return reply


def _middle(replies: Sequence[Answer]) -> Answer:
    """The answer of middle length, to stand for all."""
    return sorted(replies, key=lambda reply: len(reply.body))[len(replies) // 2]


def _plain(reply: Answer) -> dict[str, Any]:
    """An answer as it is repeated; its date is set by the stack itself."""
    headers = [[name, value] for name, value in reply.headers if name != "date"]
    return {"status": reply.status, "headers": headers, "body": base64.b64encode(reply.body).decode()}
