"""Statements: what the rules find in a text, what they leave, and that no text can harm them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.domain.governance.events import classified, fact_in
from recollect.domain.governance.terms import EventType, Source
from recollect.domain.sentences import MOST_TEXT, sentences_in
from recollect.domain.statements import MANY_VALUED, MOST_STATEMENTS, Statement, statements_in

ME = "user:u1"


def only(text: str) -> Statement:
    """The one statement that a text makes."""
    found = statements_in(text, ME)
    assert len(found) == 1, found
    return found[0]


SEED = [
    ("My name is Ada.", "name", "Ada", EventType.FACT),
    ("Call me Ada", "name", "Ada", EventType.FACT),
    ("My timezone is Europe/Berlin.", "timezone", "Europe/Berlin", EventType.FACT),
    ("Timezone = UTC, thanks", "timezone", "UTC", EventType.FACT),
    ("My language is German.", "language", "German", EventType.FACT),
    ("My language preference is French.", "language", "French", EventType.FACT),
    ("My project is Atlas.", "project", "Atlas", EventType.FACT),
    ("My project name is Atlas.", "project", "Atlas", EventType.FACT),
    ("I am working on Heron.", "project", "Heron", EventType.FACT),
    ("We're working on the billing service.", "project", "the billing service", EventType.FACT),
    ("My editor is Helix.", "editor", "Helix", EventType.FACT),
    ("Use metric units.", "units", "metric", EventType.FACT),
    ("Please use imperial units", "units", "imperial", EventType.FACT),
    ("Actually, my name is Grace.", "name", "Grace", EventType.CORRECTION),
    ("Correction: my timezone is UTC.", "timezone", "UTC", EventType.CORRECTION),
    ("My editor is not Vim but Emacs.", "editor", "not Vim", EventType.CORRECTION),
    ("You can call me Ada if you like.", "name", "Ada", EventType.FACT),
    ("Ich heiße Jürgen.", "name", "Jürgen", EventType.FACT),
    ("Je m’appelle Chloé.", "name", "Chloé", EventType.FACT),
]


@pytest.mark.parametrize(("text", "key", "value", "event_type"), SEED)
def test_a_profile_fact_comes_out_with_its_key(text: str, key: str, value: str, event_type: EventType) -> None:
    found = only(text)
    assert (found.key, found.predicate, found.value, found.event_type) == (key, key, value, event_type)
    assert found.confidence >= 0.9
    assert (found.entity, found.text) == (ME, text)
    assert key not in MANY_VALUED


@pytest.mark.parametrize(
    "text",
    [
        "My name is Ada.",
        "I prefer tea to coffee.",
        "I like long walks.",
        "I want a weekly summary.",
        "Never use tabs in this repository.",
        "We decided to keep SQLite.",
        "Let's use Rust for the parser.",
        "We will use Kafka from May on.",
        "I use Postgres at work.",
        "Actually, I prefer spaces.",
        "Actually, the deadline is Friday.",
    ],
)
def test_what_was_said_is_of_the_event_type_that_governance_gives_it(text: str) -> None:
    assert only(text).event_type is classified(text)


FOUND = {
    "prefers": (
        "I prefer short answers.",
        "I'd prefer bullet points, if possible.",
        "My preference is for plain language.",
        "I want you to answer in French.",
    ),
    "likes": ("I love hiking in the Alps.", "We both enjoy board games.", "I'm a big fan of jazz.", "I like the sea."),
    "dislikes": ("I hate mushrooms.", "I don't like long meetings.", "I can't stand loud music."),
    "favourite_colour": ("My favourite colour is teal.", "My favorite colour is red!", "Our favourite colour is blue."),
    "wants": ("I want a standing desk.", "I want to learn the cello.", "I really want to open a bakery."),
    "avoids": ("Never use emojis.", "Please never call my office.", "Never commit to the main branch."),
    "instruction": (
        "Remember that I am vegan.",
        "From now on, answer in German.",
        "Always cite your sources.",
        "Please keep in mind that we ship on Fridays.",
    ),
    "decided": (
        "We decided to use Postgres.",
        "I've decided to move to Oslo.",
        "We're switching to uv.",
        "Let's use Go.",
    ),
    "uses": ("I use Helix with Rust.", "Our backend is written in Go.", "The Atlas service runs on Kubernetes."),
    "deadline": (
        "The deadline is Friday.",
        "Our launch date is the 3rd of May.",
        "The Atlas release was moved to June.",
    ),
    "lives_in": ("I live in Berlin.", "I'm currently based in Lisbon.", "We live near the harbour."),
    "lived_in": ("I grew up in Chile.", "I used to live in Osaka.", "We lived in Rome for years."),
    "from": ("I'm from Portugal.", "I am originally from Kenya.", "I come from a village in Tyrol."),
    "birthday": ("My birthday is on the 3rd of May.", "I was born in 1984.", "I was born on May 3rd."),
    "born_in": ("I was born in Osaka.", "We were born in Poland.", "I was born in a small village."),
    "age": ("I'm 34 years old.", "I am 41.", "I'm 27, by the way."),
    "works_as": ("I work as a nurse.", "I've been working as a translator.", "My job is quality control."),
    "works_at": ("I work at the city library.", "I work for a shipping company.", "I'm working with refugees."),
    "works_in": ("I work in finance.", "I work in Leeds.", "I've been working in healthcare."),
    "studies": ("I'm studying law.", "I studied marine biology in Bergen.", "I majored in economics."),
    "allergic_to": ("I'm allergic to peanuts.", "I am severely allergic to latex.", "We are allergic to pollen."),
    "health": ("I was diagnosed with asthma.", "I have type 2 diabetes.", "I suffer from chronic migraines."),
    "diet": ("I am vegan.", "I am a vegetarian.", "I'm lactose intolerant."),
    "status": ("I am married.", "I'm happily married to a chef.", "I am recently divorced."),
    "is": ("I'm a nurse.", "I am a single parent.", "I've been a carpenter for ten years.", "I am left-handed."),
    "has": ("I have two kids.", "I have a small garden.", "I've had my car since 2009."),
    "habit": ("I swim every morning.", "I usually work from home.", "I play the violin.", "I teach yoga twice a week."),
    "goal": ("My goal is to run a marathon.", "I'm planning a trip to Japan.", "I'm saving for a house."),
    "plan": ("I'm going to start a podcast.", "We're going to move in June.", "I'm gonna adopt a dog."),
    "learning": ("I'm learning German.", "I've been taking a pottery class.", "I am reading a book on bees."),
    "event": (
        "I got married in May.",
        "I adopted a dog last week.",
        "Last Friday, I went to a poetry reading.",
        "Just started doing aerial yoga.",
        "I had a knee operation in March.",
    ),
    "people": (
        "My sister is a nurse.",
        "My dog's name is Max.",
        "My parents live in Rome.",
        "I have a cat named Momo.",
    ),
    "based_in": ("Our company is based in Oslo.", "My startup is based in Accra.", "Our team is based in Riga."),
    "corrects": (
        "Actually, the meeting was on Tuesday.",
        "Correction: the invoice is for March.",
        "No, our office was in Graz.",
    ),
}
LEFT = {
    "prefers": ("Do you prefer tea?", "I'd prefer it.", "Maybe I prefer tea."),
    "likes": ("I love it!", "I love your painting.", "I like how the colours blend."),
    "dislikes": ("I hate it when that happens.", "I don't like this.", "I hate to ask."),
    "favourite": ("My favourite is this one.", "What's my favourite colour?", "My favourite part is when it ends."),
    "wants": ("I want to thank you.", "I want that too.", "I want to know more."),
    "avoids": ("It never rains.", "I never said that.", "They never call."),
    "instruction": ("Do you remember that day?", "Write me a poem about rain.", "Translate this sentence, please."),
    "decided": ("We might decide tomorrow.", "Have we decided on Postgres?", "She decided to go."),
    "uses": ("You can use Postgres.", "If I use Postgres, it works.", "Is Go of any use?"),
    "deadline": ("The deadline is coming.", "When is the deadline?", "The release is going really well."),
    "lives_in": ("I wish I lived in Rome.", "Where do I live?", "If I live in Rome, I will learn Italian."),
    "from": ("Where are you from?", "It is from Portugal.", "I might be from Kenya."),
    "birthday": ("Happy birthday to you!", "My birthday is coming soon.", "When is my birthday?"),
    "works": ("It works as expected.", "Does this work at night?", "Maybe I work too much in spring."),
    "studies": ("Studies show that sleep helps.", "I studied hard and passed.", "Should I study law?"),
    "health": ("I have a question.", "Is asthma dangerous?", "I have to go now."),
    "status": ("I'm so excited!", "I'm tired today.", "I'm really happy for you."),
    "is": ("I'm a bit tired.", "I'm a mess right now.", "I'm the one."),
    "has": ("I have a feeling about this.", "I have a lot to do.", "Have I got a cat?"),
    "habit": ("I always knew it.", "I never thought about it.", "I usually feel fine."),
    "goal": ("What is my goal?", "My plan is going well.", "I hope to hear from you."),
    "plan": ("I'm going to bed.", "I'm going to keep going.", "Are we going to start now?"),
    "learning": ("I'm doing fine.", "I'm having a great time.", "I'm taking a break."),
    "event": ("I made it!", "We had a great time.", "I went there."),
    "people": ("My sister is so sweet.", "My kids are amazing.", "How is my mother doing?"),
    "based_in": ("The film is based in part on facts.", "Is our company based in Oslo?", "Our team is great."),
    "corrects": ("Actually, it was fun.", "Actually, thanks!", "No, the cat?"),
    "suppositions": ("If so, my name is Eve.", "Suppose my timezone is UTC.", "Unless I err, my editor is Vim."),
    "reactions": ("That's great!", "Thank you so much, Ana!", "Sounds like fun, good luck!"),
    "generic": ("The sky is blue.", "People like coffee.", "Time flies when it rains."),
    "doubts": ("I think I might move to Rome.", "I'm probably allergic to nuts.", "Perhaps, I like tea."),
    "short": ("I live.", "Hi there", "ok"),
}


@pytest.mark.parametrize(("predicate", "text"), [(each, text) for each, texts in FOUND.items() for text in texts])
def test_a_rule_finds_what_is_said_in_its_ways(predicate: str, text: str) -> None:
    found = only(text)
    assert found.predicate == predicate
    assert found.text == text
    assert found.value
    assert found.value in text
    assert 0.7 <= found.confidence <= 1


@pytest.mark.parametrize("text", [text for texts in LEFT.values() for text in texts])
def test_what_says_nothing_lasting_of_the_speaker_is_left(text: str) -> None:
    assert statements_in(text, ME) == ()


def test_every_rule_is_shown_at_least_three_times_each_way() -> None:
    assert all(len(texts) >= 3 for texts in (*FOUND.values(), *LEFT.values()))


@pytest.mark.parametrize(
    ("text", "entity", "predicate", "value"),
    [
        ("My sister Anna is a nurse.", "person:anna", "is", "a nurse"),
        ("My brother Zoë-Li lives in Graz.", "person:zoë-li", "lives_in", "Graz"),
        ("My boss, Max Frei, works for a bank.", "person:max_frei", "works_at", "a bank"),
        ("My friend 太郎 likes ramen.", "person:太郎", "likes", "ramen"),
        ("My cat Momo passed away in June.", "person:momo", "did", "passed away in June"),
        ("John is my cofounder.", "person:john", "is", "my cofounder"),
        ("The project Atlas uses SQLite.", "project:atlas", "uses", "SQLite"),
        ("The Heron repo depends on Go.", "project:heron", "uses", "Go"),
        ("Our app depends on Svelte.", ME, "uses", "Svelte"),
        ("My sister is a nurse.", ME, "people", "a nurse"),
    ],
)
def test_people_and_projects_that_are_named_are_entities(text: str, entity: str, predicate: str, value: str) -> None:
    found = only(text)
    assert (found.entity, found.predicate, found.value) == (entity, predicate, value)


def test_a_sentence_that_says_two_things_gives_each_in_its_own_words() -> None:
    found = statements_in("Hi! My name is Ana and I live in Berlin, but I'm originally from Chile. See you!", ME)
    assert [(each.predicate, each.value, each.text) for each in found] == [
        ("name", "Ana", "My name is Ana"),
        ("lives_in", "Berlin", "I live in Berlin"),
        ("from", "Chile", "I'm originally from Chile."),
    ]


def test_what_is_doubted_or_said_to_somebody_is_cut_from_what_is_stated() -> None:
    assert only("I live in Riga, but I might move soon.").text == "I live in Riga"
    assert only("I love jazz, and I think you would too.").text == "I love jazz"


def test_negation_and_tense_stay_as_they_were_said() -> None:
    assert only("I no longer like tea, I prefer coffee.").text.startswith("I no longer like tea")
    assert only("I used to live in Osaka.").value == "Osaka"
    assert only("I never eat meat.").text == "I never eat meat."


PASTED = [
    "```\nI live in Berlin.\n```",
    "~~~\nMy name is Eve.\n~~~",
    "> I live in Berlin.\n> My name is Eve.",
    "    I live in Berlin.",
    "https://example.org/my-name-is-eve",
    '"I live in Berlin. My name is Eve."',
    'She wrote: "My name is Eve. I live in Berlin. I prefer tea."',
    "She wrote: “My name is Eve. I live in Berlin. I prefer tea.”",
    "« Je m'appelle Eve. I live in Berlin. »",
    "| I live in Berlin |",
    "Dear all. \"I said 'I live in Rome. I like tea' to her.\" Bye for now.",
]


@pytest.mark.parametrize("text", PASTED)
def test_what_is_quoted_or_pasted_is_not_what_its_speaker_says(text: str) -> None:
    assert statements_in(text, ME) == ()


def test_words_around_what_is_pasted_are_still_read() -> None:
    text = "I use Helix.\n```\nMy name is Eve.\n```\n- I live in Riga.\n> I hate tea.\n1. I prefer coffee."
    assert [each.value for each in statements_in(text, ME)] == ["Helix", "Riga", "coffee"]


def test_the_ai_states_nothing_and_a_tool_only_that_something_happened() -> None:
    text = "I live in Berlin. Remember that I prefer tea."
    assert statements_in(text, ME, Source.AI) == ()
    (told,) = statements_in(text, ME, Source.TOOL)
    assert (told.event_type, told.predicate, told.value) == (EventType.EXECUTION, "executed", "I live in Berlin")
    assert statements_in("", ME, Source.TOOL) == ()
    assert statements_in("... !!! ???", ME, Source.TOOL) == ()


def test_only_a_user_instructs() -> None:
    text = "From now on, answer in German."
    assert statements_in(text, ME, Source.USER)[0].event_type is EventType.INSTRUCTION
    assert statements_in(text, ME, Source.SYSTEM)[0].event_type is EventType.PREFERENCE


def test_the_same_thing_said_twice_in_a_text_is_one_statement() -> None:
    assert len(statements_in("I live in Riga. Yes, I live in Riga! I LIVE IN RIGA", ME)) == 1


def test_typographic_and_unseen_characters_make_no_difference() -> None:
    assert only("I’m allergic to nuts…").predicate == "allergic_to"
    assert only("I li\u200bve in Ri\u00adga.").text == "I live in Riga."
    assert only("\u202eI live in Riga.\u202c").text == "I live in Riga."
    assert only("I\u00a0live  in\tRiga.").value == "Riga"
    assert only("I live in 東京.").value == "東京"
    assert only("I live in Café Müller’s house.").value == "Café Müller’s house"


HOSTILE = [
    "a " * 50_000,
    "I " * 50_000,
    "I live in " * 10_000,
    "I live in " + "a" * 100_000,
    "my " * 30_000 + "is",
    '"' * 10_001 + "I live in Riga.",
    "“" * 1_000 + "I live in Riga." + "”" * 500,
    "((((((" * 5_000,
    "," * 50_000 + " I live in Riga",
    " -" * 30_000,
    "\u202e\u2066" * 10_000,
    "\ud800 I live in \udfff.",
    "私は東京に住んでいます。" * 1_000,
    "My sister " + "Anna " * 20_000 + "is a nurse.",
    "I really really really " * 5_000,
    "\x00\x01\x1b[31mI live in Riga.\x1b[0m",
    "```" * 5_000,
    "\n" * 100_000,
    ". ! ? " * 20_000,
    "I have a " + "very-" * 20_000 + "small dog.",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_read_like_any_other(text: str) -> None:
    for source in Source:
        found = statements_in(text, ME, source)
        assert len(found) <= MOST_STATEMENTS
        assert found == statements_in(text, ME, source)


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert statements_in(" " * MOST_TEXT + "I live in Riga.", ME) == ()
    many = " ".join(f"I like thing number {each}." for each in range(500))
    assert len(statements_in(many, ME)) == MOST_STATEMENTS
    assert sum(len(each.text) for each in sentences_in(many * 50)) <= MOST_TEXT


_OPENINGS = sorted({" ".join(text.split()[:3]) for texts in FOUND.values() for text in texts})
_SAID = st.lists(
    st.one_of(
        st.sampled_from([text for texts in (*FOUND.values(), *LEFT.values()) for text in texts]),
        st.sampled_from(_OPENINGS),
        st.sampled_from(
            ['"', "“", "”", "\n", "> ", "```\n", ", and I ", " but my ", " - ", "if ", "maybe ", "\u200b", "?"]
        ),
        st.text(max_size=20),
    ),
    max_size=8,
).map(" ".join)


@given(text=_SAID, source=st.sampled_from(Source))
@example(text="I live in İstanbul, ẞtraße.", source=Source.USER)
def test_any_text_gives_the_same_statements_again_and_each_is_in_the_text(text: str, source: Source) -> None:
    found = statements_in(text, ME, source)
    assert found == statements_in(text, ME, source)
    seen = " ".join(" ".join(each.text for each in sentences_in(text)).split())
    for each in found:
        assert each.text in seen
        assert each.value in each.text
        assert 0.7 <= each.confidence <= 1
        assert each.entity == ME or each.entity.startswith(("person:", "project:"))
        assert each.key in (None, each.predicate)


@pytest.mark.parametrize("text", [text for text, *_ in SEED if fact_in(text)])
def test_a_keyed_fact_is_the_one_that_governance_finds_up_to_where_the_thought_ends(text: str) -> None:
    fact, found = fact_in(text), only(text)
    assert fact is not None
    assert fact.key == found.key
    assert fact.value.startswith(found.value)
