"""Turns what callers give into HTTP requests, and refuses what would not arrive as it was meant.

Most checks are the server's. Here is only what it could not see: NaN that would become null, a moment
without a time zone, a text taken for a list of segments, a time to live of 0 that would mean none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import msgspec

from recollect_client.errors import (
    InvalidAttributes,
    InvalidBundle,
    InvalidCaller,
    InvalidCapture,
    InvalidCommit,
    InvalidExpiry,
    InvalidFilter,
    InvalidInput,
    InvalidKey,
    InvalidNamespace,
    InvalidNote,
    InvalidQuery,
    InvalidRequest,
    InvalidSetting,
    InvalidValue,
    UnknownTool,
)
from recollect_client.models import DeleteOp, PutOp

READING = frozenset({"memory_search", "memory_brief", "search", "fetch"})
"""The tools that change nothing, so that a call can be repeated."""
_TOOL = re.compile(r"\w{1,100}", re.ASCII)
_WORD = re.compile(r"[!-~]{1,200}")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Justification:
    """Why an administrator reads what may not be theirs, and as whom."""

    why: str
    as_user_id: str | None = None

    @staticmethod
    def checked(why: object, as_user_id: object = None) -> Justification:
        """One that arrives as it was meant: a header has one line."""
        text = _text(why, "a justification", InvalidRequest).strip()
        if not text or any(character < " " or character == "\x7f" for character in text):
            raise InvalidRequest("a justification is one line of text that says why")
        if as_user_id is not None:
            as_user_id = _text(as_user_id, "a user_id", InvalidCaller)
        return Justification(text, as_user_id)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, the same however often it is sent."""

    method: str
    target: str
    """Path and query, below the address of the server."""
    body: bytes | None = None
    idempotency_key: str | None = None
    key_is_ours: bool = False
    """True when the caller gave no idempotency key: then only an earlier attempt can have done it."""
    held: float = 0.0
    """How many seconds the server may hold the answer back."""
    slow: bool = False
    """True when the work grows with the store, so that an ordinary time limit says nothing."""
    repeatable: bool = True
    """False when a second attempt would do it twice."""
    justification: Justification | None = None
    """Why it is asked, where that is to be said."""
    session: str | None = None
    group: str | None = None
    """In which session and for which group of notes an agent calls a tool."""

    @property
    def headers(self) -> dict[bytes, bytes]:
        """What this request adds to the headers of all."""
        headers = {} if self.body is None else {b"Content-Type": b"application/json"}
        if self.idempotency_key is not None:
            headers[b"Idempotency-Key"] = self.idempotency_key.encode()
        if self.justification is not None:
            headers[b"X-Justification"] = self.justification.why.encode()
        if self.session is not None:
            headers[b"Recollect-Session"] = self.session.encode()
        if self.group is not None:
            headers[b"Recollect-Group"] = self.group.encode()
        return headers

    @property
    def as_user_id(self) -> str | None:
        """In whose place it is asked."""
        return None if self.justification is None else self.justification.as_user_id


def read(
    path: str,
    query: Iterable[tuple[str, object]] = (),
    *,
    held: float = 0.0,
    slow: bool = False,
    justified: Justification | None = None,
) -> Call:
    """A question; parameters that are None are left out."""
    as_user = [] if justified is None else [("as_user_id", justified.as_user_id)]
    pairs = [(name, _parameter(value)) for name, value in (*query, *as_user) if value is not None]
    try:
        text = urlencode(pairs, quote_via=quote, safe="")
    except UnicodeEncodeError:
        raise InvalidQuery("text with a lone surrogate is not valid Unicode and cannot be sent") from None
    return Call("GET", f"{path}?{text}" if text else path, held=held, slow=slow, justification=justified)


def ask(
    path: str,
    fields: Mapping[str, object],
    *,
    held: float = 0.0,
    slow: bool = False,
    justified: Justification | None = None,
) -> Call:
    """A question with a body; fields that are None are left out."""
    as_user = {} if justified is None else {"as_user_id": justified.as_user_id}
    return Call("POST", path, _body({**fields, **as_user}), held=held, slow=slow, justification=justified)


