"""The seed's own words, as far as the tests hold the rules against them."""

from __future__ import annotations

CONSENT = """{
  "consent_id": "cns_2026_05_04_a01",
  "subject_ceid": "customer:cus_77",
  "tenant_id": "tenant_acme_prod",
  "purpose": "support_personalization",
  "scope": {
    "predicates_allowed": ["prefers_communication_channel", "preferred_language"],
    "data_classifications_allowed": ["INTERNAL"]
  },
  "basis": "user_opt_in",
  "captured_at": "2026-05-04T09:30:00Z",
  "valid_until": "2027-05-04T09:30:00Z",
  "revoked_at": null,
  "evidence_refs": ["channel:app_chat:msg_881", "consent_screen:v3"],
  "auditor_id": null
}"""
PROPOSAL = """{
  "proposal_id": "mwp_2026_05_04_0931_a17",
  "candidate": {
    "entity_ceid": "customer:cus_77",
    "predicate": "prefers_communication_channel",
    "value": "email",
    "evidence_refs": ["tool:crm.lookup:tc_212", "session:sess_42f1"],
    "confidence": 0.93
  },
  "class": "preference",
  "tier_target": "semantic",
  "consent_check": "passed",
  "contradiction_check": {
    "existing": null,
    "verdict": "no_conflict"
  },
  "auto_promote_eligible": true
}"""
