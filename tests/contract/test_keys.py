"""The promises K1 to K8, on every key store; each test cites its clause in its name."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pymongo import MongoClient
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import needs_postgres

from recollect.backends.keyring import Envelope, FileMasterKeys
from recollect.backends.memory import MemoryKeyStore
from recollect.backends.mongodb import MongoKeyStore, MongoOptions
from recollect.backends.postgres import PostgresKeyStore, PostgresOptions
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions
from recollect.domain.errors import KeyErased, MasterKeyMismatch
from recollect.domain.planning import Erasure
from recollect.ports.keys import Destruction, KeyStore, WrappedKey
from recollect.testing.contract.scenes import at
from recollect.testing.doubles import ManualClock
from recollect.testing.postgres import drop_schema, fresh_schema

TENANT = "acme"
ANN = at("user", "ann")
SUBJECT = "user:ann"
ROW = b"r" * 16


class Ring:
    """A key store that several processes could share, its master keys, and envelopes over them."""

    def __init__(self, folder: Path, *, durable: bool, postgres: bool = False, mongodb: str = "") -> None:
        self.folder = folder
        self.clock = ManualClock()
        self._memory = None if durable else MemoryKeyStore()
        self.server = PostgresOptions(needs_postgres(), fresh_schema()) if postgres else None
        self.documents = MongoOptions(mongodb, f"trial_{secrets.token_hex(8)}") if mongodb else None
        self._opened: list[KeyStore] = []

    @property
    def master_path(self) -> Path:
        return self.folder / "master.key"

    @property
    def file(self) -> Path | None:
        elsewhere = self._memory is not None or self.server is not None or self.documents is not None
        return None if elsewhere else self.folder / "keys.db"

    def keys(self) -> KeyStore:
        """Another view of the same keys, as another process would have."""
        if self._memory is not None:
            return self._memory
        if self.file is not None:
            self._opened.append(SqliteKeyStore(SqliteOptions(self.file)))
        elif self.server is not None:
            self._opened.append(PostgresKeyStore(self.server))
        elif self.documents is not None:
            self._opened.append(MongoKeyStore(self.documents))
        return self._opened[-1]

    def envelope(self, keys: KeyStore | None = None, *, rotate_at: int = 1 << 20, block: int = 4) -> Envelope:
        """What a process that starts now would seal with."""
        master = FileMasterKeys(self.master_path, create=True)
        return Envelope(keys or self.keys(), master, self.clock, rotate_at=rotate_at, block=block)

    def close(self) -> None:
        for keys in self._opened:
            keys.close()
        if self.server is not None:
            drop_schema(self.server.url, self.server.schema)
        if self.documents is not None:
            with MongoClient[dict[str, Any]](self.documents.url) as client:
                client.drop_database(self.documents.database)


@pytest.fixture(params=["memory", "sqlite", "postgres", "mongodb"])
def ring(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ring]:
    url = request.getfixturevalue("mongodb") if request.param == "mongodb" else ""
    ring = Ring(tmp_path, durable=request.param != "memory", postgres=request.param == "postgres", mongodb=url)
    yield ring
    ring.close()


def seal(envelope: Envelope, plain: bytes = b"plain", revision: int = 1) -> bytes:
    envelope.refresh()
    envelope.prepare([(TENANT, SUBJECT)])
    return envelope.seal(TENANT, ANN, ROW, revision, "value", plain)


def opened(envelope: Envelope, sealed: bytes, revision: int = 1) -> bytes:
    return envelope.open(TENANT, ANN, ROW, revision, "value", sealed)


def erasure(number: int = 1) -> Erasure:
    return Erasure(bytes([number]) * 16, TENANT, SUBJECT, ANN.namespace, "officer")


# -- K1


def test_k1_a_subject_gets_a_key_when_it_is_first_needed(ring: Ring) -> None:
    keys, envelope = ring.keys(), ring.envelope()
    assert keys.newest(TENANT, SUBJECT) is None
    sealed = seal(envelope)
    key = keys.newest(TENANT, SUBJECT)
    assert key is not None
    assert (key.tenant, key.subject, key.generation) == (TENANT, SUBJECT, 1)
    assert keys.by_id(key.id) == key
    assert key.id in sealed
    assert keys.newest(TENANT, "user:bob") is None
    assert keys.newest("umbrella", SUBJECT) is None


def test_k1_every_process_sees_the_same_key(ring: Ring) -> None:
    first, second = ring.envelope(), ring.envelope()
    one, other = seal(first), seal(second)
    assert one[1:17] == other[1:17]
    assert opened(second, one) == opened(first, other) == b"plain"


def test_k1_of_many_that_need_a_key_at_once_all_get_the_same(ring: Ring) -> None:
    envelopes = [ring.envelope() for _ in range(4)]
    sealed: list[bytes] = []
    ready = threading.Barrier(len(envelopes))

    def work(envelope: Envelope) -> None:
        ready.wait()
        sealed.append(seal(envelope))

    threads = [threading.Thread(target=work, args=(envelope,)) for envelope in envelopes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each[1:17] for each in sealed}) == 1
    assert len(sealed) == 4


def test_k1_a_generation_that_exists_stays(ring: Ring) -> None:
    keys = ring.keys()
    first = WrappedKey(b"1" * 16, TENANT, SUBJECT, 1, "m", b"first", 0)
    keys.add(lambda: [first])
    keys.add(lambda: [WrappedKey(b"2" * 16, TENANT, SUBJECT, 1, "m", b"late", 0)])
    assert keys.newest(TENANT, SUBJECT) == first
    assert keys.by_id(b"2" * 16) is None


# -- K2


def test_k2_uses_are_counted_before_they_happen(ring: Ring) -> None:
    keys, envelope = ring.keys(), ring.envelope(block=4)
    for uses in range(1, 13):
        seal(envelope, revision=uses)
        key = keys.newest(TENANT, SUBJECT)
        assert key is not None
        assert key.reserved >= uses
        assert key.reserved % 4 == 0


def test_k2_a_crash_can_only_over_count(ring: Ring) -> None:
    keys = ring.keys()
    for start in range(1, 6):
        seal(ring.envelope(block=4), revision=start)  # every one of these is forgotten after one use
        key = keys.newest(TENANT, SUBJECT)
        assert key is not None
        assert key.reserved == 4 * start


def test_k2_a_use_that_cannot_be_counted_does_not_happen(ring: Ring) -> None:
    seal(ring.envelope())
    failing = Failing(ring.keys(), "reserve")
    envelope = ring.envelope(failing)
    with pytest.raises(Interrupted):
        seal(envelope)


# -- K3


def test_k3_a_key_at_its_cap_is_followed_by_a_new_generation(ring: Ring) -> None:
    keys, envelope = ring.keys(), ring.envelope(rotate_at=8, block=4)
    sealed = [seal(envelope, b"%d" % n, n) for n in range(20)]
    generations = [key.generation for each in sealed if (key := keys.by_id(each[1:17]))]
    assert generations == [1] * 8 + [2] * 8 + [3] * 4
    assert [opened(envelope, each, n) for n, each in enumerate(sealed)] == [b"%d" % n for n in range(20)]
    later = ring.envelope(rotate_at=8, block=4)
    assert [opened(later, each, n) for n, each in enumerate(sealed)] == [b"%d" % n for n in range(20)]


def test_k3_processes_that_share_a_key_share_its_cap(ring: Ring) -> None:
    keys, envelopes = ring.keys(), [ring.envelope(rotate_at=8, block=4) for _ in range(3)]
    sealed = [seal(envelopes[n % 3], b"%d" % n, n) for n in range(60)]
    uses: dict[bytes, int] = {}
    for each in sealed:
        uses[each[1:17]] = uses.get(each[1:17], 0) + 1
    assert max(uses.values()) <= 8
    for key_id in uses:
        key = keys.by_id(key_id)
        assert key is not None
        assert uses[key_id] <= key.reserved <= 8


# -- K4


def test_k4_what_a_destroyed_key_sealed_can_never_be_opened_again(ring: Ring) -> None:
    first, second = ring.envelope(), ring.envelope()
    sealed = seal(first)
    assert opened(second, sealed) == b"plain"
    first.destroy(erasure())
    with pytest.raises(KeyErased):
        opened(first, sealed)
    second.refresh()
    with pytest.raises(KeyErased):
        opened(second, sealed)
    fresh = seal(second)
    assert fresh[1:17] != sealed[1:17]
    assert opened(first, fresh) == b"plain"


def test_k4_every_generation_goes_and_other_subjects_stay(ring: Ring) -> None:
    keys, envelope = ring.keys(), ring.envelope(rotate_at=4, block=4)
    ids = {seal(envelope, revision=n)[1:17] for n in range(12)}
    assert len(ids) == 3
    bob = at("user", "bob")
    envelope.prepare([(TENANT, "user:bob")])
    kept = envelope.seal(TENANT, bob, ROW, 1, "value", b"bob's")
    envelope.destroy(erasure())
    assert [keys.by_id(key_id) for key_id in ids] == [None] * 3
    assert envelope.open(TENANT, bob, ROW, 1, "value", kept) == b"bob's"


def remains(path: Path, wanted: bytes) -> list[str]:
    """Which files of a key store still hold these bytes."""
    files = [path, path.with_name(path.name + "-wal")]
    return [file.name for file in files if file.exists() and wanted in file.read_bytes()]


def test_k4_nothing_of_a_destroyed_key_is_left_in_the_file(tmp_path: Path) -> None:
    ring = Ring(tmp_path, durable=True)
    envelope = ring.envelope(rotate_at=4, block=4)
    keys = ring.keys()
    stored: list[WrappedKey] = []
    for n in range(40):
        sealed = seal(envelope, revision=n)
        key = keys.by_id(sealed[1:17])
        assert key is not None
        stored.append(key)
    assert ring.file is not None
    assert remains(ring.file, stored[0].wrapped), "the search for what remains can find something"
    envelope.destroy(erasure())
    for key in stored:
        assert remains(ring.file, key.wrapped) == []
        assert remains(ring.file, key.wrapped[12:44]) == []
        assert remains(ring.file, key.id) == []
    ring.close()
    for key in stored:
        assert remains(ring.file, key.wrapped[12:44]) == []


def test_k4_a_key_that_was_wrapped_twice_leaves_neither_wrapping(tmp_path: Path) -> None:
    ring = Ring(tmp_path, durable=True)
    envelope, keys = ring.envelope(), ring.keys()
    wrappings: list[bytes] = []
    for _ in range(3):
        seal(envelope)
        key = keys.newest(TENANT, SUBJECT)
        assert key is not None
        wrappings.append(key.wrapped)
        envelope.rotate()
    envelope.destroy(erasure())
    assert ring.file is not None
    assert len(set(wrappings)) == 3
    assert [remains(ring.file, wrapped) for wrapped in wrappings] == [[], [], []]
    ring.close()


def test_k4_nothing_of_a_destroyed_key_is_left_in_the_table_of_a_server(tmp_path: Path) -> None:
    ring = Ring(tmp_path, durable=True, postgres=True)
    assert ring.server is not None
    envelope, keys = ring.envelope(), ring.keys()
    sealed = seal(envelope)
    key = keys.by_id(sealed[1:17])
    assert key is not None
    envelope.rotate()
    assert key.wrapped not in table_file(ring.server)
    assert key.id in table_file(ring.server), "the search for what remains can find something"
    envelope.destroy(erasure())
    assert key.id not in table_file(ring.server)
    ring.close()


def table_file(server: PostgresOptions) -> bytes:
    """Every byte of the file that holds the wrapped keys, the free space in it included."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        path = "pg_relation_filepath(%s::regclass)"
        row = connection.execute(f"SELECT pg_read_binary_file({path})", [f"{server.schema}.keys"]).fetchone()
        return bytes(row[0]) if row else b""


