"""Keys: whatever is said, in whatever script, has a key of its own, and no text upsets a rule."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.sizes import sized

from recollect.domain.governance.events import attempts_semantic, classified, fact_in, is_low_signal, weighed
from recollect.domain.governance.gate import is_sensitive
from recollect.domain.governance.keys import dedup_key, memory_key, normalised
from recollect.domain.governance.redaction import MOST_TEXT, TRUNCATED, WITHHELD, Redaction
from recollect.domain.governance.spaces import hinted
from recollect.domain.governance.terms import EventType, WritePolicy

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@given(texts)
@example("e\u200b\u0301")
@example("İ")
@example("\ud800")
def test_a_key_is_made_once(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert once == " ".join(once.split())


@given(texts)
def test_hidden_characters_do_not_make_another_key(text: str) -> None:
    hidden = "\u200b".join(text)
    assert dedup_key(EventType.FACT, f"a{hidden}") == dedup_key(EventType.FACT, f"a{text}")


@pytest.mark.parametrize(
    ("one", "other"), [("👍", "👎"), ("我叫李雷", "我叫韩梅"), ("मेरा", "मेरी"), ("да", "нет"), ("!!!", "???")]
)
def test_different_words_have_different_keys(one: str, other: str) -> None:
    assert dedup_key(EventType.CONTEXT, one) != dedup_key(EventType.CONTEXT, other)
    assert memory_key("PROFILE", content=one) != memory_key("PROFILE", content=other) or one == "!!!"


@given(texts)
def test_no_text_upsets_a_rule(text: str) -> None:
    event_type = classified(text)
    assert event_type in EventType
    assert weighed(event_type, text, "user").importance >= 2
    fact = fact_in(text)
    assert fact is None or 0 < len(fact.value) <= 60
    hinted(text)
    is_low_signal(text)
    attempts_semantic(event_type, text, WritePolicy.AGGRESSIVE)
    shown = Redaction().shown(text)
    assert len(shown) <= MOST_TEXT + len(TRUNCATED)
    assert "\n" not in shown
    assert (shown == WITHHELD) == Redaction().withholds(text) or text.strip() == WITHHELD


@sized(20_000, 1_000_000)
@pytest.mark.parametrize(
    "piece", ["not ", "use  ", "my name is ", "timezone ", "remember this ", "api ", " ", " \t"], ids=repr
)
def test_long_texts_are_read_in_one_go(piece: str, count: int) -> None:
    """A rule that goes back over what it has read takes the square of the length, which is hours for the full size."""
    for text in (piece * (count // len(piece)), "timezone" + piece * (count // len(piece))):
        classified(text)
        fact_in(text)
        hinted(text)
        is_sensitive(text)
        normalised(text)
