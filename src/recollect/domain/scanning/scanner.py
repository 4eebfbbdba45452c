"""Scanning a text with all rules, in time linear in its length."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import re2

from recollect.domain.scanning.personal_rules import PERSONAL_RULES
from recollect.domain.scanning.rules import Class, Confidence, Finding, Rule, Span
from recollect.domain.scanning.secret_rules import SECRET_RULES

REDACTED = "[REDACTED]"
RULES: tuple[Rule, ...] = (*SECRET_RULES, *PERSONAL_RULES)
EVERYTHING = frozenset(Class)
SECRET_KINDS = tuple(dict.fromkeys(rule.kind for rule in SECRET_RULES))
"""The kinds of secrets that are known, in the order in which they are looked for."""
PERSONAL_KINDS = tuple(dict.fromkeys(rule.kind for rule in PERSONAL_RULES))
"""The kinds of personal data that are known, in the order in which they are looked for."""

_PLAIN = {
    **{ord(each): " " for each in "\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000"},
    **dict.fromkeys(range(0x2000, 0x200B), " "),
    **{ord(each): '"' for each in "“”„«»"},
    **{ord(each): "'" for each in "‘’‚‹›"},
    **{ord(each): "-" for each in "‐‑‒–—−"},
    **{0xFF01 + place: chr(0x21 + place) for place in range(94)},
}
"""Typographic and full-width characters, as the rules know them. One character stays one."""
_MOST_PASSES = 4


class Pack:
    """Rules, ready to run. One look at a text tells which of them could match at all: for most texts, few."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        options = re2.Options()
        options.log_errors = False
        self.rules = tuple(rules)
        self.patterns = tuple(re2.compile(rule.pattern.encode(), options) for rule in rules)
        self._filter = re2.Filter()
        for rule in rules:
            self._filter.Add(rule.pattern.encode(), options)
        self._filter.Compile()

    def possible(self, raw: bytes) -> list[int]:
        """The places of the rules that could match; no other does."""
        return sorted(self._filter.Match(raw, potential=True) or ())


_PACK = Pack(RULES)
_REMEMBERED = 4_096
_MOST_REMEMBERED = 1_024
_CLEAN: set[tuple[str, frozenset[Class], Confidence]] = set()
"""Texts in which nothing was found a moment ago: on its way in, one is looked into several times."""


def scan(
    text: str, classes: Collection[Class] = EVERYTHING, at_least: Confidence = Confidence.LIKELY
) -> tuple[Finding, ...]:
    """Everything found, from left to right.

    Finds that overlap are one. It is named by a secret before personal data, then by the surest, then by the longest.
    """
    asked = (text, frozenset(classes), at_least)
    if asked in _CLEAN:
        return ()
    joined: list[Finding] = []
    best = (False, 0, 0)
    found = [each for each in _found(text, classes) if each.confidence >= at_least]
    for each in sorted(found, key=lambda one: (one.begin, one.end)):
        worth = (each.sort is Class.SECRET, int(each.confidence), each.end - each.begin)
        if joined and each.begin < joined[-1].end:
            last = joined[-1]
            named = each if worth > best else last
            best = max(best, worth)
            joined[-1] = named._replace(begin=last.begin, end=max(last.end, each.end))
        else:
            joined.append(each)
            best = worth
    if not joined and len(text) <= _REMEMBERED:
        if len(_CLEAN) >= _MOST_REMEMBERED:
            _CLEAN.clear()
        _CLEAN.add(asked)
    return tuple(joined)


def redacted(text: str, classes: Collection[Class] = EVERYTHING) -> str:
    """The text with everything found replaced. What only then can be found is replaced as well."""
    for _ in range(_MOST_PASSES):
        spans = [Span(each.begin, each.end) for each in scan(text, classes)]
        if not spans:
            break
        parts, at = [], 0
        for begin, end in spans:
            parts += [text[at:begin], REDACTED]
            at = end
        text = "".join([*parts, text[at:]])
    return text


def _found(text: str, classes: Collection[Class]) -> Iterator[Finding]:
    plain = text if text.isascii() else text.translate(_PLAIN)
    raw = plain.encode("ascii", "replace")  # a byte a character, whatever the character, so that places agree
    plain = raw.decode("ascii")
    for place in _PACK.possible(raw):
        rule, pattern = _PACK.rules[place], _PACK.patterns[place]
        if rule.sort not in classes:
            continue
        group = min(pattern.groups, 1)
        for match in pattern.finditer(raw):
            begin, end = match.span(group)
            span = Span(begin, end) if rule.check is None else rule.check(plain, begin, end)
            if span is not None and plain[span.begin : span.end] != REDACTED:
                yield Finding(rule.kind, rule.sort, rule.confidence, span.begin, span.end)
