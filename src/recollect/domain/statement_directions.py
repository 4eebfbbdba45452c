"""The rules for what steers an assistant: keyed facts, instructions, preferences, decisions and projects."""

from __future__ import annotations

from recollect.domain.governance.terms import EventType
from recollect.domain.statement_rules import CLEAR, EXPLICIT, WEAK, About, Rule, either, pattern

_KEYED = (
    ("name", "(?:my name is|my name's|ich hei(?:ß|ss)e|mein name ist|je m'appelle|me llamo|mi chiamo) <V>", ""),
    (
        "name",
        "(?:please |just |you can )?call me <V>",
        "later, when, back, if, tomorrow, at, on, tonight, maybe, now, soon, a, an, crazy, by, out, again, every",
    ),
    ("timezone", "(?:my |the )?time ?zone ?(?:is |= ?|: ?)<V>", ""),
    ("language", "(?:my (?:preferred )?language is|(?:my )?language preference is) <V>", ""),
    ("project", "my (?:current )?project(?: name|'s name)? is (?:called )?<V>", "going, almost, done, about"),
    (
        "project",
        "(?:<AM>|<HAVE>been )?working on <V>",
        r"my, some, our, a few, a lot, things, stuff, \w+ing, myself, ourselves, new, an? (?:\w+ )?project(?! called)",
    ),
    ("editor", "my (?:preferred |favou?rite )?(?:code )?editor is <V>", ""),
    ("units", r"(?:please |always )?use (?P<value>metric|imperial) units\b", ""),
)
_ANSWERING = either(
    "use, answer, reply, respond, write, call, give, show, include, ask, add, start, end, format, address, put",
    "explain, keep, run, check, cite, speak, send, make, name, quote, convert, round, sign, suggest, recommend",
    "mention, commit, push, delete, deploy, say, assume, skip, change, book, order, do, store, share",
    "pick, choose, treat",
)
_REMEMBER = either("remember, keep in mind, don't forget, do not forget, bear in mind")
_INSTRUCTIONS = (
    rf"(?:please |pls |always )?{_REMEMBER}(?::| that\b) (?P<value>\S.*)",
    r"(?:please )?(?:remember|note)(?: that)? (?P<value>(?:my|I|I'm|I've|we|our)\b.*)",
    r"(?:from now on|going forward|in (?:the )?future|for future reference)[,:]? (?!(?:I|we|my)\b)(?P<value>\S.*)",
    rf"(?:please )?always (?P<value>{_ANSWERING}\b.*)",
)
_AVOIDED = rf"(?:please )?never (?P<value>{_ANSWERING}\b.*)"
_ASKED_OF_ASSISTANT = (
    r"I(?:'d)? (?:would )?(?:want|need|expect|like|prefer) you (?P<value>(?:to|not to|to never|to always) "
    rf"{_ANSWERING}\b.*)"
)
_FAN = either(
    "into, fond of, passionate about, obsessed with, hooked on, a (?:(?:big|huge|massive|real|total) )?fan of",
    "a sucker for, keen on",
)
_LASTING = either(
    "become, own, live, move, open, start, travel, visit, learn (?!more|specific), write, run, retire, adopt, study",
    "help, buy, build, quit, stop, get (?:stronger|fit|better|married), improve my, lose, work (?:as|in|on|for|with)",
)
_LIKED = (
    (
        "prefers",
        EXPLICIT,
        r"(?:<I>(?:would )?|(?:I|we)'d )(?:prefer|rather have) (?P<value>\S.*)",
        r"it, this, them, these, those, that(?! \w)",
    ),
    ("prefers", EXPLICIT, "<MY> preference is (?:for )?<V>", ""),
    (
        "favourite",
        EXPLICIT,
        r"<MY> (?:\w+ )?(?:all-time )?favou?rite(?P<thing>(?: (?!is|are|was)[^\W_]+){1,3})(?: is| are|'s) <V>",
        "the one, when",
    ),
    (
        "dislikes",
        CLEAR,
        "<I>(?:don't|do not|never|can't|cannot) <OFTEN>(?:like|enjoy|stand|eat|drink|care for) <V>",
        "",
    ),
    ("dislikes", CLEAR, "<I>(?:hate|dislike|detest|loathe) <V>", "to"),
    (
        "likes",
        CLEAR,
        "(?:<I>|I'm )(?:like|love|enjoy|adore|loving|enjoying) <V>",
        "the, your, hearing, seeing, being, all, every, talking, chatting, knowing, having, trying",
    ),
    (
        "likes",
        CLEAR,
        (
            "<I>(?:like|love|enjoy|adore) "
            r"(?P<value>the (?:outdoors?|ocean|sea|beach|mountains|city|countryside|arts|command line|dark)\b.*)"
        ),
        "",
    ),
    ("likes", CLEAR, f"(?:<AM>|<HAVE>been ){_FAN} <V>", "the"),
    ("likes", CLEAR, "<HAVE>been interested in <V>", ""),
    ("wants", CLEAR, rf"<I>(?:want|wanna) (?P<value>to {_LASTING}\b.*)", ""),
    ("wants", WEAK, "<I>want <V>", "you, to, the, some"),
)
_DECIDED = (
    (
        "decided",
        EXPLICIT,
        "(?:<I>|<HAVE>)(?:decided|agreed|resolved|settled|chose|opted) (?P<value>.*)",
        "it, them, this",
    ),
    ("decided", EXPLICIT, "(?:our|my|the) decision (?:is|was) <V>", ""),
    ("decided", CLEAR, "(?:let's|we will|we'll|we're going to) use <V>", ""),
    ("decided", CLEAR, "<AM>(?:going with|switching to|sticking with|migrating to|moving away from) <V>", ""),
    ("uses", CLEAR, "(?:<I>use|<AM>using|<I>(?:deploy|host) (?:on|to|with)) <V>", ""),
    ("uses", WEAK, r"(?:please )?use (?=[^\W_])(?=.* (?:for|in|by default|instead|everywhere)\b)<V>", "the"),
)
_WORKS = either(
    "team, company, project, repo, repository, codebase, service, backend, frontend, app, api, stack, database, server",
    "pipeline, ci, startup, website, site, product",
)
_BUILT = either(
    "is (?:built|written|deployed|hosted|running|maintained) (?:in|on|with|by|at), uses, runs on, relies on",
    "depends on, supports, targets, needs, requires",
)
_DUE = either("deadline, due date, launch date, release date, release, launch")
_NO_DATE = "actually, approaching, going, really, very, coming, a, near, almost, done"
_PROJECTS = (
    ("uses", rf"(?:the )?(?:project|repo|service|app) <NAME> {_BUILT} <V>", ""),
    ("uses", rf"(?:the )?<NAME> (?:project|repo|service|app) {_BUILT} <V>", ""),
    ("uses", rf"(?:our|my|the)(?: [\w-]+){{0,2}} {_WORKS} {_BUILT} <V>", ""),
    ("based_in", rf"(?:our|my) {_WORKS} is based in <V>", ""),
    ("deadline", rf"(?:our|my|the) <NAME> {_DUE} (?:is|moved to|was moved to) <V>", _NO_DATE),
    ("deadline", rf"(?:our|my|the)(?P<thing>(?: [\w-]+){{0,3}}) {_DUE} (?:is|moved to|was moved to) <V>", _NO_DATE),
)
_CORRECTED = (
    r"(?:actually|correction|no)[,:] (?P<value>(?:the|our|my|his|her|their|[^\W\d_]+'s) (?:[\w'-]+ ){1,5}"
    r"(?:is|are|was|were|should be|has|uses|starts|ends|moved) .*)"
)

DIRECTIONS = (
    *(
        Rule(key, EventType.FACT, EXPLICIT, pattern(each, without=without), keyed=True, directs=True)
        for key, each, without in _KEYED
    ),
    *(Rule("instruction", EventType.INSTRUCTION, EXPLICIT, pattern(each), directs=True) for each in _INSTRUCTIONS),
    Rule("avoids", EventType.PREFERENCE, EXPLICIT, pattern(_AVOIDED), directs=True),
    Rule("prefers", EventType.PREFERENCE, CLEAR, pattern(_ASKED_OF_ASSISTANT), directs=True),
    *(Rule(says, EventType.PREFERENCE, sure, pattern(each, without=without)) for says, sure, each, without in _LIKED),
    *(Rule(says, EventType.DECISION, sure, pattern(each, without=without)) for says, sure, each, without in _DECIDED),
    *(
        Rule(says, EventType.FACT, CLEAR, pattern(each, without=without), About.PROJECT)
        for says, each, without in _PROJECTS
    ),
)
CORRECTIONS = (Rule("corrects", EventType.CORRECTION, WEAK, pattern(_CORRECTED)),)
"""What is tried where nothing else matches: a sentence that says of itself that it corrects."""
