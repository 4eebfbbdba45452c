"""Where trust comes from and how it is inherited; where a record goes and how long it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.promotion.things import AT

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.promotion.standing import (
    SOURCE_OF,
    TRUST_OF,
    Channel,
    Classification,
    SourceClass,
    Standing,
    Trust,
    classification_of,
    inherited,
    trust_of,
)
from recollect.domain.promotion.tiers import LIFETIMES, RANGES, Lifetimes, routed

HOUR = 3_600 * 1_000_000
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("channel", "trust"),
    [
        (Channel.CONSOLE, Trust.IMPOSED),
        (Channel.INTERNAL, Trust.IMPOSED),
        (Channel.VERIFIED_TOOL, Trust.VERIFIED),
        (Channel.USER_TURN, Trust.ASSERTED),
        (Channel.AGENT_TURN, Trust.INFERRED),
        (Channel.TOOL_RESULT, Trust.UNTRUSTED),
        (Channel.WEB_CONTENT, Trust.UNTRUSTED),
        (Channel.AGENT_MESSAGE, Trust.UNTRUSTED),
    ],
)
def test_trust_comes_from_the_channel(channel: Channel, trust: Trust) -> None:
    assert trust_of(channel) is trust


def test_every_channel_and_every_source_has_its_place() -> None:
    assert set(SOURCE_OF) == set(Channel)
    assert set(TRUST_OF) == set(SourceClass) == set(SOURCE_OF.values())


standings = st.builds(Standing, st.sampled_from(Trust), st.sampled_from(Classification))


@given(st.lists(standings, min_size=1), st.lists(standings))
def test_what_is_derived_is_no_better_than_any_source(some: list[Standing], more: list[Standing]) -> None:
    derived = inherited(some)
    assert all(derived.trust <= each.trust and derived.classification >= each.classification for each in some)
    assert derived.trust in {each.trust for each in some}
    assert derived.classification in {each.classification for each in some}
    wider = inherited([*some, *more])
    assert wider.trust <= derived.trust
    assert wider.classification >= derived.classification
    assert inherited([derived, *more]) == wider


def test_what_is_derived_from_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue):
        inherited([])


@pytest.mark.parametrize("name", ["INTERNAL", "internal", "Internal"])
def test_classifications_are_read_in_either_spelling(name: str) -> None:
    assert classification_of(name) is Classification.INTERNAL
    with pytest.raises(InvalidValue):
        classification_of(name + "s")


@pytest.mark.parametrize(
    ("write_class", "keyed", "asked", "corrected", "tier"),
    [
        (WriteClass.PREFERENCE, True, None, None, Tier.SEMANTIC),
        (WriteClass.PREFERENCE, False, None, None, Tier.SEMANTIC),
        (WriteClass.DECISION_OUTCOME, True, None, None, Tier.SEMANTIC),
        (WriteClass.EVIDENCE_LINK, True, None, None, Tier.SEMANTIC),
        (WriteClass.EVIDENCE_LINK, False, None, None, Tier.EPISODIC),
        (WriteClass.EVIDENCE_LINK, True, Tier.WORKING, None, Tier.WORKING),
        (WriteClass.DECISION_OUTCOME, True, Tier.DURABLE, None, Tier.DURABLE),
        (WriteClass.CORRECTION, True, None, None, Tier.SEMANTIC),
        (WriteClass.CORRECTION, True, None, Tier.EPISODIC, Tier.EPISODIC),
        (WriteClass.CORRECTION, True, Tier.SEMANTIC, Tier.DURABLE, Tier.DURABLE),
        (WriteClass.PREFERENCE, True, None, Tier.DURABLE, Tier.SEMANTIC),
    ],
)
def test_where_a_record_goes(
    write_class: WriteClass, keyed: bool, asked: Tier | None, corrected: Tier | None, tier: Tier
) -> None:
    assert routed(write_class, keyed=keyed, asked=asked, corrected=corrected) is tier


@pytest.mark.parametrize(
    ("tier", "kept"),
    [(Tier.WORKING, 4 * HOUR), (Tier.EPISODIC, 7 * DAY), (Tier.SEMANTIC, None), (Tier.DURABLE, 730 * DAY)],
)
def test_how_long_a_record_is_kept(tier: Tier, kept: int | None) -> None:
    for write_class in WriteClass:
        assert LIFETIMES.of(tier, write_class) == kept
        assert LIFETIMES.ends(tier, write_class, AT) == (None if kept is None else AT + kept)


def test_a_class_shortens_and_never_lengthens() -> None:
    shorter = Lifetimes(by_class={WriteClass.EVIDENCE_LINK: DAY})
    assert [shorter.of(tier, WriteClass.EVIDENCE_LINK) for tier in Tier] == [4 * HOUR, DAY, DAY, DAY]
    assert [shorter.of(tier, WriteClass.PREFERENCE) for tier in Tier] == [4 * HOUR, 7 * DAY, None, 730 * DAY]


@pytest.mark.parametrize("tier", list(RANGES))
def test_a_time_to_live_stays_in_the_range_of_its_tier(tier: Tier) -> None:
    least, most = RANGES[tier]
    for kept in (least, most):
        assert Lifetimes({**LIFETIMES.by_tier, tier: kept}).by_tier[tier] == kept
    for bad in (least - 1, most + 1, None):
        with pytest.raises(InvalidValue):
            Lifetimes({**LIFETIMES.by_tier, tier: bad})


def test_semantic_records_are_deprecated_and_do_not_expire() -> None:
    with pytest.raises(InvalidValue):
        Lifetimes({**LIFETIMES.by_tier, Tier.SEMANTIC: DAY})
    with pytest.raises(InvalidValue):
        Lifetimes({Tier.SEMANTIC: None})
    with pytest.raises(InvalidValue):
        Lifetimes(by_class={WriteClass.PREFERENCE: 0})
