"""The reference: a store and a key store in plain Python structures, by which the others are judged."""

from recollect.backends.memory.keystore import MemoryKeyStore
from recollect.backends.memory.store import MemoryStore

__all__ = ["MemoryKeyStore", "MemoryStore"]
