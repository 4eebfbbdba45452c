"""The seed's JSON examples are read and written exactly, and the gate gives the proposal of the example."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from tests.promotion import seed
from tests.promotion.things import AROUND, CONSENT, POLICY, PROPOSAL, SUBMISSION

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.promotion import consents, proposals
from recollect.domain.promotion.gate import Queued, passed


def test_the_consent_is_read_and_written_exactly() -> None:
    assert json.dumps(consents.as_json(CONSENT)) == json.dumps(json.loads(seed.CONSENT))


def test_the_proposal_is_read_and_written_exactly() -> None:
    assert json.dumps(proposals.as_json(PROPOSAL)) == json.dumps(json.loads(seed.PROPOSAL))


def test_the_gate_gives_the_proposal_of_the_example() -> None:
    queued = passed(SUBMISSION, AROUND, POLICY, "mwp_2026_05_04_0931_a17")
    assert isinstance(queued, Queued)
    assert proposals.as_json(queued.proposal) == json.loads(seed.PROPOSAL)
    assert queued.consent.consent_id == "cns_2026_05_04_a01"


def test_the_names_are_those_of_the_seed() -> None:
    assert list(WriteClass) == ["evidence_link", "preference", "decision_outcome", "correction"]
    assert list(Tier) == ["working", "episodic", "semantic", "durable"]


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every member of an object is."""
    found = []
    for name, below in value.items():
        found.append((*at, name))
        if isinstance(below, dict):
            found += paths(below, (*at, name))
    return found


def changed(value: Any, path: tuple[Any, ...], to: object) -> Any:
    made = copy.deepcopy(value)
    place = made
    for name in path[:-1]:
        place = place[name]
    if to is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return made


READERS = [
    pytest.param(consents.consent_of, json.loads(seed.CONSENT), id="consent"),
    pytest.param(proposals.proposal_of, json.loads(seed.PROPOSAL), id="proposal"),
]


@pytest.mark.parametrize(("read", "example"), READERS)
def test_every_field_is_needed_and_of_its_type(read: Any, example: Any) -> None:
    for path in paths(example):
        if path != ("candidate", "value"):
            with pytest.raises(InvalidValue):
                read(changed(example, path, object()))
        with pytest.raises(InvalidValue):
            read(changed(example, path, KeyError))


@pytest.mark.parametrize(("read", "example"), READERS)
def test_no_other_field_is_taken(read: Any, example: Any) -> None:
    with pytest.raises(InvalidValue):
        read({**example, "extra": 1})
    for name in ("scope", "candidate", "contradiction_check"):
        if name in example:
            with pytest.raises(InvalidValue):
                read({**example, name: {**example[name], "extra": 1}})
    with pytest.raises(InvalidValue):
        read([example])


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (("consent_id",), " "),
        (("subject_ceid",), "customer"),
        (("subject_ceid",), ":x"),
        (("scope", "predicates_allowed"), []),
        (("scope", "predicates_allowed"), ["a", "a"]),
        (("scope", "data_classifications_allowed"), ["SECRET"]),
        (("basis",), "because"),
        (("captured_at",), "2026-05-04"),
        (("captured_at",), "2027-05-04T09:30:00Z"),
        (("revoked_at",), "2026-05-04T09:29:59Z"),
        (("evidence_refs",), []),
    ],
)
def test_a_consent_that_says_nothing_sound_is_refused(path: tuple[str, ...], bad: object) -> None:
    with pytest.raises(InvalidValue):
        consents.consent_of(changed(json.loads(seed.CONSENT), path, bad))


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (("consent_check",), "missing"),
        (("consent_check",), "revoked"),
        (("candidate", "confidence"), 1.01),
        (("candidate", "confidence"), True),
        (("candidate", "value"), float("nan")),
        (("candidate", "value"), "x" * 70_000),
        (("tier_target",), "durable"),
        (("class",), "fact"),
        (("contradiction_check", "verdict"), "contradicts"),
        (("contradiction_check",), {"existing": "rec_1", "verdict": "contradicts"}),
    ],
)
def test_a_proposal_that_cannot_be_is_refused(path: tuple[str, ...], bad: object) -> None:
    with pytest.raises(InvalidValue):
        proposals.proposal_of(changed(json.loads(seed.PROPOSAL), path, bad))


def test_small_letters_are_read_and_capitals_written() -> None:
    small = changed(json.loads(seed.CONSENT), ("scope", "data_classifications_allowed"), ["internal"])
    assert consents.consent_of(small) == CONSENT


def test_no_message_and_no_print_shows_a_value() -> None:
    for path in paths(json.loads(seed.PROPOSAL)):
        with pytest.raises(InvalidValue) as told:
            proposals.proposal_of(changed(json.loads(seed.PROPOSAL), path, {"q7x9-value": {1}}))
        assert "q7x9" not in str(told.value) + repr(told.value.details)
    hidden = proposals.proposal_of(changed(json.loads(seed.PROPOSAL), ("candidate", "value"), "q7x9-value"))
    assert "q7x9" not in repr(hidden)
