"""Rate limits: nobody gets through more often than allowed, and whoever waits as told gets through."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.errors import InvalidSetting
from recollect.surfaces import limits
from recollect.surfaces.limits import Buckets, address_group


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


RATES = st.floats(0.01, 1_000)
BURSTS = st.none() | st.floats(1, 50)
STEPS = st.lists(
    st.tuples(st.floats(0, 3), st.integers(1, 30), st.sampled_from("ab"), st.none() | RATES), min_size=1, max_size=40
)
Step = tuple[float, int, str, float | None]


def too_many(
    make: Callable[[float, float | None, Hand], Buckets], rate: float, fits: float | None, steps: list[Step]
) -> str | None:
    """Run steps (pause, tries, who, a new rate), and look at every stretch of time between two passes."""
    clock = Hand()
    buckets = make(rate, fits, clock)
    burst = fits or max(1.0, rate)
    flowed = 0.0
    passes: dict[str, list[tuple[float, int]]] = {}
    for pause, tries, who, new in steps:
        clock.now += pause
        flowed += pause * rate
        if new is not None:
            rate = buckets.rate = new
            burst = fits or max(burst, rate)
        through = sum(buckets.take(who) == 0 for _ in range(tries))
        passes.setdefault(who, []).append((flowed, through))
    for who, seen in passes.items():
        for first in range(len(seen)):
            count = 0
            for at, through in seen[first:]:
                count += through
                if count > at - seen[first][0] + burst + 1e-6:
                    return f"{who} got through {count} times where {at - seen[first][0]:g} + {burst:g} are allowed"
    return None


@given(RATES, BURSTS, STEPS)
def test_nobody_gets_through_more_often_than_rate_and_burst_allow(
    rate: float, burst: float | None, steps: list[Step]
) -> None:
    assert too_many(Buckets, rate, burst, steps) is None


class Bottomless(Buckets):
    """A planted fault: what flows in is not capped."""

    def _filled(self, tokens: float, at: float, now: float) -> float:
        return tokens + max(0.0, now - at) * self._rate


class Forgetful(Buckets):
    """A planted fault: a changed rate fills every bucket."""

    @property
    def rate(self) -> float:
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._buckets.clear()
        self._rate, self._burst = rate, max(1.0, rate)


@pytest.mark.parametrize(
    ("faulty", "steps"),
    [
        (Bottomless, [(0.0, 1, "a", None), (100.0, 1, "a", None), (0.0, 30, "a", None)]),
        (Forgetful, [(0.0, 30, "a", None), (0.0, 30, "a", 9.0)]),
    ],
)
def test_a_faulty_bucket_is_caught(faulty: type[Buckets], steps: list[Step]) -> None:
    assert too_many(faulty, 10.0, None, steps)
    assert too_many(Buckets, 10.0, None, steps) is None


@given(RATES, BURSTS, st.lists(st.integers(0, 60), min_size=1, max_size=10))
def test_whoever_waits_as_long_as_told_gets_through(rate: float, burst: float | None, tries: list[int]) -> None:
    clock = Hand()
    buckets = Buckets(rate, burst, clock)
    for count in tries:
        for _ in range(count):
            buckets.take("a")
        while not (wait := buckets.take("a")):
            pass
        clock.now += wait
        assert buckets.take("a") == 0


def test_a_refusal_takes_nothing_and_says_how_long() -> None:
    clock = Hand()
    buckets = Buckets(2, 3, clock)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0.5, 0.5]
    clock.now += 0.25
    assert buckets.take("a") == 0.25
    clock.now += 0.25
    assert buckets.take("a") == 0


def test_one_principal_does_not_use_up_what_is_anothers() -> None:
    buckets = Buckets(1, 1, Hand())
    assert [buckets.take(who) for who in "aabb"] == [0, 1, 0, 1]


def test_a_slow_rate_still_lets_the_first_through() -> None:
    buckets = Buckets(0.1, clock=Hand())
    assert [buckets.take("a"), buckets.take("a")] == [0, 10]


def test_a_rate_of_zero_is_no_limit_and_remembers_nobody() -> None:
    buckets = Buckets(0, clock=Hand())
    assert {buckets.take("a") for _ in range(1_000)} == {0}
    assert not buckets._buckets


def test_the_rate_may_change_while_it_counts() -> None:
    clock = Hand()
    buckets = Buckets(10, clock=clock)
    for _ in range(10):
        buckets.take("a")
    buckets.rate = 1_000
    assert buckets.take("a") == 1 / 1_000  # what was used up stays used up
    buckets.rate = 0
    assert buckets.take("a") == 0
    buckets.rate = 1
    assert [buckets.take("a"), buckets.take("a")] == [0, 1]


def test_what_flowed_before_a_change_flowed_at_the_old_rate() -> None:
    clock = Hand()
    buckets = Buckets(1, 50, clock)
    for _ in range(50):
        buckets.take("a")
    clock.now += 2
    buckets.rate = 1_000
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1 / 1_000]


def test_a_clock_that_steps_back_gives_nothing_away() -> None:
    clock = Hand()
    buckets = Buckets(1, 1, clock)
    buckets.take("a")
    clock.now -= 50
    assert buckets.take("a") == 1
    clock.now += 1
    assert buckets.take("a") == 0


def test_who_was_not_seen_for_longest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PRINCIPALS", 3)
    buckets = Buckets(1, 1, Hand())
    for who in "abcad":
        buckets.take(who)
    assert list(buckets._buckets) == ["c", "a", "d"]


def test_a_crowd_takes_a_bounded_place() -> None:
    buckets = Buckets(1, 1, Hand())
    for number in range(limits.MAX_PRINCIPALS + 5_000):
        buckets.take(f"p{number}")
    assert len(buckets._buckets) == limits.MAX_PRINCIPALS


@pytest.mark.parametrize("rate", [-1, float("nan"), float("inf")])
def test_a_rate_that_makes_no_sense_is_refused(rate: float) -> None:
    with pytest.raises(InvalidSetting):
        Buckets(rate)


@pytest.mark.parametrize("burst", [0, 0.5, float("nan")])
def test_a_burst_in_which_no_request_fits_is_refused(burst: float) -> None:
    with pytest.raises(InvalidSetting):
        Buckets(1, burst)


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_an_ipv6_network_counts_as_one(address: str, group: str) -> None:
    assert address_group(address) == group
