"""Reading a compiled plan: what a policy calls, and on which parts of the input it depends.

The engine writes the plan in OPA's intermediate representation: functions of numbered locals, of which 0 is the
input and 1 the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from recollect.backends.rego.sandboxed import STEP, put_back

INPUT, DATA = 0, 1
WHOLE: Uses = {}
"""A part of the input that is used as it stands, with everything below it."""
type_of_step = str | int
Path = tuple[type_of_step, ...]
Uses = Mapping[type_of_step, Any]
"""Which parts of the input matter: steps, and below each what matters there; nothing below means all of it."""

MOST_STEPS = 16
MOST_PATHS = 64
"""How far parts of the input are followed into one local; a policy that goes further depends on all of it."""

KNOWN = frozenset(
    [
        "ArrayAppendStmt",
        "AssignIntStmt",
        "AssignVarOnceStmt",
        "AssignVarStmt",
        "BlockStmt",
        "BreakStmt",
        "CallDynamicStmt",
        "CallStmt",
        "DotStmt",
        "EqualStmt",
        "IsArrayStmt",
        "IsDefinedStmt",
        "IsObjectStmt",
        "IsSetStmt",
        "IsUndefinedStmt",
        "LenStmt",
        "MakeArrayStmt",
        "MakeNullStmt",
        "MakeNumberIntStmt",
        "MakeNumberRefStmt",
        "MakeObjectStmt",
        "MakeSetStmt",
        "NopStmt",
        "NotEqualStmt",
        "NotStmt",
        "ObjectInsertOnceStmt",
        "ObjectInsertStmt",
        "ObjectMergeStmt",
        "ResetLocalStmt",
        "ResultSetAddStmt",
        "ReturnLocalStmt",
        "ScanStmt",
        "SetAddStmt",
        "WithStmt",
    ]
)
WRITES = {
    "AssignIntStmt": ("target",),
    "AssignVarOnceStmt": ("target",),
    "AssignVarStmt": ("target",),
    "CallDynamicStmt": ("result",),
    "CallStmt": ("result",),
    "DotStmt": ("target",),
    "LenStmt": ("target",),
    "MakeArrayStmt": ("target",),
    "MakeNullStmt": ("target",),
    "MakeNumberIntStmt": ("target",),
    "MakeNumberRefStmt": ("target",),
    "MakeObjectStmt": ("target",),
    "MakeSetStmt": ("target",),
    "ObjectMergeStmt": ("target",),
    "ResetLocalStmt": ("target",),
    "ScanStmt": ("key", "value"),
}
_BARE = {  # operands that are the number of a local, not an object that says so
    "ArrayAppendStmt": ("array",),
    "IsDefinedStmt": ("source",),
    "IsUndefinedStmt": ("source",),
    "ObjectInsertOnceStmt": ("object",),
    "ObjectInsertStmt": ("object",),
    "ObjectMergeStmt": ("a", "b"),
    "ResultSetAddStmt": ("value",),
    "ReturnLocalStmt": ("source",),
    "ScanStmt": ("source",),
    "SetAddStmt": ("set",),
    "WithStmt": ("local",),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the texts something stands; lines count from 1."""

    module: str = ""
    line: int = 0


@dataclass(slots=True)
class Function:
    """A rule or a function of the policy, or an entry point, as the plan has it."""

    name: str
    params: tuple[int, ...]
    result: int | None
    blocks: Sequence[Any] = ()
    """As they are nested in the plan."""
    statements: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """All of them, in the order of the text."""
    written: dict[int, list[tuple[str, Mapping[str, Any]]]] = field(default_factory=dict)
    """By which statements a local gets its value."""
    holds: dict[int, set[Path]] = field(default_factory=dict)
    """Which locals may hold which parts of the input."""
    lost: set[Path] = field(default_factory=set)
    """Parts of the input that were passed on too often, or taken apart too far, to be followed: all of each counts."""


