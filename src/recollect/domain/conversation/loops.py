"""Open loops: what a text says that its speaker will do, does regularly, turns over, or is at odds with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from recollect.domain.clauses import clauses_in, led
from recollect.domain.conversation.completions import Change, heard, takes_back
from recollect.domain.conversation.loop_rules import LOOP_RULES, NO_ACTION, PRESENT_ONLY, LoopRule
from recollect.domain.conversation.loop_words import (
    HABIT_MARK,
    RECURRENCE,
    TIME,
    is_known,
    keywords,
    signature,
)
from recollect.domain.conversation.subjects import mentions_the_talk
from recollect.domain.conversation.todos import MAX_CONTENT, Loop, LoopKind
from recollect.domain.sentences import Sentence, sentences_in
from recollect.domain.statement_rules import either
from recollect.domain.statement_vetoes import is_question

__all__ = ["MOST_LOOPS", "Change", "filtered", "heard", "is_known", "kind_of", "loops_in", "signature"]

MOST_LOOPS = 8
"""Loops that one text opens at most."""
LEAST_CONTENT = 2
"""Words that something to be done must have."""

_HEDGE = re.compile(r"\b(?:maybe|might|could|wish|hope|if i|if we)\b", re.IGNORECASE)
_WILL = re.compile(r"\b(?:i will|i'm going to|i am going to|i'm gonna|i'll)\b", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*(?:\"|$)|«[^»]*»|(?<!\w)'[^']{3,}'(?!\w)")
_REPORTED = re.compile(
    r"\b(?:said|says|saying|told|tells|asked|asks|goes|replied|wrote|promised|was like|were like)"
    r"(?: (?:me|us|him|her|them|my \w+))?(?: that)?[\s:,'\"-]*$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^(?:if|unless|suppose|supposing|imagine|pretend|let's say|assuming|in theory|i wish|wish|had i|were i)\b"
    r"|\b(?:hypothetically|just kidding|joking)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:you|your|yours|you're|you'll|yourself|y'all|ya|u|ur)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"[;…](?= |$)| -+ |--|:(?= |$)"
    r"|, ?(?=(?:but|so|which|because|though|although|right|ok|okay|haha|lol|you know|I|we|it|that|this|hope\w*|thanks"
    r"|thank|hence|since|as|lmao|just)\b)"
    r"| (?:but|because|'cause|cuz|which|although|though|so that|since) ",
    re.IGNORECASE,
)
_AROUND = ' "“”‘’«»`[],;:!?….'
_POINTING = re.compile(
    r"^(?:\S+ ){0,3}(?:it|these|those|them|one|that|so|us|something|what|things|stuff|such"
    r"|this(?! (?:week|weekend|month|year|morning|afternoon|evening|summer|winter|spring|autumn|fall|\w+day))|there)\b"
    r"| (?:about|like|with|of|for) (?:it|this|that|those|these|them)\b|\bas well$|\btoo$",
    re.IGNORECASE,
)
"""What points to something that was said elsewhere."""
_POINTING_ALONE = re.compile(r"(?:it|this|that|them|those|these|you|everything|things|stuff)(?:$|\W)", re.IGNORECASE)
_POINTED_AT = re.compile(r"^\w+ (?:with|to|of|by|about|that|when|how|on) ", re.IGNORECASE)
_COURTEOUS = re.compile(r"\b(?:reach out|get in touch|call|ask)\b.* if (?:I|we) (?:need|have|ever)\b", re.IGNORECASE)
_OF_A_THING = re.compile(
    r"routine\b|(?:daily|weekly|monthly|yearly) (?!(?:at|in|on|for|to|with|before|after|and|or|from|by|now)\b)\w",
    re.IGNORECASE,
)
_SOME_DAY = re.compile(r"\b(?:some ?day|some ?time|one day|eventually|at some point|in the future)\b", re.IGNORECASE)
_IDLE = re.compile(
    either(
        "thinking (?:about|of) (?:you|u|it|that|this|them|him|her|what|how|all|the (?:good|possibilities))",
        "not sure (?:about )?(?:that|it), considering (?:that|how), torn$",
        "(?:maybe|might|may|perhaps) (?:be|have been|not|never|have to be|see|know|need|look|seem|want|feel|like)",
        "\\w+ (?:about|of) \\S.* (?:makes?|pumps?|gives?|helps?|keeps?|fills?|brings?) (?:me|us)",
    )
    + r"(?:\b|$)",
    re.IGNORECASE,
)
"""Thoughts that lead nowhere."""
_WEATHER = re.compile(
    r"\b(?:weather|forecast)\b|\bit(?:'s| is) (?:raining|snowing|sunny|cloudy|windy)\b", re.IGNORECASE
)
_ALWAYS_SAID = re.compile(r"^(?:I (?:have to|must|gotta|need to) (?:say|admit|agree|go|run|ask))\b", re.IGNORECASE)


def loops_in(text: str, *, names: Sequence[str] = ()) -> tuple[Loop, ...]:
    """The loops that a user's own words open, in their order; the same text gives the same.

    `names` are those of whom they talk to, by which a sentence may begin or end. Questions, conditions, words of others
    and what is not going to be done open none. What is taken back in the same text is left out.
    """
    found: list[Loop] = []
    for sentence in sentences_in(text, least=2):
        if found and takes_back(sentence.plain):
            found.pop()
            continue
        found += _opened(_unaddressed(sentence, names))
        if len(found) >= 2 * MOST_LOOPS:
            break
    return filtered(found)


def kind_of(text: str) -> LoopKind:
    """The kind that a model wrote, as `commitment` or `COMMITMENT|…`; a thread when there is no such kind."""
    word = text.partition("|")[0].strip().upper()
    return LoopKind(word) if word in LoopKind.__members__ else LoopKind.THREAD


def filtered(loops: Iterable[Loop]) -> tuple[Loop, ...]:
    """The loops worth keeping of those that a rule or a model found: each once, and vague commitments as threads."""
    kept: dict[tuple[LoopKind, str], Loop] = {}
    for each in loops:
        content = " ".join(each.content.split())[:MAX_CONTENT].strip()
        if not content or mentions_the_talk(content):
            continue
        loop = _demoted(msgspec.structs.replace(each, content=content))
        kept.setdefault((loop.kind, signature(loop)), loop)
    return tuple(kept.values())[:MOST_LOOPS]


def _demoted(loop: Loop) -> Loop:
    """The loop itself; a thread when it is a commitment that hedges, and says neither when nor that it will be done."""
    plain = loop.content.replace("’", "'")
    if loop.kind is not LoopKind.COMMITMENT or _HEDGE.search(plain) is None:
        return loop
    if TIME.search(plain) or _WILL.search(plain):
        return loop
    return msgspec.structs.replace(loop, kind=LoopKind.THREAD, demoted=True)


def _unaddressed(sentence: Sentence, names: Sequence[str]) -> Sentence:
    """A sentence without the name of whom it speaks to, before or after it."""
    begin, end = 0, len(sentence.plain)
    for name in names:
        if not name.strip():
            continue
        calling = re.match(
            rf"(?:(?:hey|hi|hello|ok|okay) )?{re.escape(name)}\b[,:!. ]+", sentence.plain[begin:], re.IGNORECASE
        )
        begin += calling.end() if calling else 0
        called = re.search(rf"[, ]+{re.escape(name)}[.!]*$", sentence.plain[begin:end], re.IGNORECASE)
        end = begin + called.start() if called else end
    return sentence.part(begin, end)


def _opened(sentence: Sentence) -> Iterator[Loop]:
    if is_question(sentence.plain[led(sentence.plain) :]) and not _reminds(sentence.plain):
        return
    quoted = [each.span() for each in _QUOTED.finditer(sentence.plain)]
    at, before = 0, ""
    for clause in clauses_in(sentence):
        at = sentence.plain.find(clause.plain, at)
        begin = led(clause.plain)
        said = clause.part(begin, len(clause.plain))
        is_quoted = any(opened <= at + begin < closed for opened, closed in quoted)
        if not (is_quoted or _REPORTED.search(before) or _SUPPOSED.search(said.plain) or _SUPPOSED.search(before)):
            loop = _loop(said)
            if loop is not None:
                yield loop
        before = sentence.plain[: at + len(clause.plain)] if not before else clause.plain


def _reminds(plain: str) -> bool:
    return re.search(r"\bremind me to\b", plain, re.IGNORECASE) is not None


def _loop(clause: Sentence) -> Loop | None:
    for rule in LOOP_RULES:
        found = rule.pattern.match(clause.plain)
        if found is None:
            continue
        said = _content(clause, found)
        if said is None or not _is_open(rule, said, clause.plain):
            continue
        lead = (found.groupdict().get("lead") or "").lower()
        hedge = "" if not lead else lead if lead in ("maybe", "might", "may", "perhaps") else "maybe"
        content = f"{hedge} {said}".strip()[:MAX_CONTENT]
        if rule.kind is LoopKind.THREAD and (_IDLE.match(content) or _WEATHER.search(content)):
            return None
        kind, vague = rule.kind, rule.kind is LoopKind.COMMITMENT and _SOME_DAY.search(content) is not None
        if vague:
            kind = LoopKind.THREAD
        key = _key(kind, content)
        return Loop(kind=kind, content=content, dedupe_key=key, confidence=rule.confidence, demoted=vague)
    return None


def _content(clause: Sentence, found: re.Match[str]) -> str | None:
    begin, end = found.span("said")
    after = _AFTER.search(clause.plain, begin)
    said = clause.text[begin : after.start() if after else end].strip(_AROUND)
    return said if len(said.split()) >= LEAST_CONTENT else None


def _is_open(rule: LoopRule, said: str, clause: str) -> bool:
    """Whether what was said can be done, and can be read without what was said before."""
    plain = said.replace("’", "'")
    if rule.recurs and (not _recurs(plain) or PRESENT_ONLY.match(plain)):
        return False
    if rule.kind is LoopKind.FRICTION:
        return _POINTING_ALONE.match(_POINTED_AT.sub("", plain)) is None
    if not rule.wills and rule.kind is LoopKind.THREAD:
        led_to = rule.pattern.groups > 1 and NO_ACTION.match(plain)
        return not (led_to or _POINTING.search(plain) or _ADDRESSED.search(plain))
    if NO_ACTION.match(plain) or _POINTING.search(plain) or _ALWAYS_SAID.match(clause):
        return False
    if _COURTEOUS.search(plain):
        return False
    if _ADDRESSED.search(plain) and TIME.search(plain) is None:
        return False
    return bool(keywords(plain))


def _recurs(plain: str) -> bool:
    """Whether words say how often; a routine, or the daily or monthly of a thing, does not."""
    return any(_OF_A_THING.match(plain, each.start()) is None for each in RECURRENCE.finditer(plain))


def _key(kind: LoopKind, content: str) -> str | None:
    words = keywords(RECURRENCE.sub(" ", content) if kind is LoopKind.HABIT else content)
    if not words:
        return None
    return (HABIT_MARK if kind is LoopKind.HABIT else "") + "_".join(words)
