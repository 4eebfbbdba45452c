"""An issuer of tokens: its keys, its signatures, and a real web server that publishes the keys."""

from __future__ import annotations

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from recollect.backends.jwt import JwtOptions
from recollect.domain.instants import Instant

NOW = int(time.time())
"""The second in which the tests began: PyJWT, which they compare with, knows only the machine's clock."""
HERE = Instant(NOW * 1_000_000)
ISSUER = "https://issuer.example"
AUDIENCE = "recollect"
SECRET = "a-secret-of-the-issuer-and-of-this-service-alone"
RSA_KEY = rsa.generate_private_key(65_537, 2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
STRANGE_KEY = rsa.generate_private_key(65_537, 2_048)
"""A key that the issuer does not have."""
RSA_PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def options(**changes: Any) -> JwtOptions:
    """What the issuer's tokens are checked for."""
    return JwtOptions(**{"issuer": ISSUER, "audience": AUDIENCE} | changes)


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a good token, with changes; `...` leaves one out."""
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": NOW - 10, "exp": NOW + 36_000} | changes
    return {name: value for name, value in said.items() if value is not ...}


def base64url(text: bytes) -> str:
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def text_of(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode()


def sealed(header: bytes, payload: bytes, key: Any = RSA_KEY, algorithm: str = "RS256") -> str:
    """A token around any two texts, with a signature that is right."""
    signed = f"{base64url(header)}.{base64url(payload)}"
    return f"{signed}.{base64url(jwt.get_algorithm_by_name(algorithm).sign(signed.encode(), key))}"


def rs256(said: Mapping[str, Any] | None = None, key: Any = RSA_KEY, **header: Any) -> str:
    """A token signed by the issuer's RSA key, whatever its header and its claims are."""
    full = {"alg": "RS256", "kid": "rsa", "typ": "JWT"} | header
    return sealed(
        text_of({name: value for name, value in full.items() if value is not ...}), text_of(said or claims()), key
    )


def hs256(said: Mapping[str, Any] | None = None, secret: bytes = SECRET.encode(), **header: Any) -> str:
    """A token signed with the shared secret."""
    return sealed(text_of({"alg": "HS256", "typ": "JWT"} | header), text_of(said or claims()), secret, "HS256")


def jwk(key: Any, kid: str, algorithm: str, **more: Any) -> dict[str, Any]:
    """A public key as it is published."""
    return {**jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}


def jwks(*keys: Mapping[str, Any]) -> bytes:
    return text_of({"keys": list(keys)})


RSA_JWK = jwk(RSA_KEY, "rsa", "RS256", alg="RS256", use="sig")
PUBLISHED = jwks(RSA_JWK, jwk(EC_KEY, "ec", "ES256"), jwk(ED_KEY, "ed", "EdDSA"))


class KeyServer:
    """A web server on loopback that publishes keys, or does as badly as it is told to."""

    def __init__(self, body: bytes = PUBLISHED) -> None:
        self.body = body
        self.status = 200
        self.headers: dict[str, str] = {}
        self.declares_length = True
        self.pause = 0.0
        """How long it waits before the answer, and between the bytes of it when `trickle` is set."""
        self.trickle = False
        self.asked: list[str] = []
        self._ended = threading.Event()

    def __enter__(self) -> KeyServer:
        owner = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(self.path)
                owner._ended.wait(owner.pause)
                try:
                    self.send_response(owner.status)
                    for name, value in owner.headers.items():
                        self.send_header(name, value)
                    if owner.declares_length:
                        self.send_header("Content-Length", str(len(owner.body)))
                    self.end_headers()
                    if owner.trickle:
                        for byte in owner.body:
                            self.wfile.write(bytes([byte]))
                            owner._ended.wait(owner.pause)
                    else:
                        self.wfile.write(owner.body)
                except OSError:
                    pass  # the client has gone, which is what some tests want

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the standard library
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
