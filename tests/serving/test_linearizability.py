"""Clients of two servers over one data directory see reads and writes as if they happened one after the other."""

from __future__ import annotations

from tests.serving.histories import check_histories, planted_and_caught
from tests.sizes import sized

from recollect.testing.servers import Server


@sized(25, 1_000)
def test_histories_of_two_servers_are_linearizable(count: int, pair: tuple[Server, Server]) -> None:
    print(f"linearizability over HTTP: {check_histories([each.url for each in pair], pair[0].token, count)}")


def test_check_then_act_over_two_servers_is_caught(pair: tuple[Server, Server]) -> None:
    assert planted_and_caught([each.url for each in pair], pair[0].token) >= 0.8
