"""What is read from a text of Rego."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.policies.forms import AUTHZ, FORMS, Form, clause_in
from tests.sizes import sized

from recollect.backends.rego.clauses import only, up_to, without
from recollect.backends.rego.lexer import Kind, Token, tokens_of
from recollect.backends.rego.source import read

PIECES = [
    *'()[]{}.,;:#$"`\\|&=<>!+-*/%_ \t\r\n\0\ufeff0é日\ud800',
    *('$"{', "$`{", ":=", "==", "1e", "0x", "1.5", "# METADATA", "# title: x", "package p", "import data.a as b"),
    *("default r := 1", "r if {", "r contains x if ", "else", "some", "every", "not", "with", "as", "in", "if", "r"),
    *("x", "f(x)", "r[x]", "r.s", "a := 1", "\nallow if { x == 1 }\n"),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=60).map("".join)


# Tokens


def flaws_in(text: str, tokens: list[Token]) -> list[str]:
    """What is wrong with the tokens of a text, whatever the text."""
    found, at = [], 0
    for token in tokens:
        if token.start < at or token.end <= token.start or text[token.start : token.end] != token.text:
            found.append(f"{token} is not what stands there")
        if text[at : token.start].strip(" \t\r\n" + ("\ufeff" if at == 0 else "")):
            found.append(f"something is left out before {token}")
        before = text[: token.start]
        if (token.line, token.column) != (before.count("\n") + 1, token.start - before.rfind("\n")):
            found.append(f"{token} has a wrong place")
        at = token.end
    return found + (["something is left out at the end"] if text[at:].strip(" \t\r\n\ufeff") else [])


def test_tokens_are_exact() -> None:
    text = 'a.b_1 := -1.5e3 # c\r\n`r\n"w`["\\"{}", $"x{y}z"] >= {$`a\\{{"b"}c{1}`}'
    assert [(token.kind.value, token.text) for token in tokens_of(text)] == [
        *(("name", "a"), ("operator", "."), ("name", "b_1"), ("operator", ":="), ("operator", "-")),
        *(("number", "1.5e3"), ("comment", "# c"), ("string", '`r\n"w`'), ("open", "["), ("string", '"\\"{}"')),
        *(("operator", ","), ("open", '$"x{'), ("name", "y"), ("close", '}z"'), ("close", "]"), ("operator", ">=")),
        *(("open", "{"), ("open", "$`a\\{{"), ("string", '"b"'), ("middle", "}c{"), ("number", "1")),
        *(("close", "}`"), ("close", "}")),
    ]
    assert [(token.line, token.column) for token in tokens_of("a\n\tb `\n` c")] == [(1, 1), (2, 2), (2, 4), (3, 3)]


@pytest.mark.parametrize("rest", ['"a', '"a\n b', "`a\nb", '$"a', '$"a\n{x}', "$`a", '"\\', '$"{x}y\n', '"a\\\n"'])
def test_what_is_not_terminated_becomes_one_last_token(rest: str) -> None:
    *before, last = tokens_of(f"allow := {rest}")
    assert last.kind is Kind.ERROR
    assert last.end == len(f"allow := {rest}")
    assert all(token.kind is not Kind.ERROR for token in before)


@pytest.mark.parametrize("text", ["!", "$", "\0", "0x1", "1e", "\u00a0", "é"])
def test_what_is_no_rego_is_an_error_and_the_rest_is_still_read(text: str) -> None:
    assert [token.kind for token in tokens_of(f"a {text} b")] == [Kind.NAME, Kind.ERROR, Kind.NAME]
    assert read(f"package p\n{text}\nr := 1").rules[0].name == "r"
    assert read(f"package p\n{text}\nr := 1").problems


@sized(300, 20_000)
def test_any_text_has_tokens_and_can_be_read(count: int) -> None:
    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @example("r if {(\n")
    @given(texts)
    def check(text: str) -> None:
        assert flaws_in(text, tokens_of(text)) == []
        source = read(text)
        for rule in source.rules:
            assert text[slice(*rule.span)].startswith("default" if rule.default else rule.name)
            assert rule.span[0] <= rule.head[0] <= rule.head[1] <= rule.span[1]
            places = [rule.head[1], *(place for expression in rule.body for place in expression.span), rule.span[1]]
            assert places == sorted(places)
            assert all(text[slice(*expression.span)] == expression.text for expression in rule.body)
            for variation in (only(text, rule), up_to(text, rule, 0), up_to(text, rule, 1), without(text, rule.name)):
                assert variation.count("\n") == text.count("\n")

    check()


def test_the_fuzz_notices_tokens_that_are_wrong() -> None:
    tokens = tokens_of(AUTHZ)
    assert flaws_in(AUTHZ, tokens) == []
    assert flaws_in(AUTHZ, tokens[:5] + tokens[6:])
    assert flaws_in(AUTHZ, [*tokens[:5], tokens[5]._replace(column=tokens[5].column + 1), *tokens[6:]])
    assert flaws_in(AUTHZ, [*tokens[:5], tokens[5]._replace(line=tokens[5].line + 1), *tokens[6:]])
    assert flaws_in(AUTHZ, tokens[:-1])


def growth(work: Callable[[str], object], piece: str, size: int) -> float:
    """How many times longer a text takes that is four times longer."""

    def spent(text: str) -> float:
        started = time.process_time()
        work(text)
        return time.process_time() - started

    text = piece * (size // len(piece))
    return min(spent(text) for _ in range(3)) / max(min(spent(text[: size // 4]) for _ in range(3)), 1e-3)


@sized(1 << 15, 1 << 20)
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[",
            "{",
            "(]",
            '"',
            "`",
            '\\"',
            '$"{',
            "$`{",
            "#\n",
            "}{",
            "\0",
            "a ",
            "-",
            "-x ",
            "a,",
            "x:=1 ",
            "a.",
            "a[",
        ),
        *("x:=a,b+", "r if { x\n", "every ", "# METADATA\n# title: a\nr:=1\n", "r{a,b\n", "in ", "1.", "else ", ";"),
    ],
)
def test_time_grows_with_the_length_of_the_text(piece: str, count: int) -> None:
    assert growth(read, piece, count) < 10


def test_the_measure_of_time_notices_what_is_quadratic() -> None:
    assert growth(lambda text: [text[:at].count("\n") for at in range(0, len(text), 64)], "{\n", 1 << 18) > 10


# What is read


def test_the_rules_of_a_module_are_read() -> None:
    source = read(AUTHZ)
    assert source.package == ("memories", "authz")
    assert [(each.path, each.line) for each in source.imports] == [(("future", "keywords", "in"), 3)]
    assert source.problems == ()
    default, own, admin = source.rules
    assert (default.name, default.default, default.line, default.title) == ("allow", True, 5, "")
    assert (own.name, own.default, own.line, own.column) == ("allow", False, 8, 1)
    assert own.title == "Users access their own namespace subtree"
    assert [(each.line, each.text) for each in own.body] == [
        (9, 'input.namespace[0] == "user"'),
        (10, "input.namespace[1] == input.context.user_id"),
    ]
    assert (admin.line, admin.title) == (14, "Admins access everything")
    assert AUTHZ[slice(*admin.span)].startswith("allow if {\n")
    assert AUTHZ[slice(*admin.span)].endswith("roles\n}")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
def test_every_form_of_a_clause_is_read(form: Form) -> None:
    text, rule = clause_in(form.text)
    assert [each.name for each in read(text).rules] == ["unrelated", "r", "unrelated"]
    assert read(text).problems == ()
    assert text[slice(*rule.span)] == form.text
    assert (rule.line, rule.column) == (5, 1)
    assert tuple(expression.text for expression in rule.body) == form.body
    assert (rule.value.text if rule.value else None) == form.value
    assert (rule.ref, rule.depth, rule.default, rule.is_function) == (form.ref, form.depth, False, False)


@pytest.mark.parametrize(
    ("text", "name", "signature", "body"),
    [
        ("f(x) := y if { y := x + 1 }", "f", "f(x)", 1),
        ("f(x) if x > 1", "f", "f(x)", 1),
        ("f(x, [y, _]) = z { z := x; y }", "f", "f(x, [y, _])", 2),
        ("f(1) := 2", "f", "f(1)", 0),
        ("a.b.f(x)\n  if { x }", "a", "a.b.f(x)", 1),
        ("contains(x) if x", "contains", "contains(x)", 1),
        ("default f(_) := 1", "f", "f(_)", 0),
    ],
)
def test_functions_are_read(text: str, name: str, signature: str, body: int) -> None:
    rule = read(text).rules[0]
    assert (rule.name, rule.is_function, len(rule.body)) == (name, True, body)
    assert text[slice(*rule.signature)] == signature


def test_the_package_and_the_imports_are_read() -> None:
    source = read('# c\npackage a["b-c"].d\nimport data.x.y\nimport input["k\\u00e9"] as z\nimport rego.v1\nr := 1')
    assert source.package == ("a", "b-c", "d")
    assert [(each.path, each.alias, each.line) for each in source.imports] == [
        (("data", "x", "y"), "", 3),
        (("input", "ké"), "z", 4),
        (("rego", "v1"), "", 5),
    ]
    assert read("r := 1").package == ()


def test_tests_are_known_by_their_names() -> None:
    source = read("package p\ntest_a if true\ntest_a if false\ntodo_test_b if { x }\ntesting := 1\nmy_test_c := 1")
    assert source.tests == ("test_a", "todo_test_b")


@pytest.mark.parametrize(
    ("above", "title"),
    [
        ("# Own\n#   subtree\n#\n# only\n", "Own subtree only"),
        ("# Elsewhere\n\n# Here\n", "Here"),
        ("# Elsewhere\n\n", ""),
        ("x := 1 # of x\n", ""),
        ("# of x\nx := 1\n", ""),
        ("x if {\n  true\n  # inside\n}\n", ""),
        ("## Decorated ##\n", "Decorated ##"),
        ("# METADATA\n# title: Own subtree\n# description: longer\n", "Own subtree"),
        ("# METADATA\n# description: |\n#   on two\n#   lines\n# custom:\n#   title: no\n", "on two lines"),
        ("# METADATA\n# title: 'it''s'\n\n", "it's"),
        ('# METADATA\n# scope: rule\n# title: "a \\"b\\"" \n', 'a "b"'),
        ("# METADATA\n# scope: document\n# title: all\n# METADATA\n# title: this\n", "this"),
        ("# METADATA\n# scope: document\n# title: all\n\n# plain\n", "all"),
        ("# METADATA\n# scope: package\n# title: all\n\n# plain\n", "plain"),
        ("# plain\n# METADATA\n# entrypoint: true\n", "plain"),
        ("# METADATA\n# : [ no YAML\n", ""),
    ],
)
def test_the_title_comes_from_the_comments_above(above: str, title: str) -> None:
    assert read(f"package p\n\n{above}r if true\n").rules[-1].title == title


def test_a_title_belongs_to_one_clause() -> None:
    rules = read("package p\n# one\na := 1\nb := 2 c := 3\n# two\nd := 4").rules
    assert [(rule.name, rule.title) for rule in rules] == [("a", "one"), ("b", ""), ("c", ""), ("d", "two")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("package p\nr if {\n", ["r"]),
        ("package p\nr if { a b }\ns := 1", ["r", "s"]),
        ("package p\nr :=\n) s := 1\nt := 2", ["r", "t"]),
        ("package p\n) := 1\nr := 1", ["r"]),
        ("package p\nr if { ( }\ns := 1", ["r", "s"]),
        ("package p\n== 3\nr := 1", ["r"]),
        ("package\nimport\nr if", ["r"]),
        ("package p\nr if { == }\ns := 1", ["r", "s"]),
        ('package p\nr := 1\ns := "no end\nt := 2', ["r", "s"]),
    ],
)
def test_of_a_malformed_text_is_read_what_can_be_told(text: str, names: list[str]) -> None:
    source = read(text)
    assert [rule.name for rule in source.rules] == names
    assert source.problems
