"""What a database server can be asked about itself, beside the memories it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Migration:
    """What is to be done so that this program can use the data: first, and once no older program runs any more."""

    first: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """True when anything is left to do."""
        return bool(self.first or self.later)


Level = Literal["ok", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that was looked at, what was found, and what to do about it."""

    check: str
    level: Level
    message: str
    advice: str = ""


Examined = tuple[Symptom, ...]
SKEWED, SKEWED_MUCH = 1.0, 30.0
"""By how many seconds clocks may differ, and from when on expiry and leases cannot be relied on."""


def skew(theirs: float, before: float, after: float) -> Symptom:
    """How far the server's clock is from ours, which was read before and after asking."""
    off = theirs - (before + after) / 2
    if before <= theirs <= after:
        off = 0.0
    what = f"{abs(off):.1f} s {'ahead of' if off > 0 else 'behind'} this machine's"
    advice = "Let both machines take their time from the same source."
    if abs(off) > SKEWED_MUCH:
        return Symptom("server clock", "failure", what, advice)
    if abs(off) > SKEWED:
        return Symptom("server clock", "warning", what, advice)
    return Symptom("server clock", "ok", "as this machine's")
