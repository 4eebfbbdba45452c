"""Telling why: what was recorded of a memory, each thing as one step with one line of plain English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.promotion import shapes
from recollect.domain.remembering.records import Record

_SHORT = 120


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a memory, when, and the row that says so."""

    at: int
    order: int
    """Of what happened at the same moment: what comes before what."""
    text: str
    source: str
    event: str = ""
    reason: str | None = None
    rule: str | None = None


def capture_step(capture: Mapping[str, Any]) -> Step:
    """That something was said."""
    said = capture.get("text")
    words = "words that you may not read" if said is None else f"“{_short(str(said))}”"
    speaker, channel = capture.get("speaker", "somebody"), capture.get("channel", "a channel")
    session = f" in session {capture['session']}" if capture.get("session") else ""
    text = f"{speaker} said {words}{session} (by {channel})"
    return Step(at=_moment(capture.get("at")), order=0, text=text, source=f"capture:{capture['id']}", event="captured")


def proposal_step(told: Mapping[str, Any]) -> Step:
    """That it was proposed, and what was decided about it."""
    by = f" by {told['decided_by']}" if told.get("decided_by") else ""
    text = f"proposed; the policy said {told['verdict']} by rule {told['rule'] or '(none)'}; {told['status']}{by}"
    return Step(
        at=int(told["at"]),
        order=1,
        text=text,
        source=f"proposal:{told['proposal']['proposal_id']}",
        event="proposed",
        reason=told.get("reason") or None,
        rule=told.get("rule") or None,
    )


def consent_step(told: Mapping[str, Any]) -> Step:
    """That its subject agreed."""
    text = f"{told['subject_ceid']} agreed to {told['purpose']} ({told['basis']})"
    return Step(
        at=_moment(told["captured_at"]), order=0, text=text, source=f"consent:{told['consent_id']}", event="consented"
    )


def record_steps(record: Record) -> list[Step]:
    """That it was promoted, and perhaps that another stands in its place."""
    by = f"approved by {', '.join(record.approved_by)}" if record.approved_by else f"let in by rule {record.rule}"
    steps = [
        Step(
            at=record.promoted_at,
            order=2,
            text=f"remembered in {record.space.value} as {record.kind.value}, {by}",
            source=f"record:{record.id}",
            event="promoted",
            rule=record.rule,
        )
    ]
    if record.ended_at is not None:
        heir = f" by {record.superseded_by}" if record.superseded_by else ""
        text = f"{record.ended_reason}{heir}"
        steps.append(
            Step(
                at=record.ended_at,
                order=4,
                text=text,
                source=f"record:{record.id}",
                event="ended",
                reason=record.ended_reason,
            )
        )
    return steps


def event_step(record_id: str, event: Mapping[str, Any], trace: Mapping[str, Any], place: int) -> Step | None:
    """What an event of a trace says of a record; None when it says nothing of it."""
    said = _said(record_id, event)
    if said is None:
        return None
    reason = event.get("reason")
    return Step(
        at=int(trace["at"]),
        order=10 + place,
        text=said,
        source=f"trace:{trace['id']}#{place}",
        event=str(event["type"]),
        reason=None if reason is None else str(reason),
        rule=event.get("rule") or event.get("reason"),
    )


def _said(record_id: str, event: Mapping[str, Any]) -> str | None:
    match event["type"]:
        case "memory_recall":
            for place, each in enumerate(event["recalled"], 1):
                if each["id"] == record_id:
                    why = ", ".join(each["meta"].get("recall_reason", ()))
                    return f"recalled in place {place} for “{_short(event['query'])}” ({why})"
        case "memory_write":
            for each in event["written"]:
                if each["id"] == record_id:
                    tags = "; ".join(("", *each["meta"].get("policy_tags", ())))
                    why = ", ".join(each["meta"].get("importance_reason", ()))
                    return f"written with importance {each['importance']} ({why}){tags}"
        case "memory_denied" if event["attempted"]["id"] == record_id:
            return f"refused: {event['reason']}"
        case "memory_conflict" if record_id in (event["winner_id"], event["loser_id"]):
            won = event["winner_id"] == record_id
            other = event["loser_id"] if won else event["winner_id"]
            return f"{'won' if won else 'lost'} against {other} by {event['rule']}"
        case "memory_promoted" if record_id in (event["from_id"], event["to_id"]):
            return f"went from {event['from_space']} to {event['to_space']} ({event['reason']})"
        case "memory_promotion_denied" if event["memory_id"] == record_id:
            return f"kept back from {event['to_space']}: {event['reason']}"
        case "memory_border_check" if event.get("subject_id") == record_id:
            open_or_not = "open" if event["allowed"] else "closed"
            return f"the border to {event.get('to_space', event['from_space'])} was {open_or_not}: {event['reason']}"
        case "memory_forget" if event["memory_id"] == record_id:
            return f"forgotten: {event['reason']}"
        case "memory_deleted" if event["memory_id"] == record_id:
            heir = f" by {event['replaced_by']}" if event.get("replaced_by") else ""
            return f"gone: {event['reason']}{heir}"
    return None


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORT else f"{flat[:_SHORT]}…"


def _moment(given: object) -> int:
    if isinstance(given, str):
        return int(shapes.moment(given, "at"))
    return int(given) if isinstance(given, int) else 0
