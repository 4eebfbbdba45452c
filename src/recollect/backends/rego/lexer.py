"""What a text of Rego is made of: its tokens, each with its place."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a token is."""

    NAME = "name"
    """A keyword or an identifier: which of them, only its neighbours tell."""
    NUMBER = "number"
    STRING = "string"
    """With its quotes; a template string without any expression in it is one too."""
    OPERATOR = "operator"
    OPEN = "open"
    """A bracket, or a template string up to the brace of its first expression."""
    MIDDLE = "middle"
    """A template string from the end of one expression to the start of the next."""
    CLOSE = "close"
    """A bracket, or a template string from the end of its last expression."""
    COMMENT = "comment"
    ERROR = "error"
    """What cannot be a part of Rego. An unterminated string reaches to the end of the text."""


class Token(NamedTuple):
    """A piece of the text; `line` and `column` count from 1, in characters."""

    kind: Kind
    text: str
    start: int
    end: int
    line: int
    column: int


# Every repetition is possessive: what it has taken it never gives back, so that the time is linear.
_TOKEN = re.compile(
    r"""
      (?P<blank>   [\x20\t\r\n]++ )
    | (?P<name>    [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<operator> :=|==|!=|<=|>=|[=<>+\-*/%&|,:;.] )
    | (?P<string>  "(?:[^"\\\n]++|\\[^\n])*+" | `[^`]*+` )
    | (?P<open>    [(\[{] )
    | (?P<close>   [)\]}] )
    | (?P<number>  [0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?![A-Za-z0-9_]) )
    | (?P<comment> \#[^\n]*+ )
    | (?P<template> \$["`] )
    | (?P<endless> ["`] )
    | (?P<error>   [0-9][A-Za-z0-9_]*+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.value: kind for kind in Kind}
_PART = {
    '"': re.compile(r'(?:[^"{\\\n]++|\\[^\n])*+(["{])'),
    "`": re.compile(r"(?:[^`{\\]++|\\\{?+)*+([`{])"),
}
"""The rest of a template string up to its end or to its next expression, by its quote."""
_BYTE_ORDER_MARK = "\ufeff"


def tokens_of(text: str) -> list[Token]:
    """The tokens of any text, comments included and blanks left out."""
    found: list[Token] = []
    nested: list[str] = []  # the braces that are open: `{`, or the quote of the template string that opened it
    at, line, line_start = (1 if text.startswith(_BYTE_ORDER_MARK) else 0), 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        group = match.lastgroup if match else None
        if match is None or group is None:
            raise AssertionError("the last alternative takes any character")
        end = match.end()
        if group == "blank":
            kind = None
        elif group == "template":
            kind, end = _part(text, end, text[end - 1], nested, Kind.OPEN, Kind.STRING)
        elif group == "endless":
            kind, end = Kind.ERROR, len(text)
        else:
            kind = _KINDS[group]
            if text[at] == "{":
                nested.append("{")
            elif text[at] == "}" and nested:
                quote = nested.pop()
                if quote != "{":
                    kind, end = _part(text, end, quote, nested, Kind.MIDDLE, Kind.CLOSE)
            elif kind is Kind.COMMENT and text[end - 1] == "\r":
                found.append(Token(kind, text[at : end - 1], at, end - 1, line, at - line_start + 1))
                kind = None
        if kind is not None:
            found.append(Token(kind, text[at:end], at, end, line, at - line_start + 1))
        breaks = text.count("\n", at, end)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", at, end) + 1
        at = end
    return found


def _part(text: str, at: int, quote: str, nested: list[str], goes_on: Kind, ends: Kind) -> tuple[Kind, int]:
    """What a part of a template string is, and where it ends."""
    part = _PART[quote].match(text, at)
    if part is None:
        return Kind.ERROR, len(text)
    if part[1] == "{":
        nested.append(quote)
        return goes_on, part.end()
    return ends, part.end()
