"""What is asked of points, in words that both drivers know, and how a scope is said in them.

Qdrant compares JSON with conversions of its own, and wants an index for each key that is filtered by. So attributes are
not kept as they are, but as facts: one text for each name, and one for each name and value, in which types and numbers
are spelled as `domain.filters` tells them apart. Equality of facts is then what filters mean, with one index for all.
Ranges are asked of the numbers, and of the times as numbers, that a list keeps beside the names they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from recollect.domain.address import SEPARATOR
from recollect.domain.filters import EVERYTHING, RANGES, Condition, Filter, Operator, matches
from recollect.domain.instants import parse_rfc3339
from recollect.domain.queries import Archived
from recollect.ports.vectors import Line, Scope

NEVER = 1 << 62
"""The expiry of what does not expire."""
EXACT_NUMBERS = 1 << 53
"""Qdrant compares numbers as floats: with a bound below this, that is exact for every integer and float."""
_LONG = 96
"""Longer texts are kept as their hash."""


@dataclass(frozen=True, slots=True)
class Is:
    """One of the values under the key is one of these."""

    key: str
    values: tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A number under the key lies within the bounds."""

    key: str
    gt: float | None = None
    gte: float | None = None
    lt: float | None = None
    lte: float | None = None


@dataclass(frozen=True, slots=True)
class Has:
    """One of the objects in the list under the key satisfies all of these."""

    key: str
    asked: tuple[Is | Between, ...]


@dataclass(frozen=True, slots=True)
class Among:
    """The point is one of these."""

    ids: tuple[str, ...]


Asked = Is | Between | Has | Among


@dataclass(frozen=True, slots=True)
class Where:
    """What must hold, and what must not."""

    must: tuple[Asked, ...]
    must_not: tuple[Asked, ...] = ()
    again: Filter = EVERYTHING
    """Ranges of which more is let pass than matches: what is found is asked again by `holds_again`."""

    def and_(self, *asked: Asked) -> Where:
        """What satisfies these as well."""
        return Where((*self.must, *asked), self.must_not)


# -- what is kept


def ancestors(encoded: str) -> list[str]:
    """The namespace and all above it, but the root."""
    parts = encoded.split(SEPARATOR)
    return [_short(SEPARATOR.join(parts[: depth + 1])) for depth in range(len(parts))]


def facts(attributes: Mapping[str, Any]) -> list[str]:
    """What there is to know of attributes but for ranges."""
    return list(dict.fromkeys(_facts(attributes)))


def numbers(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ranges can be asked of: a number or a time with the name that it belongs to."""
    return [{"name": name, "value": value} for name, value in dict.fromkeys(_numbers(attributes))]


def _facts(attributes: Mapping[str, Any]) -> Iterator[str]:
    for name, element in _elements(attributes):
        yield name if element is None else _fact(name, element)


def _numbers(attributes: Mapping[str, Any]) -> Iterator[tuple[str, int | float]]:
    for name, element in _elements(attributes):
        if isinstance(element, str) and (moment := parse_rfc3339(element)) is not None:
            yield f"t:{name}", moment
        elif isinstance(element, int | float) and not isinstance(element, bool):
            yield f"n:{name}", element


def _elements(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each name that has a value, on its own and then with each value."""
    for name, found in attributes.items():
        if found is not None:
            yield name, None
            for element in found if isinstance(found, list) else (found,):
                yield name, element


def _fact(name: str, value: object) -> str:
    """A name has no `=` in it, so facts of different names are never the same."""
    if isinstance(value, bool):
        return f"{name}=b{value:d}"
    if isinstance(value, str):
        return f"{name}={_short('s' + value)}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{name}={_short(f'n{value!r}')}"


def _short(text: str) -> str:
    """The text, or what stands for it; no encoded namespace and no value of a fact begins with `#`."""
    return text if len(text) <= _LONG else f"#{blake2b(text.encode(), digest_size=16).hexdigest()}"


# -- what is asked


def line_key(line: Line) -> str:
    """What tells the lines of a tenant apart within a collection."""
    return f"{line.plane.value}.{line.series}"


def of_line(line: Line) -> Where:
    """Everything of a line: versions, what is remembered of removed ones, and how far it was followed."""
    return Where((Is("tenant", (line.tenant,)), Is("line", (line_key(line),))))


def of_scope(line: Line, scope: Scope) -> Where:
    """The versions that a search may show. Only these have an expiry, even if it is never."""
    must: list[Asked] = [*of_line(line).must, Between("expires", gt=scope.now)]
    if scope.within.encoded:
        must.append(Is("ancestors", (_short(scope.within.encoded),)))
    if scope.archived is not Archived.INCLUDE:
        must.append(Is("archived", (int(scope.archived is Archived.ONLY),)))
    must_not: list[Asked] = []
    again: list[Condition] = []
    for condition in scope.filter.conditions:
        name, operator, operands = condition.name, condition.operator, condition.operands
        if operator in RANGES:
            asked, exact = _range(condition)
            must.append(asked)
            again.extend(() if exact else (_numeric(condition),))
        elif operator is Operator.EXISTS:
            (must if operands[0] else must_not).append(Is("facts", (name,)))
        elif operator is Operator.NE:
            must.append(Is("facts", (name,)))
            must_not.append(Is("facts", (_fact(name, operands[0]),)))
        else:
            must.append(Is("facts", tuple(_fact(name, each) for each in operands)))
    return Where(tuple(must), tuple(must_not), Filter(tuple(again)))


def _numeric(condition: Condition) -> Condition:
    """The same range, asked of a number by the name under which it is kept."""
    if condition.instant is not None:
        return Condition(f"t:{condition.name}", condition.operator, (int(condition.instant),))
    return Condition(f"n:{condition.name}", condition.operator, condition.operands)


def _range(condition: Condition) -> tuple[Has, bool]:
    """The range as Qdrant can tell it, and whether that is exact; if not, what is equal as floats passes as well."""
    asked = _numeric(condition)
    bound = float(asked.operands[0])
    exact = abs(bound) < EXACT_NUMBERS
    above = asked.operator in (Operator.GT, Operator.GTE)
    strict = exact and asked.operator in (Operator.GT, Operator.LT)
    between = {
        (True, True): Between("value", gt=bound),
        (True, False): Between("value", gte=bound),
        (False, True): Between("value", lt=bound),
        (False, False): Between("value", lte=bound),
    }[above, strict]
    return Has("numbers", (Is("name", (asked.name,)), between)), exact


def holds_again(asked: Filter, kept: Sequence[Mapping[str, Any]]) -> bool:
    """True when the numbers that were kept satisfy the ranges, integers compared as integers."""
    return matches(asked, _by_name((each["name"], each["value"]) for each in kept))


def _by_name(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found
