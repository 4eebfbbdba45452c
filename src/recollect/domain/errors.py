"""Every error Recollect raises on purpose, in one tree.

    RecollectError
    ├── InvalidInput                 the request can never succeed as it stands
    │   ├── InvalidTenant
    │   ├── InvalidNamespace
    │   ├── InvalidKey
    │   ├── InvalidValue
    │   ├── InvalidAttributes
    │   ├── InvalidFilter
    │   ├── InvalidExpiry
    │   ├── InvalidQuery
    │   ├── InvalidCursor
    │   ├── InvalidCommit
    │   ├── InvalidSetting
    │   ├── InvalidCaller
    │   ├── InvalidBundle
    │   ├── InvalidCapture
    │   ├── InvalidNote
    │   │   └── UnknownTool
    │   └── InvalidRequest
    │       ├── RequestTooLarge
    │       ├── RequestTimeout
    │       ├── UnsupportedMediaType
    │       └── MethodNotAllowed
    ├── AccessRefused                this caller may not do that
    │   ├── Unauthenticated
    │   └── Forbidden
    ├── NotFound                     there is no such thing, or none that this caller may know of
    ├── Conflict                     somebody else was first
    │   ├── RevisionConflict
    │   ├── Contention
    │   ├── IdempotencyMismatch
    │   ├── LeaseLost
    │   ├── ChainRefused
    │   ├── ReviewRefused
    │   └── EntityRefused
    ├── BudgetSpent                  a session did all that it may do
    ├── CursorExpired                the log no longer reaches back that far
    ├── KeyTrouble                   a value cannot be sealed or opened
    │   ├── MasterKeyMissing
    │   ├── MasterKeyMismatch
    │   ├── KeyStoreMissing
    │   ├── KeyErased
    │   └── SealBroken
    ├── StoreTrouble                 the engine underneath failed
    │   ├── StoreBusy
    │   ├── StoreFull
    │   ├── StoreUnavailable
    │   ├── OutcomeUnknown
    │   ├── StoreCorrupt
    │   ├── StoreClosed
    │   ├── NotAStore
    │   ├── StoreIncomplete
    │   ├── SchemaTooNew
    │   └── EngineTooOld
    ├── ServiceTrouble               the service cannot answer now
    │   ├── RateLimited
    │   ├── DeadlineExceeded
    │   ├── ShuttingDown
    │   ├── PolicyTrouble
    │   ├── EmbedderTrouble
    │   │   └── TextRefused
    │   ├── VectorsUnavailable
    │   └── Internal
    └── Unsupported                  this backend says no to that
        └── NotAvailable

The docstring of each class is the advice that a user is shown. `code` is public: added, never renamed.
"""

from __future__ import annotations

import inspect
from typing import ClassVar


class RecollectError(Exception):
    """Something went wrong; the message says what, and the more exact class says what to do."""

    code: ClassVar[str] = "error"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str, *, said: str = "", **details: object) -> None:
        self.message = f"{message} ({said})" if said else message
        super().__init__(self.message)
        self.told = message  # what callers of a service are told: not what an engine said, which may name hosts
        self.details = details

    @classmethod
    def advice(cls) -> str:
        """What to do about it, for people."""
        return " ".join(inspect.cleandoc(cls.__doc__ or "").split())


class InvalidInput(RecollectError):
    """Change the request: it can never succeed as it stands."""

    code = "invalid_input"


class InvalidTenant(InvalidInput):
    """Use a tenant name of 1 to 128 ASCII letters, digits, `-`, `_`, `.`, `@` or `:`."""

    code = "invalid_tenant"


class InvalidNamespace(InvalidInput):
    """Give a list of non-empty text segments, no deeper than the limit, without NUL or lone surrogates."""

    code = "invalid_namespace"


class InvalidKey(InvalidInput):
    """Give a non-empty text key of at most 1,024 bytes in UTF-8, without NUL or lone surrogates."""

    code = "invalid_key"


class InvalidValue(InvalidInput):
    """Give a JSON object of at most 1 MiB and 32 levels, without NaN, NUL, lone surrogates or duplicate keys."""

    code = "invalid_value"


class InvalidAttributes(InvalidInput):
    """Policy attributes are flat: plain names, each with a scalar or a list of scalars."""

    code = "invalid_attributes"


class InvalidFilter(InvalidInput):
    """Use the documented operators only, on plain attribute names, with values of the right type."""

    code = "invalid_filter"


