"""Writes `recollect/sync.py` from the use-cases in `recollect.service`, so that the two APIs cannot drift apart.

Run by `make generate`; a test compares the file with what this would write.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = (
    ("memories", "Memories"),
    ("hands", "Hands"),
    ("conversation/turns", "Conversing"),
    ("conversation/importing", "Importing"),
    ("conversation/sessions", "Sessions"),
    ("conversation/todos", "Todos"),
    ("conversation/entities", "Entities"),
    ("conversation/curating", "Curating"),
    ("conversation/seeds", "Seeds"),
    ("conversation/personas", "Personas"),
    ("conversation/contexts", "ConversationContexts"),
    ("pipeline/capturing", "Capturing"),
    ("pipeline/recording", "Recording"),
    ("pipeline/reviewing", "Reviewing"),
    ("pipeline/consenting", "Consenting"),
    ("pipeline/watching", "Watching"),
    ("recalling/recall", "Recalling"),
    ("recalling/contexts", "Contexts"),
    ("governing/profiles", "Profiles"),
    ("governing/turns", "Governing"),
    ("telling/traces", "Tracing"),
    ("telling/why", "Explaining"),
    ("telling/comparing", "Comparing"),
    ("measuring/measures", "Measuring"),
    ("administration", "Administration"),
)
TARGET = ROOT / "src/recollect/sync.py"

HEADER = '''"""Memories for code without an event loop; generated from the use-cases by `make generate`.

The store underneath was opened `direct`: its coroutines never suspend, so each can be driven to its end
on the caller's own thread.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

from recollect.domain.callers import Caller
from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.conversation.todos import LoopKind
from recollect.domain.governance.terms import Space
from recollect.domain.notes import GROUP
from recollect.domain.queries import Archived, Order
from recollect.domain.ranking import Mode
from recollect.domain.rows import Item
from recollect.ports.policy import Explanation, Report
from recollect.ports.store import Progress, Verification
from recollect.service.audit import AuditPage
from recollect.service.governing.profiles import DEFAULT
from recollect.service.memories import Memories
from recollect.service.pipeline.capturing import NOW
from recollect.service.pipeline.reviewing import CLAIM_SECONDS
from recollect.service.policies import PolicyInForce, Simulation
from recollect.service.recalling.contexts import BUDGET, LIMIT
from recollect.service.tokens import NewToken, Token
from recollect.service.transfer import ExportPage, Imported
from recollect.service.tuning import Tuned
from recollect.service.views import DeleteOp, ErasureReceipt, Events, Found, IndexStatus, PutOp, Sweep, Written

Result = TypeVar("Result")


def drive(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never suspends to its end, here and now."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("the store underneath suspended; it was not opened for direct use")


class MemoriesSync:
    """The memories of one tenant. Get one from `recollect.open_sync`."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def for_tenant(self, tenant: str, *, actor: str = "") -> MemoriesSync:
        """The memories of another tenant in the same store, or of the same one in somebody else's name."""
        return MemoriesSync(self._memories.for_tenant(tenant, actor=actor))

    def for_caller(self, caller: Caller) -> MemoriesSync:
        """The same memories as this caller may see and change them; made from a credential at the door."""
        return MemoriesSync(self._memories.for_caller(caller))

    def justified(self, why: str, *, as_user_id: str | None = None) -> MemoriesSync:
        """The same memories for an administrator who says why; every read is written down with it.

        With `as_user_id`, as that user would see them: without any roles, and to read only.
        """
        return MemoriesSync(self._memories.justified(why, as_user_id=as_user_id))
'''
FOOTER = """
    def __enter__(self) -> MemoriesSync:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
"""


def generate() -> str:
    """The text of the generated module."""
    methods = [node for module, name in SOURCES for node in _methods(module, name)]
    return HEADER + "".join(_method(node) for node in methods) + FOOTER


def _methods(module: str, name: str) -> list[ast.AsyncFunctionDef]:
    tree = ast.parse((ROOT / f"src/recollect/service/{module}.py").read_text())
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [node for node in found.body if isinstance(node, ast.AsyncFunctionDef) and node.name[0] != "_"]


def _method(node: ast.AsyncFunctionDef) -> str:
    arguments = [argument.arg for argument in node.args.args[1:]]
    passed = arguments + [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    assert node.returns is not None
    docstring = ast.get_docstring(node, clean=False)
    signature = f"    def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}:"
    call = f"drive(self._memories.{node.name}({', '.join(passed)}))"
    return f'\n{signature}\n        """{docstring}"""\n        return {call}\n'


def formatted(text: str) -> str:
    """The text as the formatter leaves it."""
    import subprocess

    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


if __name__ == "__main__":
    TARGET.write_text(formatted(generate()))
    print(f"wrote {TARGET.relative_to(ROOT)}")
