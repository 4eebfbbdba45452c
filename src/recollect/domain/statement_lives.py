"""The rules for lives: where people live, what they do, have and suffer from, whom they know, what happened."""

from __future__ import annotations

from recollect.domain.governance.terms import EventType
from recollect.domain.statement_rules import CLEAR, EXPLICIT, WEAK, About, Rule, either, pattern

_ILLNESS = either(
    "asthma, diabetes, migraines?, allerg(?:y|ies), insomnia, anxiety, depression, arthritis, celiac, coeliac, eczema",
    "epilepsy, adhd, autism, ptsd, hypertension, high blood pressure, back pain, dyslexia, cancer, gout, ulcers?",
    "gastritis",
)
_SUFFER = either(
    "have, suffer from, deal with, struggle with, struggled with, dealing with, suffering from, struggling with"
)
_DIET = either("vegan, vegetarian, pescatarian, gluten[ -]free, lactose[ -]intolerant, teetotal")
_TRAIT = either(
    "left-handed, deaf, colou?r-?blind, dyslexic, diabetic, transgender, gay, bisexual, pregnant, retired",
    "self-employed, unemployed",
)
_STATUS = either("married, engaged, divorced, widowed, single")
_OWNED = either(
    "degree, masters, phd, house, apartment, flat, car, truck, motorcycle, bike, bicycle, boat, garden, farm, business",
    "company, shop, store, collection, studio, piano, guitar, violin, license, certificate, tattoos?, laptop, macbook",
    "phone, ipad, camera, console, podcast, blog, channel, website, mortgage, visa, subscription, job",
)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* ?"
_PERIOD = either("day, week, month, year, morning, evening, night, weekend, summer, winter, spring, fall, autumn")
_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_REPEATED = either(
    f"(?:every|each) (?:single |other )?(?:{_PERIOD}|{_DAY})",
    f"(?:once|twice|times|days|hours) an? {_PERIOD}",
    f"on (?:weekends|{_DAY}s)",
)
_PRACTISED = either(
    "play, teach, coach, volunteer, run, paint, write, collect, bake, cook, speak, train, commute, sing, dance",
    "knit, swim",
    "ride, hike, surf, climb, draw, sew, brew, practi[cs]e, meditate, drive, wake up, get up",
    "go to (?:church|bed), lead",
    "manage, foster, raise, sell, take (?:care of|medication)",
)
_PURSUED = either(
    "learning, teaching, taking, attending, practi[cs]ing, writing, reading, building, training, volunteering, playing",
    "painting, running, coaching, mentoring, researching, renovating, making, going to (?:an?|the), trying out",
    "hosting, developing, creating, organi[sz]ing, raising, collecting, seeing, throwing",
)
_PLANNED = either(
    "start, join, visit, move, run, open, attend, study, apply, adopt, buy, build, launch, marry, travel, teach, host",
    "perform, compete, participate, volunteer, publish, retire, graduate",
)
_GOAL = either("goals?, dreams?, aims?, ambition, resolution, plans?")
_STRIVING = either(
    "planning, saving (?:up )?for, training for, preparing for, aiming (?:to|for), applying (?:to|for), hoping to",
    "determined to",
)
_LASTING = (
    ("lives_in", EXPLICIT, "(?:<I>(?:live|reside)|<AM>(?:based|living)) (?:in|at|near|on|outside|out of) <V>", ""),
    ("lived_in", EXPLICIT, "<I>(?:grew up|was raised|were raised) (?:in|on|near) <V>", ""),
    ("lived_in", CLEAR, "(?:<I>|<HAVE>)(?:used to live|lived|been living) (?:in|at|near|on|with) <V>", ""),
    ("from", EXPLICIT, "(?:<AM>|I (?:originally )?come )(?:originally )?from <V>", ""),
    ("birthday", EXPLICIT, "<MY> (?:birthday|date of birth) (?:is|falls) (?:on )?<V>", "coming, soon, in"),
    ("birthday", EXPLICIT, rf"<WAS>born (?:in|on) (?P<value>(?:the )?(?:\d|{_MONTH}).*)", ""),
    ("born_in", EXPLICIT, "<WAS>born in <V>", ""),
    ("age", EXPLICIT, r"<AM>(?P<value>\d{1,3}(?: years? old| yrs? old)?)(?=$|[.!,])", ""),
    ("works_as", EXPLICIT, "(?:<I>work|(?:<AM>|<HAVE>been )working) as <V>", ""),
    ("works_at", EXPLICIT, "(?:<I>work|(?:<AM>|<HAVE>been )working) (?:at|for|with) <V>", "home"),
    ("works_in", EXPLICIT, "(?:<I>work|(?:<AM>|<HAVE>been )working) in <V>", "progress, the morning"),
    ("works_as", EXPLICIT, "<MY> (?:job|profession|occupation|day job|job title) is <V>", "really, going, hard"),
    (
        "studies",
        EXPLICIT,
        "(?:<I>stud(?:y|ied)|<AM>studying|<AM>majoring in|<I>majored in|<HAVE>been studying) <V>",
        "hard, a lot, for, and",
    ),
    ("allergic_to", EXPLICIT, "<AM>(?:severely |highly )?allergic to <V>", ""),
    ("health", EXPLICIT, "(?:<WAS>|<HAVE>been |<I>got )diagnosed with <V>", ""),
    (
        "health",
        EXPLICIT,
        rf"(?:<I>|<AM>){_SUFFER} (?P<value>(?:(?:an?|my|severe|mild|chronic|type [12]|some) ){{0,3}}{_ILLNESS}\b.*)",
        "",
    ),
    ("diet", EXPLICIT, rf"<AM>(?:an? )?(?P<value>{_DIET}\b.*)", ""),
    ("is", EXPLICIT, rf"<AM>(?P<value>{_TRAIT}\b.*)", ""),
    ("status", EXPLICIT, rf"(?:<AM>|<HAVE>been )(?P<value>(?:(?:happily|newly) )?{_STATUS}\b.*)", ""),
    (
        "is",
        CLEAR,
        r"(?:<AM>|<HAVE>been )(?P<value>(?:an?|the) \S.*)",
        (
            "an? (?:bit|little|lot|big|huge|fan|mess|wreck|work in|part of|firm|total|great|sucker|true|few|couple)"
            ", an? (?:bundle|long|good|bad|lucky|strong|believer), the (?:one|same|best|worst)"
        ),
    ),
    (
        "has",
        CLEAR,
        (
            r"(?:<I>have|<HAVE>got|I got|<I>own) (?P<value>(?:an?|my|two|three|four|five|six|\d+|several|some|no) "
            rf"(?:[\w-]+ ){{0,3}}(?:<KIN>|{_OWNED})\b.*)"
        ),
        "",
    ),
    (
        "has",
        CLEAR,
        r"<HAVE>had (?P<value>\S.*\b(?:for|since)\b.*)",
        "it, that, this, them, so, such, a (?:lot|great|good|tough|rough|hard|blast|crazy|bad), the, to, enough",
    ),
    (
        "habit",
        CLEAR,
        rf"<I>(?P<value>[a-z]+ (?!that|it\b).*\b{_REPEATED}\b.*)",
        "also, really, just, still, have, want, need, think, like, had, know",
    ),
    (
        "habit",
        CLEAR,
        "(?:I|we) (?:usually|always|often|regularly|normally|typically|never|rarely) (?P<value>[a-z]+ .*)",
        (
            "(?:really )?thought, want, need, knew, wanted, said, felt, know, feel, think, forget, imagined, see, seem"
            ", say, find, remind, had, been, got, expected, realized, believed, be, believe, will, admired, dreamed"
            ", wondered, tell, look, makes?, have to"
        ),
    ),
    (
        "habit",
        CLEAR,
        rf"<I>(?P<value>{_PRACTISED} .*)",
        "run into, take care of (?:myself|ourselves)",
    ),
    (
        "goal",
        EXPLICIT,
        rf"<MY> (?:\w+ ){{0,2}}{_GOAL} (?:is|are|was|has been|for \w+(?: \w+)? is) (?:always )?<V>",
        "coming, going, now, just",
    ),
    (
        "goal",
        CLEAR,
        "<I>(?:dream (?:of|about)|aim to|plan (?:on|to)|intend to|aspire to|hope to) <V>",
        "see, hear, keep, do, be able",
    ),
    (
        "goal",
        CLEAR,
        rf"<AM>{_STRIVING} <V>",
        "(?:to )?(?:see|hear|do|keep|make|ask|find|get|learn more|use|try|check|have)",
    ),
    (
        "goal",
        WEAK,
        f"I(?:'d| would) love to (?P<value>(?:{_PLANNED}|learn|own|live|become|work|write) .*)",
        "learn more, start with",
    ),
    ("plan", CLEAR, rf"<AM>(?:going to|gonna) (?P<value>{_PLANNED} .*)", ""),
    (
        "learning",
        CLEAR,
        rf"(?:<AM>|<HAVE>been )(?P<value>{_PURSUED} \S.*)",
        (
            r"\w+ing (?:it|this|that|them|the best|my best|good|great|well|okay|fine|a lot|lots|so|some|things|me|sure)"
            r", \w+ing (?:care|time|a break|progress|steps|as|for|more|professionally|notes|the time|her|his|their)"
        ),
    ),
)
_DONE = either(
    "adopted, bought, sold, moved, joined, finished, completed, won, quit, signed up, took up, attended, visited",
    "travell?ed, enrolled, graduated, applied, passed, failed, ran, hosted, organi[sz]ed, participated, volunteered",
    "donated, created, planted, baked, cooked, published, launched, opened, retired, proposed, celebrated, hurt, broke",
    "injured, sprained, hiked, recorded, performed, wrote, painted, built, set up, rescued, named, hired, fell",
    "climbed, explored, toured, competed, started, learned, taught, read, watched, received, earned, picked up, lost",
    "scored, stopped, founded, raised, repaired, restored, renovated, converted, ordered, booked, scheduled",
    "registered, began, reached, got back, returned, played, tried, went, made, met, led, presented, starred, designed",
    "developed, sewed, coached, mentored, served, spoke, invested, trained, tried out, crashed, upgraded, landed",
)
_BECAME = either(
    "married, engaged, divorced, promoted, hired, fired, laid off, diagnosed, accepted, elected, hospitali[sz]ed",
    "injured, hurt, pregnant, certified, licensed, nominated, awarded, selected, chosen, invited to, robbed",
)
_OCCASION = either(
    "surgery, operation, accident, baby, miscarriage, heart attack, stroke, wedding, interview, daughter, son, injury",
    "breakup, check-?up, exhibition, show, concert, game, party, picnic, trip, meeting",
)
_HAPPENED = (
    ("event", CLEAR, rf"<I>(?:got|was) (?P<value>{_BECAME}\b.*)", ""),
    (
        "event",
        CLEAR,
        r"<I>got (?P<value>(?:an?|my|our|some|two|three) \S.*)",
        r"\w+ (?:lot|bit|great|idea|feeling|chance|hang|point|moment|surge|ton|no)",
    ),
    ("event", CLEAR, rf"<I>had (?P<value>(?:an?|my|our) (?:[\w-]+ ){{0,2}}{_OCCASION}\b.*)", ""),
    (
        "event",
        CLEAR,
        r"<I>took (?P<value>(?:an?|my|our|the) \S.*)",
        r"\w+ (?:lot|while|bit|deep|first|step|leap|chance|pic|photo|picture|look|moment|break)",
    ),
    (
        "event",
        CLEAR,
        rf"(?:<I>|<HAVE>)(?P<value>{_DONE} (?!it\b)\S.*)",
        (
            r"\w+ (?:that|this|them|these|those|me|us|you|through|thinking|so|well|out of|for it|home|good|great)"
            r", \w+ (?:by|over|off|there|here|on|sure|him|her), tried to"
        ),
    ),
    (
        "event",
        WEAK,
        rf"(?:just|recently|finally) (?P<value>(?:{_DONE}|got|took) (?!it\b)\S.*)",
        r"\w+ (?:that|this|them|me|us|over|back to it)",
    ),
)
_DOES = either(
    "lives? (?:in|near|with), works? (?:as|at|for|in), loves?, likes?, enjoys?",
    "hates?, prefers?, got, started, moved, plays?, studies, teaches",
    "wants, died, bought, won, gave, joined, taught, adopted",
)
_BEING = either("is, are, was, were, has, have, had")
_BEEN = either(
    "an?, the, from, allergic, married, \\d+, pregnant, born, diagnosed, sick, ill, engaged, divorced, retired",
    "studying, working, living, two, three, four, one, in (?:the|college|school|hospital)",
)
_PEOPLE = (
    (
        CLEAR,
        rf"<MY> <KIN>,? <NAME>,?(?: (?P<verb>{_BEING}|{_DOES})|(?P<short>'s(?= (?:an?|the|from|in|allergic|\d)))) <V>",
        "so, really, very, doing, great, amazing, fine, okay, awesome, super, been (?:so|great), going, coming, here",
    ),
    (
        CLEAR,
        (
            r"(?!(?:he|she|it|they|you|who|what|where|when|here|there|one|everyone|someone|nobody|these|those|not) )"
            r"<NAME> (?P<verb>is|was) (?:one of )?(?P<value>(?:my|our) <KIN>\b.*)"
        ),
        "",
    ),
    (CLEAR, r"<MY> <KIN>(?: <NAME>)? (?P<value>passed away\b.*)", ""),
    (EXPLICIT, "<MY> <KIN>(?:'s names? (?:is|are)| (?:is|are) (?:named|called)) <V>", ""),
    (CLEAR, rf"<MY> <KIN> {_DOES} <V>", "me (?:so|through), excited"),
    (
        CLEAR,
        rf"<MY> <KIN> {_BEING} (?P<value>{_BEEN}\b.*)",
        r"\w+ (?:best|great|good|bit|blast|little|lot|huge|big|time|amazing|joy)",
    ),
    (
        CLEAR,
        (
            r"(?:<I>have|<HAVE>got|I got|<I>adopted|this is|meet) "
            r"(?P<value>(?:an?|my|our|two|three|four|\d) (?:[\w-]+ ){0,3}<KIN>(?: named| called) .*)"
        ),
        "",
    ),
)

LIVES = (
    *(
        Rule("people", EventType.FACT, sure, pattern(each, without=without), About.PERSON)
        for sure, each, without in _PEOPLE
    ),
    *(
        Rule(says, EventType.FACT, sure, pattern(each, without=without))
        for says, sure, each, without in (*_LASTING, *_HAPPENED)
    ),
)
