"""Keys: which memories are about the same thing, whatever script they are written in."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from recollect.domain.governance.terms import EventType

NO_ENTITY = "none"
NO_FACT_TYPE = "fact"
MOST_CONTENT = 120
_KEPT = frozenset("LMN")
"""The classes of characters that words are made of: letters, marks and numbers."""
_STRIPPED = str.maketrans("", "", ".,!?;:'\"(){}[]\\/|")


def normalised(text: str) -> str:
    """The words of a text in lower case with one space between them, and nothing else.

    Words are kept in whatever script. Characters that show nothing are dropped, and part no word.
    """
    if text.isascii():
        folded = text.lower()
        return " ".join("".join(each if each.isalnum() else " " for each in folded).split())
    seen = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return " ".join("".join(each if _is_of_words(each) else " " for each in _folded(seen)).split())


def _folded(text: str) -> str:
    """The text without differences of case, width and composition."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _is_of_words(character: str) -> bool:
    return unicodedata.category(character)[0] in _KEPT


def digest_of(text: str, salt: str = "") -> str:
    """What stands for a text that is not to be shown, or that has no words."""
    return f"sha256-{sha256(f'{salt}{text}'.encode(errors='surrogatepass')).hexdigest()[:16]}"


def is_digested(key: str) -> bool:
    """True for a dedup key that has a digest in place of its words."""
    return key.partition(":")[2].startswith("sha256-")


def dedup_key(event_type: EventType, text: str) -> str:
    """The key that two items share when they say the same.

    A text of signs alone has no words, so that a digest tells it from others.
    """
    return f"{event_type}:{normalised(text) or (digest_of(text.strip()) if text.strip() else '')}"


def fact_key(key: str) -> str:
    """The key that all values of one profile fact share."""
    return f"fact:{key}"


def memory_key(
    memory_type: str,
    *,
    content: str,
    entity_type: str | None = None,
    primary_ref: str | None = None,
    fact_type: str | None = None,
    predicate: str | None = None,
) -> str:
    """The key of what is known about somebody or something.

    The predicate is a fifth part where there is one, so that two facts about one person do not collide.
    """
    about = primary_ref or f"content:{_plain(content)}"
    parts = [memory_type.lower(), entity_type or NO_ENTITY, about, fact_type or NO_FACT_TYPE]
    return "|".join([*parts, normalised(predicate)] if predicate and normalised(predicate) else parts)


def _plain(content: str) -> str:
    return " ".join(_folded(content).translate(_STRIPPED).split())[:MOST_CONTENT]
