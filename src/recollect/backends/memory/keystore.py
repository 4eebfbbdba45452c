"""A key store that lasts as long as its process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from recollect.ports.keys import Destruction, KeyStore, WrappedKey


class MemoryKeyStore(KeyStore):
    """Wrapped keys in a dictionary."""

    def __init__(self) -> None:
        self._keys: dict[bytes, WrappedKey] = {}
        self._destructions: dict[bytes, Destruction] = {}

    def epoch(self) -> int:
        """How many destructions there were."""
        return len(self._destructions)

    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        """The key of the highest generation."""
        mine = [key for key in self._keys.values() if (key.tenant, key.subject) == (tenant, subject)]
        return max(mine, key=lambda key: key.generation, default=None)

    def masters(self) -> Sequence[str]:
        """The names of the master keys that wrap what is kept."""
        return sorted({key.master for key in self._keys.values()})

    def by_id(self, key_id: bytes) -> WrappedKey | None:
        """The key of that id."""
        return self._keys.get(key_id)

    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        """Keys in the order of their ids."""
        return [self._keys[key_id] for key_id in sorted(self._keys) if key_id > after][:limit]

    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        """Keep keys whose subject does not have that generation yet."""
        taken = {(key.tenant, key.subject, key.generation) for key in self._keys.values()}
        for key in make():
            if (key.tenant, key.subject, key.generation) not in taken:
                self._keys[key.id] = key

    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        """Count uses in advance."""
        for key_id in key_ids:
            key = self._keys[key_id]
            self._keys[key_id] = replace(key, reserved=key.reserved + uses)

    def destroy(self, destruction: Destruction) -> None:
        """Forget the subject's keys."""
        self._destructions.setdefault(destruction.id, destruction)
        for key in list(self._keys.values()):
            if (key.tenant, key.subject) == (destruction.tenant, destruction.subject):
                del self._keys[key.id]

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed."""
        return [gone for gone in self._destructions.values() if not (unsettled and gone.settled)]

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt is in the log."""
        self._destructions[destruction_id] = replace(self._destructions[destruction_id], settled=True)

    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        """Replace the keys that the change changes."""
        changed = {key.id: new for key in self._keys.values() if (new := change(key)) is not key}
        self._keys.update(changed)
        return len(changed)

    def close(self) -> None:
        """There is nothing to let go of."""
