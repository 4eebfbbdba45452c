"""The connection to PostgreSQL is cut at every message of a write; the write is done or not, and repeated, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from tests.engines.postgres import fresh_database, needs_cluster
from tests.serving.fleets import BOUNDLESS, share
from tests.serving.line import Line, whole_log
from tests.serving.planted import planted
from tests.sizes import sized

from recollect.testing.cutting import Cutter
from recollect.testing.engines import PostgresCluster
from recollect.testing.servers import Server
from recollect_client import Client, PutOp
from recollect_client.errors import OutcomeUnknown, RecollectError, StoreUnavailable

QUIET = {**BOUNDLESS, "sweep_seconds": 3_600, "index_seconds": 3_600}
KEYS = ("a", "b")


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    with needs_cluster() as cluster:
        yield cluster


@dataclass
class Scene:
    """A server whose connections are cut, and another one that sees what became of the writes."""

    cutter: Cutter
    client: Client
    line: Line
    run: str = field(default_factory=lambda: uuid4().hex[:8])
    answers: Counter[str] = field(default_factory=Counter)
    flaws: list[str] = field(default_factory=list)

    def cut(self, number: int, *, everything: bool, same_key: bool = True) -> bool:
        """Write once while the connection is cut at a message, look, and write again; False when none was cut."""
        place, key = (self.run, str(everything), str(number)), uuid4().hex
        self.cutter.cut_at(number, everything=everything)
        try:
            self._write(place, key)
            answer = "done"
        except StoreUnavailable:
            answer = "not done"
        except OutcomeUnknown:
            answer = "unknown"
        except RecollectError as problem:
            answer = problem.code
        was = self.cutter.was
        self.cutter.cut_at(None)
        self.answers[answer] += 1
        told = whole_log(self.line, *place)
        allowed = {"done": [2], "not done": [0], "unknown": [0, 2]}.get(answer, [])
        if len(told) not in allowed:
            self.flaws.append(f"{number} ({was}): answered {answer!r}, and {len(told)} of 2 are there")
        try:
            self._write(place, key if same_key else uuid4().hex)
        except RecollectError as problem:
            self.flaws.append(f"{number} ({was}): repeated, and refused with {problem!r}")
        told = whole_log(self.line, *place)
        if [(event["kind"], event["key"]) for event in told] != [("add", each) for each in KEYS]:
            self.flaws.append(f"{number} ({was}): repeated, and there are {len(told)} events")
        return bool(was)

    def _write(self, place: tuple[str, ...], key: str) -> None:
        self.client.batch([PutOp(place, each, {"n": 1}) for each in KEYS], idempotency_key=key)

    def cut_everywhere(self, stride: int, *, same_key: bool = True, until_found: bool = False) -> int:
        """Cut at every message of a write, one connection alone and then all; return how many messages it has."""
        last = 0
        for everything in (False, True):
            number, quiet = 1, 0
            # What the server does beside it makes some writes longer than others.
            while quiet < 3 and not (until_found and self.flaws):
                fired = self.cut(number, everything=everything, same_key=same_key)
                quiet = 0 if fired else quiet + 1
                last = max(last, number) if fired else last
                number += stride
        verified = self.line.ask("POST", "/admin/v1/verify", {}).json()
        if not verified["sound"]:
            self.flaws.append(f"the chain does not verify: {verified}")
        return last


@contextmanager
def scene(cluster: PostgresCluster, folder: Path, bug: str = "") -> Iterator[Scene]:
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(cluster.url))
        cutter = stack.enter_context(Cutter(url).running())
        looking = stack.enter_context(Server(folder / "looking", store=url, **QUIET))
        share(looking.home, folder / "cut")
        with planted(bug) if bug else ExitStack():
            cut = stack.enter_context(Server(folder / "cut", store=cutter.url, **QUIET))
        client = stack.enter_context(Client(cut.url, cut.token, retries=0))
        line = stack.enter_context(Line(looking.url, looking.token))
        found = Scene(cutter, client, line)
        found._write((found.run, "first"), uuid4().hex)
        yield found


@sized(29, 1)
def test_a_write_that_is_cut_at_any_message_is_done_or_not_and_repeated_once(
    count: int, cluster: PostgresCluster, tmp_path: Path
) -> None:
    with scene(cluster, tmp_path) as found:
        last = found.cut_everywhere(count)
        print(f"cut connections: every {count}. of {last} messages, alone and together: {dict(found.answers)}")
        assert found.flaws == []
        assert last > 20
        assert found.answers["done"] > 0


def test_repeating_with_another_idempotency_key_is_found(cluster: PostgresCluster, tmp_path: Path) -> None:
    with scene(cluster, tmp_path) as found:
        found.cut_everywhere(3, same_key=False, until_found=True)
        assert any("repeated, and there are 4 events" in flaw for flaw in found.flaws), found


def test_a_server_that_commits_in_two_steps_is_found(cluster: PostgresCluster, tmp_path: Path) -> None:
    with scene(cluster, tmp_path, "commits in two steps") as found:
        found.cut_everywhere(1, until_found=True)
        assert found.flaws, found
