"""Random policies: valid ones, careless ones and wrong ones, and the inputs to try them on."""

from __future__ import annotations

from random import Random
from typing import Any

PATHS = (
    "input.operation",
    "input.key",
    "input.namespace[0]",
    "input.namespace[1]",
    "input.namespace[2]",
    "input.context.user_id",
    "input.context.client_id",
    "input.context.jwt_claims.team",
    "input.context.jwt_claims.level",
    "input.context.jwt_claims.profile.region",
    "input.value.kind",
    "input.value.score",
    "input.value.flag",
)
LISTS = (
    "input.namespace",
    "input.context.roles",
    "input.context.jwt_claims.projects",
    "input.value.tags",
    '["admin", "ann"]',
    '{"user", "project", 1}',
)
TYPOS = ("input.context.jwt_claims.tem", "input.valu.kind", "input.value.nope.deep", "input.contexts.roles")
LITERALS = ('"user"', '"ann"', '"admin"', '"notes"', '"read"', '"k"', "1", "2", "3.5", "true", "false", "null", '""')
NUMBERS = ("0", "1", "2.5", "10")
CLAIMS: tuple[dict[str, Any], ...] = (
    {},
    {"team": "ann", "level": 3, "projects": ["notes", "user"], "profile": {"region": "k"}},
    {"team": None, "level": "2", "projects": {"notes": "write", "k": "read"}, "profile": "read"},
    {"team": ["ann"], "level": 2.5, "projects": "notes", "profile": {"region": 1}},
)
VALUES: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"kind": "notes", "score": 1, "flag": True, "tags": ["ann", "user"]},
    {"kind": 1, "score": "1", "flag": False, "tags": [1, 2, "k"]},
    {"kind": None, "score": 10, "flag": "true", "tags": {"ann": "admin"}},
)


