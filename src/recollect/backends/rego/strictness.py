"""Strictness: what OPA would refuse in a policy, or read otherwise, and the engine does not.

The engine is lenient where OPA is strict: a variable without a value, a function that does not exist, a call with
too many arguments are merely undefined, and below a `not` that turns a denial into an allow. Whatever could mean
one thing to OPA and another to the engine is refused before it decides anything. Most of it is seen in the compiled
plan, the rest in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from typing import Any

from recollect.backends.rego.lexer import Kind, Token, tokens_of
from recollect.backends.rego.plan import DATA, INPUT, KNOWN, WRITES, Function, Place, Plan, inner, reads, walk
from recollect.backends.rego.source import Rule, Source, read

_TOLD = frozenset({"IsDefinedStmt", "IsUndefinedStmt", "ReturnLocalStmt"})
"""Statements that ask whether a local has a value; it need not."""
_UNCONDITIONAL = frozenset(
    [
        "ArrayAppendStmt",
        "BlockStmt",
        "MakeArrayStmt",
        "MakeNullStmt",
        "MakeNumberIntStmt",
        "MakeNumberRefStmt",
        "MakeObjectStmt",
        "MakeSetStmt",
        "ObjectInsertStmt",
        "ResetLocalStmt",
        "SetAddStmt",
    ]
)
"""Statements that hold whatever the input is."""
_COMPARED = frozenset({"lt", "lte", "gt", "gte"})
_TYPES = {"is_number": "number", "is_string": "string"}
_INPUTS: Mapping[tuple[object, ...], str] = {
    ("key",): "string",
    ("operation",): "string",
    ("context", "client_id"): "string",
    ("context", "now_ns"): "number",
    ("context", "tenant"): "string",
    ("context", "user_id"): "string",
}
"""Parts of the input whose type is known."""
_MOST_STEPS = 64
_MOST_DIGITS = 40
_END = Token(Kind.ERROR, "", 0, 0, 0, 0)
_UNTYPED = (
    "it is not certain that this compares numbers with numbers, or texts with texts: "
    "say so on a line above, like `is_number(input.value.score)`"
)
Origin = tuple[object, ...]
_ROOTS = frozenset({"data", "input", "rego", "future"})
_ROOT_NAMES = frozenset({"data", "input"})
_IN_NOT = (
    "OPA reads this `not` otherwise when a part of it has no value: give that part a name on a line above, "
    "like `x := …`, and put the `not` before a rule or a comparison of names"
)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that OPA would have refused, or would read otherwise."""

    message: str
    place: Place


def flaws(plan: Plan) -> list[Flaw]:
    """Everything in the compiled plan that cannot work as its author meant it."""
    found = list(_cycles(plan))
    found += [flaw for function in plan.everything() for flaw in _in_function(plan, function)]
    found += _conflicts(plan)
    found += [Flaw(f"{text} is not a number that the engine keeps exactly", Place()) for text in _inexact(plan)]
    return list(dict.fromkeys(found))


def text_flaws(modules: Mapping[str, str], tests: frozenset[str] = frozenset()) -> list[Flaw]:
    """What is seen in the texts alone, before anything is compiled."""
    found = [
        Flaw(message, Place(name, line))
        for name, text in modules.items()
        for message, line in in_text(text, is_test=name in tests)
    ]
    return list(dict.fromkeys(found))


# -- in the plan


def _in_function(plan: Plan, function: Function) -> Iterator[Flaw]:
    made = {INPUT, DATA, *function.params}
    told: set[int] = set()
    for block in function.blocks:
        # A variable is known from where it gets its value to the end of the block in which it does. To the engine,
        # one that has the same name in another clause is the same: it would have the value that it got there.
        waiting = [(iter(block["stmts"]), set[int](), set[int]())]
        while waiting:
            statements, known, assigned = waiting[-1]
            each = next(statements, None)
            if each is None:
                waiting.pop()
                continue
            kind, statement = str(each["type"]), each["stmt"]
            yield from _in_step(plan, kind, statement, _Values(made, known, assigned, told))
            for below in reversed(inner(statement)):
                if kind == "WithStmt":  # which hides nothing of what it holds
                    waiting.append((iter(below["stmts"]), known, assigned))
                else:
                    waiting.append((iter(below["stmts"]), set(known), set(assigned)))
    yield from _in_comparisons(plan, function)


@dataclass(frozen=True, slots=True)
class _Values:
    """Which locals have a value."""

    made: set[int]
    """Those that the compiler made up, in the whole function."""
    known: set[int]
    """Those that stand for variables, in this block and in those around it."""
    assigned: set[int]
    """The variables among them that were given one."""
    told: set[int]
    """Those without one, of which was told already."""


