"""Words: a query meets a text whatever its script, case, width, accents or inflection."""

from __future__ import annotations

import random
import threading
import unicodedata

import pytest

from recollect.domain.errors import InvalidSetting
from recollect.domain.words import MAX_WORD, MAX_WORDS, NO_LANGUAGE, checked_language, languages, words_in


def meet(query: str, text: str, language: str = "english") -> bool:
    """Whether every word of the query is in the text, and there is one."""
    asked = words_in(query, language)
    return bool(asked) and set(asked) <= set(words_in(text, language))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("TEA", "a cup of tea"),
        ("straße", "STRASSE"),
        ("cafe", "the Café at the corner"),
        ("café", "the cafe\u0301 at the corner"),
        ("Ελλαδα", "ΕΛΛΆΔΑ"),
        ("ＡＢＣ１２", "abc12"),
        ("indenting", "indentation indented"),
        ("ann", "Ann's garden"),
        ("ann", "Ann’s garden"),
        ("o'brien", "O’Brien"),
        ("obrien", "O'Brien called"),
        ("東京", "私は東京に住んでいる"),
        ("に住", "私は東京に住んでいる"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("สวัสดี", "สวัสดีครับ"),
        ("python3", "Python3日本語"),
        ("日本", "Python3日本語"),
        ("привет", "ПРИВЕТ, мир"),
        ("שלום", "שלום עולם"),
        ("42", "the answer is 42."),
        ("snake", "snake_case"),
    ],
)
def test_a_query_meets_a_text_that_says_the_same_otherwise(query: str, text: str) -> None:
    assert meet(query, text), (words_in(query), words_in(text))


@pytest.mark.parametrize(
    ("query", "text"), [("tea", "team"), ("京東", "東京"), ("1", "11"), ("ann", "annotate"), ("rose", "prose")]
)
def test_a_query_does_not_meet_another_word(query: str, text: str) -> None:
    assert not meet(query, text)


def test_the_commonest_words_of_the_language_are_left_out_and_only_of_that() -> None:
    assert words_in("The what of it, don't") == []
    assert words_in("what of it", NO_LANGUAGE) == ["what", "of", "it"]
    assert "of" in words_in("of the", "german")


def test_words_come_in_order_and_as_often_as_they_occur() -> None:
    assert words_in("red green red", NO_LANGUAGE) == ["red", "green", "red"]
    assert words_in("日本語", NO_LANGUAGE) == ["日本", "本語"]
    assert words_in("日", NO_LANGUAGE) == ["日"]


def test_a_language_stems_its_own_words() -> None:
    assert words_in("Häuser", "german") == words_in("Haus", "german")
    assert words_in("häuser", NO_LANGUAGE) != words_in("haus", NO_LANGUAGE)
    assert {"english", "german", "russian"} <= set(languages())


@pytest.mark.parametrize("language", ["klingon", "", None, 3])
def test_a_language_that_is_not_known_is_refused(language: object) -> None:
    with pytest.raises(InvalidSetting, match="known language"):
        checked_language(language)


def test_a_known_language_and_none_are_taken() -> None:
    assert [checked_language(each) for each in ("english", NO_LANGUAGE)] == ["english", NO_LANGUAGE]


def test_very_long_words_and_texts_are_cut() -> None:
    assert words_in("x" * 5_000, NO_LANGUAGE) == ["x" * MAX_WORD]
    assert len(words_in("tea " * 3 * MAX_WORDS)) == MAX_WORDS
    assert len(words_in("日" * 3 * MAX_WORDS)) == MAX_WORDS


@pytest.mark.parametrize("text", ["", "   ", "!?…", "🎉🎉", "\u200f\u202e", "_", "'’'", "\u0301"])
def test_a_text_without_words_has_none(text: str) -> None:
    assert words_in(text) == []


@pytest.mark.parametrize("language", [*languages(), NO_LANGUAGE])
def test_whatever_the_text_no_word_is_empty_or_too_long(language: str) -> None:
    chance = random.Random(7)
    for _ in range(60):
        text = "".join(
            chr(chance.choice((chance.randrange(32, 0x3000), chance.randrange(0x3000, 0xD800)))) for _ in range(80)
        )
        found = words_in(text, language)
        assert all(0 < len(word) <= 2 * MAX_WORD for word in found), (text, found)
        assert words_in(unicodedata.normalize("NFD", text), language) == words_in(
            unicodedata.normalize("NFC", text), language
        )


def test_threads_get_the_same_words() -> None:
    text = " ".join(f"running{n} walked{n} houses{n}" for n in range(300))
    wanted, found = words_in(text), list[list[str]]()
    threads = [threading.Thread(target=lambda: found.append(words_in(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4
