"""Every extractor keeps what the port promises, and the proofs can fail."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.extraction import promises
from tests.extraction.promises import PASSAGES

from recollect.backends.extraction import LlmExtractor, RulesExtractor
from recollect.ports.extractor import Extracted, Extractor, Passage
from recollect.testing.chat import ChatServer, chatting, slow, statement, status

KEY = "sk-hunter2-hunter2"
SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Subject:
    """An extractor in three states: at work, with something wrong underneath, and kept waiting."""

    make: Callable[[], Extractor]
    broken: Callable[[], Extractor]
    slow: Callable[[], Extractor]
    asked: Callable[[], int] = lambda: 0
    told: Callable[[], list[str]] = list


@pytest.fixture(params=["rules", "llm"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    if request.param == "rules":
        yield Subject(RulesExtractor, RulesExtractor, RulesExtractor)
        return
    with ExitStack() as stack:
        well = stack.enter_context(chatting(answer=lambda passage: [statement(passage), statement("Bob has a boat")]))
        failing = stack.enter_context(chatting(*[status(500)] * 10_000))
        late = stack.enter_context(chatting(*[slow(60)] * 10))

        def of(server: ChatServer, **options: Any) -> Extractor:
            made = LlmExtractor(server.url, "some-model", key=KEY, chance=lambda: 0.0, **options)
            stack.callback(made.close)
            return made

        yield Subject(
            lambda: of(well),
            lambda: of(failing, attempts=1),
            lambda: of(late, seconds=SECONDS),
            lambda: sum(len(server.asked) for server in (well, failing, late)),
            lambda: [str(each) for each in (*well.asked, *failing.asked)],
        )


def test_x1_a_statement_rests_on_the_passage_alone(subject: Subject) -> None:
    promises.x1_a_statement_rests_on_the_passage_alone(subject.make)


def test_x1_it_is_told_the_passage_and_nothing_else(subject: Subject) -> None:
    promises.x1_it_is_told_the_passage_and_nothing_else(subject.make(), subject.told)


def test_x2_a_recorded_answer_is_found_again_and_nobody_is_asked(subject: Subject) -> None:
    for make in (subject.make, subject.broken):
        others = [subject.broken(), RulesExtractor()]
        promises.x2_a_recorded_answer_is_found_again_and_nobody_is_asked(make(), subject.asked, others)


def test_x3_it_ends_within_its_time_and_asks_so_often(subject: Subject) -> None:
    # The server takes a minute; far less is allowed than that, and far more than the half second that was set.
    for make in (subject.slow, subject.broken):
        promises.x3_it_ends_within_its_time_and_asks_so_often(make(), subject.asked, seconds=20, attempts=3)


def test_x4_it_never_fails_and_the_rules_stand_in(subject: Subject) -> None:
    promises.x4_it_never_fails_and_the_rules_stand_in(subject.broken())


def test_x5_nothing_it_says_of_itself_holds_passage_or_key(subject: Subject) -> None:
    for make in (subject.make, subject.broken):
        promises.x5_nothing_it_says_of_itself_holds_passage_or_key(make(), KEY)


def test_every_check_is_run() -> None:
    for name, _ in inspect.getmembers(promises, inspect.isfunction):
        assert not name.startswith("x") or f"test_{name}" in globals(), f"{name} is never run"


# -- the proofs can fail


class Gossip(RulesExtractor):
    """Breaks X1: what it heard before comes back."""

    def __init__(self) -> None:
        self._heard: tuple[Any, ...] = ()

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        found = super().extract(passage, recorded)
        self._heard += found.statements
        return msgspec.structs.replace(found, statements=self._heard)


class Inventive(RulesExtractor):
    """Breaks X1: it adds what nobody said."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        found = super().extract(passage, recorded)
        return msgspec.structs.replace(
            found, statements=tuple(msgspec.structs.replace(each, value="a boat") for each in found.statements)
        )


class Fickle(RulesExtractor):
    """Breaks X2: what was recorded is not what it was."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        found = super().extract(passage)
        return msgspec.structs.replace(found, answer="recorded", by="rules" if recorded is None else "another")


class Dawdling(RulesExtractor):
    """Breaks X3: it takes its time."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        time.sleep(0.2)
        return super().extract(passage, recorded)


class Brittle(RulesExtractor):
    """Breaks X4: it falls over what cannot be encoded."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        passage.text.encode()
        return super().extract(passage, recorded)


class Giving(RulesExtractor):
    """Breaks X4: it finds nothing instead of what the rules find, and does not say why."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        return msgspec.structs.replace(super().extract(passage, recorded), statements=())


class Talkative(RulesExtractor):
    """Breaks X5: it says over what it stumbled."""

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        return msgspec.structs.replace(super().extract(passage, recorded), trouble=f"cannot read {passage.text}")


@pytest.mark.parametrize(
    ("check", "faulty"),
    [
        (promises.x1_a_statement_rests_on_the_passage_alone, Gossip),
        (promises.x1_a_statement_rests_on_the_passage_alone, Inventive),
        (lambda make: promises.x1_it_is_told_the_passage_and_nothing_else(make(), _telling_all()), RulesExtractor),
        (
            lambda make: promises.x2_a_recorded_answer_is_found_again_and_nobody_is_asked(make(), lambda: 0, []),
            Fickle,
        ),
        (
            lambda make: promises.x3_it_ends_within_its_time_and_asks_so_often(
                make(), lambda: 0, seconds=0.1, attempts=3
            ),
            Dawdling,
        ),
        (
            lambda make: promises.x3_it_ends_within_its_time_and_asks_so_often(
                make(), iter([0, 4]).__next__, seconds=20, attempts=3
            ),
            RulesExtractor,
        ),
        (lambda make: promises.x4_it_never_fails_and_the_rules_stand_in(make()), Brittle),
        (lambda make: promises.x4_it_never_fails_and_the_rules_stand_in(make()), Giving),
        (lambda make: promises.x5_nothing_it_says_of_itself_holds_passage_or_key(make(), KEY), Talkative),
    ],
)
def test_the_proofs_notice_a_broken_promise(
    check: Callable[[Callable[[], Extractor]], None], faulty: Callable[[], Extractor]
) -> None:
    with pytest.raises((AssertionError, UnicodeEncodeError)):
        check(faulty)


def _telling_all() -> Callable[[], list[str]]:
    """As if somebody had been told everything that was ever said."""
    heard: list[str] = []

    def told() -> list[str]:
        heard.append(" ".join(passage.text for passage in PASSAGES))
        return list(heard)

    return told
