"""`verify` finds every edit, deletion, swap and truncation that raw SQL can make to the data file."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.security.datafile import DATA, raw
from tests.sizes import sized

import recollect
from recollect import MemoriesSync
from recollect.domain.address import Address, namespace
from recollect.domain.commits import Commit, Relabel
from recollect.domain.reasons import EndReason, EventKind, Plane
from recollect.domain.verification import LogChecker
from recollect.ports.store import Verification
from recollect.sync import drive
from recollect.testing.doubles import ManualClock

TENANTS = ("left", "right")
SETTINGS = recollect.Settings(keep_superseded_seconds=1_000, keep_deleted_seconds=100, keep_tombstones_seconds=5_000)
KEYED = {"events": ("tenant", "sequence"), "versions": ("n",), "tenants": ("tenant",)}
OPERATIONAL = {("versions", name) for name in ("n", "index_state", "index_attempts", "index_after")}
"""Columns in which nothing is said that anybody relies on: the row number, and what the index has seen."""
CHOICES: dict[str, list[Any]] = {
    "kind": [kind.value for kind in EventKind],
    "plane": [plane.value for plane in Plane][:3],
    "end_reason": [reason.value for reason in EndReason],
    "tenant": [*TENANTS, "nobody"],
    "kept": [0, 1, 2],
    "policy_attributes": ["{}", '{"topic":"z"}'],
}


@dataclass(frozen=True)
class Original:
    """A sound data directory that nobody has open, with the heads that were noted elsewhere."""

    folder: Path
    heads: dict[str, str]
    older: Path
    """A backup from before the last writes."""
    columns: dict[str, list[tuple[str, str, bool]]]
    """Per table: name, type and whether it may be NULL."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    base = tmp_path_factory.mktemp("tampering")
    clock = ManualClock()
    with recollect.open_sync(base / "data", settings=SETTINGS, clock=clock) as memories:
        for tenant in TENANTS:
            live_through(memories.for_tenant(tenant, actor="somebody"), clock)
        memories.backup(base / "older.db")
        for tenant in TENANTS:
            memories.for_tenant(tenant).put(("shared",), "last", {"n": tenant})
        heads = {tenant: memories.for_tenant(tenant).head() for tenant in TENANTS}
        assert all(memories.for_tenant(tenant).verify(head=heads[tenant]).sound for tenant in TENANTS)
    with raw(base / "data" / DATA) as db:
        columns = {table: [(row[1], row[2], not row[3]) for row in _columns(db, table)] for table in KEYED}
        kept = Counter(row[0] for row in db.execute("SELECT kept FROM events"))
        reasons = {row[0] for row in db.execute("SELECT end_reason FROM versions")}
        pinned = {row[0] for row in db.execute("SELECT end_reason FROM versions WHERE pinned_sequence IS NOT NULL")}
        relabelled = Counter(row[0] for row in db.execute(_STATES_OF_RELABELLED))
    assert all(kept[state] > 4 for state in (0, 1, 2)), f"whole, emptied and purged versions are needed: {kept}"
    assert reasons == {None, *(reason.value for reason in EndReason)}
    assert pinned >= {None, "updated"}, "relabelled versions are needed, live and ended"
    assert all(relabelled[state] > 4 for state in (0, 1, 2)), f"and whole, emptied and purged ones: {relabelled}"
    return Original(base / "data", heads, base / "older.db", columns)


_STATES_OF_RELABELLED = """
SELECT o.kept FROM events r JOIN events o ON o.tenant = r.tenant AND o.row_id = r.row_id AND o.kind IN ('add', 'update')
WHERE r.kind = 'relabelled'
"""


def _columns(db: apsw.Connection, table: str) -> list[Any]:
    return list(db.execute(f"PRAGMA table_info({table})"))


