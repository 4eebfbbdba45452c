"""Which clauses of a rule held, and where the others failed: found by evaluating variations of the text.

The engine has no trace. A clause is put to it alone; if that gives no value, ever longer beginnings of its body are,
until one does not hold any more. Variations keep every line where it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from recollect.backends.rego.lexer import Kind, Token, tokens_of
from recollect.backends.rego.pool import Faulted
from recollect.backends.rego.source import Expression, Rule, Span, read
from recollect.domain.errors import InvalidBundle, PolicyTrouble

MOST_TRIES = 64
"""How many beginnings of one body are evaluated at most."""
MOST_ORDERED = 128
"""Longer bodies are taken in the order in which they are written."""
_ANY = re.compile(r"[^\n]")
_KEYWORDS = frozenset(
    {"as", "contains", "default", "else", "every", "false", "if", "import", "in", "not", "null", "package", "some"}
) | {"true", "with"}
_NO_VARIABLES = _KEYWORDS | {"_", "data", "input"}


class Undefined(Enum):
    """The type of `UNDEFINED`."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED
"""What a rule gives when none of its clauses holds."""
Evaluate = Callable[[str], Awaitable[object]]
"""Gives the value of the rule in a variation of the text, or `UNDEFINED`.

Raises `InvalidBundle` or `PolicyTrouble` when the variation has no answer.
"""


@dataclass(frozen=True, slots=True)
class Clause:
    """What became of one clause of a rule; an `else` belongs to the clause that it follows."""

    line: int
    title: str
    held: bool
    value: object = UNDEFINED
    """What it gave, if it held."""
    failed: Expression | None = None
    """The first expression that did not hold, or in which a fault is; that of the head, if the whole body did."""
    default: bool = False
    """Whether it is the default, which holds when no other clause does."""
    unknown: bool = False
    """Whether the engine had no answer for a variation that was needed to tell."""


def only(text: str, rule: Rule) -> str:
    """The text without the other clauses of the rule, its default included."""
    return _only(text, read(text).rules, rule)


def without(text: str, name: str) -> str:
    """The text without any clause of the rules of this name."""
    return _edited(text, {rule.span: _blank(text, rule.span) for rule in read(text).rules if rule.name == name})


def up_to(text: str, rule: Rule, count: int) -> str:
    """The text with this clause alone, of which only the first `count` expressions are kept, as `evaluated` has them.

    It gives `true` when they hold, whatever its head said: that may need names which are not bound any more. A rule
    that has a keyword for its first name cannot have a value of its own; it gives an object, which may be empty.
    """
    return _up_to(text, read(text).rules, rule, evaluated(rule)[: max(0, count)])


def evaluated(rule: Rule) -> tuple[Expression, ...]:
    """The expressions of the body in an order in which each can be evaluated behind those before it.

    It is the order in which they are written, but for `u > 1; u = input.x`: Rego looks for what binds a name. To
    leave that out is not only wrong, the engine does not survive a comparison of two names that nothing binds.
    """
    if len(rule.body) > MOST_ORDERED:
        return rule.body
    parts = [_Names.of(expression) for expression in rule.body]
    binders = Counter(name for part in parts for name in part.binds)
    done: dict[int, None] = {}
    known: frozenset[str] = frozenset()
    for first in range(len(parts)):
        waiting, begun = [] if first in done else [(first, parts[first].needs)], {first}
        while waiting:
            at, needs = waiting[-1]
            found = _binder(parts, needs - known, known, begun, binders)
            if found is not None:
                waiting.append(found)
                begun.add(found[0])
            else:
                known |= parts[at].mentions
                done[at] = None
                waiting.pop()
    return tuple(rule.body[at] for at in done)


