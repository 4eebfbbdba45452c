"""Files that fail at the nth operation, once or from then on.

SQLite passes over some failures: those of a checkpoint right after a commit, and those while closing. Its
Python driver raises them all the same, so here such a commit has an unknown outcome where it would have
succeeded on real files.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from recollect.testing.faults.files import MemoryFiles, Step, write_into

_CODES = {
    "open": apsw.SQLITE_CANTOPEN,
    "read": apsw.SQLITE_IOERR_READ,
    "size": apsw.SQLITE_IOERR_FSTAT,
    "write": apsw.SQLITE_IOERR_WRITE,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "delete": apsw.SQLITE_IOERR_DELETE,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: which operations can fail, with which code, and whether they go on failing."""

    name: str
    kinds: frozenset[str]
    code: int | None = None
    """The code of SQLite's; None for the one that belongs to the operation."""
    lasting: bool = False


BROKEN_ONCE = Fault("one operation fails", frozenset(_CODES))
BROKEN = Fault("every operation fails from then on", frozenset(_CODES), lasting=True)
FULL = Fault("the disk is full from then on", frozenset({"write"}), apsw.SQLITE_FULL, lasting=True)


class FailAt:
    """Refuses the nth operation that the fault is about. A refused write leaves half of itself behind."""

    def __init__(self, files: MemoryFiles, fault: Fault, nth: int) -> None:
        self._files, self.fault, self._nth = files, fault, nth
        self._count = 0
        self.hit: Step | None = None
        """The operation that was refused first; None while there was none."""

    def __call__(self, step: Step) -> None:
        """Count the operation, and refuse it when its time has come."""
        if step.kind not in self.fault.kinds:
            return
        self._count += 1
        if self._count < self._nth or (self._count > self._nth and not self.fault.lasting):
            return
        self.hit = self.hit or step
        if step.kind == "write":
            write_into(self._files.contents[step.path], step.at, step.data[: len(step.data) // 2])
        raise apsw.exception_for(self.fault.code or _CODES[step.kind])
