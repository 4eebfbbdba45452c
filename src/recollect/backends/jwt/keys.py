"""Which key checks which algorithm; a secret never stands in for a public key, nor the other way round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from recollect.backends.jwt.flaws import Flaw, Refused
from recollect.domain.errors import InvalidInput, InvalidSetting
from recollect.domain.values import decode_value

SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""How long a shared secret must at least be: as long as the hash (RFC 7518, 3.2)."""
MIN_RSA_BITS = 2_048
_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_BY_CURVE = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
PUBLIC_ALGORITHMS = _RSA | frozenset(_BY_CURVE.values()) | {"EdDSA"}
_PUBLIC_MEMBERS = ("kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and the algorithms that it may be used with."""

    kid: str | None
    algorithms: frozenset[str]
    material: Any

    def check(self, algorithm: str, signed: bytes, signature: bytes) -> None:
        """Refuse a signature that this key did not make in this way."""
        if algorithm not in self.algorithms:
            raise Refused(Flaw.ALGORITHM)
        if not jwt.get_algorithm_by_name(algorithm).verify(signed, self.material, signature):
            raise Refused(Flaw.SIGNATURE)


class KeySet:
    """The keys of an issuer at one time. `digest` tells one set from another."""

    def __init__(self, keys: Iterable[Key], digest: bytes = b"", *, by_name: bool = True) -> None:
        self._keys = tuple(keys)
        self._by_name = by_name
        self.digest = digest

    def find(self, kid: str | None, algorithm: str) -> Key | None:
        """The key of that name, and among several the one for that algorithm; without a name, the only key there is."""
        if kid is None or not self._by_name:
            return self._keys[0] if len(self._keys) == 1 else None
        named = [key for key in self._keys if key.kid == kid]
        return next((key for key in named if algorithm in key.algorithms), named[0] if named else None)


def only_key(text: bytes, allowed: Iterable[str], setting: str) -> KeySet:
    """The one key that a setting gives, whatever a token calls it."""
    algorithms = frozenset(allowed)
    key = _public(text, algorithms, setting) if b"-----BEGIN" in text else _secret(text, algorithms, setting)
    return KeySet([key], by_name=False)


def published_keys(text: bytes, allowed: Iterable[str]) -> KeySet:
    """The public keys of a JWKS that can be used here; `ValueError` when there are none."""
    try:
        listed = decode_value(text.decode()).get("keys")
    except (UnicodeDecodeError, InvalidInput):
        raise ValueError("it is not JSON") from None
    algorithms = frozenset(allowed)
    keys = [key for each in listed if (key := _published(each, algorithms))] if isinstance(listed, list) else []
    if not keys:
        raise ValueError("it has no public key for the allowed algorithms")
    return KeySet(keys, sha256(text).digest())


def _secret(text: bytes, allowed: frozenset[str], setting: str) -> Key:
    algorithms = allowed & SECRET_BYTES.keys()
    if not algorithms:
        raise InvalidSetting(
            f"{setting} is a shared secret, for which jwt_algorithms must name HS256; "
            "or give the issuer's public key in PEM"
        )
    least = max(SECRET_BYTES[name] for name in algorithms)
    if len(text) < least:
        raise InvalidSetting(
            f"{setting} is too short for {' and '.join(sorted(algorithms))}: it needs at least {least} bytes. "
            f"Make one with `openssl rand -base64 {least}`, and give it to the issuer too"
        )
    try:
        material = jwt.get_algorithm_by_name("HS256").prepare_key(text)
    except jwt.InvalidKeyError:
        raise InvalidSetting(
            f"{setting} is a public key, a certificate or a JWK: give a public key in PEM, or use jwks_file"
        ) from None
    return Key(None, algorithms, material)


def _public(text: bytes, allowed: frozenset[str], setting: str) -> Key:
    if b"PRIVATE KEY-----" in text:
        raise InvalidSetting(f"{setting} is a private key, which only the issuer should have: give the public key")
    try:
        material = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidSetting(f"{setting} is not a public key in PEM (-----BEGIN PUBLIC KEY-----)") from None
    suited = _suited(material)
    if not suited & allowed:
        can = f"name one of {', '.join(sorted(suited))}" if suited else "use RSA of 2,048 bits, ECDSA or Ed25519"
        raise InvalidSetting(f"{setting} does not suit jwt_algorithms: {can}")
    return Key(None, suited & allowed, material)


def _published(jwk: object, allowed: frozenset[str]) -> Key | None:
    """A key of a JWKS; None for what is secret, unknown, weak or meant for something else."""
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig" or not _for_checking(jwk):
        return None
    if jwk.get("kty") not in ("RSA", "EC", "OKP") or "d" in jwk:
        return None
    try:
        material = jwt.PyJWK({name: jwk[name] for name in _PUBLIC_MEMBERS if name in jwk}).key
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    algorithms = _suited(material) & allowed
    if "alg" in jwk:
        algorithms &= {name for name in algorithms if name == jwk["alg"]}
    kid = jwk.get("kid")
    return Key(kid, algorithms, material) if algorithms and isinstance(kid, str | None) else None


def _for_checking(jwk: Mapping[str, Any]) -> bool:
    operations = jwk.get("key_ops", ["verify"])
    return isinstance(operations, list) and "verify" in operations


def _suited(material: object) -> frozenset[str]:
    """The algorithms that a public key was made for."""
    if isinstance(material, RSAPublicKey):
        return _RSA if material.key_size >= MIN_RSA_BITS else frozenset()
    if isinstance(material, EllipticCurvePublicKey):
        return frozenset({_BY_CURVE[material.curve.name]} if material.curve.name in _BY_CURVE else ())
    return frozenset({"EdDSA"} if isinstance(material, Ed25519PublicKey) else ())
