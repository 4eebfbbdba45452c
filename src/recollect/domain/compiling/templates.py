"""Templates: which blocks a pack has, in which order, how much each may take, and which gives way first."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from recollect.domain.compiling.codes import Part
from recollect.domain.errors import InvalidRequest
from recollect.domain.scrubbing import cleaned
from recollect.domain.text import flaw_in, shown

MAX_TITLE = 80
MAX_RANK = 1_000
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MARKS = frozenset('<>&`#[]"\\\n\t')
_GAPLESS = frozenset({Part.TURNS})


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One block of a template."""

    name: str
    source: Part
    title: str
    entries: int | None = None
    """So many entries at most."""
    tokens: int | None = None
    """So many tokens at most, heading and warning included."""
    percent: int | None = None
    """Of the budget, what it may take before the others had their turn; what they leave is shared out after."""
    drop: int = 0
    """Blocks with lower numbers give way first; of equals, the later block does."""

    @property
    def gapless(self) -> bool:
        """Whether entries are kept from the last one backwards, without gaps, as of a conversation."""
        return self.source in _GAPLESS

    def share(self, budget: int) -> int:
        """What the block may take before the others had their turn."""
        wanted = budget if self.percent is None else budget * self.percent // 100
        return wanted if self.tokens is None else min(wanted, self.tokens)


class Template(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The blocks of a pack, in the order in which they are shown. What changes gets another version."""

    name: str
    version: int
    blocks: tuple[Section, ...]

    def by_importance(self) -> tuple[Section, ...]:
        """The blocks in the order in which they are filled: the last to give way first."""
        order = {each.name: place for place, each in enumerate(self.blocks)}
        return tuple(sorted(self.blocks, key=lambda each: (-each.drop, order[each.name])))


def _section(source: Part, title: str, entries: int, percent: int, drop: int, name: str | None = None) -> Section:
    named = source.value if name is None else name
    return Section(name=named, source=source, title=title, entries=entries, percent=percent, drop=drop)


DEFAULT = Template(
    name="default",
    version=1,
    blocks=(
        _section(Part.PINNED, "Foundation", 20, 30, 11, "foundation"),
        _section(Part.PROFILE, "Profile", 20, 25, 10),
        _section(Part.CARDS, "Cards", 5, 15, 4),
        _section(Part.RELEVANT, "Relevant memories", 100, 50, 8),
        _section(Part.CONTRADICTIONS, "Unresolved contradictions", 5, 10, 9),
        _section(Part.COMMITMENTS, "Commitments", 5, 15, 7),
        _section(Part.THREADS, "Threads", 3, 10, 3),
        _section(Part.SPINE, "Spine", 4, 20, 2),
        _section(Part.ROLLING, "Conversation so far", 1, 15, 5),
        _section(Part.SUMMARIES, "Earlier sessions", 3, 15, 1),
        _section(Part.TURNS, "Recent turns", 12, 30, 6, "recent"),
    ),
)


def template_of(given: object) -> Template:
    """The template that this JSON object says."""
    try:
        template = msgspec.convert(given, Template)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the template cannot be used: {error}", field="template") from None
    _check_name(template.name, "template.name")
    _check_number(template.version, "template.version", 1, 1_000_000)
    if not 1 <= len(template.blocks) <= len(Part):
        raise InvalidRequest(f"a template has 1 to {len(Part)} blocks", field="template.blocks")
    for each in template.blocks:
        _check_section(each)
    for what in ("name", "source"):
        if len({getattr(each, what) for each in template.blocks}) != len(template.blocks):
            raise InvalidRequest(f"two blocks of the template have the same {what}", field="template.blocks")
    return template


def _check_section(section: Section) -> None:
    _check_name(section.name, "template.blocks.name")
    title = section.title
    if not 1 <= len(title.strip()) <= len(title) <= MAX_TITLE or cleaned(title) != title or _MARKS & set(title):
        raise InvalidRequest(
            f'a title is one line of 1 to {MAX_TITLE} characters without any of < > & ` # [ ] " \\',
            field="template.blocks.title",
        )
    _check_number(section.entries, "template.blocks.entries", 1, 10_000)
    _check_number(section.tokens, "template.blocks.tokens", 1, 1_000_000)
    _check_number(section.percent, "template.blocks.percent", 1, 100)
    _check_number(section.drop, "template.blocks.drop", 0, MAX_RANK)


def _check_name(name: str, field: str) -> None:
    if _NAME.fullmatch(name) is None or flaw_in(name):
        raise InvalidRequest(f"{field} is 1 to 40 of a-z, 0-9, _ and -, a letter first, not {shown(name)}", field=field)


def _check_number(given: Any, field: str, least: int, most: int) -> None:
    if given is not None and not least <= given <= most:
        raise InvalidRequest(f"{field} is a whole number from {least} to {most:,}, not {shown(given)}", field=field)
