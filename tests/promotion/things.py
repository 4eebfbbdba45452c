"""The seed's examples as values, and shorthand for variations of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.promotion import seed

from recollect.domain.governance.terms import WriteClass
from recollect.domain.instants import Instant, parse_rfc3339
from recollect.domain.promotion.claims import Candidate
from recollect.domain.promotion.codes import Risk
from recollect.domain.promotion.consents import Consent, Ledger, consent_of, ledger_of
from recollect.domain.promotion.contradictions import Known
from recollect.domain.promotion.gate import Submission, Surroundings, WritePolicy
from recollect.domain.promotion.proposals import Proposal, proposal_of
from recollect.domain.promotion.risk import AutoRule
from recollect.domain.promotion.standing import Classification, Standing, Trust

CONSENT: Consent = consent_of(json.loads(seed.CONSENT))
PROPOSAL: Proposal = proposal_of(json.loads(seed.PROPOSAL))
CANDIDATE: Candidate = PROPOSAL.candidate
TENANT = CONSENT.tenant_id
SUBJECT = CONSENT.subject_ceid
DAY = 86_400 * 1_000_000


def moment(text: str) -> Instant:
    found = parse_rfc3339(text)
    assert found is not None
    return found


AT = moment("2026-05-04T09:31:00Z")
LEDGER: Ledger = ledger_of(TENANT, [CONSENT])
STANDING = Standing(Trust.ASSERTED, Classification.INTERNAL)
SUBMISSION = Submission(TENANT, CANDIDATE, WriteClass.PREFERENCE, STANDING, AT)
AROUND = Surroundings(LEDGER)
POLICY = WritePolicy(auto_rules=(AutoRule(WriteClass.PREFERENCE, most_risk=Risk.MEDIUM),), refuse_untrusted=True)
PLAIN = replace(CANDIDATE, predicate="favourite_tea", value="oolong")
"""A candidate that is about nobody's data."""


def known(value: Any = "phone", **changes: Any) -> Known:
    entity, predicate = CANDIDATE.key
    made = Known("rec_1", entity, predicate, value, WriteClass.PREFERENCE, Trust.ASSERTED, Instant(AT - DAY))
    return replace(made, **changes)
