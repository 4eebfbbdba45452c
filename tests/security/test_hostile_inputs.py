"""Whatever nonsense is asked: the documented error, in plain words, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.security.hostile_cases import ALL, NS

import recollect
from recollect import MemoriesSync, Settings
from recollect.domain import errors
from recollect.domain.errors import RecollectError
from recollect.domain.values import decode_value


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def memories(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoriesSync]:
    """One store for all cases: none may change it, and each looks."""
    folder: Path | str = ":memory:" if request.param == "memory" else tmp_path_factory.mktemp("hostile") / "data"
    with recollect.open_sync(folder) as opened:
        for number in range(5):
            opened.put(NS, f"k{number}", {"n": number}, policy_attributes={"topic": "a", "n": number})
            opened.for_tenant("other").put(NS, f"k{number}", {"n": number})
        opened.put(NS, "k", {"v": 1}, attributes={"a": 1}, policy_attributes={"topic": "b"})
        opened.delete(NS, "k4")
        yield opened


def everything(memories: MemoriesSync) -> list[object]:
    """All there is in all tenants that are involved."""
    found: list[object] = []
    for tenant in ("default", "other", "empty"):
        view = memories.for_tenant(tenant)
        found.append(view.head())
        found += [(item.row, item.value, item.attributes) for item in view.search(limit=1_000, order="key")]
        found += [event.entry.event for event in view.events(limit=1_000)]
        found += [item.row for item in view.history(NS, "k")]
    return found


def test_the_table_of_hostile_inputs_is_long_and_says_each_thing_once() -> None:
    names = [name for name, _, _ in ALL]
    assert len(names) == len(set(names))
    print(f"hostile inputs: {len(names)} on each of two backends")
    assert len(names) >= 60


@pytest.mark.parametrize(("call", "error"), [pytest.param(call, error, id=name) for name, call, error in ALL])
def test_a_hostile_input_is_refused_with_its_own_error_and_changes_nothing(
    memories: MemoriesSync, call: Callable[[Any], object], error: type[RecollectError]
) -> None:
    before = everything(memories)
    with pytest.raises(RecollectError) as caught:
        call(memories)
    assert type(caught.value) is error
    assert 10 <= len(caught.value.message) <= 600, "a message says what is wrong, and not everything there is"
    assert caught.value.message.isprintable()
    assert everything(memories) == before


def test_the_store_is_sound_after_all_of_it(memories: MemoriesSync) -> None:
    assert memories.verify().sound
    assert memories.for_tenant("other").verify().sound


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[]", b"null", b"NaN", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1, "a": 2}', b'{"a": 1e999}'),
        *(b'{"b": {"a": 1, "a": 1}}', b'{"a": "\\ud800"}', b'{"a": "\\u0000"}', b'{"a": "\xff"}', b"{'a': 1}"),
        *(b'{"a": 1,}', b'{"a": 01}', b'{"a": 1} {}', b'{"a": "\n"}', b'{"a": ' + b"9" * 5_000 + b"}"),
        *(b'{"a":' * 33 + b"1" + b"}" * 33, b'{"a":' * 100_000, b"[" * 100_000, b" " * (1 << 20) + b"{}", None, 5),
    ],
    ids=repr,
)
def test_json_about_which_parsers_disagree_is_refused(text: Any) -> None:
    with pytest.raises(errors.InvalidValue) as caught:
        decode_value(text)
    assert 10 <= len(caught.value.message) <= 600


@pytest.mark.parametrize(
    "wrong",
    [
        *({"max_depth": bad} for bad in (0, 65, True, "5", None)),
        *({"busy_seconds": bad} for bad in (0, -1, float("nan"), float("inf"), "5", None)),
        *({"reader_threads": bad} for bad in (0, 65, 1.5)),
        *({"keep_deleted_seconds": bad} for bad in (-1, 0.5, "1")),
        *({"master_key_command": bad} for bad in (5, b"x", "")),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_before_anything_is_opened(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidSetting):
        Settings(**wrong)


@pytest.mark.parametrize("tenant", ["", "a b", None, ["a"]])
def test_a_wrong_tenant_is_refused_before_anything_is_made(tenant: Any, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidTenant):
        recollect.open_sync(tmp_path / "data", tenant=tenant)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("target", [5, None, "a\x00b"])
def test_a_backup_to_nowhere_is_refused(target: Any, tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories, pytest.raises(errors.InvalidSetting):
        memories.backup(target)
