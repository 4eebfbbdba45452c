"""What is changed at one server holds at all: API keys and policies at once, settings within a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.serving.fleets import BOUNDLESS, Fleet, share
from tests.serving.planted import planted
from tests.serving.test_revocation import too_late
from tests.sizes import sized

from recollect.testing.servers import Server
from recollect_client import Client
from recollect_client.errors import Forbidden, InvalidNamespace, Unauthenticated

LONG_SECONDS = 10.0
"""Longer than any machine may need; what it took is told."""
NOBODY = """package memories.authz

import rego.v1

allow if "admin" in input.context.roles
"""


@pytest.fixture(scope="session")
def documents(mongodb: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two servers over one database that speaks MongoDB's protocol."""
    url = urlunsplit(urlsplit(mongodb)._replace(path=f"/t{uuid4().hex}"))
    with Fleet(tmp_path_factory.mktemp("documents"), 2, store=url, **BOUNDLESS) as fleet:
        yield fleet


@pytest.fixture(params=["postgresql", "mongodb"])
def servers(request: pytest.FixtureRequest) -> list[Server]:
    name = {"postgresql": "fleet", "mongodb": "documents"}[request.param]
    found: Fleet = request.getfixturevalue(name)
    return found.servers


def seconds_until(holds: Callable[[], bool]) -> float:
    """How long it takes until something holds; infinity when it does not come to that."""
    began = time.monotonic()
    while time.monotonic() - began < LONG_SECONDS:
        if holds():
            return time.monotonic() - began
        time.sleep(0.01)
    return float("inf")


@contextmanager
def changing(servers: list[Server]) -> Iterator[tuple[Client, list[Server]]]:
    """Somebody who changes things at the first server, and the others."""
    with Client(servers[0].url, servers[0].token) as admin:
        yield admin, servers[1:]


def refuses(server: Server, token: str, kind: type[Exception], *namespace: str) -> bool:
    """Whether a server refuses a read in this way, and does not allow it."""
    with Client(server.url, token, retries=0) as client:
        try:
            client.get(namespace, "k")
        except kind:
            return True
        return False


def seconds_of_depth(servers: list[Server]) -> list[float]:
    """How long the others take to follow the depth limit, down and up again."""
    with changing(servers) as (admin, others):
        took = []
        deep = ("d",) * 4
        for depth, refused in ((3, True), (6, False)):
            admin.change_settings({"max_depth": depth})
            took += [
                seconds_until(lambda: refuses(server, server.token, InvalidNamespace, *deep) is refused)  # noqa: B023 - called here
                for server in others
            ]
        admin.change_settings({"max_depth": None})
    return took


def seconds_of_policy(servers: list[Server]) -> list[float]:
    """How long the others take to follow a policy that denies users everything, and the way back."""
    with changing(servers) as (admin, others):
        user = admin.create_token("eve").secret
        took = []
        for push, refused in ((True, True), (False, False)):
            admin.push_policy({"authz.rego": NOBODY}) if push else admin.rollback_policy(0)
            took += [
                seconds_until(lambda: refuses(server, user, Forbidden, "user", "eve") is refused)  # noqa: B023 - called here
                for server in others
            ]
    return took


def seconds_of_keys(servers: list[Server]) -> list[float]:
    """How long the others take to know a new key, and to refuse it once it is revoked."""
    with changing(servers) as (admin, others):
        made = admin.create_token("eve")
        known = [
            seconds_until(lambda: not refuses(server, made.secret, Unauthenticated, "user", "eve"))  # noqa: B023 - called here
            for server in others
        ]
        admin.revoke_token(made.token.id)
        return known + [
            seconds_until(lambda: refuses(server, made.secret, Unauthenticated, "user", "eve"))  # noqa: B023 - called here
            for server in others
        ]


WAYS: dict[str, Callable[[list[Server]], list[float]]] = {
    "keys": seconds_of_keys,
    "policies": seconds_of_policy,
    "settings": seconds_of_depth,
}


@pytest.mark.parametrize("what", WAYS)
@sized(1, 5)
def test_what_is_changed_at_one_server_holds_at_all(count: int, what: str, servers: list[Server]) -> None:
    took = [seconds for _ in range(count) for seconds in WAYS[what](servers)]
    print(f"propagation of {what} to {len(servers) - 1} others: {max(took):.2f} s at most, of {len(took)}")
    assert max(took) < LONG_SECONDS


@sized(3, 300)
def test_a_revoked_key_is_refused_by_the_others_at_once(count: int, servers: list[Server]) -> None:
    assert too_late(servers[0], servers[-1], count) == []


@pytest.mark.parametrize(
    ("what", "bug"),
    [
        pytest.param("keys", "remembers callers for ever", id="keys"),
        pytest.param("policies", "remembers policies", id="policies"),
        pytest.param("settings", "overlooks tuning", id="settings"),
    ],
)
def test_a_server_that_does_not_follow_is_found(
    what: str, bug: str, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.processes.test_propagation.LONG_SECONDS", 2.0)
    first = fleet.servers[0]
    share(first.home, tmp_path)
    with planted(bug), Server(tmp_path, **first.settings) as forgetful:
        assert float("inf") in WAYS[what]([first, forgetful])
