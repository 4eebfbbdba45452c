"""Completions: what becomes of pending todos by what their user says, as decisions that others carry out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from recollect.domain.clauses import clauses_in, led
from recollect.domain.conversation.loop_words import (
    HABIT_MARK,
    RECURRENCE,
    TIME,
    base_of,
    is_past,
    keywords,
    signature,
)
from recollect.domain.conversation.todos import MAX_CONTENT, Loop, LoopKind, Todo, TodoReason, TodoStatus
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.sentences import sentences_in
from recollect.domain.statement_rules import either
from recollect.domain.statement_vetoes import is_doubted, is_question, is_supposed

DIRECTLY_SECONDS = 600
"""So long after a todo was opened a retraction that names nothing is of it."""
NEW_SECONDS = 86_400
"""So long a commitment may still turn out to be a habit."""
MOST_SMALL_TALK = 20
"""Threads that are dropped as small talk in one run."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a pending todo, and why."""

    todo_id: str
    status: TodoStatus
    kind: LoopKind | None = None
    """The kind it has from now on; None where that stays as it is."""
    reason: TodoReason
    became: Loop | None = None
    """The habit that stands in its place."""


_ADV = (
    rf"(?:{either('just, already, finally, now, also, actually, totally, officially, even, successfully, all, so')} )*"
)
_OWN = r"(?:I|we|I've|I have|we've|we have|I'm|I am|we're|we are|I had)"
_DONE = re.compile(
    rf"(?:{_OWN} )?{_ADV}(?:did|done|finished|completed|went for|took|had (?:my|our)"
    r"|got (?:it|that|this|everything) done|managed to|got around to|got round to|took care of|wrapped up"
    r"|crossed off|checked off|knocked out|sorted out)\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"\S.{0,80}? ?(?:is|are|was|were|'s|has been|have been|got) (?:now |finally |already |all |officially )*"
    r"(?:done|finished|completed?|sorted|handled|taken care of|out of the way)\b|check\W*$|✓|✅|☑",
    re.IGNORECASE,
)
_ACTED = re.compile(rf"(?P<own>{_OWN} )?(?P<soon>{_ADV})(?P<verb>[^\W\d_]+)\b", re.IGNORECASE)
_JOINED = re.compile(r",? (?:and|then|and then) (?:also |finally |even )?(?P<verb>[^\W\d_]+)\b", re.IGNORECASE)
_MENTAL = frozenset(
    re.findall(
        r"\w+",
        """
        remembered realized realised thought wanted noticed said heard saw seen found told needed decided tried hoped
        planned wished started began forgot felt knew liked loved hated agreed promised been was were had wondered
        learned asked intended expected considered figured guessed discussed mentioned missed failed got used worried
        skipped delayed postponed cancelled canceled avoided supposed scared excited tired bored stressed annoyed
        worked lost need feed
        """,
    )
)
"""Verbs of the mind, and those that tell of nothing that was carried out."""
_UNDONE = re.compile(
    r"\b(?:\w+n't|not|never|no|cannot|forgot|failed|almost|nearly|barely|hardly|half|partly|without|yet"
    r"|supposed to|unable|still (?:need|have|working)|trying to|tomorrow|later|next (?:week|month|year|time)|soon"
    r"|will|'ll|would|'d|should|could|can|must|need(?:s|ed)? to|have to|has to|got to|gotta|going to|gonna"
    r"|want(?:s|ed)? to|how to|about to|to be|when|once|until|till|unless|as soon as|by the time|if|whether|wish|hope"
    r"|maybe|might|want|instead of|used to)\b|'ll\b|'d\b(?! done)",
    re.IGNORECASE,
)
_OFF_ALONE = re.compile(
    r"(?:(?:oh|no|ah|actually|ok|okay|well|wait|hmm|ugh|um)[,. ]+)*"
    r"(?:never ?mind|nvm|forget (?:it|that|about (?:it|that))|scratch that|cancel that|drop (?:it|that)|strike that"
    r"|ignore that|I (?:changed|'ve changed|have changed) my mind|I take (?:it|that) back|on second thought,? no)"
    r"(?:[,.!… ]+(?:then|please|thanks|actually|(?:it|that)'s (?:fine|ok|okay)|lol|haha|about (?:that|it)))?[.!… ]*$",
    re.IGNORECASE,
)
_OFF_NAMED = re.compile(
    r"(?:(?:oh|no|ah|actually|ok|okay|well|wait|hmm|so|and|but)[,. ]+)*"
    r"(?:(?:never ?mind|nvm|forget|scratch|cancel|drop|skip|strike)(?: about)? (?P<named>\S.*)"
    r"|(?:I|we) (?:just |have |finally )?(?:decided|chose) (?:not to|against) (?P<against>\S.*)"
    r"|(?:I'?ve|I have|we've) decided (?:not to|against) (?P<resolved>\S.*)"
    r"|(?:I'm|I am|we're|we are) (?:no longer|not) (?:going to|gonna|doing|planning to|planning on) (?P<isnt>\S.*)"
    r"|(?:I|we) (?:won't|will not) (?:be )?(?P<wont>\S.*)"
    r"|(?:I|we) (?:called off|cancell?ed|gave up on|dropped) (?P<called>\S.*)"
    r"|(?:I|we) (?:don't|do not|no longer) (?:need|have|want)(?: to)? (?P<need>\S.*)"
    r"|(?:I|we) (?:changed|'ve changed|have changed) my mind about (?P<mind>\S.*)"
    r"|(?:I|we) didn't (?P<didnt>\S.* after all)"
    r"|(?P<gone>\S.{0,80}?) (?:is|are|got|has been|was) (?:called off|cancell?ed|off the table|no longer happening))",
    re.IGNORECASE,
)
_NEEDS_MORE = re.compile(r"\b(?:any ?more|after all|no longer|now)\b", re.IGNORECASE)
_RECURS_ALONE = re.compile(
    r"(?:(?:and|but|actually|well|so|it's|that's|I (?:do|want|need|want to do|need to do|'ll do)|I'll do|make|an?|my|as"
    rf"|part of|in|of|I mean|to be|this|it|that|is|should be)[, ]+)*{RECURRENCE.pattern}\W*$",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(r"\bweather\b|\bjust thinking\b|\bby the way\b|\bbtw\b", re.IGNORECASE)
_SIGNALS = frozenset({"finish", "complet", "done", "manag", "wrap", "check", "cross", "knock", "sort", "care", "handl"})
"""Stems of the words that say that something is done, and not what."""


def heard(text: str, pending: Sequence[Todo], now: Instant) -> tuple[Change, ...]:
    """What becomes of the pending todos of one persona by what the user just said; of each one thing at most.

    What is said to be off comes first, then what is said to be done, then what turns out to be a habit, then what was
    small talk from the beginning.
    """
    open_ones = {each.id: each for each in pending if each.status is TodoStatus.PENDING}
    changes: list[Change] = []
    for clause in _clauses(text):
        for change in _by_clause(clause, tuple(open_ones.values()), now):
            changes.append(change)
            del open_ones[change.todo_id]
    for todo in tuple(open_ones.values()):
        if _is_new(todo, now) and RECURRENCE.search(todo.content):
            changes.append(_recurring(todo, ""))
            del open_ones[todo.id]
    idle = [each for each in open_ones.values() if each.kind is LoopKind.THREAD and _SMALL_TALK.search(each.content)]
    changes += [
        Change(todo_id=each.id, status=TodoStatus.SKIPPED, reason=TodoReason.SMALL_TALK)
        for each in idle[:MOST_SMALL_TALK]
    ]
    return tuple(changes)


def takes_back(plain: str) -> bool:
    """Whether a sentence takes back what was said just before, and names nothing."""
    return _OFF_ALONE.match(plain) is not None


def _clauses(text: str) -> Iterator[str]:
    for sentence in sentences_in(text, least=1):
        plain = sentence.plain
        if is_question(plain[led(plain) :]) or is_supposed(plain):
            continue
        if takes_back(plain):
            yield plain
            continue
        for clause in clauses_in(sentence):
            if not is_doubted(clause.plain):
                yield from _acts(clause.plain)


def _acts(clause: str) -> Iterator[str]:
    """A clause, parted where a second deed of the same speaker begins."""
    begin = 0
    for joined in _JOINED.finditer(clause):
        if _is_deed(joined["verb"]) and not _UNDONE.search(clause[begin : joined.start()]):
            yield clause[begin : joined.start()]
            begin = joined.start("verb")
    yield clause[begin:]


def _by_clause(clause: str, pending: Sequence[Todo], now: Instant) -> list[Change]:
    if takes_back(clause):
        newest = _newest([each for each in pending if each.kind is not LoopKind.FRICTION])
        if newest is None or now > after_seconds(newest.created_at, DIRECTLY_SECONDS):
            return []
        return [_off(newest)]
    named = _named_off(clause[led(clause) :]) or _named_off(clause)
    if named is not None:
        best = _best(keywords(named), [each for each in pending if each.kind is not LoopKind.FRICTION])
        return [] if best is None else [_off(best)]
    commitments = [each for each in pending if each.kind is LoopKind.COMMITMENT]
    if not commitments:
        return []
    done = _done(clause[led(clause) :] or clause, commitments)
    if done:
        return [Change(todo_id=each.id, status=TodoStatus.COMPLETED, reason=TodoReason.SAID_DONE) for each in done]
    return _recurred(clause, commitments, now)


def _off(todo: Todo) -> Change:
    return Change(todo_id=todo.id, status=TodoStatus.SKIPPED, reason=TodoReason.SAID_OFF)


def _named_off(clause: str) -> str | None:
    """What a clause says is off; None when it says so of nothing."""
    found = _OFF_NAMED.match(clause)
    if found is None:
        return None
    what, named = next((name, words) for name, words in found.groupdict().items() if words)
    if what == "need" and _NEEDS_MORE.search(clause) is None:
        return None
    return str(named)


def _done(clause: str, commitments: Sequence[Todo]) -> list[Todo]:
    """The commitments that a clause says are done: the best match, and others that it names wholly."""
    if _UNDONE.search(clause):
        return []
    said = frozenset(keywords(clause)) - _SIGNALS
    if _DONE.match(clause) or _IS_DONE.match(clause) or _has_just_acted(clause):
        if not said:
            return list(commitments) if len(commitments) == 1 else []
        best = _best(said, commitments)
        if best is not None:
            return [best, *(each for each in commitments if each is not best and _covers(said, each))]
        return [each for each in commitments if len(commitments) == 1 and _begins_alike(clause, each)]
    if (verb := _own_act(clause)) is None:
        return []
    acted = [each for each in commitments if _is_act(verb, said, each)]
    best = _best(said, acted)
    return [] if best is None else [best]


def _has_just_acted(clause: str) -> bool:
    """Whether it says that something was just, already or finally done, in whatever words."""
    found = _ACTED.match(clause)
    return found is not None and bool(found["soon"].strip()) and _is_deed(found["verb"])


def _own_act(clause: str) -> str | None:
    """The verb of a clause that says what its speaker did."""
    found = _ACTED.match(clause)
    return found["verb"] if found is not None and _is_deed(found["verb"]) else None


def _is_deed(verb: str) -> bool:
    return is_past(verb) and verb.casefold() not in _MENTAL


def _is_act(verb: str, said: frozenset[str], todo: Todo) -> bool:
    """Whether what was done is what a todo says: the same deed to the same thing, or everything that it names."""
    own = _own_words(todo)
    same_deed = set(keywords(base_of(verb))) & own
    return _covers(said, todo) or (bool(same_deed) and len(own & said) > 1)


def _covers(said: frozenset[str], todo: Todo) -> bool:
    own = _own_words(todo)
    return len(own) > 1 and own <= said


def _begins_alike(clause: str, todo: Todo) -> bool:
    """Whether a deed is told in the verb with which a todo begins, as in "went for a jog" and "go for a run"."""
    found, verb = _ACTED.match(clause), todo.content.split()
    if found is None or len(verb) < 2:
        return False
    after = clause[found.end("verb") :].split()
    return base_of(found["verb"]).casefold() == verb[0].casefold() and after[:1] == verb[1:2] == ["for"]


def _best(said: frozenset[str] | tuple[str, ...], pending: Sequence[Todo]) -> Todo | None:
    """The todo that shares most words, the newest of several; None when none shares any."""
    shared = [(len(_own_words(each) & frozenset(said)), each.created_at, each.id, each) for each in pending]
    found = max(shared, key=lambda each: each[:3], default=None)
    return found[3] if found is not None and found[0] else None


def _own_words(todo: Todo) -> frozenset[str]:
    words = frozenset(keywords(todo.content))
    return words - _SIGNALS or words


def _newest(pending: Sequence[Todo]) -> Todo | None:
    return max(pending, key=lambda each: (each.created_at, each.id), default=None)


def _is_new(todo: Todo, now: Instant) -> bool:
    return todo.kind is LoopKind.COMMITMENT and now < after_seconds(todo.created_at, NEW_SECONDS)


def _recurred(clause: str, commitments: Sequence[Todo], now: Instant) -> list[Change]:
    """The commitment that a clause says is done again and again."""
    found = RECURRENCE.search(clause)
    new = [each for each in commitments if _is_new(each, now)]
    if found is None or not new or re.search(r"\b(?:not|never|no longer|\w+n't)\b", clause, re.IGNORECASE):
        return []
    said = frozenset(keywords(RECURRENCE.sub(" ", clause)))
    if _RECURS_ALONE.match(clause):
        newest = _newest(new)
        return (
            []
            if newest is None or now > after_seconds(newest.created_at, DIRECTLY_SECONDS)
            else [_recurring(newest, found[0])]
        )
    best = _best(said, new)
    return [] if best is None else [_recurring(best, found[0])]


def _recurring(todo: Todo, when: str) -> Change:
    content = todo.content
    if RECURRENCE.search(content) is None and when:
        content = f"{' '.join(TIME.sub(' ', content).split()) or content} {when}"
    words = "_".join(keywords(RECURRENCE.sub(" ", todo.content))) or signature(todo)
    habit = Loop(
        kind=LoopKind.HABIT,
        content=content[:MAX_CONTENT],
        dedupe_key=f"{HABIT_MARK}{words}",
        confidence=todo.confidence,
        entity_refs=todo.entity_refs,
    )
    return Change(todo_id=todo.id, status=TodoStatus.COMPLETED, reason=TodoReason.RECURS, became=habit)