def live_through(memories: MemoriesSync, clock: ManualClock) -> None:
    """Everything that can happen to a version: relabelled, replaced, deleted, expired, erased, evicted and purged."""
    for age in range(3):
        for number in range(6):
            path = ("user", f"u{number % 3}", "notes") if number % 2 else ("shared", f"s{number % 2}")
            policy = {"topic": "abc"[number % 3], "n": number}
            for again in range(3):
                said = {"age": age, "again": again}
                memories.put(path, f"k{age}{number}", said, attributes={"a": again}, policy_attributes=policy)
                clock.advance(1)
                relabel(memories, path, f"k{age}{number}", times=(number + again) % 3)
            memories.put(("shared", "short"), f"t{age}{number}", {"age": age}, ttl=50)
            memories.put(("shared", "doomed"), f"d{age}{number}", {"age": age})
            relabel(memories, ("shared", "short"), f"t{age}{number}", times=number % 2)
            relabel(memories, ("shared", "doomed"), f"d{age}{number}", times=number % 2)
            memories.delete(("shared", "doomed"), f"d{age}{number}")
        clock.advance(60)
        memories.sweep()
        memories.erase(f"user:u{age}")
        clock.advance(2_500)
        memories.sweep()
    memories.put(("shared", "short"), "again", {"expires": True}, ttl=10)
    memories.put(("user", "u2"), "back", {"again": True})
    for again in range(3):
        memories.put(("shared", "new"), "k", {"again": again})
        relabel(memories, ("shared", "new"), "k", times=1)
        clock.advance(1)
    memories.delete(("shared", "new"), "k")
    clock.advance(20)
    memories.sweep()


def relabel(memories: MemoriesSync, path: Sequence[str], key: str, *, times: int) -> None:
    """Let the policy attributes be computed anew so often, each time with another result."""
    inner, item = memories._memories, memories.get(path, key)
    assert item is not None
    for level in range(times):
        wish = Relabel(Address(Plane.ITEM, namespace(path), key), item.revision, f'{{"level":{level}}}')
        done = drive(inner._store.commit(Commit(inner._tenant, (wish,))))
        assert done.outcomes[0].kind is EventKind.RELABELLED


# -- harm

Harm = Callable[[apsw.Connection, Original], str | None]
"""Does one thing to the file and says what; None when chance picked something that changes nothing."""


def _rows(db: apsw.Connection, table: str) -> list[dict[str, Any]]:
    cursor = db.execute(f"SELECT * FROM {table}")
    names: list[str] = []
    found = []
    for row in cursor:
        names = names or [description[0] for description in cursor.get_description()]
        found.append(dict(zip(names, row, strict=True)))
    return found


def _where(table: str, row: dict[str, Any]) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} = ?" for name in KEYED[table]), [row[name] for name in KEYED[table]]


def _write(db: apsw.Connection, table: str, row: dict[str, Any], changes: dict[str, Any]) -> bool:
    """Change a row, unless the schema itself forbids it."""
    where, at = _where(table, row)
    names = ", ".join(f"{name} = ?" for name in changes)
    try:
        db.execute(f"UPDATE {table} SET {names} WHERE {where}", [*changes.values(), *at])
    except apsw.ConstraintError:
        return False
    return True


def _other(name: str, kind: str, nullable: bool, old: Any, rows: Sequence[dict[str, Any]]) -> Any:
    """Another legal value for a column: one of its choices, a neighbour's, a near one or a far one."""
    options: list[Any] = [row[name] for row in random.sample(rows, min(3, len(rows)))] + CHOICES.get(name, [])
    if nullable:
        options.append(None)
    if name not in CHOICES:
        match kind:
            case "INTEGER":
                options += [(old or 0) + random.choice((-1, 1, 1_000)), random.randrange(1 << 40)]
            case "TEXT":
                options += [(old or "") + "x", "other", (old or "x")[:-1] or "y"]
            case "BLOB":
                flipped = bytearray(old or b"\0")
                flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
                options += [bytes(flipped), random.randbytes(32), bytes(flipped[:-1]) or b"\1"]
    different = [option for option in options if option != old]
    return random.choice(different) if different else old


def edit_column(db: apsw.Connection, original: Original, table: str, name: str) -> str | None:
    kind, nullable = next((kind, nullable) for each, kind, nullable in original.columns[table] if each == name)
    rows = _rows(db, table)
    row = random.choice(rows)
    new = _other(name, kind, nullable, row[name], rows)
    if new == row[name] or not _write(db, table, row, {name: new}):
        return None
    return f"edit of {table}.{name} from {row[name]!r} to {new!r} in {_told(table, row)}"


