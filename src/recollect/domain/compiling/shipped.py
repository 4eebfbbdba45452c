"""Shipped templates: the ones that can be named in a call, as data; what changes gets another version."""

from __future__ import annotations

from types import MappingProxyType

from recollect.domain.compiling.codes import Part
from recollect.domain.compiling.templates import DEFAULT, Section, Template, template_of
from recollect.domain.errors import InvalidRequest
from recollect.domain.text import shown


def _section(
    source: Part, title: str, entries: int, drop: int, percent: int | None = None, name: str | None = None
) -> Section:
    named = source.value if name is None else name
    return Section(name=named, source=source, title=title, entries=entries, percent=percent, drop=drop)


CONVERSATION = Template(
    name="conversation",
    version=1,
    blocks=(
        _section(Part.PINNED, "Foundation", 20, 14, 30, "foundation"),
        _section(Part.PROFILE, "Profile", 20, 12, 25),
        _section(Part.CARDS, "Cards", 5, 0),
        _section(Part.RELEVANT, "Relevant memories", 8, 0),
        _section(Part.CONTRADICTIONS, "Unresolved contradictions", 5, 9),
        _section(Part.COMMITMENTS, "Commitments", 5, 10),
        _section(Part.THREADS, "Active threads", 3, 2),
        _section(Part.FRICTIONS, "Frictions and patterns", 3, 6),
        _section(Part.HABITS, "Habits", 3, 5),
        _section(Part.WINS, "Recent wins", 3, 4),
        _section(Part.SEED, "User context", 1, 8),
        _section(Part.SPINE, "Conversation summary", 1, 7),
        _section(Part.ROLLING, "Current session", 1, 11),
        _section(Part.SUMMARIES, "Latest session", 1, 1),
        _section(Part.EARLIER, "Said before", 4, 3, 10),
        _section(Part.TURNS, "Recent messages", 6, 13, 35, "recent"),
    ),
)
"""What a companion is given. Where room is short, memories give way first, then the latest session, then threads."""

EVIDENCE = Template(
    name="evidence",
    version=1,
    blocks=(
        _section(Part.PINNED, "Foundation", 20, 5, 10, "foundation"),
        _section(Part.CARDS, "Cards", 5, 1, 5),
        _section(Part.RELEVANT, "Relevant memories", 20, 3, 10),
        _section(Part.EARLIER, "Said before", 60, 4, 80),
        _section(Part.TURNS, "Recent messages", 6, 2, 10, "recent"),
    ),
)
"""What answers a question about what was said: most of it in the very words."""

SHIPPED = MappingProxyType({each.name: each for each in (DEFAULT, CONVERSATION, EVIDENCE)})


def read_template(given: object, usual: Template) -> Template:
    """The template that is named or said as a JSON object; the usual one where nothing is."""
    if given is None:
        return usual
    if not isinstance(given, str):
        return template_of(given)
    found = SHIPPED.get(given)
    if found is None:
        raise InvalidRequest(
            f"a template is one of {', '.join(SHIPPED)}, or an object, not {shown(given)}", field="template"
        )
    return found
