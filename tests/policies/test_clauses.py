"""The variations of a text by which a decision is explained, and what they tell."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from regopy import Interpreter, RegoError, set_default_log_level
from tests.policies.forms import AUTHZ, FORMS, INPUT, Form, clause_in, module
from tests.sizes import sized

from recollect.backends.rego import RegoEngine, shipped_bundle
from recollect.backends.rego.clauses import UNDEFINED, Clause, evaluated, explain_clauses, only, up_to, without
from recollect.backends.rego.source import Source, read
from recollect.domain.bundles import bundle_of
from recollect.domain.callers import Action, new_caller
from recollect.domain.errors import InvalidBundle, PolicyTrouble
from recollect.ports.policy import Decision, Question
from recollect.testing.doubles import ManualClock

set_default_log_level("None")


def evaluate(text: str, entry: str, given: object) -> object:
    """The value of a rule, from the engine itself; refuses what cannot be compiled."""
    engine = Interpreter()
    try:
        engine.add_module("module.rego", text)
        bundle = engine.build(None, [entry])
    except RegoError as problem:
        raise InvalidBundle(str(problem)) from None
    if not bundle.ok():
        raise InvalidBundle("it could not be built")
    engine.set_input(given)
    output = engine.query_bundle_entrypoint(bundle, entry)
    if not output.ok():
        raise PolicyTrouble(str(output))
    return output.results[0].expressions[0] if output.results and output.results[0].expressions else UNDEFINED


def asking(entry: str, given: object = INPUT, told: list[str] | None = None) -> Callable[[str], Awaitable[object]]:
    async def ask(text: str) -> object:
        if told is not None:
            told.append(text)
        return evaluate(text, entry, given)

    return ask


# Variations


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
def test_variations_compile_and_keep_their_lines(form: Form) -> None:
    text, rule = clause_in(form.text)
    evaluate(text, "p/r", INPUT)
    values = []
    for count in range(len(rule.body) + 1):
        variation = up_to(text, rule, count)
        assert variation.count("\n") == text.count("\n")
        assert variation.splitlines()[-1] == text.splitlines()[-1]
        values.append(evaluate(variation, "p/r", INPUT))
    assert values[0] is True
    assert set(map(repr, values)) <= {"True", repr(UNDEFINED)}
    assert values == sorted(values, key=lambda value: value is UNDEFINED), "what failed cannot hold with more behind it"


def test_the_corpus_is_large_enough_and_notices_a_variation_that_is_wrong() -> None:
    assert len(FORMS) >= 60
    text, rule = clause_in("r := x if { x := 1; y := [\n 1]; y }")
    cut = text[: rule.body[1].span[0]] + text[rule.body[1].span[0] + 3 : rule.body[1].span[1]]
    with pytest.raises(InvalidBundle):
        evaluate(cut, "p/r", INPUT)


@pytest.mark.parametrize(
    "text",
    ["f(x) := y if { y := x; y > 1 }", "f(x) if x > 1", "f([x, _]) = y {\n  y := x\n  y > 1\n}", "f(1) := 2"],
)
def test_variations_of_a_function_keep_its_arguments(text: str) -> None:
    whole = f"package p\n{text}\nf(x) := 5 if x == 7\ndefault f(_) := 0\nr := [f(1), f([1, 2])]\n"
    evaluate(whole, "p/r", INPUT)
    rule = read(whole).rules[0]
    for count in range(len(rule.body) + 1):
        variation = up_to(whole, rule, count)
        assert evaluate(variation.replace("r := [f(1), f([1, 2])]", "r := 1"), "p/r", INPUT) == 1
        assert text[slice(*(place - 10 for place in rule.signature))] + " := true" in variation


def test_the_other_clauses_and_the_default_are_blanked() -> None:
    default, own, _ = read(AUTHZ).rules
    alone = only(AUTHZ, own)
    assert [(rule.name, rule.line) for rule in read(alone).rules] == [("allow", 8)]
    assert [len(line) for line in alone.splitlines()] == [len(line) for line in AUTHZ.splitlines()]
    assert [rule.default for rule in read(only(AUTHZ, default)).rules] == [True]
    assert read(without(AUTHZ, "allow")).rules == ()
    with pytest.raises(ValueError, match="not a clause of this text"):
        only(AUTHZ.replace("admin", "root"), read("allow := 1").rules[0])


def test_expressions_are_taken_in_the_order_in_which_names_are_bound() -> None:
    def order(body: str) -> list[str]:
        return [expression.text for expression in evaluated(read(f"r if {{ {body} }}").rules[0])]

    assert order("u > v; v = input.a; u = v + 1") == ["v = input.a", "u = v + 1", "u > v"]
    assert order("x = input.a; x = 3") == ["x = input.a", "x = 3"]
    assert order("some u; u > 1; u = input.b[_]") == ["some u", "u = input.b[_]", "u > 1"]
    assert order("f(x, out); y = out; y == 3") == ["f(x, out)", "y = out", "y == 3"]
    assert order("u = v; v = u; u > 1")[-1] == "u > 1"
    assert order("not u; u := 1") == ["not u", "u := 1"]


# Explaining


def shown(clauses: tuple[Clause, ...]) -> list[str]:
    lines = []
    for clause in clauses:
        failed = f" at line {clause.failed.line}: {clause.failed.text}" if clause.failed else ""
        state = "unknown" if clause.unknown else "held" if clause.held else f"did not hold{failed}"
        lines.append(f"line {clause.line} {'default' if clause.default else clause.title} {state}")
    return lines


@pytest.mark.parametrize(
    ("namespace", "roles", "expected"),
    [
        (
            ["user", "bob"],
            [],
            ["held", "did not hold at line 10: input.namespace[1] == input.context.user_id", "did not"],
        ),
        (
            ["team", "x"],
            [],
            ["held", 'did not hold at line 9: input.namespace[0] == "user"', "did not hold at line 15"],
        ),
        (["user", "ada"], [], ["did not hold", "held", "did not hold at line 15"]),
        (["user", "bob"], ["admin"], ["did not hold", "did not hold at line 10", "held"]),
    ],
)
async def test_a_decision_is_explained_clause_by_clause(
    namespace: list[str], roles: list[str], expected: list[str]
) -> None:
    told = {"namespace": namespace, "context": {"user_id": "ada", "jwt_claims": {"roles": roles}}}
    lines = shown(await explain_clauses(AUTHZ, "allow", asking("memories/authz/allow", told)))
    starts = ["line 5 default", "line 8 Users access their own namespace subtree", "line 14 Admins access everything"]
    assert len(lines) == 3
    for line, start, state in zip(lines, starts, expected, strict=True):
        assert line.startswith(f"{start} {state}")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
async def test_the_first_expression_that_does_not_hold_is_found(form: Form) -> None:
    (clause,) = await explain_clauses(module(form.text), "r", asking("p/r"))
    assert (clause.failed.text if clause.failed else None) == form.failed
    assert (clause.held, clause.unknown) == (form.failed is None, False)
    assert (clause.value is not UNDEFINED) == clause.held


async def test_every_clause_of_a_rule_is_told_apart_from_the_others() -> None:
    text = "package p\nr := 1 if input.a == 1\nr := 1 if input.c\nr := 1 if { 1 == 1; input.a == 1 }\ndefault r := 0\n"
    clauses = await explain_clauses(text, "r", asking("p/r"))
    assert [(each.line, each.held, each.default) for each in clauses] == [
        (2, True, False),
        (3, False, False),
        (4, True, False),
        (5, False, True),
    ]
    assert await explain_clauses(text, "s", asking("p/s")) == ()


async def test_the_value_is_that_of_the_clause() -> None:
    text = "package p\nr contains 1 if input.a == 1\nr contains 2 if input.c\nr contains 3\n"
    assert [each.value for each in await explain_clauses(text, "r", asking("p/r"))] == [[1], UNDEFINED, [3]]
    text = "package p\ndefault r := {}\nr := 1 if input.c\n"
    assert [each.value for each in await explain_clauses(text, "r", asking("p/r"))] == [{}, UNDEFINED]


async def test_where_the_engine_has_no_answer_nothing_is_claimed() -> None:
    text = module("r if { input.a == 1; input.b; input.c; input.d }\ndefault r := false")

    async def refuse(variation: str) -> object:
        raise PolicyTrouble("it took too long")

    assert [each.unknown for each in await explain_clauses(text, "r", refuse)] == [True, True]

    async def only_whole(variation: str) -> object:
        if "true " in variation:
            raise InvalidBundle("it does not compile")
        return evaluate(variation, "p/r", INPUT)

    clause, default = await explain_clauses(text, "r", only_whole)
    assert (clause.held, clause.failed, clause.unknown) == (False, None, True)
    assert (default.held, default.unknown) == (False, True)

    async def all_but_two(variation: str) -> object:
        if "true " in variation and "input.b" in variation and "input.c" not in variation:
            raise InvalidBundle("it does not compile")
        return evaluate(variation, "p/r", {**INPUT, "c": 1})

    clause, _ = await explain_clauses(text, "r", all_but_two)
    assert (clause.failed and clause.failed.text, clause.unknown) == ("input.d", False)


async def test_a_fault_is_explained_by_where_it_lies() -> None:
    text = "package memories.authz\n\nimport rego.v1\n\ndefault allow := false\n\n# Own\n"
    text += "allow if input.namespace[1] == input.context.user_id\n\n# Team\n"
    text += 'allow if {\n\tinput.operation == "write"\n\tstartswith(input.value.team, "sales-")\n\tinput.key\n}\n'
    engine = RegoEngine(shipped_bundle(), clock=ManualClock())
    try:
        question = Question(new_caller("t", "ann"), Action.WRITE, ("user", "ann"), "k", {"team": 7})
        told = await engine.explain(bundle_of({"authz.rego": text}), question)
        assert told.decision == Decision(False, "the policy gave no answer")
        assert [
            (each.line, each.held, each.failed, each.failed_line) for each in told.clauses if each.title == "Team"
        ] == [(11, False, 'startswith(input.value.team, "sales-")', 13)]
        told = await engine.explain(bundle_of({"authz.rego": text}), replace(question, value={"team": "sales-1"}))
        assert told.decision == Decision(True)
        assert [each.title for each in told.clauses if each.held] == ["Own", "Team"]
    finally:
        await engine.close()


async def test_few_variations_are_evaluated() -> None:
    body = [f"input.b[{number % 2}] > {number // 200}" for number in range(300)]
    told: list[str] = []
    (clause,) = await explain_clauses(module(f"r if {{ {'; '.join(body)} }}"), "r", asking("p/r", told=told))
    assert clause.failed is not None
    assert clause.failed.text == body[200]
    assert len(told) <= 1 + math.ceil(math.log2(302))


def first_false(source: Source, truths: list[bool]) -> str | None:
    """What must be found, known from how the body was made."""
    return next((each.text for each, true in zip(source.rules[0].body, truths, strict=True) if not true), None)


@sized(60, 3_000)
def test_whatever_the_body_the_first_false_expression_is_found(count: int) -> None:
    true = ["input.a == 1", "1 in input.b", "not input.c", "every x in input.b { x > 0 }", 'input.user == "ada"']
    false = ["input.a == 2", "3 in input.b", "input.c", "every x in input.b { x > 1 }", "some x in []", "false"]
    heads = ["r if {", "r {", "r := y if { y := 1;", "r contains y if { some y in input.b;", "r[y] = 1 { y := 2\n"]
    parts = st.lists(
        st.tuples(
            st.sampled_from([*((text, True) for text in true), *((text, False) for text in false)]),
            st.sampled_from([";", "\n", " ;\n# c }\n", "\n\n  "]),
        ),
        min_size=1,
        max_size=9,
    )

    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(heads), parts)
    def check(head: str, parts: list[tuple[tuple[str, bool], str]]) -> None:
        text = f"package p\n{head} {''.join(each + after for (each, _), after in parts)} }}\n"
        extra = len(read(text).rules[0].body) - len(parts)
        truths = [True] * extra + [holds for (_, holds), _ in parts]
        clauses = explaining(text)
        assert [each.failed.text if each.failed else None for each in clauses] == [first_false(read(text), truths)]
        assert [each.held for each in clauses] == [all(truths)]

    check()


def explaining(text: str) -> tuple[Clause, ...]:
    """The same, step by step without a loop: the evaluation never waits."""
    steps = explain_clauses(text, "r", asking("p/r"))
    try:
        steps.send(None)
    except StopIteration as end:
        found: tuple[Clause, ...] = end.value
        return found
    raise AssertionError("it waited")


def test_the_search_for_the_first_false_expression_notices_another_one() -> None:
    text = "package p\nr if { input.a == 1; input.c; input.d }\n"
    assert first_false(read(text), [True, False, False]) == "input.c"
    (clause,) = explaining(text)
    assert clause.failed is not None
    assert clause.failed.text != first_false(read(text), [True, True, False])
    assert clause.failed.text != first_false(read(text), [False, False, False])
