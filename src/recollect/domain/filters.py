"""Attribute filters: how they are written, and what they mean on every backend.

A filter is a flat object: attribute name → what it must be. All conditions must hold.

    {"topic": "python"}                             equality
    {"lang": {"in": ["python", "go"]}}              one of
    {"score": {"gte": 0.5, "lt": 1}}                range, on numbers or on RFC 3339 timestamps
    {"tags": {"$ne": "draft"}, "owner": {"$exists": true}}

A missing or null attribute matches nothing but `$exists: false`. Types never convert: `1` is `1.0`,
but not `"1"` and not `true`. On a list, `$eq` and `$in` ask whether any element matches, `$ne` whether
none does, and ranges whether any lies inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from recollect.domain.attributes import checked_scalar, is_name, type_of_scalar
from recollect.domain.errors import InvalidFilter
from recollect.domain.instants import Instant, parse_rfc3339

MAX_CONDITIONS = 32
MAX_CHOICES = 256


class Operator(StrEnum):
    """The closed set of things a condition can ask."""

    EQ = "$eq"
    NE = "$ne"
    IN = "$in"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    EXISTS = "$exists"


_SPELLINGS = {operator.value: operator for operator in Operator} | {
    "in": Operator.IN,
    "gt": Operator.GT,
    "gte": Operator.GTE,
    "lt": Operator.LT,
    "lte": Operator.LTE,
}
RANGES = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.GT: lambda left, right: left > right,
    Operator.GTE: lambda left, right: left >= right,
    Operator.LT: lambda left, right: left < right,
    Operator.LTE: lambda left, right: left <= right,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing asked of one attribute. A range on timestamps keeps its bound as an instant."""

    name: str
    operator: Operator
    operands: tuple[type_of_scalar, ...]
    instant: Instant | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; none at all match everything."""

    conditions: tuple[Condition, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def and_(self, other: Filter) -> Filter:
        """What satisfies both: a policy can only narrow."""
        return Filter(self.conditions + other.conditions)


EVERYTHING = Filter()


def parse_filter(written: object) -> Filter:
    """The filter that this object writes down."""
    if written is None:
        return EVERYTHING
    if not isinstance(written, Mapping):
        raise InvalidFilter(f"a filter is an object, not {type(written).__name__}")
    conditions = tuple(_conditions(written))
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidFilter(f"a filter has at most {MAX_CONDITIONS} conditions, this one {len(conditions)}")
    return Filter(conditions)


def _conditions(written: Mapping[object, object]) -> Iterator[Condition]:
    for name, asked in written.items():
        if not is_name(name) or not isinstance(name, str):
            raise InvalidFilter(f"{name!r} is not an attribute name: letters, digits, '_', '.', '-'")
        if isinstance(asked, Mapping):
            if not asked:
                raise InvalidFilter(f"the condition on {name!r} is empty")
            for spelled, operand in asked.items():
                operator = _SPELLINGS.get(spelled) if isinstance(spelled, str) else None
                if operator is None:
                    raise InvalidFilter(f"{spelled!r} is not an operator; use one of {', '.join(sorted(_SPELLINGS))}")
                yield _condition(name, operator, operand)
        elif isinstance(asked, list):
            yield _condition(name, Operator.IN, asked)
        else:
            yield _condition(name, Operator.EQ, asked)


def _condition(name: str, operator: Operator, operand: object) -> Condition:
    where = f"the {operator.value} condition on {name!r}"
    if operator is Operator.IN:
        if not isinstance(operand, list) or not 0 < len(operand) <= MAX_CHOICES:
            raise InvalidFilter(f"{where} needs a list of 1 to {MAX_CHOICES} values")
        return Condition(name, operator, tuple(checked_scalar(choice, where, InvalidFilter) for choice in operand))
    if operator is Operator.EXISTS:
        if not isinstance(operand, bool):
            raise InvalidFilter(f"{where} needs true or false")
        return Condition(name, operator, (operand,))
    scalar = checked_scalar(operand, where, InvalidFilter)
    if operator in RANGES:
        if isinstance(scalar, bool):
            raise InvalidFilter(f"{where} needs a number or an RFC 3339 timestamp")
        if isinstance(scalar, str):
            instant = parse_rfc3339(scalar)
            if instant is None:
                raise InvalidFilter(f"{where} needs a number or an RFC 3339 timestamp, not {scalar!r}")
            return Condition(name, operator, (scalar,), instant)
    return Condition(name, operator, (scalar,))


def matches(asked: Filter, attributes: Mapping[str, Any]) -> bool:
    """True when the attributes satisfy every condition. This is the meaning that backends must match."""
    return all(_holds(condition, attributes.get(condition.name)) for condition in asked.conditions)


def _holds(condition: Condition, found: Any) -> bool:
    operator = condition.operator
    if operator is Operator.EXISTS:
        return (found is not None) == condition.operands[0]
    if found is None:
        return False
    elements: Sequence[Any] = found if isinstance(found, list) else (found,)
    if operator is Operator.NE:
        return not any(same(element, condition.operands[0]) for element in elements)
    if operator in RANGES:
        return any(_inside(condition, element) for element in elements)
    return any(same(element, choice) for element in elements for choice in condition.operands)


def same(left: object, right: object) -> bool:
    """Equality without conversion: numbers with numbers, text with text, truth with truth."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    return left is not None and left == right


def _inside(condition: Condition, element: Any) -> bool:
    compare = _COMPARE[condition.operator]
    if condition.instant is not None:
        moment = parse_rfc3339(element) if isinstance(element, str) else None
        return moment is not None and compare(moment, condition.instant)
    if isinstance(element, bool) or not isinstance(element, int | float):
        return False
    return compare(element, condition.operands[0])
