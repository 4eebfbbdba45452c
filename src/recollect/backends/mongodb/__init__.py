"""Rows, log and keys in MongoDB, or in what speaks its protocol; no transactions over several documents are needed."""

from recollect.backends.mongodb.keystore import MongoKeyStore
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.store import MongoStore

__all__ = ["MongoKeyStore", "MongoOptions", "MongoStore"]