async def explain_clauses(text: str, name: str, evaluate: Evaluate) -> tuple[Clause, ...]:
    """What became of every clause of a rule, in the order in which they are written.

    Clauses of the rule in other modules must be kept out of what is evaluated: `without` takes them out.
    """
    rules = [rule for rule in read(text).rules if rule.name == name]
    found = {rule: await _explained(text, rules, rule, evaluate) for rule in rules if not rule.default}
    held = any(clause.held for clause in found.values())
    unknown = not held and any(clause.unknown for clause in found.values())
    for rule in rules:
        if rule.default:
            applies = not held and not unknown
            clause = await _explained(text, rules, rule, evaluate) if applies else Clause(rule.line, rule.title, False)
            found[rule] = replace(clause, default=True, failed=None, unknown=clause.unknown or unknown)
    return tuple(found[rule] for rule in rules)


async def _explained(text: str, rules: Sequence[Rule], rule: Rule, evaluate: Evaluate) -> Clause:
    try:
        value = await evaluate(_only(text, rules, rule))
    except Faulted:
        failed = await _first_failed(text, rules, rule, evaluate)
        return Clause(rule.line, rule.title, False, failed=failed, unknown=True)
    except (InvalidBundle, PolicyTrouble):
        return Clause(rule.line, rule.title, False, unknown=True)
    if value is not UNDEFINED and _reaches(value, rule.depth):
        return Clause(rule.line, rule.title, True, value)
    failed = await _first_failed(text, rules, rule, evaluate)
    return Clause(rule.line, rule.title, False, failed=failed, unknown=failed is None)


def _reaches(value: object, depth: int) -> bool:
    """Whether there is anything so many keys below; a rule with several values is never undefined itself."""
    if depth == 0:
        return True
    inner: Iterable[object]
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    else:
        return True
    return any(_reaches(each, depth - 1) for each in inner)


async def _first_failed(text: str, rules: Sequence[Rule], rule: Rule, evaluate: Evaluate) -> Expression | None:
    """The first expression that does not hold, by bisection; None if the engine did not answer where it matters.

    A fault stands for not holding: with it, nothing that comes after is evaluated either.
    """
    body = evaluated(rule)
    counts = list(range(len(body) + 2))  # nothing always holds, and the whole clause with its head does not
    holds, fails = 0, len(counts) - 1
    for _ in range(MOST_TRIES):
        if fails - holds < 2:
            break
        middle = (holds + fails) // 2
        try:
            value = await evaluate(_up_to(text, rules, rule, body[: counts[middle]]))
        except Faulted:
            value = UNDEFINED
        except (InvalidBundle, PolicyTrouble):
            del counts[middle]
            fails -= 1
            continue
        if value is UNDEFINED or not value:
            fails = middle
        else:
            holds = middle
    if counts[fails] - counts[holds] > 1:
        return None
    if counts[fails] <= len(body):
        return body[counts[fails] - 1]
    return rule.value or Expression(text[slice(*rule.head)], rule.head, rule.line)


def _only(text: str, rules: Sequence[Rule], rule: Rule) -> str:
    return _edited(text, _others(text, rules, rule))


def _up_to(text: str, rules: Sequence[Rule], rule: Rule, kept: Sequence[Expression]) -> str:
    edits = _others(text, rules, rule)
    if not rule.default:
        head = rule.name if rule.name not in _KEYWORDS else f"{rule.name}.held"
        if rule.is_function:
            head = text[slice(*rule.signature)]
        edits[rule.head] = "\n" * (text.count("\n", *rule.head) - head.count("\n")) + f"{head} := true "
        edits[rule.chained] = _blank(text, rule.chained)
    if rule.block is not None:
        edits[rule.block] = _kept(text, rule.block, sorted(expression.span for expression in kept))
    return _edited(text, edits)


def _others(text: str, rules: Sequence[Rule], rule: Rule) -> dict[Span, str]:
    if rule not in rules:
        raise ValueError(f"{rule.name} of line {rule.line} is not a clause of this text")
    return {each.span: _blank(text, each.span) for each in rules if each.name == rule.name and each.span != rule.span}


def _blank(text: str, span: Span) -> str:
    return _ANY.sub(" ", text[slice(*span)])


