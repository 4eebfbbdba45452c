"""What is sealed opens in its own place and nowhere else, and cannot be found in any file."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import pytest
from tests.security.datafile import DATA, files_with, raw
from tests.sizes import sized

import recollect
from recollect import MemoriesSync, PutOp, RecollectError
from recollect.domain.address import Address, decode_namespace
from recollect.domain.errors import SealBroken
from recollect.domain.sealing import binding
from recollect.testing.doubles import ManualClock

TENANTS = ("one", "two")
USERS = ("ann", "bob")
KEYS = 6
REVISIONS = 3
_COLUMNS = "n, id, tenant, namespace, key, revision, value, attributes, ended_at"


@dataclass(frozen=True)
class Stored:
    """A version as the file has it."""

    n: int
    id: bytes
    tenant: str
    namespace: str
    key: str
    revision: int
    value: bytes
    attributes: bytes
    ended_at: int | None


def content(tenant: str, path: tuple[str, ...], key: str, revision: int) -> dict[str, Any]:
    return {"tenant": tenant, "path": list(path), "key": key, "revision": revision}


def fill(memories: MemoriesSync) -> None:
    """The same addresses in two tenants, two users and the tenant's own part, three revisions each."""
    for tenant in TENANTS:
        view = memories.for_tenant(tenant)
        for revision in range(1, REVISIONS + 1):
            operations = []
            for path in [("user", user, "notes") for user in USERS] + [("shared",)]:
                for number in range(KEYS):
                    said = content(tenant, path, f"k{number}", revision)
                    operations.append(PutOp(path, f"k{number}", {"value": said}, attributes={"attributes": said}))
            view.batch(operations)


Edit = Callable[[apsw.Connection, Stored, Stored], Stored]
"""Does harm to a version, with the help of another; returns where the victim now is."""


def _set(db: apsw.Connection, victim: Stored, **columns: Any) -> Stored:
    names = ", ".join(f"{name} = ?" for name in columns)
    db.execute(f"UPDATE versions SET {names} WHERE n = ?", (*columns.values(), victim.n))
    return Stored(**{name: columns.get(name, getattr(victim, name)) for name in Stored.__dataclass_fields__})


def copy_value(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, value=other.value)


def copy_both(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, value=other.value, attributes=other.attributes)


def copy_attributes(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, attributes=other.attributes)


