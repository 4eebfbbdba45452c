"""Rows and log in MongoDB, or in what speaks its protocol; no transactions over several documents are needed."""

from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.store import MongoStore

__all__ = ["MongoOptions", "MongoStore"]
