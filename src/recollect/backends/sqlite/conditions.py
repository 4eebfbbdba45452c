"""Filters as SQL: names and values are always bound, never text of the statement."""

from __future__ import annotations

from functools import lru_cache

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


@lru_cache(maxsize=4_096)
def _clause(condition: Condition) -> tuple[str, list[object]]:
    path = f'$."{condition.name}"'
    if condition.operator is Operator.EXISTS:
        wanted = "NOT IN" if condition.operands[0] else "IN"
        return f"coalesce(json_type(policy_attributes, ?), 'null') {wanted} ('null')", [path]
    if condition.operator in _LITERAL and not any(type(each) in (int, float) for each in condition.operands):
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
    element = f"atom IN ({', '.join('?' * len(literals))}) AND type = 'text'"
    truths = [str(operand).lower() for operand in condition.operands if isinstance(operand, bool)]
    if truths:
        element = f"({element}) OR type IN ({', '.join('?' * len(truths))})"
    some = f"instr(policy_attributes, ?) AND EXISTS (SELECT 1 FROM json_each(policy_attributes, ?) WHERE {element})"
    texts = [operand if isinstance(operand, str) else None for operand in condition.operands]
    whole = [f"{name}:{literal}" for literal in literals]
    return f"({scalar} OR ({some}))", [*whole, f"{name}:[", path, *texts, *truths]


_SUBJECT = object()
"""Where the path of the attribute is bound, in the order of appearance."""


def _element_test(condition: Condition) -> tuple[str, list[object]]:
    """A test of one element, in terms of {type} and {value}, with what to bind in order."""
    if condition.operator in RANGES:
        sign = _SIGN[condition.operator]
        if condition.instant is not None:
            return f"{{type}} = 'text' AND rfc3339({{value}}) {sign} ?", [_SUBJECT, _SUBJECT, condition.instant]
        return f"{{type}} IN ('integer', 'real') AND {{value}} {sign} ?", [_SUBJECT, _SUBJECT, condition.operands[0]]
    tests: list[str] = []
    bound: list[object] = []
    for operand in condition.operands:
        if isinstance(operand, bool):
            tests.append("{type} = ?")
            bound += [_SUBJECT, "true" if operand else "false"]
        elif isinstance(operand, str):
            tests.append("({type} = 'text' AND {value} = ?)")
            bound += [_SUBJECT, _SUBJECT, operand]
        else:
            tests.append("({type} IN ('integer', 'real') AND {value} = ?)")
            bound += [_SUBJECT, _SUBJECT, operand]
    return " OR ".join(tests), bound
