"""Importing: conversations from elsewhere, read strictly into turns, with nothing lost in silence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from recollect.domain.conversation.personas import MAX_PERSONA
from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import LAST, Instant, parse_rfc3339
from recollect.domain.remembering.captures import MAX_TEXT
from recollect.domain.text import flaw_in

APART = 1_000_000
"""So many microseconds lie between a message that has no time and the one before."""
_BEGIN, _END = "<|im_start|>", "<|im_end|>"
_MILLISECONDS = 100_000_000_000
"""Larger numbers are milliseconds: as seconds they would lie thousands of years ahead."""
_MOST_ROLES = 20
_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt"), "assistant"),
}
_LINE = frozenset({"role", "speaker", "text", "content", "at", "timestamp", "persona", "session"})


class Format(StrEnum):
    """How a conversation is written down."""

    AUTO = "auto"
    """Whichever of the others it looks like."""
    JSONL = "jsonl"
    """One message a line, as a JSON object."""
    OPENAI = "openai"
    """The `conversations.json` of an export of ChatGPT."""
    CHATML = "chatml"
    """Blocks of ChatML, or a JSON list of messages with a role and a content."""


class Skip(StrEnum):
    """Why a message is not taken, besides its role."""

    EMPTY = "empty"
    """It says nothing."""
    NOT_TEXT = "not_text"
    """It is an image, a sound, or something else that cannot be read."""
    OTHER_BRANCH = "other_branch"
    """The conversation went on differently."""
    OTHER_ROLES = "role:other"
    """Its role is one of many that are not known."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it was found."""

    role: str
    text: str
    at: Instant | None
    persona: str | None = None
    conversation: str | None = None


class ImportedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said and what was answered; one of both may be missing."""

    at: Instant
    user: str | None = None
    ai: str | None = None
    persona: str | None = None
    conversation: str | None = None
    """What the source calls the conversation; a session ends where another begins."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of a source in the order of their times, and how many messages were skipped, by reason."""

    format: Format
    turns: tuple[ImportedTurn, ...]
    messages: int
    skipped: dict[str, int]


def parsed(raw: bytes, *, start: Instant, form: Format = Format.AUTO) -> Parsed:
    """The turns in a file. A message without a time comes a second after the one before, the first at `start`."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InvalidRequest(f"byte {problem.start} is not UTF-8; convert the file first") from None
    found = looks_like(text) if form is Format.AUTO else form
    skipped: Counter[str] = Counter()
    match found:
        case Format.OPENAI:
            said = _conversations(_decoded(text, "the file"), skipped)
        case Format.CHATML:
            said = _blocks(text, skipped) if text.lstrip().startswith(_BEGIN) else _listed(text, skipped)
        case _:
            said = _lines(text, skipped)
    turns = paired(said, start)
    return Parsed(format=found, turns=turns, messages=len(said), skipped=dict(sorted(skipped.items())))


def looks_like(text: str) -> Format:
    """The format that a text seems to be in; a JSON document is told apart from lines of JSON by its shape."""
    begin = text.lstrip()
    if begin.startswith(_BEGIN):
        return Format.CHATML
    try:
        whole = msgspec.json.decode(begin)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Format.JSONL
    first = whole[0] if isinstance(whole, list) and whole else whole
    if isinstance(first, dict) and "mapping" in first:
        return Format.OPENAI
    return (
        Format.CHATML if isinstance(whole, list) or (isinstance(first, dict) and "messages" in first) else Format.JSONL
    )


def paired(said: Sequence[Said], start: Instant) -> tuple[ImportedTurn, ...]:
    """Messages as turns: an answer belongs to what the user said right before it in the same conversation."""
    turns: list[ImportedTurn] = []
    before = Instant(start - APART)
    asked: Said | None = None
    for each in said:
        before = Instant(before + APART) if each.at is None else each.at
        where = {"persona": each.persona, "conversation": each.conversation}
        if each.role == "user":
            turns.append(ImportedTurn(at=before, user=each.text, **where))
            asked = each
            continue
        together = asked is not None and (asked.persona, asked.conversation) == (each.persona, each.conversation)
        if together:
            turns[-1] = msgspec.structs.replace(turns[-1], ai=each.text)
        else:
            turns.append(ImportedTurn(at=before, ai=each.text, **where))
        asked = None
    return tuple(sorted(turns, key=lambda turn: turn.at))


# -- lines of JSON


def _lines(text: str, skipped: Counter[str]) -> list[Said]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        told = _object(_decoded(line, where), where)
        unknown = sorted(told.keys() - _LINE)
        if unknown:
            raise InvalidRequest(f"{where} has a field that it does not take: {unknown[0]!r:.40}")
        role = _one(told, "role", "speaker", where)
        said = _one(told, "text", "content", where)
        at = _moment(_either(told, "at", "timestamp", where), where)
        persona, session = _name(told.get("persona"), "persona", where), _name(told.get("session"), "session", where)
        found += _said(role, said, at, where, skipped, persona=persona, conversation=session)
    return found


def _either(told: Mapping[str, Any], one: str, other: str, where: str) -> Any:
    if told.get(one) is not None and told.get(other) is not None:
        raise InvalidRequest(f"{where} has both {one} and {other}; leave one out")
    return told.get(one) if told.get(one) is not None else told.get(other)


def _one(told: Mapping[str, Any], one: str, other: str, where: str) -> Any:
    given = _either(told, one, other, where)
    if given is None:
        raise InvalidRequest(f"{where} has neither {one} nor {other}")
    return given


def _name(given: object, field: str, where: str) -> str | None:
    if given is not None and (not isinstance(given, str) or not 0 < len(given) <= MAX_PERSONA):
        raise InvalidRequest(f"{where}: {field} is text of 1 to {MAX_PERSONA} characters")
    return given


# -- ChatML


def _blocks(text: str, skipped: Counter[str]) -> list[Said]:
    found: list[Said] = []
    at = 0
    while (begin := text.find(_BEGIN, at)) >= 0:
        where = f"line {text.count(chr(10), 0, begin) + 1}"
        _nothing(text, at, begin)
        end = text.find(_END, begin)
        head, newline, said = text[begin + len(_BEGIN) : end if end >= 0 else None].partition("\n")
        if end < 0 or _BEGIN in said:
            raise InvalidRequest(f"{where}: the block that begins there has no {_END}")
        if not newline or not head.strip():
            raise InvalidRequest(f"{where}: {_BEGIN} is followed by a role and a new line")
        found += _said(head.split()[0], said, None, where, skipped)
        at = end + len(_END)
    _nothing(text, at, len(text))
    return found


def _nothing(text: str, begin: int, end: int) -> None:
    outside = text[begin:end]
    if outside.strip():
        line = text.count("\n", 0, begin + len(outside) - len(outside.lstrip())) + 1
        raise InvalidRequest(f"line {line} lies outside of any block of ChatML")


def _listed(text: str, skipped: Counter[str]) -> list[Said]:
    whole = _decoded(text, "the file")
    if isinstance(whole, dict):
        whole = whole.get("messages")
    if not isinstance(whole, list):
        raise InvalidRequest("the file is no list of messages")
    found = []
    for number, each in enumerate(whole):
        where = f"message {number}"
        told = _object(each, where)
        if told.get("content") is None:  # an answer that only calls tools has none
            skipped[Skip.EMPTY] += 1
            continue
        said = _parts(told["content"], where, skipped)
        at = _moment(_either(told, "at", "timestamp", where), where)
        found += _said(_one(told, "role", "speaker", where), said, at, where, skipped)
    return found


# -- an export of ChatGPT


def _conversations(whole: Any, skipped: Counter[str]) -> list[Said]:
    """What was said in all conversations, the one that began first before the others."""
    conversations = whole if isinstance(whole, list) else [whole]
    found: list[tuple[Instant | None, list[Said]]] = []
    for number, each in enumerate(conversations):
        where = f"conversation {number}"
        told = _object(each, where)
        began = _moment(told.get("create_time"), where)
        said: list[Said] = []
        for key, message in _branch(told, where, skipped):
            said += _message(message, f"{where}, message {key!r:.60}", f"{number}", skipped)
        if said and said[0].at is None:
            said[0] = msgspec.structs.replace(said[0], at=began)
        found.append((said[0].at if said else began, said))
    found.sort(key=lambda pair: -1 if pair[0] is None else pair[0])
    return [said for _, conversation in found for said in conversation]


def _branch(told: Mapping[str, Any], where: str, skipped: Counter[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """The messages from the first to the current one; those of other branches are counted."""
    mapping, key = told.get("mapping"), told.get("current_node")
    if not isinstance(mapping, dict) or not isinstance(key, str):
        raise InvalidRequest(f"{where} has no mapping and current_node; is it an export of ChatGPT?")
    found: list[tuple[str, Mapping[str, Any]]] = []
    seen: set[str] = set()
    while key is not None:
        if not isinstance(key, str) or key not in mapping or key in seen:
            raise InvalidRequest(f"{where}: the way back from its current_node breaks off at {key!r:.60}")
        seen.add(key)
        node = _object(mapping[key], f"{where}, node {key!r:.60}")
        if node.get("message") is not None:
            found.append((key, _object(node["message"], f"{where}, message {key!r:.60}")))
        key = node.get("parent")
    others = [each for name, each in mapping.items() if name not in seen]
    skipped[Skip.OTHER_BRANCH] += sum(isinstance(each, dict) and each.get("message") is not None for each in others)
    if not skipped[Skip.OTHER_BRANCH]:
        del skipped[Skip.OTHER_BRANCH]
    return found[::-1]


def _message(message: Mapping[str, Any], where: str, conversation: str, skipped: Counter[str]) -> list[Said]:
    author = _object(message.get("author"), f"{where}: author")
    content = _object(message.get("content"), f"{where}: content")
    at = _moment(message.get("create_time"), where)
    told = content["parts"] if content.get("parts") is not None else content.get("text")
    if told is None:
        skipped[Skip.NOT_TEXT] += 1
        return []
    said = _parts(told, where, skipped)
    return _said(author.get("role"), said, at, where, skipped, conversation=conversation)


# -- what all have in common


def _said(
    role: object,
    text: object,
    at: Instant | None,
    where: str,
    skipped: Counter[str],
    *,
    persona: str | None = None,
    conversation: str | None = None,
) -> list[Said]:
    """The message, or nothing where it is not to be taken; that is counted."""
    if not isinstance(role, str) or not role.strip():
        raise InvalidRequest(f"{where}: a role is text, like user or assistant")
    if not isinstance(text, str):
        raise InvalidRequest(f"{where}: what was said is text, not {type(text).__name__}")
    known = _ROLES.get(role.strip().lower())
    if known is None:
        name = f"role:{role.strip().lower()[:40]}"
        skipped[name if name in skipped or len(skipped) < _MOST_ROLES else Skip.OTHER_ROLES] += 1
        return []
    if not text.strip():
        skipped[Skip.EMPTY] += 1
        return []
    if flaw := flaw_in(text):
        raise InvalidRequest(f"{where}: what was said {flaw}")
    if len(text) > MAX_TEXT:
        raise InvalidRequest(f"{where}: a message has at most {MAX_TEXT:,} characters; split it in the file")
    return [Said(role=known, text=text.strip(), at=at, persona=persona, conversation=conversation)]


def _parts(given: object, where: str, skipped: Counter[str]) -> str:
    """The texts of a content that may have several parts; parts of another sort are counted."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise InvalidRequest(f"{where}: a content is text, or a list of parts")
    texts = []
    for part in given:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped[Skip.NOT_TEXT] += 1
    return "\n".join(each for each in texts if each.strip())


def _moment(given: object, where: str) -> Instant | None:
    """A time as RFC 3339 writes it, or in seconds or milliseconds since 1970; None where none is given."""
    if given is None:
        return None
    found = parse_rfc3339(given) if isinstance(given, str) else None
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        scale = 1_000 if abs(given) >= _MILLISECONDS else 1_000_000
        found = Instant(round(given * scale))
    if found is None or not 0 <= found <= LAST:
        raise InvalidRequest(f"{where}: a time is like 2026-05-04T09:30:00Z, or seconds since 1970")
    return found


def _decoded(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        raise InvalidRequest(f"{where} is not JSON: {problem}") from None


def _object(given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRequest(f"{where} is no JSON object")
    return given


def pages(turns: Sequence[ImportedTurn], size: int, position: int = 0) -> Iterable[tuple[int, Sequence[ImportedTurn]]]:
    """The turns from a position on, page by page, each with its own position."""
    for start in range(position, len(turns), size):
        yield start, turns[start : start + size]