def _in_step(plan: Plan, kind: str, statement: Mapping[str, Any], values: _Values) -> Iterator[Flaw]:
    """What is wrong with one statement, given what has a value before it; notes what has one after it."""
    place = plan.place(statement)
    if kind not in KNOWN:
        yield Flaw(f"the engine made a step that is not known: {kind}", place)
    written = {statement[name] for name in WRITES.get(kind, ())}
    if kind not in _TOLD:
        for local in reads(kind, statement):
            if not any(local in each for each in (values.made, values.known, written, values.told)):
                values.told.add(local)
                yield Flaw("a variable has no value here: it is never given one, or only below", place)
    if kind == "AssignVarStmt" and statement["source"]["type"] != "bool":
        if written & values.assigned:
            yield Flaw("a variable is given a value that has one already: use another name", place)
        values.assigned.update(written)
    (values.known if kind in ("AssignVarStmt", "ScanStmt") else values.made).update(written)
    if kind == "CallStmt":
        yield from _in_call(plan, statement, place)
    if kind == "NotStmt":
        yield from _in_not(plan, statement, values.made | values.known, place)


def _in_call(plan: Plan, call: Mapping[str, Any], place: Place) -> Iterator[Flaw]:
    name, given = str(call["func"]), len(call["args"])
    if name in plan.functions:
        wanted = len(plan.functions[name].params)
        if given != wanted:
            yield Flaw(f"{shown(name)} takes {wanted - 2} arguments, not {given - 2}", place)
    elif name in plan.builtins:
        wanted = len(plan.builtins[name].get("decl", {}).get("args", ()))
        if given != wanted:
            yield Flaw(f"{name} takes {wanted} arguments, not {given}", place)
    else:
        yield Flaw(f"there is no function {shown(name)}", place)


def _in_comparisons(plan: Plan, function: Function) -> Iterator[Flaw]:
    """Values of different types are ordered otherwise by OPA, so both sides must be known to be of one."""
    waiting = [(block, _Clause(plan, function, block), dict[Origin, str]()) for block in function.blocks]
    while waiting:
        block, clause, outside = waiting.pop()
        here = {**outside, **_guarded(clause, block["stmts"])}
        before = dict(outside)
        for each in block["stmts"]:
            statement = each["stmt"]
            if each["type"] == "CallStmt" and statement["func"] in _COMPARED:
                types = [_type(clause, operand, here) for operand in statement["args"]]
                if None in types:
                    yield Flaw(_UNTYPED, plan.place(statement))
                elif len(set(types)) > 1:
                    yield Flaw(f"this compares a {types[0]} with a {types[1]}", plan.place(statement))
            if each["type"] == "NotEqualStmt":
                before |= _guarded(clause, block["stmts"], statement)
            waiting += [(below, clause, dict(before)) for below in inner(statement)]


class _Clause:
    """One of the clauses of a function, and by which of its statements a local gets its value."""

    def __init__(self, plan: Plan, function: Function, block: Any) -> None:
        self.plan = plan
        self.function = function
        self.written: dict[int, list[tuple[str, Mapping[str, Any]]]] = {}
        for kind, statement in walk([block]):
            for target in WRITES.get(kind, ()):
                self.written.setdefault(statement[target], []).append((kind, statement))


def _guarded(clause: _Clause, statements: Sequence[Any], only: Mapping[str, Any] | None = None) -> dict[Origin, str]:
    """What is certainly a number or a text wherever all of these statements hold, or the `only` one that asks."""
    asked = {
        int(each["stmt"]["a"]["value"])
        for each in statements
        if each["type"] == "NotEqualStmt"
        and each["stmt"]["a"]["type"] == "local"
        and each["stmt"]["b"] == {"type": "bool", "value": False}
        and only in (None, each["stmt"])
    }
    found: dict[Origin, str] = {}
    for each in statements:
        statement = each["stmt"]
        if each["type"] == "CallStmt" and statement["func"] in _TYPES and statement["result"] in asked:
            origin = _origin(clause, statement["args"][0])
            if origin is not None:
                found[origin] = _TYPES[statement["func"]]
    return found


def _type(clause: _Clause, operand: Mapping[str, Any], certain: Mapping[Origin, str], depth: int = 8) -> str | None:
    """The type that a value certainly has, as far as the order of texts and numbers needs it."""
    if operand["type"] == "string_index":
        return "string"
    plan, origin = clause.plan, _origin(clause, operand)
    if origin is None or not depth:
        return None
    if origin in certain:
        return certain[origin]
    if origin[0] == INPUT:
        return _INPUTS.get(origin[1:])
    root = origin[0]
    if len(origin) == 1 and isinstance(root, str):
        return _result_type(plan, root, depth)
    writers = clause.written.get(root) if len(origin) == 1 and isinstance(root, int) else None
    if not writers:
        return None
    kind, statement = writers[0]
    if kind in ("MakeNumberIntStmt", "MakeNumberRefStmt", "LenStmt"):
        return "number"
    if kind in ("AssignVarStmt", "AssignVarOnceStmt") and statement["source"]["type"] == "string_index":
        return "string"
    if kind == "CallStmt" and statement["func"] in plan.functions:
        return _result_type(plan, str(statement["func"]), depth)
    if kind == "CallStmt" and statement["func"] in plan.builtins:
        result = plan.builtins[str(statement["func"])].get("decl", {}).get("result", {}).get("type")
        return str(result) if result in _TYPES.values() else None
    return None


