"""Clients of two servers over one data directory see reads and writes as if they happened one after the other."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

from tests.concurrency.crew import in_threads
from tests.concurrency.histories import KEYS, Namespace, Player, Swap, check_then_act, swap
from tests.serving.line import HalfAnswered, Line, Reply, Unanswered
from tests.sizes import sized

from recollect.domain.errors import OutcomeUnknown, RevisionConflict
from recollect.sync import MemoriesSync
from recollect.testing.linearizability import Call, violations
from recollect.testing.proxies import Proxy, by_chance, in_thread
from recollect.testing.servers import Server

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


@sized(25, 1_000)
def test_histories_of_two_servers_are_linearizable(count: int, pair: tuple[Server, Server]) -> None:
    one, two = pair
    calls: list[list[Call]] = []
    with in_thread(Proxy(two.url, by_chance(1, drop=0.02, cut=0.01))) as lossy:
        urls = [one.url, one.url, one.url, two.url, two.url, lossy.url]
        clients = [Client(url, one.token) for url in urls]
        for number in range(count):
            calls.append(history(clients, count * 10 + number))
            assert violations(calls[-1]) == []
        for client in clients:
            client.close()
    assert all(len(each) == CALLS for each in calls)
    assert {call.key for each in calls for call in each} == set(KEYS)
    unknown = sum(call.answer is None for each in calls for call in each)
    print(f"linearizability over HTTP: {count} histories, {unknown} unknown outcomes")
    assert unknown > 0


def test_check_then_act_over_two_servers_is_caught(pair: tuple[Server, Server]) -> None:
    clients = [Client(server.url, server.token) for server in pair for _ in range(CLIENTS // 2)]
    caught = sum(bool(violations(history(clients, number, check_then_act))) for number in range(PLANTED_HISTORIES))
    for client in clients:
        client.close()
    assert caught >= 0.8 * PLANTED_HISTORIES
