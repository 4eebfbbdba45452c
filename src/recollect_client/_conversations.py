"""Conversations with memories: told once, and held with or without an event loop.

A conversation is a generator: it yields a call, is sent the answer or thrown the error, and returns the result.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

Told = TypeVar("Told")


class Call(NamedTuple):
    """A method of the memories, and what it is given."""

    method: str
    given: tuple[Any, ...]
    named: dict[str, Any]


class Pause(NamedTuple):
    """A while in which nothing is asked."""

    seconds: float


Conversation = Generator[Call | Pause, Any, Told]


def operations_of(memories: Any) -> Any:
    """The module with the `PutOp` and `DeleteOp` that these memories take: that of the package they come from."""
    return sys.modules[type(memories).__module__.partition(".")[0]]


def answers_later(memories: Any) -> bool:
    """True when the answers of these memories are to be awaited."""
    return inspect.iscoroutinefunction(memories.batch)


def held(conversation: Conversation[Told], memories: Any) -> Told:
    """Hold a conversation to its end."""
    try:
        step = next(conversation)
        while True:
            try:
                answer = None
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                else:
                    answer = getattr(memories, step.method)(*step.given, **step.named)
            except Exception as error:  # noqa: BLE001 - the conversation decides what it means
                step = conversation.throw(error)
            else:
                step = conversation.send(answer)
    except StopIteration as end:
        told: Told = end.value
        return told


async def awaited(conversation: Conversation[Told], memories: Any) -> Told:
    """The same, awaiting every answer."""
    try:
        step = next(conversation)
        while True:
            try:
                answer = None
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                else:
                    answer = await getattr(memories, step.method)(*step.given, **step.named)
            except Exception as error:  # noqa: BLE001 - the conversation decides what it means
                step = conversation.throw(error)
            else:
                step = conversation.send(answer)
    except StopIteration as end:
        told: Told = end.value
        return told
