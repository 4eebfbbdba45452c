"""Requests on the wire: their shapes, with unknown fields refused, and how they become the use-cases' arguments."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from recollect.domain.bundles import Package
from recollect.domain.errors import InvalidExpiry, InvalidNamespace, InvalidRequest
from recollect.domain.instants import datetime_of, parse_rfc3339
from recollect.domain.queries import Archived, Order
from recollect.domain.ranking import Mode
from recollect.domain.text import shown
from recollect.domain.values import decode_json
from recollect.service.views import DeleteOp, PutOp

MAX_PARAMETERS = 128
MAX_SEARCH = 100
MAX_EVENTS = 200
Shape = TypeVar("Shape")
_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


class Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A body in which nothing unknown is overlooked."""


class Putting(Strict):
    """A value to remember under a key."""

    namespace: list[str]
    key: str
    value: Any
    attributes: Any = None
    ttl_seconds: int | float | None = None
    expires_at: str | None = None
    index_fields: list[str] | bool | None = None
    index_disabled: bool = False
    expected_revision: int | None = None


class PutBody(Putting):
    """Remember a value under a key, and wait, if so wished, until queries find it."""

    wait: str | None = None


class PutStep(Putting, tag_field="op", tag="put"):
    """Remember a value under a key, as one step of a batch."""


class DeleteStep(Strict, tag_field="op", tag="delete"):
    """Delete a key, as one step of a batch."""

    namespace: list[str]
    key: str
    expected_revision: int | None = None


class BatchBody(Strict):
    """Up to 1,000 operations that happen together or not at all."""

    operations: list[PutStep | DeleteStep]
    wait: str | None = None


class PatchBody(Strict):
    """Archive an item, or bring it back."""

    namespace: list[str]
    key: str
    archived: bool
    expected_revision: int | None = None


