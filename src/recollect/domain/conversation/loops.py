"""Open loops: what in somebody's words is to be done, is done regularly, is talked about, or gets in the way."""

from __future__ import annotations

import re

from recollect.domain.conversation.todos import Loop


def signature(loop: Loop) -> str:
    """What another loop of the same kind has that means the same."""
    return re.sub(r"[^\w]+", "_", (loop.dedupe_key or loop.content).casefold()).strip("_")
