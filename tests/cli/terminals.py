"""A person at a terminal of 80 by 24: reads what the program shows, and presses keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.typed import COMMAND, PATIENCE, environment

SIZE = (24, 80)


class Seat:
    """Before one run of the program."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int) -> None:
        self.process = process
        self._ours = ours
        self.shown = ""
        self._read = 0

    def wait_for(self, text: str) -> str:
        """What is shown until the text appears, from where the last wait ended."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown[self._read :]:
            if time.monotonic() > until or not self._more(until - time.monotonic()):
                raise AssertionError(f"{text!r} was not shown, but\n{self.shown[self._read :]}")
        end = self.shown.index(text, self._read) + len(text)
        passage, self._read = self.shown[self._read : end], end
        return passage

    def press(self, keys: str) -> None:
        """Press keys; `\\n` ends a line."""
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Read to the end, and say how the program ended."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._more(until - time.monotonic()):
            pass
        return self.process.wait(PATIENCE)

    def _more(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self._ours, 65_536)
        except OSError:  # the other side was closed
            return False
        self.shown += piece.decode(errors="replace").replace("\r\n", "\n")
        return bool(piece)


@contextmanager
def seated(home: Path, *words: str, **more: str) -> Iterator[Seat]:
    """The program at a terminal, ended when the block ends."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    calm = environment(home, TERM="xterm-256color", **more)
    for name in ("COLUMNS", "LINES"):
        calm.pop(name, None)
    process = subprocess.Popen([*COMMAND, *words], env=calm, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Seat(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE)
        os.close(ours)


def escapes_in(text: str) -> list[str]:
    """Every character that could do something to a terminal, and everything that is not seen."""
    return re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f]", text)
