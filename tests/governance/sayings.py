"""What was said: the tables of classification, facts, importance, authority and keys."""

from __future__ import annotations

from tests.governance.rows import (
    AI,
    CONTEXT,
    CORRECTION,
    DECISION,
    EXECUTION,
    FACT,
    INSTRUCTION,
    PREFERENCE,
    SYSTEM,
    TOOL,
    USER,
    Row,
    Table,
)

from recollect.domain.governance.events import (
    attempts_profile,
    attempts_semantic,
    authority_of,
    classified,
    fact_in,
    is_low_signal,
    weighed,
)
from recollect.domain.governance.keys import dedup_key, memory_key
from recollect.domain.governance.terms import EventType, WritePolicy

CLASSIFIED = tuple(
    Row((text,), expected)
    for text, expected in (
        ("Actually, my name is Ada.", CORRECTION),
        ("A correction: it is Tuesday", CORRECTION),
        ("It is not red but blue", CORRECTION),
        ("Not red,\nbut blue", CONTEXT),
        ("but that is not it", CONTEXT),
        ("factually wrong", CONTEXT),
        ("I prefer tea", PREFERENCE),
        ("i like tea", PREFERENCE),
        ("I want tea", PREFERENCE),
        ("Never use tabs", PREFERENCE),
        ("never call on Sundays", PREFERENCE),
        ("Actually I prefer tea", CORRECTION),
        ("We decided to ship weekly.", DECISION),
        ("The decision stands", DECISION),
        ("choose the blue one", DECISION),
        ("Let's use Postgres", DECISION),
        ("Let’s use Postgres", DECISION),
        ("we will use Go", DECISION),
        ("I use Postgres", DECISION),
        ("Use metric units", DECISION),
        ("Use über-metrics", DECISION),
        ("I prefer to use Go", PREFERENCE),
        ("My name is Ada.", FACT),
        ("timezone = UTC", FACT),
        ("my password is 123", CONTEXT),
        ("Hello", CONTEXT),
        ("", CONTEXT),
        ("because", CONTEXT),
        ("Remember this for everyone: We release weekly.", CONTEXT),
    )
)
BY_SOURCE = (
    Row(("I prefer tea", "user"), PREFERENCE),
    Row(("I prefer tea", "ai"), CONTEXT),
    Row(("I prefer tea", "tool"), EXECUTION),
    Row(("I prefer tea", "system"), PREFERENCE),
)

FACTS = tuple(
    Row((text,), expected)
    for text, expected in (
        ("My name is Ada.", ("name", "Ada")),
        ("call me  'Ada  Lovelace' !", ("name", "Ada Lovelace")),
        ("my timezone is Europe/Berlin", ("timezone", "Europe/Berlin")),
        ("timezone is UTC", ("timezone", "UTC")),
        ("timezone=UTC, please", ("timezone", "UTC")),
        ("My language is Français", ("language", "Français")),
        ("language preference is German;", ("language", "German")),
        ("my project is Apollo", ("project", "Apollo")),
        ("my project name is Apollo", ("project", "Apollo")),
        ("I am working on the parser?", ("project", "the parser")),
        ("My editor is vim", ("editor", "vim")),
        ("please use imperial units", ("units", "imperial")),
        ("my editor is vim and my name is Ada", ("name", "Ada")),
        ("My name is " + "x" * 80, ("name", "x" * 60)),
        ("my name is .", None),
        ("my name is 李雷", ("name", "李雷")),
        ("nothing of the kind", None),
    )
)

FACT_REASONS = (Row(("My name is Ada.",), "pattern:name"), Row(("my editor is vim",), "pattern:editor"))


def _reason(text: str) -> str | None:
    fact = fact_in(text)
    return fact.reason if fact else None


IMPORTANCE = tuple(
    Row(given, expected)
    for given, expected in (
        ((PREFERENCE, "x", "ai"), (3, ("event:preference",))),
        ((DECISION, "x", "ai"), (3, ("event:decision",))),
        ((FACT, "x", "ai"), (4, ("event:fact",))),
        ((CORRECTION, "x", "ai"), (5, ("event:correction", "corrective"))),
        ((EXECUTION, "x", "tool"), (2, ("event:execution",))),
        ((CONTEXT, "x", "system"), (1, ("event:context",))),
        ((INSTRUCTION, "x", "ai"), (3, ("event:instruction",))),
        ((CONTEXT, "Hello", "user"), (2, ("event:context", "source:user"))),
        ((FACT, "My name is Ada.", "user"), (5, ("event:fact", "source:user"))),
        ((CORRECTION, "never", "user"), (7, ("event:correction", "source:user", "emphasis", "corrective"))),
        ((PREFERENCE, "ALWAYS", "ai"), (4, ("event:preference", "emphasis"))),
        ((CONTEXT, "you must avoid it", "ai"), (2, ("event:context", "emphasis"))),
        ((CONTEXT, "mustard", "ai"), (1, ("event:context",))),
    )
)