def _result_type(plan: Plan, name: str, depth: int) -> str | None:
    """The type of what a rule or a function says, if all of its clauses say the same type."""
    function = plan.functions[name]
    types: set[str | None] = set()
    for block in function.blocks:
        clause = _Clause(plan, function, block)
        for kind, statement in clause.written.get(function.result or 0, ()):
            if kind != "ResetLocalStmt":
                assigns = kind in ("AssignVarStmt", "AssignVarOnceStmt")
                types.add(_type(clause, statement["source"], {}, depth - 1) if assigns else None)
    return types.pop() if len(types) == 1 else None


def _origin(clause: _Clause, operand: Mapping[str, Any]) -> Origin | None:
    """What a local surely stands for: a parameter, a rule or a step, and the way down from there."""
    if operand["type"] != "local":
        return None
    plan, local, steps = clause.plan, int(operand["value"]), list[object]()
    for _ in range(_MOST_STEPS):
        writers = clause.written.get(local, ())
        if not writers:
            return (local, *reversed(steps))
        kind, statement = writers[0]
        if len(writers) > 1:
            return None
        if kind in ("AssignVarStmt", "AssignVarOnceStmt") and statement["source"]["type"] == "local":
            local = int(statement["source"]["value"])
        elif kind == "DotStmt" and statement["source"]["type"] == "local":
            step = plan.constant(clause.function, statement["key"])
            if step is None:
                return (local, *reversed(steps))
            steps.append(step)
            local = int(statement["source"]["value"])
        elif kind == "CallStmt" and statement["func"] in plan.functions and len(statement["args"]) == 2:
            return (str(statement["func"]), *reversed(steps))
        else:
            return (local, *reversed(steps))
    return None


def _in_not(plan: Plan, negation: Mapping[str, Any], before: set[int], place: Place) -> Iterator[Flaw]:
    """Only what OPA does not take out of a `not` may stand in it: names, rules, and one call or comparison of them.

    Of `not f(input.x)` OPA says nothing at all when there is no `input.x`; the engine says true.
    """
    fixed, chained = set(before), set[int]()
    for kind, statement in walk(inner(negation)):
        if not _may_stand_in_not(plan, kind, statement, fixed, chained):
            yield Flaw(_IN_NOT, place)
            return


def _may_stand_in_not(plan: Plan, kind: str, statement: Mapping[str, Any], fixed: set[int], chained: set[int]) -> bool:
    """Whether a step is read alike by both; `fixed` are values that are surely there, `chained` may be undefined."""
    read_here = set(reads(kind, statement))
    if kind == "DotStmt":
        chained.add(int(statement["target"]))
        key = statement["key"]
        source = statement["source"]
        return (key["type"] != "local" or int(key["value"]) in fixed) and (
            source["type"] != "local" or int(source["value"]) in fixed | chained
        )
    if kind == "CallStmt":
        is_rule = statement["func"] in plan.functions and len(statement["args"]) == 2
        if is_rule:
            always = _always_says(plan.functions[str(statement["func"])])
            (fixed if always else chained).add(int(statement["result"]))
        return is_rule or read_here <= fixed
    if kind in ("AssignVarStmt", "AssignVarOnceStmt"):
        (fixed if read_here <= fixed else chained).add(int(statement["target"]))
        return read_here <= fixed | chained
    if kind.startswith("Make") or kind == "ResetLocalStmt":
        fixed.add(int(statement["target"]))
        return True
    if kind in ("ArrayAppendStmt", "SetAddStmt", "ObjectInsertStmt", "ObjectInsertOnceStmt"):
        return read_here <= fixed
    if kind in ("EqualStmt", "WithStmt"):
        return read_here <= fixed | chained
    return kind in ("NotEqualStmt", "IsDefinedStmt", "IsUndefinedStmt")


def _always_says(rule: Function) -> bool:
    """Whether a rule has a value whatever the input: a set or an object of its own, a default, or a constant."""
    for block in rule.blocks:
        made: set[int] = set()
        for kind, statement in walk([block]):
            if kind in ("AssignVarStmt", "AssignVarOnceStmt", "IsDefinedStmt"):
                if not set(reads(kind, statement)) <= made:
                    break
            elif kind not in _UNCONDITIONAL and not (kind == "IsUndefinedStmt" and statement["source"] == rule.result):
                break
            if kind != "ResetLocalStmt":
                made |= {statement[name] for name in WRITES.get(kind, ())}
        else:
            if rule.result in made:
                return True
    return False


