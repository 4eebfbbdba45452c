"""What stands where in a pack, with which warning and provenance, and which templates and states are taken."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compiling.golden import SCENES
from tests.compiling.made import dispute, memory

from recollect.domain.compiling.codes import DropReason, Form, Part, Treatment
from recollect.domain.compiling.counting import CHARS, WORDS, counter_named
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import digest
from recollect.domain.compiling.rendering import rendered_text
from recollect.domain.compiling.states import MAX_EXCERPT, MAX_EXCERPTS, state_of
from recollect.domain.compiling.templates import DEFAULT, template_of
from recollect.domain.errors import InvalidQuery, InvalidRequest
from recollect.domain.notes import SUGGESTIONS

OF_CONVERSATIONS = {Part.FRICTIONS, Part.HABITS, Part.WINS, Part.SEED, Part.EARLIER}
"""What only the templates of conversations have a block for."""
BLOCK: dict[str, Any] = {"name": "facts", "source": "relevant", "title": "Facts"}


def template(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "mine", "version": 1, "blocks": list(blocks)} | more


def test_blocks_stand_in_the_order_of_the_template_and_are_data() -> None:
    pack = SCENES["whole-json"]()
    assert [each.name for each in pack.blocks] == [each.name for each in DEFAULT.blocks]
    assert {each.instruction_treatment for each in pack.blocks} == {Treatment.DATA_ONLY}
    assert {each.source for each in DEFAULT.blocks} == set(Part) - OF_CONVERSATIONS


def test_memories_go_where_their_kind_says() -> None:
    found = {block.name: [each.text for each in block.entries] for block in SCENES["whole-json"]().blocks}
    assert found["foundation"] == ["Never ship on Fridays."]
    assert found["profile"] == ["Her name is Ada."]
    assert found["relevant"] == ["Ada drinks tea.", "Keep answers short.", "Ada drank coffee."]
    assert found["recent"] == ["What is the weather?", "Hello", "Hello!"]


def test_turns_stand_as_they_were_recalled_and_before_those_of_the_conversation_itself() -> None:
    said = [memory(number, f"turn {number}", kind="short_term") for number in (9, 2, 5)]
    pack = compiled(said, (), state_of({"turns": [{"id": "1", "text": "now"}]}), budget=500)
    assert [each.text for each in pack.blocks[0].entries] == ["turn 9", "turn 2", "turn 5", "now"]


def test_entries_tell_what_they_rest_on() -> None:
    pack = SCENES["whole-json"]()
    entry = next(each for block in pack.blocks for each in block.entries if each.id == "user:alice:semantic:1")
    assert entry.provenance == ("cap_1", "turn:1")
    assert (entry.source, entry.at) == ("user", "2026-05-02T09:30:00Z")
    assert entry.tokens > 0


def test_what_no_longer_holds_says_so() -> None:
    assert '"Ada drank coffee." ["user:alice:semantic:6","user","2026-05-07","ended 2026-05-20"]' in rendered_text(
        SCENES["whole-markdown"]()
    )


@pytest.mark.parametrize("form", list(Form))
def test_a_warning_stands_once_in_each_block_that_may_steer_an_agent(form: Form) -> None:
    steering = [memory(number, f"Do {number}.", behavioral=True) for number in range(3)]
    pack = compiled([*steering, memory(9, "A fact.", kind="profile")], budget=2_000, form=form)
    assert {each.name: each.warning for each in pack.blocks} == {"profile": None, "relevant": SUGGESTIONS}
    assert rendered_text(pack).count(SUGGESTIONS) == 1
    entries = [each for block in pack.blocks for each in block.entries]
    assert all((each.warning == SUGGESTIONS) is each.behavioral for each in entries)


def test_a_behavioral_memory_is_left_out_rather_than_shown_without_its_warning() -> None:
    plain = compiled([memory(1, "Do it.")], budget=1_000).report.used
    pack = compiled([memory(1, "Do it.", behavioral=True)], budget=plain + 10)
    assert pack.blocks == ()
    assert [each.reason for each in pack.report.dropped] == [DropReason.BUDGET]


def test_what_says_the_same_is_shown_once_and_named() -> None:
    pinned = memory(3, "ADA drinks  tea.", pinned=True)
    pack = compiled([memory(1), memory(2), pinned, memory(1, "Else.")], budget=2_000)
    assert pack.manifest.ids == ("user:alice:semantic:3", "user:alice:semantic:1")
    assert [(each.id, each.reason) for each in pack.report.dropped] == [
        ("user:alice:semantic:1", DropReason.DUPLICATE),
        ("user:alice:semantic:2", DropReason.DUPLICATE),
    ]


def test_people_may_say_the_same_twice() -> None:
    turns = [{"id": str(number), "text": "yes"} for number in range(3)]
    assert compiled([], (), state_of({"turns": turns}), budget=500).manifest.ids == ("0", "1", "2")


def test_contradictions_are_told_without_values() -> None:
    pack = compiled([], [dispute() | {"value": "secret"}], budget=500)
    entry = pack.blocks[0].entries[0]
    assert entry.text == "person:ada drinks: what is known is contradicted, and nobody has settled it yet"
    assert (entry.id, entry.provenance) == ("ctr_1", ("user:alice:semantic:1",))


def test_what_has_no_block_is_named() -> None:
    pack = compiled([memory(1, kind="profile")], budget=500, template=template_of(template(BLOCK)))
    assert [(each.source, each.block, each.reason) for each in pack.report.dropped] == [
        (Part.PROFILE, None, DropReason.NO_BLOCK)
    ]


def test_a_pack_says_what_it_was_made_of() -> None:
    pack = SCENES["in-words"]()
    manifest = pack.manifest
    assert (manifest.form, manifest.counter) == (Form.JSON, "words")
    assert (manifest.template["name"], manifest.template["version"]) == ("facts-only", 2)
    assert manifest.inputs.keys() == {"memories", "contradictions", "state"}
    assert manifest.inputs["state"] == digest([])
    assert pack.told()["hash"] == pack.hash == digest(pack)


def test_counters() -> None:
    assert [CHARS(each) for each in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    assert WORDS(" a  b\nc ") == 3
    assert counter_named("words") is WORDS
    for unknown in ("tokens", None, 3, ["chars"]):
        with pytest.raises(InvalidQuery, match="counter is one of chars, words"):
            counter_named(unknown)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        template(),
        template(BLOCK, version=0),
        template(BLOCK, name="No"),
        template(BLOCK, extra=1),
        template(BLOCK, BLOCK),
        template(BLOCK, BLOCK | {"name": "more"}),
        template(BLOCK, BLOCK | {"source": "profile"}),
        template(BLOCK | {"source": "system"}),
        template(BLOCK | {"name": "facts\n"}),
        template(BLOCK | {"title": ""}),
        template(BLOCK | {"title": "a\n## b"}),
        template(BLOCK | {"title": "a\u2028b"}),
        template(BLOCK | {"title": "<system>"}),
        template(BLOCK | {"title": "a\u202eb"}),
        template(BLOCK | {"title": "x" * 81}),
        template(BLOCK | {"entries": 0}),
        template(BLOCK | {"tokens": -1}),
        template(BLOCK | {"percent": 101}),
        template(BLOCK | {"percent": True}),
        template(BLOCK | {"drop": -1}),
        template(BLOCK | {"other": 1}),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest, match=r"template|title|block"):
        template_of(given)


@pytest.mark.parametrize(
    "given",
    [
        [],
        "turns",
        {"memories": []},
        {"turns": "hello"},
        {"turns": ["hello"]},
        {"turns": [{"id": "1"}]},
        {"turns": [{"text": "x"}]},
        {"turns": [{"id": "", "text": "x"}]},
        {"turns": [{"id": "1", "text": ""}]},
        {"turns": [{"id": "1", "text": "\ud800"}]},
        {"turns": [{"id": "1\x00", "text": "x"}]},
        {"turns": [{"id": "1", "text": "x", "role": "system"}]},
        {"turns": [{"id": "1", "text": "x", "at": "yesterday"}]},
        {"turns": [{"id": "1", "text": "x", "refs": ["a"] * 51}]},
        {"turns": [{"id": "1", "text": "x" * (MAX_EXCERPT + 1)}]},
        {"turns": [{"id": "1", "text": "x"}] * (MAX_EXCERPTS + 1)},
    ],
)
def test_a_state_that_cannot_be_used_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest, match="state") as caught:
        state_of(given)
    assert str(caught.value.details["field"]).startswith("state")


def test_no_state_is_a_state() -> None:
    assert state_of(None) == state_of({})
