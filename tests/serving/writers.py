"""Writers that each own some keys, so that after a crash they know exactly what must be there."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from typing import Any

from tests.serving.line import HalfAnswered, Line, Unanswered, whole_log

KEYS = 8
WRITERS = 4
DELETED = ""
Effects = list[tuple[str, str]]
"""Keys, and what was written to each; nothing for a deletion."""


class Writer:
    """Writes until the server is gone; keeps, per key, all that was acknowledged, and what was under way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.place = ["user", name]
        self.acknowledged = 0
        self.half_answered = 0
        self.flaws: list[str] = []
        self._told: dict[str, list[str]] = defaultdict(list)
        self._under_way: Effects = []
        self._chance = random.Random(name)
        self._count = 0

    def write(self, url: str, token: str, gone: threading.Event) -> None:
        """Write until the connection breaks, or until told that the server is gone."""
        with Line(url, token) as line:
            try:
                while not gone.is_set():
                    self._one(line)
            except HalfAnswered:
                self.half_answered += 1
            except Unanswered:
                pass

    def check(self, line: Line) -> list[str]:
        """Compare what is there with what must be; what was under way may have happened wholly or not at all."""
        found: dict[str, list[str]] = defaultdict(list)
        for event in whole_log(line, *self.place):
            found[event["key"]].append(DELETED if event["kind"] == "delete" else event["value"]["token"])
        flaws, self.flaws = self.flaws, []
        kept = {key: list(tokens) for key, tokens in self._told.items() if tokens}
        if dict(found) != kept:
            for key, token in self._under_way:
                self._told[key].append(token)
            if dict(found) != {key: tokens for key, tokens in self._told.items() if tokens}:
                flaws.append(f"{self.name}: the log has {_last(found)}, where {_last(kept)} was acknowledged")
                self._told = found
        self._under_way = []
        live = {key: tokens[-1] for key, tokens in found.items() if tokens[-1] != DELETED}
        if (rows := self._rows(line)) != live:
            flaws.append(f"{self.name}: rows and log disagree: {sorted(rows.items() ^ live.items())[:4]}")
        return flaws

    def _one(self, line: Line) -> None:
        dice = self._chance.random()
        keys = self._chance.sample([f"k{number}" for number in range(KEYS)], 3)
        if dice < 0.4:
            token = self._token()
            self._do(line, "PUT", "/v1/memories", self._put(keys[0], token), [(keys[0], token)])
        elif dice < 0.6:
            token = self._token()
            body = self._put(keys[0], token) | {"expected_revision": self._revision(keys[0])}
            self._do(line, "PUT", "/v1/memories", body, [(keys[0], token)])
        elif dice < 0.65:
            body = self._put(keys[0], self._token()) | {"expected_revision": self._revision(keys[0]) + 7}
            self._do(line, "PUT", "/v1/memories", body, [], status=409)
        elif dice < 0.8:
            target = f"/v1/memories?ns={'&ns='.join(self.place)}&key={keys[0]}"
            self._do(line, "DELETE", target, None, self._deletion(keys[0]), status=204)
        else:
            tokens = self._token(), self._token()
            puts = [{"op": "put"} | self._put(key, token) for key, token in zip(keys, tokens, strict=False)]
            operations = [*puts, {"op": "delete", "namespace": self.place, "key": keys[2]}]
            effects = [*zip(keys, tokens, strict=False), *self._deletion(keys[2])]
            self._do(line, "POST", "/v1/memories/batch", {"operations": operations}, effects)

    def _do(self, line: Line, method: str, target: str, body: object, effects: Effects, status: int = 200) -> None:
        self._under_way = effects
        reply = line.ask(method, target, body)
        if reply.status == 502 or (reply.status == 503 and reply.json()["code"] == "outcome_unknown"):
            raise Unanswered("the server, or what is before it, does not know either")
        self._under_way = []
        if reply.status == status:
            self.acknowledged += status != 409
            for key, token in effects:
                self._told[key].append(token)
        elif reply.status != 503:
            self.flaws.append(f"{self.name}: {method} was answered {reply.status} {reply.body[:200]!r}, not {status}")

    def _rows(self, line: Line) -> dict[str, str]:
        reply = line.ask("POST", "/v1/memories/search", {"namespace_prefix": self.place, "limit": 100})
        return {item["key"]: item["value"]["token"] for item in reply.json()["items"]}

    def _token(self) -> str:
        self._count += 1
        return f"{self.name}-{self._count}"

    def _put(self, key: str, token: str) -> dict[str, Any]:
        text = "x" * self._chance.choice((10, 200, 5_000))
        return {"namespace": self.place, "key": key, "value": {"token": token, "text": text}}

    def _revision(self, key: str) -> int:
        told = self._told[key]
        return sum(token != DELETED for token in told) if told and told[-1] != DELETED else 0

    def _deletion(self, key: str) -> Effects:
        return [(key, DELETED)] if self._revision(key) else []


class Crowd:
    """Several writers at work on one server, or on several in turn."""

    def __init__(self, name: str) -> None:
        self.writers = [Writer(f"{name}-{number}") for number in range(WRITERS)]
        self._gone = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, token: str, *urls: str) -> None:
        self._gone = threading.Event()
        self._threads = [
            threading.Thread(target=each.write, args=(urls[number % len(urls)], token, self._gone))
            for number, each in enumerate(self.writers)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """To be called once the server is gone, or has to be looked at."""
        self._gone.set()
        for thread in self._threads:
            thread.join()

    @property
    def acknowledged(self) -> int:
        return sum(each.acknowledged for each in self.writers)

    @property
    def half_answered(self) -> int:
        return sum(each.half_answered for each in self.writers)

    def flaws(self, url: str, token: str) -> list[str]:
        """All that is wrong in what the server has now."""
        with Line(url, token, timeout=60) as line:
            flaws = [flaw for each in self.writers for flaw in each.check(line)]
            sequences = [event["sequence"] for event in whole_log(line)]
            if sequences != list(range(1, len(sequences) + 1)):
                flaws.append("the log has gaps")
            verified = line.ask("POST", "/admin/v1/verify", {}).json()
            if not verified["sound"] or verified["events"] != len(sequences):
                flaws.append(f"the chain does not verify: {verified}")
        return flaws


def _last(log: dict[str, list[str]]) -> dict[str, list[str]]:
    return {key: tokens[-2:] for key, tokens in sorted(log.items())}
