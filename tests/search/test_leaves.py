"""The equality of a value's leaves is looked up in the blinded index, and only what is found is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.backends.sqlite import SqliteStore
from recollect.config import Settings
from recollect.domain.address import ROOT, Address, scope
from recollect.domain.reasons import Plane
from recollect.service.memories import Memories

ANN = ("user", "ann")
VALUES: dict[str, dict[str, Any]] = {
    "a": {"kind": "note", "n": 1, "tags": ["x", "y"]},
    "b": {"kind": "note", "n": 1.0, "tags": []},
    "c": {"kind": "note", "n": "1", "deep": {"done": True}},
    "d": {"kind": "todo", "n": True, "deep": {"done": None}},
}


async def keys(memories: Memories, leaves: dict[str, Any], within: tuple[str, ...] = ()) -> str:
    place = scope(within) if within else ROOT
    rows = await memories.workings.searching.having("default", place, leaves, Plane.ITEM)
    return "".join(row.address.key for row in rows)


@pytest.mark.parametrize("place", [":memory:", "folder"])
async def test_leaves_are_found_by_path_and_value_without_conversion(place: str, tmp_path: Path) -> None:
    path = place if place == ":memory:" else tmp_path / place
    async with recollect.open(path, settings=Settings(embedder="none")) as memories:
        for key, value in VALUES.items():
            await memories.put(ANN, key, value, wait="indexed")
        await memories.put(("user", "bob"), "e", VALUES["a"], wait="indexed")
        assert await keys(memories, {"kind": "note"}, ANN) == "cba"
        assert await keys(memories, {"kind": "note"}) == "ecba"
        assert await keys(memories, {"n": 1}, ANN) == "ba"
        assert await keys(memories, {"n": "1"}, ANN) == "c"
        assert await keys(memories, {"n": True}, ANN) == "d"
        assert await keys(memories, {"tags": "y"}, ANN) == "a"
        assert await keys(memories, {"deep.done": None}, ANN) == "d"
        assert await keys(memories, {"kind": "note", "n": 1, "tags": "x"}, ANN) == "a"
        assert await keys(memories, {"kind": "nothing"}, ANN) == ""
        await memories.put(ANN, "a", {"kind": "other"}, wait="indexed")
        await memories.delete(ANN, "b")
        assert await keys(memories, {"kind": "note"}, ANN) == "c"


async def test_only_what_is_found_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with recollect.open(tmp_path / "data", settings=Settings(embedder="none")) as memories:
        for number in range(200):
            await memories.put(ANN, f"k{number}", {"n": number})
        await memories.trigger_index()
        assert await keys(memories, {"n": 7}, ANN) == "k7"
        opened: list[str] = []
        store = memories.workings.store
        assert isinstance(store, SqliteStore)
        plain = store._reader._open

        def counted(tenant: str, address: Address, row_id: bytes, revision: int, field: str, sealed: bytes) -> bytes:
            opened.append(address.key)
            return plain(tenant, address, row_id, revision, field, sealed)

        monkeypatch.setattr(store._reader, "_open", counted)
        assert await keys(memories, {"n": 9}, ANN) == "k9"
        assert [key for key in opened if key.startswith("k")] == ["k9"]
