"""The embedded default: rows, log and keys in SQLite files, with one writer and many readers."""

from recollect.backends.sqlite.keystore import SqliteKeyStore
from recollect.backends.sqlite.options import SqliteOptions
from recollect.backends.sqlite.schema import check_ours
from recollect.backends.sqlite.store import SqliteStore

__all__ = ["SqliteKeyStore", "SqliteOptions", "SqliteStore", "check_ours"]
