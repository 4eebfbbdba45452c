"""An embedder that remembers on disk what it made, so that a benchmark can be run again without making it again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from recollect.ports.embedder import Embedder, Encoded, Model, Purpose, Vectors


class Remembering(Embedder):
    """Asks another embedder only for what it was never asked before."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self.model_name, self.batch, self.late = inner.model_name, inner.batch, inner.late
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS made (name BLOB PRIMARY KEY, vector BLOB, tokens BLOB)")

    def model(self) -> Model:
        """The model of the one behind it."""
        return self._inner.model()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A vector for each text."""
        return self.encode(texts, purpose).vectors

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Encoded:
        """Vectors for texts, and for their words."""
        names = [sha256(f"{self.model_name}\0{purpose}\0{text}".encode()).digest() for text in texts]
        known = self._known(names)
        unknown = list(dict.fromkeys(text for text, name in zip(texts, names, strict=True) if name not in known))
        if unknown:
            self._keep(unknown, purpose)
            known = self._known(names)
        vectors = np.stack([known[name][0] for name in names]) if names else np.zeros((0, 0), np.float32)
        return Encoded(vectors, [known[name][1] for name in names] if self.late else None)

    def close(self) -> None:
        """Close both."""
        self._db.close()
        self._inner.close()

    def _known(self, names: Sequence[bytes]) -> dict[bytes, tuple[Vectors, Vectors]]:
        found: dict[bytes, tuple[Vectors, Vectors]] = {}
        with self._lock:
            for name in set(names):
                row = self._db.execute("SELECT vector, tokens FROM made WHERE name = ?", (name,)).fetchone()
                if row is not None:
                    tokens = np.frombuffer(row[1] or b"", np.float16).astype(np.float32)
                    found[name] = np.frombuffer(row[0], np.float32), tokens.reshape(-1, self.late or 1)
        return found

    def _keep(self, texts: Sequence[str], purpose: Purpose) -> None:
        encoded = self._inner.encode(texts, purpose)
        tokens = encoded.tokens or [np.zeros((0, 0), np.float32)] * len(texts)
        with self._lock, self._db:
            for text, vector, each in zip(texts, encoded.vectors, tokens, strict=True):
                name = sha256(f"{self.model_name}\0{purpose}\0{text}".encode()).digest()
                kept = (name, vector.astype(np.float32).tobytes(), each.astype(np.float16).tobytes())
                self._db.execute("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", kept)