class Plan:
    """A compiled plan, as the engine saved it."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        static = saved.get("static", {})
        self._strings = [str(each["value"]) for each in static.get("strings", ())]
        self._files = [str(each["value"]).replace(STEP, "/") for each in static.get("files", ())]
        self.builtins = {str(each["name"]): each for each in static.get("builtin_funcs", ())}
        self._functions = {
            str(each["name"]): _function(str(each["name"]), each) for each in saved["funcs"].get("funcs", ())
        }
        self._entries = {str(each["name"]): _function(str(each["name"]), each) for each in saved["plans"]["plans"]}

    @property
    def rules(self) -> Iterator[tuple[str, ...]]:
        """Every rule and function, by its full path."""
        for name in self._functions:
            yield tuple(name.split(".")[2:])

    @property
    def functions(self) -> Mapping[str, Function]:
        """Every rule and function, by the name under which the plan calls it."""
        return self._functions

    @property
    def strings(self) -> Sequence[str]:
        """The constants."""
        return self._strings

    def everything(self) -> Iterator[Function]:
        """Every function and every entry point."""
        yield from self._functions.values()
        yield from self._entries.values()

    def calls(self, name: str) -> Place:
        """Where a built-in is called first."""
        for function in self.everything():
            for kind, statement in function.statements:
                if kind == "CallStmt" and statement["func"] == name:
                    return self.place(statement)
        return Place()

    def place(self, statement: Mapping[str, Any]) -> Place:
        """Where in the texts a statement comes from, if that is known."""
        file, row = statement.get("file"), statement.get("row")
        if not isinstance(file, int) or not isinstance(row, int) or not 0 <= file < len(self._files):
            return Place()
        return Place(self._files[file], row + 1)

    def called(self, function: Function) -> set[str]:
        """Which functions a function may call; one that is only known at run time may be any."""
        if any(kind == "CallDynamicStmt" for kind, _ in function.statements):
            return set(self._dynamic(function))
        return {str(each["func"]) for kind, each in function.statements if kind == "CallStmt"} & self._functions.keys()

    def _dynamic(self, function: Function) -> Iterator[str]:
        for kind, statement in function.statements:
            if kind == "CallStmt" and statement["func"] in self._functions:
                yield str(statement["func"])
            elif kind == "CallDynamicStmt":
                fixed: list[str] = []
                for step in statement["path"]:
                    if step["type"] != "string_index":
                        break
                    fixed.append(self._strings[step["value"]])
                start = "g0.data." + "".join(f"{step}." for step in fixed if step not in ("g0", "data"))
                yield from (name for name in self._functions if f"{name}.".startswith(start))

    # -- what the answer depends on

    def reachable(self, entry: str) -> set[str]:
        """Every function that an entry point may come to call."""
        seen: set[str] = set()
        waiting = list(self.called(self._entries[entry]))
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self.called(self._functions[name])
        return seen

    def modules(self, entry: str) -> set[str]:
        """The names of all texts that an entry point may come to use."""
        found = {
            self.place(statement).module
            for name in self.reachable(entry)
            for _, statement in self._functions[name].statements
        }
        return found - {""}

    def held(self, function: Function, local: int) -> frozenset[Path]:
        """Which parts of the input a local may hold."""
        self._flow  # noqa: B018 - who holds what is worked out once, for all
        return frozenset(function.holds.get(local, ()))

    def uses(self, entry: str) -> Uses:
        """On which parts of the input the answer may depend; never too few."""
        self._flow  # noqa: B018 - who holds what is worked out once, for all entries
        functions = [self._entries[entry], *(self._functions[name] for name in self.reachable(entry))]
        if any(kind in ("CallDynamicStmt",) or kind not in KNOWN for each in functions for kind, _ in each.statements):
            return WHOLE
        return tree(
            {path for function in functions for path in self._used(function)},
            {path for function in functions for path in self._reached(function)},
        )

    @cached_property
    def _flow(self) -> None:
        for function in self.everything():
            function.holds.setdefault(INPUT, set()).add(())
        changed = True
        while changed:
            changed = False
            for function in self.everything():
                for kind, statement in function.statements:
                    changed = self._step(function, kind, statement) or changed

    def _step(self, function: Function, kind: str, statement: Mapping[str, Any]) -> bool:
        """Follow parts of the input from local to local; True when something new was found."""
        if kind in ("AssignVarStmt", "AssignVarOnceStmt"):
            return _spread(function, statement["target"], _held(function, statement["source"]))
        if kind == "DotStmt":
            step = self.constant(function, statement["key"])
            below = set() if step is None else {(*path, step) for path in _held(function, statement["source"])}
            return _spread(function, statement["target"], below)
        if kind == "CallStmt" and statement["func"] in self._functions:
            called = self._functions[statement["func"]]
            changed = False
            for param, argument in zip(called.params[2:], statement["args"][2:], strict=False):
                changed = _spread(called, param, _held(function, argument)) or changed
            returned = set() if called.result is None else called.holds.get(called.result, set())
            return _spread(function, statement["result"], returned) or changed
        return False

    def _reached(self, function: Function) -> Iterator[Path]:
        """Where it is looked whether there is anything: a policy may depend on that, and never on what it is."""
        for kind, statement in function.statements:
            if kind == "DotStmt":
                yield from function.holds.get(statement["target"], ())

    def _used(self, function: Function) -> Iterator[Path]:
        for kind, statement in function.statements:
            if kind in ("AssignVarStmt", "AssignVarOnceStmt", "ReturnLocalStmt"):
                continue
            if kind == "DotStmt" and self.constant(function, statement["key"]) is not None:
                continue
            if kind == "CallStmt" and statement["func"] in self._functions:
                continue
            for local in reads(kind, statement):
                if kind == "WithStmt" and local == statement["local"]:
                    continue
                yield from function.holds.get(local, ())
        yield from function.lost
        if function.name in self._entries and function.result is not None:
            yield from function.holds.get(function.result, ())

    def constant(self, function: Function, operand: Mapping[str, Any]) -> type_of_step | None:
        """The step that a key surely is, or None."""
        if operand["type"] == "string_index":
            return _unquoted(self._strings[operand["value"]])
        if operand["type"] != "local":
            return None
        made = function.written.get(operand["value"], ())
        if len(made) != 1:
            return None
        kind, statement = made[0]
        if kind == "MakeNumberIntStmt":
            return int(statement["value"])
        if kind == "MakeNumberRefStmt":
            text = self._strings[statement["index"]]
            return int(text) if text.isdigit() else None
        return None


def tree(used: Set[Path], reached: Set[Path] = frozenset()) -> Uses:
    """Paths as a tree; a used one covers those below it, while a reached one need only be there."""
    root: dict[type_of_step, Any] = {}
    if () in used:
        return WHOLE
    for path in used | reached:
        if any(path[:length] in used for length in range(len(path))):
            continue
        at = root
        for step in path:
            at = at.setdefault(step, {})
    return root or NOTHING


NOTHING: Uses = {"": {}}
"""Not on the input at all: an unused name stands in, since an empty tree means everything."""


def _function(name: str, said: Mapping[str, Any]) -> Function:
    params = tuple(said.get("params", (INPUT, DATA)))
    function = Function(name, params, said.get("return"), said["blocks"])
    for kind, statement in walk(said["blocks"]):
        function.statements.append((kind, statement))
        for target in WRITES.get(kind, ()):
            function.written.setdefault(statement[target], []).append((kind, statement))
    return function


def walk(blocks: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every statement, also those within others, in the order of the text."""
    waiting = [iter(_stated(blocks))]
    while waiting:
        each = next(waiting[-1], None)
        if each is None:
            waiting.pop()
            continue
        yield each
        waiting.append(iter(_stated(inner(each[1]))))