class InvalidExpiry(InvalidInput):
    """Give a time to live above zero, or a moment in time with a time zone."""

    code = "invalid_expiry"


class InvalidQuery(InvalidInput):
    """Keep limits, offsets, depths and orders within the documented ranges."""

    code = "invalid_query"


class InvalidCursor(InvalidInput):
    """Pass a cursor back exactly as it was given, with the same query; or start again without one."""

    code = "invalid_cursor"


class InvalidCommit(InvalidInput):
    """A commit needs at least one operation and at most 1,000, and a usable idempotency key if any."""

    code = "invalid_commit"


class InvalidSetting(InvalidInput):
    """Correct the setting named in the message; the reference lists every setting and its range."""

    code = "invalid_setting"


class InvalidCaller(InvalidInput):
    """Give a user, a client and roles as short plain text, and scopes out of read, write, delete and admin."""

    code = "invalid_caller"


class InvalidBundle(InvalidInput):
    """Correct what the message and the details name: the policy is still the one before."""

    code = "invalid_bundle"


class InvalidCapture(InvalidInput):
    """Say what was said or done, by whom, and nothing that the service decides itself; the message names the field."""

    code = "invalid_capture"


class InvalidNote(InvalidInput):
    """A tool was called with something that it does not take: see its arguments."""

    code = "invalid_note"


class UnknownTool(InvalidNote):
    """There is no such tool: ask for the list of tools."""

    code = "unknown_tool"


class InvalidRequest(InvalidInput):
    """Send what the contract says: its fields and parameters, of the right types, and no others."""

    code = "invalid_request"


class RequestTooLarge(InvalidRequest):
    """Send less at once: split the batch, or keep large contents elsewhere and remember where."""

    code = "request_too_large"


class RequestTimeout(InvalidRequest):
    """The request did not arrive in time: send it again, whole."""

    code = "request_timeout"
    retriable = True


class UnsupportedMediaType(InvalidRequest):
    """Send JSON in UTF-8, with the header `Content-Type: application/json` and no content encoding."""

    code = "unsupported_media_type"


class MethodNotAllowed(InvalidRequest):
    """Use one of the methods that the header `Allow` names."""

    code = "method_not_allowed"


class AccessRefused(RecollectError):
    """This caller may not do that."""

    code = "access_refused"


class Unauthenticated(AccessRefused):
    """Send a valid API key or token: `Authorization: Bearer rk_…`. Make a new one with `recollect tokens create`."""

    code = "unauthenticated"


class Forbidden(AccessRefused):
    """Ask for something the caller's policy, roles and scopes allow, or use another credential."""

    code = "forbidden"


class NotFound(RecollectError):
    """Check the namespace and the key; it may have been deleted, archived or expired."""

    code = "not_found"


class Conflict(RecollectError):
    """Somebody else was first: read again, decide again, and write again if it still makes sense."""

    code = "conflict"


class RevisionConflict(Conflict):
    """The key is not at the revision you expected: read it again and decide anew."""

    code = "revision_conflict"


class Contention(Conflict):
    """What the transaction had read was changed before it committed: run it again."""

    code = "contention"
    retriable = True


class IdempotencyMismatch(Conflict):
    """This idempotency key was used for a different request: use a fresh key for a new request."""

    code = "idempotency_mismatch"


class LeaseLost(Conflict):
    """The lease ran out or was taken by another holder: stop the work that it protected."""

    code = "lease_lost"


class ChainRefused(Conflict):
    """An entry is superseded by one other, and few may follow each other: supersede the last of them, or none."""

    code = "chain_refused"


class ReviewRefused(Conflict):
    """Look at the proposal again: it was decided, somebody else is at it, or it is not yours to approve."""

    code = "review_refused"


class EntityRefused(Conflict):
    """Look at the entity again: a name of it leads elsewhere, or it was changed, merged or decided about since."""

    code = "entity_refused"


class BudgetSpent(RecollectError):
    """This session has done as much of that as a session may: be selective, and go on in another session."""

    code = "budget_spent"


class CursorExpired(RecollectError):
    """The log is no longer kept that far back: start from the oldest cursor, given in the details."""

    code = "cursor_expired"


class KeyTrouble(RecollectError):
    """A value cannot be sealed or opened with the keys at hand."""

    code = "key_trouble"


