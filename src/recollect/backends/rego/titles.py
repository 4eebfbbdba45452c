"""What the comments above a clause call it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from recollect.backends.rego.lexer import Kind, Token

_ANNOTATION = "METADATA"
_KEY = re.compile(r"(title|description|scope):(?:[ \t]+(.*))?$")
_WIDER = ("package", "subpackages")
"""The scopes of annotations that are not about the rule below them."""


class Titles:
    """The comments of a module that have lines of their own, handed out from the first to the last."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        comments = (token for token in tokens if token.kind is Kind.COMMENT)
        self._comments = [each for each in comments if not text[each.start - each.column + 1 : each.start].strip()]
        self._next = 0

    def of(self, clause: Token, after: int) -> str:
        """The title of the clause that starts with this token, out of the comments behind `after`.

        It is the title or the description of an annotation; else the comment directly above, as one line.
        """
        found: list[Token] = []
        while self._next < len(self._comments) and self._comments[self._next].start < clause.start:
            if self._comments[self._next].start >= after:
                found.append(self._comments[self._next])
            self._next += 1
        plain = document = ""
        below = clause.line
        for block in reversed(_blocks(found)):
            adjacent, below = block[-1].line == below - 1, block[0].line
            if not _is_annotation(block[0]):
                plain = plain or (" ".join(filter(None, map(_words, block))) if adjacent else "")
                continue
            says = _annotation([comment.text[1:] for comment in block[1:]])
            title = says.get("title") or says.get("description", "")
            scope = says.get("scope", "rule")
            if title and scope == "document":
                document = document or title
            elif title and scope not in _WIDER:
                return title
        return document or plain


def _blocks(comments: Sequence[Token]) -> list[list[Token]]:
    """Comments on successive lines together; an annotation is a block of its own, as far as it starts its lines."""
    blocks: list[list[Token]] = []
    for comment in comments:
        last = blocks[-1] if blocks else []
        goes_on = last and last[-1].line == comment.line - 1 and not _is_annotation(comment)
        if goes_on and (comment.column == 1 or not _is_annotation(last[0])):
            last.append(comment)
        else:
            blocks.append([comment])
    return blocks


def _is_annotation(comment: Token) -> bool:
    return comment.column == 1 and _words(comment).startswith(_ANNOTATION)


def _words(comment: Token) -> str:
    return " ".join(comment.text.lstrip("#").split())


def _annotation(lines: Sequence[str]) -> dict[str, str]:
    """The texts that an annotation has under the keys of interest: as much of YAML as those need."""
    found: dict[str, list[str]] = {}
    parts: list[str] | None = None
    margin: int | None = None
    for line in lines:
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if margin is None and bare:
            margin = indent
        if not bare or indent > (margin or 0):
            if parts is not None:
                parts.append(bare)
            continue
        key = _KEY.match(bare)
        parts = found.setdefault(key[1], [key[2] or ""]) if key else None
    return {key: _scalar(parts) for key, parts in found.items()}


def _scalar(parts: Sequence[str]) -> str:
    """A scalar of YAML as one line of text."""
    first, rest = parts[0], parts[1:]
    if first[:1] in ("|", ">"):
        return " ".join(" ".join(rest).split())
    whole = " ".join(" ".join(parts).split())
    if whole.startswith('"') and whole.endswith('"') and len(whole) > 1:
        try:
            return " ".join(str(json.loads(whole)).split())
        except ValueError:
            return whole[1:-1]
    if whole.startswith("'") and whole.endswith("'") and len(whole) > 1:
        return whole[1:-1].replace("''", "'")
    return whole.partition(" #")[0].rstrip()
