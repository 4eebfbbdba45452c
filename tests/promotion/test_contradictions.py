"""What a candidate is beside what is known, row by row, and that nothing is overwritten silently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.promotion.things import AT, CANDIDATE, DAY, TENANT, known

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import contradictions
from recollect.domain.promotion.claims import normalised
from recollect.domain.promotion.codes import ContradictionVerdict, Preference
from recollect.domain.promotion.contradictions import (
    NO_CONFLICT,
    ContradictionCheck,
    ContradictionRules,
    Known,
    Said,
    checked,
    event_of,
    outranks,
)
from recollect.domain.promotion.standing import Trust

V = ContradictionVerdict
FIX = WriteClass.CORRECTION
MANY = ContradictionRules(many_valued=frozenset({CANDIDATE.predicate}))
SAID = Said(CANDIDATE, WriteClass.PREFERENCE, Trust.ASSERTED, AT)
CORRECTION = replace(SAID, write_class=FIX)
NEWER = ContradictionRules(settled={CANDIDATE.predicate: Preference.NEWER})
TRUSTED = ContradictionRules(settled={CANDIDATE.predicate: Preference.MORE_TRUSTED})
NONE = ContradictionRules()
LATER = Instant(AT + DAY)


@pytest.mark.parametrize(
    ("said", "there", "rules", "verdict"),
    [
        # nothing on the key
        (SAID, known(entity_ceid="customer:cus_7"), NONE, V.NO_CONFLICT),
        (SAID, known(predicate="preferred_language"), NONE, V.NO_CONFLICT),
        # the same
        (SAID, known("email"), NONE, V.SAME_VALUE),
        (SAID, known(" E-mail".replace("-", "")), NONE, V.SAME_VALUE),
        (CORRECTION, known("EMAIL"), NONE, V.SAME_VALUE),
        # something else, and no rule
        (SAID, known(), NONE, V.CONTRADICTS),
        (replace(SAID, trust=Trust.IMPOSED), known(trust=Trust.UNTRUSTED), NONE, V.CONTRADICTS),
        # a rule of the tenant
        (SAID, known(), NEWER, V.RESOLVED_FOR_CANDIDATE),
        (SAID, known(asserted_at=LATER), NEWER, V.RESOLVED_FOR_EXISTING),
        (SAID, known(asserted_at=AT), NEWER, V.CONTRADICTS),
        (SAID, known(trust=Trust.INFERRED), TRUSTED, V.RESOLVED_FOR_CANDIDATE),
        (SAID, known(trust=Trust.VERIFIED), TRUSTED, V.RESOLVED_FOR_EXISTING),
        (SAID, known(), TRUSTED, V.CONTRADICTS),
        (replace(SAID, trust=Trust.UNTRUSTED), known(), NEWER, V.CONTRADICTS),
        (SAID, known(), ContradictionRules(settled={"another": Preference.NEWER}), V.CONTRADICTS),
        # corrections
        (CORRECTION, known(), NONE, V.CORRECTS),
        (CORRECTION, known(trust=Trust.IMPOSED), NONE, V.CORRECTS),
        (CORRECTION, known(asserted_at=LATER), NONE, V.CORRECTS),
        (replace(CORRECTION, trust=Trust.IMPOSED), known(trust=Trust.IMPOSED), NONE, V.CORRECTS),
        (replace(CORRECTION, trust=Trust.INFERRED), known(), NONE, V.CONTRADICTS),
        (replace(CORRECTION, trust=Trust.UNTRUSTED), known(trust=Trust.UNTRUSTED), NEWER, V.CONTRADICTS),
        # corrections of corrections
        (CORRECTION, known(write_class=FIX), NONE, V.CORRECTS),
        (CORRECTION, known(write_class=FIX, asserted_at=AT), NONE, V.CONTRADICTS),
        (CORRECTION, known(write_class=FIX, asserted_at=LATER), NONE, V.CONTRADICTS),
        (CORRECTION, known(write_class=FIX, trust=Trust.IMPOSED), NONE, V.CONTRADICTS),
        (replace(CORRECTION, trust=Trust.IMPOSED), known(write_class=FIX), NONE, V.CORRECTS),
        # what was corrected is not undone by what is merely said, whatever the rule
        (SAID, known(write_class=FIX), NONE, V.CONTRADICTS),
        (SAID, known(write_class=FIX), NEWER, V.CONTRADICTS),
        (replace(SAID, trust=Trust.IMPOSED), known(write_class=FIX), TRUSTED, V.CONTRADICTS),
        # many values
        (SAID, known(), MANY, V.NO_CONFLICT),
        (SAID, known("email"), MANY, V.SAME_VALUE),
        # many values, of which a certain one is put right
        (CORRECTION, known(), MANY, V.NO_CONFLICT),
        (replace(CORRECTION, corrects="rec_1"), known(), MANY, V.CORRECTS),
        (replace(CORRECTION, corrects="rec_2"), known(), MANY, V.NO_CONFLICT),
        (replace(CORRECTION, corrects="rec_1", trust=Trust.INFERRED), known(), MANY, V.CONTRADICTS),
    ],
)
def test_the_verdict(said: Said, there: Known, rules: ContradictionRules, verdict: V) -> None:
    found = checked(said, [there], rules)
    assert found.verdict is verdict
    assert found.existing == (None if verdict is V.NO_CONFLICT else "rec_1")


def test_without_records_there_is_no_conflict() -> None:
    assert checked(SAID, []) == NO_CONFLICT


def test_of_several_records_the_gravest_verdict_counts() -> None:
    same, corrected, plain = known("email"), known(record_id="rec_2", write_class=FIX), known(record_id="rec_3")
    assert checked(SAID, [same, plain]) == ContradictionCheck("rec_3", V.CONTRADICTS)
    assert checked(CORRECTION, [same, plain]) == ContradictionCheck("rec_3", V.CORRECTS)
    assert checked(SAID, [plain, corrected], NEWER) == ContradictionCheck("rec_2", V.CONTRADICTS)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Email", "  email ", True),
        ("Straße", "STRASSE", True),
        ("ｅｍａｉｌ", "email", True),
        ("e mail", "email", False),
        (1, 1, True),
        (1, True, False),
        (1, "1", False),
        (1, 1.0, False),
        (None, "null", False),
        ({"a": 1, "b": "X"}, {"b": "x", "a": 1}, True),
        (["a", "b"], ["b", "a"], False),
        ({"a": ["X"]}, {"a": ["x"]}, True),
    ],
)
def test_when_two_values_are_the_same(one: Any, other: Any, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same


def test_an_event_tells_of_what_differs_and_shows_no_value() -> None:
    told: dict[str, Any] = {"event_id": "ev_1", "tenant_id": TENANT, "proposal_id": "mwp_1", "at": AT}
    for verdict in V:
        check = NO_CONFLICT if verdict is V.NO_CONFLICT else ContradictionCheck("rec_1", verdict)
        event = event_of(check, CANDIDATE, **told)
        assert (event is None) is (verdict in (V.NO_CONFLICT, V.SAME_VALUE))
        if event is not None:
            assert event.as_json() == {
                "type": "memory.contradiction",
                "event_id": "ev_1",
                "tenant_id": TENANT,
                "proposal_id": "mwp_1",
                "existing": "rec_1",
                "entity_ceid": "customer:cus_77",
                "predicate": "prefers_communication_channel",
                "verdict": verdict.value,
                "at": "2026-05-04T09:31:00Z",
            }


def test_a_verdict_on_a_record_names_it() -> None:
    with pytest.raises(InvalidValue):
        ContradictionCheck(None, V.CONTRADICTS)


# -- invariants

sayings = st.builds(
    Said,
    st.sampled_from(["email", "Email ", "phone"]).map(lambda value: replace(CANDIDATE, value=value)),
    st.sampled_from(WriteClass),
    st.sampled_from(Trust),
    st.integers(0, 3).map(Instant),
)
records = st.builds(
    lambda value, write_class, trust, at: known(value, write_class=write_class, trust=trust, asserted_at=at),
    st.sampled_from(["email", "phone", "post"]),
    st.sampled_from(WriteClass),
    st.sampled_from(Trust),
    st.integers(0, 3).map(Instant),
)


def overwrites_nothing_silently(said: Said, there: Known) -> None:
    """Without a rule, only a correction of sufficient trust takes the place of another value."""
    verdict = checked(said, [there]).verdict
    if normalised(said.candidate.value) == normalised(there.value):
        assert verdict is V.SAME_VALUE
    elif verdict is V.CORRECTS:
        assert said.write_class is FIX
        assert said.trust >= Trust.ASSERTED
    else:
        assert verdict is V.CONTRADICTS


@given(sayings, records)
def test_nothing_is_overwritten_silently(said: Said, there: Known) -> None:
    overwrites_nothing_silently(said, there)


@given(sayings, records)
def test_of_two_corrections_at_most_one_outranks_the_other(said: Said, there: Known) -> None:
    turned = Said(replace(CANDIDATE, value=there.value), there.write_class, there.trust, there.asserted_at)
    back = known(said.candidate.value, write_class=said.write_class, trust=said.trust, asserted_at=said.asserted_at)
    if said.write_class is FIX and there.write_class is FIX:
        assert not (outranks(said, there) and outranks(turned, back))


def test_a_verdict_that_lets_anybody_correct_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradictions, "CORRECTS_FROM", Trust.UNTRUSTED)
    with pytest.raises(AssertionError):
        overwrites_nothing_silently(replace(CORRECTION, trust=Trust.INFERRED), known())


def test_a_verdict_that_prefers_the_newer_by_default_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradictions, "_settled", lambda *_: V.RESOLVED_FOR_CANDIDATE)
    with pytest.raises(AssertionError):
        overwrites_nothing_silently(SAID, known())
