"""Clauses: the parts of a sentence with a subject of their own, where each begins to say something, and its object."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.domain.sentences import Sentence
from recollect.domain.statement_rules import either, pattern

MOST_VALUE = 200
MOST_LEADS = 4
"""Words of leading that are looked past."""
MOST_LED = 2
"""Words before a clause that are no clause themselves: they lead to it, or throw doubt on it."""

_WHEN = either(
    "(?:just )?(?:last|this|next) \\w+, just yesterday, yesterday, today, the other day, in \\d{4}, growing up, lately",
    "recently, an? (?:few|couple of) \\w+ ago",
)
_SAID_FIRST = either(
    "yeah, yep, yes, yup, no, nope, oh, wow, well, hey, hi, hello, ok, okay, sure, thanks, thank you, btw",
    "by the way, fyi",
    "honestly, to be honest, in fact, for example, for me, as for me, luckily, anyways?, actually, correction",
    "also, plus",
    "unfortunately, personally, sadly, so, and, but, then, now, first, besides, true, right, definitely, absolutely",
    "totally, ah, aw, haha, lol, nice, cool, great, quick note, note, just so you know, for context",
)
_LEAD = re.compile(
    rf"(?:{_SAID_FIRST}|{_WHEN})(?: (?-i:[A-Z])\w+)? ?[,:!.;-]+ ?"
    rf"|(?:so|and|but|also|well|oh|yeah|then|now|plus|yes|because|'cause|{_WHEN}) ",
    re.IGNORECASE,
)
_OWN_SUBJECT = r"(?=(?:I|we)(?:'\w+)? |my (?:[\w'-]+ ){1,3}(?:is|are) )"
_PARTED = re.compile(
    rf"(?:[,;:]| -+|--) *(?:(?:and|but|so|because|plus|since|as) )?{_OWN_SUBJECT}"
    rf"| (?:and|but|so|because) {_OWN_SUBJECT}",
    re.IGNORECASE,
)
_JOINT = pattern(r"\b(?:my|our) <KIN>(?: \w+)?$")
"""The first of two who do something together."""
_ENDED = re.compile(
    r"[.!?](?= |$)|[,;:…](?= |$)| ?-+ |--| (?:but|because|'cause|which|if) | and (?:it|that|this|they)\b", re.IGNORECASE
)
_AROUND = " \"'“”‘’«»`()[].,;:!?…"


def clauses_in(sentence: Sentence) -> Iterator[Sentence]:
    """The clauses of a sentence, parted where somebody new says or does something; together they are the sentence."""
    begin = 0
    for parted in _PARTED.finditer(sentence.plain):
        before = sentence.plain[begin : parted.start()]
        joint = _JOINT.search(before) is not None and parted[0] == " and "
        if len(before.split()) > MOST_LED and not joint and not _LEAD.fullmatch(f"{before}, "):
            yield sentence.part(begin, parted.start())
            begin = parted.end()
    yield sentence.part(begin, len(sentence.text))


def led(plain: str) -> int:
    """Where a clause begins to say something, after greetings, connectives and times."""
    begin = 0
    for _ in range(MOST_LEADS):
        found = _LEAD.match(plain, begin)
        if found is None:
            break
        begin = found.end()
    return begin


def object_in(words: Sentence) -> str:
    """The object of a clause: up to where the thought ends, without what stands around it."""
    ended = _ENDED.search(words.plain)
    return words.text[: ended.start() if ended else None][:MOST_VALUE].strip(_AROUND)
