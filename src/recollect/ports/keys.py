"""Where data keys are kept, who wraps them, and how fields are sealed with them.

K1  A subject gets a key when it is first needed; every process sees the same one.
K2  Uses of a key are counted before they happen, so that a crash can only over-count them.
K3  A key that has reached its cap is followed by a new generation; the older still opens what it sealed.
K4  Destroying a subject's keys leaves nothing of them behind, not even in the free space of a file.
K5  A destruction is remembered until its receipt is in the log, so that a crash in between cannot lose it.
K6  Re-wrapping under another master key changes no data key and can be interrupted at any point.
K7  A derived key depends on tenant and purpose alone: it is the same in every process, after a restart and after
    re-wrapping, and no other tenant or purpose has it.
K8  Keys can be read as they are kept, in the order of their ids, from any id on. Destructions and keys that are told to
    another key store in this order leave it with the same keys, so that the same master key opens the same values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from recollect.domain.address import Address, namespace_of_subject
from recollect.domain.instants import Instant
from recollect.domain.planning import Erasure


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key as it is kept: wrapped by a master key."""

    id: bytes
    tenant: str
    subject: str
    generation: int
    master: str
    wrapped: bytes
    reserved: int


@dataclass(frozen=True, slots=True)
class Destruction:
    """A subject whose keys were destroyed."""

    id: bytes
    tenant: str
    subject: str
    at: Instant
    actor: str
    settled: bool


def erasure_of(destruction: Destruction) -> Erasure:
    """What is to be emptied because of a destruction."""
    return Erasure(
        destruction.id,
        destruction.tenant,
        destruction.subject,
        namespace_of_subject(destruction.subject),
        destruction.actor,
    )


class KeyStore(ABC):
    """Keeps wrapped data keys, apart from the data that they seal."""

    @abstractmethod
    def epoch(self) -> int:
        """A number that grows with every destruction, whoever did it; cheap to ask for."""

    @abstractmethod
    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        """The key that new values of the subject are to be sealed with."""

    @abstractmethod
    def masters(self) -> Sequence[str]:
        """The names of the master keys that wrap what is kept."""

    @abstractmethod
    def by_id(self, key_id: bytes) -> WrappedKey | None:
        """The key of that id, or None when there is none any more."""

    @abstractmethod
    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        """Keys as they are kept, in the order of their ids, after that one (K8)."""

    @abstractmethod
    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        """Keep the keys that `make` makes while nobody else changes any; a generation that exists stays (K1)."""

    @abstractmethod
    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        """Count that many uses of each of these keys in advance, durably, all at once (K2)."""

    @abstractmethod
    def destroy(self, destruction: Destruction) -> None:
        """Forget all keys of the subject for good, and remember that (K4, K5)."""

    @abstractmethod
    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first; or only what still lacks its receipt."""

    @abstractmethod
    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt is in the log."""

    @abstractmethod
    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        """Replace every key by what `change` makes of it, all at once, and return how many are new (K6)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""


class MasterKeys(Protocol):
    """Knows the master keys: which one wraps now, and those that may still have to unwrap."""

    def current(self) -> tuple[str, bytes]:
        """Name and bytes of the master key that wraps."""
        ...

    def named(self, name: str) -> bytes | None:
        """The bytes of a master key by name, or None when it is not known."""
        ...


class Sealer(Protocol):
    """Seals and opens fields of rows; what a store needs to know about encryption."""

    def refresh(self, epoch: int | None = None) -> Sequence[Destruction]:
        """Notice which keys were destroyed, by whichever process, and return what still lacks its receipt.

        `epoch` is that of the key store, if the store has just read it with the right to write in hand.
        A store calls this when it has the right to write, and empties what is returned before it seals
        anything: so no value is sealed with a destroyed key, and none is emptied that was sealed with a new one.
        """
        ...

    def prepare(self, subjects: Iterable[tuple[str, str]]) -> None:
        """Make sure that these (tenant, subject) pairs have usable keys, in one go."""
        ...

    def seal(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field sealed for exactly this place."""
        ...

    def open(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, sealed: bytes) -> bytes:
        """The field opened; `SealBroken` when it is not what was sealed for this place."""
        ...


class Keyring(Sealer, Protocol):
    """Everything that can be done with keys; what the use-cases need to know about encryption."""

    def destroy(self, erasure: Erasure) -> None:
        """Destroy a subject's keys for good (K4)."""
        ...

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first; or only what still lacks its receipt (K5)."""
        ...

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt of a destruction is in the log."""
        ...

    def derive(self, tenant: str, purpose: str) -> bytes:
        """A key of 32 bytes for something other than sealing, like blinding what the search index keeps (K7)."""
        ...

    def rotate(self) -> int:
        """Wrap every data key with a new or changed master key, and return how many changed (K6)."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...
