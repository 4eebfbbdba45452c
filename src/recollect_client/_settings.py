"""Where the server is and who asks, from what the caller gave or the environment says."""

from __future__ import annotations

import os
import ssl

import httpx

from recollect_client.errors import InvalidSetting

DEFAULT_URL = "http://127.0.0.1:4747"
_URL_NAMES = ("RECOLLECT_URL", "MEMORY_SERVICE_URL")
_TOKEN_NAMES = ("RECOLLECT_TOKEN", "MEMORY_SERVICE_TOKEN")


def address_of_server(given: str | None) -> str:
    """The URL of the server, without a slash at its end."""
    text = given if given is not None else _from_environment(_URL_NAMES) or DEFAULT_URL
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError):
        raise InvalidSetting("the URL of the server cannot be read") from None
    if url.userinfo:
        raise InvalidSetting("the URL of the server has a user or a password in it; give the token apart from it")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise InvalidSetting(f"{text!r} is not the URL of a server; it looks like {DEFAULT_URL}")
    return str(url).rstrip("/")


def trusted(url: str, verify: ssl.SSLContext | bool) -> ssl.SSLContext | bool:
    """Whom to believe that it is the server: the authorities that httpx knows, and those of this machine.

    A private authority is one of this machine's when SSL_CERT_FILE names its certificate.
    """
    if not url.startswith("https:"):
        return False  # plain HTTP has no certificates to load
    if verify is not True:
        return verify
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def headers_of_caller(given: str | None) -> dict[str, str]:
    """The headers that say who asks; none without a token."""
    token = given if given is not None else _from_environment(_TOKEN_NAMES)
    if not isinstance(token, str) or any(not "!" <= character <= "~" for character in token):
        raise InvalidSetting("the token is not one: a token is ASCII text without spaces")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _from_environment(names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")
