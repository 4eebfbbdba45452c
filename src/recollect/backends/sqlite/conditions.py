"""Filters as SQL: names and values are always bound, never text of the statement."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.domain.filters import RANGES, Condition, Filter, Operator

_SIGN = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


def filter_sql(asked: Filter) -> tuple[str, list[object]]:
    """A condition on `policy_attributes` that means what the filter means, and what to bind to it."""
    clauses: list[str] = []
    bindings: list[object] = []
    for condition in asked.conditions:
        clause, bound = _clause(condition)
        clauses.append(clause)
        bindings += bound
    return "".join(f" AND {clause}" for clause in clauses), bindings


def _clause(condition: Condition) -> tuple[str, list[object]]:
    path = f'$."{condition.name}"'
    if condition.operator is Operator.EXISTS:
        wanted = "NOT IN" if condition.operands[0] else "IN"
        return f"coalesce(json_type(policy_attributes, ?), 'null') {wanted} ('null')", [path]
    plain = not any(type(each) in (int, float) for each in condition.operands)
    if plain and condition.operator in _LITERAL and len(condition.operands) <= _FEW:
        return _literal(condition, path)
    test, bound = _element_test(condition)
    scalar = test.format(type="json_type(policy_attributes, ?)", value="policy_attributes ->> ?")
    scalar_bound = [part for each in bound for part in (path if each is _SUBJECT else each,)]
    element = test.format(type="type", value="atom")
    element_bound = [each for each in bound if each is not _SUBJECT]
    some = f"EXISTS (SELECT 1 FROM json_each(policy_attributes, ?) WHERE {element})"
    if condition.operator is Operator.NE:
        present = "coalesce(json_type(policy_attributes, ?), 'null') <> 'null'"
        return f"({present} AND NOT {some})", [path, path, *element_bound]
    is_list = "json_type(policy_attributes, ?) = 'array'"
    return f"(({scalar}) OR ({is_list} AND {some}))", [*scalar_bound, path, path, *element_bound]


_LITERAL = (Operator.EQ, Operator.IN)


def _literal(condition: Condition, path: str) -> tuple[str, list[object]]:
    """Equality of text and truth, without parsing: attributes are stored as the one encoding of a flat object.

    There `"name":"text"`, quotes included, can stand nowhere but at that attribute: within a text, every
    quote is escaped. Only a list has to be looked into.
    """
    name = msgspec.json.encode(condition.name).decode()
    literals = [msgspec.json.encode(operand).decode() for operand in condition.operands]
    scalar = " OR ".join(["instr(policy_attributes, ?)"] * len(literals))
    test, bound = _element_test(condition)
    element = test.format(type="type", value="atom")
    some = f"instr(policy_attributes, ?) AND EXISTS (SELECT 1 FROM json_each(policy_attributes, ?) WHERE {element})"
    whole = [f"{name}:{literal}" for literal in literals]
    return f"({scalar} OR ({some}))", [*whole, f"{name}:[", path, *(each for each in bound if each is not _SUBJECT)]


_SUBJECT = object()
"""Where the path of the attribute is bound, in the order of appearance."""


def _element_test(condition: Condition) -> tuple[str, list[object]]:
    """A test of one element, in terms of {type} and {value}, with what to bind in order."""
    if condition.operator in RANGES:
        sign = _SIGN[condition.operator]
        if condition.instant is not None:
            return f"{{type}} = 'text' AND rfc3339({{value}}) {sign} ?", [_SUBJECT, _SUBJECT, condition.instant]
        return f"{{type}} IN ('integer', 'real') AND {{value}} {sign} ?", [_SUBJECT, _SUBJECT, condition.operands[0]]
    texts = [operand for operand in condition.operands if isinstance(operand, str)]
    truths = [str(operand).lower() for operand in condition.operands if isinstance(operand, bool)]
    numbers = [operand for operand in condition.operands if type(operand) in (int, float)]
    tests: list[str] = []
    bound: list[object] = []
    if texts:
        tests.append(f"({{type}} = 'text' AND {{value}} IN {_one_of(texts)})")
        bound += [_SUBJECT, _SUBJECT, *_bound(texts)]
    if numbers:
        tests.append(f"({{type}} IN ('integer', 'real') AND {{value}} IN {_one_of(numbers)})")
        bound += [_SUBJECT, _SUBJECT, *_bound(numbers)]
    if truths:
        tests.append(f"{{type}} IN {_one_of(truths)}")
        bound += [_SUBJECT, *_bound(truths)]
    return " OR ".join(tests), bound


_FEW = 16
"""Up to so many choices are bound one by one; more are bound together, since statements have a limit."""


def _one_of(choices: Sequence[object]) -> str:
    return f"({', '.join('?' * len(choices))})" if len(choices) <= _FEW else "(SELECT value FROM json_each(?))"


def _bound(choices: Sequence[object]) -> Sequence[object]:
    return choices if len(choices) <= _FEW else [msgspec.json.encode(choices).decode()]
