"""Which values a filter of LangGraph lets through, decided on the value itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_ABSENT = object()


def check_filter(wanted: Mapping[str, Any] | None) -> None:
    """Refuse an operator that does not exist, whether or not there is a value to try it on."""
    for condition in (wanted or {}).values():
        if isinstance(condition, Mapping):
            _check_condition(condition)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """True when a value meets every condition of a filter.

    A condition is a value to be equal to, or operators. Names are those of members, dots in them included. Numbers are
    compared with numbers and text with text; anything else is neither less nor greater. A member that is not there
    equals null, and meets no operator but `$eq` with null.
    """
    for name, condition in (wanted or {}).items():
        found = value.get(name, _ABSENT)
        if type(condition) is str:  # which equals nothing but itself
            if found != condition:
                return False
        elif not _meets(found, condition):
            return False
    return True


def same(one: Any, other: Any) -> bool:
    """True when two values are the same JSON: 1 is 1.0, but neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _check_condition(condition: Mapping[str, Any]) -> None:
    if not any(str(name).startswith("$") for name in condition):
        check_filter(condition)
        return
    for operator in condition:
        if operator not in _OPERATORS:
            raise ValueError(f"Unsupported operator: {operator}")


def _meets(found: Any, condition: Any) -> bool:
    if not isinstance(condition, Mapping):
        return same(None if found is _ABSENT else found, condition)
    if any(str(name).startswith("$") for name in condition):
        return all(_OPERATORS[operator](found, given) for operator, given in condition.items())
    return isinstance(found, Mapping) and matches(found, condition)


def _equal(found: Any, given: Any) -> bool:
    return same(None if found is _ABSENT else found, given)


def _unequal(found: Any, given: Any) -> bool:
    return found is not _ABSENT and not same(found, given)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def operator(found: Any, given: Any) -> bool:
        return _comparable(found, given) and holds(found, given)

    return operator


def _comparable(found: Any, given: Any) -> bool:
    if isinstance(found, bool) or isinstance(given, bool):
        return False
    return any(isinstance(found, kind) and isinstance(given, kind) for kind in (int | float, str))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$gt": _compared(lambda found, given: bool(found > given)),
    "$gte": _compared(lambda found, given: bool(found >= given)),
    "$lt": _compared(lambda found, given: bool(found < given)),
    "$lte": _compared(lambda found, given: bool(found <= given)),
}
