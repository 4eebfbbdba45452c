"""Tokens of others: only what the issuer signed, for us and for now, is believed; nothing is said of the rest."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from tests.security.hostile_jwts import ALL, GOOD, Hostile, believed_by_default
from tests.security.issuer import (
    AUDIENCE,
    EC_KEY,
    ED_KEY,
    HERE,
    NOW,
    PUBLISHED,
    RSA_JWK,
    RSA_KEY,
    RSA_PEM,
    SECRET,
    KeyServer,
    claims,
    hs256,
    jwk,
    jwks,
    options,
    rs256,
)
from tests.sizes import sized

import recollect.ports.credentials
from recollect.backends.jwt import JwtOptions, JwtVerifier, jwt_verifier
from recollect.backends.jwt.compact import MAX_CHARACTERS
from recollect.backends.jwt.keys import Key, KeySet, only_key
from recollect.backends.jwt.sources import GivenKeys
from recollect.backends.jwt.verifier import MAX_REMEMBERED
from recollect.domain.callers import ALL_SCOPES, Scope
from recollect.domain.errors import InvalidSetting, Unauthenticated
from recollect.testing.contract import clauses_of
from recollect.testing.doubles import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(HERE)


def made(given: JwtOptions, clock: ManualClock) -> JwtVerifier:
    verifier = jwt_verifier(given, clock)
    assert verifier is not None
    return verifier


@pytest.fixture
def verifiers(tmp_path: Path, clock: ManualClock) -> dict[str, JwtVerifier]:
    """One verifier for each way to check a token."""
    published = tmp_path / "jwks.json"
    published.write_bytes(PUBLISHED)
    return {
        "jwks": made(options(jwks_file=published), clock),
        "pem": made(options(key=RSA_PEM, algorithms=("RS256", "HS256")), clock),
        "secret": made(options(key=SECRET, algorithms=("HS256",)), clock),
    }


async def flaw_of(verifier: JwtVerifier, token: Any) -> str | None:
    """Why a token is refused; None when it is believed."""
    try:
        await verifier.caller_of(token)
    except Unauthenticated as refused:
        return str(refused.details["reason"])
    return None


# -- what is not believed


def test_the_table_of_hostile_tokens_is_long_and_says_each_thing_once() -> None:
    names = [case.name for case in ALL]
    assert len(names) == len(set(names))
    print(f"hostile tokens: {len(names)}")
    assert len(names) >= 100


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
async def test_c1_a_hostile_token_is_refused_for_its_own_flaw(case: Hostile, verifiers: dict[str, JwtVerifier]) -> None:
    for _ in range(2):
        assert await flaw_of(verifiers[case.against], case.token) == case.flaw


def test_the_table_catches_a_verifier_that_leaves_it_to_the_library() -> None:
    believed = [case.name for case in ALL if believed_by_default(case)]
    print(f"believed by the library's defaults: {len(believed)} of {len(ALL)}: {', '.join(believed)}")
    assert len(believed) >= 20
    assert {"exp absent", "sub absent", "exp a text", "kid unknown", "payload with sub twice"} <= set(believed)


def test_the_table_catches_a_verifier_that_does_not_look_at_signatures() -> None:
    believed = {case.name for case in ALL if believed_by_default(case, verify_signature=False)}
    assert {"payload swapped", "signed by somebody else", "own key in jwk"} <= believed


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
async def test_c2_a_refusal_says_nothing_of_the_token(case: Hostile, verifiers: dict[str, JwtVerifier]) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await verifiers[case.against].caller_of(case.token)
    assert caught.value.message == "the token is not valid"
    assert caught.value.details == {"reason": case.flaw.value}
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@sized(1, 20)
@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA", "HS256"])
async def test_a_token_with_any_one_character_changed_is_refused(
    kind: str, count: int, verifiers: dict[str, JwtVerifier]
) -> None:
    chance = random.Random(kind)
    signed: dict[str, tuple[Any, str, str]] = {
        "RS256": (RSA_KEY, "rsa", "jwks"),
        "ES256": (EC_KEY, "ec", "jwks"),
        "EdDSA": (ED_KEY, "ed", "jwks"),
        "HS256": (SECRET, "any", "secret"),
    }
    key, kid, against = signed[kind]
    token = jwt.encode(claims(), key, kind, {"kid": kid})
    assert await flaw_of(verifiers[against], token) is None
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.= é"
    for at, was in enumerate(token):
        for other in chance.sample([each for each in alphabet if each != was], count):
            assert await flaw_of(verifiers[against], token[:at] + other + token[at + 1 :]) is not None


@sized(2_000, 200_000)
async def test_whatever_is_sent_the_answer_is_unauthenticated(count: int, verifiers: dict[str, JwtVerifier]) -> None:
    chance = random.Random(count)
    tokens = [case.token for case in ALL if isinstance(case.token, str) and len(case.token) < 4_000]
    for _ in range(count):
        one, other = chance.choice(tokens), chance.choice(tokens)
        cut = chance.randrange(len(one) + 1)
        mixed = one[:cut] + chance.choice(["", ".", "\0", "=", "%00", chr(chance.randrange(0x11000))]) + other[cut:]
        for against in ("jwks", "secret"):
            assert mixed in (GOOD, *tokens) or await flaw_of(verifiers[against], mixed) is not None


# -- the way is the service's choice


async def test_c3_addresses_within_a_token_are_never_visited(verifiers: dict[str, JwtVerifier]) -> None:
    with KeyServer() as elsewhere:
        token = rs256(jku=elsewhere.url, x5u=elsewhere.url, kid="not-known")
        assert await flaw_of(verifiers["jwks"], token) == "key"
        assert await flaw_of(verifiers["jwks"], rs256(jku=elsewhere.url, x5u=elsewhere.url)) is None
    assert elsewhere.asked == []


async def test_c3_an_algorithm_that_is_not_configured_is_refused_although_the_key_could_do_it(
    clock: ManualClock,
) -> None:
    token = jwt.encode(claims(), RSA_KEY, "RS384")
    assert await flaw_of(made(options(key=RSA_PEM), clock), token) == "algorithm"
    assert await flaw_of(made(options(key=RSA_PEM, algorithms=("RS384",)), clock), token) is None


async def test_c3_a_published_key_is_used_only_with_the_algorithm_it_is_published_for(
    tmp_path: Path, clock: ManualClock
) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(jwks(RSA_JWK, jwk(EC_KEY, "ec", "ES256")))
    verifier = made(options(jwks_file=file, algorithms=("RS256", "PS256", "ES256")), clock)
    assert await flaw_of(verifier, jwt.encode(claims(), RSA_KEY, "PS256", {"kid": "rsa"})) == "algorithm"
    assert await flaw_of(verifier, jwt.encode(claims(), RSA_KEY, "RS256", {"kid": "rsa"})) is None


def test_every_promise_about_credentials_is_cited_by_a_test() -> None:
    cited = {name.split("_")[1].upper() for name in globals() if name.startswith("test_c") and name[6].isdigit()}
    assert cited == set(clauses_of(recollect.ports.credentials.__doc__, "C")) == {"C1", "C2", "C3"}


# -- what is believed


@pytest.mark.parametrize(
    ("key", "kid", "kind"), [(RSA_KEY, "rsa", "RS256"), (EC_KEY, "ec", "ES256"), (ED_KEY, "ed", "EdDSA")]
)
@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", None])
async def test_a_good_token_is_believed(
    key: Any, kid: str, kind: str, typ: str | None, verifiers: dict[str, JwtVerifier]
) -> None:
    caller = await verifiers["jwks"].caller_of(jwt.encode(claims(), key, kind, {"kid": kid, "typ": typ}))
    assert (caller.tenant, caller.user_id, caller.client_id, caller.roles) == ("default", "ann", "", frozenset())
    assert caller.scopes == ALL_SCOPES
    assert caller.claims == claims()
    assert caller.credential.startswith("jwt:")
    assert len(caller.credential) == 20


@pytest.mark.parametrize(
    "good",
    [
        pytest.param({"aud": ["billing", AUDIENCE]}, id="one audience of several"),
        pytest.param({"iat": ...}, id="no iat"),
        pytest.param({"nbf": NOW + 29, "iat": NOW + 29}, id="early within the leeway"),
        pytest.param({"exp": NOW - 29}, id="late within the leeway"),
        pytest.param({"exp": NOW + 0.5, "iat": NOW - 0.5}, id="parts of a second"),
        pytest.param({"iat": NOW - 400 * 86_400, "exp": NOW + 400 * 86_400}, id="a long life"),
        pytest.param({"jti": 7, "nonsense": [1, {"a": None}]}, id="claims that nobody asked for"),
    ],
)
async def test_a_token_may_say_it_in_other_ways(good: dict[str, Any], verifiers: dict[str, JwtVerifier]) -> None:
    assert await flaw_of(verifiers["secret"], hs256(claims(**good))) is None
    assert await flaw_of(verifiers["pem"], rs256(claims(**good), kid="a name that one key needs not")) is None
    assert await flaw_of(verifiers["pem"], rs256(claims(**good), kid=...)) is None


async def test_the_only_published_key_needs_no_name(tmp_path: Path, clock: ManualClock) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(jwks(jwk(RSA_KEY, "rsa", "RS256")))
    verifier = made(options(jwks_file=file), clock)
    assert await flaw_of(verifier, rs256(kid=...)) is None
    assert await flaw_of(verifier, rs256(kid="another")) == "key"


async def test_a_token_of_just_the_allowed_length_is_believed(verifiers: dict[str, JwtVerifier]) -> None:
    tokens = [hs256(claims(more="x" * length)) for length in range(5_850, 6_050)]
    assert {len(token) <= MAX_CHARACTERS for token in tokens} == {True, False}
    for token in tokens:
        assert (await flaw_of(verifiers["secret"], token) is None) == (len(token) <= MAX_CHARACTERS)


GIVEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"client_id": "cli"}, {"client_id": "cli"}),
    ({"azp": "app"}, {"client_id": "app"}),
    ({"client_id": "cli", "azp": "app"}, {"client_id": "cli"}),
    ({"roles": ["admin", "nurse"]}, {"roles": {"admin", "nurse"}}),
    ({"roles": ["operator", "auditor"]}, {"roles": {"auditor"}}),
    ({"roles": ["operator"]}, {"roles": set()}),
    ({"scope": "read write"}, {"scopes": {Scope.READ, Scope.WRITE}}),
    ({"scope": "openid read"}, {"scopes": {Scope.READ}}),
    ({"scope": "openid profile"}, {"scopes": set()}),
    ({"scope": ""}, {"scopes": set()}),
    ({"scope": "", "scp": "admin"}, {"scopes": set()}),
    ({"scope": "READ"}, {"scopes": set()}),
    ({"scp": ["read", "delete", "other"]}, {"scopes": {Scope.READ, Scope.DELETE}}),
    ({"scp": "read admin"}, {"scopes": {Scope.READ, Scope.ADMIN}}),
    ({"scp": []}, {"scopes": set()}),
    ({"tenant": "acme"}, {"tenant": "acme"}),
    ({"org": "acme"}, {"tenant": "default"}),
]


@pytest.mark.parametrize(("said", "expected"), GIVEN, ids=[str(said) for said, _ in GIVEN])
async def test_a_caller_has_what_the_claims_give(
    said: dict[str, Any], expected: dict[str, Any], verifiers: dict[str, JwtVerifier]
) -> None:
    caller = await verifiers["secret"].caller_of(hs256(claims(**said)))
    assert {name: getattr(caller, name) for name in expected} == expected


async def test_the_tenant_comes_from_the_configured_claim_alone(clock: ManualClock) -> None:
    verifier = made(options(key=SECRET, algorithms=("HS256",), tenant_claim="https://x.example/org"), clock)
    caller = await verifier.caller_of(hs256(claims(**{"https://x.example/org": "acme", "tenant": "other"})))
    assert caller.tenant == "acme"
    assert (await verifier.caller_of(hs256(claims(tenant="other")))).tenant == "default"


# -- what is remembered


class Counted(KeySet):
    """Keys that count how often they are looked for."""

    def __init__(self) -> None:
        super().__init__([Key(None, frozenset({"HS256"}), SECRET.encode())], by_name=False)
        self.looked = 0

    def find(self, kid: str | None, algorithm: str) -> Key | None:
        self.looked += 1
        return super().find(kid, algorithm)


@pytest.fixture
def counted(clock: ManualClock) -> tuple[JwtVerifier, Counted]:
    keys = Counted()
    return JwtVerifier(options(algorithms=("HS256",)), GivenKeys(keys), clock), keys


async def test_a_good_token_is_checked_once_and_a_bad_one_every_time(counted: tuple[JwtVerifier, Counted]) -> None:
    verifier, keys = counted
    callers = [await verifier.caller_of(hs256()) for _ in range(50)]
    assert keys.looked == 1
    assert len({caller.credential for caller in callers}) == 1
    for _ in range(5):
        assert await flaw_of(verifier, hs256(secret=b"y" * 40)) == "signature"
        assert await flaw_of(verifier, hs256(claims(exp=NOW - 60))) == "expired"
    assert keys.looked == 11


async def test_a_remembered_token_still_expires_to_the_microsecond(
    counted: tuple[JwtVerifier, Counted], clock: ManualClock
) -> None:
    verifier, _ = counted
    token = hs256(claims(exp=NOW + 60))
    assert await flaw_of(verifier, token) is None
    clock.advance(89.999999)
    assert await flaw_of(verifier, token) is None
    clock.advance(0.000001)
    assert await flaw_of(verifier, token) == "expired"
    clock.advance(-200)
    assert await flaw_of(verifier, token) == "early", "iat lies in the future of a clock that was set back"


async def test_what_is_remembered_is_bounded_and_the_oldest_goes_first(counted: tuple[JwtVerifier, Counted]) -> None:
    verifier, keys = counted
    tokens = [hs256(claims(jti=str(number))) for number in range(MAX_REMEMBERED)]
    for token in [*tokens, tokens[0], hs256(claims(jti="one more"))]:
        await verifier.caller_of(token)
    assert keys.looked == MAX_REMEMBERED + 1
    await verifier.caller_of(tokens[0])
    assert keys.looked == MAX_REMEMBERED + 1, "it was used a moment ago"
    await verifier.caller_of(tokens[1])
    assert keys.looked == MAX_REMEMBERED + 2


async def test_a_token_is_a_matter_of_the_injected_clock_alone(clock: ManualClock) -> None:
    clock.now = HERE
    clock.advance(-20 * 365 * 86_400)
    verifier = made(options(key=SECRET, algorithms=("HS256",)), clock)
    then = NOW - 20 * 365 * 86_400
    assert await flaw_of(verifier, hs256(claims(iat=then, exp=then + 60))) is None
    assert await flaw_of(verifier, hs256()) == "early"


# -- what is refused before anything is checked


def pem_of(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


PRIVATE_PEM = RSA_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"key": "x" * 31, "algorithms": ("HS256",)}, "at least 32 bytes. Make one with"),
        ({"key": "x" * 47, "algorithms": ("HS256", "HS384")}, "at least 48 bytes"),
        ({"key": "x" * 63, "algorithms": ("HS512",)}, "at least 64 bytes"),
        ({"key": "x" * 64}, "must name HS256"),
        ({"key": RSA_PEM, "algorithms": ("HS256",)}, "name one of PS256"),
        ({"key": RSA_PEM, "algorithms": ("ES256",)}, "name one of PS256"),
        ({"key": PRIVATE_PEM}, "give the public key"),
        ({"key": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"}, "not a public key in PEM"),
        ({"key": pem_of(rsa.generate_private_key(65_537, 1_024))}, "RSA of 2,048 bits"),
        ({"key": pem_of(ec.generate_private_key(ec.SECP256K1()))}, "use RSA"),
        ({"key": jwks(RSA_JWK).decode(), "algorithms": ("HS256",)}, "use jwks_file"),
        ({"key": "ssh-ed25519 " + "A" * 60, "algorithms": ("HS256",)}, "public key in PEM"),
        ({"key_file": Path("/nowhere/key.pem")}, "cannot be read: FileNotFoundError"),
        ({"jwks_file": Path("/nowhere/jwks.json")}, "cannot be read: FileNotFoundError"),
        ({"jwks_url": "https://issuer.example/keys", "algorithms": ("HS256",)}, "must name RS256"),
        ({"jwks_url": "https://issuer.example/keys", "key": SECRET}, "one way"),
        ({"key": SECRET, "issuer": None}, "jwt_issuer and jwt_audience"),
        ({"key": SECRET, "audience": ""}, "jwt_issuer and jwt_audience"),
        ({"leeway_seconds": 61}, "from 0 to 60"),
        ({"leeway_seconds": float("nan")}, "from 0 to 60"),
    ],
)
def test_a_wrong_key_is_refused_at_once_with_advice(wrong: dict[str, Any], advice: str, clock: ManualClock) -> None:
    with pytest.raises(InvalidSetting) as caught:
        jwt_verifier(options(**wrong), clock)
    assert advice in caught.value.message
    assert "x" * 20 not in caught.value.message
    assert "AAAA" not in caught.value.message


def test_without_a_way_to_check_them_there_is_no_verifier(clock: ManualClock) -> None:
    assert jwt_verifier(options(), clock) is None
    assert jwt_verifier(JwtOptions(), clock) is None
    with pytest.raises(InvalidSetting):
        JwtVerifier(JwtOptions(), GivenKeys(only_key(SECRET.encode(), ["HS256"], "jwt_key")), clock)


def test_options_do_not_print_the_secret() -> None:
    assert SECRET not in repr(options(key=SECRET))


@pytest.mark.parametrize(
    ("contents", "secret"),
    [
        (SECRET.encode() + b"\n", SECRET.encode()),
        (SECRET.encode() + b"\r\n", SECRET.encode()),
        (b"\xff" * 40 + b"\n", b"\xff" * 40 + b"\n"),
    ],
)
async def test_a_key_file_is_read_as_people_mean_it(
    contents: bytes, secret: bytes, tmp_path: Path, clock: ManualClock
) -> None:
    file = tmp_path / "key"
    file.write_bytes(contents)
    verifier = made(options(key_file=file, algorithms=("HS256",)), clock)
    assert await flaw_of(verifier, hs256(secret=secret)) is None


async def test_a_key_file_may_hold_a_public_key(tmp_path: Path, clock: ManualClock) -> None:
    for key, kind in ((RSA_KEY, "PS512"), (EC_KEY, "ES256"), (ED_KEY, "EdDSA")):
        file = tmp_path / "key.pem"
        file.write_text(pem_of(key))
        verifier = made(options(key_file=file, algorithms=("PS512", "ES256", "EdDSA", "HS256")), clock)
        assert await flaw_of(verifier, jwt.encode(claims(), key, kind)) is None


def test_a_secret_is_used_with_nothing_but_hmac_and_a_public_key_never_with_it() -> None:
    every = ("HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA")
    suited = {
        "secret": only_key(b"s" * 64, every, "jwt_key"),
        "rsa": only_key(RSA_PEM.encode(), every, "jwt_key"),
        "p-384": only_key(pem_of(ec.generate_private_key(ec.SECP384R1())).encode(), every, "jwt_key"),
    }
    found = {name: sorted(key.algorithms) for name, keys in suited.items() if (key := keys.find(None, ""))}
    assert found == {"secret": ["HS256", "HS384", "HS512"], "rsa": ["PS256", "RS256"], "p-384": ["ES384"]}
