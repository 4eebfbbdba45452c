"""A download that becomes a file only once it is whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from recollect_client.errors import InvalidSetting, StoreUnavailable

Progress = Callable[[int, int], None]
"""Told how much is done, and how much there is in all; 0 when that is not known."""


class Download:
    """Receives a new file, readable by its owner only; nothing is left behind when it fails."""

    def __init__(self, target: str | Path, progress: Progress | None) -> None:
        if not isinstance(target, str | Path) or "\x00" in str(target) or not str(target):
            raise InvalidSetting(f"{target!r} is not the path of a file")
        self._target = Path(target)
        self._progress = progress
        self._beside = self._target
        self._file: BinaryIO | None = None
        self._received = 0
        self._total = 0
        self._refuse_existing()

    def start(self, total: int) -> None:
        """Begin anew, beside the target."""
        self._received, self._total = 0, total
        self._beside = self._target.with_name(f"{self._target.name}.{secrets.token_hex(4)}")
        try:
            self._file = os.fdopen(os.open(self._beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        except OSError as problem:
            raise self._unwritable(problem) from None

    def write(self, chunk: bytes) -> None:
        """Add what was received."""
        assert self._file is not None  # noqa: S101 - start comes first
        try:
            self._file.write(chunk)
        except OSError as problem:
            raise self._unwritable(problem) from None
        self._received += len(chunk)
        if self._progress is not None:
            self._progress(self._received, self._total)

    def keep(self) -> None:
        """Make it last, then give it its name; a file that has taken the name meanwhile stays as it is."""
        assert self._file is not None  # noqa: S101 - start comes first
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            try:
                os.link(self._beside, self._target)
                self._beside.unlink()
            except FileExistsError:
                self._refuse_existing()
            except OSError:  # a file system without links
                self._refuse_existing()
                self._beside.rename(self._target)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def drop(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError:
                pass
            self._beside.unlink(missing_ok=True)

    def _refuse_existing(self) -> None:
        if self._target.exists() or self._target.is_symlink():
            raise InvalidSetting(f"{self._target} exists already; a backup is always a new file")

    def _unwritable(self, problem: OSError) -> StoreUnavailable:
        return StoreUnavailable(f"{self._target} cannot be written: {problem.strerror}")
