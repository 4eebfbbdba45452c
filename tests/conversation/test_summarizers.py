"""Every summarizer keeps what the port promises, and the proofs can fail."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.conversation import summary_promises as promises
from tests.conversation.summary_promises import TALKS

from recollect.backends.summarizing import ExtractiveSummarizer, LlmSummarizer
from recollect.ports.summarizer import Rolled, Summarizer, Summed, Told
from recollect.testing.chat import ChatServer, Reply, chatting, slow, status

KEY = "sk-hunter2-hunter2"
SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Subject:
    """A summarizer in four states: at work, far too talkative, with something wrong underneath, and kept waiting."""

    make: Callable[[], Summarizer]
    talkative: Callable[[], Summarizer]
    broken: Callable[[], Summarizer]
    slow: Callable[[], Summarizer]
    asked: Callable[[], int] = lambda: 0
    heard: Callable[[], list[str]] = list


def quoting(content: str) -> object:
    """A model that says what it was told first; people and numbers that nobody spoke of are added."""
    quoted = json.loads(content)
    first = quoted["lines"][0]["text"] if quoted["lines"] else quoted["before"]
    if "people" not in quoted:
        return f"{first}\nUser owes 4711."
    empty: list[str] = []
    return {
        "one_liner": f"Sophie: {first}",
        "what_mattered": [first, "4711 boats"],
        "open_loops": empty,
        "commitments": empty,
        "people": ["Sophie", "Bob Nobody"],
        "tone": "calm",
    }


def rambling(content: str) -> object:
    """A model that knows no end."""
    long = "Blah blah blah. " * 1_000
    if "people" not in json.loads(content):
        return long + "\n" + "line\n" * 500
    many = [f"{number % 9} {long}" for number in range(100)]
    return {
        "one_liner": long,
        "what_mattered": many,
        "open_loops": many,
        "commitments": many,
        "people": many,
        "tone": long,
    }


def failing() -> list[Reply]:
    return [status(500)] * 2_000


@pytest.fixture(params=["extractive", "llm"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    if request.param == "extractive":
        plain = ExtractiveSummarizer
        yield Subject(plain, plain, plain, plain)
        return
    with ExitStack() as stack:
        well = stack.enter_context(chatting(answer=quoting))
        talking = stack.enter_context(chatting(answer=rambling))
        wrong = stack.enter_context(chatting(*failing()))
        late = stack.enter_context(chatting(*[slow(60)] * 10))

        def of(server: ChatServer, **options: Any) -> Summarizer:
            usual: dict[str, Any] = {"seconds": 10.0, "chance": lambda: 0.0}
            made = LlmSummarizer(server.url, "some-model", key=KEY, **usual | options)
            stack.callback(made.close)
            return made

        yield Subject(
            lambda: of(well),
            lambda: of(talking),
            lambda: of(wrong, attempts=1),
            lambda: of(late, seconds=SECONDS),
            lambda: sum(len(server.asked) for server in (well, talking, wrong, late)),
            lambda: [json.dumps(each, ensure_ascii=False) for each in well.asked],
        )


def test_z1_it_rests_on_what_it_was_given_alone(subject: Subject) -> None:
    promises.z1_it_rests_on_what_it_was_given_alone(subject.make)


def test_z1_it_is_told_these_lines_and_no_others(subject: Subject) -> None:
    promises.z1_it_is_told_these_lines_and_no_others(subject.make(), subject.heard)


def test_z2_it_is_never_longer_than_the_caps(subject: Subject) -> None:
    for make in (subject.make, subject.talkative, subject.broken):
        promises.z2_it_is_never_longer_than_the_caps(make())


def test_z3_it_ends_within_its_time(subject: Subject) -> None:
    # The server takes a minute; far less is allowed than that, and more than the half second that was set.
    for make in (subject.slow, subject.broken):
        promises.z3_it_ends_within_its_time(make(), subject.asked, seconds=15, most=2)


def test_z4_it_never_fails_and_the_extractive_one_stands_in(subject: Subject) -> None:
    promises.z4_it_never_fails_and_the_extractive_one_stands_in(subject.broken())


def test_z5_nothing_it_says_of_itself_holds_lines_or_key(subject: Subject) -> None:
    for make in (subject.make, subject.broken):
        promises.z5_nothing_it_says_of_itself_holds_lines_or_key(make(), KEY)


def test_every_check_is_run() -> None:
    for name, _ in inspect.getmembers(promises, inspect.isfunction):
        assert not name.startswith("z") or f"test_{name}" in globals(), f"{name} is never run"


# -- the proofs can fail


class Gossip(ExtractiveSummarizer):
    """Breaks Z1: what it heard before comes back."""

    def __init__(self) -> None:
        self._heard = ""

    def rolling(self, told: Told) -> Rolled:
        made = super().rolling(msgspec.structs.replace(told, before=f"{told.before}\n{self._heard}"))
        self._heard = made.text
        return made


class Inventive(ExtractiveSummarizer):
    """Breaks Z1: it adds somebody of whom nobody spoke."""

    def session(self, told: Told) -> Summed:
        made = super().session(told)
        return msgspec.structs.replace(made, summary=msgspec.structs.replace(made.summary, people=("Bob",)))


class Rambling(ExtractiveSummarizer):
    """Breaks Z2: it knows no end."""

    def rolling(self, told: Told) -> Rolled:
        return Rolled(text=" ".join(line.text for line in told.lines), by="extractive")


class Mute(ExtractiveSummarizer):
    """Breaks Z2: it says nothing where it has to."""

    def session(self, told: Told) -> Summed:
        made = super().session(told)
        return msgspec.structs.replace(made, summary=msgspec.structs.replace(made.summary, one_liner=""))


class Dawdling(ExtractiveSummarizer):
    """Breaks Z3: it takes its time."""

    def session(self, told: Told) -> Summed:
        time.sleep(0.3)
        return super().session(told)


class Brittle(ExtractiveSummarizer):
    """Breaks Z4: it falls over what cannot be encoded."""

    def rolling(self, told: Told) -> Rolled:
        for line in told.lines:
            line.text.encode()
        return super().rolling(told)


class Giving(ExtractiveSummarizer):
    """Breaks Z4: it says nothing instead of what the extractive one says."""

    def rolling(self, told: Told) -> Rolled:
        return msgspec.structs.replace(super().rolling(told), text="")


class Talkative(ExtractiveSummarizer):
    """Breaks Z5: it says over what it stumbled."""

    def session(self, told: Told) -> Summed:
        said = " ".join(line.text for line in told.lines)
        return msgspec.structs.replace(super().session(told), trouble=f"cannot read {said}")


@pytest.mark.parametrize(
    ("check", "faulty"),
    [
        (promises.z1_it_rests_on_what_it_was_given_alone, Gossip),
        (promises.z1_it_rests_on_what_it_was_given_alone, Inventive),
        (lambda make: promises.z1_it_is_told_these_lines_and_no_others(make(), _telling_all()), ExtractiveSummarizer),
        (lambda make: promises.z2_it_is_never_longer_than_the_caps(make()), Rambling),
        (lambda make: promises.z2_it_is_never_longer_than_the_caps(make()), Mute),
        (lambda make: promises.z3_it_ends_within_its_time(make(), lambda: 0, seconds=0.2, most=2), Dawdling),
        (
            lambda make: promises.z3_it_ends_within_its_time(make(), iter([0, 9]).__next__, seconds=20, most=2),
            ExtractiveSummarizer,
        ),
        (lambda make: promises.z4_it_never_fails_and_the_extractive_one_stands_in(make()), Brittle),
        (lambda make: promises.z4_it_never_fails_and_the_extractive_one_stands_in(make()), Giving),
        (lambda make: promises.z5_nothing_it_says_of_itself_holds_lines_or_key(make(), KEY), Talkative),
    ],
)
def test_the_proofs_notice_a_broken_promise(
    check: Callable[[Callable[[], Summarizer]], None], faulty: Callable[[], Summarizer]
) -> None:
    with pytest.raises((AssertionError, UnicodeEncodeError)):
        check(faulty)


def _telling_all() -> Callable[[], list[str]]:
    """As if somebody had been told everything that was ever said."""
    heard: list[str] = []

    def told() -> list[str]:
        heard.append(" ".join(line.text for talk in TALKS for line in talk.lines))
        return list(heard)

    return told
