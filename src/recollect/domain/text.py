"""Which text may be stored: no lone surrogates, which UTF-8 cannot carry, and no NUL, which engines cut at."""

from __future__ import annotations


def shown(value: object, most: int = 80) -> str:
    """A value as a message may show it: short, and without failing on what cannot be printed."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def flaw_in(text: str) -> str | None:
    """What forbids storing the text, in words; None when nothing does."""
    if "\x00" in text:
        return "contains a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains a lone surrogate, which is not valid Unicode text"
    return None
