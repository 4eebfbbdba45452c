"""Which text may be stored: no lone surrogates, which UTF-8 cannot carry, and no NUL, which engines cut at."""

from __future__ import annotations


def flaw_in(text: str) -> str | None:
    """What forbids storing the text, in words; None when nothing does."""
    if "\x00" in text:
        return "contains a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains a lone surrogate, which is not valid Unicode text"
    return None
