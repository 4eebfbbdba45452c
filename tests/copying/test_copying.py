"""A whole deployment moves from engine to engine and stays what it is, however often the copy is killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.typed import environment
from tests.copying.deployment import TENANTS, lived, opens, records
from tests.sizes import sized

from recollect.domain.stored import Shelf

PATIENCE = 3_600


def copying(source: str, target: str, home: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "recollect", "copy", source, target, "--json", *words]
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    said, trouble = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, trouble.decode()
    told: dict[str, Any] = json.loads(said)
    return told


def _quickly(target: str, count: int) -> list[str]:
    """FerretDB looks through everything for each thing it is asked, so verifying much there takes hours."""
    return ["--quick"] if target.startswith("mongodb") and count > 10_000 else []


def killed_now_and_then(source: str, target: str, home: Path, kills: int, longest: float, chance: random.Random) -> int:
    """Begin to copy, and kill that after a random time, so often; return how many died in the middle."""
    died = 0
    for _ in range(kills):
        process = copying(source, target, home)
        time.sleep(chance.uniform(0.3, longest))
        process.kill()
        process.communicate(timeout=PATIENCE)
        died += process.returncode == -9
    return died


@sized(120, 50_000)
def test_a_deployment_goes_round_the_engines_and_is_the_same(
    count: int, tmp_path: Path, postgres: str, documents: str
) -> None:
    home, back, chance = tmp_path / "home", tmp_path / "back", random.Random(count)
    lived(home, count)
    before = records(str(home), home)
    assert len(before[Shelf.VERSIONS]) > count
    assert {each.tenant for each in before[Shelf.TENANTS]} >= {*TENANTS, "default"}
    kills, longest = (1, 1.2) if count < 10_000 else (4, 8.0)
    for source, target in ((str(home), postgres), (postgres, documents), (documents, str(back))):
        died = killed_now_and_then(source, target, home, kills, longest, chance)
        began = time.monotonic()
        told = finished(copying(source, target, home, *_quickly(target, count)))
        took = time.monotonic() - began
        where = target.partition(":")[0] if "://" in target else "sqlite"
        print(f"\n{where}: {told['written']:,} written in {took:.1f} s after {died} kills, {told['keys']} keys")
        assert records(target, home) == before
        assert told["versions"] == len(before[Shelf.VERSIONS])
        assert told["events"] == len(before[Shelf.EVENTS])
    again = finished(copying(str(home), postgres, home))
    assert again["written"] == 0
    opens(str(back), back)
    opens(postgres, home)


@pytest.mark.soak
def test_a_copy_that_is_not_interrupted_writes_every_record_once(tmp_path: Path, postgres: str, documents: str) -> None:
    count, home = 50_000, tmp_path / "home"
    lived(home, count)
    before = records(str(home), home)
    for source, target in ((str(home), postgres), (postgres, documents), (documents, str(tmp_path / "back"))):
        told = finished(copying(source, target, home, *_quickly(target, count)))
        amount = sum(len(found) for found in before.values())
        assert told["written"] == amount
        print(f"\n{source.partition(':')[0]} → {target.partition(':')[0]}: {told['seconds']:.1f} s, {amount:,} records")
        assert records(target, home) == before
