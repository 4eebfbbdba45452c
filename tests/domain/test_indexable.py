"""Indexable: which texts and leaves of a value a search can find, and where each of them stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.domain.indexable import MAX_LEAVES, MAX_PASSAGES, Passage, at_path, leaves, passages, wants_index
from recollect.domain.passages import MAX_PIECES, PIECE, pieces_of

VALUE: dict[str, Any] = {
    "text": "one",
    "meta": {"title": "two", "count": 3, "ok": True, "none": None},
    "notes": [{"text": "four", "n": 1}, {"text": "five"}, "six", ["seven"]],
    "a.b": "dotted",
    "a": {"b": "deep", "c": "other"},
    "x[0]": "bracket",
    "blank": "  ",
}


def found(*fields: str) -> dict[str, str]:
    return {each.path: each.text for each in passages(VALUE, json.dumps(fields))}


def test_without_fields_every_text_is_found_in_its_order_and_nothing_else() -> None:
    assert [(each.path, each.text) for each in passages(VALUE)] == [
        ("text", "one"),
        ("meta.title", "two"),
        ("notes[0].text", "four"),
        ("notes[1].text", "five"),
        ("notes[2]", "six"),
        ("notes[3][0]", "seven"),
        ("a.b", "dotted"),
        ("a.c", "other"),
        ("x[0]", "bracket"),
    ]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("text", {"text": "one"}),
        ("meta.title", {"meta.title": "two"}),
        ("meta", {"meta.title": "two", "meta.count": "3", "meta.ok": "true"}),
        ("meta.count", {"meta.count": "3"}),
        ("meta.none", {}),
        ("notes[*].text", {"notes[0].text": "four", "notes[1].text": "five"}),
        (
            "notes[*]",
            {
                "notes[0].text": "four",
                "notes[0].n": "1",
                "notes[1].text": "five",
                "notes[2]": "six",
                "notes[3][0]": "seven",
            },
        ),
        ("notes[0]", {"notes[0].text": "four", "notes[0].n": "1"}),
        ("notes[0].text", {"notes[0].text": "four"}),
        ("notes[3][*]", {"notes[3][0]": "seven"}),
        ("notes[9]", {}),
        ("notes.text", {}),
        ("text[*]", {}),
        ("text.more", {}),
        ("a.b", {"a.b": "dotted"}),
        ("a.c", {"a.c": "other"}),
        ("x[0]", {"x[0]": "bracket"}),
        ("missing", {}),
        ("blank", {}),
        ("[", {}),
        ("..", {}),
        ("notes[-1]", {}),
        ("notes[*", {}),
        ("notes[999999999999]", {}),
    ],
)
def test_a_path_leads_to_what_it_names(path: str, wanted: dict[str, str]) -> None:
    assert found(path) == wanted


def test_a_text_that_two_paths_lead_to_counts_once() -> None:
    assert found("notes[0]", "notes[*].text", "notes[0].text") == {
        "notes[0].text": "four",
        "notes[0].n": "1",
        "notes[1].text": "five",
    }


def test_at_path_says_where_it_was() -> None:
    assert list(at_path(VALUE, "notes[*].text")) == [("notes[0].text", "four"), ("notes[1].text", "five")]
    assert list(at_path(VALUE, "a.b")) == [("a.b", "dotted")]
    assert list(at_path({"p": {"q.r": 1}}, "p.q.r")) == [("p.q.r", 1)]


def test_only_an_empty_list_of_fields_wants_no_index() -> None:
    assert [wants_index(each) for each in (None, "[]", '["a"]')] == [True, False, True]
    assert passages(VALUE, "[]") == []


def test_leaves_are_all_scalars_and_elements_stand_at_their_list() -> None:
    assert leaves({"a": 1, "b": {"c": [True, None, {"d": "x"}]}}) == [
        ("a", 1),
        ("b.c", True),
        ("b.c", None),
        ("b.c.d", "x"),
    ]


def test_what_is_looked_at_is_bounded() -> None:
    many = {"many": [f"text {n}" for n in range(5_000)]}
    assert len(passages(many)) == MAX_PASSAGES
    assert len(leaves(many)) == MAX_LEAVES
    assert len(pieces_of(passages(many), apart=True)) == MAX_PIECES


def test_a_long_text_is_cut_where_sentences_end_and_nothing_of_it_is_lost() -> None:
    sentences = [f"This is sentence number {n} of a long story." for n in range(200)]
    pieces = pieces_of([Passage("story", " ".join(sentences))])
    assert all(len(piece.text) <= PIECE and piece.path == "story" for piece in pieces)
    assert all(piece.text.endswith(".") for piece in pieces)
    assert " ".join(piece.text for piece in pieces) == " ".join(sentences)


def test_a_long_text_without_sentences_is_cut_all_the_same() -> None:
    text = "x" * (3 * PIECE + 5)
    pieces = pieces_of([Passage("p", text)])
    assert "".join(piece.text for piece in pieces) == text
    assert max(len(piece.text) for piece in pieces) <= PIECE


def test_where_fields_were_named_short_texts_stay_as_they_are() -> None:
    given = [Passage("a", "one. two.\nthree"), Passage("b", "x")]
    assert pieces_of(given, apart=True) == given


def test_else_short_texts_are_shown_with_the_longer_ones_beside_them() -> None:
    long = "what was said at some length, and about nothing in particular"
    given = [Passage("who", "Ann"), Passage("when", "3 May"), Passage("what", long)]
    assert pieces_of(given) == [Passage("what", f"Ann: {long}")]
    assert pieces_of([Passage("a", "tea"), Passage("b", "green tea")]) == [Passage("b", "tea: green tea")]
    assert pieces_of([Passage("a", "tea")]) == [Passage("a", "tea")]
