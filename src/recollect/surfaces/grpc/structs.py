"""Values between JSON and protobuf: a Struct where it holds them exactly, and a refusal where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from recollect.domain.errors import InvalidExpiry, InvalidInput, InvalidRequest, InvalidValue
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.values import decode_value, stored_value

SAFE = (1 << 53) - 1
"""The largest whole number that no rounding to a double can be mistaken for."""
_NUMBERS, _LISTS = (int, float), (list, tuple)


def value_of(message: Any, name: str, error: type[InvalidInput] = InvalidValue) -> dict[str, Any] | None:
    """The object that a field has as a Struct, or its twin as JSON text; None when neither is given."""
    twin = f"{name}_json"
    if message.HasField(twin):
        if message.HasField(name):
            raise InvalidRequest(f"give {name}, or {twin}, not both")
        return decode_value(getattr(message, twin), name, error)
    return _object(getattr(message, name), name, error) if message.HasField(name) else None


def tell_value(message: Any, name: str, stored: bytes | None, *, as_json: bool) -> None:
    """Put a stored object into a field, or as it is into its twin; refused where the field cannot hold it."""
    if stored is None:
        return
    if as_json:
        setattr(message, f"{name}_json", stored)
    else:
        fill(getattr(message, name), stored_value(stored), name)


def fill(struct: Struct, told: Mapping[str, Any], what: str) -> None:
    """Put an object into a Struct."""
    struct.SetInParent()
    for name, member in told.items():
        _fill(struct.fields[name], member, what)


def moment_of(message: Any, name: str) -> datetime | None:
    """The moment that an optional Timestamp names, in whole microseconds."""
    if not message.HasField(name):
        return None
    given: Timestamp = getattr(message, name)
    try:
        if not 0 <= given.nanos < 1_000_000_000 or given.seconds < 0:
            raise OverflowError
        return datetime_of(Instant(given.seconds * 1_000_000 + given.nanos // 1_000))
    except (OverflowError, ValueError):
        raise InvalidExpiry(f"{name} lies outside the years 1970 to 9999") from None


def tell_moment(timestamp: Timestamp, moment: datetime) -> None:
    """Put a moment into a Timestamp."""
    timestamp.FromDatetime(moment.astimezone(UTC))


def _object(struct: Struct, what: str, error: type[InvalidInput]) -> dict[str, Any]:
    return {name: _member(member, what, error) for name, member in struct.fields.items()}


def _member(given: Value, what: str, error: type[InvalidInput]) -> Any:
    kind = given.WhichOneof("kind")
    if kind == "number_value":
        return _number(given.number_value, what, error)
    if kind == "struct_value":
        return _object(given.struct_value, what, error)
    if kind == "list_value":
        return [_member(each, what, error) for each in given.list_value.values]
    if kind is None:
        raise error(f"the {what} has a member that says nothing; use null_value for null")
    return None if kind == "null_value" else getattr(given, kind)


def _number(given: float, what: str, error: type[InvalidInput]) -> int | float:
    """A number as JSON would have it: a whole one is an integer, unless it may have been rounded on its way."""
    if not given.is_integer() or str(given) == "-0.0":
        return given
    if abs(given) > SAFE:
        raise error(
            f"the {what} has a whole number beyond 2^53 - 1, which may have been rounded to fit into a Struct; "
            f"send {what}_json, which has it as it is"
        )
    return int(given)


def _fill(target: Value, member: Any, what: str) -> None:
    if isinstance(member, str):
        target.string_value = member
    elif isinstance(member, bool):
        target.bool_value = member
    elif isinstance(member, _NUMBERS):
        if isinstance(member, int) and abs(member) > SAFE:
            raise InvalidRequest(
                f"the {what} has a whole number beyond 2^53 - 1, which a Struct cannot hold: ask with json_values",
                ask="json_values",
            )
        target.number_value = member
    elif member is None:
        target.null_value = 0
    elif isinstance(member, _LISTS) or not isinstance(member, Mapping):
        target.list_value.SetInParent()
        for each in member:
            _fill(target.list_value.values.add(), each, what)
    else:
        fill(target.struct_value, member, what)
