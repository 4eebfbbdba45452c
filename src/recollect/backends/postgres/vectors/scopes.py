"""What a search may show, as SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.backends.postgres.conditions import filter_sql
from recollect.backends.postgres.places import Bound, within_sql
from recollect.domain.attributes import stored_attributes
from recollect.domain.filters import RANGES, Condition, Filter, Operator
from recollect.domain.instants import parse_rfc3339
from recollect.domain.queries import Archived
from recollect.ports.vectors import Scope

_ALIKE = 1 << 53
"""Up to this, numbers that are written alike are equal, whether whole or float."""
_LARGE = re.compile(r"[0-9]{16}|[0-9][eE]")
"""What every number beyond it looks like."""
_SHOWN = {Archived.EXCLUDE: " AND NOT archived", Archived.ONLY: " AND archived", Archived.INCLUDE: ""}
_SIGN = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


def words_sql(line: int, scope: Scope, bound: Bound) -> str:
    """The condition on `memory_words` that a version is in a scope of a line."""
    return f"removed_at IS NULL AND {vectors_sql(line, scope, bound)}"


def shown_sql(line: int, scope: Scope, bound: Bound, columns: str, most: int | None) -> str:
    """Two tables for a statement: `shown`, the versions of a scope, and `size`, whether there are more than the most.

    They are found by what the scope asks, before anything else is asked of them.
    """
    limit = "" if most is None else f" LIMIT {most + 1}"
    large = "false" if most is None else f"(SELECT count(*) FROM shown) > {most}"
    shown = f"SELECT {columns} FROM memory_words WHERE {words_sql(line, scope, bound)}{limit}"
    return f"shown AS MATERIALIZED ({shown}), size AS MATERIALIZED (SELECT {large} AS large)"


def unless_large(rows: Sequence[tuple[Any, ...]]) -> list[tuple[bytes, float]] | None:
    """What was found in a scope, unless the row without an id says that it is large."""
    if any(row_id is None and score for row_id, score in rows):
        return None
    return [(bytes(row_id), float(score)) for row_id, score in rows if row_id is not None]


def vectors_sql(line: int, scope: Scope, bound: Bound) -> str:
    """The condition on `memory_vectors` that the version of a vector is in a scope of a line."""
    condition = f"line = {bound.add(line)} AND {within_sql(scope.within, bound)}{_SHOWN[scope.archived]}"
    condition += f" AND (expires_at IS NULL OR expires_at > {bound.add(scope.now)})"
    return condition + "".join(_condition_sql(each, bound) for each in scope.filter.conditions)


def _condition_sql(condition: Condition, bound: Bound) -> str:
    if condition.instant is not None:
        return _moment_sql(condition, bound)
    numbers = [each for each in condition.operands if isinstance(each, int | float)]
    if any(abs(number) > _ALIKE for number in numbers):
        return _exact_sql(condition, bound)
    if condition.operator in RANGES and numbers:
        path = f'$."{condition.name}" ? (@ {_SIGN[condition.operator]} {numbers[0]!r})'
        return f" AND policy_attributes @? {bound.add(path)}::text::jsonpath"
    return filter_sql(Filter((condition,)), bound, text=False)


def _moment_sql(condition: Condition, bound: Bound) -> str:
    """Whether some moment of an attribute lies on that side of another; they were noted as numbers when written."""
    moments = f"jsonb_array_elements_text(moments -> {bound.add(condition.name)}::text) AS moment (at)"
    lies = f"at::bigint {_SIGN[condition.operator]} {bound.add(condition.instant)}"
    return f" AND EXISTS (SELECT 1 FROM {moments} WHERE {lies})"


def _exact_sql(condition: Condition, bound: Bound) -> str:
    """What a very large number is compared with: the attributes as they were written, where that matters."""
    text = "SELECT coalesce(exact_attributes, policy_attributes::text) AS policy_attributes"
    return (
        f" AND EXISTS (SELECT 1 FROM ({text}) AS exact WHERE true{filter_sql(Filter((condition,)), bound, 'exact.')})"
    )


def moments_in(policy_attributes: str) -> str | None:
    """The moments that attributes name, by their names and as numbers; None when there are none, as mostly."""
    if "-" not in policy_attributes:  # every moment has one
        return None
    found: dict[str, list[int]] = {}
    for name, value in stored_attributes(policy_attributes).items():
        moments = [parse_rfc3339(each) for each in _elements(value) if isinstance(each, str)]
        if any(moment is not None for moment in moments):
            found[name] = [moment for moment in moments if moment is not None]
    return msgspec.json.encode(found).decode() if found else None


def exact_text(policy_attributes: str) -> str | None:
    """Attributes as they are, when a number in them is so large that JSONB could make another of it."""
    if not _LARGE.search(policy_attributes):
        return None
    values = stored_attributes(policy_attributes).values()
    numbers = [each for value in values for each in _elements(value) if isinstance(each, int | float)]
    return policy_attributes if any(abs(number) > _ALIKE for number in numbers) else None


def _elements(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else (value,)
