"""Sentences: how a text is taken apart into what can be read alone, without what was pasted into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_TEXT = 20_000
"""Characters of one text that are looked at."""
MOST_SENTENCE = 400
"""Longer sentences are pasted rather than said, and are left out."""
LEAST_WORDS = 3

_SHOWN = {
    **dict.fromkeys(map(ord, "’‘ʼ＇´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
}
"""Typographic characters as the patterns know them. One character stays one, so that places stay the same."""
_UNSEEN = {
    **dict.fromkeys((0x00AD, 0x061C, 0x180E, 0x2060, 0xFEFF)),
    **dict.fromkeys(range(0x200B, 0x2010)),
    **dict.fromkeys(range(0x202A, 0x202F)),
    **dict.fromkeys(range(0x2066, 0x206A)),
    **dict.fromkeys(range(0xE0000, 0xE0080)),
}
"""Characters that show nothing: they part no word, and what is kept is what was seen."""
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_PASTED = re.compile(r"^\s*(?:>|\|)|^ {4}\S|^\t|^\s*(?:https?://|www\.)\S+\s*$|^\s*(?:Traceback|File \"|at \w+[.(])")
_BULLET = re.compile(r"^\s{0,3}(?:[-*•–]|\d{1,2}[.)])\s+")
_QUOTED = re.compile(r"\"[^\"]*\"|«[^»]*»|「[^」]*」")
_BREAK = re.compile(r"[.!?…。！？]+[\"')\]]*(?=\s|$)|[。！？]|\s(?=\[)")
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|vs|etc|approx|e\.g|i\.e|a\.m|p\.m|No|Jr|Sr)\.$")


class Sentence(NamedTuple):
    """A sentence as it was written, and as the patterns read it: character for character."""

    text: str
    plain: str

    def part(self, begin: int, end: int) -> Sentence:
        """A piece of it, without the space around it."""
        begin += len(self.text[begin:end]) - len(self.text[begin:end].lstrip())
        end = begin + len(self.text[begin:end].rstrip())
        return Sentence(self.text[begin:end], self.plain[begin:end])


def sentences_in(text: str, *, least: int = LEAST_WORDS) -> Iterator[Sentence]:
    """The sentences that a text says in its own words, in their order.

    Code, quoted lines and quoted sentences are the words of others. What has fewer words than `least` says nothing
    alone.
    """
    for line in _own_lines(text[:MOST_TEXT].translate(_UNSEEN)):
        whole = Sentence(line, line.translate(_SHOWN))
        quotes = [found.span() for found in _QUOTED.finditer(whole.plain)]
        for begin, end in _spans(whole.plain):
            sentence = whole.part(begin, end)
            if any(opened < begin < closed for opened, closed in quotes):
                continue
            if len(sentence.text) <= MOST_SENTENCE and _is_said(sentence.plain, least):
                yield sentence


def _own_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip() and not _PASTED.match(line):
            yield " ".join(_BULLET.sub("", line, count=1).split())


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends."""
    begin = 0
    for found in _BREAK.finditer(plain):
        if not _ABBREVIATED.search(plain[max(begin, found.end() - 8) : found.end()]):
            yield begin, found.end()
            begin = found.end()
    yield begin, len(plain)


def _is_said(plain: str, least: int) -> bool:
    unspaced = any("\u3040" <= each <= "\u9fff" for each in plain)
    return not plain.startswith(("[", '"', "«", "{", "<")) and (unspaced or len(plain.split()) >= least)
