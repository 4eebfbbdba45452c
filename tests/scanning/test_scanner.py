"""What a scan tells, and what it never tells."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scanning.corpus import PERSONAL, SECRETS, TEMPLATES

from recollect.domain import scrubbing
from recollect.domain.scanning import (
    PERSONAL_KINDS,
    REDACTED,
    RULES,
    SECRET_KINDS,
    Class,
    Confidence,
    redacted,
    scan,
    scanner,
)

ODD = st.text(st.sampled_from("aZ0 :=@./-_+\"'\n“”é日\U0001f375\u200b\ud800\x00"), max_size=30)
SAMPLES = st.builds(lambda draw, seed: draw(Random(seed)), st.sampled_from([*SECRETS.values()]), st.integers(0, 10**6))
PEOPLE = st.builds(lambda draw, seed: draw(Random(seed)), st.sampled_from([*PERSONAL.values()]), st.integers(0, 10**6))


def test_every_rule_has_a_name_a_class_and_a_confidence() -> None:
    assert set(SECRET_KINDS).isdisjoint(PERSONAL_KINDS)
    for rule in RULES:
        assert rule.kind.isidentifier()
        assert (rule.kind in SECRET_KINDS) is (rule.sort is Class.SECRET)
        assert rule.confidence in tuple(Confidence)


@given(before=ODD, sample=SAMPLES, after=ODD)
def test_spans_are_in_order_apart_and_inside_whatever_is_around(before: str, sample: str, after: str) -> None:
    text = f"{before} {sample} {after}"
    found = scan(text)
    ends = [0, *(each.end for each in found)]
    assert all(end <= each.begin < each.end <= len(text) for end, each in zip(ends, found, strict=False))
    middle = len(before) + 1 + len(sample) // 2
    assert any(each.begin <= middle < each.end or each.begin >= len(before) for each in found)


@given(before=ODD, sample=SAMPLES, person=PEOPLE, after=ODD)
def test_nothing_is_found_in_what_was_redacted(before: str, sample: str, person: str, after: str) -> None:
    shown = redacted(f"{before} {sample} {person} {after}")
    assert scan(shown) == ()
    assert redacted(shown) == shown


@given(sample=SAMPLES)
def test_a_finding_shows_nothing_of_what_was_found(sample: str) -> None:
    for finding in scan(f"we use {sample} there"):
        assert sample[-6:] not in repr(finding)
        assert sample[-6:] not in str(finding)


def test_only_what_is_asked_for_is_found() -> None:
    chance = Random(5)
    text = f"{SECRETS['github_token'](chance)} belongs to {PERSONAL['email'](chance)}"
    assert [each.kind for each in scan(text)] == ["github_token", "email"]
    assert [each.kind for each in scan(text, {Class.PII})] == ["email"]
    assert [each.kind for each in scan(text, {Class.SECRET})] == ["github_token"]
    assert scan(text, at_least=Confidence.CERTAIN) == scan(text)
    assert redacted(text) == f"{REDACTED} belongs to {REDACTED}"


def test_finds_that_overlap_are_one_and_nothing_between_them_stays() -> None:
    chance = Random(5)
    secret = SECRETS["stripe_key"](chance)
    assert [each.kind for each in scan(f"api_key={secret}")] == ["stripe_key"]
    url = "https://bob:" + "hunter2" + "@mail.example.org/in"
    (found,) = scan(f"see {url}")
    assert (found.kind, found.sort) == ("basic_auth_url", Class.SECRET)
    assert redacted(f"see {url}!") == f"see {REDACTED}"


def test_places_are_characters_and_not_bytes() -> None:
    secret = SECRETS["npm_token"](Random(5))
    (found,) = scan(f"東京 🍵 é {secret} “é”")
    assert (found.begin, found.end) == (7, 7 + len(secret))


def test_a_lone_surrogate_does_not_stop_the_scan() -> None:
    secret = SECRETS["npm_token"](Random(5))
    assert redacted(f"\ud800{secret}\udfff") == f"\ud800{REDACTED}\udfff"


def test_typography_hides_nothing() -> None:
    assert [each.kind for each in scan("password：“Tr0ub4dor”")] == ["password"]
    assert [each.kind for each in scan("password\u00a0=\u2009Tr0ub4dor")] == ["password"]
    assert [each.kind for each in scan("card ４１１１ １１１１ １１１１ １１１１")] == ["credit_card"]


@pytest.mark.parametrize(
    "text",
    [
        "my password is swordfish",
        "The wifi password is Kaffee-2024!",
        "password for the router: Zebra77",
        "pw: tr33house",
        'passphrase is "correct horse"',
        "DB_PASSWORD=plain",
        '"password": "plainword"',
        "Das Passwort lautet Sommer2024",
        "his password was changed; my password is now Winter-9",
    ],
)
def test_a_password_in_prose_is_found(text: str) -> None:
    assert [each.kind for each in scan(text)] == ["password"]


@pytest.mark.parametrize(
    "text",
    [
        "password is required",
        "the password is stored elsewhere",
        "password: [REDACTED]",
        "password=********",
        "password: ${DB_PASSWORD}",
        "password=<password>",
        "password: your-password-here",
        "api_key = YOUR_API_KEY",
        "const apiKey = 'YOUR_GOOGLE_MAPS_API_KEY'",
        "token: {{ github_token }}",
        "https://user:${TOKEN}@example.com/",
        "--password $PASSWORD",
        "a password that is long beats one that is odd",
    ],
)
def test_what_stands_in_place_of_a_secret_is_none(text: str) -> None:
    assert scan(text) == ()


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----\n",
        "password: ",
        "password is a ",
        "a:a@",
        "https://a:",
        "eyJaaaaaaaa.",
        "+1 2 3 ",
        "DE89 3704 0044 ",
        "key = ",
        "1.1.1.1 ",
        "A" * 41 + " ",
        "4111 1111 1111 ",
        "sig=",
        "12 Aa Bb Cc ",
    ],
)
def test_hostile_repetition_ends(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    assert scan(redacted(text)) == ()


def test_the_scrubber_uses_the_same_pack() -> None:
    assert scrubbing.CREDENTIAL_KINDS is SECRET_KINDS
    text = TEMPLATES[0].format(SECRETS["anthropic_key"](Random(5))) + ", mail bob@example.org"
    assert [each.kind for each in scrubbing.credentials_in(text)] == ["anthropic_key"]
    assert scrubbing.redacted(text) == TEMPLATES[0].format(REDACTED) + ", mail bob@example.org"


def test_a_redaction_that_leaves_a_secret_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "_MOST_PASSES", 0)
    assert scan(redacted(f"we use {SECRETS['github_token'](Random(1))}")) != ()
