"""The driver behind one way of calling it: awaited on an event loop, at once on a plain thread.

Every method is a coroutine. With a `MongoClient` underneath, it never suspends. The driver's errors, and its own kinds
of numbers, are translated here.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bson import Int64
from pymongo import AsyncMongoClient, DeleteMany, InsertOne, MongoClient, ReadPreference, UpdateOne
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    DocumentTooLarge,
    DuplicateKeyError,
    ExecutionTimeout,
    InvalidName,
    InvalidURI,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WriteConcernError,
)
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from recollect.backends.mongodb.options import MongoOptions
from recollect.domain.errors import (
    InvalidCommit,
    InvalidSetting,
    RecollectError,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreFull,
    StoreUnavailable,
)

Document = dict[str, Any]
Where = Mapping[str, Any]
Order = Sequence[tuple[str, int]]
Write = InsertOne[Document] | UpdateOne | DeleteMany
_BATCH = 1_000
_DUPLICATE = 11_000
_REFUSED = (13, 18, 8_000)
_FULL = (14_031, 12_501)


class Taken(Exception):
    """A document of that name is there already."""


class Lost(StoreUnavailable):
    """The server did not answer in time, so a write may or may not have happened. Check that it runs, how busy it is,
    and the network, then try again."""


def translated(problem: PyMongoError) -> RecollectError:
    """Our error for one of the driver's."""
    if isinstance(problem, DuplicateKeyError):
        return StoreCorrupt("a document would break a rule that the database enforces")
    if isinstance(problem, InvalidName):
        return InvalidSetting(f"this cannot be the name of a database ({problem})")
    if isinstance(problem, ServerSelectionTimeoutError):
        return StoreUnavailable("no MongoDB server can be reached: check the address and that one is running")
    if isinstance(problem, ExecutionTimeout | NetworkTimeout | WriteConcernError):
        return Lost("MongoDB took too long to answer: try again")
    if isinstance(problem, AutoReconnect):
        return Lost("the connection to MongoDB broke: try again")
    if isinstance(problem, DocumentTooLarge):
        return InvalidCommit("a document would be larger than MongoDB allows: split the commit")
    if isinstance(problem, OperationFailure):
        if problem.code in _REFUSED:
            return StoreUnavailable("MongoDB refuses this user: check the name, the password and its roles")
        if problem.code in _FULL:
            return StoreFull("MongoDB has no space left")
        if "locked" in str(problem):
            return StoreBusy("the server's own store is locked: try again")
        return StoreUnavailable(f"MongoDB refused an operation (code {problem.code}: {str(problem)[:200]})")
    return StoreUnavailable(f"MongoDB could not be used ({type(problem).__name__})")


@contextmanager
def translating() -> Iterator[None]:
    """Let no error of the driver out."""
    try:
        yield
    except PyMongoError as problem:
        if "Cannot use MongoClient after close" in str(problem):
            raise StoreClosed("the store was closed") from None
        raise translated(problem) from problem


def connect(options: MongoOptions, *, direct: bool = True) -> Any:
    """A client; a connection string that is not one is refused without being shown, since it may hold a password."""
    make: Any = MongoClient if direct else AsyncMongoClient
    try:
        return make(options.url, **client_settings(options))
    except (ConfigurationError, InvalidURI, ValueError):
        raise InvalidSetting(
            "the MongoDB connection string is not usable: it begins with mongodb:// or mongodb+srv://, "
            "and special characters in the password are percent-encoded"
        ) from None


def client_settings(options: MongoOptions) -> dict[str, Any]:
    """How every client is set up: what is acknowledged is on the disks of a majority, and read from there."""
    wait = round(options.timeout_seconds * 1_000)
    return {
        "serverSelectionTimeoutMS": wait,
        "connectTimeoutMS": wait,
        "socketTimeoutMS": wait,
        "appname": "recollect",
        "tz_aware": True,
    }


class Driver:
    """One database, and the few things that are asked of it."""

    def __init__(self, options: MongoOptions, *, direct: bool) -> None:
        self._client = connect(options, direct=direct)
        with translating():
            self._database = self._client.get_database(
                options.database,
                read_preference=ReadPreference.PRIMARY,
                read_concern=ReadConcern("majority"),
                write_concern=WriteConcern("majority", j=True),
            )

    async def find_one(self, collection: str, where: Where, fields: Document | None = None) -> Document | None:
        """The one document, or None."""
        found: Document | None = await _done(self._database[collection].find_one(where, fields))
        return None if found is None else plain(found)

    async def find(
        self,
        collection: str,
        where: Where,
        *,
        fields: Document | None = None,
        order: Order = (),
        limit: int = 0,
    ) -> list[Document]:
        """All documents that fit, in an order."""
        cursor = self._database[collection].find(where, fields, sort=list(order) or None, limit=limit)
        return [plain(document) for document in await _done(cursor.to_list(None))]

    async def stream(
        self,
        collection: str,
        where: Where,
        *,
        fields: Document | None = None,
        order: Order = (),
        likely: int = _BATCH,
    ) -> AsyncGenerator[list[Document], None]:
        """All documents that fit, batch by batch; so many are likely to be enough."""
        size = max(2, min(likely, _BATCH))
        cursor = self._database[collection].find(where, fields, sort=list(order) or None, batch_size=size)
        try:
            while batch := await _done(cursor.to_list(size)):
                yield [plain(document) for document in batch]
        finally:
            await _done(cursor.close())

    async def count(self, collection: str, where: Where) -> int:
        """How many documents fit."""
        return int(await _done(self._database[collection].count_documents(where)))

    async def distinct(self, collection: str, field: str, where: Where) -> list[Any]:
        """Every value that a field has."""
        found: list[Any] = await _done(self._database[collection].distinct(field, where))
        return found

    async def insert(self, collection: str, document: Document) -> None:
        """Add a document; `Taken` when there is one of its name."""
        with translating():
            try:
                await _answered(self._database[collection].insert_one(document))
            except DuplicateKeyError:
                raise Taken(document["_id"]) from None

    async def add(self, collection: str, documents: Sequence[Document]) -> bool:
        """Add those documents that are not there yet; False when some could not be added."""
        with translating():
            try:
                await _answered(self._database[collection].insert_many(documents, ordered=False))
            except BulkWriteError as problem:
                refused = problem.details.get("writeErrors", [])
                if not refused or any(each.get("code") != _DUPLICATE for each in refused):
                    raise
                return False
        return True

    async def change(self, collection: str, changes: Sequence[tuple[Where, Document]]) -> None:
        """Change, for each of these, the document that fits, if any does."""
        writes = [UpdateOne(where, change) for where, change in changes]
        await _done(self._database[collection].bulk_write(writes, ordered=False))

    async def change_all(self, collection: str, where: Where, change: Document) -> None:
        """Change every document that fits."""
        await _done(self._database[collection].update_many(where, change))

    async def remove(self, collection: str, where: Where) -> int:
        """Remove every document that fits, and return how many did."""
        removed = await _done(self._database[collection].delete_many(where))
        return int(removed.deleted_count)

    async def close(self) -> None:
        """Close every connection."""
        await _done(self._client.close())


def plain(document: Document) -> Document:
    """The document with numbers as Python knows them, however large they are."""
    return {name: _plain(value) for name, value in document.items()}


def _plain(value: Any) -> Any:
    if type(value) is Int64:
        return int(value)
    if type(value) is dict:
        return plain(value)
    return [_plain(each) for each in value] if type(value) is list else value


async def _done(answer: Any) -> Any:
    with translating():
        return await _answered(answer)


async def _answered(answer: Awaitable[Any] | Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer
