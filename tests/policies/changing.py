"""Two policies that leave different traces, and writers that tell by which of them each of their writes was decided.

Run as a program, it writes to a data directory, or puts one policy after the other in force, until it is stopped.
"""

from __future__ import annotations

import json
import mmap
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import recollect
from recollect import MemoriesSync, PutOp
from recollect.domain.attributes import stored_attributes
from recollect.domain.callers import new_caller
from recollect.domain.errors import Forbidden
from recollect.sync import drive

NOTES = ("user", "alice", "notes")
_AUTHZ = """package memories.authz

import rego.v1

default decision := {{"allow": false, "reason": "not in {letter}"}}

decision := {{"allow": true, "reason": ""}} if {{
	mine
	startswith(input.key, "{letter}-")
}}

decision := {{"allow": true, "reason": ""}} if {{
	mine
	startswith(input.key, "x-")
}}

mine if {{
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}}

mine if "admin" in input.context.roles
"""
_ATTRIBUTES = """package memories.attributes

import rego.v1

attributes := {{"marker": "{letter}", "namespace": input.namespace[0], "sub": input.namespace[1]}}
"""


def bundle(letter: str) -> dict[str, str]:
    """A policy that allows only keys like `a-1` (and `x-1`, as every such policy), and marks all with its letter."""
    return {"authz.rego": _AUTHZ.format(letter=letter), "attributes.rego": _ATTRIBUTES.format(letter=letter)}


def letter_of(number: int) -> str:
    """Which policy the so-manieth push puts in force."""
    return "ab"[number % 2]


@dataclass(frozen=True)
class Written:
    """A batch of two writes: between which pushes it was made, what it tried, and what came of it."""

    after: int
    """The last push that had returned when it began."""
    before: int
    """The last push that had begun when it ended."""
    letter: str
    """The policy that it needs, or `x` when any will do."""
    number: str
    outcome: str

    @property
    def possible(self) -> set[str]:
        """The policies that may have decided it."""
        return {letter_of(number) for number in range(self.after, self.before + 1)}


MOST_WRITERS = 32
_SIZE = 8 * (3 + MOST_WRITERS)


class Counters:
    """How many pushes have begun and how many have returned, as every process sees at once."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_SIZE))
        self._file = path.open("r+b")
        self._shared = mmap.mmap(self._file.fileno(), _SIZE)

    def get(self, place: int) -> int:
        """How many pushes have begun (0), have returned (1); whether all is over (2); how far each writer is (3 on)."""
        return int(struct.unpack_from("q", self._shared, place * 8)[0])

    def set(self, place: int, value: int) -> None:
        """Tell it to everybody."""
        struct.pack_into("q", self._shared, place * 8, value)

    def close(self) -> None:
        """Let go of the file."""
        self._shared.close()
        self._file.close()


@contextmanager
def counters(path: Path) -> Iterator[Counters]:
    """The counters of a file, which is made if need be."""
    found = Counters(path)
    try:
        yield found
    finally:
        found.close()


def batches(write: Callable[[str, str], str], shared: Counters, writer: int, name: str) -> Iterator[Written]:
    """Write one batch after the other until all is over; `write` is given a letter and a number."""
    count = 0
    while not shared.get(2) and count < 1_000_000:
        letter, number = "abx"[count % 3], f"{name}{count}"
        after = shared.get(1)
        outcome = write(letter, number)
        yield Written(after, shared.get(0), letter, number, outcome)
        count += 1
        shared.set(3 + writer, count)


def write_here(memories: MemoriesSync) -> Callable[[str, str], str]:
    """Write a batch in this process; two keys, so that a batch that two policies decided would show."""
    alice = memories.for_caller(new_caller("default", "alice"))

    def write(letter: str, number: str) -> str:
        value = {"text": number}
        try:
            alice.batch([PutOp(NOTES, f"x-{number}", value), PutOp(NOTES, f"{letter}-{number}-too", value)])
        except Forbidden as refused:
            return str(refused.details["reason"])
        return ""

    return write


def markers(memories: MemoriesSync) -> dict[str, str]:
    """By which policy each key was marked, read from the store itself."""
    inner = memories._memories
    found: dict[str, str] = {}
    cursor: str | None = None
    while True:
        page = memories.search(NOTES, order="key", limit=1_000, cursor=cursor)
        for item in page.items:
            row = drive(inner._store.get_by_id(inner._tenant, item.id.bytes))
            assert row is not None
            found[item.key] = str(stored_attributes(row.policy_attributes).get("marker"))
        cursor = page.cursor
        if cursor is None:
            return found


def mistakes(log: list[Written], marked: dict[str, str] | None) -> list[str]:
    """Every write that was decided by a policy that could not have decided it, by two, or not at all."""
    found = []
    for each in log:
        if each.outcome == "":
            deciding = each.possible if each.letter == "x" else each.possible & {each.letter}
        else:
            deciding = {
                letter
                for letter in each.possible
                if each.outcome == f"not in {letter}" and each.letter not in ("x", letter)
            }
        if not deciding:
            found.append(f"{each} cannot have been decided so")
        if marked is not None:
            marks = {marked.get(f"x-{each.number}"), marked.get(f"{each.letter}-{each.number}-too")}
            wanted = [{letter} for letter in deciding] if each.outcome == "" else [{None}]
            if marks not in wanted:
                found.append(f"{each} left the marks {marks}")
    return found


def main(home: Path, what: str, shared: Path) -> None:
    """Do it until it is over, and tell of it line by line."""
    with recollect.open_sync(home) as memories, counters(shared) as counted:
        print("ready", flush=True)
        if what == "push":
            for number in range(1, 10_000):
                memories.push_policy(bundle(letter_of(number)), note=str(number))
                print(number, flush=True)
        for each in batches(write_here(memories), counted, MOST_WRITERS - 1, f"{what}-"):
            print(json.dumps([each.after, each.before, each.letter, each.number, each.outcome]), flush=True)
            time.sleep(0.001)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