def delete_row(db: apsw.Connection, original: Original) -> str | None:
    table = random.choice(("events", "versions", "tenants"))
    row = random.choice(_rows(db, table))
    where, at = _where(table, row)
    db.execute(f"DELETE FROM {table} WHERE {where}", at)
    return f"deletion of {_told(table, row)}"


def swap_rows(db: apsw.Connection, original: Original) -> str | None:
    """The contents of two rows exchanged: all of them, or those of one column."""
    table = random.choice(("events", "versions", "tenants"))
    one, two = random.sample(_rows(db, table), 2)
    names = [name for name in one if name not in KEYED[table] and (table, name) not in OPERATIONAL]
    if random.random() < 0.5:
        names = [random.choice(names)]
    elif table == "versions":  # with their identity as well, only the row numbers would have changed
        names = names[names.index("created_at") :]
    if all(one[name] == two[name] for name in names):
        return None
    parked = {name: b"parked" if name == "id" else one[name] for name in names}
    first, second = {name: two[name] for name in names}, {name: one[name] for name in names}
    if not (_write(db, table, one, parked) and _write(db, table, two, second) and _write(db, table, one, first)):
        return None
    return f"swap of {', '.join(names)} between {_told(table, one)} and {_told(table, two)}"


def cut_tail(db: apsw.Connection, original: Original) -> str | None:
    tenant, length = random.choice(TENANTS), random.randint(1, 20)
    last = db.execute("SELECT max(sequence) FROM events WHERE tenant = ?", (tenant,)).get
    db.execute("DELETE FROM events WHERE tenant = ? AND sequence > ?", (tenant, last - length))
    return f"the last {length} events of {tenant} cut off"


def set_back(db: apsw.Connection, original: Original) -> str | None:
    """A version that was relabelled twice or more, with the attributes of an earlier time and the claim to that."""
    row = random.choice([row for row in _rows(db, "versions") if row["pinned_sequence"] is not None])
    earlier = _relabellings(db, row)[:-1]
    if not earlier:
        return None
    level = random.randrange(len(earlier))
    _write(db, "versions", row, {"policy_attributes": f'{{"level":{level}}}', "pinned_sequence": earlier[level]})
    return f"attributes set back to those of event {earlier[level]} in {_told('versions', row)}"


def claim_another(db: apsw.Connection, original: Original) -> str | None:
    """A version that claims another relabelling: one of its own, one of another version, or one that never was."""
    row = random.choice([row for row in _rows(db, "versions") if row["value"] is not None])
    sql = "SELECT sequence FROM events WHERE tenant = ? AND kind = 'relabelled'"
    others = [other for (other,) in db.execute(sql, (row["tenant"],))] + [0, 1, row["sequence"], 1 << 40]
    claimed = random.choice([other for other in others if other != row["pinned_sequence"]])
    _write(db, "versions", row, {"pinned_sequence": claimed})
    return f"a claim to event {claimed} in {_told('versions', row)}"


def _relabellings(db: apsw.Connection, row: dict[str, Any]) -> list[int]:
    sql = "SELECT sequence FROM events WHERE tenant = ? AND row_id = ? AND kind = 'relabelled' ORDER BY sequence"
    return [sequence for (sequence,) in db.execute(sql, (row["tenant"], row["id"]))]


