"""Two processes that stay alive between tests and begin what they are told at the same moment."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import TypeVar

Result = TypeVar("Result")
_MEET_SECONDS = 120.0
_meeting: Barrier | None = None


class Crew:
    """As many processes as asked for, each with its own interpreter and its own open stores."""

    def __init__(self, size: int = 2) -> None:
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(size)
        self._members = [
            ProcessPoolExecutor(1, mp_context=context, initializer=_join, initargs=(barrier,)) for _ in range(size)
        ]

    def together(self, work: Callable[..., Result], *arguments: tuple[object, ...]) -> list[Result]:
        """Run `work` in every process, with that process's arguments, and return what each returned."""
        pairs = zip(self._members, arguments, strict=True)
        running = [member.submit(work, *given) for member, given in pairs]
        return [each.result() for each in running]

    def dismiss(self) -> None:
        """End the processes."""
        for member in self._members:
            member.shutdown()


def _join(barrier: Barrier) -> None:
    global _meeting
    _meeting = barrier


def meet() -> None:
    """Wait, within a member's work, until every member has come this far."""
    if _meeting is None:
        raise RuntimeError("only a member of a crew can meet the others")
    _meeting.wait(_MEET_SECONDS)


def in_threads(*works: Callable[[], Result]) -> list[Result]:
    """Run each piece of work on its own thread, from one moment on, and return what they returned."""
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    begin = threading.Barrier(len(works))

    def run(number: int, work: Callable[[], Result]) -> None:
        try:
            begin.wait(_MEET_SECONDS)
            results[number] = work()
        except BaseException as problem:  # noqa: BLE001 - it is raised again below, on the thread that asked
            errors.append(problem)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(works))]
