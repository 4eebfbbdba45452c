"""The client of Recollect: the same memories as in process, on a server."""

from recollect_client import errors
from recollect_client._async import AsyncClient
from recollect_client._sync import Client
from recollect_client.errors import BadAnswer, ConnectionFailed, RecollectError
from recollect_client.models import (
    Caller,
    DeleteOp,
    ErasureReceipt,
    Event,
    Events,
    ExportPage,
    Found,
    Imported,
    Item,
    NewToken,
    Problem,
    PutOp,
    Token,
    Verification,
    Written,
)

__all__ = [
    "AsyncClient",
    "BadAnswer",
    "Caller",
    "Client",
    "ConnectionFailed",
    "DeleteOp",
    "ErasureReceipt",
    "Event",
    "Events",
    "ExportPage",
    "Found",
    "Imported",
    "Item",
    "NewToken",
    "Problem",
    "PutOp",
    "RecollectError",
    "Token",
    "Verification",
    "Written",
    "errors",
]
