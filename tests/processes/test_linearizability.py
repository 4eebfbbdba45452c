"""Clients of three servers over one PostgreSQL see reads and writes as if they happened one after the other."""

from __future__ import annotations

import time

from tests.serving.fleets import Fleet
from tests.serving.histories import check_histories, planted_and_caught
from tests.sizes import sized


@sized(15, 2_000)
def test_histories_of_three_servers_are_linearizable(count: int, fleet: Fleet) -> None:
    began = time.monotonic()
    told = check_histories(fleet.urls, fleet.token, count)
    print(f"linearizability over three servers: {told}, 0 violations, in {time.monotonic() - began:.0f} s")


def test_check_then_act_over_three_servers_is_caught(fleet: Fleet) -> None:
    assert planted_and_caught(fleet.urls, fleet.token) >= 0.8
