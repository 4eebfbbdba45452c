"""Bundles: the texts of a policy as one value, known by the digest of exactly those texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

import msgspec

from recollect.domain.errors import InvalidBundle
from recollect.domain.text import flaw_in, shown

MAX_MODULES = 64
MAX_BUNDLE_BYTES = 512 << 10
KEPT_VERSIONS = 10
"""How many versions of a policy are kept to go back to, the one in force included."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}(/[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,3}\.rego")
_TESTS = "_test.rego"


class Package(StrEnum):
    """The packages that Recollect asks; a bundle may have others of its own beside them."""

    AUTHZ = "authz"
    """Whether a caller may read, write or delete a memory."""
    ATTRIBUTES = "attributes"
    """What is kept in plain text beside a memory, for filters to ask for."""
    FILTER = "filter"
    """What of a search, a listing or the log a caller may see."""
    REVIEW = "review"
    """Whether a proposed memory is approved, rejected or put before a person."""


@dataclass(frozen=True)
class Bundle:
    """Modules by name, in the order of their names."""

    modules: tuple[tuple[str, str], ...]

    @cached_property
    def digest(self) -> str:
        """What names exactly these texts."""
        return sha256(msgspec.msgpack.encode(("recollect-bundle/1", self.modules))).hexdigest()

    @property
    def policies(self) -> tuple[tuple[str, str], ...]:
        """The modules that decide."""
        return tuple(each for each in self.modules if not each[0].endswith(_TESTS))

    @property
    def tests(self) -> tuple[tuple[str, str], ...]:
        """The modules that only test the others."""
        return tuple(each for each in self.modules if each[0].endswith(_TESTS))


def bundle_of(modules: object) -> Bundle:
    """A bundle of these texts by name, refused when they could not be kept exactly."""
    if not isinstance(modules, Mapping) or not modules:
        raise InvalidBundle("a bundle is an object of modules: the name of each, like authz.rego, and its text")
    if len(modules) > MAX_MODULES:
        raise InvalidBundle(f"the bundle has {len(modules)} modules; at most {MAX_MODULES} are allowed")
    size = 0
    for name, text in modules.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidBundle(f"{shown(name)} is not a usable name of a module; write one like authz.rego")
        if not isinstance(text, str) or flaw_in(text):
            raise InvalidBundle(f"{name} is not text, or holds NUL or lone surrogates")
        size += len(text.encode())
    if size > MAX_BUNDLE_BYTES:
        raise InvalidBundle(f"the bundle has {size:,} bytes; at most {MAX_BUNDLE_BYTES:,} are allowed")
    return Bundle(tuple(sorted(modules.items())))
