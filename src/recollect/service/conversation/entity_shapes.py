"""Entity shapes: entities, what is known of them and what changed, as callers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.entities.refs import parsed
from recollect.domain.entities.registry import Change, Entity, Registry, Standing
from recollect.domain.promotion import shapes
from recollect.domain.remembering.records import Record
from recollect.service.conversation.registers import Suggested


def shown_entity(group: Sequence[Entity]) -> dict[str, Any]:
    """An entity and its other names, as callers see it."""
    whole, *others = dict.fromkeys(group)
    firsts = [each.first_mention for each in group if each.first_mention is not None]
    lasts = [each.last_mention for each in group if each.last_mention is not None]
    return {
        "ref": whole.ref,
        "type": parsed(whole.ref).type.value,
        "label": whole.label,
        "aliases": list(dict.fromkeys(each.label for each in others if each.label != whole.label)),
        "merged": [{"ref": each.ref, "label": each.label, "mention_count": each.mention_count} for each in others],
        "mentions": {
            "count": sum(each.mention_count for each in (whole, *others)),
            "first": shapes.written(min(firsts, default=None)),
            "last": shapes.written(max(lasts, default=None)),
        },
        "created_at": shapes.written(whole.created_at),
        "updated_at": shapes.written(whole.updated_at),
    }


def shown_fact(record: Record) -> dict[str, Any]:
    """A memory as an entity tells it."""
    return {
        "id": record.id,
        "text": record.text,
        "weight": record.weight,
        "pinned": record.pinned,
        "mention_count": record.mention_count,
        "persona": record.persona,
        "at": shapes.written(record.promoted_at),
    }


def shown_change(change: Change) -> dict[str, Any]:
    """A change as callers see it, step by step."""

    def standing(each: Standing | None) -> Mapping[str, Any] | None:
        return None if each is None else {"label": each.label, "merged_into": each.merged_into}

    return {
        "id": change.id,
        "kind": change.kind.value,
        "at": shapes.written(change.at),
        "by": change.by,
        "steps": [
            {"ref": each.ref, "before": standing(each.before), "after": standing(each.after)} for each in change.steps
        ],
        "undoes": change.undoes,
        "undone_by": change.undone_by,
    }


def shown_suggestion(held: Suggested, registry: Registry) -> dict[str, Any]:
    """A suggestion as callers see it, with what both are called now."""

    def named(ref: str) -> dict[str, Any]:
        found = registry.get(registry.canonical(ref)) or registry.get(ref)
        return {"ref": ref, "label": None if found is None else found.label}

    return {
        "id": held.id,
        "entity": named(held.ref),
        "into": named(held.into),
        "score": held.score,
        "reasons": [each.value for each in held.reasons],
        "status": held.status,
        "at": shapes.written(held.at),
        "decided_at": shapes.written(held.decided_at),
        "decided_by": held.decided_by,
        "change_id": held.change,
    }