# -- K5


def test_k5_a_destruction_is_remembered_until_it_is_settled(ring: Ring) -> None:
    envelope = ring.envelope()
    seal(envelope)
    envelope.destroy(erasure(1))
    envelope.destroy(erasure(2))
    for seen in (envelope, ring.envelope()):
        assert [gone.id for gone in seen.destructions(unsettled=True)] == [b"\x01" * 16, b"\x02" * 16]
    gone = envelope.destructions()[0]
    assert (gone.tenant, gone.subject, gone.actor, gone.at) == (TENANT, SUBJECT, "officer", ring.clock())
    envelope.settle(b"\x01" * 16)
    later = ring.envelope()
    assert [gone.id for gone in later.destructions(unsettled=True)] == [b"\x02" * 16]
    assert [(gone.id, gone.settled) for gone in later.destructions()] == [(b"\x01" * 16, True), (b"\x02" * 16, False)]


def test_k5_destroying_again_changes_nothing_that_was_remembered(ring: Ring) -> None:
    envelope = ring.envelope()
    seal(envelope)
    envelope.destroy(erasure())
    envelope.settle(erasure().id)
    ring.clock.advance(60)
    envelope.destroy(erasure())
    assert [gone.settled for gone in envelope.destructions()] == [True]


def test_k5_another_process_hears_of_an_unsettled_destruction_when_it_refreshes(ring: Ring) -> None:
    first, second = ring.envelope(), ring.envelope()
    seal(first)
    seal(second)
    first.destroy(erasure())
    for _ in range(2):  # again until it is settled: the write that was to empty it may have failed
        assert [gone.id for gone in second.refresh()] == [erasure().id]
    second.settle(erasure().id)
    assert list(second.refresh()) == []


