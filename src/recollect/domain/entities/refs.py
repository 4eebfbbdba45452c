"""Refs: how people, places, organisations and projects are named, so that one name always leads to the same one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256

import msgspec
from anyascii import anyascii

from recollect.domain.errors import InvalidValue
from recollect.domain.remembering.records import Record
from recollect.domain.text import flaw_in

MAX_REFS = 5
"""So many entities a memory tells of at most."""
MAX_LABEL = 100
"""Characters of what an entity is called."""
MAX_SLUG = 120
_CUT = 100
"""Longer slugs of names are cut here, and told apart by a digest."""
_DIGITS = 8
_REF = re.compile(rf"(person|place|org|project):([a-z0-9_]{{1,{MAX_SLUG}}})")
_PARTED = re.compile(r"[\s_-]+")
_FOREIGN = re.compile(r"[^a-z0-9]+")
_DIGESTED = re.compile(rf"_x[0-9a-f]{{{_DIGITS}}}$")


class EntityType(StrEnum):
    """What sort of thing is spoken of."""

    PERSON = "person"
    """Somebody other than the user."""
    PLACE = "place"
    """Somewhere."""
    ORG = "org"
    """A company, a team, a school: people with a common name."""
    PROJECT = "project"
    """Something that is worked on."""


class Ref(msgspec.Struct, frozen=True, order=True):
    """Which entity is meant."""

    type: EntityType
    slug: str

    def __post_init__(self) -> None:
        if not _REF.fullmatch(str(self)):
            raise InvalidValue(f"a ref is <type>:<name>: {_FORM}", field="ref")

    def __str__(self) -> str:
        return f"{self.type.value}:{self.slug}"


_FORM = f"one of {', '.join(EntityType)}, a colon, and 1 to {MAX_SLUG} of a-z, 0-9 and _"


def parsed(given: object, field: str = "ref") -> Ref:
    """The ref that somebody gives, as it stands; refused when it is none."""
    found = _REF.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise InvalidValue(f"{field} is the ref of an entity: {_FORM}", field=field)
    return Ref(EntityType(found[1]), found[2])


def is_ref(given: object) -> bool:
    """Whether this is a ref, as it stands."""
    return isinstance(given, str) and _REF.fullmatch(given) is not None


def kept(given: Iterable[object]) -> tuple[str, ...]:
    """Those that are refs as they stand, each once, in order, the first five: nobody guesses what a model meant."""
    found = dict.fromkeys(each for each in given if isinstance(each, str) and is_ref(each))
    return tuple(found)[:MAX_REFS]


def label_or_none(given: object) -> str | None:
    """What an entity is called, without space around it; None when nobody could be called so."""
    label = " ".join(given.split()) if isinstance(given, str) else ""
    return label if 1 <= len(label) <= MAX_LABEL and not flaw_in(label) else None


def spelling(label: str) -> str:
    """A name without what makes no other name of it: case, width, punctuation, space and marks nobody sees.

    Two labels are the same name when they have the same spelling. Accents are letters: Hoà and Hoa are two people.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    # What nobody sees may stand between a letter and its accent, so that they are joined once it is gone.
    seen = unicodedata.normalize("NFKC", "".join(each for each in folded if unicodedata.category(each) != "Cf"))
    words = "".join(each if _is_of_word(each) else " " for each in seen)
    parts = [part for part in _PARTED.split(words) if part]
    return "_".join(parts) if any(unicodedata.category(each)[0] in "LN" for each in words) else ""


def _is_of_word(character: str) -> bool:
    """Letters, the marks on them, and numbers. A script that writes vowels as marks keeps them."""
    return unicodedata.category(character)[0] in "LMN"


def slug(label: str) -> str | None:
    """What stands for a name in a ref: plain letters; None when the name has none.

    Names beyond ASCII are written in it as well as that goes, with a digest of their spelling behind: different names
    may look the same in ASCII, and are not one entity unless somebody says so.
    """
    name = spelling(label)
    if not name:
        return None
    if name.isascii() and len(name) <= _CUT and not _DIGESTED.search(name):
        return name
    plain = _FOREIGN.sub("_", anyascii(name).lower()).strip("_")[:_CUT].strip("_")
    digest = f"x{sha256(name.encode()).hexdigest()[:_DIGITS]}"
    return f"{plain}_{digest}" if plain else f"_{digest}"


def ref_of(kind: EntityType, label: str) -> Ref | None:
    """The ref of whoever is called so; None when that is no name."""
    found = slug(label)
    return None if found is None else Ref(kind, found)


def name_in(ref: Ref) -> str:
    """How an entity may be called whose label nobody gave: what its ref says, without the digest."""
    words = _DIGESTED.sub("", ref.slug).replace("_", " ").split()
    return " ".join(word.capitalize() for word in words) or ref.slug


def refs_of(record: Record) -> tuple[str, ...]:
    """The entities that a memory tells of, the primary one first.

    What rules found says whom it is about as `person:<name>`, with the name as it was written.
    """
    if record.entity_refs:
        return record.entity_refs
    kind, _, name = record.entity.partition(":")
    if kind not in tuple(EntityType):
        return ()
    if is_ref(record.entity):
        return (record.entity,)
    found = ref_of(EntityType(kind), name)
    return () if found is None else (str(found),)


def named_in(record: Record) -> tuple[tuple[str, str | None], ...]:
    """The entities that a memory tells of, with what each is called where it says so."""
    refs = refs_of(record)
    if not refs:
        return ()
    label = label_or_none(record.entity_label)
    if label is None and not record.entity_refs:
        name = record.entity.partition(":")[2].replace("_", " ")
        label = label_or_none(" ".join(word.capitalize() for word in name.split()))
    return ((refs[0], label), *((ref, None) for ref in refs[1:]))
