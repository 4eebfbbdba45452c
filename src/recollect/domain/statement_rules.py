"""What a rule that finds statements is, and the words that many rules share.

A rule is matched at the beginning of a clause. Clauses are short, and their number is bounded by the length of a text,
so that all rules together take time linear in it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from recollect.domain.governance.terms import EventType

EXPLICIT, CLEAR, WEAK = 0.95, 0.9, 0.75
"""How sure a rule is: the words can mean nothing else, they mean it as a rule, they mean it more often than not."""


class About(StrEnum):
    """Whom a rule finds something about."""

    SPEAKER = "speaker"
    PERSON = "person"
    """Somebody whom the clause names, or else the speaker, whose they are."""
    PROJECT = "project"
    """A project that the clause names, or else the speaker, whose it is."""


class Rule(NamedTuple):
    """One way of saying one thing. The group `value` begins what is said; `name` names whom or what it is said of."""

    predicate: str
    event_type: EventType
    confidence: float
    pattern: re.Pattern[str]
    about: About = About.SPEAKER
    keyed: bool = False
    """Whether the predicate is the key of a profile fact."""
    directs: bool = False
    """Whether it speaks to the assistant, so that "you" and "if" are no reason to leave it out."""


def either(*written: str) -> str:
    """A pattern for one of several words or phrases, given in any number of texts with commas between them."""
    return f"(?:{'|'.join(each.strip() for text in written for each in text.split(',') if each.strip())})"


_OFTEN = either(
    "really, just, also, usually, always, often, sometimes, currently, recently, finally, actually, still, even, now",
    "already, absolutely, totally, truly, personally, mostly, generally, typically, definitely, particularly, both",
    "especially, strongly, kinda, genuinely, officially, very much, regularly, mainly, normally, only, ever, long",
    "lately, newly, once",
)
_OF_AGE = either("older, younger, elder, little, big, twin, eldest, oldest, youngest, late, ex, best, close, old")
_KIN = rf"(?:{_OF_AGE}[ -])?" + either(
    "mom, mum, mother, dad, father, parents, sisters?, brothers?, siblings, wife, husband, spouse, fianc[eé]e?",
    "boyfriend, girlfriend, partner, sons?, daughters?, kids?, children, baby, twins, grandma, grandmother, grandpa",
    "grandfather, grandparents, grandson, granddaughter, grandchildren, uncle, aunt, cousins?, nephews?, nieces?",
    "friends?, roommate, flatmate, neighbou?r, boss, manager, colleague, coworker, teammate, coach, mentor, teacher",
    "co-?founders?, business partner, classmate, housemate, landlord, landlady, supervisor, tutor, trainer",
    "doctor, therapist, (?:mother|father|brother|sister)-in-law, step(?:son|daughter|mom|dad|mother|father)",
)
_PET = either(
    "dogs?, cats?, puppy, puppies, pups?, kitty, kittens?, pets?, horses?, parrots?, rabbits?, hamsters?, turtles?"
)
_ELSEWHERE = either(
    "it, that, this, them, these, those, him, her, one, ones, so, how, what, when, why",
    "everything, something, anything, nothing",
)
_FRAGMENTS = {
    "I": rf"(?:I|we|my {_KIN}(?: \w+)? and I|me and my {_KIN}) <OFTEN>",
    "AM": "(?:I'?m|I am|we're|we are) <OFTEN>",
    "WAS": "(?:I was|we were) <OFTEN>",
    "HAVE": "(?:I'?ve|I have|we've|we have) <OFTEN>",
    "OFTEN": f"(?:{_OFTEN} ){{0,3}}",
    "KIN": f"(?:{_KIN}|{_PET})",
    "MY": "(?:my|our)",
    "THING": rf"(?!{_ELSEWHERE}\b)",
    "NAME": r"(?P<name>(?!(?:the|our|my|your|his|her|their|this|that|a|an|I) )"
    r"(?-i:[^\W\d_a-z][\w'-]*(?: [^\W\d_a-z][\w'-]*){0,2}))",
    "V": r"<THING>(?P<value>\S.*)",
}
"""What stands for its name in angle brackets. A thing is no word that points to something said elsewhere."""


def pattern(written: str, *, without: str = "") -> re.Pattern[str]:
    """A pattern with the shared words put in for their names; what begins with a word of `without` is no value."""
    if without:
        written = written.replace("<V>", rf"(?!{either(without)}\b)<V>").replace(
            "(?P<value>", rf"(?!{either(without)}\b)(?P<value>"
        )
    for name in ("I", "AM", "WAS", "HAVE", "OFTEN", "KIN", "MY", "V", "THING", "NAME"):
        written = written.replace(f"<{name}>", _FRAGMENTS[name])
    return re.compile(written, re.IGNORECASE)
