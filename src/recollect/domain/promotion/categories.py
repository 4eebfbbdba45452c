"""Categories: words by which a claim tells of somebody's health, belief, politics, origin or love.

These are the special categories of the GDPR (article 9). Words are a net with holes: they catch what is said plainly,
in English. What they miss, a policy, a reviewer or a classification has to catch.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Category(StrEnum):
    """What sort of thing is told of a person that they may not want to be known."""

    HEALTH = "health"
    BELIEF = "belief"
    POLITICS = "politics"
    ORIGIN = "origin"
    ORIENTATION = "orientation"
    UNION = "union"


_WORDS: dict[Category, str] = {
    Category.HEALTH: (
        r"pregnan(?:t|cy)|miscarriage|menopaus\w+|infertil\w+|allergic|allerg(?:y|ies)|asthma(?:tic)?"
        "|diabet(?:es|ic)|insulin|epilep(?:sy|tic)|cancer|tumou?r|leuk(?:a)?emia|chemotherapy|hiv|hepatitis"
        "|tuberculosis|covid|autis(?:m|tic)|adhd|dyslexi[ac]|bipolar|schizophreni[ac]|ptsd|ocd|anorexi[ac]"
        "|bulimi[ac]|suicid(?:e|al)|(?:clinical(?:ly)? )?depress(?:ion|ed)|anxiety disorder|panic attacks?"
        r"|antidepressants?|psychiatrist|psychotherap\w+|in rehab|alcoholi(?:c|sm)|(?:drug|opioid) addict\w*"
        "|sober|disab(?:led|ility)|wheelchair|paraly[sz]ed|amputee|deaf|(?:legally|born|going|am|is) blind"
        "|dementia|alzheimer'?s?|parkinson'?s?|multiple sclerosis|arthritis|migraines?|high blood pressure"
        "|hypertension|heart (?:attack|disease|condition)|(?:a|my|minor) stroke|c(?:o)?eliac|crohn'?s?|lupus"
        "|fibromyalgia|diagnos(?:is|ed)|surgery|transplant|medication|prescri(?:bed|ption)"
    ),
    Category.BELIEF: (
        r"catholic|protestant|evangelical|orthodox (?:christian|jew)|an? (?:\w+ )?christian|baptist|lutheran"
        "|methodist|mormon|jehovah'?s witness|muslim|sunni|shia|shi'ite|jew(?:ish)?|hindu|sikh|buddhist|jain"
        "|bah[aá]'?[ií]|atheist|agnostic|pagan"
    ),
    Category.POLITICS: (
        "(?:voted?|voting) (?:for|against|conservative|labou?r|green|left|right)|republican|democrat"
        "|communist|socialist|libertarian|far-(?:left|right)|conservative party|labour party|party member"
    ),
    Category.ORIGIN: (
        "(?:african|asian|hispanic|latin[oax]|caribbean|arab|native) american"
        "|of (?:african|asian|arab|jewish|roma) descent|mixed[- ]race|biracial|romani|undocumented"
        "|asylum seeker|refugee"
    ),
    Category.ORIENTATION: (
        "gay|lesbian|bisexual|pansexual|asexual|queer|homosexual|heterosexual|transgender"
        "|trans (?:man|woman|person)|non-?binary|came out as"
    ),
    Category.UNION: "(?:trade|labou?r) union member|union member|member of (?:the|a) (?:trade |labou?r )?union",
}
_TOLD = {
    category: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE | re.ASCII)
    for category, words in _WORDS.items()
}


def categories_in(text: str) -> frozenset[Category]:
    """What sorts of personal things the words of a text tell of."""
    return frozenset(category for category, told in _TOLD.items() if told.search(text))
