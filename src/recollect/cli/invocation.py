"""How this very program can be typed again in this shell."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

NAME = "recollect"


def program() -> str:
    """The shortest way to call the program again: its name where the shell finds it, else a path."""
    called = Path(sys.argv[0] if sys.argv else "")
    script = called if called.name == NAME and called.exists() else Path(sys.executable).parent / NAME
    if not script.exists():
        return f"{_shortest(Path(sys.executable))} -m {NAME}"
    found = shutil.which(NAME)
    if found is not None and script.samefile(found):
        return NAME
    return _shortest(script)


def home_option(home: Path) -> str:
    """What must be said about the data directory; nothing for the usual one."""
    return "" if home == Path("~/.recollect").expanduser() else f" --home {_shortest(home)}"


def _shortest(path: Path) -> str:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolving would leave a virtual environment by its links
    here = Path.cwd()
    return shlex.quote(str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole))