def write(
    method: str,
    path: str,
    fields: Mapping[str, object] | None = None,
    *,
    key: str | None = None,
    held: float = 0.0,
    slow: bool = False,
    repeatable: bool = True,
) -> Call:
    """A change, with the caller's idempotency key or a fresh one, so that repeating it is safe."""
    body = None if fields is None else _body(fields)
    ours = key is None
    return Call(method, path, body, str(uuid4()) if ours else _idempotency_key(key), ours, held, slow, repeatable)


def act(
    path: str,
    fields: Mapping[str, object] | None = None,
    *,
    key: str | None = None,
    slow: bool = False,
    repeatable: bool = False,
) -> Call:
    """Something to be done once; only with the caller's key, or where nothing is changed, may it be repeated."""
    body = None if fields is None else _body(fields)
    named = None if key is None else _idempotency_key(key)
    return Call("POST", path, body, named, slow=slow, repeatable=repeatable or named is not None)


def change(method: str, path: str, settings: Mapping[str, float | None]) -> Call:
    """A change of settings by name; None is said, because it takes a change back."""
    if not isinstance(settings, Mapping):
        raise InvalidSetting(f"settings are an object of names and numbers, not {type(settings).__name__}")
    _exact(dict(settings), "settings", InvalidSetting)
    return Call(method, path, _encode(dict(settings)), str(uuid4()), key_is_ours=True)


def force_delete(item_id: UUID, justification: str) -> Call:
    """The deletion of a memory by its id, and why."""
    if not isinstance(item_id, UUID):
        raise InvalidQuery(f"an id is a UUID, not {type(item_id).__name__}")
    why = Justification.checked(justification)
    # Not repeated when the answer was lost: the memory would then be missing, as if there had been none.
    return Call("DELETE", f"/admin/v1/memories/{item_id}", repeatable=False, justification=why)


def tool(name: str, arguments: Mapping[str, Any], session: str | None, group: str) -> Call:
    """A call of an agent's tool; what changes something is not repeated, because it would be done twice."""
    if not isinstance(arguments, Mapping):
        raise InvalidNote(f"the arguments of a tool are an object, not {type(arguments).__name__}")
    body = _encode(_exact(dict(arguments), "arguments", InvalidNote) or {})
    if not isinstance(name, str) or _TOOL.fullmatch(name) is None:
        raise UnknownTool("there is no such tool; list_tools tells which there are")
    path = f"/v1/tools/{name}"
    return Call(
        "POST", path, body, repeatable=name in READING, session=_word(session, "session"), group=_word(group, "group")
    )


def brief(group: str) -> Call:
    """The question for what an agent should know at the beginning of a session."""
    return Call("GET", "/v1/brief", group=_word(group, "group"))


def _word(given: str | None, what: str) -> str | None:
    """A name that a header can carry as it is."""
    if given is not None and (not isinstance(given, str) or _WORD.fullmatch(given) is None):
        raise InvalidNote(
            f"a {what} is named by 1 to 200 printable ASCII characters without spaces", details={"field": what}
        )
    return given


def events(
    namespace_prefix: Sequence[str],
    after: str | None,
    kinds: Iterable[str] | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    wait: float,
    justified: Justification | None = None,
) -> Call:
    """The question for a page of the log."""
    held = seconds_held(wait)
    query = [
        *repeated("ns", segments(namespace_prefix)),
        *repeated("kinds", kinds_asked(kinds)),
        ("after", moment(since)),
        ("before", moment(until)),
        ("after_cursor", after),
        ("limit", limit),
        ("wait", held or None),
    ]
    return read("/v1/memories/events", query, held=held, justified=justified)


# -- the parts of a request


def put_fields(operation: PutOp) -> dict[str, object]:
    """The fields of one `put`."""
    return {
        "namespace": segments(operation.namespace),
        "key": operation.key,
        "value": _exact(operation.value, "value", InvalidValue) or msgspec.Raw(b"null"),
        "attributes": _exact(operation.attributes, "attributes", InvalidAttributes),
        "ttl_seconds": _ttl(operation.ttl),
        "expires_at": moment(operation.expires_at),
        "index_fields": fields_asked(operation.index_fields),
        "expected_revision": operation.expected_revision,
    }


def fields_asked(fields: Sequence[str] | None) -> list[str] | None:
    """The fields that a search by text will look at; None stands for every text, an empty list for none."""
    if isinstance(fields, str):
        raise InvalidRequest("index_fields are a list of names of fields")
    return None if fields is None else list(fields)


