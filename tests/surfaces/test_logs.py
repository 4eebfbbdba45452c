"""The log: one line an event, which no field can forge, which never holds a payload, and which all libraries share."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from recollect.config import Secret
from recollect.surfaces import logs
from recollect.surfaces.logs import MAX_STACK, MAX_VALUE, configure, event, plain, set_level

PAYLOAD = "what-was-sent"
ours = logging.getLogger("recollect.http")
theirs = logging.getLogger("somebody.else")
FIELD = re.compile(r" ([^ =]+)=(\"(?:[^\"\\]|\\.)*\"|[^\s\"]\S*)")
LINE = re.compile(rf"(\d\d:\d\d:\d\d\.\d{{3}}) (debug|info |warn |error) (\S+)((?:{FIELD.pattern})*)")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Loggers belong to the whole process, so each test puts them back."""
    named = [logging.getLogger(name) for name in ("", "recollect", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(each, each.level, list(each.handlers), each.propagate) for each in named]
    yield
    for logger, level, handlers, propagate in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers
        logger.propagate = propagate


@pytest.fixture
def text() -> io.StringIO:
    stream = io.StringIO()
    configure("info", "text", stream)
    return stream


@pytest.fixture
def machine() -> io.StringIO:
    stream = io.StringIO()
    configure("info", "json", stream)
    return stream


def objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


# -- the two forms


def test_a_line_for_people(text: io.StringIO) -> None:
    event(ours, logging.INFO, "http.request", method="GET", route="/v1/memories/{id}", status=200, ms=1.2, code=None)
    line = re.sub(r"^\d\d:\d\d:\d\d\.\d\d\d", "12:03:04.123", text.getvalue())
    assert line == "12:03:04.123 info  http.request method=GET route=/v1/memories/{id} status=200 ms=1.2 code=none\n"


def test_a_line_for_machines(machine: io.StringIO) -> None:
    event(ours, logging.WARNING, "http.request", method="GET", status=200, ms=1.2, slow=True, code=None)
    (found,) = objects(machine)
    at = datetime.fromisoformat(found.pop("time"))
    assert abs(datetime.now(UTC) - at) < timedelta(seconds=5)
    assert found == {
        "level": "warning",
        "event": "http.request",
        "method": "GET",
        "status": 200,
        "ms": 1.2,
        "slow": True,
        "code": None,
    }


def test_the_usual_way_to_log_with_fields_works_too(text: io.StringIO) -> None:
    ours.error("store.trouble", extra={"fields": {"code": "store_busy"}})
    assert text.getvalue().endswith(" error store.trouble code=store_busy\n")


def test_a_field_cannot_replace_what_the_event_itself_says(machine: io.StringIO) -> None:
    event(ours, logging.INFO, "http.request", event="forged", level="debug", time="never")
    (found,) = objects(machine)
    assert (found["event"], found["level"]) == ("http.request", "info")
    assert (found["event_"], found["level_"], found["time_"]) == ("forged", "debug", "never")


# -- the level


def test_the_level_can_change_while_the_service_runs(text: io.StringIO) -> None:
    event(ours, logging.DEBUG, "one")
    set_level("debug")
    event(ours, logging.DEBUG, "two")
    set_level("error")
    event(ours, logging.WARNING, "three")
    event(ours, logging.ERROR, "four")
    assert [line.split()[2] for line in text.getvalue().splitlines()] == ["two", "four"]


def test_configuring_again_replaces_what_was(text: io.StringIO) -> None:
    again = io.StringIO()
    configure("info", "json", again)
    event(ours, logging.INFO, "once")
    assert text.getvalue() == ""
    assert [found["event"] for found in objects(again)] == ["once"]


def test_without_a_stream_the_log_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "text")
    event(ours, logging.INFO, "service.started", port=4747)
    assert capsys.readouterr().err.endswith("service.started port=4747\n")


# -- no field can forge a line

