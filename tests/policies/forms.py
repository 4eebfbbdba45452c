"""Clauses in every form that Rego has for them, and what an engine must find in each."""

from __future__ import annotations

from typing import Any, NamedTuple

from recollect.backends.rego.source import Rule, read

AUTHZ = """package memories.authz

import future.keywords.in

default allow = false

# Users access their own namespace subtree
allow if {
    input.namespace[0] == "user"
    input.namespace[1] == input.context.user_id
}

# Admins access everything
allow if {
    "admin" in input.context.jwt_claims.roles
}
"""


class Form(NamedTuple):
    """A clause of the rule `r`, or of whatever is in its place; `failed` is what of it does not hold for `INPUT`."""

    text: str
    failed: str | None = None
    body: tuple[str, ...] = ()
    value: str | None = None
    depth: int = 0
    ref: str = "r"


INPUT: dict[str, Any] = {
    "a": 1,
    "b": [1, 2],
    "o": {"k": "v", "if": 3},
    "user": "ada",
    "roles": ["reader", "writer"],
}

FORMS = (
    # with `if`
    Form("r if { input.a == 1 }", None, ("input.a == 1",)),
    Form("r if { input.a == 2 }", "input.a == 2", ("input.a == 2",)),
    Form("r if {\n  input.a == 1\n  input.user == `ada`\n}", None, ("input.a == 1", "input.user == `ada`")),
    Form(
        "r if {\n  input.a == 1\n  input.user == `bob`\n}",
        "input.user == `bob`",
        ("input.a == 1", "input.user == `bob`"),
    ),
    Form(
        "r if { input.a == 1; input.a == 2; input.a == 3 }",
        "input.a == 2",
        ("input.a == 1", "input.a == 2", "input.a == 3"),
    ),
    Form("r if input.a == 1", None, ("input.a == 1",)),
    Form("r if not input.a == 1", "not input.a == 1", ("not input.a == 1",)),
    Form("r if\n{\n  input.a > 5 }", "input.a > 5", ("input.a > 5",)),
    Form("r\nif { true }", None, ("true",)),
    Form('r := "no" if not input.c', None, ("not input.c",), '"no"'),
    Form("r := x if { x := input.a; x == 1 }", None, ("x := input.a", "x == 1"), "x"),
    Form("r := x if { x := input.a; x == 2 }", "x == 2", ("x := input.a", "x == 2"), "x"),
    Form("r := x if { input.a == 2; x := input.a }", "input.a == 2", ("input.a == 2", "x := input.a"), "x"),
    Form("r := [x, y] if { x := 1; y := input.c }", "y := input.c", ("x := 1", "y := input.c"), "[x, y]"),
    Form(
        'r := {\n  "a": x,\n  "b": 2,\n} if { x := 1\n x == 2 }',
        "x == 2",
        ("x := 1", "x == 2"),
        '{\n  "a": x,\n  "b": 2,\n}',
    ),
    Form("r := input.c if { input.a == 1 }", "input.c", ("input.a == 1",), "input.c"),
    Form("r = 3 if input.a == 2", "input.a == 2", ("input.a == 2",), "3"),
    Form("r := false if { input.a == 1 }", None, ("input.a == 1",), "false"),
    # without
    Form("r { input.a == 1 }", None, ("input.a == 1",)),
    Form("r{input.a == 2}", "input.a == 2", ("input.a == 2",)),
    Form("r = true { input.a == 1; input.c }", "input.c", ("input.a == 1", "input.c"), "true"),
    Form("r = x { x = input.a; x > 1 }", "x > 1", ("x = input.a", "x > 1"), "x"),
    Form("r := true\n{\n  input.c\n}", "input.c", ("input.c",), "true"),
    Form("r := 1", None, (), "1"),
    Form("r = input.c", "input.c", (), "input.c"),
    Form("r := [x | some x in input.b; x > 1]", None, (), "[x | some x in input.b; x > 1]"),
    Form("r := {1,\n  2} | {3}", None, (), "{1,\n  2} | {3}"),
    # several values
    Form("r contains x if { some x in input.b }", None, ("some x in input.b",), "x", 1),
    Form("r contains x if { some x in input.b; x > 5 }", "x > 5", ("some x in input.b", "x > 5"), "x", 1),
    Form('r contains {"m": m} if { m := input.c }', "m := input.c", ("m := input.c",), '{"m": m}', 1),
    Form('r contains "a" if input.a == 2', "input.a == 2", ("input.a == 2",), '"a"', 1),
    Form('r contains "a"', None, (), '"a"', 1),
    Form("r contains input.c", "input.c", (), "input.c", 1),
    Form("r[x] { x := input.b[_] }", None, ("x := input.b[_]",), None, 1, "r[x]"),
    Form("r[x] { x := input.b[_]; x > 5 }", "x > 5", ("x := input.b[_]", "x > 5"), None, 1, "r[x]"),
    Form("r [x] { x := input.b[_] }", None, ("x := input.b[_]",), None, 1, "r [x]"),
    Form("r[x] if some x in input.c", "some x in input.c", ("some x in input.c",), None, 1, "r[x]"),
    Form("r[k] := v if { v := input.o[k] }", None, ("v := input.o[k]",), "v", 1, "r[k]"),
    Form('r[k] := v if { v := input.o[k]; v == "w" }', 'v == "w"', ("v := input.o[k]", 'v == "w"'), "v", 1, "r[k]"),
    Form("r[k] = v { v = input.o[k]; k == `k` }", None, ("v = input.o[k]", "k == `k`"), "v", 1, "r[k]"),
    Form("r[input.c] := 1 if { input.a == 1 }", "1", ("input.a == 1",), "1", 1, "r[input.c]"),
    Form("r[input.c] if { input.a == 1 }", "r[input.c]", ("input.a == 1",), None, 1, "r[input.c]"),
    Form("r.s.t if input.a == 1", None, ("input.a == 1",), None, 2, "r.s.t"),
    Form("r.s.t if input.a == 2", "input.a == 2", ("input.a == 2",), None, 2, "r.s.t"),
    Form('r.s["t u"] := {} if { input.a == 1 }', None, ("input.a == 1",), "{}", 2, 'r.s["t u"]'),
    Form(
        "r.s[k].t := v if { some k, v in input.o; v == 4 }",
        "v == 4",
        ("some k, v in input.o", "v == 4"),
        "v",
        3,
        "r.s[k].t",
    ),
    Form("r.s contains x if { some x in input.b; x == 3 }", "x == 3", ("some x in input.b", "x == 3"), "x", 2, "r.s"),
    # what follows the first body
    Form("r if { input.a == 2 } else := 3 if { input.a == 1 }", None, ("input.a == 2",)),
    Form("r if { input.a == 2 } else := 3 if { input.a == 3 }", "input.a == 2", ("input.a == 2",)),
    Form("r := 1 if input.a == 2\n\n# or\nelse := 2 if input.a == 3\nelse := 3", None, ("input.a == 2",), "1"),
    Form("r = 1 { input.a == 2 } else = x { x := input.a; x == 3 }", "input.a == 2", ("input.a == 2",), "1"),
    Form("r { input.a == 2 } else { input.a == 1 }", None, ("input.a == 2",)),
    Form("r { input.a == 2 } { input.a == 1 }", None, ("input.a == 2",)),
    Form("r { input.a == 2 }\n{ input.c }", "input.a == 2", ("input.a == 2",)),
    # expressions that go on
    Form("r if {\n  input.a +\n    1 == 3\n  true\n}", "input.a +\n    1 == 3", ("input.a +\n    1 == 3", "true")),
    Form("r if {\n  input.a\n  == 1\n  false\n}", "false", ("input.a\n  == 1", "false")),
    Form(
        "r if {\n  x := [1,\n    2] # two\n  count(x) == 3\n}", "count(x) == 3", ("x := [1,\n    2]", "count(x) == 3")
    ),
    Form("r if {\n  x := input.b\n  [y] := [1]\n  y == x\n}", "y == x", ("x := input.b", "[y] := [1]", "y == x")),
    Form(
        "r if { every x in input.b { x > 0; x < 2 } }",
        "every x in input.b { x > 0; x < 2 }",
        ("every x in input.b { x > 0; x < 2 }",),
    ),
    Form(
        "r if {\n  every i, x in input.b {\n    x > i\n  }\n  input.c\n}",
        "input.c",
        ("every i, x in input.b {\n    x > i\n  }", "input.c"),
    ),
    Form("r if { some i; input.b[i] == 2; i == 0 }", "i == 0", ("some i", "input.b[i] == 2", "i == 0")),
    Form("r if { some k, v in input.o; k == v }", "k == v", ("some k, v in input.o", "k == v")),
    Form("r if { 0, 1 in input.b; 1, 1 in input.b }", "1, 1 in input.b", ("0, 1 in input.b", "1, 1 in input.b")),
    Form("r if input.a == 3 with input.a as 3", None, ("input.a == 3 with input.a as 3",)),
    Form(
        "r if {\n  input.a == 1\n    with input.a as 1\n    with input.b as []\n  input.b == []\n}",
        "input.b == []",
        ("input.a == 1\n    with input.a as 1\n    with input.b as []", "input.b == []"),
    ),
    Form(
        'r if { $"{input.user}!" == "ada!"; $`{input.user}` == "a}" }',
        '$`{input.user}` == "a}"',
        ('$"{input.user}!" == "ada!"', '$`{input.user}` == "a}"'),
    ),
    Form(
        'r if { input.user != "}"; "\\"{" == `{`; # }\n  true }',
        '"\\"{" == `{`',
        ('input.user != "}"', '"\\"{" == `{`', "true"),
    ),
    Form("r if { input.o.if == 3; input.o.not }", "input.o.not", ("input.o.if == 3", "input.o.not")),
    Form("r if { -1 < input.a; input.a - 1 > 0 }", "input.a - 1 > 0", ("-1 < input.a", "input.a - 1 > 0")),
    # values that look like bodies
    Form('r if {"a": 1} == input.o', '{"a": 1} == input.o', ('{"a": 1} == input.o',)),
    Form("r if {x | some x in input.b} == {1}", "{x | some x in input.b} == {1}", ("{x | some x in input.b} == {1}",)),
    Form("r if {1} == {2}", "{1} == {2}", ("{1} == {2}",)),
    Form("r if {}", None, ("{}",)),
    Form("r if {true}", None, ("true",)),
    # names that are bound further down
    Form("r if { u > 1; u = input.a }", "u > 1", ("u > 1", "u = input.a")),
    Form("r if { u == 1; u = input.a; input.c }", "input.c", ("u == 1", "u = input.a", "input.c")),
    Form("r if { v = u + 1; u = input.a; v == 3 }", "v == 3", ("v = u + 1", "u = input.a", "v == 3")),
    Form("r if { not u == v; u = input.a; v = input.a }", "not u == v", ("not u == v", "u = input.a", "v = input.a")),
    Form("r if { u = v; v = input.a; u == 2 }", "u == 2", ("u = v", "v = input.a", "u == 2")),
    Form("r if { z > 1; input.b[z] == 2 }", "z > 1", ("z > 1", "input.b[z] == 2")),
    Form("r := u if { u = v; [v, w] = input.b; w == 3 }", "w == 3", ("u = v", "[v, w] = input.b", "w == 3"), "u"),
    Form("r if { x = input.a; x = 3 }", "x = 3", ("x = input.a", "x = 3")),
    Form(
        "r if { split(input.user, `d`, parts); first = parts[0]; first == `b` }",
        "first == `b`",
        ("split(input.user, `d`, parts)", "first = parts[0]", "first == `b`"),
    ),
)


def module(form: str) -> str:
    """The clause between others."""
    return f"package p\n\ndefault unrelated := 0\n\n{form}\n\nunrelated := 1 if input.a == 1\n"


def clause_in(form: str) -> tuple[str, Rule]:
    text = module(form)
    return text, read(text).rules[1]