# -- K6


class Interrupted(Exception):
    """Stands for the process ending at this point."""


class Failing(KeyStore):
    """A key store over another one, in which one call, or one key of a re-wrapping, is never finished."""

    def __init__(self, keys: KeyStore, call: str, at_key: int | None = None) -> None:
        self._keys, self._call, self._at_key = keys, call, at_key

    def _before(self, call: str) -> None:
        if call == self._call and self._at_key is None:
            raise Interrupted

    def epoch(self) -> int:
        return self._keys.epoch()

    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        return self._keys.newest(tenant, subject)

    def masters(self) -> Sequence[str]:
        return self._keys.masters()

    def by_id(self, key_id: bytes) -> WrappedKey | None:
        return self._keys.by_id(key_id)

    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        return self._keys.kept(after, limit)

    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        self._before("add")
        self._keys.add(make)

    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        self._before("reserve")
        self._keys.reserve(key_ids, uses)

    def destroy(self, destruction: Destruction) -> None:
        self._keys.destroy(destruction)

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        return self._keys.destructions(unsettled=unsettled)

    def settle(self, destruction_id: bytes) -> None:
        self._keys.settle(destruction_id)

    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        self._before("before")
        done = 0

        def one(key: WrappedKey) -> WrappedKey:
            nonlocal done
            if done == self._at_key:
                raise Interrupted
            done += 1
            return change(key)

        changed = self._keys.rewrap(one)
        self._before("after")
        return changed

    def close(self) -> None:
        self._keys.close()


