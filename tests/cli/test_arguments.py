"""What people type, and what it is read as."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli import arguments
from recollect.cli.screen import calm, dumped, one_line, place, when

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("user/alice/notes", ("user", "alice", "notes")),
        ("a%2Fb/c", ("a/b", "c")),
        ("100%25", ("100%",)),
        ("caf%C3%A9/日", ("café", "日")),
        ("a b", ("a b",)),
        ("..", ("..",)),
    ],
)
def test_a_namespace_is_read_segment_by_segment(text: str, segments: tuple[str, ...]) -> None:
    assert arguments.namespace(text) == segments


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a//b", "empty segment"),
        ("/a", "empty segment"),
        ("a/", "empty segment"),
        ("", "empty segment"),
        ("50%", "%25"),
        ("%zz", "%25"),
        ("%ff", "UTF-8"),
    ],
)
def test_a_namespace_that_cannot_be_meant_is_refused(text: str, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why):
        arguments.namespace(text)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_a_namespace_that_is_shown_can_be_typed_again(segments: list[str]) -> None:
    shown = place(segments)
    assert shown.isprintable()
    assert arguments.namespace(shown) == tuple(segments)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (' {"a": 1}', {"a": 1}),
        ("tea at four", {"text": "tea at four"}),
        ("[1, 2]", {"text": "[1, 2]"}),
        ("3", {"text": "3"}),
        ("", {"text": ""}),
    ],
)
def test_a_value_is_an_object_or_becomes_one(text: str, value: dict[str, Any]) -> None:
    assert arguments.value(text) == value


def test_a_value_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text('{"a": "é"}', encoding="utf-8")
    (tmp_path / "v.txt").write_text("two\nlines\n")
    assert arguments.value(f"@{tmp_path}/v.json") == {"a": "é"}
    assert arguments.value(f"@{tmp_path}/v.txt") == {"text": "two\nlines"}


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": 1, "a": 2}', '{"a": NaN}', "{oops}", "@/does/not/exist"])
def test_a_value_that_looks_like_something_else_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        arguments.value(text)


def test_any_text_is_kept_as_it_is_when_asked_for() -> None:
    assert arguments.value("{oops}", plain=True) == {"text": "{oops}"}


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7_200), ("7d", 604_800), ("1.5", 1.5), ("1w", 604_800)]
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert arguments.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "2 h", "h", "1y", "inf", "nan", "١"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="length of time"):
        arguments.seconds(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01t00:00:00.25z", datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1).astimezone().astimezone(UTC)),
        ("2026-01-01 12:30", datetime(2026, 1, 1, 12, 30).astimezone().astimezone(UTC)),
        ("2h", NOW - timedelta(hours=2)),
    ],
)
def test_a_moment_is_absolute_local_or_so_long_ago(text: str, moment: datetime) -> None:
    assert arguments.moment(text, "--as-of", now=NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "99999999999999w"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a moment"):
        arguments.moment(text, "--as-of", now=NOW)


def test_how_long_ago_means_nothing_where_the_future_is_meant() -> None:
    with pytest.raises(typer.BadParameter, match="is not a moment"):
        arguments.moment("2h", "--expires-at")


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["kind=note"], {"kind": "note"}),
        (["n=3", "open=true", "name=a=b"], {"n": 3, "open": True, "name": "a=b"}),
        (['{"n": {"$gt": 3}}', "kind=note"], {"n": {"$gt": 3}, "kind": "note"}),
        (["list=[1]"], {"list": "[1]"}),
        ([], None),
        (None, None),
    ],
)
def test_conditions_are_joined(texts: list[str] | None, wanted: dict[str, Any] | None) -> None:
    assert arguments.conditions(texts) == wanted


@pytest.mark.parametrize("texts", [["kind"], ["=x"], ["a=1", "a=2"], ['{"a": 1}', "a=1"], ["{"]])
def test_conditions_that_cannot_be_meant_are_refused(texts: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        arguments.conditions(texts)


def test_what_could_move_the_cursor_is_shown_instead_of_done() -> None:
    assert calm("a\x1b[31mb\u202ec\x9bd\x7f") == "a\\u001b[31mb\\u202ec\\u009bd\\u007f"
    assert dumped('{"a":"\x7f\u202e"}') == '{"a":"\\u007f\\u202e"}'
    assert one_line({"text": "two\nlines"}) == "two lines"


def test_moments_of_today_are_shown_by_their_time_alone() -> None:
    local = NOW.astimezone()
    assert when(NOW, NOW) == f"{local:%H:%M:%S}"
    assert when(NOW, NOW + timedelta(days=2)) == f"{local:%Y-%m-%d %H:%M}"
    assert when(None) == ""
