"""Three servers behind the plain reverse proxy of the example, while they are killed and started again."""

from __future__ import annotations

import threading
from pathlib import Path

from examples.three_processes import balanced
from tests.engines.postgres import fresh_database
from tests.processes.conftest import SERVERS
from tests.serving.fleets import BOUNDLESS, Fleet
from tests.serving.killing import KEPT, LOST, Tally, kill_often
from tests.serving.line import Line, whole_log
from tests.serving.planted import planted
from tests.serving.readers import Reader, by_stream
from tests.sizes import sized

from recollect.testing.feed import Discrepancies, compare

LAST = "the last"


def killed_behind_a_proxy(folder: Path, count: int, *, until: str = "") -> tuple[Tally, Discrepancies]:
    """Kill servers so often behind a proxy that is written to and read from; what a reader of the stream got wrong."""
    tally = Tally()
    with (
        fresh_database() as url,
        Fleet(folder, SERVERS, store=url, **KEPT, **BOUNDLESS) as fleet,
    ):
        for server in fleet.servers:
            server.settings["port"] = server.port  # where the proxy looks for it, once it is started again
        with balanced(fleet.urls) as proxy, Line(proxy, fleet.token) as line:
            reader = Reader(by_stream, proxy, fleet.token, LAST)
            reader.start()
            kill_often(fleet, fleet.servers, count, tally, through=[proxy], until=until)
            body = {"namespace": ["recovery"], "key": LAST, "value": {}}
            while line.ask("PUT", "/v1/memories", body).status != 200:
                threading.Event().wait(0.1)
            reader.join(60)
            assert reader.problem is None, reader.problem
            log = [event["sequence"] for event in whole_log(line)]
    return tally, compare(log, reader.saw)


@sized(2, 40)
def test_nothing_is_lost_behind_a_proxy(count: int, tmp_path: Path) -> None:
    tally, read = killed_behind_a_proxy(tmp_path, count)
    print(f"behind a proxy: {tally}; the reader of the stream: {read}")
    assert tally.flaws == []
    assert read == Discrepancies(0, 0, 0, 0)


def test_servers_that_acknowledge_before_they_commit_are_found_behind_a_proxy(tmp_path: Path) -> None:
    with planted("acknowledges before it commits"):
        tally, _ = killed_behind_a_proxy(tmp_path, 6, until=LOST)
    assert tally.tells(LOST), tally.flaws
