"""Make `projection.npy`: the directions in which the local model's words differ most, from prose that is at hand.

The prose is this project's own and the documentation in Python's standard library. The model has to be there.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from recollect.backends.embedding import local
from recollect.ports.embedder import Purpose

ROOT = Path(__file__).parent.parent
MOST_TEXTS = 4_000


def prose() -> Iterator[str]:
    """Paragraphs, the same in the same order wherever it is run with the same Python."""
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield from re.split(r"\n\s*\n", page.read_text())
    for module in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(errors="replace"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield from re.split(r"\n\s*\n", ast.get_docstring(node) or "")


def main() -> None:
    """Run the model over the prose, and keep the strongest directions."""
    texts = [text.strip()[:600] for text in prose() if len(text.split()) > 5]
    chosen = texts[:: max(1, len(texts) // MOST_TEXTS)][:MOST_TEXTS]
    if not local.PROJECTION.exists():  # the embedder does not load without one
        np.save(local.PROJECTION, np.zeros((local.DIMENSION, local.LATE_DIMENSION), np.float16))
    embedder = local.LocalEmbedder()
    total = np.zeros((local.DIMENSION, local.DIMENSION))
    for start in range(0, len(chosen), 100):
        for states in embedder._states(chosen[start : start + 100], Purpose.PASSAGE):
            rows = local.unit(states).astype(np.float64)
            total += rows.T @ rows
    embedder.close()
    strengths, directions = np.linalg.eigh(total)
    best = directions[:, np.argsort(-strengths)[: local.LATE_DIMENSION]]
    np.save(local.PROJECTION, best.astype(np.float16))
    kept = np.sort(strengths)[::-1][: local.LATE_DIMENSION].sum() / strengths.sum()
    print(f"{len(chosen)} texts; {local.LATE_DIMENSION} directions keep {kept:.3f} of what words differ in")


if __name__ == "__main__":
    main()
