"""Writes the Python of the gRPC door's contract, from `contracts/memory/v1/memory_service.proto`.

Run by `make generate`; a test compares the files with what this would write.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
CONTRACTS = ROOT / "contracts"
CONTRACT = "memory/v1/memory_service.proto"
PACKAGE = "recollect.surfaces.grpc.v1"
TARGET = ROOT / "src" / PACKAGE.replace(".", "/")
FILES = ("memory_service_pb2.py", "memory_service_pb2.pyi", "memory_service_pb2_grpc.py")


def generated() -> dict[Path, str]:
    """Every generated file, with its text."""
    with TemporaryDirectory() as folder:
        out = [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
        line = [sys.executable, "-m", "grpc_tools.protoc", f"-I{CONTRACTS}", *out, CONTRACT]
        subprocess.run(line, check=True, cwd=ROOT)
        made = Path(folder) / Path(CONTRACT).parent
        return {TARGET / name: _moved((made / name).read_text()) for name in FILES}


def _moved(text: str) -> str:
    """The text with its imports as they are where it lies."""
    return re.sub(r"^from memory\.v1 import ", f"from {PACKAGE} import ", text, flags=re.MULTILINE)


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
