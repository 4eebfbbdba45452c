"""Where a thing is: tenant, plane, namespace and key, valid once made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

import msgspec

from recollect.domain.errors import InvalidKey, InvalidNamespace, InvalidTenant
from recollect.domain.reasons import Plane
from recollect.domain.text import flaw_in, shown

MAX_DEPTH = 10
"""How many segments a namespace may have, unless a setting says otherwise."""
DEPTH_CEILING = 64
"""The most that the setting may allow."""
MAX_KEY_BYTES = 1024
MAX_SEGMENT_BYTES = 1024
SEPARATOR = "\x1e"
_AFTER_SEPARATOR = "\x1f"
_TENANT = re.compile(r"[A-Za-z0-9_.@:-]{1,128}")


@dataclass(frozen=True, slots=True, eq=False)
class Namespace:
    """A path of segments, together with the one text under which every backend stores it."""

    segments: tuple[str, ...]
    encoded: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Namespace) and self.encoded == other.encoded

    def __hash__(self) -> int:
        return hash(self.encoded)

    @staticmethod
    def of(*segments: str) -> Namespace:
        """A namespace of these segments, within the default depth."""
        return namespace(segments)

    def contains(self, other: Namespace) -> bool:
        """True when `other` is this namespace or lies below it, segment by segment."""
        return other.segments[: len(self.segments)] == self.segments

    def truncated(self, depth: int) -> Namespace:
        """The ancestor of that depth, or the namespace itself when it is not deeper."""
        if depth >= len(self.segments):
            return self
        return decode_namespace(SEPARATOR.join(self.encoded.split(SEPARATOR)[:depth]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.segments)

    def __str__(self) -> str:
        return "/".join(self.segments)


ROOT = Namespace((), "")
"""Above all namespaces: usable as a scope to search in, never as a place to store."""


def namespace(segments: Iterable[str], max_depth: int = MAX_DEPTH) -> Namespace:
    """The namespace of these segments; a place where things can be stored."""
    if isinstance(segments, str | bytes):
        raise InvalidNamespace(f"a namespace is a list of segments; write ({segments!r},) instead of {segments!r}")
    if type(segments) is not tuple:
        if isinstance(segments, Set | Mapping):
            raise InvalidNamespace(f"a namespace is a list of segments in their order, not {type(segments).__name__}")
        try:
            segments = tuple(segments)
        except TypeError:
            raise InvalidNamespace(f"a namespace is a list of segments, not {type(segments).__name__}") from None
    try:
        if sum(map(len, segments)) > _REMEMBERED:
            return _namespace(segments, max_depth)
        return _known_namespace(segments, max_depth)
    except TypeError:
        raise InvalidNamespace("every segment of a namespace must be text") from None


def scope(segments: Iterable[str], max_depth: int = MAX_DEPTH) -> Namespace:
    """The namespace of these segments as a scope to look in; none at all means everywhere."""
    if type(segments) is tuple and not segments:
        return ROOT
    if isinstance(segments, list) and not segments:
        return ROOT
    return namespace(segments, max_depth)


def _namespace(segments: tuple[str, ...], max_depth: int) -> Namespace:
    if not segments:
        raise InvalidNamespace("a namespace must have at least one segment")
    if len(segments) > max_depth:
        raise InvalidNamespace(f"namespace depth {len(segments)} exceeds the limit of {max_depth}")
    return Namespace(segments, SEPARATOR.join(_encoded(segment, place) for place, segment in enumerate(segments)))


def _encoded(segment: str, place: int) -> str:
    if not isinstance(segment, str):
        raise InvalidNamespace(f"namespace segment {place} is {type(segment).__name__}, not text")
    if not segment:
        raise InvalidNamespace(f"namespace segment {place} is empty")
    if flaw := flaw_in(segment):
        raise InvalidNamespace(f"namespace segment {place} {flaw}")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidNamespace(f"namespace segment {place} is longer than {MAX_SEGMENT_BYTES} bytes")
    return quote(segment, safe="")


def decode_namespace(encoded: str) -> Namespace:
    """The namespace whose encoding this is; the reverse of `namespace(...).encoded`."""
    return _decoded(encoded) if len(encoded) > _REMEMBERED else _known_decoded(encoded)


def _decoded(encoded: str) -> Namespace:
    if not encoded:
        return ROOT
    return Namespace(tuple(unquote(part) for part in encoded.split(SEPARATOR)), encoded)


_REMEMBERED = 512
"""Namespaces up to this length are remembered; so the memory for it is bounded, whatever callers ask for."""
_known_namespace = lru_cache(maxsize=32_768)(_namespace)
_known_decoded = lru_cache(maxsize=32_768)(_decoded)


def subtree_bounds(encoded: str) -> tuple[str, str]:
    """The half-open range `[low, high)`, in byte order, of all encodings strictly below this one."""
    if not encoded:
        return "", "\x7f"
    return encoded + SEPARATOR, encoded + _AFTER_SEPARATOR


def in_subtree(encoded: str, candidate: str) -> bool:
    """True when `candidate` encodes the namespace encoded by `encoded`, or one below it."""
    low, high = subtree_bounds(encoded)
    return candidate == encoded or low <= candidate < high


def checked_key(key: object) -> str:
    """The key itself, refused when it cannot name an item."""
    if type(key) is str and 0 < len(key) <= MAX_KEY_BYTES and key.isascii() and "\x00" not in key:
        return key
    if not isinstance(key, str):
        raise InvalidKey(f"a key is text, not {type(key).__name__}")
    if not key:
        raise InvalidKey("a key must not be empty")
    if flaw := flaw_in(key):
        raise InvalidKey(f"the key {flaw}")
    if len(key.encode()) > MAX_KEY_BYTES:
        raise InvalidKey(f"a key has at most {MAX_KEY_BYTES} bytes, this one {len(key.encode())}")
    return key


def checked_tenant(tenant: object) -> str:
    """The tenant's name itself, refused when it is not a plain name."""
    if not isinstance(tenant, str) or not _TENANT.fullmatch(tenant):
        raise InvalidTenant(f"{shown(tenant)} is not a usable tenant name")
    return tenant


class Address(msgspec.Struct, frozen=True):
    """One thing's place within a tenant."""

    plane: Plane
    namespace: Namespace
    key: str


def subject_of(namespace: Namespace) -> str:
    """Whose data key seals what lies in this namespace: a user's, or the tenant's own."""
    segments = namespace.segments
    if len(segments) >= 2 and segments[0] == "user":
        return f"user:{segments[1]}"
    return TENANT_SUBJECT


TENANT_SUBJECT = "tenant"


def namespace_of_subject(subject: str) -> Namespace:
    """The subtree that belongs to a user subject, which is what erasing it clears."""
    kind, _, name = subject.partition(":") if isinstance(subject, str) else ("", "", "")
    if kind != "user" or not name:
        raise InvalidNamespace(f"{subject!r} is not a subject that can be erased; write 'user:<id>'")
    return namespace(("user", name))