class SearchBody(Strict):
    """Which items to find."""

    namespace_prefix: list[str]
    query: str | list[str] | None = None
    mode: str = Mode.HYBRID
    min_score: int | float | None = None
    explain: bool = False
    wait: int | float | None = None
    filter: dict[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    order: str = Order.NEWEST
    cursor: str | None = None
    as_of: str | None = None
    archived: str = Archived.EXCLUDE
    include_usage: bool = False
    as_user_id: str | None = None


class VerifyBody(Strict):
    """With which head the log should still agree."""

    head: str | None = None


class EraseBody(Strict):
    """Whose memories to make unreadable for good."""

    subject: str


class SweepBody(Strict):
    """How much to do in one go."""

    batch: int = 100


class TokenBody(Strict):
    """An API key to make."""

    user_id: str
    client_id: str = ""
    name: str = ""
    roles: list[str] = []
    scopes: list[str] | None = None
    expires_at: str | None = None
    tenant: str | None = None


class ImportEntry(Strict):
    """One entry of an export."""

    sequence: int
    kind: str
    namespace: list[str]
    key: str
    at: str
    revision: int | None = None
    value: Any = None
    attributes: Any = None
    policy_attributes: dict[str, Any] | None = None
    expires_at: str | None = None
    archived: bool = False
    index_fields: list[str] | None = None


class ImportBody(Strict):
    """A page of an export to take over."""

    source: str
    entries: list[ImportEntry]


class BundleBody(Strict):
    """The texts of a policy: modules by name, or in short the text of each package."""

    modules: Any = None
    authz: str | None = None
    attributes: str | None = None
    filter: str | None = None
    review: str | None = None


class PushBody(BundleBody):
    """A policy to put in force."""

    note: str = ""
    service: bool = False


class RollbackBody(Strict):
    """To which version of the policy to go back."""

    number: int | None = None
    service: bool = False


class ExplainBody(Strict):
    """What somebody might do, and by which policy it is to be decided."""

    action: str
    namespace: list[str]
    user_id: str
    key: str = ""
    client_id: str = ""
    roles: list[str] = []
    claims: dict[str, Any] | None = None
    value: dict[str, Any] | None = None
    filter: dict[str, Any] | None = None
    modules: Any = None


class Nothing(Strict):
    """A body that says nothing."""


def parse_body(body: bytes, shape: type[Shape]) -> Shape:
    """The body as this shape, or a message that says where it is not."""
    said = decode_json(body, "body", InvalidRequest)
    try:
        return msgspec.convert(said, shape)
    except msgspec.ValidationError as problem:
        raise InvalidRequest(f"the body is not what the contract says: {problem}") from None


def put_of(body: Putting) -> PutOp:
    """The operation that a body asks for."""
    return PutOp(
        body.namespace,
        body.key,
        body.value,
        body.attributes,
        ttl=body.ttl_seconds or None,
        expires_at=moment(body.expires_at, "expires_at"),
        expected_revision=body.expected_revision,
        index_fields=_fields(body),
    )


def step_of(step: PutStep | DeleteStep) -> PutOp | DeleteOp:
    """The operation that a step of a batch asks for."""
    if isinstance(step, PutStep):
        return put_of(step)
    return DeleteOp(step.namespace, step.key, step.expected_revision)


def entry_of(entry: ImportEntry) -> dict[str, Any]:
    """An entry of an export as the use-case takes it."""
    return {name: getattr(entry, name) for name in ImportEntry.__struct_fields__}


def modules_of(body: BundleBody) -> Any:
    """The modules of a policy; in the short form, each package is a module of its name."""
    given = {f"{name}.rego": getattr(body, name) for name in Package}
    texts = {name: text for name, text in given.items() if text is not None}
    if body.modules is not None and texts:
        raise InvalidRequest("give modules, or the texts of packages, not both")
    return texts if body.modules is None else body.modules


def _fields(body: Putting) -> list[str] | None:
    """The fields to be indexed; false, and the older spelling `index_disabled`, both mean none."""
    wanted = body.index_fields
    if wanted is True:
        raise InvalidRequest("index_fields is a list of fields, or false")
    if wanted and body.index_disabled:
        raise InvalidRequest("give index_fields, or disable the index, not both")
    return [] if wanted is False or body.index_disabled else wanted


def moment(text: str | None, what: str) -> datetime | None:
    """The moment that an RFC 3339 text names."""
    if text is None:
        return None
    found = parse_rfc3339(text)
    if found is None:
        raise InvalidExpiry(f"{what} is a moment like 2026-01-01T00:00:00Z, not {shown(text)}")
    try:
        return datetime_of(found)
    except OverflowError:
        raise InvalidExpiry(f"{what} lies outside the years 1970 to 9999") from None


class Parameters:
    """The query of a URL, read strictly: what is not asked for by name at the end is refused."""

    def __init__(self, query: bytes) -> None:
        self._given: dict[str, list[str]] = {}
        if not query:
            return
        pairs = query.split(b"&")
        if len(pairs) > MAX_PARAMETERS:
            raise InvalidRequest(f"there are {len(pairs)} parameters; at most {MAX_PARAMETERS} are read")
        plain = b"%" not in query and b"+" not in query and query.isascii()
        for pair in pairs:
            name, _, value = pair.decode().partition("=") if plain else map(_text, pair.partition(b"="))
            self._given.setdefault(name, []).append(value)

    def many(self, name: str) -> list[str]:
        """Every value of a repeated parameter, in order."""
        return self._given.pop(name, [])

    def one(self, name: str) -> str | None:
        """The value of a parameter that may be given once."""
        given = self._given.pop(name, None)
        if given is None:
            return None
        if len(given) > 1:
            raise InvalidRequest(f"the parameter {name!r} is given {len(given)} times; give it once")
        return given[0]

    def choice(self, name: str, default: str) -> str:
        """The value of a parameter that has a default; an empty value is one too, and no choice."""
        given = self.one(name)
        return default if given is None else given

    def required(self, name: str) -> str:
        """The value of a parameter that must be given."""
        given = self.one(name)
        if given is None:
            raise InvalidRequest(f"the parameter {name!r} is missing")
        return given

    def namespace(self) -> list[str]:
        """The segments of a namespace that must be given."""
        segments = self.many("ns")
        if not segments:
            raise InvalidNamespace("the parameter 'ns' is missing; repeat it once per segment of the namespace")
        return segments

    def whole(self, name: str, default: int | None = None) -> int | None:
        """A whole number."""
        given = self.one(name)
        if given is None:
            return default
        if not given.isascii() or not given.removeprefix("-").isdigit() or len(given) > 19:
            raise InvalidRequest(f"the parameter {name!r} is a whole number, not {shown(given)}")
        return int(given)

    def number(self, name: str, default: float) -> float:
        """A number, with or without a fraction."""
        given = self.one(name)
        if given is None:
            return default
        if not _NUMBER.fullmatch(given):
            raise InvalidRequest(f"the parameter {name!r} is a number, not {shown(given)}")
        return float(given)

    def flag(self, name: str) -> bool:
        """True or false; false when it is not given."""
        given = self.one(name)
        if given not in (None, "true", "false"):
            raise InvalidRequest(f"the parameter {name!r} is true or false, not {shown(given)}")
        return given == "true"

    def moment(self, name: str) -> datetime | None:
        """A moment in time."""
        return moment(self.one(name), name)

    def done(self) -> None:
        """Refuse what nobody asked for."""
        if self._given:
            raise InvalidRequest(f"there is no parameter {shown(next(iter(self._given)))} here")


def _text(encoded: bytes) -> str:
    if _STRAY_PERCENT.search(encoded):
        raise InvalidRequest("a parameter has a % that begins no code; write %25 for a percent sign")
    try:
        return unquote_to_bytes(encoded.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("a parameter is not UTF-8") from None
