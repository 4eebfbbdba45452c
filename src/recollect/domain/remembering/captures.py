"""Captures: what was said and done, as it came in; they are appended, never changed, and never recalled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from recollect.domain.callers import LOCAL, Caller
from recollect.domain.errors import InvalidCapture
from recollect.domain.governance.gate import privacy_flaw
from recollect.domain.governance.policy import Privacy
from recollect.domain.governance.redaction import WITHHELD
from recollect.domain.governance.terms import Source
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.claims import RECALLED
from recollect.domain.promotion.standing import SOURCE_OF, Channel, SourceClass, Trust, trust_of
from recollect.domain.scrubbing import cleaned, redacted
from recollect.domain.text import flaw_in, shown

MAX_CAPTURES = 100
"""How many can be captured at once."""
MAX_TEXT = 65_536
"""How many characters one has at most."""
MAX_REFS = 100
CHANNEL_ROLE = "channel:"
"""What a role begins with that says by which channel everything comes that its holder captures."""
_Word = TypeVar("_Word", bound=StrEnum)
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_PARTS = re.compile(r"(?<=[.!?;\n])\s+|\n")


class CaptureKind(StrEnum):
    """What was captured."""

    TURN = "turn"
    """Something that was said in a conversation."""
    TOOL_RESULT = "tool_result"
    """What a tool returned."""
    DECISION = "decision"
    """What was decided."""
    EFFECT = "effect"
    """What was done."""


class Speaker(StrEnum):
    """Whose words a capture has, as whoever captures it says."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OPERATOR = "operator"


class Via(StrEnum):
    """Where words come from that only passed through; saying so can only lower how far they are trusted."""

    WEB = "web"
    """A page, a mail, a document."""
    AGENT = "agent"
    """Another agent."""


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was said or done, with where it came from. The service says by which channel, not the payload."""

    id: str
    kind: CaptureKind
    speaker: Speaker
    text: str
    """Without what may not be kept."""
    withheld: bool
    """Whether parts of the text were left out because they may not be kept."""
    about: str
    """The entity that says `I`."""
    channel: Channel
    source_class: SourceClass
    principal: str
    client: str
    at: Instant
    session: str | None = None
    project: str | None = None
    tool: str | None = None
    refs: tuple[str, ...] = ()

    @property
    def trust(self) -> Trust:
        """How far it can be relied on."""
        return trust_of(self.channel)

    @property
    def source(self) -> Source:
        """Whose words the rules take them for."""
        if self.channel in (Channel.USER_TURN, Channel.CONSOLE):
            return Source.USER
        return Source.AI if self.channel is Channel.AGENT_TURN else Source.TOOL

    @property
    def evidence(self) -> tuple[str, ...]:
        """What shows that it was said. What repeats a memory shows nothing but that memory."""
        recalled = tuple(each for each in self.refs if each.startswith(RECALLED))
        if recalled and self.trust < Trust.ASSERTED:
            return recalled
        return (f"capture:{self.id}", *(each for each in self.refs if each not in recalled))


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller gives to be captured, checked."""

    kind: CaptureKind
    speaker: Speaker
    text: str
    via: Via | None = None
    session: str | None = None
    project: str | None = None
    tool: str | None = None
    about: str | None = None
    refs: tuple[str, ...] = ()


_FIELDS = frozenset(Given.__struct_fields__)
_SPEAKERS = {CaptureKind.TOOL_RESULT: Speaker.TOOL}


def given_of(raw: object) -> Given:
    """What is to be captured, refused with a clear message when it cannot be."""
    if not isinstance(raw, Mapping):
        raise InvalidCapture(f"a capture is an object, not {type(raw).__name__}")
    for name in raw:
        if name not in _FIELDS:
            raise InvalidCapture(
                f"a capture has {', '.join(sorted(_FIELDS))}; {shown(name)} is not for the caller to set",
                field=str(name),
            )
    kind = _one_of(CaptureKind, raw.get("kind", CaptureKind.TURN), "kind")
    speaker = _one_of(Speaker, raw.get("speaker", _SPEAKERS.get(kind, Speaker.USER)), "speaker")
    if (kind is CaptureKind.TOOL_RESULT) is not (speaker is Speaker.TOOL):
        raise InvalidCapture("a tool_result is said by a tool, and nothing else is", field="speaker")
    via = raw.get("via")
    return Given(
        kind=kind,
        speaker=speaker,
        text=_text(raw.get("text")),
        via=None if via is None else _one_of(Via, via, "via"),
        session=_name(raw.get("session"), "session"),
        project=_name(raw.get("project"), "project"),
        tool=_name(raw.get("tool"), "tool"),
        about=None if raw.get("about") is None else shapes.ceid(raw["about"], "about"),
        refs=_refs(raw.get("refs", ())),
    )


