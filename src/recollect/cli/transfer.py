"""The commands `export` and `import`: everything with its history, as lines of JSON that can be cut off and resumed."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import msgspec
import typer

from recollect.cli import shapes
from recollect.cli.here import Here
from recollect.cli.screen import Progress, counted
from recollect.domain.errors import InvalidRequest, InvalidSetting, StoreUnavailable

if TYPE_CHECKING:
    from recollect.cli.doors import Door

FORMAT = 1
_EXPORT_PAGE = 200
_IMPORT_ENTRIES = 500
_IMPORT_BYTES = 2 << 20
_LONGEST_LINE = 16 << 20
STREAM = "-"


@dataclass(slots=True)
class Outcome:
    """How an import went."""

    source: str
    sequence: int
    imported: int = 0
    skipped: int = 0
    complete: bool = False
    trouble: str | None = None


def export(
    here: Here,
    target: Annotated[str, typer.Argument(metavar="[FILE|-]", help="A new file; - for standard output.")] = STREAM,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Write all memories with their history, unencrypted, as lines of JSON.

    Example: recollect export memories.jsonl
    """
    if target != STREAM and not force and Path(target).exists():
        raise InvalidSetting(f"{target} exists already; choose another name, or give --force")
    door = here.door()
    with _written(target) as lines, here.screen.progress("Exporting") as progress:
        count = write_export(door, lines, progress)
    if here.is_json and target != STREAM:
        here.screen.document({"file": target, "entries": count})
    else:
        here.screen.note(f"{counted(count, 'entry', 'entries')} exported; they are not encrypted, so keep them safe")


def write_export(door: Door, lines: BinaryIO, progress: Progress) -> int:
    """Write header, entries and trailer, and return how many entries there are."""
    encode, count, cursor = msgspec.json.Encoder().encode, 0, None
    while True:
        page = door.export_page(cursor, limit=_EXPORT_PAGE)
        if cursor is None:
            at = shapes.moment(datetime.now(UTC))
            header = {"recollect_export": FORMAT, "source": page.source, "total": page.total, "exported_at": at}
            lines.write(encode(header) + b"\n")
        lines.writelines(encode(entry) + b"\n" for entry in page.entries)
        count += len(page.entries)
        progress(page.done, page.total)
        cursor = page.cursor
        if cursor is None:
            lines.write(encode({"end": True, "entries": count}) + b"\n")
            lines.flush()
            return count


@contextmanager
def _written(target: str) -> Iterator[BinaryIO]:
    """A file that gets its name only once it is whole, readable by its owner alone; or standard output."""
    if target == STREAM:
        yield sys.stdout.buffer
        return
    path = Path(target)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as problem:
        raise StoreUnavailable(f"{target} cannot be written: {problem.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def import_(
    here: Here,
    origin: Annotated[str, typer.Argument(metavar="[FILE|-]", help="An export; - for standard input.")] = STREAM,
) -> int:
    """Take over an export. If it is interrupted, run it again: it goes on where it was.

    Example: recollect import memories.jsonl --home ./elsewhere
    """
    with _read(origin) as lines:
        door = here.door(create=True)
        with here.screen.progress("Importing") as progress:
            outcome = read_export(door, lines, progress)
    if here.is_json:
        names = ("source", "sequence", "imported", "skipped", "complete")
        here.screen.document({name: getattr(outcome, name) for name in names})
    else:
        here.screen.say(f"{counted(outcome.imported, 'entry', 'entries')} imported, {outcome.skipped:,} were here")
    if outcome.trouble is not None:
        raise InvalidRequest(outcome.trouble)
    return 0


@contextmanager
def _read(origin: str) -> Iterator[BinaryIO]:
    if origin == STREAM:
        yield sys.stdin.buffer
        return
    try:
        descriptor = os.open(origin, os.O_RDONLY)
    except OSError as problem:
        raise InvalidSetting(f"{origin} cannot be read: {problem.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_export(door: Door, lines: BinaryIO, progress: Progress) -> Outcome:
    """Take over what the lines say, page by page; what is wrong with them is told in the outcome."""
    header = _parsed(lines.readline(_LONGEST_LINE)) or {}
    source, total = header.get("source"), header.get("total")
    if header.get("recollect_export") != FORMAT or not isinstance(source, str):
        raise InvalidRequest("this is not an export of Recollect: its first line says something else")
    outcome = Outcome(source, door.import_progress(source))
    page: list[dict[str, Any]] = []
    size = 0

    def send() -> None:
        nonlocal size
        if page:
            done = door.import_page(source, page)
            outcome.imported += done.imported
            outcome.skipped += done.skipped
            outcome.sequence = done.sequence
            progress(done.sequence, total if isinstance(total, int) else 0)
        page.clear()
        size = 0

    for entry, length in _entries(lines, outcome):
        if entry["sequence"] <= outcome.sequence and not page:
            outcome.skipped += 1
            continue
        if page and (len(page) == _IMPORT_ENTRIES or size + length > _IMPORT_BYTES):
            send()
        page.append(entry)
        size += length
    send()
    return outcome


def _entries(lines: BinaryIO, outcome: Outcome) -> Iterator[tuple[dict[str, Any], int]]:
    """The entries up to the trailer; when it does not come, the outcome says what came instead."""
    count = 0
    while line := lines.readline(_LONGEST_LINE):
        entry = _parsed(line)
        if entry is not None and entry.get("end") is True:
            outcome.complete = entry.get("entries") == count
            if not outcome.complete:
                outcome.trouble = f"the export says that it has {entry.get('entries')} entries, but {count} came"
            return
        if entry is None or not isinstance(entry.get("sequence"), int):
            if line.endswith(b"\n"):
                outcome.trouble = f"line {count + 2} is not an entry; what comes before it was imported"
                return
            break
        count += 1
        yield entry, len(line)
    outcome.trouble = f"the export is cut off after {counted(count, 'entry', 'entries')}; what is there was imported"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
