"""Asking before something is done that cannot be taken back."""

from __future__ import annotations

import sys


def confirmed(question: str) -> bool:
    """Whether whoever is asked says yes; saying nothing is a no."""
    sys.stderr.write(f"{question} Go on? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
