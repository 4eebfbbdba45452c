"""Embedders: a model in this process, a server that is asked, and plain hashing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from recollect.backends.embedding.hashing import NAME as HASHING
from recollect.backends.embedding.hashing import HashingEmbedder
from recollect.backends.embedding.http import NAME as OPENAI
from recollect.backends.embedding.http import HttpEmbedder, name_of
from recollect.backends.embedding.local import MODEL_NAME as LOCAL
from recollect.backends.embedding.local import LocalEmbedder
from recollect.domain.errors import InvalidSetting
from recollect.ports.embedder import Embedder

__all__ = ["EmbeddingOptions", "HashingEmbedder", "HttpEmbedder", "LocalEmbedder", "embedder_named", "embedder_of"]

DEFAULT_DIMENSION = 256
"""The dimension of hashing, if none is said."""
_NUMBERED = re.compile(r"(.+?)(?:#([1-9][0-9]{0,4}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """Which embedder is used, and what all of them need to know; the settings have the meanings."""

    embedder: str = "local"
    url: str | None = None
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    seconds: float = 30.0
    batch: int = 32
    threads: int = 0
    model_dir: str | None = None


def embedder_of(options: EmbeddingOptions) -> Embedder | None:
    """The embedder that is configured; None when it is `none`."""
    match options.embedder:
        case "none":
            return None
        case "local":
            return embedder_named(LOCAL, options)
        case "hashing":
            return embedder_named(f"{HASHING}{options.dimension or DEFAULT_DIMENSION}", options)
        case "openai":
            if options.url is None or options.model is None:
                raise InvalidSetting("embedder = openai needs embedder_url and embedder_model")
            return embedder_named(name_of(options.model, options.dimension), options)
    raise InvalidSetting(f"there is no embedder {options.embedder!r}")


def embedder_named(model_name: str, options: EmbeddingOptions) -> Embedder | None:
    """The embedder of a model that vectors were made with; None when it cannot be had with these options."""
    if model_name == LOCAL:
        folder = None if options.model_dir is None else Path(options.model_dir)
        return LocalEmbedder(folder, threads=options.threads, batch=options.batch)
    if re.fullmatch(rf"{HASHING}[1-9][0-9]{{0,4}}", model_name):
        return HashingEmbedder(int(model_name.removeprefix(HASHING)))
    found = _NUMBERED.fullmatch(model_name.removeprefix(OPENAI))
    if not model_name.startswith(OPENAI) or found is None or options.url is None:
        return None
    model, dimension = found.groups()
    return HttpEmbedder(
        options.url,
        model,
        key=options.key,
        dimension=None if dimension is None else int(dimension),
        seconds=options.seconds,
        batch=options.batch,
    )
