"""What a search may show, as SQL."""

from __future__ import annotations

import msgspec

from recollect.backends.postgres.conditions import filter_sql
from recollect.backends.postgres.places import Bound, within_sql
from recollect.domain.attributes import stored_attributes
from recollect.domain.filters import Condition, Filter, Operator
from recollect.domain.instants import parse_rfc3339
from recollect.domain.queries import Archived
from recollect.ports.vectors import Scope

_SHOWN = {Archived.EXCLUDE: " AND NOT archived", Archived.ONLY: " AND archived", Archived.INCLUDE: ""}
_SIGN = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


def words_sql(line: int, scope: Scope, bound: Bound) -> str:
    """The condition on `memory_words` that a version is in a scope of a line."""
    return f"removed_at IS NULL AND {vectors_sql(line, scope, bound)}"


def vectors_sql(line: int, scope: Scope, bound: Bound) -> str:
    """The condition on `memory_vectors` that the version of a vector is in a scope of a line."""
    condition = f"line = {bound.add(line)} AND {within_sql(scope.within, bound)}{_SHOWN[scope.archived]}"
    condition += f" AND (expires_at IS NULL OR expires_at > {bound.add(scope.now)})"
    plain = Filter(tuple(each for each in scope.filter.conditions if each.instant is None))
    condition += filter_sql(plain, bound)
    return condition + "".join(_moment_sql(each, bound) for each in scope.filter.conditions if each.instant is not None)


def _moment_sql(condition: Condition, bound: Bound) -> str:
    """Whether some moment of an attribute lies on that side of another; their numbers were noted when it was written."""
    moments = f"jsonb_array_elements_text(moments -> {bound.add(condition.name)}::text) AS moment (at)"
    lies = f"at::bigint {_SIGN[condition.operator]} {bound.add(condition.instant)}"
    return f" AND EXISTS (SELECT 1 FROM {moments} WHERE {lies})"


def moments_in(policy_attributes: str) -> str | None:
    """The moments that attributes name, by their names and as numbers; None when there are none, as mostly."""
    if "-" not in policy_attributes:  # every moment has one
        return None
    found: dict[str, list[int]] = {}
    for name, value in stored_attributes(policy_attributes).items():
        for each in value if isinstance(value, list | tuple) else (value,):
            moment = parse_rfc3339(each) if isinstance(each, str) else None
            if moment is not None:
                found.setdefault(name, []).append(moment)
    return msgspec.json.encode(found).decode() if found else None
