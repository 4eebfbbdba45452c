"""Turns HTTP answers into values, or into the error that the server meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from uuid import UUID

import httpx
import msgspec

from recollect_client import errors
from recollect_client._requests import Call
from recollect_client._shapes import Batch
from recollect_client.errors import BadAnswer, ConnectionFailed, RecollectError
from recollect_client.models import Caller, Written

TRANSIENT = frozenset({429, 502, 503, 504})
"""Statuses that say the same request may succeed later, whoever gave them."""

_CLASSES = {cls.code: cls for cls in errors.all_errors()}
_BY_STATUS: dict[int, type[RecollectError]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    408: errors.RequestTimeout,
    409: errors.Conflict,
    410: errors.CursorExpired,
    413: errors.RequestTooLarge,
    415: errors.UnsupportedMediaType,
    429: errors.RateLimited,
    500: errors.Internal,
    501: errors.Unsupported,
    504: errors.DeadlineExceeded,
}
Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Envelope(msgspec.Struct):
    error: str
    code: str
    details: dict[str, Any] = {}


def checked(answer: Answer) -> Answer:
    """The answer itself when it is a success; its error is raised otherwise."""
    if 200 <= answer.status < 300:
        return answer
    raise error_of(answer, datetime.now(UTC))


def decoded(answer: Answer, shape: type[Shape]) -> Shape:
    """The value of a successful answer; fields that a newer server adds are left aside."""
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise bad_answer(answer, f"the answer cannot be read ({problem})") from None


def one_written(answer: Answer, call: Call) -> Written:
    """The confirmation of a write."""
    return _marked(decoded(answer, Written), answer, call)


def one_deleted(answer: Answer, item_id: UUID) -> Written:
    """The confirmation of a deletion by id; of what it was, only the id is known where nothing more is told."""
    if answer.body:
        return decoded(answer, Written)
    return Written(kind="delete", namespace=(), key="", revision=0, id=item_id)


def seen_as(who: Caller, user_id: str) -> Caller:
    """A user in whose place an administrator reads: without any roles."""
    return msgspec.structs.replace(who, user_id=user_id, roles=frozenset(), scopes=frozenset({"read"}))


def all_written(answer: Answer, call: Call, count: int) -> list[Written]:
    """The confirmations of a batch, one for each operation."""
    results = decoded(answer, Batch).results
    if len(results) != count:
        raise bad_answer(answer, f"{len(results)} results came for {count} operations")
    return [_marked(written, answer, call) for written in results]


def _marked(written: Written, answer: Answer, call: Call) -> Written:
    replayed = answer.headers.get("idempotency-replayed") == "true" and not call.key_is_ours
    return msgspec.structs.replace(written, replayed=True) if replayed else written


def error_of(answer: Answer, now: datetime) -> RecollectError:
    """The error that an unsuccessful answer tells of."""
    if 300 <= answer.status < 400:
        return bad_answer(answer, "the server points elsewhere, and redirects are not followed; correct the URL")
    try:
        told = msgspec.json.decode(answer.body, type=_Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return bad_answer(
            answer, "the answer is not one of Recollect; is there a proxy in between, or another program?"
        )
    error = _CLASSES.get(told.code, _nearest(answer.status))(
        told.error,
        code=told.code,
        details=told.details,
        status=answer.status,
        request_id=answer.headers.get("x-request-id"),
        retry_after=_retry_after(answer, now),
    )
    error.retriable = error.retriable or (answer.status in TRANSIENT and not isinstance(error, errors.BudgetSpent))
    return error


def connection_failed(error: Exception, call: Call, url: str) -> RecollectError:
    """The error for a request that got no whole answer."""
    if isinstance(error, httpx.DecodingError):
        return BadAnswer("the answer is compressed in a way that cannot be read")
    why = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        why = "no answer in time" if not isinstance(error, httpx.ConnectTimeout) else "no connection in time"
    failed = ConnectionFailed(f"{url}: {why}")
    failed.sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    if call.idempotency_key is not None and call.repeatable:
        failed.details["idempotency_key"] = call.idempotency_key
    return failed


def check_download(answer: Answer) -> None:
    """Refuse to keep what is not a file."""
    if not answer.headers.get("content-type", "").startswith("application/octet-stream"):
        raise bad_answer(answer, "the answer is not a file of Recollect; is there a proxy in between?")


def length_of(headers: Mapping[str, str]) -> int:
    """How many bytes are to come; 0 when that is not known."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and "content-encoding" not in headers else 0


def bad_answer(answer: Answer, why: str) -> BadAnswer:
    """The error for an answer that makes no sense; nothing of its contents is repeated."""
    error = BadAnswer(
        f"HTTP {answer.status}: {why}",
        details={"content_type": answer.headers.get("content-type", "")},
        status=answer.status,
        request_id=answer.headers.get("x-request-id"),
        retry_after=_retry_after(answer, datetime.now(UTC)),
    )
    error.retriable = answer.status in TRANSIENT
    return error


def _nearest(status: int) -> type[RecollectError]:
    return _BY_STATUS.get(status, errors.InvalidRequest if status < 500 else errors.ServiceTrouble)


def _retry_after(answer: Answer, now: datetime) -> float | None:
    """The seconds that the header asks to wait, given as a number or as a date."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment - now).total_seconds()) if moment.tzinfo else None
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
