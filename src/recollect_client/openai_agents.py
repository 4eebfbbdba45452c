"""A session of the OpenAI Agents SDK over Recollect: on a server, or over memories in the same process.

How a history is kept in order, and why nothing of it is lost or doubled, is told in `_history.py`. The extra
`openai-agents` brings the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from recollect_client._async import AsyncClient
from recollect_client._conversations import Conversation, Told, answers_later, awaited, held
from recollect_client._history import History

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

__all__ = ["RecollectSession"]


class RecollectSession:
    """The items of one conversation with an agent, for `Runner.run(..., session=...)`.

    `user` is whose conversation it is: it lies below `user/<user>/conversations`. `client` is an `AsyncClient`, what
    `recollect.open` gives, or one of those without an event loop, which is then used on a thread; it remains yours to
    close. Without one, RECOLLECT_URL and RECOLLECT_TOKEN say where the server is. With a `ttl`, in seconds, items
    expire. `index_fields` are the fields of items that queries find, like `content` or `content[*].text`: none, unless
    named, and every text with None.
    """

    session_id: str
    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        client: Any = None,
        ttl: float | timedelta | None = None,
        index_fields: Sequence[str] | None = (),
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._client = AsyncClient() if client is None else None
        self._memories = self._client if client is None else client
        self._history = History.of(self._memories, session_id, user, ttl, index_fields)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest `limit` items, or all, the oldest first; without a limit, the session's settings may have one."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._told(self._history.read(limit))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items: all of them, in this order, or none."""
        await self._told(self._history.add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item away, and return it; None when there is none."""
        item: TResponseInputItem | None = await self._told(self._history.pop())
        return item

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._told(self._history.clear())

    async def close(self) -> None:
        """Close the connections to the server that this session opened."""
        if self._client is not None:
            await self._client.close()

    async def __aenter__(self) -> RecollectSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _told(self, conversation: Conversation[Told]) -> Told:
        if answers_later(self._memories):
            return await awaited(conversation, self._memories)
        return await asyncio.to_thread(held, conversation, self._memories)
