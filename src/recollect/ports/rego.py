"""What Rego is told and how its answers are read; the same for every engine that evaluates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.callers import Caller
from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Decision, Narrowed, Review, Verdict

NOW = "now_ns"
"""Where in the context a policy finds the time; the built-ins that tell it are refused, so that it is an input."""
MOST_REASON = 200
DENIED = Decision(False, "access denied")
ALLOWED = Decision(True)
Answer = Sequence[Any]
"""What a rule says: a list with its value, or an empty one when it says nothing."""


def context_of(caller: Caller) -> dict[str, Any]:
    """What a policy may know of a caller. Roles and scopes are those that the service itself goes by."""
    roles = sorted(caller.roles)
    return {
        "user_id": caller.user_id,
        "client_id": caller.client_id,
        "tenant": caller.tenant,
        "roles": roles,
        "scopes": sorted(caller.scopes),
        "jwt_claims": {"sub": caller.user_id, "roles": roles, **caller.claims},
    }


def decision_of(answer: Answer) -> Decision:
    """A decision: true or false, or an object that says so and why."""
    if not answer:
        return DENIED
    said = answer[0]
    if isinstance(said, bool):
        return ALLOWED if said else DENIED
    if isinstance(said, dict) and isinstance(said.get("allow"), bool) and isinstance(said.get("reason", ""), str):
        return ALLOWED if said["allow"] else Decision(False, shown_reason(said.get("reason", "")) or DENIED.reason)
    raise PolicyTrouble("memories.authz gave neither true nor false, nor a decision with `allow` and `reason`")


def attributes_of(answer: Answer) -> Mapping[str, Any]:
    """Extracted attributes; none when nothing is said."""
    said = answer[0] if answer else {}
    if not isinstance(said, dict):
        raise PolicyTrouble("memories.attributes.attributes is not an object")
    return said


def narrowed_of(answers: Sequence[Answer]) -> Narrowed:
    """A narrowed scope: the prefix, and the filter unless the package has none."""
    prefix = answers[0][0] if answers[0] else None
    if not isinstance(prefix, list) or not all(isinstance(segment, str) and segment for segment in prefix):
        raise PolicyTrouble("memories.filter.namespace_prefix is not a list of segments")
    if len(answers) == 1:
        return Narrowed(tuple(prefix))
    if not answers[1] or not isinstance(answers[1][0], dict):
        raise PolicyTrouble("memories.filter.attribute_filter is not an object")
    return Narrowed(tuple(prefix), answers[1][0])


def review_of(answer: Answer) -> Review:
    """What is to become of a proposal; without a clear answer, a person decides."""
    said = answer[0] if answer else None
    if isinstance(said, dict) and said.get("decision") in tuple(Verdict):
        reason, rule = said.get("reason", ""), said.get("rule", "")
        if isinstance(reason, str) and isinstance(rule, str):
            return Review(Verdict(said["decision"]), shown_reason(reason), shown_reason(rule))
    return Review(Verdict.REVIEW, "memories.review gave no clear answer", "none")


def shown_reason(text: str) -> str:
    """A reason as it may be shown: short, and printable."""
    return "".join(filter(str.isprintable, text))[:MOST_REASON]
