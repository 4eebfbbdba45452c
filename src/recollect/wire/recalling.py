"""Requests of the way out on the wire: recall, context, governed turns, profiles, and questions about why."""

from __future__ import annotations

from typing import Any

from recollect.domain.compiling.codes import Form
from recollect.domain.compiling.counting import CHARS
from recollect.domain.recall.asking import Ranker
from recollect.service.recalling.contexts import BUDGET, LIMIT
from recollect.wire.requests import Strict, moment


class Scoped(Strict):
    """What is asked, of which memory, for whom and as of when."""

    query: str | None = None
    spaces: list[str] | None = None
    session: str | None = None
    project: str | None = None
    persona: str | None = None
    phase: str | None = None
    intent: str | None = None
    classification: str | None = None
    freshness: int | float | None = None
    kinds: list[str] | None = None
    tiers: list[str] | None = None
    event_types: list[str] | None = None
    ranker: str = Ranker.RELEVANCE
    min_score: int | float | None = None
    as_of: str | None = None
    history: bool = False
    wait: int | float | None = None


class RecallBody(Scoped):
    """Which memories to give, and what to tell of them."""

    limit: int = 10
    explain: bool = False
    include_usage: bool = False


class ContextBody(Scoped):
    """Which memories to put into a context, and how much of it there may be."""

    limit: int = LIMIT
    budget: int = BUDGET
    counter: str = CHARS.name
    template: dict[str, Any] | None = None
    state: dict[str, Any] | None = None
    form: str = Form.JSON


class TurnBody(Strict):
    """A turn of a conversation, as a profile governs it."""

    user: str
    ai: str = ""
    profile: str = "default"
    tool_events: tuple[Any, ...] = ()
    project: str | None = None
    state: dict[str, Any] | None = None
    identity: dict[str, Any] | None = None
    recall: bool = True


class RecallTurnBody(Strict):
    """A question to a session, as a profile governs it."""

    query: str
    profile: str = "default"
    project: str | None = None
    state: dict[str, Any] | None = None
    identity: dict[str, Any] | None = None


class ProfileBody(Strict):
    """What a profile says from now on."""

    settings: dict[str, Any]
    expected_version: int | None = None


class WhyNotBody(Strict):
    """The words that are not remembered."""

    text: str


def asked_of(body: Strict) -> dict[str, Any]:
    """The members of a body as the arguments of its use-case; a moment as such."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return given | ({"as_of": moment(given["as_of"], "as_of")} if "as_of" in given else {})
