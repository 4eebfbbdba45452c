"""What cannot be seen is taken out of texts, and what opens doors is found in them."""

from __future__ import annotations

import secrets
import string
from random import Random

import pytest
from tests.scanning.corpus import SAME_KIND, SECRETS

from recollect.domain.scrubbing import CREDENTIAL_KINDS, REDACTED, cleaned, credentials_in, on_one_line, redacted

LONG = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(60))
UPPER = LONG.upper()[:16]
SAMPLES = {
    **{kind: draw(Random(1)) for kind, draw in SECRETS.items() if kind not in SAME_KIND},
    "private_key": f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----",
    "github_token": f"ghp_{LONG[:36]}",
    "gitlab_token": f"glpat-{LONG[:20]}",
    "google_token": f"ya29.{LONG}",
    "google_api_key": f"AIza{LONG[:35]}",
    "aws_access_key": f"AKIA{UPPER}",
    "slack_token": f"xoxb-{LONG[:30]}",
    "stripe_key": f"sk_live_{LONG[:24]}",
    "secret_key": f"sk-proj-{LONG[:40]}",
    "npm_token": f"npm_{LONG[:36]}",
    "pypi_token": f"pypi-{LONG}",
    "recollect_key": f"rk_abcd1234_{LONG[:40]}",
    "jwt": f"eyJ{LONG[:20]}.eyJ{LONG[:30]}.{LONG[:43]}",
    "bearer_token": f"Authorization: Bearer {LONG[:32]}",
    "url_with_password": "postgresql://app:hunter2@db.internal:5432/app",
    "api_key": f"api_key = {LONG[:24]}",
    "password": "password: hunter22",
}


def test_there_is_a_sample_of_every_kind() -> None:
    assert set(SAMPLES) == set(CREDENTIAL_KINDS)


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_a_credential_is_found_and_nothing_of_it_is_shown(kind: str) -> None:
    text = f"before {SAMPLES[kind]} after"
    assert kind in {each.kind for each in credentials_in(text)}
    shown = redacted(text)
    assert REDACTED in shown
    assert SAMPLES[kind].rstrip(";")[-12:] not in shown
    assert shown.startswith("before ")


@pytest.mark.parametrize(
    "text",
    [
        "the monkey pressed a key",
        "uses a password manager",
        "token budget is 4000",
        "see https://example.com/a:b",
        "sk-learn is a library",
        "the secret of good tea",
        "eyJust saying",
    ],
)
def test_plain_talk_is_no_credential(text: str) -> None:
    assert credentials_in(text) == []
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb\u2066c\u2069", "abc"),
        ("zero\u200bwidth\u200d\ufeff\u2060", "zerowidth"),
        ("tags" + "".join(chr(0xE0000 + ord(each)) for each in "ignore"), "tags"),
        ("bell\x07 escape\x1b[31m", "bell escape[31m"),
        ("selector\ufe0f\U000e0101", "selector"),
        ("filler\u3164\u115f\u2800", "filler"),
        ("one\r\ntwo\rthree\u2028four\x85five\tsix", "one\ntwo\nthree\nfour\nfive\tsix"),
        ("東京 naïve Zürich 🍵", "東京 naïve Zürich 🍵"),
    ],
)
def test_what_cannot_be_seen_is_taken_out(text: str, seen: str) -> None:
    assert cleaned(text) == seen
    assert cleaned(seen) == seen


def test_each_line_end_becomes_one_space() -> None:
    assert on_one_line("a\n\n\nb\r\nc\vd\fe\x85f\u2028g\u2029h") == "a   b c d e f g h"