def swap_values(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    _set(db, other, value=victim.value)
    return _set(db, victim, value=other.value)


def swap_fields(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, value=victim.attributes, attributes=victim.value)


def attributes_as_value(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, value=victim.attributes)


def another_revision(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, revision=victim.revision + random.choice((7, 8, 9)))


def another_id(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, id=random.randbytes(16))


def another_namespace(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, namespace=victim.namespace + "d")


def another_key(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, key=victim.key + "d")


def another_tenant(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    return _set(db, victim, tenant="three")


def in_place_of_another(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    """The whole version under the name of another one, which makes room."""
    _set(db, other, key="moved away")
    place = {name: getattr(other, name) for name in ("tenant", "namespace", "key", "revision", "ended_at")}
    return _set(db, victim, **place)


def flip_bit(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    name = random.choice(("value", "attributes"))
    sealed = bytearray(getattr(victim, name))
    sealed[random.randrange(len(sealed))] ^= 1 << random.randrange(8)
    return _set(db, victim, **{name: bytes(sealed)})


def another_length(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    sealed = victim.value
    cut = sealed[: random.randrange(len(sealed))]
    return _set(db, victim, value=random.choice((cut, sealed + b"\0", sealed[1:], sealed * 2, b"")))


def another_header(db: apsw.Connection, victim: Stored, other: Stored) -> Stored:
    """The victim's own text under another key's name, or with another nonce."""
    cut = 29 if other.value[:17] == victim.value[:17] else random.choice((17, 29))
    return _set(db, victim, value=other.value[:cut] + victim.value[cut:])


EDITS: tuple[Edit, ...] = (
    copy_value,
    copy_both,
    copy_attributes,
    swap_values,
    swap_fields,
    attributes_as_value,
    another_revision,
    another_id,
    another_namespace,
    another_key,
    another_tenant,
    in_place_of_another,
    flip_bit,
    another_length,
    another_header,
)


def relatives(victim: Stored, all_rows: list[Stored]) -> list[list[Stored]]:
    """Others to do harm with: older revisions, the twin of another tenant, another subject, anybody."""
    others = [row for row in all_rows if row.n != victim.n]
    same_key = [r for r in others if (r.tenant, r.namespace, r.key) == (victim.tenant, victim.namespace, victim.key)]
    twins = [r for r in others if (r.namespace, r.key, r.revision) == (victim.namespace, victim.key, victim.revision)]
    subjects = [r for r in others if r.tenant == victim.tenant and r.namespace != victim.namespace]
    return [same_key, twins, subjects, others]


def read(memories: MemoriesSync, at: Stored, turn: int) -> list[recollect.Item]:
    """Everything a reader can get of the version where it now is, by one of the ways to ask."""
    view = memories.for_tenant(at.tenant)
    path = decode_namespace(at.namespace).segments
    found: list[recollect.Item | None]
    match turn % 4:
        case 0 if at.ended_at is None:
            found = [view.get(path, at.key)]
        case 1 if at.ended_at is None:
            found = list(view.search(path, limit=1_000))
        case 2:
            found = [view.get_by_id(UUID(bytes=at.id))]
        case _:
            found = list(view.history(path, at.key))
    return [item for item in found if item is not None and (item.key, item.revision) == (at.key, at.revision)]


def attempt(memories: MemoriesSync, db: apsw.Connection, edit: Edit, victim: Stored, other: Stored, turn: int) -> str:
    """Do the harm, read, and undo it; says how the harm was met."""
    db.execute("SAVEPOINT before")
    at = edit(db, victim, other)
    db.execute("RELEASE before")
    try:
        found = read(memories, at, turn)
    except SealBroken:
        return "refused"
    finally:
        for row in (victim, other):
            _set(db, row, **{name: getattr(row, name) for name in Stored.__dataclass_fields__ if name != "n"})
    assert all(item.value is None and item.attributes is None for item in found), f"{edit.__name__} went unnoticed"
    return "not returned"


@contextmanager
def prepared(folder: Path) -> Iterator[tuple[MemoriesSync, apsw.Connection, list[Stored]]]:
    with recollect.open_sync(folder) as memories:
        fill(memories)
        with raw(folder / DATA) as db:
            rows = [Stored(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM versions")]
            yield memories, db, rows


def run(memories: MemoriesSync, db: apsw.Connection, rows: list[Stored], count: int) -> Counter[str]:
    met: Counter[str] = Counter()
    for turn, edit in zip(range(count), cycle(EDITS), strict=False):
        victim = random.choice(rows)
        other = random.choice(random.choice(relatives(victim, rows)))
        met[attempt(memories, db, edit, victim, other, turn)] += 1
    return met


@sized(1_000, 10_000)
def test_no_moved_or_altered_ciphertext_is_ever_read(count: int, tmp_path: Path) -> None:
    random.seed(count)
    with prepared(tmp_path / "data") as (memories, db, rows):
        met = run(memories, db, rows, count)
        for tenant in TENANTS:  # every harm was undone: all is readable again
            found = memories.for_tenant(tenant).search((), limit=1_000)
            assert len(found) == (len(USERS) + 1) * KEYS
            assert all(item.value == {"value": content(tenant, item.namespace, item.key, 3)} for item in found)
    print(f"ciphertexts moved or altered: {count:,}; {dict(met)}; read as if nothing had happened: 0")
    assert met.total() == count
    assert met["refused"] > 0.9 * count


BINDING = "recollect.backends.keyring.envelope.binding"


def forgetting_row_and_revision(tenant: str, address: Address, _: bytes, __: int, field: str, key: bytes) -> bytes:
    return binding(tenant, address, b"", 0, field, key)


def forgetting_the_field(tenant: str, address: Address, row_id: bytes, revision: int, _: str, key: bytes) -> bytes:
    return binding(tenant, address, row_id, revision, "", key)


@pytest.mark.parametrize("forgetful", [forgetting_row_and_revision, forgetting_the_field])
def test_a_seal_that_forgets_part_of_its_place_is_caught(forgetful: object, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(BINDING, forgetful)
    with prepared(tmp_path / "data") as (memories, db, rows), pytest.raises(AssertionError, match="unnoticed"):
        run(memories, db, rows, 1_000)


# -- canaries

CANARY = b"canary-in-the-coal-mine"
CANARIES = 1_000


def canary(number: int) -> str:
    return f"{CANARY.decode()}-{number:04}"


def live_and_die(memories: MemoriesSync, clock: ManualClock) -> int:
    """Values and attributes with canaries that are written, replaced, deleted, expired and swept."""
    numbers = iter(range(CANARIES))
    for number in numbers:
        path = ("user", f"u{number % 7}") if number % 2 else ("shared", "part")
        ttl = 5.0 if number % 5 == 0 else None
        memories.put(
            path, f"k{number % 90}", {"said": canary(number)}, attributes={canary(next(numbers)): True}, ttl=ttl
        )
        if number % 11 == 0:
            memories.delete(path, f"k{number % 90}")
        if number % 97 == 0:
            clock.advance(10)
            memories.sweep()
    return CANARIES


def test_no_canary_is_in_any_file(tmp_path: Path) -> None:
    clock, folder = ManualClock(), tmp_path / "data"
    settings = recollect.Settings(keep_superseded_seconds=20, keep_tombstones_seconds=20)
    with recollect.open_sync(folder, settings=settings, clock=clock) as memories:
        assert live_and_die(memories, clock) == CANARIES
        memories.backup(tmp_path / "backup.db")
        assert any(CANARY.decode() in str(item.value) for item in memories.search((), limit=1_000))
        assert len(list(folder.rglob("*"))) >= 6, "the write-ahead logs should be there to be searched"
        assert files_with(tmp_path, CANARY) == []
    assert files_with(tmp_path, CANARY) == []
    print(f"canaries in values and attributes: {CANARIES:,}; found in files: 0")


def test_the_scan_finds_a_canary_that_lies_open(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        memories.put(("shared",), canary(0), {})
        assert files_with(tmp_path, CANARY) != []


def test_no_canary_is_in_errors_logs_or_representations(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = canary(1)
    said: list[str] = []
    with recollect.open_sync(tmp_path / "data") as memories:
        said.append(repr(memories.put(("user", "ann"), "k", {"said": secret}, attributes={"also": secret})))
        refusals: list[Callable[[], object]] = [
            lambda: memories.put(("user", "ann"), "k", {"said": secret}, expected_revision=7),
            lambda: memories.put(("user", "ann"), "k", {"said": secret, "bad": float("nan")}),
            lambda: memories.put(("user", "ann"), "k", {"said": {secret}}),
            lambda: memories.put(("user", "ann"), "k", {"said": secret + "\ud800"}),
            lambda: memories.put(("user", "ann"), "k", {}, attributes={"said": secret + "\x00"}),
            lambda: memories.put(("user", "ann"), "k", [secret]),  # type: ignore[arg-type] # that is the point
        ]
        for refused in refusals:
            with pytest.raises(RecollectError) as caught:
                refused()
            said += [str(caught.value), repr(caught.value), repr(caught.value.details)]
        memories.put(("user", "ann"), "k", {"said": secret}, attributes={"also": secret})
        said += [repr(memories.search(())), repr(memories.get(("user", "ann"), "k")), repr(memories)]
        said.append(repr(memories.events()))
        with raw(tmp_path / "data" / DATA) as db:
            db.execute("UPDATE versions SET value = attributes")
        with pytest.raises(SealBroken) as caught:
            memories.get(("user", "ann"), "k")
        said += [str(caught.value), repr(caught.value)]
    said += [caplog.text]
    assert not [text for text in said if CANARY.decode() in text]


def test_a_read_after_a_broken_seal_sees_what_was_written_since(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        memories.put(("user", "ann"), "k", {"turn": 1}, attributes={"turn": 1})
        with raw(tmp_path / "data" / DATA) as db:
            db.execute("UPDATE versions SET value = attributes")
        with pytest.raises(SealBroken) as kept:  # whoever keeps the error must not keep a snapshot with it
            memories.get(("user", "ann"), "k")
        memories.put(("user", "ann"), "k", {"turn": 2})
        item = memories.get(("user", "ann"), "k")
        assert item is not None
        assert item.value == {"turn": 2}
        assert kept.value is not None
