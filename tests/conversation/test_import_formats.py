"""Files of conversations: every message becomes a part of a turn, is counted as skipped, or is refused by its place."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.importing import Format, Parsed, looks_like, pages, parsed
from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import Instant

START = Instant(1_700_000_000_000_000)
SECOND = 1_000_000


def read(text: str, form: Format = Format.AUTO) -> Parsed:
    return parsed(text.encode(), start=START, form=form)


def told(found: Parsed) -> list[tuple[str | None, str | None, int]]:
    """Who said what, and how many seconds after the start."""
    return [(each.user, each.ai, (each.at - START) // SECOND) for each in found.turns]


def lines(*given: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in given)


# -- lines of JSON


def test_a_message_a_line_becomes_turns() -> None:
    found = read(
        lines(
            {"role": "user", "content": "Hi.", "at": "2023-11-14T22:13:20Z"},
            {"speaker": "assistant", "text": "Hello!", "timestamp": 1_700_000_001},
            {"role": "human", "text": "Who are you?", "at": 1_700_000_060.5},
            {"role": "user", "text": "Hello?", "at": 1_700_000_090_000},
            {"role": "ai", "text": "Here."},
            {"role": "bot", "text": "Still here."},
        )
    )
    assert told(found) == [
        ("Hi.", "Hello!", 0),
        ("Who are you?", None, 60),
        ("Hello?", "Here.", 90),
        (None, "Still here.", 92),
    ]
    assert (found.format, found.messages, found.skipped) == (Format.JSONL, 6, {})


def test_an_answer_to_another_persona_or_session_is_a_turn_of_its_own() -> None:
    found = read(
        lines(
            {"role": "user", "text": "a", "persona": "coach", "session": "s1"},
            {"role": "ai", "text": "b", "persona": "chef", "session": "s1"},
            {"role": "user", "text": "c", "session": "s2"},
            {"role": "ai", "text": "d", "session": "s3"},
        )
    )
    assert [(each.user, each.ai, each.persona, each.conversation) for each in found.turns] == [
        ("a", None, "coach", "s1"),
        (None, "b", "chef", "s1"),
        ("c", None, None, "s2"),
        (None, "d", None, "s3"),
    ]


def test_messages_without_a_time_come_a_second_apart() -> None:
    found = read(lines({"role": "user", "text": "a"}, {"role": "ai", "text": "b"}, {"role": "user", "text": "c"}))
    assert told(found) == [("a", "b", 0), ("c", None, 2)]


def test_turns_are_put_in_the_order_of_their_times() -> None:
    found = read(lines({"role": "user", "text": "later", "at": 1_700_000_100}, {"role": "user", "text": "earlier", "at": 1_700_000_050}))  # fmt: skip  # noqa: E501
    assert [each.user for each in found.turns] == ["earlier", "later"]


def test_other_roles_and_empty_messages_are_counted() -> None:
    found = read(
        lines(
            {"role": "system", "text": "Be kind."},
            {"role": "Tool", "text": "42"},
            {"role": "tool", "text": "43"},
            {"role": "user", "text": "  "},
            {"role": "user", "text": "Hi."},
        )
    )
    assert found.skipped == {"empty": 1, "role:system": 1, "role:tool": 2}
    assert found.messages == 1


def test_a_great_many_roles_are_counted_together() -> None:
    found = read(lines(*({"role": f"r{number}", "text": "x"} for number in range(50))))
    assert sum(found.skipped.values()) == 50
    assert len(found.skipped) == 21


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is no JSON object"),
        ('{"text": "a"}', "line 2 has neither role nor speaker"),
        ('{"role": "user"}', "line 2 has neither text nor content"),
        ('{"role": "user", "speaker": "user", "text": "a"}', "both role and speaker"),
        ('{"role": "user", "text": "a", "at": 1, "timestamp": 1}', "both at and timestamp"),
        ('{"role": "user", "text": 1}', "line 2: what was said is text"),
        ('{"role": 1, "text": "a"}', "line 2: a role is text"),
        ('{"role": "user", "text": "a", "at": "yesterday"}', "line 2: a time is like"),
        ('{"role": "user", "text": "a", "at": true}', "line 2: a time is like"),
        ('{"role": "user", "text": "a", "at": -1}', "line 2: a time is like"),
        ('{"role": "user", "text": "a", "at": 1e300}', "line 2: a time is like"),
        ('{"role": "user", "text": "a", "mood": "good"}', "line 2 has a field that it does not take: 'mood'"),
        ('{"role": "user", "text": "a", "persona": ""}', "line 2: persona is text"),
        ('{"role": "user", "text": "a\\u0000"}', "line 2: what was said contains a NUL"),
        (json.dumps({"role": "user", "text": "x" * 70_000}), "line 2: a message has at most 65,536"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(line: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read(lines({"role": "user", "text": "a"}) + line + "\n", Format.JSONL)


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="byte 0 is not UTF-8"):
        parsed(b"\xff\xfe", start=START)


# -- an export of ChatGPT


def node(key: str, parent: str | None, role: str | None = None, text: Any = None, at: float | None = None) -> Any:
    content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
    message = None if role is None else {"author": {"role": role}, "content": content, "create_time": at}
    return key, {"id": key, "message": message, "parent": parent, "children": []}


def conversation(*nodes: Any, current: str, at: float | None = 1_700_000_000) -> dict[str, Any]:
    return {"title": "t", "create_time": at, "mapping": dict(nodes), "current_node": current}


CHAT = conversation(
    node("root", None),
    node("s", "root", "system", ""),
    node("u1", "s", "user", "What is it?", 1_700_000_010),
    node("a0", "u1", "assistant", "A first try.", 1_700_000_011),
    node("a1", "u1", "assistant", "An answer.", 1_700_000_012),
    node("u2", "a1", "user", {"content_type": "multimodal_text", "parts": [{"asset_pointer": "x"}, "This?"]}),
    node("t", "u2", "tool", {"content_type": "code", "text": "1"}),
    node("a2", "t", "assistant", {"content_type": "thoughts", "thoughts": []}),
    node("a3", "a2", "assistant", "Yes.", 1_700_000_020),
    current="a3",
)


def test_an_export_is_followed_along_its_current_branch() -> None:
    found = read(json.dumps([CHAT]))
    assert told(found) == [("What is it?", "An answer.", 10), ("This?", "Yes.", 13)]
    assert found.format is Format.OPENAI
    assert found.skipped == {"not_text": 2, "other_branch": 1, "role:system": 1, "role:tool": 1}


def test_conversations_come_in_the_order_in_which_they_began() -> None:
    second = conversation(node("u", None, "user", "first"), current="u", at=1_600_000_000)
    found = read(json.dumps([CHAT, second]))
    assert [each.user for each in found.turns] == ["first", "What is it?", "This?"]
    assert [each.conversation for each in found.turns] == ["1", "0", "0"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (CHAT | {"current_node": "x"}, "conversation 1: the way back from its current_node breaks off at 'x'"),
        (CHAT | {"current_node": None}, "conversation 1 has no mapping and current_node"),
        (conversation(node("a", "b"), node("b", "a"), current="a"), "breaks off at 'a'"),
        (conversation(node("a", None, "user", {"parts": 3}), current="a"), "message 'a': a content is text"),
        (conversation(("a", {"message": 3}), current="a"), "message 'a' is no JSON object"),
        (7, "conversation 1 is no JSON object"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_its_conversation(broken: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read(json.dumps([CHAT, broken]))


# -- ChatML


def test_blocks_of_chatml_become_turns() -> None:
    found = read("<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi\nthere.<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n")  # fmt: skip  # noqa: E501
    assert told(found) == [("Hi\nthere.", "Hello!", 0)]
    assert (found.format, found.skipped) == (Format.CHATML, {"role:system": 1})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<|im_start|>user\nHi.", "line 1: the block that begins there has no"),
        ("<|im_start|>user\na<|im_end|>\nwhat\n", "line 3 lies outside"),
        ("<|im_start|>user\na<|im_start|>user\nb<|im_end|>", "line 1: the block that begins there"),
        ("<|im_start|>user<|im_end|>", "line 1: <|im_start|> is followed by".replace("|", r"\|")),
    ],
)
def test_chatml_that_is_cut_off_is_refused_by_its_line(text: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read(text)


def test_a_list_of_messages_becomes_turns() -> None:
    messages = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}, {"type": "image_url", "image_url": {}}]},
    ]
    for whole in (messages, {"messages": messages}):
        found = read(json.dumps(whole))
        assert told(found) == [("Hi.", "Hello!", 0)]
        assert (found.format, found.skipped) == (Format.CHATML, {"empty": 1, "not_text": 1})


def test_what_cannot_be_read_in_a_list_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidRequest, match="message 1: a content is text"):
        read(json.dumps([{"role": "user", "content": "a"}, {"role": "user", "content": 3}]))


# -- whatever is in the file

SAYINGS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), SAYINGS), max_size=20))
def test_nothing_is_lost_in_silence(messages: list[tuple[str, str]]) -> None:
    for text, form in (
        (lines(*({"role": role, "text": said} for role, said in messages)), Format.JSONL),
        (json.dumps([{"role": role, "content": said} for role, said in messages]), Format.CHATML),
    ):
        found = read(text, form)
        kept = [each for turn in found.turns for each in (turn.user, turn.ai) if each is not None]
        assert kept == [said.strip() for role, said in messages if role != "system" and said.strip()]
        assert len(kept) + sum(found.skipped.values()) == len(messages)


@given(st.text(max_size=200))
def test_whatever_a_file_says_it_is_read_or_refused(text: str) -> None:
    for form in Format:
        try:
            read(text.encode("utf-8", "replace").decode(), form)
        except InvalidRequest as problem:
            assert str(problem)  # noqa: PT017 - either is right


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["mapping", "current_node", "message", "author", "content", "parts", "role", "a", "messages", "parent", "create_time"]), inner, max_size=5), max_leaves=20))  # fmt: skip  # noqa: E501
def test_whatever_a_document_holds_it_is_read_or_refused(whole: Any) -> None:
    for text in (msgspec.json.encode(whole), msgspec.json.encode([whole])):
        try:
            parsed(text, start=START)
        except InvalidRequest as problem:
            assert str(problem)  # noqa: PT017 - either is right


def test_the_format_is_told_by_the_shape() -> None:
    assert looks_like('[{"mapping": {}}]') is Format.OPENAI
    assert looks_like('{"mapping": {}}') is Format.OPENAI
    assert looks_like("[]") is Format.CHATML
    assert looks_like('{"role": "user", "text": "a"}') is Format.JSONL
    assert looks_like("") is Format.JSONL


def test_turns_are_paged_from_a_position_on() -> None:
    turns = read(lines(*({"role": "user", "text": str(number)} for number in range(5)))).turns
    assert [(at, [each.user for each in page]) for at, page in pages(turns, 2, 1)] == [(1, ["1", "2"]), (3, ["3", "4"])]
