"""Vectors and words in Qdrant: on a server of its own, or in a folder and within the process."""

from recollect.backends.qdrant.options import QdrantOptions
from recollect.backends.qdrant.vectors import QdrantVectors

__all__ = ["QdrantOptions", "QdrantVectors"]
