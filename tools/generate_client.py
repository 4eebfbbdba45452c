"""Writes the synchronous client from the asynchronous one, and the client's errors from those of the service.

Run by `make generate`; a test compares the files with what this would write.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "src/recollect_client"
ORIGINS = (
    "_async.py",
    "_async_administration.py",
    "_async_conversing.py",
    "_async_entities.py",
    "_async_recalling.py",
    "_async_remembering.py",
)
ERRORS_OF_SERVICE = ROOT / "src/recollect/domain/errors.py"

RENAMED = {
    "AsyncClient": "Client",
    "AsyncAdministration": "Administration",
    "_async_administration": "_sync_administration",
    "AsyncConversing": "Conversing",
    "_async_conversing": "_sync_conversing",
    "AsyncEntities": "Entities",
    "_async_entities": "_sync_entities",
    "AsyncRecalling": "Recalling",
    "_async_recalling": "_sync_recalling",
    "AsyncRemembering": "Remembering",
    "_async_remembering": "_sync_remembering",
    "AsyncIterator": "Iterator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
}
REWRITTEN = [
    (r"^import asyncio\n", ""),
    (r"await asyncio\.to_thread\(([\w.]+)\)", r"\1()"),
    (r"await asyncio\.sleep\(", "time.sleep("),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"for (\w+) in ([\w.]+):\n +yield \1\n", r"yield from \2\n"),
]

ERRORS_HEADER = '''"""Every error the client raises on purpose; generated from the service's by `make generate`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


class RecollectError(Exception):
    """Something went wrong; the message says what, and the more exact class says what to do."""

    code: str = "error"
    retriable: bool = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = type(self).code if code is None else code
        self.details: dict[str, Any] = dict(details or {})
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after

    @classmethod
    def advice(cls) -> str:
        """What to do about it, for people."""
        return " ".join(inspect.cleandoc(cls.__doc__ or "").split())


class ConnectionFailed(RecollectError):
    """Check that the server runs and the URL is right; a write may have happened: repeat it with the same key."""

    code = "connection_failed"
    retriable = True
    sent: bool = True
    """False when the request certainly never reached the server."""


class BadAnswer(RecollectError):
    """What answered is not Recollect, or something in between: check the URL and the proxies on the way."""

    code = "bad_answer"
'''
ERRORS_FOOTER = '''

def all_errors() -> list[type[RecollectError]]:
    """The whole tree, parents before children, in the order of their definition."""

    def below(cls: type[RecollectError]) -> list[type[RecollectError]]:
        return [cls, *(found for child in cls.__subclasses__() for found in below(child))]

    return below(RecollectError)
'''


def sync_client(source: str, origin: str = "_async.py") -> str:
    """The text of a module of the synchronous client, made from that of the asynchronous one."""
    docstring = f'"""The client for code without an event loop; generated from `{origin}` by `make generate`."""'
    source = re.sub(r"^\"\"\".*?\"\"\"", "", source, count=1, flags=re.DOTALL)
    for name, plain in RENAMED.items():
        source = re.sub(rf"\b{name}\b", plain, source)
    for pattern, replacement in REWRITTEN:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE | re.DOTALL)
    left = re.findall(r"\w*(?:[Aa]sync|await)\w*", source)
    if left:
        raise ValueError(f"no rule says what these become: {', '.join(left)}")
    return docstring + source


def client_errors(source: str) -> str:
    """The text of the client's errors: the same tree, with what only a client can meet."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name != "RecollectError"]
    texts = "".join(f"\n\n{ast.get_source_segment(source, node)}\n" for node in classes)
    return ERRORS_HEADER + texts + ERRORS_FOOTER


def generated() -> dict[Path, str]:
    """Every generated file of the client, with its text."""
    return {
        CLIENT / "errors.py": formatted(client_errors(ERRORS_OF_SERVICE.read_text())),
        **{
            CLIENT / origin.replace("async", "sync"): formatted(sync_client((CLIENT / origin).read_text(), origin))
            for origin in ORIGINS
        },
    }


def formatted(text: str) -> str:
    """The text as the linter's import order and the formatter leave it."""
    for command in (["check", "--select", "I", "--fix-only", "--quiet"], ["format"]):
        line = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(CLIENT / "_sync.py"), "-"]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
