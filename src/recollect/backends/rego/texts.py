"""The texts of policies, written so that the engine can take them."""

from __future__ import annotations

import json
import re

from recollect.backends.rego.lexer import Kind, Token, tokens_of
from recollect.backends.rego.sandboxed import SHIFT, put_in

_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)")


def inside(text: str) -> str:
    """The text with its strings as the engine can take them: without anything that JSON must escape.

    Lines stay where they are, but for those below a raw string of several lines.
    """
    pieces, at = [], 0
    quotes: list[str] = []  # of the template strings that are open
    for token in tokens_of(text):
        pieces += [text[at : token.start], _inside(token, quotes)]
        at = token.end
    return "".join([*pieces, text[at:]])


def replaceable(text: str) -> str:
    """The text with `input` one step further down, for tests, which give policies one input after the other.

    The engine breaks down when the input is replaced as a whole, but not when a part of it is.
    """
    tokens = [token for token in tokens_of(text) if token.kind is not Kind.COMMENT]
    pieces: list[str] = []
    at = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        alone = before == "import" and after not in (".", "[", "as")
        if token.kind is Kind.NAME and token.text == "input" and before != "." and not alone:
            pieces.append(f"{text[at : token.end]}.replaceable")
            at = token.end
    return "".join(pieces) + text[at:]


def unusable_in(text: str) -> str | None:
    """What keeps a text from the engine, or None."""
    if text and ord(max(text)) >= SHIFT:
        return "holds characters from the private range at the end of Unicode"
    return None


def _inside(token: Token, quotes: list[str]) -> str:
    literal = token.text
    if token.kind is Kind.COMMENT:
        return ""  # the engine trips over some comments
    if literal[0] == "$" and token.kind in (Kind.STRING, Kind.OPEN):
        quotes.append(literal[1])
    elif token.kind is Kind.STRING:
        return _string(literal)
    elif token.kind is not Kind.MIDDLE and (token.kind is not Kind.CLOSE or len(literal) == 1):
        return literal
    quote = quotes.pop() if literal[-1] != "{" else quotes[-1]
    start = 2 if literal[0] == "$" else 1
    ends = '"' if literal[-1] != "{" else "{"
    return ('$"' if start == 2 else "}") + _part(literal[start:-1], raw=quote == "`") + ends


def _string(literal: str) -> str:
    if literal[0] == "`":
        return f'"{put_in(literal[1:-1])}"'
    try:
        text = put_in(json.loads(literal))
        text.encode()
    except ValueError:
        return literal  # no string at all, or half a character: the compiler says so
    return f'"{text}"'


def _part(literal: str, *, raw: bool) -> str:
    """A part of a template string, in which a brace must stay escaped."""
    if raw:
        return "\\{".join(put_in(piece) for piece in literal.split("\\{"))
    return _ESCAPE.sub(lambda escape: escape[0] if escape[0] == "\\{" else _string(f'"{escape[0]}"')[1:-1], literal)
