"""Policies as files: the modules of a directory, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.domain.bundles import bundle_of
from recollect.domain.errors import InvalidBundle, InvalidSetting, StoreUnavailable


def modules_at(path: Path) -> dict[str, str]:
    """The texts of all modules in a directory and below, by their path in it; or that of a single file."""
    if not path.exists():
        raise InvalidSetting(f"{path} is not there; `recollect policy init {path}` writes policies to start from")
    if path.is_dir():
        from recollect.backends.rego.shipped import modules_in  # here, because the engine is slow to load

        return modules_in(path)
    try:
        return {path.name: path.read_text("utf-8")}
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidBundle(f"{path} cannot be read: {problem}") from None


def shipped_modules() -> dict[str, str]:
    """The texts of the policies that Recollect ships with, and of their tests."""
    from recollect.backends.rego import shipped_bundle  # here, because the engine is slow to load

    return dict(shipped_bundle().modules)


def write_modules(folder: Path, modules: Mapping[str, str]) -> list[Path]:
    """Write texts as files below a directory, all of them new, and say which."""
    # Names that lead out of the directory are none of a bundle, whoever sent them.
    texts = {folder / name: text for name, text in bundle_of(modules).modules}
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there:
        raise InvalidSetting(f"{there[0]} exists already; choose another directory, or remove it")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as problem:
        raise StoreUnavailable(f"{problem.filename or folder} cannot be written: {problem.strerror}") from None
    return list(texts)
