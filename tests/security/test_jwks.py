"""An issuer's published keys: found when needed, asked for seldom, and served for a while when the issuer is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from tests.security.issuer import (
    EC_KEY,
    ED_KEY,
    HERE,
    PUBLISHED,
    RSA_JWK,
    RSA_KEY,
    SECRET,
    STRANGE_KEY,
    KeyServer,
    base64url,
    claims,
    hs256,
    jwk,
    jwks,
    options,
    rs256,
)

from recollect.backends.jwt import JwtVerifier, jwt_verifier, sources
from recollect.backends.jwt.keys import published_keys
from recollect.backends.jwt.sources import MAX_JWKS_BYTES, KeySource, LookedUpKeys, from_url
from recollect.domain.errors import InvalidSetting, Unauthenticated
from recollect.testing.doubles import ManualClock

NEW_JWK = jwk(STRANGE_KEY, "new", "RS256")
CROWD = 1_000


class Ticks:
    """A clock for ages, which passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def server() -> Iterator[KeyServer]:
    with KeyServer() as serving:
        yield serving


@pytest.fixture
def verifier(server: KeyServer, ticks: Ticks) -> JwtVerifier:
    made = jwt_verifier(options(jwks_url=server.url), ManualClock(HERE), ticks)
    assert made is not None
    return made


def checking_with(source: KeySource) -> JwtVerifier:
    return JwtVerifier(options(), source, ManualClock(HERE))


async def flaw_of(verifier: JwtVerifier, token: str) -> str | None:
    """Why a token is refused; None when it is believed."""
    try:
        await verifier.caller_of(token)
    except Unauthenticated as refused:
        return str(refused.details["reason"])
    return None


@cache
def stranger(number: int = 0) -> str:
    """A token that names a key nobody has."""
    return rs256(claims(jti=str(number)), kid=f"unknown-{number}")


def new_token() -> str:
    """A token signed with the key that comes later."""
    return rs256(key=STRANGE_KEY, kid="new")


async def asked(server: KeyServer, times: int) -> None:
    """Wait until the server was asked so often."""
    async with asyncio.timeout(10):
        while len(server.asked) < times:  # noqa: ASYNC110 - the server is a thread
            await asyncio.sleep(0.01)
    assert len(server.asked) == times


# -- seldom


async def test_a_crowd_that_comes_at_once_shares_one_look_up(server: KeyServer, verifier: JwtVerifier) -> None:
    server.pause = 0.1
    tokens = [rs256(claims(jti=str(number))) for number in range(100)]
    assert {await flaw for flaw in [asyncio.ensure_future(flaw_of(verifier, each)) for each in tokens]} == {None}
    assert len(server.asked) == 1


