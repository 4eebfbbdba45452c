"""Runs the transcripts of a page as its reader would, in a shell, beside a service that was started for it.

In a ```console block, a line that begins with `$ ` is typed. It goes on in the next line when it ends with `\\`, or
when that begins with `> `. The lines after it are exactly what it prints; `…` stands for what differs from run to run.
A command that fails must show so on the page. All blocks of a page share one folder, one shell and one service, whose
data is where it is by default; `recollect` and `.venv/bin/recollect` are the program.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT, WrongPage

from recollect.testing.servers import Server

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT, _MORE = "$ ", "> "
_SECONDS = 10
_PATIENCE = 120
_MARK = "\x1e"
_DEFAULT_PORT = 4747


@dataclass(frozen=True)
class Typed:
    """A command as it is typed, the line of the page, and what it should print."""

    line: int
    command: str
    printed: str


@dataclass(frozen=True)
class Outcome:
    """How many commands were run, and how many were not because a program that they need is not installed."""

    ran: int
    missing: str | None = None
    left: int = 0


def typed(text: str) -> Iterator[Typed]:
    """Every command of a page's transcripts."""
    for block in _CONSOLE.finditer(text):
        first = text[: block.start(1)].count("\n") + 1
        command, printed, at = "", "", first
        for number, said in enumerate(block[1].splitlines(keepends=True), first):
            if command.endswith("\\\n"):
                command += said
            elif command and not printed and (said.startswith(_MORE) or said.rstrip() == _MORE.rstrip()):
                command += said.removeprefix(_MORE.rstrip()).removeprefix(" ")
            elif said.startswith(_PROMPT):
                if command:
                    yield Typed(at, command, printed)
                command, printed, at = said.removeprefix(_PROMPT), "", number
            else:
                printed += said
        if command:
            yield Typed(at, command, printed)


def matches(said: str, page: str) -> bool:
    """True when the output is what the page shows, `…` being anything."""
    pattern = re.escape(page.rstrip()).replace("…", ".*")
    return re.fullmatch(pattern, said.rstrip(), re.DOTALL) is not None


class Shell:
    """A shell into which one types, so that a variable set in one line is there in the next."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def type(self, command: str) -> tuple[int, str]:
        """What a command prints, and its exit code."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        # In braces, so that no command of it reads what is typed next, whatever it is made of.
        self._bash.stdin.write(f"{{ {command.rstrip()}\n}} </dev/null\nprintf '{_MARK}%d\\n' $?\n")
        self._bash.stdin.flush()
        said = ""
        patience = threading.Timer(_PATIENCE, self._kill)
        patience.start()
        try:
            while _MARK not in said:
                line = self._bash.stdout.readline()
                if not line:
                    raise WrongPage(f"the shell ended, or was ended, after {command.strip()}, saying\n{said}")
                said += line
        finally:
            patience.cancel()
        said, _, code = said.partition(_MARK)
        return int(code), said

    def close(self) -> None:
        """End the shell, and what it left running."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._bash.wait(_SECONDS)
        self._kill()
        self._bash.wait(_SECONDS)
        self._bash.stdout.close()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)


def run_transcripts(text: str, name: str, folder: Path) -> Outcome:
    """Run a page's transcripts beside a service, up to the first command whose program is not installed."""
    commands = list(typed(text))
    server = Server(folder / ".recollect", embedder="local")
    needed = any("recollect" in each.command or f":{_DEFAULT_PORT}" in each.command for each in commands)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "examples").symlink_to(ROOT / "examples")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
    path = f"{Path(sys.prefix) / 'bin'}:{kept['PATH']}"
    variables = {"COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC", "HOME": str(folder), "PATH": path}
    variables |= {"USER": "you", "PYTHONUNBUFFERED": "1"}  # unbuffered, so that lines come in the order of a terminal
    with (
        server if needed else contextlib.nullcontext(),
        contextlib.closing(Shell(folder, kept | variables)) as shell,
    ):
        for count, each in enumerate(commands):
            missing = next((program for program in named_programs(each.command) if not shutil.which(program)), None)
            if missing is not None:
                return Outcome(count, missing, len(commands) - count)
            _check(each, name, *_spoken(shell, each.command, server.port if needed else _DEFAULT_PORT))
    return Outcome(len(commands))


def _spoken(shell: Shell, command: str, port: int) -> tuple[int, str]:
    """What the shell answers, as if the service had the port that it has by default."""
    code, said = shell.type(command.replace(f":{_DEFAULT_PORT}", f":{port}"))
    return code, said.replace(f":{port}", f":{_DEFAULT_PORT}")


def _check(each: Typed, name: str, code: int, said: str) -> None:
    where = f"{name}:{each.line} {each.command.strip()}"
    if not matches(said, each.printed):
        raise WrongPage(f"{where}\nends with {code} and prints\n{said}\nbut the page says\n{each.printed}")
    if code and not each.printed.strip():
        raise WrongPage(f"{where}\nends with {code}, and the page does not show it")


def named_programs(command: str) -> list[str]:
    """The programs that a reader may not have, among those that a command names."""
    return [program for program in ("curl", "jq", "openssl") if re.search(rf"\b{program} ", command)]
