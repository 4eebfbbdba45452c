"""Vectors and words for search in a PostgreSQL database that has the extension pgvector."""

from recollect.backends.postgres.vectors.options import VectorOptions
from recollect.backends.postgres.vectors.store import PostgresVectors

__all__ = ["PostgresVectors", "VectorOptions"]