async def test_keys_are_asked_for_again_after_five_minutes(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    for passed, expected in ((0, 1), (299, 1), (1, 2), (299, 2), (1, 3)):
        ticks.now += passed
        assert await flaw_of(verifier, rs256()) is None
        assert len(server.asked) == expected


async def storm(verifier: JwtVerifier) -> None:
    """Tokens with unknown keys, a thousand at once and then one after the other."""
    flaws = await asyncio.gather(*(flaw_of(verifier, stranger(number)) for number in range(CROWD)))
    flaws += [await flaw_of(verifier, stranger(number)) for number in range(50)]
    assert set(flaws) == {"key"}


async def test_a_storm_of_unknown_keys_makes_two_look_ups_at_most(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    await storm(verifier)
    print(f"unknown keys: {CROWD + 50}, look-ups: {len(server.asked)}")
    assert len(server.asked) == 2
    ticks.now += 29.9
    await storm(verifier)
    assert len(server.asked) == 2
    ticks.now += 0.1
    await storm(verifier)
    assert len(server.asked) == 3
    assert await flaw_of(verifier, rs256()) is None


async def test_the_storm_catches_a_verifier_that_asks_every_time(
    server: KeyServer, verifier: JwtVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "UNKNOWN_SECONDS", 0.0)
    await storm(verifier)
    assert len(server.asked) > 10


async def test_what_has_not_the_form_of_a_token_makes_no_look_up(server: KeyServer, verifier: JwtVerifier) -> None:
    assert await flaw_of(verifier, "a.b.c") == "malformed"
    assert await flaw_of(verifier, hs256()) == "algorithm"
    assert server.asked == []


# -- rotation


async def test_a_new_key_is_believed_at_once(server: KeyServer, verifier: JwtVerifier) -> None:
    assert await flaw_of(verifier, rs256()) is None
    server.body = jwks(RSA_JWK, NEW_JWK)
    assert await flaw_of(verifier, new_token()) is None
    assert await flaw_of(verifier, rs256()) is None
    assert len(server.asked) == 2


async def test_a_withdrawn_key_is_refused_after_five_minutes_although_its_token_was_remembered(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    assert await flaw_of(verifier, rs256()) is None
    server.body = jwks(NEW_JWK, jwk(EC_KEY, "ec", "ES256"))
    ticks.now += 299
    assert await flaw_of(verifier, rs256()) is None
    ticks.now += 1
    assert await flaw_of(verifier, rs256()) == "key"
    assert await flaw_of(verifier, new_token()) is None


async def test_a_key_that_was_replaced_under_its_name_no_longer_vouches_for_anything(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    assert await flaw_of(verifier, rs256()) is None
    server.body = jwks(jwk(STRANGE_KEY, "rsa", "RS256"))
    ticks.now += 300
    assert await flaw_of(verifier, rs256()) == "signature"


async def test_a_file_of_keys_is_read_again_too(tmp_path: Path, ticks: Ticks) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(PUBLISHED)
    verifier = jwt_verifier(options(jwks_file=file), ManualClock(HERE), ticks)
    assert verifier is not None
    assert await flaw_of(verifier, rs256()) is None
    file.write_bytes(jwks(NEW_JWK))
    assert await flaw_of(verifier, new_token()) is None
    assert await flaw_of(verifier, rs256()) == "key"
    file.unlink()
    ticks.now += 3_599
    assert await flaw_of(verifier, new_token()) is None
    ticks.now += 1
    assert await flaw_of(verifier, new_token()) == "unavailable"


# -- when the issuer is gone


async def test_the_old_keys_serve_for_an_hour_and_no_longer(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    token = rs256()
    assert await flaw_of(verifier, token) is None
    server.status = 500
    while ticks.now < 1_000 + 3_595:
        ticks.now += 5
        assert await flaw_of(verifier, token) is None
        await asyncio.sleep(0)
    ticks.now += 5
    assert await flaw_of(verifier, rs256()) == "unavailable"
    assert await flaw_of(verifier, stranger()) == "unavailable"
    server.status = 200
    ticks.now += 10
    assert await flaw_of(verifier, rs256()) is None


async def test_an_issuer_that_is_down_is_not_asked_by_everybody(ticks: Ticks) -> None:
    with KeyServer() as server:
        server.status = 503
        verifier = checking_with(LookedUpKeys(from_url(server.url), ["RS256"], ticks))
        for _ in range(20):
            assert await flaw_of(verifier, rs256()) == "unavailable"
        assert len(server.asked) == 1
        server.status = 200
        ticks.now += 10
        assert await flaw_of(verifier, rs256()) is None
    ticks.now += 300
    assert await flaw_of(verifier, rs256()) is None, "nobody listens there any more"
    assert await flaw_of(verifier, stranger()) == "key"


async def test_nobody_waits_for_an_issuer_that_just_failed_while_the_old_keys_serve(
    server: KeyServer, ticks: Ticks
) -> None:
    source, token = LookedUpKeys(from_url(server.url, 1.5), ["RS256"], ticks), rs256()
    verifier = checking_with(source)
    assert await flaw_of(verifier, token) is None
    server.pause = 60
    ticks.now += 300
    assert await flaw_of(verifier, token) is None
    ticks.now += 10
    began = time.monotonic()
    assert await flaw_of(verifier, token) is None
    assert time.monotonic() - began < 1
    await asked(server, 3)
    await source.close()


async def test_after_a_long_pause_the_issuer_is_asked_before_old_keys_are_believed(
    server: KeyServer, verifier: JwtVerifier, ticks: Ticks
) -> None:
    assert await flaw_of(verifier, rs256()) is None
    server.status = 500
    assert await flaw_of(verifier, stranger()) == "key"
    server.status, server.body = 200, jwks(NEW_JWK)
    ticks.now += 3_000
    assert await flaw_of(verifier, rs256()) == "key"


async def test_whoever_goes_away_does_not_take_the_answer_from_the_others(
    server: KeyServer, verifier: JwtVerifier
) -> None:
    server.pause = 0.2
    first, second = (asyncio.ensure_future(flaw_of(verifier, rs256(claims(jti=each)))) for each in "ab")
    await asked(server, 1)
    first.cancel()
    assert await second is None
    assert first.cancelled()
    assert len(server.asked) == 1


async def test_a_look_up_that_is_under_way_ends_with_the_verifier(server: KeyServer, verifier: JwtVerifier) -> None:
    server.pause = 60
    waiting = asyncio.ensure_future(flaw_of(verifier, rs256()))
    await asked(server, 1)
    for _ in range(2):
        await verifier.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(asyncio.all_tasks()) == 1


# -- answers that are not taken


async def look_up(server: KeyServer, seconds: float = 5.0) -> str | None:
    return await flaw_of(checking_with(LookedUpKeys(from_url(server.url, seconds), ["RS256"])), rs256())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int, server: KeyServer) -> None:
    with KeyServer() as elsewhere:
        server.status, server.headers = status, {"Location": elsewhere.url}
        assert await look_up(server) == "unavailable"
        assert elsewhere.asked == []
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as sloppy:
            assert (await sloppy.get(server.url)).status_code == 200, "there are good keys behind it"


@pytest.mark.parametrize("length", [MAX_JWKS_BYTES, MAX_JWKS_BYTES + 1])
@pytest.mark.parametrize("declared", [True, False])
async def test_an_answer_that_is_too_long_is_not_taken(length: int, declared: bool, server: KeyServer) -> None:
    server.body, server.declares_length = PUBLISHED.ljust(length), declared
    assert await look_up(server) == (None if length == MAX_JWKS_BYTES else "unavailable")


async def test_a_file_that_is_too_long_is_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(PUBLISHED.ljust(MAX_JWKS_BYTES + 1))
    with pytest.raises(InvalidSetting, match="jwks_file cannot be read"):
        jwt_verifier(options(jwks_file=file), ManualClock(HERE))


@pytest.mark.parametrize("trickle", [True, False])
async def test_an_answer_that_takes_too_long_is_not_waited_for(trickle: bool, server: KeyServer) -> None:
    server.pause, server.trickle = (0.05, True) if trickle else (60, False)
    began = time.monotonic()
    assert await look_up(server, seconds=0.4) == "unavailable"
    assert 0.3 < time.monotonic() - began < 10


@pytest.mark.soak
async def test_an_answer_is_waited_for_five_seconds(server: KeyServer, verifier: JwtVerifier) -> None:
    server.pause = 30
    began = time.monotonic()
    assert await flaw_of(verifier, rs256()) == "unavailable"
    assert 4.9 < time.monotonic() - began < 7


async def test_a_failed_look_up_is_logged_by_its_kind_alone(
    server: KeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = 500
    assert await look_up(server) == "unavailable"
    (line,) = [record for record in caplog.records if record.name.startswith("recollect")]
    assert (line.getMessage(), line.__dict__["fields"]["reason"]) == ("jwks.look_up_failed", "ValueError")


async def test_a_packed_answer_is_not_unpacked(server: KeyServer) -> None:
    server.headers = {"Content-Encoding": "gzip"}
    assert await look_up(server) == "unavailable"


async def test_a_proxy_of_the_environment_is_not_used(server: KeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with KeyServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert await look_up(server) is None
    assert proxy.asked == []
    assert server.asked == ["/jwks.json"]


@pytest.mark.parametrize("status", [201, 204, 400, 404, 500])
async def test_only_a_plain_200_is_taken(status: int, server: KeyServer) -> None:
    server.status = status
    assert await look_up(server) == "unavailable"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/keys", "http://[::1/keys", "nothing", "http://\x00/"])
async def test_an_address_that_leads_nowhere_is_an_answer_too(url: str) -> None:
    assert await flaw_of(checking_with(LookedUpKeys(from_url(url), ["RS256"])), rs256()) == "unavailable"


# -- keys that are not used


ED_PRIVATE = jwk(ED_KEY, "ed", "EdDSA", d=base64url(b"x" * 32))
UNUSABLE: dict[str, Any] = {
    "a shared secret": {"kty": "oct", "kid": "rsa", "k": base64url(SECRET.encode())},
    "a private key": ED_PRIVATE,
    "a weak key": jwk(rsa.generate_private_key(65_537, 1_024), "rsa", "RS256"),
    "a key for encryption": {**RSA_JWK, "use": "enc"},
    "a key for wrapping": {**RSA_JWK, "key_ops": ["wrapKey"]},
    "a key for another algorithm": {**RSA_JWK, "alg": "RSA-OAEP"},
    "an algorithm that is not allowed": {**RSA_JWK, "alg": "RS512"},
    "an algorithm that is no text": {**RSA_JWK, "alg": ["RS256"]},
    "a name that is no text": {**RSA_JWK, "kid": 7},
    "half a key": {"kty": "RSA", "kid": "rsa", "n": RSA_JWK["n"]},
    "numbers that are no text": {"kty": "RSA", "kid": "rsa", "n": 5, "e": 3},
    "an exponent of one": {**RSA_JWK, "e": "AQ"},
    "a point that is not on the curve": {**jwk(EC_KEY, "ec", "ES256"), "x": base64url(b"\x01" * 32)},
    "a curve that nobody knows": {**jwk(EC_KEY, "ec", "ES256"), "crv": "P-1"},
    "no curve": {"kty": "OKP", "kid": "ed", "x": "AAAA"},
    "an unknown kind": {"kty": "PQC", "kid": "rsa"},
    "no kind": {"kid": "rsa"},
    "a kind that is no text": {"kty": ["RSA"], "kid": "rsa"},
    "a text": "rsa",
    "null": None,
    "a list": [RSA_JWK],
}


@pytest.mark.parametrize("unusable", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_key_that_cannot_be_used_is_left_out(unusable: Any) -> None:
    allowed = ["RS256", "ES256", "EdDSA", "HS256"]
    with pytest.raises(ValueError, match="no public key"):
        published_keys(jwks(unusable), allowed)
    other = jwk(ed25519.Ed25519PrivateKey.generate(), "other", "EdDSA")
    keys = published_keys(jwks(unusable, other), allowed)
    assert keys.find("other", "EdDSA") is keys.find(None, "EdDSA") is not None
    assert keys.find("rsa", "RS256") is None


@pytest.mark.parametrize(
    "text", [b"", b"null", b"[]", b"{}", b'{"keys": {}}', b'{"keys": []}', b"<html>", b"\xff", b'{"keys": NaN}']
)
def test_what_is_no_set_of_keys_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        published_keys(text, ["RS256"])
    (tmp_path / "jwks.json").write_bytes(text)
    with pytest.raises(InvalidSetting, match="jwks_file cannot be used"):
        jwt_verifier(options(jwks_file=tmp_path / "jwks.json"), ManualClock(HERE))


def test_among_keys_of_one_name_the_one_for_the_algorithm_is_taken() -> None:
    keys = published_keys(jwks(jwk(EC_KEY, "k", "ES256"), jwk(RSA_KEY, "k", "RS256")), ["RS256", "ES256"])
    for algorithm in ("RS256", "ES256"):
        found = keys.find("k", algorithm)
        assert found is not None
        assert algorithm in found.algorithms
