"""Files that live in memory, every operation on which can be watched or refused before it happens.

SQLite reaches them as a VFS. They offer no shared memory, so a database on them is opened exclusively.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

import apsw

SECTOR = 512


class Step(NamedTuple):
    """One operation on a file, about to happen."""

    kind: str
    """`open`, `read`, `size`, `write`, `truncate`, `sync` or `delete`."""
    path: str
    at: int = 0
    """Where to write or read; the new size of a truncate; 1 for an open that creates the file."""
    data: bytes = b""


Watch = Callable[[Step], None]
"""Hears of every operation before it happens; raising an error keeps it from happening."""


class MemoryFiles(apsw.VFS):
    """A file layer of SQLite's over a dictionary from path to contents."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.contents: dict[str, bytearray] = {}
        self.watch: Watch | None = None
        super().__init__(name, base="")

    def excepthook(
        self,
        etype: type[BaseException] | None,  # noqa: ARG002
        evalue: BaseException | None,  # noqa: ARG002
        etraceback: TracebackType | None,  # noqa: ARG002
    ) -> bool:
        """SQLite has the error code already; nothing is to be printed about it."""
        return True

    def told(self, step: Step) -> None:
        """Let whoever watches know, who may refuse."""
        if self.watch is not None:
            self.watch(step)

    def copy(self) -> dict[str, bytearray]:
        """The contents of all files as they are now."""
        return {path: bytearray(data) for path, data in self.contents.items()}

    # -- what SQLite calls

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        """Paths are taken as they are."""
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802, ARG002
        """An empty file counts as absent, as SQLite's own file layer has it."""
        return bool(self.contents.get(pathname))

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Take a file away."""
        if filename not in self.contents:
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
        self.told(Step("delete", filename, int(syncdir)))
        del self.contents[filename]

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file, and make it if it is not there."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        new = path not in self.contents
        if new and not flags[0] & apsw.SQLITE_OPEN_CREATE:
            raise apsw.exception_for(apsw.SQLITE_CANTOPEN)
        self.told(Step("open", path, int(new)))
        flags[1] = flags[0]
        data = self.contents.setdefault(path, bytearray())
        return _OpenFile(self, path, data)  # type: ignore[return-value] # apsw asks for these methods, not for the class


class _OpenFile:
    """An open file. Locks always succeed, since there is one connection."""

    def __init__(self, files: MemoryFiles, path: str, data: bytearray) -> None:
        self._files, self._path, self._data = files, path, data

    def excepthook(self, *_: object) -> bool:
        return True

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._files.told(Step("read", self._path, offset))
        return bytes(self._data[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        written = bytes(data)
        self._files.told(Step("write", self._path, offset, written))
        write_into(self._data, offset, written)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._files.told(Step("truncate", self._path, newsize))
        truncate(self._data, newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        self._files.told(Step("sync", self._path))

    def xFileSize(self) -> int:  # noqa: N802
        self._files.told(Step("size", self._path))
        return len(self._data)

    def xClose(self) -> None:  # noqa: N802
        pass

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802, ARG002
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 4096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        """The same promise as SQLite assumes of disks: a write harms nothing beside it."""
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE


def write_into(data: bytearray, at: int, written: bytes) -> None:
    """Write as a file system does: what lies between the old end and the write is zero."""
    if at > len(data):
        data.extend(bytes(at - len(data)))
    data[at : at + len(written)] = written


def truncate(data: bytearray, size: int) -> None:
    """Cut a file, or fill it up with zeros."""
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))