def _edited(text: str, edits: Mapping[Span, str]) -> str:
    pieces, at = [], 0
    for (start, end), written in sorted(edits.items()):
        pieces += [text[at:start], written]
        at = end
    return "".join([*pieces, text[at:]])


def _kept(text: str, block: Span, spans: list[Span]) -> str:
    """What a body takes up, with only these expressions left in it."""
    if not spans:
        return " true" + _blank(text, block)
    pieces, at = [], block[0]
    for start, end in spans:
        gap = _blank(text, (at, start))
        if at > block[0] and "\n" not in gap:
            gap = ";" + gap[1:]
        pieces += [gap, text[start:end]]
        at = end
    return "".join([*pieces, _blank(text, (at, block[1]))])


@dataclass(frozen=True, slots=True)
class _Names:
    """What an expression does with names: those it needs to be bound, those it can bind, and all that it mentions."""

    needs: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    sides: tuple[frozenset[str], ...] = ()
    """The names on either side of `=`: those of one are bound by way of the other."""

    @classmethod
    def of(cls, expression: Expression) -> _Names:
        tokens = [token for token in tokens_of(expression.text) if token.kind is not Kind.COMMENT]
        names, keys = _variables(tokens)
        first = tokens[0].text
        if first in ("not", "every"):
            return cls(names, mentions=names)
        at, joint = _joint(tokens, ("in",) if first == "some" else ("=", ":="))
        if first == "some" and not joint:
            return cls()
        halves = tokens[:at], tokens[at + 1 :]
        left, right = (_variables(half)[0] for half in halves)
        if joint != "=":
            return cls((right if joint else names) - keys, frozenset() if joint else keys, names)
        bound = [side for side, half in zip((left, right), halves, strict=True) if _is_pattern(half)]
        return cls(names - keys - frozenset().union(*bound[:1]), keys.union(*bound), names, (left, right))

    def across(self, name: str) -> frozenset[str]:
        """What must be known for this name to be bound."""
        return frozenset[str]().union(*(side for side in self.sides if name not in side)) if self.sides else self.needs


def _binder(
    parts: Sequence[_Names], names: frozenset[str], known: frozenset[str], begun: set[int], binders: Mapping[str, int]
) -> tuple[int, frozenset[str]] | None:
    """An expression that can bind one of these names, and what it needs for that.

    `u = v` can bind `v` only if something else binds `u`.
    """
    for at, part in enumerate(parts):
        for name in sorted(part.binds & names) if at not in begun else ():
            needs = part.across(name)
            if all(each in known or binders[each] > 1 for each in needs & part.binds):
                return at, needs
    return None


def _variables(tokens: list[Token]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that may be variables, and those of them that stand alone as the key of something."""
    names, keys = set(), set()
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_call = after is not None and after.text == "(" and after.start == token.end
        if token.kind is not Kind.NAME or token.text in _NO_VARIABLES or before == "." or is_call:
            continue
        names.add(token.text)
        if at > 1 and before == "[" and after is not None and after.text == "]" and _is_joined(*tokens[at - 2 : at]):
            keys.add(token.text)
    return frozenset(names), frozenset(keys)


def _is_joined(first: Token, second: Token) -> bool:
    return first.end == second.start and first.kind in (Kind.NAME, Kind.CLOSE)


def _joint(tokens: list[Token], joints: tuple[str, ...]) -> tuple[int, str]:
    """Where an expression is joined, and by what; its end and nothing if it is not."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.kind is Kind.OPEN) - (token.kind is Kind.CLOSE)
        if depth == 0 and token.text in joints and token.kind in (Kind.OPERATOR, Kind.NAME):
            return at, token.text
    return len(tokens), ""


def _is_pattern(side: list[Token]) -> bool:
    """Whether one side of `=` can take its names from the other: a name can, and an array or an object of names."""
    if len(side) < 2:
        return bool(side) and side[0].kind is Kind.NAME
    return side[0].text in ("[", "{") and not any(token.text in ("|", "(") for token in side)
