"""The calls of the way out, which every door carries out in one way; their answers are plain JSON everywhere."""

from __future__ import annotations

import re
from typing import Any

from tests.scenarios.door import moment
from tests.scenarios.way_in import remembered

OF_A_RUN = frozenset({"token", "inputs"})
"""What follows from moments and ids, and so from the run."""
_DRAWN = re.compile(r"\b[0-9a-f]{16}\b|[0-9]{4}-[0-9]{2}-[0-9]{2}(?!T)")


def given(told: Any) -> Any:
    """An answer of the way out without what is own to a run."""
    return _alike(remembered(told))


def _alike(told: Any) -> Any:
    if isinstance(told, dict):
        packed = {"hash"} if {"manifest", "pack"} & told.keys() else set()
        alike = {name: _alike(value) for name, value in told.items() if name not in OF_A_RUN | packed}
        return alike | ({"as_of": moment(told["as_of"])} if "as_of" in told else {})
    if isinstance(told, list):
        return [_alike(each) for each in told]
    return _DRAWN.sub("…", told) if isinstance(told, str) else told


class WayOut:
    """Everything that is recalled, compiled, governed and asked why, at any door."""

    def _give(self, call: str, *asked: Any, **named: Any) -> Any:
        raise NotImplementedError

    def recall(self, *asked: Any, **named: Any) -> Any:
        return self._give("recall", *asked, **named)

    def context(self, *asked: Any, **named: Any) -> Any:
        return self._give("context", *asked, **named)

    def take_turn(self, *asked: Any, **named: Any) -> Any:
        return self._give("take_turn", *asked, **named)

    def recall_turn(self, *asked: Any, **named: Any) -> Any:
        return self._give("recall_turn", *asked, **named)

    def replay(self, *asked: Any) -> Any:
        return self._give("replay", *asked)

    def put_profile(self, *asked: Any, **named: Any) -> Any:
        return self._give("put_profile", *asked, **named)

    def get_profile(self, *asked: Any, **named: Any) -> Any:
        return self._give("get_profile", *asked, **named)

    def list_profiles(self) -> Any:
        return self._give("list_profiles")

    def list_traces(self, **named: Any) -> Any:
        return self._give("list_traces", **named)

    def get_trace(self, *asked: Any, **named: Any) -> Any:
        return self._give("get_trace", *asked, **named)

    def why(self, *asked: Any) -> Any:
        return self._give("why", *asked)

    def why_not(self, *asked: Any) -> Any:
        return self._give("why_not", *asked)

    def diff_phases(self, *asked: Any, **named: Any) -> Any:
        return self._give("diff_phases", *asked, **named)

    def get_usage(self, *asked: Any) -> Any:
        return self._give("get_usage", *asked)

    def top_usage(self, **named: Any) -> Any:
        return self._give("top_usage", **named)


CALLS = frozenset(name for name in vars(WayOut) if not name.startswith("_"))
