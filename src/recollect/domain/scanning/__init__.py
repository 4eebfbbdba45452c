"""Scanning: which parts of a text open doors, and which tell of a person.

One pack of rules for every place that asks. The patterns run on RE2, whose time is linear in the length of the text
whatever is in it. A finding says where and what, never the thing itself.
"""

from recollect.domain.scanning.rules import Class, Confidence, Finding, Rule, Span
from recollect.domain.scanning.scanner import (
    EVERYTHING,
    PERSONAL_KINDS,
    REDACTED,
    RULES,
    SECRET_KINDS,
    redacted,
    scan,
)

__all__ = [
    "EVERYTHING",
    "PERSONAL_KINDS",
    "REDACTED",
    "RULES",
    "SECRET_KINDS",
    "Class",
    "Confidence",
    "Finding",
    "Rule",
    "Span",
    "redacted",
    "scan",
]
