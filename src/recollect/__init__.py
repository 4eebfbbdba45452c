"""Recollect: memory for AI agents that can say why."""

from recollect.config import Settings
from recollect.domain import errors
from recollect.domain.callers import Caller, new_caller
from recollect.domain.errors import RecollectError
from recollect.domain.queries import Archived, Order
from recollect.domain.reasons import EndReason, EventKind
from recollect.domain.rows import Item
from recollect.domain.verification import Problem
from recollect.main import open, open_sync, restore  # noqa: A004 - meant to be used as `recollect.open`
from recollect.ports.store import Verification
from recollect.service.memories import Memories
from recollect.service.views import DeleteOp, ErasureReceipt, Events, Found, MemoryEvent, PutOp, Written
from recollect.sync import MemoriesSync

__all__ = [
    "Archived",
    "Caller",
    "DeleteOp",
    "EndReason",
    "ErasureReceipt",
    "EventKind",
    "Events",
    "Found",
    "Item",
    "Memories",
    "MemoriesSync",
    "MemoryEvent",
    "Order",
    "Problem",
    "PutOp",
    "RecollectError",
    "Settings",
    "Verification",
    "Written",
    "errors",
    "new_caller",
    "open",
    "open_sync",
    "restore",
]
