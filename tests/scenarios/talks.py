"""The calls of a conversation, which every door carries out in one way; their answers are plain JSON everywhere."""

from __future__ import annotations

from typing import Any

from tests.scenarios.door import moment
from tests.scenarios.way_out import given

MOMENTS = frozenset({"first", "last", "last_interaction"})
"""Moments whose names do not say so."""


def talked(told: Any) -> Any:
    """An answer of a conversation without what is own to a run."""
    return _with_moments(given(told))


def _with_moments(told: Any, name: str = "") -> Any:
    if isinstance(told, dict):
        return {key: _with_moments(value, key) for key, value in told.items()}
    if isinstance(told, list):
        return [_with_moments(each, name) for each in told]
    return moment(told) if name in MOMENTS and isinstance(told, str) else told


class Talks:
    """Everything that is said to personas, done, known of entities, and put in order, at any door."""

    def _talk(self, call: str, *asked: Any, **named: Any) -> Any:
        raise NotImplementedError

    def converse(self, *asked: Any, **named: Any) -> Any:
        return self._talk("converse", *asked, **named)

    def conversation_context(self, *asked: Any, **named: Any) -> Any:
        return self._talk("conversation_context", *asked, **named)

    def list_sessions(self, **named: Any) -> Any:
        return self._talk("list_sessions", **named)

    def get_session(self, *asked: Any) -> Any:
        return self._talk("get_session", *asked)

    def close_session(self, *asked: Any) -> Any:
        return self._talk("close_session", *asked)

    def get_session_state(self, *asked: Any) -> Any:
        return self._talk("get_session_state", *asked)

    def list_messages(self, **named: Any) -> Any:
        return self._talk("list_messages", **named)

    def list_spines(self, **named: Any) -> Any:
        return self._talk("list_spines", **named)

    def get_spine(self, *asked: Any) -> Any:
        return self._talk("get_spine", *asked)

    def list_todos(self, **named: Any) -> Any:
        return self._talk("list_todos", **named)

    def add_todo(self, *asked: Any, **named: Any) -> Any:
        return self._talk("add_todo", *asked, **named)

    def get_todo(self, *asked: Any) -> Any:
        return self._talk("get_todo", *asked)

    def change_todo(self, *asked: Any, **named: Any) -> Any:
        return self._talk("change_todo", *asked, **named)

    def get_seed(self) -> Any:
        return self._talk("get_seed")

    def put_seed(self, *asked: Any) -> Any:
        return self._talk("put_seed", *asked)

    def delete_seed(self) -> Any:
        return self._talk("delete_seed")

    def list_personas(self) -> Any:
        return self._talk("list_personas")

    def get_persona(self, *asked: Any) -> Any:
        return self._talk("get_persona", *asked)

    def put_persona(self, *asked: Any, **named: Any) -> Any:
        return self._talk("put_persona", *asked, **named)

    def list_entities(self, **named: Any) -> Any:
        return self._talk("list_entities", **named)

    def get_entity(self, *asked: Any, **named: Any) -> Any:
        return self._talk("get_entity", *asked, **named)

    def put_entity(self, *asked: Any, **named: Any) -> Any:
        return self._talk("put_entity", *asked, **named)

    def merge_entities(self, *asked: Any, **named: Any) -> Any:
        return self._talk("merge_entities", *asked, **named)

    def split_entity(self, *asked: Any, **named: Any) -> Any:
        return self._talk("split_entity", *asked, **named)

    def undo_entity_change(self, *asked: Any) -> Any:
        return self._talk("undo_entity_change", *asked)

    def list_entity_suggestions(self, **named: Any) -> Any:
        return self._talk("list_entity_suggestions", **named)

    def decide_entity_suggestion(self, *asked: Any) -> Any:
        return self._talk("decide_entity_suggestion", *asked)

    def curate(self, **named: Any) -> Any:
        return self._talk("curate", **named)

    def list_curations(self, **named: Any) -> Any:
        return self._talk("list_curations", **named)

    def undo_curation(self, *asked: Any) -> Any:
        return self._talk("undo_curation", *asked)


CALLS = frozenset(name for name in vars(Talks) if not name.startswith("_"))
