"""The power goes off at a random moment, and unsynced sectors survive or not by chance."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field

import apsw
from tests.faults.workload import DATA, KEYS, TENANT, Dump, dump, memory_files, open_store, program, raw
from tests.sizes import sized

from recollect.domain.address import decode_namespace, subject_of
from recollect.domain.events import Head
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.sync import drive
from recollect.testing.faults.files import MemoryFiles, Step
from recollect.testing.faults.power_loss import Disk, Image, Recorder, crashes

COMMITS = 40
IMAGES_PER_RUN = 250
OPENED_EVERY = 25
"""Every so many images, one is opened by the store itself and verified."""


@dataclass
class Run:
    """What was asked of the disk, and what had been acknowledged by when."""

    steps: list[Step] = field(default_factory=list)
    acknowledged: list[tuple[int, Head, bool]] = field(default_factory=list)
    """After how many steps, where the log ended, and whether the erasure was done."""
    states: list[Dump] = field(default_factory=list)
    """What is stored before anything was acknowledged, and after each acknowledgement."""

    def done_by(self, point: int) -> int:
        """How many acknowledgements had been given by then."""
        return sum(1 for position, _, _ in self.acknowledged if position <= point)


def recorded(seed: int, *, sealed: bool, synchronous: str, keys_synchronous: str) -> Run:
    run, chance = Run(), random.Random(seed)
    with memory_files() as files:
        recorder = Recorder(files)
        run.steps = recorder.steps
        opened = open_store(files, sealed=sealed, synchronous=synchronous, keys_synchronous=keys_synchronous)
        run.acknowledged.append((len(run.steps), Head(), False))
        for call in program(opened, chance, COMMITS):
            call()
            position = len(run.steps)
            head = drive(opened.store.head(TENANT))
            erased = opened.keyring is not None and bool(opened.keyring.destructions())
            run.acknowledged.append((position, head, erased))
        opened.close()
    run.states = _states(run)
    return run


def _states(run: Run) -> list[Dump]:
    """What was stored at each acknowledgement, read from files of which nothing is missing."""
    states: list[Dump] = [{}]
    disk, done = Disk(), 0
    with memory_files() as files:
        for position, head, _ in run.acknowledged:
            for step in run.steps[done:position]:
                disk.take(step)
            done = position
            files.contents = disk.left()
            with raw(files, DATA) as connection:
                states.append(dump(connection))
            told = [(row[1], row[2]) for row in states[-1]["tenants"]]
            assert told == ([(head.sequence, head.hash)] if head.sequence else []), "the harness itself lost something"
    return states


def judged(files: MemoryFiles, run: Run, point: int, image: Image, *, sealed: bool) -> str:
    """`whole`, or what is wrong with an image: `lost`, `corrupt`, `mixed`, or `returned` for a destroyed key."""
    acknowledged = run.done_by(point)
    files.contents = image
    try:
        with raw(files, DATA) as connection:
            if connection.execute("PRAGMA integrity_check").get != "ok":
                return "corrupt"
            found = dump(connection)
        if sealed and (flaw := _flaw_in_keys(files, run, acknowledged, found)):
            return flaw
    except apsw.Error:
        return "corrupt"
    if found in run.states[acknowledged : acknowledged + 2]:
        return "whole"
    return "lost" if found in run.states[:acknowledged] else "mixed"


def _flaw_in_keys(files: MemoryFiles, run: Run, acknowledged: int, found: Dump) -> str:
    """The file with the keys is sound, has each key that is still needed, and none that was destroyed."""
    with raw(files, KEYS) as connection:
        if connection.execute("PRAGMA integrity_check").get != "ok":
            return "corrupt"
        if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
            return "lost" if found.get("versions") or acknowledged else ""
        keys = dict(connection.execute("SELECT id, subject FROM keys"))
        gone = {subject for (subject,) in connection.execute("SELECT subject FROM destructions")}
    sealed = [(subject_of(decode_namespace(row[4])), row[17]) for row in found.get("versions", [])]
    needed = {value[1:17] for subject, value in sealed if value is not None and subject not in gone}
    if not needed <= set(keys):
        return "lost"
    if gone & set(keys.values()):
        return "returned"
    return "lost" if acknowledged and run.acknowledged[acknowledged - 1][2] and not gone else ""


def verified(files: MemoryFiles, run: Run, point: int, image: Image, *, sealed: bool) -> bool:
    """The store opens the image, finds it sound up to what was acknowledged, and can read every value."""
    files.contents = image
    _, head, _ = run.acknowledged[max(run.done_by(point) - 1, 0)]
    opened = open_store(files, sealed=sealed)
    try:
        if not drive(opened.store.verify(TENANT, expected=(head.sequence, head.hash) if head.sequence else None)).sound:
            return False
        gone = set() if opened.keyring is None else {each.subject for each in opened.keyring.destructions()}
        page = drive(opened.store.find(TENANT, Find(Plane.ITEM, limit=1000)))
        return all(row.value is not None for row in page.rows if subject_of(row.address.namespace) not in gone)
    finally:
        opened.close()


def crashed(
    count: int, *, sealed: bool = False, synchronous: str = "FULL", keys_synchronous: str = "FULL", seed: int = 1
) -> Counter[str]:
    """Make so many images, from as many recorded runs as that takes, and count what they turned out to be."""
    verdicts: Counter[str] = Counter()
    with memory_files() as files:
        for at in range(-(-count // IMAGES_PER_RUN)):
            chance = random.Random(f"{seed}/{at}")
            run = recorded(
                chance.getrandbits(32), sealed=sealed, synchronous=synchronous, keys_synchronous=keys_synchronous
            )
            wanted = min(IMAGES_PER_RUN, count - verdicts.total())
            points = [chance.randrange(len(run.steps) + 1) for _ in range(wanted)]
            for number, (point, image) in enumerate(crashes(run.steps, points, chance)):
                again = {path: bytearray(data) for path, data in image.items()}
                verdict = judged(files, run, point, image, sealed=sealed)
                if verdict == "whole" and number % OPENED_EVERY == 0:
                    verdict = "whole" if verified(files, run, point, again, sealed=sealed) else "unsound"
                verdicts[verdict] += 1
    return verdicts


@sized(1_500, 16_000)
def test_after_power_loss_everything_acknowledged_is_there_and_nothing_is_half_done(count: int) -> None:
    began = time.perf_counter()
    verdicts = crashed(count)
    print(f"power loss: {dict(verdicts)}, {count / (time.perf_counter() - began):.0f} images/s")
    assert verdicts == {"whole": count}


@sized(500, 4_000)
def test_after_power_loss_sealed_values_still_have_their_keys_and_destroyed_keys_stay_gone(count: int) -> None:
    began = time.perf_counter()
    verdicts = crashed(count, sealed=True)
    print(f"power loss, sealed: {dict(verdicts)}, {count / (time.perf_counter() - began):.0f} images/s")
    assert verdicts == {"whole": count}


def test_the_harness_finds_lost_commits_when_commits_are_not_synced() -> None:
    assert crashed(250, synchronous="NORMAL")["lost"] > 0


def test_the_harness_finds_lost_keys_when_only_the_keys_are_not_synced() -> None:
    assert crashed(500, sealed=True, keys_synchronous="NORMAL")["lost"] > 0


def test_the_harness_finds_damage_when_nothing_is_synced() -> None:
    verdicts = crashed(250, synchronous="OFF")
    assert verdicts["corrupt"] + verdicts["mixed"] > 0
