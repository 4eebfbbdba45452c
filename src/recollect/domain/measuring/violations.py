"""Violations: records that tell of a person without a consent that covers them, of which there should be none."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.promotion.categories import categories_in
from recollect.domain.promotion.claims import Sensitivity, texts_in
from recollect.domain.remembering.records import Record
from recollect.domain.scanning import Class, scan

_PII = frozenset({Class.PII})
_USUAL = Sensitivity()


def personal_in(record: Record, sensitivity: Sensitivity = _USUAL) -> tuple[str, ...]:
    """What sorts of personal things a record holds: by the scanner, and where it is of a person, by its words."""
    texts: Sequence[str] = (record.text, *texts_in(record.value))
    kinds = {finding.kind for text in texts for finding in scan(text, _PII)}
    of_a_person = record.entity.partition(":")[0] in sensitivity.people
    if of_a_person and record.predicate not in sensitivity.impersonal:
        kinds |= {category.value for text in texts for category in categories_in(text)}
    return tuple(sorted(kinds))
