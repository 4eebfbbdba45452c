"""Policies that mean harm, or do it: what each holds, and what must become of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

AUTHZ = "package memories.authz\n\nimport rego.v1\n\n"
FILTER = "package memories.filter\n\nimport rego.v1\n\n"
ATTRIBUTES = "package memories.attributes\n\nimport rego.v1\n\n"
REVIEW = "package memories.review\n\nimport rego.v1\n\n"
OWN = 'allow if {\n\tinput.namespace[0] == "user"\n\tinput.namespace[1] == input.context.user_id\n}\n'
ENDLESS = "count([1 | some a in xs; some b in xs; some c in xs; some d in xs; a != b; c != d]) == 0"
MANY = ", ".join(map(str, range(300)))
SLOW = f"slow if {{\n\txs := [{MANY}]\n\t{ENDLESS}\n}}\n\n"


class Hostile(NamedTuple):
    """A bundle, and what its refusal says; without that, it is accepted and must be denied or bounded."""

    modules: Mapping[str, str]
    says: str | None = None
    """A part of what the refusal says."""
    within: str = "authz.rego"
    """The module that the refusal names; nothing where none is to blame."""


def authz(text: str, says: str | None = None, within: str = "authz.rego") -> Hostile:
    """A package that decides."""
    return Hostile({"authz.rego": AUTHZ + text}, says, within)


def calling(call: str, says: str) -> Hostile:
    """A policy that is sound but for one call."""
    return authz(f"{OWN}\nallow if {{\n\t{call}\n}}\n", says)


def nested(levels: int) -> str:
    """An array in an array, and so on."""
    return "[" * levels + "1" + "]" * levels


REFUSED: dict[str, Hostile] = {
    # -- reaching beyond the input
    "reads the environment": calling('opa.runtime().env.PLANTED != ""', "opa.runtime"),
    "sends the input away": calling(
        'http.send({"method": "post", "url": "http://127.0.0.1:9/", "body": input}).status_code == 200', "http.send"
    ),
    "asks for an address": calling('count(net.lookup_ip_addr("localhost")) > 0', "net.lookup_ip_addr"),
    "looks at the clock": calling("time.now_ns() > 0", "time.now_ns"),
    "throws dice": calling('rand.intn("x", 2) == 1', "rand.intn"),
    "makes an identity": calling('uuid.rfc4122("x") != ""', "uuid.rfc4122"),
    "replaces http.send": authz(
        f"{OWN}\nfake(_) := 1\n\nallow if {{\n\tallowed with http.send as fake\n}}\n\nallowed if input.key\n", "with"
    ),
    "replaces the environment": authz(
        f"{OWN}\nallow if {{\n\tallowed with opa.runtime as {{}}\n}}\n\nallowed if input.key\n", "with"
    ),
    "replaces the input": authz(
        f'{OWN}\nallow if {{\n\tallowed with input.key as "x"\n}}\n\nallowed if input.key == "x"\n', "with"
    ),
    "replaces the input by nothing": authz(
        f"{OWN}\nallow if {{\n\tallowed with input as data.nowhere\n}}\n\nallowed if input.key\n", "with"
    ),
    "checks a signature at length": calling('io.jwt.verify_rs256(input.key, "x")', "io.jwt.verify_rs256"),
    # -- never ending
    "calls itself": authz("f(x) if f(x)\n\nallow if f(1)\n", "calls itself", ""),
    "calls itself with ever less": authz(
        "f(x) := f(x.a) if {\n\tis_number(x.b)\n\tx.b > 1\n}\n\nallow if f(input.value) == 1\n", "calls itself", ""
    ),
    "two call each other": authz("a if b\n\nb if a\n\nallow if a\n", "calls itself", ""),
    "two deny each other": authz("a if not b\n\nb if not a\n\nallow if a\n", "calls itself", ""),
    "calls itself through all data": authz("allow if data[x].y\n", "", ""),
    "calls itself through its package": authz("allow if {\n\tdata.memories.authz[x] == 1\n}\n", "", ""),
    "counts very far": calling("count(numbers.range(1, 1000000000)) == 1", "numbers.range"),
    "looks for patterns for ever": calling('regex.match("(a+)+$", input.key)', "regex.match"),
    "replaces nothing by something": calling('strings.replace_n({"": "xx"}, input.key) == "x"', "strings.replace_n"),
    # -- allowing what must be denied
    "allows everything": authz("allow := true\n", "a stranger", ""),
    "allows every read": authz('allow if input.operation == "read"\n', "reads another user's", ""),
    "allows by the beginning of a name": authz(
        "allow if startswith(input.namespace[1], input.context.user_id)\n", "begins with their own", ""
    ),
    "allows the unheard of": authz(
        f'{OWN}\nallow if {{\n\tnot input.namespace[0] == "user"\n\tnot input.namespace[0] == "system"\n}}\n',
        "nobody has ever heard of",
        "",
    ),
    "opens everything to searches": Hostile(
        {"filter.rego": FILTER + "namespace_prefix := []\n\nattribute_filter := {}\n"}, "searches", ""
    ),
    "opens what is asked for": Hostile(
        {"filter.rego": FILTER + "namespace_prefix := input.namespace_prefix\n\nattribute_filter := {}\n"},
        "searches",
        "",
    ),
    # -- reading otherwise than OPA
    "denies by a rule that is not there": authz(f"{OWN}\nallow if {{\n\tnot denied\n}}\n", "has no value"),
    "denies by a function that is not there": authz(
        "allow if {\n\tx := input.key\n\tnot denied(x)\n}\n", "no function denied"
    ),
    "denies with an argument too many": authz(
        'denied(x) if x == "k"\n\nallow if {\n\tx := input.key\n\tnot denied(x, 1)\n}\n', ""
    ),
    "denies by what may be missing": authz("allow if not input.value.level > 3\n", "reads this `not` otherwise"),
    "compares whatever comes": authz(
        f"denied if input.value.level > 3\n\nallow if not denied\n\n{OWN}", "not certain that this compares"
    ),
    "borrows a value from another clause": authz(
        'allow if {\n\tx := input.key\n\tx == "a"\n}\n\nallow if {\n\tx == "b"\n}\n', "has no value"
    ),
    "writes rules as they used to be": authz('allow {\n\tinput.key == "k"\n}\n', "`if`"),
    "gives the input another value": authz("allow if {\n\tinput := {}\n\tinput == {}\n}\n", "input cannot"),
    # -- packages and names
    "has no package": Hostile({"authz.rego": "allow := true\n"}, "begins with its package"),
    "rules over the settings": Hostile(
        {
            "authz.rego": AUTHZ + OWN + '\nallow if "x" in data.recollect.filterable_attributes\n',
            "x.rego": 'package recollect\n\nfilterable_attributes := ["x"]\n',
        },
        "recollect is taken",
        "",
    ),
    "stands in the way of a package": Hostile(
        {
            "authz.rego": AUTHZ + OWN + "\nallow if data.memories.authz.x.y\n",
            "x.rego": "package memories.authz.x\n\ny := false\n",
            "z.rego": 'package memories.authz\n\nx := {"y": true}\n',
        },
        "",
        "",
    ),
    "shadows a package that is not there": authz("import foo.bar\n\nallow if not bar.x\n", "import foo.bar"),
    "computes attributes from the caller": Hostile(
        {"attributes.rego": ATTRIBUTES + 'attributes := {"by": input.context.user_id}\n'}, "input.context", ""
    ),
    # -- what breaks compilers
    "nests deeply": authz(f"x := {nested(20_000)}\n\nallow if x == 1\n", "", ""),
    "nests bodies deeply": authz("allow if {\n" + "count([1 | " * 800 + "true" + "]) == 1" * 800 + "\n}\n", "", ""),
    "has a number without end": authz(f"allow if input.value.n == {'9' * 100_000}.5\n", "", ""),
    "has a number beyond all measure": authz("allow if input.value.n == 1e999999\n", "1e999999", ""),
    "is no Rego": authz("allow if {\n", "unclosed"),
    "has half a character": authz('allow if input.key == "\\ud800"\n', "half a character"),
    "uses the private range": authz('allow if input.key == "\U0010ff22"\n', "private range"),
    "fails its own test": Hostile(
        {"authz.rego": AUTHZ + OWN, "authz_test.rego": "package x\n\nimport rego.v1\n\ntest_it if false\n"},
        "test_it",
        "",
    ),
    "has a test that does not end": Hostile(
        {
            "authz.rego": AUTHZ + OWN,
            "authz_test.rego": f"package x\n\nimport rego.v1\n\n{SLOW}test_it if slow\n",
        },
        "test_it",
        "",
    ),
    "has many tests that do not end": Hostile(
        {
            "authz.rego": AUTHZ + OWN,
            "authz_test.rego": f"package x\n\nimport rego.v1\n\n{SLOW}"
            + "".join(f"test_{number} if slow\n\n" for number in range(500)),
        },
        "test_",
        "",
    ),
    "has a test that breaks the engine": Hostile(
        {
            "authz.rego": AUTHZ + OWN,
            "authz_test.rego": "package x\n\nimport rego.v1\n\n"
            "test_it if {\n\tdata.memories.authz.allow with input as data.nowhere\n}\n",
        },
        "",
        "",
    ),
}


# Accepted by some versions of the engine and refused by others: either way, nothing comes of them.
# The key `bomb` sets them off, so that the questions of the check do not.
BOMB = 'input.key == "bomb"'
_CHAIN = "\n\n".join(f"f{each}(x) if f{each + 1}(x)" for each in range(500))


def bomb(body: str, rules: str = "") -> Hostile:
    """A policy that is sound, unless a key is `bomb`."""
    return authz(f"{OWN}\n{rules}\n\nallow if {{\n\t{BOMB}\n\t{body}\n}}\n")


XS = f"xs := [{MANY}]"


def doubled(times: int) -> str:
    """A text that is twice as long with every line."""
    lines = [f'a{each + 1} := concat("", [a{each}, a{each}])' for each in range(times)]
    return "\n\t".join(['a0 := "0123456789abcdef"', *lines])


def _saying(times: int) -> str:
    return (
        f'{AUTHZ}{OWN}\ndecision := {{"allow": true}} if {{\n\tallow\n\tnot {BOMB}\n}}\n\n'
        f'decision := {{"allow": false, "reason": a{times}}} if {{\n\t{BOMB}\n\t{doubled(times)}\n}}\n'
    )


BOUNDED: dict[str, Hostile] = {
    "multiplies ranges": bomb("slow", SLOW),
    "multiplies ranges to deny": authz(f"{OWN}\n{SLOW}\ndenied if {{\n\t{BOMB}\n\tslow\n}}\n"),
    "doubles a text": bomb(f'{doubled(40)}\n\ta40 == "x"'),
    "makes an array of all": bomb("ys := [[a, b, c, d] | some a in xs; some b in xs; some c in xs; some d in xs]", XS),
    "makes a set of all": bomb("ys := {[a, b, c, d] | some a in xs; some b in xs; some c in xs; some d in xs}", XS),
    "makes an object of all": bomb(
        'ys := {concat("-", [a, b, c, d]): 1 | some a in texts; some b in texts; some c in texts; some d in texts}',
        f"{XS}\n\ntexts := [format_int(x, 10) | some x in xs]",
    ),
    "asks all of all": bomb(
        "every a in xs {\n\t\tsome b in xs\n\t\tsome c in xs\n\t\tsome d in xs\n\t\tsum([a, b, c, d]) == 0 - a\n\t}", XS
    ),
    "keeps a set of all": bomb(
        "count(ys) == 1", f"{XS}\n\nys contains [a, b, c] if {{\n\tsome a in xs\n\tsome b in xs\n\tsome c in xs\n}}"
    ),
    "splits without end": bomb(f'{doubled(20)}\n\tcount(split(a20, "")) == 1'),
    "joins without end": bomb(f'{doubled(20)}\n\tcount(replace(a20, "", a20)) == 1'),
    "walks through everything": bomb("count([1 | walk(input, [_, a]); walk(input, [_, b]); a != b]) == 1"),
    "looks for a hard pattern": bomb('regex.match("^(([a-z])+.)+[A-Z]([a-z])+$", concat("", [input.key, "a"]))'),
    "looks for a hard glob": bomb('glob.match("{a*,a*a*,a*a*a*}{a*,a*a*}b", ["/"], concat("", [input.key, "aaaa"]))'),
    "replaces a lot": bomb('strings.replace_n({"b": "bb", "o": "oo"}, input.key) == "x"'),
    "calls very deep": bomb("f0(1)", f"{_CHAIN}\n\nf500(x) if x == 2"),
    "says two things": authz(f"{OWN}\nallow := false if {BOMB}\n"),
    "says much": Hostile({"authz.rego": _saying(15)}),
    "says too much": Hostile({"authz.rego": _saying(22)}),
    "prints a flood": bomb("every x in [1, 2] {\n\t\tprint(x, input)\n\t}"),
    "is printed at": bomb('print("bomb")\n\tinput.key == "no"'),
    "has many modules": Hostile(
        {
            "authz.rego": AUTHZ + OWN + f"\nallow if {{\n\t{BOMB}\n\tdata.m62.x == 2\n}}\n",
            **{f"m{each}.rego": f"package m{each}\n\nx := 1\n" for each in range(63)},
        }
    ),
    "has one module of the largest size": Hostile(
        {"authz.rego": AUTHZ + OWN + "\n" + "".join(f'x{each} := "{"y" * 320}"\n' for each in range(1_500))}
    ),
    "has a text without end": bomb(f'input.value.text == "{"y" * 400_000}"'),
    "has clauses without end": authz(
        OWN + "".join(f'\nallow if {{\n\t{BOMB}\n\tinput.operation == "{each}"\n}}\n' for each in range(500))
    ),
    "passes the input around": bomb(
        "f0(input)",
        "\n\n".join(f"f{each}(x) if f{each + 1}(x.a)\n\nf{each}(x) if f{each + 1}(x.b)" for each in range(24))
        + "\n\nf24(x) if x == 1",
    ),
}