class MasterKeyMissing(KeyTrouble):
    """Bring back the master key file, or the command that prints it: without it nothing can be read."""

    code = "master_key_missing"


class MasterKeyMismatch(KeyTrouble):
    """The key store was wrapped with another master key: point to the key that belongs to it."""

    code = "master_key_mismatch"


class KeyStoreMissing(KeyTrouble):
    """Bring back the file of wrapped keys that belongs to the data: without it nothing can be read."""

    code = "key_store_missing"


class KeyErased(KeyTrouble):
    """The subject was erased: its values cannot be read again by anybody."""

    code = "key_erased"


class SealBroken(KeyTrouble):
    """A stored value was altered or moved from its place: run `verify`, and restore from a backup."""

    code = "seal_broken"


class StoreTrouble(RecollectError):
    """The engine underneath failed."""

    code = "store_trouble"


class StoreBusy(StoreTrouble):
    """Another process held the write lock for too long: try again."""

    code = "store_busy"
    retriable = True


class StoreFull(StoreTrouble):
    """The disk is full: free some space; nothing was changed."""

    code = "store_full"
    retriable = True


class StoreUnavailable(StoreTrouble):
    """Nothing was changed: try again. If it lasts, check the disk and its permissions; for a database server, that it
    runs, and its host, port, user, password and network."""

    code = "store_unavailable"
    retriable = True


class OutcomeUnknown(StoreTrouble):
    """The commit failed at the very end, so it may or may not last: repeat it with the same idempotency key."""

    code = "outcome_unknown"
    retriable = True


class StoreCorrupt(StoreTrouble):
    """The file is damaged: stop writing, keep a copy, and restore from a backup."""

    code = "store_corrupt"


class StoreClosed(StoreTrouble):
    """The store was closed: open it again."""

    code = "store_closed"


class NotAStore(StoreTrouble):
    """The path holds something else: choose an empty or new directory, or the right one."""

    code = "not_a_store"


class StoreIncomplete(StoreTrouble):
    """A copy to this place was not finished: run the same `recollect copy` again, which goes on where it was."""

    code = "store_incomplete"


class SchemaTooNew(StoreTrouble):
    """The data was written by a newer Recollect: upgrade the program; the data is untouched."""

    code = "schema_too_new"


class EngineTooOld(StoreTrouble):
    """The database engine is too old to be trusted with data: install the version that the message names."""

    code = "engine_too_old"


class ServiceTrouble(RecollectError):
    """The service cannot answer now."""

    code = "service_trouble"


class RateLimited(ServiceTrouble):
    """Slow down: wait as long as `Retry-After` says, then go on."""

    code = "rate_limited"
    retriable = True


class DeadlineExceeded(ServiceTrouble):
    """It took too long; a write may or may not have happened: repeat it with the same idempotency key."""

    code = "deadline_exceeded"
    retriable = True


class ShuttingDown(ServiceTrouble):
    """The service is stopping and took nothing on: try again in a moment."""

    code = "shutting_down"
    retriable = True


class PolicyTrouble(ServiceTrouble):
    """The policy gave no usable answer, so nothing was allowed: correct the policy."""

    code = "policy_trouble"


class EmbedderTrouble(ServiceTrouble):
    """What makes vectors for the search by meaning cannot do so now: try again, or search with `mode=lexical`."""

    code = "embedder_trouble"
    retriable = True


class TextRefused(EmbedderTrouble):
    """The model refuses this text: leave the field that holds it out of `index_fields`."""

    code = "text_refused"
    retriable = False


class VectorsUnavailable(ServiceTrouble):
    """The vector store does not answer: see that it runs, and try again. Small scopes are searched without it."""

    code = "vectors_unavailable"
    retriable = True


class Internal(ServiceTrouble):
    """A fault of the service itself: look for the request id in its log, and report it."""

    code = "internal"


class Unsupported(RecollectError):
    """This backend does not offer that: choose a backend that declares the capability."""

    code = "unsupported"


class NotAvailable(Unsupported):
    """This version does not offer that yet: leave it out of the request."""

    code = "not_available"


def all_errors() -> list[type[RecollectError]]:
    """The whole tree, parents before children; what a backend tells apart for itself is the error above that."""

    def below(cls: type[RecollectError]) -> list[type[RecollectError]]:
        children = [child for child in cls.__subclasses__() if child.__module__ == __name__]
        return [cls, *(found for child in children for found in below(child))]

    return below(RecollectError)
