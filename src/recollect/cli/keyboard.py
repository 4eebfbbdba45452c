"""The keyboard: single keys and whole lines, from whoever sits at the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

ENDED = ""
"""What is read when there is nobody any more, or they end their input."""
_END_OF_INPUT = "\x04"
_MOST = 4_096


class Keyboard(Protocol):
    """Somebody at a keyboard."""

    def forget(self) -> None:
        """Forget what was pressed so far: it was meant for something else."""

    def key(self) -> str:
        """The next key; `ENDED` when there will be none. What sends several characters, like an arrow, is one key."""

    def line(self) -> str | None:
        """The next line, as it is typed and seen; None when there will be none."""


class Terminal(Keyboard):
    """The keyboard of the terminal that is the standard input. It reads single keys for as long as it is open."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Terminal]:
        """The terminal, which is afterwards as it was before, whatever happens."""
        import termios  # here, because not every system has terminals of this kind
        import tty

        made = cls()
        before = termios.tcgetattr(made._input)
        try:
            tty.setcbreak(made._input)  # the keys that interrupt still do
            yield made
        finally:
            termios.tcsetattr(made._input, termios.TCSAFLUSH, before)

    def forget(self) -> None:
        """Forget what was pressed so far."""
        import termios

        termios.tcflush(self._input, termios.TCIFLUSH)

    def key(self) -> str:
        """The next key."""
        pressed = os.read(self._input, 1).decode(errors="replace")
        if pressed == "\x1b":
            self.forget()  # the rest of what an arrow or a function key sends
        return ENDED if pressed == _END_OF_INPUT else pressed

    def line(self) -> str | None:
        """The next line."""
        import termios

        before = termios.tcgetattr(self._input)
        plain = termios.tcgetattr(self._input)
        plain[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(self._input, termios.TCSADRAIN, plain)
        try:
            said = os.read(self._input, _MOST)
        finally:
            termios.tcsetattr(self._input, termios.TCSADRAIN, before)
        return said.decode(errors="replace").rstrip("\r\n") if said else None
