"""Settings: each with its default and its meaning, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from recollect.domain.address import DEPTH_CEILING, MAX_DEPTH
from recollect.domain.errors import InvalidSetting
from recollect.domain.retention import Retention

_DAY = 86_400


def _setting(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store is opened. Every field has a default that is safe to keep."""

    max_depth: int = _setting(MAX_DEPTH, f"How many segments a namespace may have; 1 to {DEPTH_CEILING}.")
    keep_superseded_seconds: int | None = _setting(
        90 * _DAY, "How long the values of replaced versions stay readable in `history` and `as_of`; None: for ever."
    )
    keep_deleted_seconds: int | None = _setting(
        0, "How long the values of deleted and expired versions are kept; 0: until the next sweep."
    )
    keep_tombstones_seconds: int | None = _setting(
        90 * _DAY, "How long it stays known that a key once existed, after its value is gone; None: for ever."
    )
    keep_events_seconds: int | None = _setting(
        None, "How long events are kept; None: for ever. Older cursors then get a clear error."
    )
    keep_receipts_seconds: int | None = _setting(
        _DAY, "How long a repeated request with the same idempotency key is recognised."
    )
    master_key_command: str | None = _setting(
        None, "A command that prints the master key (32 bytes in hexadecimal or base64), instead of a key file."
    )
    previous_master_key_command: str | None = _setting(
        None, "A command that prints the master key before, while data keys are re-wrapped with the new one."
    )
    reader_threads: int = _setting(2, "How many threads read for an event loop; 1 to 64.")
    group_size: int = _setting(512, "How many commits may share one wait for the disk; 1 to 10,000.")
    busy_seconds: float = _setting(30.0, "How long to wait for another process that is writing.")

    def __post_init__(self) -> None:
        for name, low, high in (("max_depth", 1, DEPTH_CEILING), ("reader_threads", 1, 64), ("group_size", 1, 10_000)):
            self._check_whole(name, low, high)
        for each in fields(self):
            if each.name.startswith("keep_") and getattr(self, each.name) is not None:
                self._check_whole(each.name, 0, 1 << 40)
        if isinstance(self.busy_seconds, bool) or not isinstance(self.busy_seconds, int | float):
            raise InvalidSetting(f"busy_seconds must be a number, not {type(self.busy_seconds).__name__}")
        if not 0 < self.busy_seconds <= 3_600:
            raise InvalidSetting(f"busy_seconds must be above 0 and at most 3600, not {self.busy_seconds!r}")
        for name in ("master_key_command", "previous_master_key_command"):
            command = getattr(self, name)
            if command is not None and (not isinstance(command, str) or not command.strip()):
                raise InvalidSetting(f"{name} must be a command to run, not {type(command).__name__}")

    def _check_whole(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidSetting(f"{name} must be a whole number from {low} to {high:,}, not {value!r}")

    def retention(self) -> Retention:
        """The retention that these settings say."""

        def micro(seconds: int | None) -> int | None:
            return None if seconds is None else seconds * 1_000_000

        return Retention(
            micro(self.keep_superseded_seconds),
            micro(self.keep_deleted_seconds),
            micro(self.keep_tombstones_seconds),
            micro(self.keep_events_seconds),
            micro(self.keep_receipts_seconds),
        )
