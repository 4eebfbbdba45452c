"""Filters as SQL: names and values are always bound, never text of the statement.

Numbers are where engines differ: a whole number and a float are compared exactly here, as Python does it, while
PostgreSQL would take a float for the decimal number that it is written as.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec

from recollect.backends.postgres.places import Bound
from recollect.domain.filters import RANGES, Condition, Filter, Operator

_SIGN = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}
_EXACT = 1 << 53
"""Up to this, equal numbers are written as equal decimal numbers, whether whole or float."""
_FEW = 8
"""Up to so many choices are asked for one by one, so that an index can be used."""
_ESCAPE = "\\"
_TIMESTAMP = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"


def filter_sql(asked: Filter, bound: Bound, table: str = "", *, text: bool = True) -> str:
    """A condition on `policy_attributes` that holds for all that the filter matches; when exact, for no others.

    The attributes are kept as text, which is looked through before it is read, or as JSONB.
    """
    column = f"{table}policy_attributes"
    return "".join(f" AND {_clause(condition, bound, column, text=text)}" for condition in asked.conditions)


def is_exact(asked: Filter) -> bool:
    """True when the condition says all; what asks for moments must be looked at again."""
    return all(condition.instant is None for condition in asked.conditions)


def _clause(condition: Condition, bound: Bound, column: str, *, text: bool) -> str:
    if condition.operator in RANGES:
        return _some(condition, bound, column, [_range_test(condition, bound)])
    if condition.operator is Operator.EXISTS:
        wanted = "<>" if condition.operands[0] else "="
        return f"{_kind(condition, bound, column)} {wanted} 'null'"
    some = f"({_mentioned(condition, bound, column) if text else ''}{_equal(condition, bound, column)})"
    if condition.operator is Operator.NE:
        return f"({_kind(condition, bound, column)} <> 'null' AND NOT {some})"
    return f"({column} <> '{{}}' AND {some})"


def _kind(condition: Condition, bound: Bound, column: str) -> str:
    return f"coalesce(json_typeof({column}::json -> {bound.add(condition.name)}::text), 'null')"


def _equal(condition: Condition, bound: Bound, column: str) -> str:
    """Whether the attribute, or some element of it, is one of the operands."""
    large = [operand for operand in condition.operands if isinstance(operand, int | float) and abs(operand) > _EXACT]
    plain = [operand for operand in condition.operands if operand not in large]
    held = [_json({condition.name: each}) for operand in plain for each in (operand, [operand])]
    if len(held) > 2 * _FEW:
        tests = [f"{column}::jsonb @> ANY({bound.add(held)}::text[]::jsonb[])"]
    else:
        tests = [f"{column}::jsonb @> {bound.add(each)}::text::jsonb" for each in held]
    if large:
        tests.append(_some(condition, bound, column, [_number_test(Operator.EQ, each, bound) for each in large]))
    return f"({' OR '.join(tests)})"


def _mentioned(condition: Condition, bound: Bound, column: str) -> str:
    """What must hold for one of these texts to be in there, seen without reading the JSON.

    A text stands in it as it is, unless there is a backslash somewhere, with which anything can be written otherwise.
    """
    texts = [operand for operand in condition.operands if isinstance(operand, str)]
    if len(texts) < len(condition.operands) or len(texts) > _FEW:
        return ""
    sought = [*(f"{bound.add(_json(text))}::text" for text in texts), f"'{_ESCAPE}'"]
    return f"({' OR '.join(f'strpos({column}, {each}) > 0' for each in sought)}) AND "


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _some(condition: Condition, bound: Bound, column: str, tests: list[str]) -> str:
    """Whether a test holds for the attribute, or for some element of it."""
    found = f"({column}::json -> {bound.add(condition.name)}::text)"
    elements = f"CASE json_typeof({found}) WHEN 'array' THEN {found} ELSE json_build_array({found}) END"
    return f"EXISTS (SELECT 1 FROM json_array_elements({elements}) AS element (v) WHERE {' OR '.join(tests)})"


def _range_test(condition: Condition, bound: Bound) -> str:
    if condition.instant is not None:
        return f"(json_typeof(v) = 'string' AND v #>> '{{}}' ~ '{_TIMESTAMP}')"
    operand = condition.operands[0]
    if isinstance(operand, str):
        return "false"  # only moments are compared as text
    return _number_test(condition.operator, operand, bound)


def _number_test(operator: Operator, operand: float, bound: Bound) -> str:
    sign = _SIGN.get(operator, "=")
    whole = f"v::text::numeric {sign} {bound.add(Decimal(operand))}::numeric"
    near = float(operand)
    if near == operand:
        fraction = f"v::text::float8 {sign} {bound.add(near)}::float8"
    elif operator is Operator.EQ:
        fraction = "false"  # no float is this whole number
    else:  # nor is there one between it and the nearest
        beyond = near > operand if sign.startswith(">") else near < operand
        fraction = f"v::text::float8 {sign[0]}{'=' if beyond else ''} {bound.add(near)}::float8"
    number_test = f"CASE WHEN v::text ~ '[.eE]' THEN {fraction} ELSE {whole} END"
    return f"CASE WHEN json_typeof(v) = 'number' THEN {number_test} ELSE false END"
