"""Tokens that must not be believed, each with the flaw that is the answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jwt
from jwt.types import Options
from tests.security.issuer import (
    AUDIENCE,
    ISSUER,
    NOW,
    RSA_JWK,
    RSA_KEY,
    RSA_PEM,
    SECRET,
    STRANGE_KEY,
    base64url,
    claims,
    hs256,
    jwk,
    rs256,
    sealed,
    text_of,
)

from recollect.backends.jwt.flaws import Flaw

HEADER = b'{"alg":"RS256","kid":"rsa"}'
GOOD = rs256()
_PARTS = GOOD.split(".")
_ELSE = rs256(claims(sub="bob")).split(".")


@dataclass(frozen=True, slots=True)
class Hostile:
    """A token, how the service that is shown it checks tokens, and what is wrong with it."""

    name: str
    token: Any
    flaw: Flaw
    against: str = "jwks"
    """jwks: public keys by name. pem: one public key, with HS256 allowed too. secret: a shared secret."""


def unsigned(algorithm: str, signature: str = "") -> str:
    header = base64url(text_of({"alg": algorithm, "kid": "rsa"}))
    return f"{header}.{base64url(text_of(claims()))}.{signature}"


def saying(**changes: Any) -> str:
    return rs256(claims(**changes))


def payload(text: bytes) -> str:
    """A well signed token around any text."""
    return sealed(HEADER, text)


def header(text: bytes) -> str:
    """A well signed token with any header."""
    return sealed(text, text_of(claims()))


def with_raw(name: str, text: str) -> str:
    """A well signed token, good but for one claim, which is given as JSON text."""
    return payload(text_of(claims(**{name: ...}))[:-1] + f', "{name}": {text}}}'.encode())


ALGORITHMS = [
    *(Hostile(f"alg {word}", unsigned(word, "AAAA"), Flaw.ALGORITHM) for word in ("none", "None", "NONE", "nOnE")),
    Hostile("alg none without a signature", unsigned("none"), Flaw.MALFORMED),
    Hostile("alg none against a secret", unsigned("none", "AAAA"), Flaw.ALGORITHM, "secret"),
    Hostile("alg absent", header(b'{"kid":"rsa"}'), Flaw.ALGORITHM),
    Hostile("alg empty", header(b'{"alg":"","kid":"rsa"}'), Flaw.ALGORITHM),
    Hostile("alg a number", header(b'{"alg":256,"kid":"rsa"}'), Flaw.ALGORITHM),
    Hostile("alg a list", header(b'{"alg":["RS256"],"kid":"rsa"}'), Flaw.ALGORITHM),
    Hostile("alg in other letters", header(b'{"alg":"rs256","kid":"rsa"}'), Flaw.ALGORITHM),
    Hostile("public key as a secret", hs256(secret=RSA_PEM.encode()), Flaw.ALGORITHM, "pem"),
    Hostile("public key as a secret, by name", hs256(secret=RSA_PEM.encode(), kid="rsa"), Flaw.ALGORITHM),
    Hostile("published key as a secret", hs256(secret=text_of(RSA_JWK), kid="rsa"), Flaw.ALGORITHM),
    Hostile("RS256 against a secret", rs256(), Flaw.ALGORITHM, "secret"),
    Hostile("RS512, which nobody allowed", rs256(alg="RS512"), Flaw.ALGORITHM),
    Hostile("ES256 with an RSA key's name", rs256(alg="ES256"), Flaw.ALGORITHM),
    Hostile("EdDSA with an EC key's name", rs256(alg="EdDSA", kid="ec"), Flaw.ALGORITHM),
]
HEADERS = [
    Hostile("crit", rs256(crit=["exp"]), Flaw.HEADER),
    Hostile("crit empty", rs256(crit=[]), Flaw.HEADER),
    Hostile("crit b64", rs256(crit=["b64"], b64=True), Flaw.HEADER),
    Hostile("b64 false", rs256(b64=False), Flaw.HEADER),
    Hostile("typ of a logout token", rs256(typ="logout+jwt"), Flaw.HEADER),
    Hostile("typ a number", rs256(typ=1), Flaw.HEADER),
    Hostile("own key in jwk", rs256(key=STRANGE_KEY, jwk=jwk(STRANGE_KEY, "rsa", "RS256")), Flaw.SIGNATURE),
    Hostile("own key in x5c", rs256(key=STRANGE_KEY, x5c=["MIIB"]), Flaw.SIGNATURE),
    Hostile("own key by jku", rs256(key=STRANGE_KEY, jku="http://127.0.0.1:9/keys"), Flaw.SIGNATURE),
    Hostile("own key by x5u", rs256(key=STRANGE_KEY, x5u="http://127.0.0.1:9/cert"), Flaw.SIGNATURE),
    Hostile("own key by jku and name", rs256(key=STRANGE_KEY, kid="own", jku="http://127.0.0.1:9/keys"), Flaw.KEY),
    Hostile("kid a path", rs256(kid="../../../../dev/null"), Flaw.KEY),
    Hostile("kid a path, signed with nothing", hs256(secret=b"\0", kid="/dev/null"), Flaw.ALGORITHM),
    Hostile("kid a statement", rs256(kid="rsa' OR '1'='1"), Flaw.KEY),
    Hostile("kid unknown", rs256(kid="rsa-2"), Flaw.KEY),
    Hostile("kid empty", rs256(kid=""), Flaw.KEY),
    Hostile("kid absent among several", rs256(kid=...), Flaw.KEY),
    Hostile("kid null", rs256(kid=None), Flaw.HEADER),
    Hostile("kid a list", rs256(kid=["rsa"]), Flaw.HEADER),
    Hostile("header a list", header(b'["RS256"]'), Flaw.MALFORMED),
    Hostile("header with a key twice", header(b'{"alg":"none","alg":"RS256","kid":"rsa"}'), Flaw.MALFORMED),
    Hostile("header in UTF-16", header(HEADER.decode().encode("utf-16")), Flaw.MALFORMED),
]
TIMES = [
    Hostile("expired", saying(exp=NOW - 31), Flaw.EXPIRED),
    Hostile("expired long ago", saying(exp=1), Flaw.EXPIRED),
    Hostile("expired against a secret", hs256(claims(exp=NOW - 31)), Flaw.EXPIRED, "secret"),
    Hostile("nbf in the future", saying(nbf=NOW + 31), Flaw.EARLY),
    Hostile("iat in the future", saying(iat=NOW + 31), Flaw.EARLY),
    *(
        Hostile(f"{name} {word}", with_raw(name, text), flaw)
        for name in ("exp", "nbf")
        for word, text, flaw in (
            ("a text", f'"{NOW + 36_000 if name == "exp" else 0}"', Flaw.CLAIMS),
            ("true", "true", Flaw.CLAIMS),
            ("null", "null", Flaw.CLAIMS),
            ("a list", f"[{NOW + 60}]", Flaw.CLAIMS),
            ("huge", "9" * 400, Flaw.CLAIMS),
            ("of 5,000 digits", "9" * 5_000, Flaw.MALFORMED),
            ("a huge float", "1e300", Flaw.CLAIMS),
            ("beyond floats", "1e999", Flaw.MALFORMED),
            ("in milliseconds", f"{NOW + 60}000", Flaw.CLAIMS),
            ("NaN", "NaN", Flaw.MALFORMED),
            ("infinite", "Infinity", Flaw.MALFORMED),
            ("negative", "-1", Flaw.CLAIMS),
        )
    ),
    Hostile("iat a text", saying(iat=str(NOW)), Flaw.CLAIMS),
    Hostile("iat true", saying(iat=True), Flaw.CLAIMS),
]
PARTIES = [
    *(Hostile(f"{name} absent", saying(**{name: ...}), Flaw.CLAIMS) for name in ("sub", "exp", "aud", "iss")),
    Hostile("aud of somebody else", saying(aud="billing"), Flaw.AUDIENCE),
    Hostile("aud that begins alike", saying(aud=AUDIENCE + "2"), Flaw.AUDIENCE),
    Hostile("aud in other letters", saying(aud=AUDIENCE.upper()), Flaw.AUDIENCE),
    Hostile("aud a list without us", saying(aud=["billing", "mail"]), Flaw.AUDIENCE),
    Hostile("aud an empty list", saying(aud=[]), Flaw.AUDIENCE),
    Hostile("aud a list with a number", saying(aud=[AUDIENCE, 1]), Flaw.CLAIMS),
    Hostile("aud a list of lists", saying(aud=[[AUDIENCE]]), Flaw.CLAIMS),
    Hostile("aud a number", saying(aud=1), Flaw.CLAIMS),
    Hostile("aud an object", saying(aud={AUDIENCE: True}), Flaw.CLAIMS),
    Hostile("aud null", saying(aud=None), Flaw.CLAIMS),
    Hostile("iss of somebody else", saying(iss="https://evil.example"), Flaw.ISSUER),
    Hostile("iss with a slash more", saying(iss=ISSUER + "/"), Flaw.ISSUER),
    Hostile("iss a list", saying(iss=[ISSUER]), Flaw.ISSUER),
    Hostile("iss null", saying(iss=None), Flaw.ISSUER),
]
PEOPLE = [
    Hostile("sub empty", saying(sub=""), Flaw.CLAIMS),
    Hostile("sub a number", saying(sub=7), Flaw.CLAIMS),
    Hostile("sub null", saying(sub=None), Flaw.CLAIMS),
    Hostile("sub a list", saying(sub=["ann"]), Flaw.CLAIMS),
    Hostile("sub with NUL", saying(sub="ann\0admin"), Flaw.MALFORMED),
    Hostile("sub with half a character", saying(sub="ann\ud800"), Flaw.MALFORMED),
    Hostile("sub with a line end", saying(sub="ann\nroot"), Flaw.CLAIMS),
    Hostile("sub too long", saying(sub="a" * 129), Flaw.CLAIMS),
    Hostile("roles a text", saying(roles="admin"), Flaw.CLAIMS),
    Hostile("roles with a number", saying(roles=["admin", 1]), Flaw.CLAIMS),
    Hostile("roles null", saying(roles=None), Flaw.CLAIMS),
    Hostile("too many roles", saying(roles=[f"role-{number}" for number in range(33)]), Flaw.CLAIMS),
    Hostile("scope a number", saying(scope=1), Flaw.CLAIMS),
    Hostile("scope null", saying(scope=None), Flaw.CLAIMS),
    Hostile("scp an object", saying(scp={"read": True}), Flaw.CLAIMS),
    Hostile("client_id a list", saying(client_id=["cli"]), Flaw.CLAIMS),
    Hostile("client_id zero", saying(client_id=0), Flaw.CLAIMS),
    Hostile("tenant null", saying(tenant=None), Flaw.CLAIMS),
    Hostile("tenant a list", saying(tenant=["acme"]), Flaw.CLAIMS),
    Hostile("tenant with a slash", saying(tenant="acme/../default"), Flaw.CLAIMS),
    Hostile("tenant of the service itself", saying(tenant="recollect:system"), Flaw.CLAIMS),
]
FORMS = [
    Hostile("signature stripped", ".".join(_PARTS[:2]) + ".", Flaw.MALFORMED),
    Hostile("signature left out", ".".join(_PARTS[:2]), Flaw.MALFORMED),
    Hostile("signature truncated", GOOD[:-2], Flaw.SIGNATURE),
    Hostile("signature of another token", f"{_PARTS[0]}.{_PARTS[1]}.{_ELSE[2]}", Flaw.SIGNATURE),
    Hostile("payload swapped", f"{_PARTS[0]}.{_ELSE[1]}.{_PARTS[2]}", Flaw.SIGNATURE),
    Hostile("signed by somebody else", rs256(key=STRANGE_KEY), Flaw.SIGNATURE),
    Hostile("signed by somebody else, no name", rs256(key=STRANGE_KEY, kid=...), Flaw.SIGNATURE, "pem"),
    Hostile("signed with another secret", hs256(secret=b"x" * 48), Flaw.SIGNATURE, "secret"),
    Hostile("signed with nothing", hs256(secret=b""), Flaw.SIGNATURE, "secret"),
    Hostile("four parts", GOOD + ".AAAA", Flaw.MALFORMED),
    Hostile("encrypted: five parts", ".".join([*_PARTS, "AAAA", "AAAA"]), Flaw.MALFORMED),
    Hostile("one part", _PARTS[0], Flaw.MALFORMED),
    Hostile("padded", f"{base64url(b'{}')}==.{_PARTS[1]}.{_PARTS[2]}", Flaw.MALFORMED),
    Hostile("signature padded", GOOD + "==", Flaw.MALFORMED),
    Hostile("not base64url", GOOD.replace(_PARTS[2], "+/" + _PARTS[2][2:]), Flaw.MALFORMED),
    Hostile("loose bits at the end", GOOD[:-1] + chr(ord(GOOD[-1]) + 1), Flaw.MALFORMED),
    Hostile("line end after it", GOOD + "\n", Flaw.MALFORMED),
    Hostile("blank before it", " " + GOOD, Flaw.MALFORMED),
    Hostile("payload not JSON", payload(b"sub=ann"), Flaw.MALFORMED),
    Hostile("payload a list", payload(b"[1]"), Flaw.MALFORMED),
    Hostile("payload a token", payload(GOOD.encode()), Flaw.MALFORMED),
    Hostile("payload with sub twice", payload(text_of(claims())[:-1] + b',"sub":"root"}'), Flaw.MALFORMED),
    Hostile("payload with a key twice further in", with_raw("x", '{"a": 1, "a": 2}'), Flaw.MALFORMED),
    Hostile("payload very deep", payload(b'{"a":' * 900 + b"1" + b"}" * 900), Flaw.MALFORMED),
    Hostile("payload not UTF-8", payload(b'{"sub":"\xff"}'), Flaw.MALFORMED),
    Hostile("oversized", saying(more="x" * 8_192), Flaw.MALFORMED),
    Hostile("huge", "A" * 10_000_000, Flaw.MALFORMED),
    Hostile("garbage", "ⓔⓨⓙ.𝟚𝟛.日本", Flaw.MALFORMED),
    Hostile("letters that look alike", GOOD.replace("e", "е"), Flaw.MALFORMED),  # Cyrillic
    Hostile("half a character", "\ud800.\udfff.\ud800", Flaw.MALFORMED),
    Hostile("empty", "", Flaw.MALFORMED),
    Hostile("dots only", "..", Flaw.MALFORMED),
    Hostile("bytes", GOOD.encode(), Flaw.MALFORMED),
    Hostile("null", None, Flaw.MALFORMED),
]
ALL = [*ALGORITHMS, *HEADERS, *TIMES, *PARTIES, *PEOPLE, *FORMS]


def believed_by_default(case: Hostile, *, verify_signature: bool = True) -> bool:
    """What PyJWT says about a token when it is asked in the usual way: the planted sloppy verifier."""
    keys: dict[str, Any] = {"pem": RSA_KEY.public_key(), "secret": SECRET, "jwks": RSA_KEY.public_key()}
    allowed = ["HS256"] if case.against == "secret" else ["RS256"]
    try:
        looked_at: Options = {"verify_signature": verify_signature}
        jwt.decode(case.token, keys[case.against], allowed, looked_at, audience=AUDIENCE, issuer=ISSUER)
    except Exception:  # noqa: BLE001 - whatever it raises, it did not believe the token
        return False
    return True
