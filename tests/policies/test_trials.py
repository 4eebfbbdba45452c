"""The tests of a bundle are run to their end on a machine however busy, are bounded, and keep nobody waiting."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio

from recollect.backends.rego import RegoEngine, engine, pool
from recollect.backends.rego.pool import EVALUATION_SECONDS, TRIAL_SECONDS, Pool
from recollect.backends.rego.shipped import shipped_bundle
from recollect.domain.bundles import Bundle, bundle_of
from recollect.domain.callers import Action, new_caller
from recollect.ports.policy import Check
from recollect.testing.doubles import ManualClock

OWN = "package memories.authz\n\nimport rego.v1\n\nallow if input.namespace[1] == input.context.user_id\n"
HEAD = "package memories.authz_test\n\nimport rego.v1\n\nxs := " + str(list(range(100))) + "\n\n"
QUICK = 'test_{} if {{\n\tnot data.memories.authz.allow with input as {{"namespace": ["user", "x"]}}\n}}\n\n'
LONG = "test_{} if count([1 | some a in xs; some b in xs; a + b != 999]) == 10000\n\n"
"""Far more than a decision may compute."""
ENDLESS = "test_{} if count([1 | some a in xs; some b in xs; some c in xs; a + b != c]) == 0\n\n"
PAUSE_SECONDS = 0.3
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long another process computed")


def bundle_with(*tests: str) -> Bundle:
    """A sound policy with these tests, which are numbered."""
    return bundle_of(
        {
            "authz.rego": OWN,
            "authz_test.rego": HEAD + "".join(text.format(number) for number, text in enumerate(tests)),
        }
    )


@pytest_asyncio.fixture
async def subject() -> AsyncIterator[RegoEngine]:
    subject = RegoEngine(shipped_bundle(), clock=ManualClock())
    yield subject
    await subject.close()


async def tried(subject: RegoEngine, bundle: Bundle) -> tuple[Check, ...]:
    report = await subject.check(bundle)
    assert report.problems == ()
    return report.checks


async def failed_when_busy(subject: RegoEngine, monkeypatch: pytest.MonkeyPatch) -> list[Check]:
    """Which tests fail when no process is let to compute for a while, each time that one of them is begun."""
    begun = Pool.trial

    def trial(self: Pool, *arguments: Any) -> Any:
        pids = list(self.pids)
        _signal(pids, signal.SIGSTOP)
        threading.Timer(PAUSE_SECONDS, _signal, (pids, signal.SIGCONT)).start()
        return begun(self, *arguments)

    monkeypatch.setattr(Pool, "trial", trial)
    monkeypatch.setattr(engine, "TEST_SECONDS", 3 * PAUSE_SECONDS)
    return [check for check in await tried(subject, bundle_with(*[QUICK] * 8)) if not check.passed]


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@linux
async def test_tests_do_not_fail_because_the_machine_is_busy(
    subject: RegoEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await failed_when_busy(subject, monkeypatch) == []


@linux
async def test_by_the_clock_on_the_wall_they_would_fail(subject: RegoEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test before could fail."""
    monkeypatch.setattr(pool, "_cpu_seconds", lambda _: time.monotonic())
    assert await failed_when_busy(subject, monkeypatch)


@linux
async def test_a_test_may_compute_longer_than_a_decision_but_not_for_ever(subject: RegoEngine) -> None:
    (long,) = await tried(subject, bundle_with(LONG))
    assert long.passed, long
    endless, next_one = await tried(subject, bundle_with(ENDLESS, QUICK))
    assert (endless.passed, next_one.passed) == (False, False)
    assert "too long" in endless.note
    assert "was not run" in next_one.note


@linux
async def test_all_tests_together_may_not_compute_for_ever_either(
    subject: RegoEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "TEST_SECONDS", EVALUATION_SECONDS)
    first, second, third = await tried(subject, bundle_with(QUICK, LONG, QUICK))
    assert (first.passed, second.passed, third.passed) == (True, True, False)
    assert "was not run" in third.note


async def test_nobody_waits_for_a_test_of_somebody_else(subject: RegoEngine) -> None:
    policy = await subject.policy(None)
    await policy.authorize(new_caller("t", "ann"), Action.READ, ("user", "ann"), "k")
    trial = asyncio.create_task(tried(subject, bundle_with(ENDLESS)))
    decided = 0
    while not trial.done():
        caller = new_caller("t", f"user-{decided}")
        assert (await policy.authorize(caller, Action.READ, ("user", caller.user_id), "k")).allow
        decided += 1
        await asyncio.sleep(0.01)
    assert not (await trial)[0].passed
    assert decided > TRIAL_SECONDS / 0.1, "they waited until it was over"
