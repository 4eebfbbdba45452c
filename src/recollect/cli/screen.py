"""What is shown: one JSON document for programs, or lines and tables for people."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Any, TextIO
from urllib.parse import quote

import msgspec

Progress = Callable[[int, int], None]
"""Told how much is done, and how much there is in all; 0 when that is not known."""

_ANSI = {"dim": "\x1b[2m", "red": "\x1b[31m", "yellow": "\x1b[33m", "green": "\x1b[32m", "bold": "\x1b[1m"}
_CELL = 2_000
_NARROWEST = 12


class Screen:
    """Standard output and standard error, as the options want them."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, color: bool = True) -> None:
        self.as_json = as_json
        self.quiet = quiet or as_json
        self._color = color and not os.environ.get("NO_COLOR")

    # -- for programs

    def document(self, answer: object) -> None:
        """The whole answer as one JSON document; indented for a reader at a terminal."""
        encoded = msgspec.json.encode(answer)
        indented = msgspec.json.format(encoded, indent=2) if sys.stdout.isatty() else encoded
        _write(sys.stdout, dumped(indented))

    def line(self, answer: object) -> None:
        """One of many answers, as one line of JSON, sent at once."""
        _write(sys.stdout, dumped(msgspec.json.encode(answer)))
        sys.stdout.flush()

    # -- for people

    def say(self, text: str = "") -> None:
        """A line of the answer."""
        _write(sys.stdout, text)

    def prompt(self, text: str) -> None:
        """A question, after which somebody types on the same line."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def cut(self, text: str) -> str:
        """The text as far as it fits on one line of the terminal; whole where there is none."""
        most = get_terminal_size().columns if sys.stdout.isatty() else len(text)
        return text if len(text) <= most else text[: most - 1] + "…"

    def flush(self) -> None:
        """Send what was said so far."""
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Something beside the answer, dimmed, on standard error."""
        if not self.quiet:
            _write(sys.stderr, self.styled(text, "dim", sys.stderr))

    def warn(self, text: str) -> None:
        """Something that should not be overlooked, on standard error."""
        if not self.as_json:
            _write(sys.stderr, text)

    def styled(self, text: str, style: str, stream: TextIO | None = None) -> str:
        """The text in a style, where the stream is a terminal that shows it."""
        shown = self._color and (sys.stdout if stream is None else stream).isatty()
        return f"{_ANSI[style]}{text}\x1b[0m" if shown else text

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        header: bool = True,
        marked: Sequence[str] = (),
    ) -> None:
        """Rows: a table at a terminal, cut to its width; else whole, one line each, with tabs between.

        Words in the last column that begin like one of those `marked` stand out.
        """
        if not sys.stdout.isatty():
            for row in rows:
                self.say("\t".join(calm(cell).replace("\t", "\\t") for cell in row))
            return
        # Here, because tables are slow to load and most commands show none.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(no_color=not self._color, highlight=False, markup=False, emoji=False)
        cells = [[Text(calm(cell)[:_CELL]) for cell in row] for row in rows]
        if marked:
            words = "|".join(map(re.escape, marked))
            for row_of_cells in cells:
                row_of_cells[-1].highlight_regex(rf"(?i)\b(?:{words})\w*", "bold")
        natural = [max([len(name), *(row[n].cell_len for row in cells)]) for n, name in enumerate(columns)]
        table = Table(box=None, show_header=header, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for column, width in zip(columns, _fitted(natural, console.width), strict=True):
            table.add_column(column, no_wrap=True, overflow="ellipsis", width=width)
        for row_of_cells in cells:
            table.add_row(*row_of_cells)
        console.print(table)

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """A bar on standard error while work goes on; nothing where nobody sees it."""
        with self.bars() as update:
            update(title, 0, 0)
            yield lambda done, total: update(title, done, total)

    @contextmanager
    def bars(self) -> Iterator[Callable[[str, int, int], None]]:
        """Bars on standard error, one for each title that is told of; nothing where nobody sees them."""
        if self.quiet or not sys.stderr.isatty():
            yield _unseen
            return
        # Here, because the bar is slow to load and only shown at a terminal.
        from rich.console import Console
        from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, no_color=not self._color)
        parts = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Bar(*parts, console=console, transient=True) as bar:
            tasks: dict[str, TaskID] = {}

            def update(title: str, done: int, total: int) -> None:
                if title not in tasks:
                    tasks[title] = bar.add_task(title, total=None)
                bar.update(tasks[title], completed=done, total=total or None)

            yield update


def _fitted(natural: Sequence[int], width: int) -> list[int]:
    """Widths of columns that fit a terminal: the last gives way first, then those that are longest."""
    room = max(width - 2 * len(natural), 0)
    *others, last = natural
    if sum(natural) > room:
        most = max(_NARROWEST, (room - _NARROWEST) // max(len(others), 1))
        others = [min(each, most) for each in others]
        last = min(last, max(room - sum(others), _NARROWEST))
    return [*others, last]


def _unseen(title: str, done: int, total: int) -> None:  # noqa: ARG001 - nobody looks
    return


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")


def calm(text: str) -> str:
    """Text in which nothing can move the cursor, change colours or turn the direction of writing."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def dumped(encoded: bytes | str) -> str:
    """JSON text in which what does not print is escaped; it reads back the same."""
    text = encoded.decode() if isinstance(encoded, bytes) else encoded
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return re.sub(r"[^\x00-\x7e]", lambda found: _escaped(found[0]), text)
    return "\n".join(map(calm, text.split("\n")))


def one_line(value: Any) -> str:
    """A value in a table: its text alone where it has nothing else, JSON otherwise."""
    if value is None:
        return ""
    if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
        return " ".join(value["text"].split())
    return msgspec.json.encode(value).decode()


def place(segments: Sequence[str], key: str | None = None) -> str:
    """A namespace as it can be typed again, and a key below it."""
    path = "/".join(_typed(segment) for segment in segments)
    return path if key is None else f"{path} {calm(key)}"


def _typed(segment: str) -> str:
    return "".join(quote(c, safe="") if c in "%/" or not c.isprintable() or c == " " else c for c in segment)


def when(moment: datetime | None, now: datetime | None = None) -> str:
    """A moment in the local time zone, short: the time alone for today."""
    if moment is None:
        return ""
    local, today = moment.astimezone(), (now or datetime.now(UTC)).astimezone()
    return local.strftime("%H:%M:%S" if local.date() == today.date() else "%Y-%m-%d %H:%M")


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
