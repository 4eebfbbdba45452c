"""Readers of the event log over HTTP, each with its own way of going on after a break."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from tests.serving.line import HalfAnswered, Line, Refused, Unanswered

from recollect_client import Client

Event = dict[str, Any]
Way = Callable[[str, str], Generator[Event, None, None]]
"""Every event from the beginning on, given an address and a key."""
EVENTS = "/v1/memories/events"
PAUSE = 0.05


def by_cursor(url: str, token: str) -> Generator[Event, None, None]:
    """Long-polling: keep the cursor of the last page that arrived whole."""
    cursor = ""
    with Line(url, token) as line:
        while True:
            try:
                page = _answered(line, f"{EVENTS}?limit=50&wait=5{cursor}")
            except (Unanswered, HalfAnswered):
                time.sleep(PAUSE)
                continue
            cursor = f"&after_cursor={page['after_cursor']}"
            yield from page["events"]


def by_stream(url: str, token: str) -> Generator[Event, None, None]:
    """Server-sent events: keep the id of the last event that arrived whole."""
    last: dict[str, str] = {}
    with Line(url, token) as line:
        while True:
            try:
                for told in line.follow(f"{EVENTS}?follow=true", last):
                    assert told.kind != "error", told
                    last = {"Last-Event-ID": told.cursor}
                    yield told.data
            except (Unanswered, HalfAnswered):
                time.sleep(PAUSE)
            except Refused as problem:
                if problem.reply.status not in (502, 503):
                    raise
                time.sleep(PAUSE)


def by_follow(url: str, token: str) -> Generator[Event, None, None]:
    """The client library's own way."""
    with Client(url, token) as client:
        for event in client.follow(wait=5.0, patience=60.0):
            yield {"sequence": event.sequence, "key": event.key}


def by_command(url: str, token: str) -> Generator[Event, None, None]:
    """The command line: `recollect log --follow`, in a process of its own."""
    calm = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    command = [sys.executable, "-m", "recollect", "log", "--follow", "--all", "--json"]
    environment = calm | {"RECOLLECT_URL": url, "RECOLLECT_TOKEN": token}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield from map(json.loads, process.stdout)
        finally:
            process.kill()


def by_time(url: str, token: str) -> Generator[Event, None, None]:
    """The planted bug: after a break, start over from a time, a second early so that nothing is missed."""
    since = ""
    with Line(url, token) as line:
        while True:
            try:
                for told in line.follow(f"{EVENTS}?follow=true{since}"):
                    early = datetime.fromisoformat(told.data["occurred_at"]) - timedelta(seconds=1)
                    since = f"&after={quote(early.isoformat())}"
                    yield told.data
            except (Unanswered, HalfAnswered):
                time.sleep(PAUSE)


def _answered(line: Line, target: str) -> Any:
    reply = line.ask("GET", target)
    if reply.status == 503:
        raise Unanswered("it is about to stop")
    assert reply.status == 200, reply
    return reply.json()


class Reader(threading.Thread):
    """Reads in one way until it sees a certain key, and keeps what it saw."""

    def __init__(self, way: Way, url: str, token: str, last: str) -> None:
        super().__init__(daemon=True)
        self.way = way
        self.saw: list[int] = []
        self.problem: BaseException | None = None
        self._url, self._token, self._last = url, token, last

    def run(self) -> None:
        try:
            with closing(self.way(self._url, self._token)) as events:
                for event in events:
                    self.saw.append(event["sequence"])
                    if event["key"] == self._last:
                        return
        except Exception as problem:  # noqa: BLE001 - told by the thread that asks
            self.problem = problem