def _cycles(plan: Plan) -> Iterator[Flaw]:
    done: set[str] = set()
    for root in plan.functions:
        trail = [(root, iter(plan.called(plan.functions[root])))]
        above = {root}
        while trail:
            name, rest = trail[-1]
            step = next(rest, None)
            if step is None:
                trail.pop()
                above.discard(name)
                done.add(name)
            elif step in above:
                yield Flaw(f"{shown(step)} calls itself, directly or through others", Place())
                return
            elif step not in done:
                above.add(step)
                trail.append((step, iter(plan.called(plan.functions[step]))))


def _conflicts(plan: Plan) -> Iterator[Flaw]:
    """A rule must not stand where a package is, nor where the settings are."""
    paths = {tuple(name.split(".")[2:]) for name in plan.functions}
    for path in sorted(paths):
        if path[0] == "recollect":
            yield Flaw("the package recollect is taken: its data are the settings that policies may know", Place())
        if any(path[:length] in paths for length in range(1, len(path))):
            yield Flaw(f"data.{'.'.join(path)} lies below a rule of another package", Place())


def _inexact(plan: Plan) -> Iterator[str]:
    for function in plan.everything():
        for kind, statement in function.statements:
            if kind == "MakeNumberRefStmt":
                text = plan.strings[statement["index"]]
                try:
                    exact = ("e" not in text.lower() and "." not in text) or Decimal(text) == Decimal(repr(float(text)))
                except (InvalidOperation, ValueError, OverflowError):
                    exact = False
                if not exact or text == "-0":
                    yield text if len(text) <= _MOST_DIGITS else f"{text[:_MOST_DIGITS]}…"


# -- in the text


def in_text(text: str, *, is_test: bool = False) -> Iterator[tuple[str, int]]:
    """What is seen only in the text, each with its line."""
    source = read(text)
    for taken in source.imports:
        if taken.path and taken.path[0] not in _ROOTS:
            yield f"import {'.'.join(taken.path)}: only data, input, rego and future can be imported from", taken.line
    yield from _in_rules(text, source)
    yield from _in_tokens(text, is_test=is_test)


def _in_rules(text: str, source: Source) -> Iterator[tuple[str, int]]:
    for rule in source.rules:
        if rule.name in ("input", "data"):
            yield f"a rule cannot be called {rule.name}", rule.line
        if rule.block is not None and not rule.default and not _has_if(text, rule):
            yield "write `if` before the body of a rule: without it, some rules mean something else to OPA", rule.line
        if rule.is_function and _ROOT_NAMES & {each.text for each in tokens_of(text[slice(*rule.signature)])}:
            yield "an argument cannot be called input or data, nor be taken from them", rule.line
        if rule.default and rule.value is not None and not _is_constant(rule.value.text):
            yield "a default is a constant", rule.line


def _has_if(text: str, rule: Rule) -> bool:
    start, end = rule.head[1], rule.block[0] if rule.block else rule.head[1]
    return any(token.kind is Kind.NAME and token.text == "if" for token in tokens_of(text[start:end]))


def _is_constant(text: str) -> bool:
    """Whether a value names nothing but constants."""
    tokens = [token for token in tokens_of(text) if token.kind is not Kind.COMMENT]
    names = [token for token in tokens if token.kind is Kind.NAME and token.text not in ("true", "false", "null")]
    return not names and not any(token.text in ("(", "|") for token in tokens)


def _in_tokens(text: str, *, is_test: bool) -> Iterator[tuple[str, int]]:
    """Names that are given a value although they have one, replaced inputs, and strings that are no text."""
    tokens: Sequence[Any] = [token for token in tokens_of(text) if token.kind is not Kind.COMMENT]
    for token, following in zip_longest(tokens, tokens[1:], fillvalue=_END):
        if following.text == "with" and following.kind is Kind.NAME and token.text != "." and not is_test:
            yield "`with` is for tests: name their modules like authz_test.rego", following.line
        if token.kind is Kind.STRING and token.text[0] == '"' and not _is_text(token.text):
            yield "this string is no text: it has an escape that JSON does not know, or half a character", token.line
        if token.kind is Kind.NAME and token.text in ("input", "data") and following.text == ":=":
            yield f"{token.text} cannot be given another value", token.line
        if token.text == "some" and following.text in ("input", "data"):
            yield f"{following.text} cannot be declared", token.line


def _is_text(literal: str) -> bool:
    try:
        json.loads(literal).encode()
    except ValueError:
        return False
    return True


def shown(name: str) -> str:
    """A function as its author calls it."""
    return name.removeprefix("g0.").removeprefix("data.")
