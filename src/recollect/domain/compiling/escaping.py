"""Escaping: remembered text as one JSON string on one line, in which nothing can pass for a mark of the pack.

A JSON string has no line end of its own, and everything that begins a tag, an entity, a fence, a link or the special
tokens of chat models is written as `\\uXXXX`. Whoever reads the string as JSON gets the cleaned text back, letter by
letter.
"""

from __future__ import annotations

import json
import re

from recollect.domain.scrubbing import cleaned

_MARKS = "<>&`\u007f\u0085\u2028\u2029"
_LOOK_ALIKES = "\uff1c\ufe64\uff1e\ufe65\uff06\ufe60\uff40\uff03\ufe5f"
"""What becomes one of the marks, or a heading, where text is normalised later."""
_TABLE = {ord(each): f"\\u{ord(each):04x}" for each in _MARKS + _LOOK_ALIKES}
_LINK = re.compile(r"\](?=[(\[:])")
_BRACKETED = re.compile(r"\[(?=/?[A-Z_]{2,}\])")
"""Words in capitals between brackets, as some chat models mark roles."""


def escaped(text: str) -> str:
    """The text, cleaned, as a JSON string with its quotes."""
    written = json.dumps(cleaned(text), ensure_ascii=False).translate(_TABLE)
    return _BRACKETED.sub(r"\\u005b", _LINK.sub(r"\\u005d", written))
