"""The words of open loops: which of them tell one loop from another, and how two are found to mean the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from recollect.domain.conversation.todos import Loop, Todo, TodoStatus
from recollect.domain.statement_rules import either
from recollect.domain.words import words_in

LEAST_KEYWORD = 3
"""Letters that a word must have to tell loops apart, in scripts that put spaces between words."""
HABIT_MARK = "habit:"
"""How the keys of habits begin, so that a commitment and the habit it turns into are two things."""

_DAYS = either("mon(?:day)?, tues(?:day)?, wednes(?:day)?, thurs(?:day)?, fri(?:day)?, satur(?:day)?, sun(?:day)?")
_SPANS = either("day, morning, afternoon, evening, night, week, weekend, month, year, hour, time, summer, winter")
RECURRENCE = re.compile(
    rf"\b(?:(?:every|each) (?:single |other |second )?(?:{_SPANS}|{_DAYS})s?"
    rf"|(?:once|twice|(?:two|three|four|five|\d+) (?:times|days|nights|mornings)) (?:an?|per|every|each) {_SPANS}"
    rf"|daily|nightly|weekly|monthly|yearly|regularly|routinely|routine"
    rf"|on (?:weekends|weekdays|{_DAYS}s))\b",
    re.IGNORECASE,
)
"""Words for what is done again and again."""
TIME = re.compile(
    r"\b(?:today|tonight|tomorrow|before|by|end of (?:the )?day|eod|(?:at )?\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m)"
    rf"|at \d{{1,2}}(?::\d\d)?|(?:this|next) (?:{_SPANS}|{_DAYS})|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|in (?:an?|\d+|two|three|a few) (?:minutes?|hours?|days?|weeks?|months?)|after work|asap|right away)\b",
    re.IGNORECASE,
)
"""Words that say when."""
_TIMES = frozenset(
    words_in(
        """
        today tonight tomorrow yesterday morning afternoon evening night noon midnight week weekend month year day days
        hour hours minute minutes monday tuesday wednesday thursday friday saturday sunday daily weekly monthly
        regularly routine soon later asap next last this ago every each eod
        """
    )
)
_LITTLE = frozenset(
    words_in(
        """
        get got going gonna need needs want wants have make made take took try trying start started keep will would
        should could might maybe may perhaps hopefully really actually probably definitely finally just already also
        still even thing things stuff something anything everything way lot bit some time right now please okay yes
        yeah well good great nice thinking think thought about considering sure whether not decide deciding
        """
    )
)
_PASTS: dict[str, str] = dict(
    re.findall(
        r"(\w+)>(\w+)",
        """
    bought>buy went>go gone>go sent>send wrote>write written>write paid>pay met>meet made>make took>take taken>take
    ran>run spoke>speak spoken>speak told>tell got>get gotten>get gave>give given>give saw>see seen>see swam>swim
    did>do done>do had>have brought>bring built>build caught>catch chose>choose chosen>choose drove>drive driven>drive
    ate>eat eaten>eat fed>feed found>find flew>fly hung>hang held>hold kept>keep led>lead left>leave lent>lend lost>lose
    rode>ride sold>sell shot>shoot sang>sing sat>sit slept>sleep spent>spend stood>stand swept>sweep taught>teach
    threw>throw thrown>throw woke>wake won>win wore>wear drew>draw drawn>draw began>begin begun>begin dealt>deal
    dug>dig hid>hide hit>hit laid>lay read>read put>put cut>cut set>set quit>quit shut>shut filed>file biked>bike
    baked>bake hiked>hike used>use fixed>fix planned>plan booked>book mailed>mail
    """,
    )
)
_WORD = re.compile(r"[^\W_]+")


def base_of(word: str) -> str:
    """The plain form of a verb in one of its irregular pasts; any other word as it is."""
    return _PASTS.get(word.casefold(), word)


def is_past(word: str) -> bool:
    """Whether a word is the past of a verb by its form."""
    folded = word.casefold()
    return folded in _PASTS or (len(folded) > 4 and folded.endswith("ed") and not folded.endswith("eed"))


def keywords(text: str) -> tuple[str, ...]:
    """The stems by which a text can be told from others: no common words, no times, no verbs that do no more than help.

    In their order, each once.
    """
    plain = _WORD.sub(lambda found: base_of(found[0]), text)
    found = (each for each in words_in(plain) if len(each) >= LEAST_KEYWORD or not each.isascii() or each.isdigit())
    return tuple(dict.fromkeys(each for each in found if each not in _TIMES and each not in _LITTLE))


def normalised(text: str) -> str:
    """A text with nothing left but letters and digits of all scripts, folded for case, and `_` between the words."""
    folded = text
    for _ in range(3):  # folding may give what is to be composed, which may give what is to be folded
        folded = unicodedata.normalize("NFKC", folded).casefold()
    folded = unicodedata.normalize("NFKC", folded)
    kept = (each if unicodedata.category(each)[0] in "LMN" else " " for each in folded)
    return "_".join("".join(kept).split())


def signature(loop: Loop | Todo) -> str:
    """What another loop of the same kind has that means the same: the key it was given, or else its words."""
    return normalised(loop.dedupe_key or "") or normalised(loop.content) or " ".join(loop.content.casefold().split())


def is_known(loop: Loop, pending: Sequence[Todo]) -> bool:
    """Whether one of the pending todos of the user and persona means the same."""
    own = signature(loop)
    return any(
        each.kind is loop.kind and each.status is TodoStatus.PENDING and signature(each) == own for each in pending
    )
