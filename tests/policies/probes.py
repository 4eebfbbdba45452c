"""Calls of built-ins that OPA answered, put to the program that evaluates policies.

`probes.json` holds expressions over `input`, and for each a list of inputs with OPA's answer; without one, OPA has
none. In `agree` the engine says the same. In `differ` it does not, which is why the built-in is refused, or allowed
with a caveat. In `slow` it does not come to an end. A test asks OPA again.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID
from tests.policies.conformance import Case

from recollect.backends.rego import sandboxed

FILE = Path(__file__).with_name("probes.json")
EVALUATOR = str(Path(sandboxed.__file__))
_SECONDS = 120
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "probe")])


class Kind(StrEnum):
    """What the engine makes of a probe."""

    AGREE = "agree"
    DIFFER = "differ"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Probe:
    """One call of a built-in; `want` is empty where OPA has no answer."""

    kind: Kind
    builtin: str
    expression: str
    input: Any
    want: tuple[Any, ...] = ()

    def case(self) -> Case:
        """The probe as a case for the program of production."""
        return Case(
            suite=self.kind,
            folder=self.builtin,
            note=f"{self.expression} of {json.dumps(self.input)}",
            query="probe/p",
            modules=(f"package probe\n\np := {self.expression}\n",),
            input=self.input,
            evaluator=EVALUATOR,
            want_result=[{"x": value} for value in self.want],
        )


def load() -> list[Probe]:
    """All probes, those that need keys included."""
    held = json.loads(FILE.read_bytes())
    return [
        Probe(Kind(kind), builtin, expression, entry[0], tuple(entry[1:]))
        for kind, builtins in held.items()
        for builtin, expressions in builtins.items()
        for expression, entries in expressions.items()
        for entry in entries
    ] + made()


def made() -> list[Probe]:
    """Probes with keys, which are made anew: in texts with line breaks the engine finds no key."""
    keys: dict[str, Any] = {"es256": ec.generate_private_key(ec.SECP256R1())}
    keys |= {"es384": ec.generate_private_key(ec.SECP384R1()), "es512": ec.generate_private_key(ec.SECP521R1())}
    keys["eddsa"] = ed25519.Ed25519PrivateKey.generate()
    keys |= dict.fromkeys([f"{kind}s{size}" for kind in "pr" for size in (256, 384, 512)], _rsa_key())
    found = []
    for name, key in keys.items():
        token = jwt.encode({"a": 1}, key, algorithm="EdDSA" if name == "eddsa" else name.upper())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        found.append(_differing(f"io.jwt.verify_{name}", "{}(input[0], input[1])", token, public))
    key = keys["rs256"]
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    return [
        *found,
        _differing("crypto.parse_private_keys", "count({}(input[0])) > 0", private),
        _differing("crypto.x509.parse_certificate_request", "count({}(input[0])) > 0", _request(key)),
        _differing("crypto.x509.parse_keypair", "count({}(input[0], input[1])) > 0", _certificate(key), private),
    ]


def _differing(builtin: str, expression: str, *arguments: str) -> Probe:
    return Probe(Kind.DIFFER, builtin, expression.format(builtin), list(arguments), (True,))


def _rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def _request(key: rsa.RSAPrivateKey) -> str:
    made = x509.CertificateSigningRequestBuilder().subject_name(_NAME).sign(key, hashes.SHA256())
    return made.public_bytes(Encoding.PEM).decode()


def _certificate(key: rsa.RSAPrivateKey) -> str:
    made = x509.CertificateBuilder(_NAME, _NAME, key.public_key(), 1)
    made = made.not_valid_before(datetime(2020, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def answered_by_opa(opa: Path, probes: Sequence[Probe], folder: Path) -> list[tuple[Any, ...]]:
    """What OPA says to each of the probes."""
    lines = ["package probes", ""]
    for number, probe in enumerate(probes):
        lines.append(f'r["{number}"] := {probe.expression.replace("input", f"input[{number}]")}')
    module, asked = folder / "probes.rego", folder / "input.json"
    module.write_text("\n".join(lines) + "\n")
    asked.write_text(json.dumps([probe.input for probe in probes]))
    told = subprocess.run(
        [str(opa), "eval", "--data", str(module), "--input", str(asked), "data.probes.r"],
        capture_output=True,
        check=False,
        timeout=_SECONDS,
    )
    answer = json.loads(told.stdout)
    if "result" not in answer:
        raise ValueError(f"OPA does not evaluate the probes: {answer}")
    said: Mapping[str, Any] = answer["result"][0]["expressions"][0]["value"]
    return [(said[str(number)],) if str(number) in said else () for number in range(len(probes))]


def of(probes: Iterable[Probe], *kinds: Kind) -> list[Probe]:
    """Those of these kinds."""
    return [probe for probe in probes if probe.kind in kinds]
