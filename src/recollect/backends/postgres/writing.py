"""Writing what was decided: the statements for labels, endings, versions and events."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.backends.postgres.connections import Link
from recollect.domain.planning import Plan

_LABEL = """
UPDATE versions SET policy_attributes = $2, pinned_sequence = $3, index_state = $4, index_attempts = 0,
    index_after = NULL WHERE id = $1
"""
_END = """
UPDATE versions SET ended_at = $2, end_reason = $3, ended_sequence = $4, index_state = $5, index_attempts = 0,
    index_after = NULL WHERE id = $1
"""
_INSERT = """
INSERT INTO versions (id, tenant, plane, namespace, key, revision, sequence, created_at, written_at, expires_at,
    ended_at, end_reason, ended_sequence, index_state, policy_attributes, attributes, value, archived,
    index_fields, pinned_sequence)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
"""
_TELL = """
INSERT INTO events (tenant, sequence, kind, plane, namespace, key, row_id, revision, at, expires_at, actor, detail,
    digest, previous, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""


def write_plans(link: Link, tenant: str, plans: Sequence[Plan]) -> None:
    """Write plans that concern different keys: labels, endings, versions, events."""
    link.many(
        _LABEL,
        [
            (label.id, label.policy_attributes, label.sequence, label.index_state.value)
            for plan in plans
            for label in plan.labels
        ],
    )
    link.many(
        _END,
        [
            (ending.id, ending.at, ending.reason.value, ending.sequence, ending.index_state.value)
            for plan in plans
            for ending in plan.endings
        ],
    )
    link.many(
        _INSERT,
        [
            (
                version.id,
                tenant,
                version.address.plane.value,
                version.address.namespace.encoded,
                version.address.key,
                version.revision,
                version.sequence,
                version.created_at,
                version.written_at,
                version.expires_at,
                version.ended_at,
                None if version.end_reason is None else version.end_reason.value,
                version.ended_sequence,
                version.index_state.value,
                version.policy_attributes,
                version.attributes,
                version.value,
                int(version.archived),
                version.index_fields,
                version.pinned_sequence,
            )
            for plan in plans
            for version in plan.versions
        ],
    )
    link.many(
        _TELL,
        [
            (
                event.tenant,
                event.sequence,
                event.kind.value,
                event.address.plane.value,
                event.address.namespace.encoded,
                event.address.key,
                event.row_id,
                event.revision,
                event.at,
                event.expires_at,
                event.actor,
                event.detail,
                event.digest,
                event.previous,
                event.hash,
            )
            for plan in plans
            for event in plan.events
        ],
    )