def _told(table: str, row: dict[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if not isinstance(value, bytes)}
    return f"{table} {shown}"


def all_harms(original: Original) -> list[Harm]:
    """One harm per column that says something, and the others as often as they deserve."""
    harms: list[Harm] = []
    for table, columns in original.columns.items():
        for name, _, _ in columns:
            if (table, name) not in OPERATIONAL:
                harms.append(lambda db, o, table=table, name=name: edit_column(db, o, table, name))  # type: ignore[misc] # bound now
    harms += [set_back, claim_another] * 3
    return [*harms, *([delete_row] * 6), *([swap_rows] * 10), *([cut_tail] * 3)]


# -- the proof


def verified(folder: Path, heads: dict[str, str] | None = None) -> list[Verification]:
    with recollect.open_sync(folder) as memories:
        return [memories.for_tenant(name).verify(head=heads[name] if heads else None) for name in TENANTS]


def harmed(original: Original, folder: Path, harm: Harm) -> str | None:
    """A copy of the data directory with one harm done to it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original.folder, folder)
    with raw(folder / DATA) as db:
        return harm(db, original)


def unnoticed(original: Original, folder: Path, count: int) -> tuple[int, list[str]]:
    """Do harm so many times; returns how often, and what `verify` did not notice."""
    done, missed = 0, []
    harms = cycle(all_harms(original))
    for _ in range(count * 10):
        if done == count:
            break
        said = harmed(original, folder, next(harms))
        if said is not None:
            done += 1
            if all(report.sound for report in verified(folder)):
                missed.append(said)
    return done, missed


@sized(200, 1_000)
def test_verify_finds_every_single_harm(count: int, original: Original, tmp_path: Path) -> None:
    random.seed(count)
    done, missed = unnoticed(original, tmp_path / "copy", count)
    print(f"tampering: {done:,} harms, {done - len(missed):,} found by verify")
    assert done == count
    assert not missed, f"{len(missed)} of {done} went unnoticed:\n" + "\n".join(missed)


@pytest.mark.parametrize("length", [1, 2, 7, 30])
@pytest.mark.parametrize("tenant", TENANTS)
def test_a_tail_cut_off_together_with_its_head_is_found(
    tenant: str, length: int, original: Original, tmp_path: Path
) -> None:
    def cut(db: apsw.Connection, _: Original) -> str:
        keep = db.execute("SELECT max(sequence) FROM events WHERE tenant = ?", (tenant,)).get - length
        db.execute("DELETE FROM events WHERE tenant = ? AND sequence > ?", (tenant, keep))
        sql = "UPDATE tenants SET (sequence, hash) = (SELECT sequence, hash FROM events e "
        db.execute(sql + "WHERE e.tenant = tenants.tenant AND e.sequence = ?) WHERE tenant = ?", (keep, tenant))
        return "cut"

    harmed(original, tmp_path / "copy", cut)
    assert not all(report.sound for report in verified(tmp_path / "copy", original.heads))


def test_a_file_set_back_to_an_older_state_is_found_only_with_a_head_noted_elsewhere(
    original: Original, tmp_path: Path
) -> None:
    harmed(original, tmp_path / "copy", lambda *_: None)
    shutil.copy(original.older, tmp_path / "copy" / DATA)
    assert all(report.sound for report in verified(tmp_path / "copy"))
    assert not any(report.sound for report in verified(tmp_path / "copy", original.heads))


def test_a_log_emptied_by_pretending_it_was_trimmed_is_found_with_the_head(original: Original, tmp_path: Path) -> None:
    def empty(db: apsw.Connection, _: Original) -> str:
        db.execute("UPDATE tenants SET trimmed = sequence, trimmed_hash = x'00', hash = x'00'")
        db.execute("DELETE FROM events")
        db.execute("DELETE FROM versions")
        return "emptied"

    harmed(original, tmp_path / "copy", empty)
    assert not any(report.sound for report in verified(tmp_path / "copy", original.heads))


def test_a_forged_version_is_found(original: Original, tmp_path: Path) -> None:
    def forge(db: apsw.Connection, _: Original) -> str:
        row = random.choice([row for row in _rows(db, "versions") if row["tenant"] == "left"])
        row |= {"n": None, "id": random.randbytes(16), "key": "forged"}
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO versions ({', '.join(row)}) VALUES ({marks})", list(row.values()))
        return "forged"

    harmed(original, tmp_path / "copy", forge)
    assert [report.sound for report in verified(tmp_path / "copy")] == [False, True]


def test_nothing_is_found_where_no_harm_was_done(original: Original, tmp_path: Path) -> None:
    harmed(original, tmp_path / "copy", lambda *_: None)
    assert [report.problems for report in verified(tmp_path / "copy", original.heads)] == [(), ()]


def test_a_verify_that_believes_whatever_relabelling_is_claimed_is_caught(
    original: Original, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(LogChecker, "_relabelled", lambda *_: None)
    random.seed(1)
    _, missed = unnoticed(original, tmp_path / "copy", 100)
    assert any("attributes set back" in said for said in missed)


def test_a_verify_that_forgets_the_hash_is_caught(original: Original, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.domain.verification.rehash", lambda event: event.hash)
    random.seed(1)
    _, missed = unnoticed(original, tmp_path / "copy", 100)
    assert any("edit of events." in said for said in missed)
