"""Lines: which of the messages of a conversation a summary is made of."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.domain.conversation.sessions import Message
from recollect.domain.conversation.summaries import Line

OF_ROLLING, OF_SESSION = 6, 10
"""So many messages of the user, and as many of the assistant, the newest."""
MAX_LINE = 800
"""Characters of each."""


def lines_of(messages: Iterable[Message], most: int) -> tuple[Line, ...]:
    """The newest lines of either side, oldest first, each cut."""
    found: list[Line] = []
    room = {"user": most, "assistant": most}
    for message in sorted(messages, key=lambda each: -each.number):
        for speaker, text in (("assistant", message.ai), ("user", message.user)):
            if text is not None and room[speaker]:
                room[speaker] -= 1
                found.append(Line(speaker, text[:MAX_LINE]))
    return tuple(reversed(found))
