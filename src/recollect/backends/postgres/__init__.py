"""The shared default for several machines: rows, log, wrapped keys and vectors in a PostgreSQL database."""

from recollect.backends.postgres.keystore import PostgresKeyStore
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.store import PostgresStore
from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions

__all__ = ["PostgresKeyStore", "PostgresOptions", "PostgresStore", "PostgresVectors", "VectorOptions"]