def subjects(count: int = 3) -> list[tuple[str, str]]:
    return [(TENANT, f"user:{number}") for number in range(count)]


def sealed_by_all(envelope: Envelope) -> dict[str, bytes]:
    envelope.prepare(subjects())
    return {
        subject: envelope.seal(TENANT, at("user", subject[5:]), ROW, 1, "value", subject.encode())
        for _, subject in subjects()
    }


def all_open(envelope: Envelope, sealed: dict[str, bytes]) -> bool:
    return all(
        envelope.open(TENANT, at("user", subject[5:]), ROW, 1, "value", each) == subject.encode()
        for subject, each in sealed.items()
    )


def test_k6_rotating_changes_every_wrapping_and_no_data_key(ring: Ring) -> None:
    keys, envelope = ring.keys(), ring.envelope()
    sealed = sealed_by_all(envelope)
    before = [keys.newest(*subject) for subject in subjects()]
    old = ring.master_path.read_text()
    assert envelope.rotate() == 3
    after = [keys.newest(*subject) for subject in subjects()]
    for one, other in zip(before, after, strict=True):
        assert one is not None
        assert other is not None
        assert (one.id, one.generation, one.reserved) == (other.id, other.generation, other.reserved)
        assert one.wrapped != other.wrapped
        assert one.master != other.master
    assert all_open(envelope, sealed)
    assert all_open(ring.envelope(), sealed)
    ring.master_path.write_text(old)
    with pytest.raises(MasterKeyMismatch):
        all_open(ring.envelope(), sealed)


STEPS = [("before", None), ("key", 0), ("key", 1), ("key", 2), ("after", None)]


