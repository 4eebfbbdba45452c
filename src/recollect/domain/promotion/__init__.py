"""Promotion: how a candidate becomes a memory, as rules over frozen values.

Consent, contradictions, corrections, trust, risk, classification, tiers, proposals, rejections and approvals. The rules
know no clock and no store: what is on record and what time it is are arguments, and what to do is the answer.
"""
