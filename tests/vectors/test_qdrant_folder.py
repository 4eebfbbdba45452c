"""Qdrant in a folder: who may use it, and what happens when it is not as it should be."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.domain.errors import InvalidSetting, VectorsUnavailable
from recollect.ports.vectors import Followed
from recollect.testing.contract.vectors import LINE, NOW, SCOPE, point, unit

_OPENS = "import sys; from pathlib import Path; from recollect.backends.qdrant import *; "


def test_one_process_at_a_time_may_use_it(tmp_path: Path) -> None:
    first = QdrantVectors(QdrantOptions(path=tmp_path))
    with pytest.raises(InvalidSetting, match="another process uses the folder"):
        QdrantVectors(QdrantOptions(path=tmp_path))
    opening = [sys.executable, "-c", f"{_OPENS} QdrantVectors(QdrantOptions(path=Path(sys.argv[1])))", str(tmp_path)]
    other = subprocess.run(opening, capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert "InvalidSetting: another process uses the folder" in other.stderr
    first.close()
    QdrantVectors(QdrantOptions(path=tmp_path)).close()


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidSetting, match="cannot be used"):
        QdrantVectors(QdrantOptions(path=tmp_path / "file"))


def test_what_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "recollect_8_test-model.unfinished" / "segments").mkdir(parents=True)
    vectors = QdrantVectors(QdrantOptions(path=tmp_path))
    assert vectors.lines("acme") == []
    vectors.write(LINE, 1, [point(1, unit(1))], [], NOW)
    assert vectors.lines("acme") == [LINE]
    vectors.close()
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_broken_shard_is_trouble_with_advice(tmp_path: Path) -> None:
    vectors = QdrantVectors(QdrantOptions(path=tmp_path))
    vectors.follow(LINE, Followed(1, NOW))
    vectors.close()
    (config,) = tmp_path.glob("*/edge_config.json")
    config.write_text("not this")
    again = QdrantVectors(QdrantOptions(path=tmp_path))
    with pytest.raises(VectorsUnavailable, match="delete the folder"):
        again.followed(LINE)
    again.close()


@pytest.mark.parametrize("model", ["Model-A", "model-a", "org/model:v1.5", "é 日", "a=2Fb", "a_8_b", "..", ""])
def test_a_model_of_any_name_has_a_collection_of_its_own(model: str, tmp_path: Path) -> None:
    vectors = QdrantVectors(QdrantOptions(path=tmp_path))
    line = replace(LINE, model=model)
    vectors.follow(line, Followed(3, NOW))
    assert vectors.lines("acme") == [line]
    assert vectors.followed(replace(line, model=model + "x")) is None
    vectors.close()
    assert {each.parent for each in tmp_path.rglob("edge_config.json")} == set(tmp_path.glob("recollect_8_*.shard"))


def test_a_model_with_too_long_a_name_is_refused(tmp_path: Path) -> None:
    vectors = QdrantVectors(QdrantOptions(path=tmp_path))
    with pytest.raises(InvalidSetting, match="too long"):
        vectors.nearest(replace(LINE, model="é" * 100), SCOPE, unit(1), 1)
    vectors.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"url": "http://127.0.0.1:6333", "path": Path("folder")},
        {"url": "qdrant.example.com"},
        {"url": "ftp://qdrant.example.com"},
        {"url": "http://"},
        {"url": "http://host:port"},
        {"url": "http://user:secret@host:6333"},
        {"url": "http://host:6333", "seconds": 0},
    ],
)
def test_options_say_where_qdrant_is(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidSetting) as refused:
        QdrantOptions(**wrong)  # type: ignore[arg-type] # that they are wrong is the point
    assert "secret" not in refused.value.message


def test_the_key_does_not_print_itself() -> None:
    assert "secret" not in repr(QdrantOptions(url="https://qdrant.example.com", key="secret"))
