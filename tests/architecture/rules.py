"""Rules about the source text, as functions that return what breaks them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src/recollect"

_RUNS_CODE = {"eval", "exec", "compile", "__import__"}
_UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "yaml"}
_NO_DRIVERS = {"apsw", "sqlite3", "psycopg"}
_RUNS_SQL = {"execute", "executemany", "send", "row", "rows", "many", "stream"}
_CHANCE_AND_TIME = {"time", "random", "os", "secrets", "socket", "threading", "asyncio", "pathlib", "subprocess"}
_ID_MAKERS = {"uuid1", "uuid3", "uuid4", "uuid5", "uuid6", "uuid7", "uuid8", "getnode"}
_NOW = {"now", "utcnow", "today"}
_EMPTY_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "base"}
_SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE\s+\w+\s+SET|CREATE\s+TABLE|PRAGMA\s+\w+)\b",
    re.DOTALL,
)
_REASONED = re.compile(r"#\s*(noqa: [A-Z]+\d+|ruff: noqa: [A-Z]+\d+|type: ignore\[[a-z-]+(, ?[a-z-]+)*\])")
_SILENCED = re.compile(r"#\s*(noqa|ruff: noqa|type: ignore|pragma: no cover)\b")


def modules(folder: Path = SOURCE) -> list[Path]:
    """The modules below a folder."""
    return sorted(folder.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level packages that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def runs_stored_code(source: str) -> list[str]:
    """Ways to run what was stored or sent."""
    tree = ast.parse(source)
    harmless = {"yaml"} if _only_safe_load(tree) else set()
    found = sorted(_UNSAFE_MODULES.intersection(imported(tree)) - harmless)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RUNS_CODE:
            found.append(f"{node.func.id} in line {node.lineno}")
    return found


def _only_safe_load(tree: ast.Module) -> bool:
    """True when all that is taken from yaml is the one function that makes nothing but plain values."""
    plain = [node.names for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "yaml"]
    whole = any(name.name == "yaml" for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names)
    return not whole and all(name.name == "safe_load" for names in plain for name in names)


def knows_sql(source: str) -> list[str]:
    """Drivers imported and SQL written; both belong in the packages of the backends."""
    tree = ast.parse(source)
    found = sorted(_NO_DRIVERS.intersection(imported(tree)))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found += [f"SQL in line {node.lineno}"] if _SQL.search(node.value) else []
    return found


def unbound_values(source: str) -> list[int]:
    """Lines where something other than the module's own text is pasted into SQL; values are bound instead."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if node.func.attr not in _RUNS_SQL:
            continue
        sql = node.args[0]
        if isinstance(sql, ast.BinOp) and isinstance(sql.op, ast.Mod):
            found.append(node.lineno)
        if isinstance(sql, ast.JoinedStr) and len(node.args) > 1 and not _pastes_constants_only(sql):
            found.append(node.lineno)
    return found


def _pastes_constants_only(sql: ast.JoinedStr) -> bool:
    """True when what is pasted into SQL is a column list or a clause that the module itself made."""
    pasted = [ast.unparse(part.value) for part in sql.values if isinstance(part, ast.FormattedValue)]
    return all(re.fullmatch(r"_?[A-Z_]+(\.value)?|live|past|where|sql|clause|condition", name) for name in pasted)


def knows_the_world(source: str) -> list[str]:
    """What rules must be given as arguments: time, chance, identity, files, threads."""
    tree = ast.parse(source)
    found = sorted(_CHANCE_AND_TIME.intersection(imported(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "uuid":
            found += [alias.name for alias in node.names if alias.name in _ID_MAKERS]
        if isinstance(node, ast.Attribute) and node.attr in _ID_MAKERS:
            found.append(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NOW:
            found.append(f"{ast.unparse(node.func)}()")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            found.append("open()")
    return found


def opening_flaw(source: str) -> str | None:
    """What is wrong with how a module introduces itself."""
    docstring = ast.get_docstring(ast.parse(source))
    if not docstring:
        return "has no docstring"
    first = docstring.partition("\n\n")[0]
    return None if first.endswith((".", ":", "?")) and first.count(". ") == 0 else "does not open with one sentence"


def is_generated(source: str) -> bool:
    """True for modules that nobody writes or reads as a whole."""
    return "; generated from " in (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def says_nothing(path: Path) -> bool:
    """True for names that say where code was put rather than what it is for."""
    return path.stem in _EMPTY_NAMES or path.parent.name in _EMPTY_NAMES


def unreasoned(source: str) -> list[int]:
    """Lines that silence a check without saying which."""
    return [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if len(_SILENCED.findall(line)) > len(_REASONED.findall(line))
    ]
