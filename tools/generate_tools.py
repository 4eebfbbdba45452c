"""Writes `docs/reference/tools.md` from the registry of an agent's tools.

Run by `make generate`; a test compares the page with what this would write.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.domain import errors
from recollect.service.toolbox import TOOLS, Tool
from recollect.wire.tool_errors import ToolCode, code_of

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/reference/tools.md"
_BOUNDS = (
    ("minimum", "from"),
    ("maximum", "to"),
    ("maxLength", "at most so many characters:"),
    ("maxItems", "at most"),
)
_ABOUT = """\
What an agent is given to remember of its own accord, at every door.
[How to give an agent its tools](../how-to/give-an-agent-tools.md) tells what sessions and groups are."""
_ABOUT_ERRORS = """\
At the command line (`recollect ipc`) and over MCP, an error has a `code`, a `message`, `retriable`, and where it
applies `field`, `stage` and `retry_after`. REST and the clients have the [codes of all routes](errors.md)."""


def page() -> str:
    """The page."""
    parts = [
        "# Tools of an agent",
        "<!-- Generated from the code by `make generate`. Change the code, not this page. -->",
        _ABOUT,
    ]
    for tool in TOOLS.values():
        parts += [f"## {tool.name}", tool.description, _hints(tool), _arguments(tool), _results(tool)]
    parts += [
        "## Errors",
        _ABOUT_ERRORS,
        _codes(),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _hints(tool: Tool) -> str:
    said = [
        "It changes nothing." if tool.read_only else "It changes what is remembered.",
        "It deletes." if tool.destructive else "",
        "It is there for clients that look for this name." if tool.alias else "",
    ]
    return " ".join(each for each in said if each)


def _arguments(tool: Tool) -> str:
    needed = tool.parameters.get("required", ())
    rows = [
        (f"`{name}`", _kind(schema), "yes" if name in needed else "no", schema.get("description", ""))
        for name, schema in tool.parameters["properties"].items()
    ]
    return _table(("argument", "type", "required", "meaning"), rows)


def _results(tool: Tool) -> str:
    rows = [(f"`{name}`", _kind(schema)) for name, schema in tool.result["properties"].items()]
    return _table(("gives", "type"), rows)


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema["type"]
    text = " or ".join(kind) if isinstance(kind, list) else kind
    if text == "array":
        text = f"list of {_members(schema['items'])}"
    bounds = [words.format(schema[name]) for name, words in _BOUNDS if name in schema]
    default = f", default `{schema['default']}`" if "default" in schema and schema["default"] is not None else ""
    return text + (", " + " ".join(bounds) if bounds else "") + default


def _members(items: Mapping[str, Any]) -> str:
    if items["type"] == "object":
        return "objects with " + ", ".join(f"`{name}`" for name in items["properties"])
    return f"{items['type']}s" + (f" of at most {items['maxLength']} characters" if "maxLength" in items else "")


def _codes() -> str:
    told: dict[ToolCode, list[str]] = {}
    for error in errors.all_errors():
        if error.__module__ == errors.__name__ and error is not errors.RecollectError:
            told.setdefault(code_of(error("")), []).append(f"`{error.code}`")
    meanings = inspect.getsource(ToolCode).split('"""')
    said = {each.name: meanings[2 * number + 3].strip() for number, each in enumerate(ToolCode)}
    rows = [(f"`{code.value}`", said[code.name], ", ".join(told.get(code, ()))) for code in ToolCode]
    return _table(("code", "meaning", "codes of all routes"), rows)


if __name__ == "__main__":
    TARGET.write_text(page())
    print(f"wrote {TARGET.relative_to(ROOT)}")
