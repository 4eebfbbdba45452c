"""The shared default for several machines: rows, log and wrapped keys in a PostgreSQL database."""

from recollect.backends.postgres.keystore import PostgresKeyStore
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.store import PostgresStore

__all__ = ["PostgresKeyStore", "PostgresOptions", "PostgresStore"]
