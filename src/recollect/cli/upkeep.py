"""Commands that keep the store sound: erase, verify, sweep, backups and encryption keys."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from recollect.cli import shapes
from recollect.cli.asking import confirmed
from recollect.cli.doors import Remote, note
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when
from recollect.config.sources import load
from recollect.domain.errors import InvalidSetting, RecollectError

UNSOUND = 4
"""The exit status when something is wrong with the data."""
KEY_FILE = Path("keys") / "master.key"


def erase(
    here: Here,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Whose memories: user:alice.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Make everything of a subject unreadable for good, in every version and every backup.

    Example: recollect erase user:alice
    """
    door = here.door()
    if not yes and not confirmed(f"Everything of {calm(subject)} becomes unreadable for good, backups included."):
        raise RecollectError("nothing was erased; answer y, or give --yes")
    receipt = door.erase(subject)
    if here.is_json:
        here.screen.document(shapes.receipt(receipt))
        return
    here.screen.say(f"{calm(subject)}: erased, {counted(receipt.versions, 'version')}, {receipt.live:,} of them live")
    here.screen.say(f"receipt: event {receipt.sequence}, {receipt.hash}")


def verify(
    here: Here,
    head: Annotated[str | None, typer.Option(metavar="HEAD", help="A head noted earlier, to agree with.")] = None,
) -> int:
    """Check that nothing was altered, removed, swapped or cut off; the exit status is 4 if something was.

    Example: recollect verify --head "$(cat head.txt)"
    """
    door = here.door()
    with here.screen.progress("Verifying") as progress:
        found = door.verify(head=head, progress=progress)
    if here.is_json:
        here.screen.document(shapes.verification(found))
    elif found.sound:
        here.screen.say(f"sound: {counted(found.events, 'event')} and {counted(found.versions, 'version')} checked")
    else:
        here.screen.say(here.screen.styled("not sound", "red") + f": {counted(len(found.problems), 'problem')}")
        for problem in found.problems:
            here.screen.say(f"  {problem.finding}: {calm(problem.message)}")
    return 0 if found.sound else UNSOUND


def head(here: Here) -> None:
    """Print where the log ends, to be kept elsewhere and given to `verify` later.

    Example: recollect head > head.txt
    """
    text = here.door().head()
    if here.is_json:
        here.screen.document({"head": text})
    else:
        here.screen.say(text)


def sweep(
    here: Here,
    batch: Annotated[int, typer.Option(metavar="N", help="How many at once.")] = 100,
) -> None:
    """Expire and clear away what is due, now; a server does so every minute.

    Example: recollect sweep
    """
    done = {str(step): count for step, count in here.door().sweep(batch=batch).items()}
    if here.is_json:
        here.screen.document(done)
    elif not any(done.values()):
        here.screen.say("nothing was due")
    else:
        here.screen.table(("pass", "done"), [(step, f"{count:,}") for step, count in done.items()], header=False)


def backup(here: Here, target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]) -> None:
    """Write a consistent copy of the data to a new file, while others work; the keys are not in it.

    Example: recollect backup monday.backup
    """
    door = here.door()
    with here.screen.progress("Copying") as progress:
        door.backup(target, progress=progress)
    size = target.stat().st_size
    if here.is_json:
        here.screen.document({"file": str(target), "bytes": size})
    else:
        here.screen.say(f"{target}: {counted(size, 'byte')}")
        here.screen.note("without the folder 'keys' of the data directory it cannot be read: keep those apart")


def restore(
    here: Here,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A file that `backup` wrote.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new data directory.")],
    keys: Annotated[Path, typer.Option(metavar="DIR", help="The data directory it was taken from, or its keys.")],
) -> None:
    """Make a new data directory from a backup; what was erased since then stays erased.

    Example: recollect restore monday.backup ./restored --keys ~/.recollect
    """
    from recollect.main import restore as restored  # here, because store and encryption are slow to load

    former = keys if (keys / "keys").is_dir() else keys.parent
    settings = load(former, environment=os.environ, flags={}).settings
    restored(source, target, keys=keys, settings=settings)
    if here.is_json:
        here.screen.document({"home": str(target)})
    else:
        here.screen.say(f"{target}: restored")


def rotate(here: Here) -> None:
    """Wrap every data key with a new master key; values stay as they are.

    Example: recollect keys rotate
    """
    count = here.door().rotate_keys()
    if here.is_json:
        here.screen.document({"rotated": count})
    else:
        here.screen.say(f"{counted(count, 'data key')} wrapped with the new master key")


def show_keys(here: Here) -> None:
    """Show where the master key comes from; never the key.

    Example: recollect keys show
    """
    if here.asked.url is not None and isinstance(here.way(), Remote):
        raise InvalidSetting("--url: the master key is not told over the network; run this where the data is")
    found = master_key(here.home)
    if here.is_json:
        here.screen.document({name: _plain(value) for name, value in found.items()})
        return
    here.screen.table(("", ""), [(name, _shown(value)) for name, value in found.items() if value], header=False)


def _plain(value: Any) -> Any:
    return shapes.moment(value) if isinstance(value, datetime) else value


def _shown(value: Any) -> str:
    return when(value) if isinstance(value, datetime) else str(value)


def master_key(home: Path) -> dict[str, Any]:
    """Where the master key of a data directory comes from, and the state of its file."""
    settings = load(home, environment=os.environ, flags={}).settings
    if settings.master_key_command is not None:
        former = settings.previous_master_key_command
        return {"source": "command", "command": settings.master_key_command, "previous_command": former}
    path = home / KEY_FILE
    try:
        status = path.stat()
    except OSError as problem:
        raise InvalidSetting(f"{path} cannot be read: {problem.strerror}") from None
    return {
        "source": "file",
        "file": str(path),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "changed_at": datetime.fromtimestamp(status.st_mtime, UTC),
        "rotation": "unfinished; run `recollect keys rotate`" if len(note(path).get("keys", ())) > 1 else None,
    }