def delete_fields(operation: DeleteOp) -> dict[str, object]:
    """The fields of one `delete`."""
    return {
        "namespace": segments(operation.namespace),
        "key": operation.key,
        "expected_revision": operation.expected_revision,
    }


def batch_fields(operations: Iterable[PutOp | DeleteOp]) -> list[msgspec.Raw]:
    """The operations of a batch, each checked and encoded."""
    if not isinstance(operations, Iterable):
        raise InvalidCommit(f"a batch is a list of operations, not {type(operations).__name__}")
    return [msgspec.Raw(_body(_operation(operation))) for operation in operations]


def _operation(operation: object) -> dict[str, object]:
    if isinstance(operation, PutOp):
        return {"op": "put", **put_fields(operation)}
    if isinstance(operation, DeleteOp):
        return {"op": "delete", **delete_fields(operation)}
    raise InvalidCommit(f"a batch takes PutOp and DeleteOp, not {type(operation).__name__}")


def address(namespace: Sequence[str], key: str) -> list[tuple[str, object]]:
    """The parameters that name a key."""
    return [*repeated("ns", segments(namespace)), ("key", _text(key, "a key", InvalidKey))]


def repeated(name: str, values: Iterable[str]) -> list[tuple[str, object]]:
    """One parameter, once for each value."""
    return [(name, value) for value in values]


def segments(namespace: Iterable[str]) -> list[str]:
    """The segments of a namespace; one text is refused, since it would be taken apart into letters."""
    if isinstance(namespace, str | bytes):
        raise InvalidNamespace(f"a namespace is a list of segments; write ({namespace!r},) instead of {namespace!r}")
    if isinstance(namespace, Set | Mapping) or not isinstance(namespace, Iterable):
        raise InvalidNamespace(f"a namespace is a list of segments in their order, not {type(namespace).__name__}")
    return [_text(segment, "a segment of a namespace", InvalidNamespace) for segment in namespace]


def names(given: Iterable[str] | None, what: str, error: type[InvalidInput]) -> list[str] | None:
    """A list of names such as roles or kinds."""
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise error(f"{what} are a list of names")
    return [_text(name, f"one of the {what}", error) for name in given]


def kinds_asked(kinds: Iterable[str] | None) -> list[str]:
    """The kinds of events asked for; none at all would be taken for all of them."""
    asked = names(kinds, "kinds", InvalidQuery)
    if asked is not None and not asked:
        raise InvalidQuery("an empty list of kinds matches nothing; leave it out for all kinds")
    return asked or []


def roles_given(roles: Iterable[str] | None, what: str) -> list[str] | None:
    """Roles or scopes of a new API key."""
    return names(roles, what, InvalidCaller)


def filter_asked(given: Mapping[str, Any] | None) -> msgspec.Raw | None:
    """The filter of a search."""
    return _exact(given, "filter", InvalidFilter)


def entries_given(entries: Sequence[Any], what: str = "entries") -> msgspec.Raw | None:
    """A list of anything, such as entries of an export; one text is refused, since it would be taken apart."""
    if isinstance(entries, str | bytes):
        raise InvalidRequest(f"{what} is a list, not text", details={"field": what})
    return _exact(list(entries), what, InvalidRequest)


def captures_given(captures: Sequence[Mapping[str, Any]]) -> msgspec.Raw | None:
    """What was said and done; one thing alone is refused, since it would be taken apart."""
    if isinstance(captures, str | bytes | Mapping) or not isinstance(captures, Sequence):
        raise InvalidCapture("captures are a list of objects")
    plain = [dict(each) if isinstance(each, Mapping) else each for each in captures]
    return _exact(plain, "captures", InvalidCapture)


def document(given: Mapping[str, Any], what: str, error: type[InvalidInput]) -> bytes:
    """An object that is a body by itself."""
    if not isinstance(given, Mapping):
        raise error(f"a {what} is an object, not {type(given).__name__}")
    return bytes(_exact(dict(given), what, error) or b"{}")


def claims_given(claims: Mapping[str, Any] | None) -> msgspec.Raw | None:
    """The claims that a caller is supposed to have."""
    return _exact(claims, "claims", InvalidCaller)


def value_given(value: object) -> msgspec.Raw | None:
    """The value that is, or is supposed to be, written."""
    return _exact(value, "value", InvalidValue)