class Author:
    """Writes one policy. With `careless`, it also makes mistakes that OPA refuses or reads in its own way."""

    def __init__(self, random: Random, *, careless: bool = True) -> None:
        self._random = random
        self._careless = careless
        self._rules: list[str] = []
        self._names: list[str] = []
        self._sets: list[str] = []
        self._functions: list[str] = []
        self._count = 0

    def policy(self) -> str:
        """The text of `memories.authz`, whose rule `allow` says anything at all."""
        pick = self._random
        for _ in range(pick.randrange(4)):
            self._helper()
        clauses = [self._clause() for _ in range(pick.randrange(1, 4))]
        if pick.random() < 0.3:
            clauses.insert(0, "default allow := false")
        return (
            "package memories.authz\n\nimport rego.v1\n\n"
            + "\n\n".join([*self._rules, *clauses, "ignores(_) := true"])
            + "\n"
        )

    def _clause(self) -> str:
        chosen = self._random.random()
        if chosen < 0.75:
            return f"allow if {self._body()}"
        if chosen < 0.85:
            return f"allow if {self._body()} else := false if {self._body()}"
        variables: list[str] = []
        body = self._body(variables)
        return f"allow := {self._term(variables)} if {body}"

    def _helper(self) -> None:
        self._count += 1
        kind, number = self._random.randrange(5), self._count
        if kind == 0:
            self._rules.append(f"rule{number} if {self._body()}")
            self._names.append(f"rule{number}")
        elif kind == 1:
            variables: list[str] = []
            body = self._body(variables)
            self._rules.append(f"rule{number} := {self._term(variables)} if {body}")
            self._names.append(f"rule{number}")
        elif kind == 2:
            self._rules.append(f"set{number} contains each if {{\n\tsome each in {self._list()}\n}}")
            self._sets.append(f"set{number}")
        elif kind == 3:
            self._rules.append(f"rule{number} := {self._literal()}")
            self._names.append(f"rule{number}")
        else:
            body = self._body(["given"])
            self._rules.append(f"function{number}(given) if {body}")
            self._functions.append(f"function{number}")

    def _body(self, variables: list[str] | None = None) -> str:
        known = [] if variables is None else variables
        lines: list[str] = []
        for _ in range(self._random.randrange(1, 4)):
            lines += self._condition(known)
        return "{\n" + "".join(f"\t{line}\n" for line in lines) + "}"

    def _condition(self, variables: list[str]) -> list[str]:
        pick = self._random
        ways = [
            lambda: [f"{self._term(variables)} == {self._term(variables)}"],
            lambda: [f"{self._term(variables)} != {self._literal()}"],
            lambda: [f"{self._term(variables)} in {self._list()}"],
            lambda: [self._path()],
            lambda: [f"not {self._path()}"],
            lambda: [f"not {self._path()} == {self._literal()}"],
            lambda: self._named(variables),
            lambda: self._bound(variables),
            lambda: self._compared(),
            lambda: [f"count([1 | some each in {self._list()}; each == {self._literal()}]) == {pick.choice('012')}"],
            lambda: ["every each in " + self._list() + " {\n\t\teach != " + self._literal() + "\n\t}"],
            lambda: [f"startswith({self._path()}, {self._text()})"],
            lambda: [f"{self._variable(variables)} := {self._path()}"],
            lambda: [f"ignores({self._path()})"],
            lambda: self._computed(variables),
        ]
        if self._careless:
            ways += [lambda: self._mistake(variables)] * 2
        return pick.choice(ways)()

    def _named(self, variables: list[str]) -> list[str]:
        """Something about what other rules say."""
        pick = self._random
        known: list[list[str]] = []
        if self._names:
            name = pick.choice(self._names)
            known += [[name], [f"not {name}"], [f"{name} == {self._literal()}"]]
        if self._sets:
            name = pick.choice(self._sets)
            known += [[f"{self._term(variables)} in {name}"], [f"{name}[{self._literal()}]"], [f"count({name}) == 2"]]
        if self._functions:
            name = pick.choice(self._functions)
            if pick.random() < 0.2:
                variable = self._variable(variables)
                return [f"{variable} := {self._path()}", f"not {name}({variable})"]
            known += [[f"{name}({self._path()})"]]
        return pick.choice(known) if known else [self._path()]

    def _bound(self, variables: list[str]) -> list[str]:
        """A variable, and something about it."""
        pick = self._random
        variable = self._variable(variables)
        start = pick.choice((f"{variable} := {self._path()}", f"some {variable} in {self._list()}"))
        about = pick.choice(
            (
                f"{variable} == {self._term([])}",
                f"not {variable} == {self._literal()}",
                f"not {variable} in [{self._literal()}, {self._literal()}]",
                f"{variable} in {self._list()}",
            )
        )
        return [start, about]

    def _compared(self) -> list[str]:
        pick, path = self._random, self._path()
        sign = pick.choice(("<", "<=", ">", ">="))
        return [f"is_number({path})", f"{path} {sign} {pick.choice(NUMBERS)}"]

    def _computed(self, variables: list[str]) -> list[str]:
        """What a built-in makes of something, which may well be the wrong thing to give it."""
        pick, variable = self._random, self._variable(variables)
        call = pick.choice(
            (
                f"count({self._path()})",
                f'split({self._path()}, "n")',
                f"{self._path()} - 1",
                f'trim_prefix({self._path()}, "a")',
                f'concat("/", {self._list()})',
            )
        )
        about = pick.choice(
            (
                f"not {variable} == {self._literal()}",
                f"not {variable} in [{self._literal()}]",
                f"{variable} != {self._literal()}",
                f"is_number({variable})",
                f"{variable} == {self._path()}",
                f"ignores({variable})",
            )
        )
        return [f"{variable} := {call}", about]

    def _mistake(self, variables: list[str]) -> list[str]:
        pick = self._random
        name = pick.choice([*self._functions, "nobody"])
        return pick.choice(
            (
                [f"not {name}({self._path()})"],
                [f"{name}({self._path()}, {self._literal()})"],
                [f"{pick.choice(TYPOS)} == {self._literal()}"],
                [f"not {pick.choice(TYPOS)}"],
                ["not unbound == 1"],
                [f"{self._path()} == each"],
                [f"{self._path()} > {pick.choice(NUMBERS)}"],
                [f"not {self._path()} > {pick.choice(NUMBERS)}"],
                [f"not {self._path()} in {self._list()}"],
                [f"not startswith({self._path()}, {self._text()})"],
                [f"variable1 := {self._term(variables)}", f"variable1 == {self._literal()}"],
                [f"count({self._path()}) == 1"],
                [f"lower({self._path()}) == {self._literal()}"],
                [f"not lower({self._path()}) == {self._literal()}"],
                [f"not {self._list()}[_] == {self._literal()}"],
            )
        )

    def _variable(self, variables: list[str]) -> str:
        self._count += 1
        variables.append(f"variable{self._count}")
        return variables[-1]

    def _term(self, variables: list[str]) -> str:
        pick = self._random
        if variables and pick.random() < 0.4:
            return pick.choice(variables)
        return self._literal() if pick.random() < 0.4 else self._path()

    def _path(self) -> str:
        return self._random.choice(PATHS)

    def _list(self) -> str:
        return self._random.choice(LISTS)

    def _text(self) -> str:
        return self._random.choice([each for each in LITERALS if each[0] == '"'])

    def _literal(self) -> str:
        return self._random.choice(LITERALS)


def random_input(random: Random) -> dict[str, Any]:
    """What `memories.authz` might be told."""
    told: dict[str, Any] = {
        "operation": random.choice(("read", "write", "delete")),
        "namespace": random.choice((["user", "ann"], ["user"], ["project", "notes", "k"], ["ann", "user", "read"], [])),
        "key": random.choice(("k", "notes", "")),
        "context": {
            "user_id": random.choice(("ann", "bob", "user", "")),
            "client_id": random.choice(("", "k")),
            "tenant": "t",
            "roles": random.choice(([], ["admin"], ["ann", "user"])),
            "scopes": ["read"],
            "jwt_claims": random.choice(CLAIMS),
            "now_ns": 1,
        },
    }
    value = random.choice(VALUES)
    return told if value is None else {**told, "value": value}