AWKWARD = ["a\nb", "\r", "\x1b[31m", "\x00", "\u202eevil", "\u2066", "\u200b", "\u2028", "\x85", "\ud800", '"', "\\"]
AWKWARD += ["", "a b", " status=500", 'x" status=500 y="', "é 日本", "\U000e0041", "\xa0", "\\u202e"]


def read_back(line: str) -> list[str]:
    """The names of the fields in a line of text, as a reader would find them."""
    match = LINE.fullmatch(line)
    return [name for name, _ in FIELD.findall(match[4])] if match else []


def seen(value: str) -> list[str]:
    """The lines that a value makes when it is logged between two others."""
    return _formatted(logs._Text(), value).split("\n")


def _formatted(formatter: logging.Formatter, value: str) -> str:
    fields = {"before": 1, "value": value, "after": 2}
    return formatter.format(ours.makeRecord(ours.name, 20, "", 0, "a.b", (), None, extra={"fields": fields}))


def flaw_in(lines: list[str]) -> str | None:
    """What is wrong with the lines of one event."""
    if len(lines) != 1:
        return "it is more than one line"
    if not lines[0].isprintable():
        return "it holds something that cannot be seen"
    if read_back(lines[0]) != ["before", "value", "after"]:
        return "its fields are not those that were logged"
    return None


@given(st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=()), max_size=300)))
def test_no_text_can_forge_a_line_or_a_field(value: str) -> None:
    assert flaw_in(seen(value)) is None
    found = json.loads(_formatted(logs._Json(), value))
    assert found["value"] == (value if len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…")
    assert _formatted(logs._Json(), value).isascii()
    assert "\n" not in _formatted(logs._Json(), value)


@pytest.mark.parametrize("value", ["a\n12:03:04.123 info  b", "\u202ex", "1 after=3", '1" after="3', "\x1b[2J"])
def test_a_line_that_was_forged_is_caught(value: str) -> None:
    careless = f"12:03:04.123 info  a.b before=1 value={value} after=2"
    assert flaw_in(careless.split("\n"))
    assert flaw_in(seen(value)) is None


@pytest.mark.parametrize("name", ["a\nb", "a b=1", "\u202e"])
def test_names_are_escaped_like_values(text: io.StringIO, name: str) -> None:
    ours.info(name, extra={"fields": {name: 1}})
    assert text.getvalue().count("\n") == 1
    assert text.getvalue()[:-1].isprintable()


def test_long_values_are_cut(text: io.StringIO) -> None:
    event(ours, logging.INFO, "x", value="z" * 5_000)
    assert text.getvalue().count("z") == MAX_VALUE - 1
    assert "…" in text.getvalue()


# -- no payloads


class Kind(StrEnum):
    ADD = "add"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError(PAYLOAD)

    __repr__ = __str__


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Secret(PAYLOAD), "<Secret>"),
        ({"text": PAYLOAD}, "<dict>"),
        (PAYLOAD.encode(), "<bytes>"),
        (ValueError(PAYLOAD), "<ValueError>"),
        (Unprintable(), "<Unprintable>"),
        ([Secret(PAYLOAD), {"a": PAYLOAD}], "<Secret>,<dict>"),
        (["port", "host"], "port,host"),
        (Kind.ADD, "add"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("/data"), "/data"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01 00:00:00+00:00"),
        (1 << 100, "<int of 101 bits>"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-7, -7),
        (True, True),
        (None, None),
    ],
)
def test_only_plain_values_are_written_out(value: object, shown: object) -> None:
    assert plain(value) == shown
    json.dumps(plain(value), allow_nan=False)


def test_a_number_too_long_to_print_is_not_printed(text: io.StringIO) -> None:
    event(ours, logging.INFO, "x", value=10**5_000)
    assert text.getvalue().endswith('value="<int of 16610 bits>"\n')


def failing(text: str) -> None:
    raise ValueError(text)