@pytest.mark.parametrize(("call", "at_key"), STEPS, ids=lambda step: str(step))
def test_k6_a_rotation_that_was_interrupted_is_readable_and_resumable(
    ring: Ring, call: str, at_key: int | None
) -> None:
    sealed = sealed_by_all(ring.envelope())
    interrupted = ring.envelope(Failing(ring.keys(), call, at_key))
    with pytest.raises(Interrupted):
        interrupted.rotate()
    assert all_open(interrupted, sealed)
    between = ring.envelope()
    assert all_open(between, sealed)
    newer = sealed_by_all(between)
    between.rotate()
    keys = ring.keys()
    name, _ = FileMasterKeys(ring.master_path, create=False).current()
    assert {key.master for subject in subjects() if (key := keys.newest(*subject))} == {name}
    for envelope in (between, ring.envelope()):
        assert all_open(envelope, sealed)
        assert all_open(envelope, newer)


def test_k6_a_rotation_interrupted_before_the_old_master_key_is_forgotten_is_resumable(
    ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = sealed_by_all(ring.envelope())
    for step in ("begin_rotation", "finish_rotation"):
        with monkeypatch.context() as patch:

            def stop(self: FileMasterKeys) -> None:
                raise Interrupted

            patch.setattr(FileMasterKeys, step, stop)
            with pytest.raises(Interrupted):
                ring.envelope().rotate()
        assert all_open(ring.envelope(), sealed)
    ring.envelope().rotate()
    assert all_open(ring.envelope(), sealed)


def test_k6_a_rotation_by_another_process_is_noticed(ring: Ring) -> None:
    first, second = ring.envelope(), ring.envelope()
    sealed = sealed_by_all(first)
    second.rotate()
    newer = sealed_by_all(first)
    assert all_open(first, newer)
    assert all_open(ring.envelope(), {**sealed})
    assert all_open(ring.envelope(), newer)


def test_k7_a_derived_key_is_the_same_for_ever_and_nobody_elses(ring: Ring) -> None:
    first, second = ring.envelope(), ring.envelope()
    key = first.derive("acme", "index")
    assert len(key) == 32
    assert second.derive("acme", "index") == key
    second.rotate()
    assert ring.envelope().derive("acme", "index") == key
    others = {second.derive("umbrella", "index"), second.derive("acme", "other"), second.derive("acme", "")}
    assert len({key, *others}) == 4


def test_k8_keys_told_to_another_key_store_open_the_same_values_there(ring: Ring) -> None:
    envelope, keys = ring.envelope(), ring.keys()
    sealed = {
        name: envelope.seal(TENANT, at("user", name), ROW, 1, "value", b"plain") for name in ("ann", "bob", "eve")
    }
    envelope.destroy(Erasure(b"e" * 16, TENANT, "user:eve", at("user", "eve").namespace, "officer"))
    again = envelope.seal(TENANT, at("user", "eve"), ROW, 1, "value", b"new")
    other = MemoryKeyStore()
    told: list[WrappedKey] = []
    for destruction in keys.destructions():
        other.destroy(destruction)
    after = b""
    while page := keys.kept(after, limit=1):
        told += page
        after = page[-1].id
    assert list(keys.kept()) == told
    assert [key.id for key in told] == sorted(key.id for key in told)
    assert len(told) == 3
    assert all(key.reserved > 0 for key in told)
    other.add(lambda: told)
    assert list(other.kept()) == told
    moved = Envelope(other, FileMasterKeys(ring.master_path, create=False), ring.clock)
    for name in ("ann", "bob"):
        assert moved.open(TENANT, at("user", name), ROW, 1, "value", sealed[name]) == b"plain"
    assert moved.open(TENANT, at("user", "eve"), ROW, 1, "value", again) == b"new"
    with pytest.raises(KeyErased):
        moved.open(TENANT, at("user", "eve"), ROW, 1, "value", sealed["eve"])


def test_k8_a_key_store_keeps_what_it_was_told_of_another(ring: Ring) -> None:
    other, keys = MemoryKeyStore(), ring.keys()
    gone = Destruction(b"d" * 16, TENANT, "user:n3", ring.clock(), "officer", settled=True)
    other.destroy(gone)
    many = [WrappedKey(bytes([n]) * 16, TENANT, f"user:n{n}", 1, "m", b"w", n) for n in range(1, 9)]
    other.add(lambda: many)
    for _ in range(2):  # again changes nothing
        for destruction in other.destructions():
            if destruction not in keys.destructions():
                keys.destroy(destruction)
        keys.add(lambda: other.kept())
        assert list(keys.kept()) == many
        assert list(keys.destructions()) == [gone]
