"""A message history of LangChain over Recollect: on a server, or over memories in the same process.

How a history is kept in order, and why nothing of it is lost or doubled, is told in `_history.py`. It needs
`langchain-core`, which the extra `langchain` brings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from recollect_client._conversations import Conversation, Told, answers_later, awaited, held
from recollect_client._history import History
from recollect_client._sync import Client
from recollect_client.errors import InvalidValue

__all__ = ["RecollectChatMessageHistory"]


class RecollectChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation, for `RunnableWithMessageHistory` and the like.

    `user` is whose conversation it is: it lies below `user/<user>/conversations`. `client` is a `Client`, what
    `recollect.open_sync` gives, or one of those for an event loop, with which only the calls work that begin with `a`;
    it remains yours to close. Without one, RECOLLECT_URL and RECOLLECT_TOKEN say where the server is. With a `ttl`, in
    seconds, messages expire. `index_fields` are the fields of messages that queries find, like `data.content`: none,
    unless named, and every text with None. With a `limit`, only the newest messages are read.
    """

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        client: Any = None,
        ttl: float | timedelta | None = None,
        index_fields: Sequence[str] | None = (),
        limit: int | None = None,
    ) -> None:
        super().__init__()
        self.session_id = session_id
        self.limit = limit
        self._client = Client() if client is None else None
        self._memories = self._client if client is None else client
        self._history = History.of(self._memories, session_id, user, ttl, index_fields)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # LangChain asks for "a property or attribute"
        """The messages, the oldest first."""
        return messages_from_dict(self._held(self._history.read(self.limit)))

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages, the oldest first."""
        return messages_from_dict(await self._awaited(self._history.read(self.limit)))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages: all of them, in this order, or none."""
        self._held(self._history.add(_told(messages)))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages: all of them, in this order, or none."""
        await self._awaited(self._history.add(_told(messages)))

    def clear(self) -> None:
        """Take all messages away."""
        self._held(self._history.clear())

    async def aclear(self) -> None:
        """Take all messages away."""
        await self._awaited(self._history.clear())

    def close(self) -> None:
        """Close the connections to the server that this history opened."""
        if self._client is not None:
            self._client.close()

    def __enter__(self) -> RecollectChatMessageHistory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _held(self, conversation: Conversation[Told]) -> Told:
        if answers_later(self._memories):
            raise asyncio.InvalidStateError(
                "these memories need an event loop: await the call that begins with `a`, like `aget_messages`, "
                "or give the history a `Client`"
            )
        return held(conversation, self._memories)

    async def _awaited(self, conversation: Conversation[Told]) -> Told:
        if answers_later(self._memories):
            return await awaited(conversation, self._memories)
        return await asyncio.to_thread(held, conversation, self._memories)


def _told(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    flaws = [type(message).__name__ for message in messages if not isinstance(message, BaseMessage)]
    if flaws:
        raise InvalidValue(f"a history of messages takes messages, not {flaws[0]}")
    return [message_to_dict(message) for message in messages]
