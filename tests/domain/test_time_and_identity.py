"""Instants, timestamps, times to live, retention and identities."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.errors import InvalidExpiry
from recollect.domain.identity import RANDOM_BYTES, uuid7
from recollect.domain.instants import LAST, Instant, checked_expiry, datetime_of, instant_of, later, parse_rfc3339
from recollect.domain.retention import Pass, Retention, cutoff, due_before
from recollect.domain.rows import is_expired

instants = st.integers(0, LAST).map(Instant)
zones = st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants)
def test_an_instant_is_a_datetime_and_back(instant: Instant) -> None:
    assert instant_of(datetime_of(instant)) == instant
    assert datetime_of(instant).tzinfo is UTC


@given(st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=zones))  # noqa: DTZ001 - bounds are naive
def test_a_timestamp_names_the_same_instant_in_every_zone(moment: datetime) -> None:
    assert parse_rfc3339(moment.isoformat()) == instant_of(moment)
    assert parse_rfc3339(moment.astimezone(UTC).isoformat().replace("+00:00", "Z")) == instant_of(moment)
    assert parse_rfc3339(moment.isoformat(sep=" ").lower()) == instant_of(moment)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "x" * 30,
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_what_is_no_timestamp_names_nothing(text: str) -> None:
    assert parse_rfc3339(text) is None


@given(instants, st.floats(1e-6, 1e6))
def test_a_time_to_live_ends_later(now: Instant, seconds: float) -> None:
    if now + seconds * 1_000_000 < LAST - 1:
        assert later(now, seconds) - now == max(1, round(seconds * 1_000_000))


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), True, "5", None, 1e13])
def test_what_is_no_time_to_live_is_refused(ttl: object) -> None:
    with pytest.raises(InvalidExpiry):
        later(Instant(0), ttl)  # type: ignore[arg-type] # that is the point


def test_an_expiry_lies_within_the_calendar() -> None:
    assert checked_expiry(LAST) == LAST
    for outside in (-1, LAST + 1):
        with pytest.raises(InvalidExpiry):
            checked_expiry(Instant(outside))


def test_an_expiry_is_the_first_moment_without() -> None:
    assert not is_expired(None, Instant(5))
    assert not is_expired(Instant(6), Instant(5))
    assert is_expired(Instant(5), Instant(5))


@given(instants, st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES))
def test_an_identity_is_a_uuid_of_version_7_with_its_millisecond(at: Instant, chance: bytes) -> None:
    made = uuid.UUID(bytes=uuid7(at, chance))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == at // 1_000


@given(instants, instants, st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_identities_are_ordered_by_the_millisecond(one: Instant, two: Instant, first: bytes, second: bytes) -> None:
    if one // 1_000 < two // 1_000:
        assert uuid7(one, first) < uuid7(two, second)


@given(st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_74_bits_of_chance_tell_identities_apart(first: bytes, second: bytes) -> None:
    def used(chance: bytes) -> tuple[int, int]:
        bits = int.from_bytes(chance)
        return bits >> 68, bits & ((1 << 60) - 1)

    assert (uuid7(Instant(0), first) == uuid7(Instant(0), second)) == (used(first) == used(second))


def test_for_ever_is_never_due() -> None:
    now = Instant(1_000)
    assert cutoff(now, None) is None
    assert cutoff(now, 0) == now
    forever = Retention(None, None, None)
    assert [due_before(step, forever, now) for step in (Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE)] == [None] * 3
    kept = Retention(superseded=1, deleted=2, tombstones=3)
    assert [due_before(step, kept, now) for step in (Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE)] == [999, 998, 997]
