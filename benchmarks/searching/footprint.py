"""What a process takes that opens memories, uses them without searching, and then searches; run as one of its own.

`python -m benchmarks.searching.footprint FOLDER hashing|local PREFIX...` prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

MODEL_MODULES = ("onnxruntime", "tokenizers")


def measured(folder: Path, embedder: str, scopes: list[str]) -> dict[str, Any]:
    """The same, from a process that is started for it; a scope is a namespace with slashes."""
    command = [sys.executable, "-m", "benchmarks.searching.footprint", str(folder), embedder, *scopes]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent.parent)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> int:
    """Measure in this process."""
    folder, embedder, *scopes = arguments
    began = perf_counter()
    import recollect
    from recollect import Settings

    settings = Settings() if embedder == "local" else Settings(embedder="hashing", embedder_dimension=384)
    said: dict[str, Any] = {"import_ms": _since(began)}
    with recollect.open_sync(folder, settings=settings) as memories:
        memories.put(("user", "footprint"), "k", {"text": "something that is not searched for"}, index_fields=())
        memories.get(("user", "footprint"), "k")
        memories.search(("user", "footprint"))
        memories.list_namespaces()
        said["without_query"] = {"rss_mb": _rss(), "model_imported": _imported()}
        began = perf_counter()
        memories.search(("user", "footprint"), query="the first question")
        said["first_query_ms"] = _since(began)
        began = perf_counter()
        memories.search(("user", "footprint"), query="the second question")
        said["second_query_ms"] = _since(began)
        said["with_query"] = {"rss_mb": _rss(), "model_imported": _imported()}
        for scope in scopes:
            began = perf_counter()
            memories.search(tuple(scope.split("/")), query="what is said of the first thing")
            said[scope] = {"cold_ms": _since(began), "rss_mb": _rss()}
    print(json.dumps(said))
    return 0


def _imported() -> list[str]:
    return [name for name in MODEL_MODULES if name in sys.modules]


def _rss() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def _since(began: float) -> float:
    return (perf_counter() - began) * 1e3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
