"""Requests of the way out on the wire: recall, context, governed turns, profiles, and questions about why."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.compiling.codes import Form
from recollect.domain.compiling.counting import CHARS
from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.errors import InvalidRequest
from recollect.domain.recall.asking import Ranker
from recollect.service.governing.profiles import DEFAULT
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
    template: dict[str, Any] | str | None = None
    state: dict[str, Any] | None = None
    form: str = Form.JSON
    conversation: bool = False
    at: str | None = None


class TurnBody(Strict):
    """A turn of a conversation, as a profile governs it."""

    user: str
    ai: str = ""
    profile: str | UnsetType = UNSET
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


_MOMENTS = ("as_of", "at")
_CONVERSING = re.compile("ses_[0-9a-f]{32}")
_TALKED_ABOUT = ("query", "session", "persona", "budget", "counter", "template", "form", "wait", "at")


def asked_of(body: Strict) -> dict[str, Any]:
    """The members of a body as the arguments of its use-case; a moment as such."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return given | {name: moment(given[name], name) for name in _MOMENTS if name in given}


def governed(body: TurnBody) -> dict[str, Any]:
    """What a governed turn is asked with; without a profile, the usual one governs it."""
    given = asked_of(body)
    return given | ({"profile": DEFAULT} if body.profile is UNSET else {})


def conversed(session: str, body: TurnBody) -> bool:
    """Whether a turn is one of a conversation: its session is one, and nothing is said that only profiles know."""
    said = body.profile is UNSET and body.recall and not body.tool_events
    return said and body.state is None and body.identity is None and _CONVERSING.fullmatch(session) is not None


def in_conversation(body: ContextBody) -> dict[str, Any]:
    """What the context of a conversation is asked with; what only other contexts know is refused."""
    for field in msgspec.structs.fields(body):
        if field.name not in (*_TALKED_ABOUT, "conversation") and getattr(body, field.name) != field.default:
            raise InvalidRequest(
                f"{field.name} does not go with a conversation; leave it out, or leave `conversation` out",
                field=field.name,
            )
    asked = asked_of(body)
    return {name: asked[name] for name in _TALKED_ABOUT} | {"persona": body.persona or DEFAULT_PERSONA}


def apart(body: ContextBody) -> dict[str, Any]:
    """What any other context is asked with."""
    if body.at is not None:
        raise InvalidRequest("at goes with a conversation; give `as_of`, or say `conversation`", field="at")
    return {name: each for name, each in asked_of(body).items() if name not in ("conversation", "at")}
