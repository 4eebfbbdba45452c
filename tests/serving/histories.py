"""Making histories over HTTP: clients of several servers, one of them behind a net that loses answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from tests.concurrency.crew import in_threads
from tests.concurrency.histories import KEYS, Namespace, Player, Swap, check_then_act, swap
from tests.serving.line import HalfAnswered, Line, Reply, Unanswered

from recollect.domain.errors import OutcomeUnknown, RevisionConflict
from recollect.sync import MemoriesSync
from recollect.testing.linearizability import Call, violations
from recollect.testing.proxies import Proxy, by_chance, in_thread

CALLS, CLIENTS = 60, 6
PLANTED_HISTORIES = 10
TIMEOUT = 2.0


class Got(NamedTuple):
    """An item, or what became of a write."""

    revision: int
    value: Any = None


class Client:
    """As much of the API as a history needs; an answer that does not come is an outcome that nobody knows."""

    def __init__(self, url: str, token: str) -> None:
        self._line = Line(url, token, timeout=TIMEOUT)

    def get(self, namespace: Namespace, key: str) -> Got | None:
        reply = self._ask("GET", f"/v1/memories?ns={'&ns='.join(namespace)}&key={key}")
        return None if reply.status == 404 else Got(reply.json()["revision"], reply.json()["value"])

    def put(
        self, namespace: Namespace, key: str, value: dict[str, Any], *, expected_revision: int | None = None
    ) -> Got:
        body = {"namespace": namespace, "key": key, "value": value, "expected_revision": expected_revision}
        return Got(self._ask("PUT", "/v1/memories", body).json()["revision"])

    def delete(self, namespace: Namespace, key: str, *, expected_revision: int | None = None) -> Got:
        operation = {"op": "delete", "namespace": namespace, "key": key, "expected_revision": expected_revision}
        done = self._ask("POST", "/v1/memories/batch", {"operations": [operation]}).json()["results"][0]
        return Got(done["revision"] if done["kind"] else 0)

    def close(self) -> None:
        self._line.close()

    def _ask(self, method: str, target: str, body: object = None) -> Reply:
        try:
            reply = self._line.ask(method, target, body)
        except (Unanswered, HalfAnswered) as problem:
            raise OutcomeUnknown(str(problem)) from None
        if reply.status == 409:
            raise RevisionConflict("refused", **reply.json()["details"])
        assert reply.status in (200, 404), reply
        return reply


def history(clients: list[Client], number: int, swap: Swap = swap) -> list[Call]:
    """One history in a namespace of its own, by all clients at once."""
    namespace = ("history", swap.__name__, str(number))
    players = [Player(cast("MemoriesSync", each), namespace, name, number, swap) for name, each in enumerate(clients)]
    played = in_threads(*(partial(player.play, CALLS // CLIENTS) for player in players))
    return [call for part in played for call in part]


def check_histories(urls: Sequence[str], token: str, count: int) -> str:
    """Fail unless so many histories can be explained; say what there was in them."""
    unknown = 0
    with in_thread(Proxy(urls[-1], by_chance(1, drop=0.02, cut=0.01))) as lossy:
        clients = [Client(urls[each % len(urls)], token) for each in range(CLIENTS - 1)]
        clients.append(Client(lossy.url, token))
        for number in range(count):
            calls = history(clients, count * 10 + number)
            assert violations(calls) == []
            assert len(calls) == CALLS
            assert {call.key for call in calls} == set(KEYS)
            unknown += sum(call.answer is None for call in calls)
        for client in clients:
            client.close()
    assert unknown > 0
    return f"{count} histories of {CALLS} calls, {unknown} unknown outcomes"


def planted_and_caught(urls: Sequence[str], token: str) -> float:
    """The share of histories in which checking first and acting then is found out."""
    clients = [Client(urls[each % len(urls)], token) for each in range(CLIENTS)]
    caught = sum(bool(violations(history(clients, number, check_then_act))) for number in range(PLANTED_HISTORIES))
    for client in clients:
        client.close()
    return caught / PLANTED_HISTORIES
