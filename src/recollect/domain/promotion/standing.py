"""How far a thing can be trusted and who may see it: set by where it came from, inherited by what is derived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import WriteClass


class Classification(IntEnum):
    """Who may see it, from everybody to few."""

    PUBLIC = 0
    INTERNAL = 1
    CONFIDENTIAL = 2
    RESTRICTED = 3


class Trust(IntEnum):
    """How far what a source says can be relied on."""

    UNTRUSTED = 0
    """Anybody can write there: web pages, mail, what other agents send."""
    INFERRED = 1
    """A model concluded it."""
    ASSERTED = 2
    """A user said it about themself."""
    VERIFIED = 3
    """A tool that is known to be right returned it."""
    IMPOSED = 4
    """An operator or the system set it."""


class SourceClass(StrEnum):
    """What a source is."""

    OPERATOR = "operator"
    SYSTEM = "system"
    VERIFIED_TOOL = "verified_tool"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"
    PEER = "peer"


class Channel(StrEnum):
    """The door by which something came in, as the service knows it from the credential. Payloads do not name it."""

    CONSOLE = "console"
    """An operator, signed in as one."""
    INTERNAL = "internal"
    """The service itself."""
    VERIFIED_TOOL = "verified_tool"
    """A tool that the tenant has registered as right about what it returns."""
    USER_TURN = "user_turn"
    """What the user of the session typed."""
    AGENT_TURN = "agent_turn"
    """What the agent wrote or concluded."""
    TOOL_RESULT = "tool_result"
    """What any other tool returned."""
    WEB_CONTENT = "web_content"
    """What was fetched or mailed."""
    AGENT_MESSAGE = "agent_message"
    """What another agent sent."""


SOURCE_OF: dict[Channel, SourceClass] = {
    Channel.CONSOLE: SourceClass.OPERATOR,
    Channel.INTERNAL: SourceClass.SYSTEM,
    Channel.VERIFIED_TOOL: SourceClass.VERIFIED_TOOL,
    Channel.USER_TURN: SourceClass.USER,
    Channel.AGENT_TURN: SourceClass.AGENT,
    Channel.TOOL_RESULT: SourceClass.TOOL,
    Channel.WEB_CONTENT: SourceClass.WEB,
    Channel.AGENT_MESSAGE: SourceClass.PEER,
}
# The seed asks for trust scores and gives none. A step each is enough to compare, and cannot be tuned into nonsense.
TRUST_OF: dict[SourceClass, Trust] = {
    SourceClass.OPERATOR: Trust.IMPOSED,
    SourceClass.SYSTEM: Trust.IMPOSED,
    SourceClass.VERIFIED_TOOL: Trust.VERIFIED,
    SourceClass.USER: Trust.ASSERTED,
    SourceClass.AGENT: Trust.INFERRED,
    SourceClass.TOOL: Trust.UNTRUSTED,
    SourceClass.WEB: Trust.UNTRUSTED,
    SourceClass.PEER: Trust.UNTRUSTED,
}
BEHAVIORAL = frozenset({WriteClass.PREFERENCE, WriteClass.CORRECTION})
"""The classes that change how an agent acts."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The trust and the classification of one thing."""

    trust: Trust
    classification: Classification


def trust_of(channel: Channel) -> Trust:
    """How far what came by this channel can be relied on."""
    return TRUST_OF[SOURCE_OF[channel]]


def inherited(sources: Iterable[Standing]) -> Standing:
    """What is derived has the lowest trust and the strictest classification of its sources. It needs one."""
    known = tuple(sources)
    if not known:
        raise InvalidValue("what is derived names at least one source")
    return Standing(min(each.trust for each in known), max(each.classification for each in known))


def classification_of(name: str) -> Classification:
    """The classification of that name. The seed writes them in capitals, its companion pages small: both are read."""
    try:
        return Classification[name.upper()]
    except KeyError:
        raise InvalidValue(f"a classification is one of {', '.join(each.name for each in Classification)}") from None
