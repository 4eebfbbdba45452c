"""Words: how a text is taken apart so that a query meets it, whatever its script, case or inflection.

A word is a run of letters and digits, folded for case and width. Scripts that put no space between words give pairs
of neighbouring characters. The stems of a language and its commonest words are known for the language that is set.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import Stemmer

from recollect.domain.errors import InvalidSetting

NO_LANGUAGE = "none"
MAX_WORD = 64
"""Longer words are cut: nobody types one, and what is so long is rarely a word."""
MAX_WORDS = 20_000
"""Words of one text that are looked at."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
_MARKS = re.compile("[\u0300-\u036f]+")

_ENGLISH = """
a about after again all also am an and any are as at be because been before being between both but by can could did do
does doing down during each few for from further had has have having he her here hers him his how i if in into is it
its itself just me more most my no nor not of off on once only or other our ours out over own same she should so some
such than that the their theirs them then there these they this those through to too under until up us very was we
were what when where which while who whom whose why will with would you your yours s t d ll m re ve dont didnt doesnt
isnt wasnt im ive id youre thats whats
"""
COMMON = {"english": frozenset(_ENGLISH.split())}
"""Words so common that they tell nothing, by language."""


def languages() -> tuple[str, ...]:
    """The languages whose stems are known."""
    return tuple(sorted(Stemmer.algorithms()))


def checked_language(language: object) -> str:
    """The language itself, refused when its stems are not known."""
    if language != NO_LANGUAGE and language not in languages():
        raise InvalidSetting(
            f"{language!r} is not a known language; use one of {NO_LANGUAGE}, {', '.join(languages())}"
        )
    return str(language)


def words_in(text: str, language: str = "english") -> list[str]:
    """The words of a text, in order, stemmed, without the commonest."""
    stem, common = _stemming(language), COMMON.get(language, frozenset())
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", folded)))
    found: list[str] = []
    for match in _WORD.finditer(folded):
        found += [stem(word) for word in _pieces(match[0]) if word not in common]
        if len(found) >= MAX_WORDS:
            break
    return found[:MAX_WORDS]


def _pieces(run: str) -> list[str]:
    """The words in a run of letters: itself, or pairs of characters where a script does not say where words end."""
    if run.isascii() or not _UNSPACED.search(run):
        plain = run.replace("’", "'").removesuffix("'s").replace("'", "")
        return [plain[:MAX_WORD]] if plain else []
    pieces: list[str] = []
    at = 0
    for block in _UNSPACED.finditer(run):
        if block.start() > at:
            pieces.append(run[at : block.start()][:MAX_WORD])
        inside = block[0]
        pieces += [inside[n : n + 2] for n in range(max(1, len(inside) - 1))]
        at = block.end()
    if at < len(run):
        pieces.append(run[at:][:MAX_WORD])
    return pieces


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = Stemmer.Stemmer(language).stemWord
    return stem


@lru_cache(maxsize=200_000)
def _stemmed(language: str, word: str) -> str:
    return _stemmer(language)(word) or word


def _stemming(language: str) -> Callable[[str], str]:
    if language == NO_LANGUAGE:
        return lambda word: word
    return lambda word: _stemmed(language, word)
