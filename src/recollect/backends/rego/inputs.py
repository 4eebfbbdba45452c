"""Inputs: what a policy is told, cut down to what it can use, so that equal questions are recognised as equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from recollect.backends.rego.plan import WHOLE, Uses
from recollect.domain.callers import Caller
from recollect.ports.rego import NOW, context_of

_MOST_CALLERS = 10_000
_encode = msgspec.json.Encoder(order="deterministic").encode


def pruned(uses: Uses, value: Any) -> Any:
    """What is used of a value, with everything in its place."""
    if not uses:
        return value
    if isinstance(value, Mapping):
        return {step: pruned(below, value[step]) for step, below in uses.items() if step in value}
    if isinstance(value, list | tuple):
        if any(isinstance(step, str) for step in uses):
            return value
        return value[: 1 + max(step for step in uses if isinstance(step, int))]
    return value


class Telling:
    """How one kind of question is put to a policy: which of its parts are told, and what they look like."""

    def __init__(self, uses: Uses, now: Callable[[], int]) -> None:
        self._uses = uses
        self._now = now
        self._everything = uses == WHOLE
        context = self.below("context")
        self._context = context
        self.timeless = not (self._everything or (context is not None and (not context or NOW in context)))
        """Whether the answer stays the same as time passes, so that it can be kept."""
        self._callers: dict[int, tuple[Caller, bytes]] = {}

    def below(self, part: str) -> Uses | None:
        """What is used of a part of the question; None when it is not looked at."""
        return WHOLE if self._everything else self._uses.get(part)

    def caller(self, caller: Caller) -> bytes:
        """The caller, as far as it matters, encoded. The same caller is recognised without looking twice."""
        if self._context is None:
            return b""
        known = self._callers.get(id(caller))
        if known is not None and known[0] is caller:
            return known[1]
        said = _encode(pruned(self._context, context_of(caller)))
        if len(self._callers) >= _MOST_CALLERS:
            self._callers.clear()
        self._callers[id(caller)] = (caller, said)
        return said

    def path(self, part: str, segments: Sequence[str]) -> tuple[str, ...] | None:
        """The segments of a namespace, as far as they matter; None when they do not."""
        uses = self.below(part)
        return None if uses is None else tuple(pruned(uses, tuple(segments)))

    def text(self, part: str, value: Any) -> Any:
        """A simple part, if it matters."""
        return None if self.below(part) is None else value

    def object(self, part: str, value: Any) -> bytes | None:
        """A part of any shape, as far as it matters, encoded."""
        uses = self.below(part)
        return None if uses is None else _encode(pruned(uses, value))

    def encoded(self, context: bytes, **parts: Any) -> bytes:
        """The input: the parts that matter, and the caller; `Raw` parts are encoded already."""
        said = {name: part for name, part in parts.items() if part is not None}
        if context:
            said["context"] = msgspec.Raw(context if self.timeless else self._with_time(context))
        return _encode(said)

    def _with_time(self, context: bytes) -> bytes:
        return _encode({**msgspec.json.decode(context), NOW: self._now()})


def raw(encoded: bytes | None) -> msgspec.Raw | None:
    """What is encoded already, to be put into something as it is."""
    return None if encoded is None else msgspec.Raw(encoded)


def merged(uses: Sequence[Mapping[Any, Any]]) -> Mapping[Any, Any]:
    """What any of them uses."""
    if not all(uses):
        return {}
    steps = {step for each in uses for step in each}
    return {step: merged([each[step] for each in uses if step in each]) for step in steps}