def inner(statement: Mapping[str, Any]) -> list[Any]:
    """The blocks within a statement."""
    return [*(statement.get("blocks") or ()), *((statement["block"],) if "block" in statement else ())]


def _stated(blocks: Iterable[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(str(each["type"]), each["stmt"]) for block in blocks for each in block["stmts"]]


def reads(kind: str, statement: Mapping[str, Any]) -> Iterator[int]:
    """The locals that a statement looks at."""
    for name in _BARE.get(kind, ()):
        yield int(statement[name])
    for name, operand in statement.items():
        if name in ("block", "blocks"):
            continue
        operands = operand if isinstance(operand, list) else (operand,)
        for each in operands:
            if isinstance(each, Mapping) and each.get("type") == "local":
                yield int(each["value"])


def _held(function: Function, operand: Mapping[str, Any]) -> set[Path]:
    return function.holds.get(operand["value"], set()) if operand["type"] == "local" else set()


def _spread(function: Function, local: int, paths: set[Path]) -> bool:
    """Note what a local may hold; True when something is new. What cannot be followed is lost, which ends it."""
    known = function.holds.setdefault(local, set())
    fresh = {path for path in paths if path not in known and path[:MOST_STEPS] not in function.lost}
    if not fresh:
        return False
    if len(known) + len(fresh) > MOST_PATHS:
        function.lost.add(())
        return False
    function.lost |= {path[:MOST_STEPS] for path in fresh if len(path) > MOST_STEPS}
    known |= {path for path in fresh if len(path) <= MOST_STEPS}
    return True


def _unquoted(text: str) -> str:
    """A constant as the text it stands for; the engine writes some of them with their quotes."""
    return str(put_back(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text))


def _shown(name: str) -> str:
    return name.removeprefix("g0.")
