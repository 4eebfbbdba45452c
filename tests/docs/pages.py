"""Runs the Python of a page as its reader would, and compares what it prints with what the page says it prints.

A ```python block runs; the ```text block that follows it, if any, is exactly what it prints. All blocks of a
page share one namespace and one event loop, and may use `await` at the top level. When a block speaks to a service with
`recollect_client`, or over gRPC, the page gets one of its own, and RECOLLECT_URL and RECOLLECT_TOKEN say where and as
its administrator.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A piece of code, the line it begins at, and what it should print."""

    line: int
    code: str
    printed: str


class WrongPage(AssertionError):
    """The page says something that is not so."""


def written_pages() -> list[Path]:
    """Every page of prose in the repository."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(text: str) -> Iterator[Block]:
    """The code of a page, each with the output that follows it."""
    fences = list(_FENCE.finditer(text))
    for place, fence in enumerate(fences):
        if fence[1] == "python":
            following = fences[place + 1] if place + 1 < len(fences) else None
            adjacent = following is not None and not text[fence.end() : following.start()].strip()
            printed = following[2] if following is not None and adjacent and following[1] == "text" else ""
            yield Block(text[: fence.start()].count("\n") + 2, fence[2], printed)


def fenced(text: str, language: str) -> list[str]:
    """What stands between the fences of one language."""
    return [fence[2] for fence in _FENCE.finditer(text) if fence[1] == language]


def needs_service(text: str) -> bool:
    """True when the Python of a page is about a service: it then runs beside a fresh one of its own."""
    return any("recollect_client" in block.code for block in blocks(text)) or needs_grpc(text)


def needs_grpc(text: str) -> bool:
    """True when that service is to have its gRPC door."""
    return any("recollect.surfaces.grpc" in block.code for block in blocks(text))


def run(text: str, name: str = "page") -> int:
    """Run a page and return how many blocks it has."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with asyncio.Runner() as runner:
        for block in blocks(text):
            count += 1
            said = io.StringIO()
            code = compile("\n" * (block.line - 1) + block.code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            with contextlib.redirect_stdout(said):
                if code.co_flags & inspect.CO_COROUTINE:
                    runner.run(_awaited(code, namespace))
                else:
                    # Outside of a loop, so that a block may call `asyncio.run` itself.
                    exec(code, namespace)
            if said.getvalue() != block.printed:
                raise WrongPage(f"{name}:{block.line} prints\n{said.getvalue()}\nbut the page says\n{block.printed}")
    return count


async def _awaited(code: Any, namespace: dict[str, Any]) -> None:
    await eval(code, namespace)


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead to no file of the repository, or to no heading of it."""
    return [link for link in _LINK.findall(page.read_text()) if "://" not in link and not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in _anchors(target.read_text()))


def _anchors(text: str) -> set[str]:
    """The names that the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
