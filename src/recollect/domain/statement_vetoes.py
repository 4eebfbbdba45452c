"""What no statement is made of: questions, doubts, suppositions, and words that say nothing alone."""

from __future__ import annotations

import re

from recollect.domain.statement_rules import either


def _anywhere(*written: str) -> re.Pattern[str]:
    return re.compile(rf"\b{either(*written)}\b", re.IGNORECASE)


_ASKED = re.compile(
    either(
        r"(?:what|who|whom|whose|why|how|which)\b, (?:when|where) (?:do|does|did|is|are|was|were|can|will|should)\b",
        "(?:do|does|did|is|are|was|were|can|could|would|will|should|have|has|am|may|shall)"
        r" (?:i|you|we|they|he|she|it|there|my|the|your)\b",
    ),
    re.IGNORECASE,
)
_DOUBTED = _anywhere(
    "maybe, perhaps, might, possibly, probably, (?:i|we) (?:guess|suppose|wonder|doubt), not sure, unsure, could be",
    "thinking (?:of|about), think i, considering, not certain, hopefully, presumably, allegedly, supposedly",
    "i don't know, who knows, or something, kidding, joking, as if",
)
_SUPPOSED = _anywhere(
    "if(?! (?:that's|possible|it's okay|you (?:don't mind|like|want|prefer))\\b)",
    "imagine, suppose, pretend, let's say, unless, wish, hypothetically, assuming, in theory",
    "(?:could|would|should) have",
)
_ADDRESSED = _anywhere("you, your, yours, you're, you've, you'll, you'd, yourself, y'all, ya, u, ur")
_PASSING = _anywhere(
    "right now, at the moment, tonight, any minute, brb, gotta go, off to",
    "(?:heading|headed) (?:to|out|home), keep (?:it|up), can't wait",
)
_LITTLE = frozenset(
    re.findall(
        r"\w+",
        """
        a an the to of in on at for and or with my our his her their some any all both few lot lots bit more most much
        many ok okay too so also again now then well really very just thing things stuff something anything everything
        way ways good great nice cool fun do did done be been am is are was were get got go one two new best
        started played playing made making met tried trying went took taking learning reading raised finished having had
        ago last next week weeks weekend month months year years day days night yesterday today morning recently lately
        before mostly online together couple first time times other others amount distance whole bunch
        """,
    )
)
_ELSEWHERE = re.compile(
    r"\b(?:it|them|this(?! (?:year|month|week|weekend|summer|winter|spring|autumn|fall)\b)"
    r"|these|those|there|here|such|that (?:one|way|too|happen|again|kind|world|place|fellow)"
    r"|like (?:that|him|her)|another one|one (?:with|last|in|on|at|for|too|next)|our last one|each other)\b"
    r"|^(?:[^\W_]+ ){0,2}(?:him|his|her|hers|their|they|he|she|some(?:thing|one|body))\b",
    re.IGNORECASE,
)
_SLIGHT = re.compile(r"(?:made|played|tried|met|had|cooked|baked|watched|read|painted|an?|some) ", re.IGNORECASE)
LEAST_TOLD = 6
"""Words of a sentence about something slight below which it needs what was said before it."""
_ERRAND = _anywhere(
    "(?:went|going|go) to the (?:store|shop|supermarket|office|bank|post office), lost my (?:keys|phone|wallet)",
    "(?:morning|evening|daily) walk, an? (?:shot|pic|picture|photo)s? of, too much to drink, some dinner",
)
_VAGUE = _anywhere(
    "(?:make|making|made) (?:a (?:\\w+ )?(?:difference|impact|change)|something), (?:do|doing|did) (?:my|our) best",
    "keep (?:going|making|pushing), mov(?:e|ing) forward, (?:had|having) (?:an? (?:\\w+ )?(?:time|blast)|fun)",
    "learned a lot, a (?:ton|lot)$, (?:to|at|had|took) an? (?:event|place|break|step), the time to",
    "an? \\w+ (?:time|blast), lives better, the world, positively, new things, my best, sense of",
    "challenges, spend(?:ing)? time, my game, as usual, for a while, lots of compliments",
)


def is_question(plain: str) -> bool:
    """True for what asks."""
    return plain.rstrip("\"')] ").endswith(("?", "？")) or _ASKED.match(plain) is not None


def is_supposed(plain: str) -> bool:
    """True for a sentence about what is not so, or only under a condition."""
    return _SUPPOSED.search(plain) is not None


def is_doubted(plain: str) -> bool:
    """True for a clause that its speaker is not sure of."""
    return _DOUBTED.search(plain) is not None


def is_of_others(plain: str) -> bool:
    """True for a clause that speaks to somebody, and so of them, or of the moment alone."""
    return _ADDRESSED.search(plain) is not None or _PASSING.search(plain) is not None


def is_empty(value: str) -> bool:
    """True for an object that says nothing alone: nothing but little words, or words for something said elsewhere."""
    words = [each for each in re.findall(r"[^\W_]+", value) if each not in _LITTLE]
    return not words or _ELSEWHERE.search(value) is not None or _VAGUE.search(value) is not None


def is_slight(value: str, plain: str) -> bool:
    """True for something that happened and does not matter the day after, or cannot be told without what led to it."""
    short = len(plain.split()) < LEAST_TOLD and _SLIGHT.match(value) is not None
    return short or _ERRAND.search(value) is not None
