"""The bundle that ships with Recollect, and bundles in directories."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from recollect.domain.bundles import Bundle, bundle_of
from recollect.domain.errors import InvalidBundle

_PACKAGED = Path(__file__).with_name("policies")
_IN_REPOSITORY = Path(__file__).parents[4] / "policies"


@lru_cache(maxsize=1)
def shipped_bundle() -> Bundle:
    """The built-in policies."""
    return bundle_of(modules_in(_PACKAGED if _PACKAGED.is_dir() else _IN_REPOSITORY))


def modules_in(folder: Path) -> dict[str, str]:
    """The texts of all modules in a directory and below, by their path in it; hidden ones are left out."""
    try:
        found = sorted(
            path
            for path in folder.rglob("*.rego")
            if not any(part[0] == "." for part in path.relative_to(folder).parts)
        )
        modules = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidBundle(f"the policies in {folder} cannot be read: {problem}") from None
    if not modules:
        raise InvalidBundle(f"there is no policy in {folder}: put files like authz.rego there")
    return modules
