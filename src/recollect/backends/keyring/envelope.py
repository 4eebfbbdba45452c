"""Sealing fields with AES-256-GCM under a data key per subject, each wrapped by a master key.

A sealed field is `version (1) ‖ key id (16) ‖ nonce (12) ‖ ciphertext and tag`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recollect.backends.keyring.master import FileMasterKeys
from recollect.domain.address import Address, subject_of
from recollect.domain.errors import KeyErased, KeyStoreMissing, MasterKeyMismatch, SealBroken
from recollect.domain.planning import Erasure
from recollect.domain.sealing import binding
from recollect.ports.clock import Clock
from recollect.ports.keys import Destruction, KeyStore, MasterKeys, WrappedKey

FORMAT = b"\x01"
_KEY_AT, _NONCE_AT, _TEXT_AT = len(FORMAT), 17, 29
_SHORTEST = _TEXT_AT + 16
ROTATE_AT = 1 << 28
"""Uses after which a data key is followed by a new one: the odds of a repeated nonce stay below 2^-40."""
BLOCK = 1 << 16
"""Uses that are counted at a time, so that counting costs one small write in many."""
_CACHED_KEYS = 100_000
_NONCES_AT_ONCE = 512
_DERIVING = "derive"
"""The subject whose key others are derived from."""


class _Active:
    __slots__ = ("cipher", "header", "id", "left")

    def __init__(self, key_id: bytes, cipher: AESGCM, left: int) -> None:
        self.id, self.cipher, self.left = key_id, cipher, left
        self.header = FORMAT + key_id


class Envelope:
    """Seals and opens fields; makes, counts, replaces, destroys and re-wraps the keys for it.

    Any thread may open; one thread at a time may seal, which is the one that writes.
    """

    def __init__(
        self,
        keys: KeyStore,
        master: MasterKeys,
        clock: Clock,
        *,
        rotate_at: int = ROTATE_AT,
        block: int = BLOCK,
    ) -> None:
        self._keys = keys
        self._master = master
        self._clock = clock
        self._rotate_at = rotate_at
        self._block = min(block, rotate_at)
        self._lock = threading.RLock()
        self._active: dict[tuple[str, str], _Active] = {}
        self._opening: dict[bytes, AESGCM] = {}
        self._epoch = -1
        self._unfinished = False
        self._nonces = b""
        self._next_nonce = 0
        for name in keys.masters():
            if master.named(name) is None:
                raise MasterKeyMismatch(f"the data keys were wrapped with master key {name}, which is not at hand")

    # -- sealing

    def refresh(self, epoch: int | None = None) -> Sequence[Destruction]:
        """Notice destructions: after that, no destroyed key seals anything. Returns those without a receipt."""
        epoch = self._keys.epoch() if epoch is None else epoch
        if epoch == self._epoch and not self._unfinished:
            return ()
        with self._lock:
            if epoch != self._epoch:
                self._active.clear()
                self._opening.clear()
                self._epoch = epoch
            # Told again each time until the receipt is there: the write that follows may yet fail.
            unsettled = self._keys.destructions(unsettled=True)
            self._unfinished = bool(unsettled)
            return unsettled

    def prepare(self, subjects: Iterable[tuple[str, str]]) -> None:
        """Make sure that these subjects have usable keys: one write for all new ones, one to count all uses."""
        missing = [pair for pair in dict.fromkeys(subjects) if pair not in self._active]
        if missing:
            with self._lock:
                self._activate(missing)

    def seal(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field sealed for exactly this place."""
        pair = (tenant, subject_of(address.namespace))
        active = self._active.get(pair)
        if active is None or active.left <= 0:
            with self._lock:
                self._activate([pair])
                active = self._active[pair]
        active.left -= 1
        nonce = self._nonce()
        bound = binding(tenant, address, row_id, revision, field, active.id)
        return active.header + nonce + active.cipher.encrypt(nonce, plain, bound)

    def open(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, sealed: bytes) -> bytes:
        """The field opened; refused when it was altered or is not in its place."""
        if len(sealed) < _SHORTEST or sealed[0] != FORMAT[0]:
            raise SealBroken(f"the {field} of {address.namespace} · {address.key} is not a sealed field")
        key_id = sealed[_KEY_AT:_NONCE_AT]
        cipher = self._opening.get(key_id)
        if cipher is None:
            cipher = self._cipher(key_id, tenant, address)
        try:
            return cipher.decrypt(
                sealed[_NONCE_AT:_TEXT_AT], sealed[_TEXT_AT:], binding(tenant, address, row_id, revision, field, key_id)
            )
        except InvalidTag:
            raise SealBroken(
                f"the {field} of {address.namespace} · {address.key} was altered or moved from its place"
            ) from None

    # -- keys

    def destroy(self, erasure: Erasure) -> None:
        """Destroy a subject's keys for good; what they sealed can never be opened again."""
        with self._lock:
            self._keys.destroy(
                Destruction(erasure.id, erasure.tenant, erasure.subject, self._clock(), erasure.actor, settled=False)
            )
            self._active.pop((erasure.tenant, erasure.subject), None)
            self._opening.clear()

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first; or only what still lacks its receipt."""
        return self._keys.destructions(unsettled=unsettled)

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt of a destruction is in the log."""
        self._keys.settle(destruction_id)

    def derive(self, tenant: str, purpose: str) -> bytes:
        """A key from one that seals nothing, so that it is never worn out and never followed by another."""
        with self._lock:
            key = self._keys.newest(tenant, _DERIVING)
            if key is None:
                self._add([(tenant, _DERIVING, 1)])  # unless another process was first
                key = self._keys.newest(tenant, _DERIVING)
            if key is None:
                raise KeyStoreMissing("the key store did not keep a new key")
            return HKDF(SHA256(), 32, None, f"recollect-derive/1 {purpose}".encode()).derive(self._unwrap(key))

    def rotate(self) -> int:
        """Wrap every data key with a fresh master key, or with the one that its command prints now.

        Both master keys open until all data keys are re-wrapped, so it can stop anywhere and be run again.
        """
        with self._lock:
            if isinstance(self._master, FileMasterKeys):
                self._master.begin_rotation()
            changed = self._keys.rewrap(self._rewrapped)
            if isinstance(self._master, FileMasterKeys):
                self._master.finish_rotation()
            return changed

    def close(self) -> None:
        """Close the key store."""
        self._keys.close()

    def _rewrapped(self, key: WrappedKey) -> WrappedKey:
        name, master = self._master.current()
        if key.master == name:
            return key
        return replace(key, master=name, wrapped=_wrap(name, master, key, self._unwrap(key)))

    def _fresh(self, tenant: str, subject: str, generation: int) -> WrappedKey:
        """A new key, wrapped, with its first block of uses counted."""
        name, master = self._master.current()
        bare = WrappedKey(os.urandom(16), tenant, subject, generation, name, b"", self._block)
        return replace(bare, wrapped=_wrap(name, master, bare, AESGCM.generate_key(256)))

    def _activate(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Give each subject the key to seal with next, with a block of counted uses.

        A key that is added here comes with its first block counted. One that another process added, or that
        was there before, gets a block if it has room, and a new generation after it if not.
        """
        if len(self._active) + len(pairs) > _CACHED_KEYS:
            self._active.clear()
        waiting = list(pairs)
        while waiting:
            newest = {pair: self._keys.newest(*pair) for pair in waiting}
            room = [key for key in newest.values() if key and key.reserved + self._block <= self._rotate_at]
            if room:
                self._keys.reserve([key.id for key in room], self._block)
            usable = {(key.tenant, key.subject): key for key in room}
            waiting = [pair for pair in waiting if pair not in usable]
            wanted = [(*pair, 1 if (key := newest[pair]) is None else key.generation + 1) for pair in waiting]
            made = self._add(wanted)
            for pair in waiting:
                if (now := self._keys.newest(*pair)) is not None and now.id in made:
                    usable[pair] = now
            for pair, key in usable.items():
                self._active[pair] = _Active(key.id, AESGCM(self._unwrap(key)), self._block)
            waiting = [pair for pair in waiting if pair not in usable]

    def _add(self, wanted: Sequence[tuple[str, str, int]]) -> frozenset[bytes]:
        """Add keys for (tenant, subject, generation), unless another process was first; return their ids."""
        made: list[WrappedKey] = []

        def make() -> Iterable[WrappedKey]:
            made.extend(self._fresh(*each) for each in wanted)
            return made

        if wanted:
            self._keys.add(make)
        return frozenset(key.id for key in made)

    def _cipher(self, key_id: bytes, tenant: str, address: Address) -> AESGCM:
        with self._lock:
            key = self._keys.by_id(key_id)
            if key is None:
                raise KeyErased(f"the key that sealed {address.namespace} · {address.key} was destroyed", tenant=tenant)
            if len(self._opening) >= _CACHED_KEYS:
                self._opening.clear()
            cipher = self._opening[key_id] = AESGCM(self._unwrap(key))
            return cipher

    def _unwrap(self, key: WrappedKey) -> bytes:
        master = self._master.named(key.master)
        if master is None:
            raise MasterKeyMismatch(f"the data keys were wrapped with master key {key.master}, which is not at hand")
        try:
            return AESGCM(master).decrypt(key.wrapped[:12], key.wrapped[12:], _wrap_binding(key, key.master))
        except InvalidTag:
            raise SealBroken(f"the wrapped data key of {key.subject} was altered") from None

    def _nonce(self) -> bytes:
        at = self._next_nonce
        if at >= len(self._nonces):
            self._nonces, at = os.urandom(12 * _NONCES_AT_ONCE), 0
        self._next_nonce = at + 12
        return self._nonces[at : at + 12]


def _wrap_binding(key: WrappedKey, master: str) -> bytes:
    parts = (b"recollect-wrap/1", key.id, key.tenant.encode(), key.subject.encode(), master.encode())
    return b"".join(len(part).to_bytes(4) + part for part in (*parts, key.generation.to_bytes(8)))


def _wrap(name: str, master: bytes, key: WrappedKey, data_key: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + AESGCM(master).encrypt(nonce, data_key, _wrap_binding(key, name))


class Plain:
    """No sealing at all: for measuring what sealing costs, and for tests of a store alone."""

    # ruff: noqa: ARG002 - it needs none of what it is given

    def refresh(self, epoch: int | None = None) -> Sequence[Destruction]:
        """There are no keys, so none is destroyed."""
        return ()

    def prepare(self, subjects: Iterable[tuple[str, str]]) -> None:
        """There are no keys to prepare."""

    def seal(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field as it is."""
        return plain

    def open(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, sealed: bytes) -> bytes:
        """The field as it is."""
        return sealed
