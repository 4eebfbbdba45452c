"""The rules for open loops: how people say what they will do, do regularly, turn over, or are at odds with.

A rule is matched where a clause begins to say something. Its group `said` is what is kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.domain.conversation.loop_words import RECURRENCE
from recollect.domain.conversation.todos import LoopKind
from recollect.domain.statement_rules import CLEAR, EXPLICIT, WEAK, either


class LoopRule(NamedTuple):
    """One way of opening a loop."""

    kind: LoopKind
    confidence: float
    pattern: re.Pattern[str]
    wills: bool = False
    """Whether an action follows, so that verbs which are none rule it out."""
    recurs: bool = False
    """Whether it is said of what is done again and again, and holds only then."""


_OFTEN = either(
    "really, just, also, definitely, certainly, actually, still, totally, absolutely, then, now, probably, currently"
    ", constantly, always, finally, seriously, lately, usually, often, normally, so, very, pretty, kinda"
)
_ADV = rf"(?:{_OFTEN} ){{0,2}}"
_AM = r"(?:I'?m|I am)"
_BEEN = r"(?:I'?ve been|I have been)"
_GOING = r"(?:going to|gonna|goin' to)"
_WILL = rf"(?:I'll|I will|{_AM} {_ADV}{_GOING})"
_SAID = r"(?P<said>\S.*)"
_NAMED = r"(?!(?:it|that|this|what|which|he|she|they|you)\b)\S"
_V = rf"{_ADV}{_SAID}"
_MUST = either(
    "need to, needta, have to, have got to, gotta, got to, must, ought to, am supposed to, better, had better",
    "should really, really should, should probably",
)
_COMMITMENTS = (
    (
        EXPLICIT,
        rf"(?:please |can you |could you )?(?:remind me|don't let me forget|don't forget to remind me) to {_SAID}",
    ),
    (
        EXPLICIT,
        rf"I (?:hereby )?(?:promised?(?: (?:myself|my \w+|her|him|them))?|swear|vow|commit) (?:that )?{_WILL} {_V}",
    ),
    (EXPLICIT, rf"I (?:hereby )?(?:promise|swear|vow|commit)(?: (?:myself|my \w+|her|him|them))? to {_V}"),
    (EXPLICIT, rf"(?:to-?do|reminder|note to self)(?: for \w+)?: ?(?:I (?:need|have) to |to )?{_SAID}"),
    (CLEAR, rf"I {_ADV}(?:(?:{_MUST})) {_V}"),
    (CLEAR, rf"I(?:'ve got to|'d better|'m supposed to) {_V}"),
    (CLEAR, rf"(?:need to|gotta|have to|must|got to|better) {_V}"),
    (CLEAR, rf"{_WILL} (?:have to |need to |make sure (?:that )?(?:I |to ))?{_V}"),
    (CLEAR, rf"I {_ADV}(?:plan|intend) (?:to|on) {_V}"),
    (CLEAR, rf"(?:{_AM}|{_BEEN}) {_ADV}planning (?:to|on) {_V}"),
    (WEAK, rf"I(?:'ve| have) (?:decided|agreed) to {_V}"),
)
_ONGOING = rf"(?:(?:{_AM}|{_BEEN}|I was) {_ADV}|I keep |(?:just |been |still )?)"
_THREADS = (
    (
        CLEAR,
        (
            rf"{_ONGOING}(?P<said>(?:thinking (?:about|of)|considering|contemplating|debating|pondering|mulling over"
            r"|toying with|torn (?:between|about|on)|leaning (?:towards?|to)|on the fence about"
            r"|wondering (?:if I|whether|how to|what to)|(?:un|not )sure (?:whether|if I|about|how to|what to do)"
            r"|trying to (?:decide|figure out)|undecided (?:about|on)|half[- ]thinking (?:of|about)) \S.*)"
        ),
    ),
    (
        CLEAR,
        (
            r"I (?:still )?(?P<said>(?:can't|cannot|can not|don't know how to) (?:decide|make up my mind) \S.*"
            r"|don't know (?:whether|if I) \S.*|wonder (?:whether|if) I \S.*)"
        ),
    ),
    (
        WEAK,
        rf"(?P<lead>maybe|perhaps|possibly|hopefully) I(?:'ll| should| could| can| will| might) {_SAID}",
    ),
    (WEAK, rf"I (?:think|guess|suppose) (?P<lead>I'll|I will|I might|I may|I should|I could) {_V}"),
    (WEAK, rf"I (?P<lead>might|may|could maybe|should maybe|maybe should) {_V}"),
)
_TROUBLING = (
    r"(?:is|are|'s|has been|have been|keeps?) (?:really |just |so |always |constantly )?"
    r"(?:driving me (?:crazy|nuts|mad|insane|up the wall)|stressing me out|getting (?:in (?:my|the) way|to me)"
    r"|getting on my nerves|bothering me|killing me|holding me back|bugging me|wearing me (?:out|down)"
    r"|dragging me down|distracting me"
    r"|annoying me|exhausting me|keeping me (?:up|awake)|slowing me down|interrupting (?:me|us|my \w+))"
)
_DISTURBING = either("interrupting, distracting, waking, breaking, crashing, failing, bothering, nagging, cancell?ing")
_WORRY = either(
    "struggling (?:with|to), having (?:a (?:really )?(?:hard|tough|difficult|rough) time|trouble|difficulty|problems)"
    ", (?:sick|tired) (?:and tired )?of, fed up with, overwhelmed (?:by|with), stuck (?:on|with|in)"
    ", stressed (?:out )?(?:about|by|over), burn(?:ed|t) out (?:by|from), worried (?:about|that)"
    ", annoyed (?:by|with|that), procrastinating (?:on|with), falling behind (?:on|with|at)"
)
_FRICTIONS = (
    (EXPLICIT, rf"(?:(?:{_AM}|{_BEEN}) )?(?P<said>{_ADV}{_WORRY} \S.*)"),
    (EXPLICIT, rf"I (?:still )?(?P<said>{_ADV}struggle (?:with|to) \S.*)"),
    (EXPLICIT, rf"I {_ADV}(?P<said>(?:have|had) (?:trouble|difficulty|a (?:hard|tough) time) \w+ing\b.*)"),
    (
        EXPLICIT,
        (
            r"I (?:just |still |really )?(?P<said>(?:can't|cannot|can not|can't seem to|cannot seem to)"
            r" (?:seem to |even )?(?:focus|concentrate|sleep|keep up|relax|get (?:anything|any work) done|fall asleep"
            r"|stay (?:focused|awake|motivated)|find (?:the )?(?:time|energy|motivation)|switch off|stop"
            r" (?:worrying|procrastinating|scrolling|overthinking))\b.*)"
        ),
    ),
    (CLEAR, rf"I {_ADV}(?P<said>(?:hate|can't stand) (?:that|when|how|having to)\b \S.*)"),
    (
        CLEAR,
        r"I (?P<said>keep (?:forgetting|putting off|procrastinating|oversleeping|losing|missing|getting \w+ed)\b.*)",
    ),
    (CLEAR, rf"(?P<said>{_NAMED}.{{0,80}}? {_TROUBLING}\b.*)"),
    (CLEAR, rf"(?P<said>{_NAMED}.{{0,60}}? keeps? {_DISTURBING}\b.*)"),
    (CLEAR, rf"(?P<said>{_NAMED}.{{0,60}}? gets? in (?:the|my) way\b.*)"),
)
_REGULARLY = rf"(?P<said>[a-z]+ (?:.{{0,120}} )?{RECURRENCE.pattern}.*)"
_HABITS = (
    (
        CLEAR,
        (
            r"I(?: (?:really )?(?:want|need|have|would like|plan|try|intend|like|aim) to| wanna|'d like to"
            r"| should| must)? "
            rf"{_ADV}{_REGULARLY}"
        ),
    ),
    (
        CLEAR,
        rf"(?:{_AM} (?:{_GOING}|trying to|planning to) |I'll |I will |I'd like to ){_ADV}{_REGULARLY}",
    ),
    (CLEAR, rf"(?:{_BEEN}|{_AM}) {_ADV}(?P<said>\w+ing (?:.{{0,120}} )?{RECURRENCE.pattern}.*)"),
    (
        CLEAR,
        rf"(?:remind me to|I need to start|I want to start|I started) {_REGULARLY}",
    ),
)


def _ruled(kind: LoopKind, *written: tuple[float, str], wills: bool = False, recurs: bool = False) -> list[LoopRule]:
    return [LoopRule(kind, sure, re.compile(each, re.IGNORECASE), wills, recurs) for sure, each in written]


LOOP_RULES: tuple[LoopRule, ...] = (
    *_ruled(LoopKind.FRICTION, *_FRICTIONS),
    *_ruled(LoopKind.HABIT, *_HABITS, wills=True, recurs=True),
    *_ruled(LoopKind.THREAD, *_THREADS),
    *_ruled(LoopKind.COMMITMENT, *_COMMITMENTS, wills=True),
)
"""All rules, in the order in which they are tried."""
NO_ACTION = re.compile(
    either(
        "not, never, always, no longer, be(?! (?:at|in|on|home|back|there) ), been",
        "have(?! (?:a|an|my|the|to) ), have (?:an? |the |to )?(?:blast|great|good|nice|safe|fun|lot|ball|look)",
        "see, say, admit, bet, miss, love, like, hate, know, feel, need, want, wish, hope, believe, guess, forget",
        "agree, confess, remember(?! to), appreciate, understand, wonder, die, cry, enjoy, treasure, cherish",
        "mean, happen",
        "think, consider, imagine, suppose, seem, look forward, pass(?: on|$), thank, rock, live, trust, stick, depend",
        "owe, work out, cheer, come, continue, hold, focus, push, prove, win, wait, spread, strive, grow, hang",
        "lose(?! \\w+ (?:pounds|kilos|kg)), (?:help|ask|tell|show|let|give|check|keep|join) (?:you|u), leave it",
        "try(?:$| my| it| that| this| to$| harder| some), stay (?:strong|positive|true|focused|motivated|in touch)",
        "keep (?:that|this|it|up|on|my|an eye|in mind|at it|\\w+ing), take (?:it|that|your|care|things|the bet)",
        "take (?:an? (?:look|break|moment)|some time|the time)",
        "make (?:it|time|an? (?:difference|change|impact|point))",
        "do (?:it|that|my best|this|so|the same|some|something|well|great|better|have|what|anything|whatever)",
        "get (?:it|there|through|better|back to|to (?:see|know)), go(?:$|[.!])",
        "go (?:for it|through|now|then|train|with)",
        "find (?:it|out|that|some(?:one|body|thing)|those|an? (?:\\w+ )?way), learn (?:a lot|from|so), reach out",
        "look (?:into|at) (?:it|that|them|this), figure (?:it|that), deal with, handle (?:it|that), share (?:it|that)",
        "spend (?:more |some )?time, live, push, work (?:hard|harder|on (?:it|that|myself))$, jump, get in touch",
        "the, a, an, my, our, his, her, their, your, this, that, these, those, some, both, it, so, bed, work(?:$|[.!])",
        "church, school, therapy, town, college, yoga, classes, concerts, (?-i:[A-Z])\\w*",
    )
    + r"(?![\w'])",
    re.IGNORECASE,
)
"""What follows a will and is nothing to be done: states, courtesies, and what needs what was said before."""
PRESENT_ONLY = re.compile(
    either(
        "\\w+ed, went, ran, did, had, was, were, got, took, made, said, saw, felt, thought, knew, came, gave, found",
        "told, left, heard, met, kept, began, wrote, spent, used, lost, won, ate, slept, drove, swam, rode, can, could",
        "would, will, might, may, don't, didn't, doesn't, do have, am, is, are, and, who, also, learn, get, thank",
        "grow, wore, thinking, looking, trying, considering, wondering, having",
        "see, face, hear, notice, worry, look, love, miss, feel, need, think, know",
    )
    + r"(?![\w'])",
    re.IGNORECASE,
)
"""What a habit does not begin with: pasts, states and what merely happens."""