def test_of_an_exception_the_log_says_the_type_and_the_place_but_not_the_message(machine: io.StringIO) -> None:
    try:
        failing(PAYLOAD)
    except ValueError:
        ours.exception("http.fault", extra={"fields": {"request_id": "r1"}})
    (found,) = objects(machine)
    assert (found["event"], found["request_id"], found["error"]) == ("http.fault", "r1", "ValueError")
    assert re.fullmatch(r"\S+test_logs\.py:\d+:failing < \S+test_logs\.py:\d+:test_of_an_exc\w+", found["stack"])
    assert PAYLOAD not in machine.getvalue()


def deep(levels: int) -> None:
    if levels:
        deep(levels - 1)
    raise ValueError


def test_a_deep_stack_is_cut_at_its_outer_end(machine: io.StringIO) -> None:
    try:
        deep(200)
    except ValueError:
        ours.exception("http.fault")
    ours.exception("http.fault")
    found, without = objects(machine)
    assert len(found["stack"]) == MAX_STACK
    assert "error" not in without


# -- other libraries


def test_other_libraries_take_the_same_form(text: io.StringIO, machine: io.StringIO) -> None:
    theirs.warning("retrying %s", "soon")
    (found,) = objects(machine)
    assert (found["level"], found["event"], found["message"]) == ("warning", "somebody.else", "retrying soon")


def test_of_what_other_libraries_say_only_the_first_line_from_warning_on_is_kept(machine: io.StringIO) -> None:
    set_level("debug")
    theirs.debug("header %s", PAYLOAD)
    theirs.info("url %s", PAYLOAD)
    theirs.critical("it failed\nwith %s", PAYLOAD)
    assert [(found["level"], found["message"]) for found in objects(machine)] == [("error", "it failed")]


def test_fields_of_other_libraries_are_not_taken_for_ours(machine: io.StringIO) -> None:
    theirs.warning("hello", extra={"fields": {"body": PAYLOAD}})
    assert PAYLOAD not in machine.getvalue()


def test_a_message_that_cannot_be_put_together_does_not_stop_the_log(
    machine: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    root.handlers[:] = [each for each in root.handlers if isinstance(each, logs._Handler)]  # pytest's own would raise
    theirs.warning("%d things", PAYLOAD)
    theirs.warning("%s", Unprintable())
    assert [found["message"] for found in objects(machine)] == ["%d things", "%s"]
    assert PAYLOAD not in machine.getvalue() + capsys.readouterr().err


async def test_a_task_that_nobody_looked_after_does_not_show_its_message(machine: io.StringIO) -> None:
    loop = asyncio.get_running_loop()
    loop.call_exception_handler({"message": "left alone", "exception": ValueError(PAYLOAD), "future": PAYLOAD})
    (found,) = objects(machine)
    assert (found["event"], found["message"], found["error"]) == ("asyncio", "left alone", "ValueError")
    assert PAYLOAD not in machine.getvalue()


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise ValueError(PAYLOAD)


async def test_the_server_logs_in_our_form_without_query_strings_or_messages(machine: io.StringIO) -> None:
    logging.getLogger("uvicorn.access").addHandler(logging.StreamHandler(machine))
    logging.getLogger("uvicorn").addHandler(logging.StreamHandler(machine))
    configure("info", "json", machine)
    assert not logging.getLogger("uvicorn.access").hasHandlers()  # which is when the server makes no such lines
    server = uvicorn.Server(uvicorn.Config(broken, port=0, log_config=None, lifespan="off", ws="none"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/?key={PAYLOAD}")
    server.should_exit = True
    await serving
    assert answer.status_code == 500
    (found,) = objects(machine)
    assert (found["event"], found["level"], found["error"]) == ("uvicorn.error", "error", "ValueError")
    assert found["message"] == "Exception in ASGI application"
    assert ":broken < " in found["stack"]
    assert PAYLOAD not in machine.getvalue()
