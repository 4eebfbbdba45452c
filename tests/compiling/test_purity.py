"""Compiling is a pure function: the same past gives the same bytes, wherever and however often."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count as count_from
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.compiling.golden import PLACE, SCENES, written
from tests.compiling.made import dispute, memory_told, random_memories, random_state, shuffled
from tests.sizes import sized

from recollect.domain.compiling import filling
from recollect.domain.compiling.codes import Form
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import Pack, canonical
from recollect.domain.compiling.rendering import rendered_text
from recollect.domain.compiling.states import state_of
from recollect.domain.compiling.templates import DEFAULT, template_of
from recollect.domain.recall.memories import Memory

_ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("scene", SCENES)
def test_a_pack_has_the_bytes_that_are_kept(scene: str) -> None:
    assert written(SCENES[scene]()) == (PLACE / f"{scene}.json").read_bytes()


def test_every_file_that_is_kept_is_compared() -> None:
    assert {each.stem for each in PLACE.iterdir()} == SCENES.keys()


def test_other_processes_make_the_same_packs() -> None:
    def told(seed: str) -> str:
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}"}
        command = [sys.executable, "-m", "tests.compiling.golden"]
        done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    here = "".join(f"{scene} {make().hash}\n" for scene, make in SCENES.items())
    assert [told(seed) for seed in ("0", "1", "4242")] == [here] * 3


def _pack(chance: Random, order: Random | None) -> Pack:
    """A random pack, its JSON with the members in the order that it has, or in another."""

    def given(value: Any) -> Any:
        return value if order is None else shuffled(value, order)

    memories = [msgspec.to_builtins(each) for each in random_memories(chance)]
    state = msgspec.to_builtins(random_state(chance))
    return compiled(
        msgspec.convert(given(memories), list[Memory]),
        given([dispute(1), dispute(2)]),
        state_of(given(state)),
        budget=chance.randint(50, 2_000),
        template=template_of(given(msgspec.to_builtins(DEFAULT))),
        form=chance.choice(list(Form)),
    )


def differing(count: int) -> int:
    """How many of so many packs come out otherwise when they are made again, in another order of members."""
    found = 0
    for seed in range(count):
        first, again, other = (_pack(Random(seed), order) for order in (None, None, Random(seed + 1)))
        found += len({(canonical(each), each.hash, rendered_text(each)) for each in (first, again, other)}) > 1
    return found


@sized(100, 2_000)
def test_the_same_input_gives_the_same_bytes_in_whatever_order_its_members_are(count: int) -> None:
    assert differing(count) == 0


def test_a_pack_that_depends_on_more_than_its_input_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count_from(0)
    monkeypatch.setattr(filling, "digest", lambda _: f"{next(numbers):064x}"[::-1])
    assert differing(5) == 5


def test_the_hash_tells_apart_what_differs() -> None:
    told = memory_told(1)
    packs = [
        _one(told),
        _one(told | {"text": "Ada drinks water."}),
        _one(told | {"id": "user:alice:semantic:2"}),
        _one(told, budget=501),
        _one(told, form=Form.MARKDOWN),
        _one(told, template=template_of(msgspec.to_builtins(DEFAULT) | {"version": 2})),
    ]
    assert len({each.hash for each in packs}) == len(packs)
    assert len({each.manifest.token for each in packs}) == len(packs)


def test_what_does_not_show_in_a_pack_does_not_change_it() -> None:
    told = memory_told(1)
    with_usage = told | {"usage": {"fetch_count": 3}, "score": 0.5, "explanation": {"similarity": 0.1}}
    assert canonical(_one(told)) == canonical(_one(with_usage))


def _one(told: dict[str, Any], **asked: Any) -> Pack:
    return compiled([msgspec.convert(told, Memory)], **({"budget": 500} | asked))
