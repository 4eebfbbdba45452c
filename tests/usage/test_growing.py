"""Growing: importance grows with use by one rule, and not at all unless it is asked for."""

from __future__ import annotations

import pytest

from recollect import Settings
from recollect.domain.errors import InvalidSetting
from recollect.domain.instants import Instant
from recollect.domain.usage import Used, grown, joined, settled
from recollect.main import rules_of


def test_nothing_grows_by_default() -> None:
    assert rules_of(Settings()).usage_importance == 0
    assert grown(3, 1_000_000, 0) == (3, ())


@pytest.mark.parametrize(
    ("loads", "importance", "reasons"),
    [
        (0, 1, ()), (1, 1, ()), (9, 1, ()), (10, 2, ("usage:1",)), (99, 2, ("usage:1",)),
        (100, 3, ("usage:2",)), (10**9, 3, ("usage:2",)),
    ],
)  # fmt: skip
def test_every_power_of_ten_adds_one_up_to_the_bound(loads: int, importance: int, reasons: tuple[str, ...]) -> None:
    assert grown(1, loads, 2) == (importance, reasons)


@pytest.mark.parametrize("wrong", [-1, 11, 1.5, True])
def test_a_bound_that_is_none_is_refused(wrong: int) -> None:
    with pytest.raises(InvalidSetting):
        Settings(usage_importance=wrong)


def test_loads_of_the_same_thing_are_added_and_those_of_an_earlier_one_are_left_behind() -> None:
    old, new = Used(Instant(1), 5, Instant(7)), Used(Instant(2), 1, Instant(3))
    assert joined(old, Used(Instant(1), 2, Instant(6))) == Used(Instant(1), 7, Instant(7))
    assert joined(old, new) == joined(new, old) == new
    assert settled({"item": old}, {"item": new}, {"item": Instant(2)}) == {"item": new}
    assert settled({"item": old}, {}, {"item": None}) == {}
