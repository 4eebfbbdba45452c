"""Where the service listens: on this machine only, unless it is told to, and encrypted when it has a certificate."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from recollect.config import Settings
from recollect.domain.errors import InvalidSetting
from recollect.server import check_binding
from recollect.testing.servers import running
from recollect_client import Client
from recollect_client.errors import ConnectionFailed

BEYOND = ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1", "example.org", "127.0.0.1.example.org", "localhost.example.org"]


@pytest.mark.parametrize("host", BEYOND)
def test_listening_beyond_this_machine_in_plain_text_is_refused(host: str) -> None:
    with pytest.raises(InvalidSetting, match="plain text"):
        check_binding(Settings(host=host))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_this_machine_is_always_fine(host: str) -> None:
    check_binding(Settings(host=host))


@pytest.mark.parametrize("host", BEYOND)
def test_it_is_fine_with_tls_or_when_told_to(host: str) -> None:
    check_binding(Settings(host=host, allow_plain_http=True))
    check_binding(Settings(host=host, tls_certificate="tls.crt", tls_key="tls.key"))


def test_the_command_says_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recollect", "serve", "--home", str(tmp_path), "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "allow_plain_http" in done.stderr
    assert not list(tmp_path.iterdir()), "nothing was made"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody but we know, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "recollect test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "tls.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return folder / "tls.crt", folder / "tls.key"


def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crt, key = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(crt))
    with running(tmp_path / "home", tls_certificate=crt, tls_key=key) as server:
        assert server.url.startswith("https://127.0.0.1:")
        with Client(server.url, server.token) as client:
            client.put(("user", "alice"), "k", {"text": "sealed on the way"})
            found = client.get(("user", "alice"), "k")
            assert found is not None
            assert found.value == {"text": "sealed on the way"}
        said = subprocess.run(
            [sys.executable, "-m", "recollect", "--home", str(server.home), "get", "user/alice", "k"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert "sealed on the way" in said.stdout
        assert "no server runs" not in said.stderr
        with Client(server.url.replace("https:", "http:"), "", retries=0) as plain, pytest.raises(ConnectionFailed):
            plain.whoami()
        monkeypatch.delenv("SSL_CERT_FILE")
        with Client(server.url, server.token, retries=0) as stranger, pytest.raises(ConnectionFailed):
            stranger.whoami()