def _one_of(closed: type[_Word], given: object, field: str) -> _Word:
    if not isinstance(given, str) or given not in tuple(closed):
        raise InvalidCapture(f"{field} is one of {', '.join(closed)}, not {shown(given)}", field=field)
    return closed(given)


def _text(given: object) -> str:
    if not isinstance(given, str) or flaw_in(given) or not given.strip():
        raise InvalidCapture("text is what was said or done, and is not empty", field="text")
    if len(given) > MAX_TEXT:
        raise InvalidCapture(f"text has {len(given):,} characters; at most {MAX_TEXT:,} are captured", field="text")
    return given


def _name(given: object, field: str) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or flaw_in(given) or not given.strip() or _NAME.fullmatch(given) is None:
        raise InvalidCapture(f"{field} is a name of 1 to 200 characters on one line", field=field)
    return given


def _refs(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple) or len(given) > MAX_REFS:
        raise InvalidCapture(f"refs are a list of at most {MAX_REFS} texts", field="refs")
    return shapes.texts(given, "refs")


def channel_of(given: Given, caller: Caller, verified_tools: frozenset[str] = frozenset()) -> Channel:
    """By which channel something comes: from the credential, and from what it says where that can only lower it."""
    fixed = [role.removeprefix(CHANNEL_ROLE) for role in caller.roles if role.startswith(CHANNEL_ROLE)]
    known = [Channel(each) for each in fixed if each in tuple(Channel)]
    said = _said_channel(given, caller, verified_tools)
    return min([*known, said], key=lambda each: (trust_of(each), each.value))


def _said_channel(given: Given, caller: Caller, verified_tools: frozenset[str]) -> Channel:
    if given.via is not None:
        return Channel.WEB_CONTENT if given.via is Via.WEB else Channel.AGENT_MESSAGE
    if given.speaker is Speaker.TOOL:
        return Channel.VERIFIED_TOOL if given.tool in verified_tools else Channel.TOOL_RESULT
    if given.speaker is Speaker.OPERATOR:
        if not caller.is_admin:
            raise InvalidCapture("only an administrator speaks as an operator", field="speaker")
        return Channel.CONSOLE
    return Channel.USER_TURN if given.speaker is Speaker.USER else Channel.AGENT_TURN


class Kept(msgspec.Struct, frozen=True):
    """What may be kept of a text, and whether that is less than all."""

    text: str
    withheld: bool


def kept_of(text: str, privacy: Privacy) -> Kept:
    """The text without credentials, and without the sentences that privacy forbids."""
    plain = redacted(cleaned(text)).strip() or WITHHELD
    if privacy_flaw(plain, privacy) is None:
        return Kept(plain, plain != cleaned(text).strip())
    rest = "\n".join(WITHHELD if privacy_flaw(each, privacy) else each for each in _PARTS.split(plain))
    return Kept(WITHHELD if privacy_flaw(rest, privacy) else rest, True)


def captured(
    given: Given, caller: Caller, owner: str, channel: Channel, privacy: Privacy, *, capture_id: str, at: Instant
) -> Capture:
    """What is appended."""
    kept = kept_of(given.text, privacy)
    return Capture(
        id=capture_id,
        kind=given.kind,
        speaker=given.speaker,
        text=kept.text,
        withheld=kept.withheld,
        about=given.about or f"user:{owner}",
        channel=channel,
        source_class=SOURCE_OF[channel],
        principal=caller.user_id or (owner if caller.credential == LOCAL else ""),
        client=caller.client_id,
        at=at,
        session=given.session,
        project=given.project,
        tool=given.tool,
        refs=given.refs,
    )
