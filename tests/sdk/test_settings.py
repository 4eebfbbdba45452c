"""Where the server is and who asks; and that a token never shows."""

from __future__ import annotations

import os

import pytest
from tests.sdk.scripted import ITEM, call, says, scripted

from recollect_client import AsyncClient, Client, errors
from recollect_client._settings import address_of_server, headers_of_caller


@pytest.mark.parametrize(
    ("environment", "url", "token"),
    [
        ({}, "http://127.0.0.1:4747", None),
        ({"RECOLLECT_URL": "http://a:1", "RECOLLECT_TOKEN": "t1"}, "http://a:1", "t1"),
        ({"MEMORY_SERVICE_URL": "http://b:2", "MEMORY_SERVICE_TOKEN": "t2"}, "http://b:2", "t2"),
        ({"RECOLLECT_URL": "http://a:1/", "MEMORY_SERVICE_URL": "http://b:2"}, "http://a:1", None),
        ({"RECOLLECT_URL": "", "MEMORY_SERVICE_URL": "https://b/x/"}, "https://b/x", None),
    ],
)
def test_the_environment_says_where_and_who(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, token: str | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert address_of_server(None) == url
    assert headers_of_caller(None) == ({"Authorization": f"Bearer {token}"} if token else {})
    assert address_of_server("http://c:3") == "http://c:3"
    assert headers_of_caller("given") == {"Authorization": "Bearer given"}


@pytest.mark.parametrize(
    "url", ["", "localhost", "ftp://a", "http://", "http://u:p@a", "http://a/?q=1", "http://a/#f", "http://a:port", 7]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        Client(url, "t")
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "line\r\nX-Evil: 1", "größe", "tab\t", 7])
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        Client("http://a", token)
    assert str(token) not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [{"timeout": 0}, {"timeout": float("nan")}, {"deadline": -1}, {"retries": -1}, {"retries": 1.5}, {"timeout": None}],
)
def test_what_is_no_limit_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(errors.InvalidSetting):
        Client("http://a", "t", **settings)  # type: ignore[arg-type] # refused at run time
    with pytest.raises(errors.InvalidSetting):
        AsyncClient("http://a", "t", **settings)  # type: ignore[arg-type] # refused at run time


def test_a_client_does_not_print_its_token() -> None:
    for client in (Client("http://a:1", "rk_hidden"), AsyncClient("http://a:1", "rk_hidden")):
        assert "rk_hidden" not in repr(client) + str(client) + repr(vars(client))
        assert repr(client) == f"{type(client).__name__}('http://a:1')"


def test_proxies_and_passwords_of_the_environment_are_not_used(
    flavour: str, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    with scripted(says(200, ITEM)) as proxy, scripted(says(200, ITEM)) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        call(flavour, server.url, "get", ("a",), "k", client={"token": ""})
    assert (len(proxy.requests), len(server.requests)) == (0, 1)
    assert "authorization" not in server.requests[0].headers
