"""The reference: a store, a key store and a vector store in plain Python structures, by which the others are judged."""

from recollect.backends.memory.keystore import MemoryKeyStore
from recollect.backends.memory.store import MemoryStore
from recollect.backends.memory.vectors import MemoryVectors

__all__ = ["MemoryKeyStore", "MemoryStore", "MemoryVectors"]
