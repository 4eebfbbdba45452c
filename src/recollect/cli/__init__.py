"""The command line: everything that Recollect does, typed by hand or by a script."""

from recollect.cli.program import main

__all__ = ["main"]