AUTHORITIES = tuple(
    Row((source,), expected)
    for source, expected in (
        ("user", (USER, "source:user")),
        ("ai", (AI, "source:ai")),
        ("tool", (TOOL, "source:tool")),
        ("system", (SYSTEM, "source:system")),
        ("cron", (SYSTEM, "source:cron")),
    )
)

LOW_SIGNALS = tuple(
    Row((text,), True) for text in ("ok", "Okay!", "thanks", "Thank  you.", "hello", "hi", "hey", "COOL", "great")
) + tuple(Row((text,), False) for text in ("", "thanks for the fish", "no", "好"))

DEDUP_KEYS = tuple(
    Row((event_type, text), expected)
    for event_type, text, expected in (
        (CONTEXT, "Hello", "context:hello"),
        (CONTEXT, "[mock-model] Hello | mem:st=0", "context:mock model hello mem st 0"),
        (FACT, "  My  name is_Ada. ", "fact:my name is ada"),
        (CONTEXT, "ＨＥＬＬＯ", "context:hello"),
        (FACT, "我叫李雷。", "fact:我叫李雷"),
        (FACT, "मेरा नाम", "fact:मेरा नाम"),
        (FACT, "Cafe\u0301", "fact:café"),
        (FACT, "Ada\u200b Love\u00adlace", "fact:ada lovelace"),
        (CONTEXT, "   ", "context:"),
    )
)

MEMORY_KEYS = tuple(
    Row(given, expected)
    for given, expected in (
        (("PEOPLE", "x", "person", "person:john_doe", None, None), "people|person|person:john_doe|fact"),
        (("PEOPLE", "x", "person", "person:john_doe", "job", None), "people|person|person:john_doe|job"),
        (
            ("PEOPLE", "x", "person", "person:john_doe", None, "Lives in"),
            "people|person|person:john_doe|fact|lives in",
        ),
        (("PROFILE", " I  LIKE (tea)! ", None, None, None, None), "profile|none|content:i like tea|fact"),
        (("PROFILE", "a|b", None, None, None, None), "profile|none|content:ab|fact"),
        (("PROFILE", "x" * 200, None, None, None, None), f"profile|none|content:{'x' * 120}|fact"),
    )
)


def _memory_key(
    memory_type: str, content: str, entity: str | None, ref: str | None, fact: str | None, predicate: str | None
) -> str:
    return memory_key(
        memory_type, content=content, entity_type=entity, primary_ref=ref, fact_type=fact, predicate=predicate
    )


ATTEMPTS = tuple(
    Row((event_type, text, policy), expected)
    for event_type, text, policy, expected in (
        (FACT, "my name is Ada", WritePolicy.NORMAL, True),
        (FACT, "  ", WritePolicy.AGGRESSIVE, False),
        (FACT, "Thanks!", WritePolicy.AGGRESSIVE, False),
        (CONTEXT, "the sky", WritePolicy.NORMAL, False),
        (CONTEXT, "the sky", WritePolicy.NONE, False),
        (CONTEXT, "the sky", WritePolicy.AGGRESSIVE, True),
        (EXECUTION, "ran", WritePolicy.MINIMAL, False),
        (EXECUTION, "ran", WritePolicy.NORMAL, True),
        (FACT, "my name is Ada", WritePolicy.NONE, True),
        *((each, "words", WritePolicy.MINIMAL, True) for each in (FACT, PREFERENCE, DECISION, CORRECTION)),
    )
)


def _profiled(event_type: EventType, text: str) -> bool:
    return attempts_profile(event_type, fact_in(text))


PROFILE_ATTEMPTS = tuple(
    Row((event_type, text), expected)
    for event_type, text, expected in (
        (FACT, "my name is Ada", True),
        (CORRECTION, "actually my name is Ada", True),
        (DECISION, "use metric units", False),
        (PREFERENCE, "never call me Ada", False),
        (CORRECTION, "actually no", False),
    )
)


SAYINGS: dict[str, Table] = {
    "classification": Table(classified, CLASSIFIED),
    "classification by source": Table(classified, BY_SOURCE),
    "facts": Table(fact_in, FACTS),
    "where facts come from": Table(_reason, FACT_REASONS),
    "importance": Table(weighed, IMPORTANCE),
    "authority": Table(authority_of, AUTHORITIES),
    "low signal": Table(is_low_signal, LOW_SIGNALS),
    "dedup keys": Table(dedup_key, DEDUP_KEYS),
    "memory keys": Table(_memory_key, MEMORY_KEYS),
    "semantic attempts": Table(attempts_semantic, ATTEMPTS),
    "profile attempts": Table(_profiled, PROFILE_ATTEMPTS),
}