def modules_given(modules: Mapping[str, str]) -> msgspec.Raw | None:
    """The modules of a policy, by name."""
    if not isinstance(modules, Mapping):
        raise InvalidBundle(f"a bundle is an object of modules and their texts, not {type(modules).__name__}")
    return _exact(dict(modules), "bundle", InvalidBundle)


def switch(name: str, on: bool) -> list[tuple[str, object]]:
    """A parameter that is there or not."""
    if not isinstance(on, bool):
        raise InvalidQuery(f"{name} is true or false, not {on!r}")
    return [(name, "true")] if on else []


def moment(given: datetime | None) -> str | None:
    """A moment as RFC 3339 in UTC with microseconds."""
    if given is None:
        return None
    if not isinstance(given, datetime):
        raise InvalidExpiry(f"a moment is a datetime with a time zone, not {type(given).__name__}")
    if given.utcoffset() is None:
        raise InvalidExpiry(f"{given.isoformat()} has no time zone; use an aware datetime, e.g. datetime.now(UTC)")
    try:
        return given.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:
        raise InvalidExpiry("the moment lies outside the years that can be written in UTC") from None


def seconds_held(wait: float) -> float:
    """How many seconds the server may hold an answer back."""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= 60:
        raise InvalidQuery(f"wait is a number of seconds from 0 to 60, not {wait!r}")
    return wait


def seconds_indexed(wait: str | None) -> float:
    """How many seconds the server may hold the answer to a write back."""
    if wait not in (None, "indexed"):
        raise InvalidRequest(f"wait is 'indexed', or is left out, not {wait!r}")
    return 0.0 if wait is None else 60.0


def queries_asked(query: str | Sequence[str] | None) -> str | list[str] | None:
    """What a search looks for: nothing in particular, one text, or several."""
    if query is None or isinstance(query, str):
        return None if query is None else _text(query, "a query", InvalidQuery)
    if not isinstance(query, Sequence) or isinstance(query, bytes):
        raise InvalidQuery(f"a query is a text or a list of texts, not {type(query).__name__}")
    return [_text(each, "a query", InvalidQuery) for each in query]


def in_path(identity: UUID | str) -> str:
    """An identity as one segment of a path, whatever it contains."""
    text = _text(str(identity) if isinstance(identity, UUID) else identity, "an id", InvalidQuery)
    if text in ("", ".", ".."):
        raise InvalidQuery(f"{text!r} is not an id")
    return quote(text, safe="")


# -- inner


def _body(fields: Mapping[str, object]) -> bytes:
    given = {name: value for name, value in fields.items() if value is not None}
    checked = {name: value for name, value in given.items() if not _is_encoded(value)}
    _exact(checked, "request", InvalidRequest)
    return _encode(given)


def _is_encoded(value: object) -> bool:
    return isinstance(value, msgspec.Raw) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], msgspec.Raw)
    )


def _exact(value: object, what: str, error: type[InvalidInput]) -> msgspec.Raw | None:
    """The value as JSON, refused when it would not be read back exactly as it is."""
    if value is None:
        return None
    try:
        encoded = _encode(value)
        exact = _decode(encoded) == value
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        exact, encoded = False, b""
    if not exact:
        raise error(f"the {what} cannot be written as JSON and read back as it is")
    return msgspec.Raw(encoded)


def _text(value: object, what: str, error: type[InvalidInput]) -> str:
    if not isinstance(value, str):
        raise error(f"{what} is text, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise error(f"{what} contains a lone surrogate, which is not valid Unicode text") from None
    return value


def _ttl(ttl: float | timedelta | None) -> float | None:
    if ttl is None:
        return None
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidExpiry(f"a time to live is a number of seconds, not {type(ttl).__name__}")
    if not 0 < seconds <= 1e12:
        raise InvalidExpiry(f"a time to live must be above 0 and at most 1e12 seconds, not {seconds!r}")
    return seconds


def _idempotency_key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= 255 or not (key.isascii() and key.isprintable()):
        raise InvalidCommit("an idempotency key is text of 1 to 255 printable ASCII characters")
    if key != key.strip():
        raise InvalidCommit("an idempotency key does not begin or end with a space, which HTTP would cut off")
    return key


def _parameter(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidQuery(f"{value!r} cannot be a parameter; give text or a number")
    return str(value)
