"""An agent that remembers, in one process: it learns preferences, recalls them, says why, and forgets.

Run it with a directory for the memories, or without one to keep them nowhere:

    python examples/embedded.py [directory]
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

import recollect

CONVERSATION = (
    ("alice", "remember diet: vegetarian"),
    ("alice", "remember city: Porto"),
    ("bob", "remember diet: everything"),
    ("alice", "what do you know?"),
    ("alice", "remember diet: vegan"),
    ("alice", "why diet?"),
    ("alice", "forget me"),
    ("alice", "what do you know?"),
    ("bob", "what do you know?"),
)


class Agent:
    """Answers one line at a time; everything that it knows, it knows from its memories."""

    def __init__(self, memories: recollect.Memories) -> None:
        self._memories = memories

    async def answer(self, user: str, said: str) -> str:
        """What the agent says to that."""
        if said.startswith("remember "):
            name, _, wish = said.removeprefix("remember ").partition(": ")
            return await self._learn(user, name, wish)
        if said.startswith("why "):
            return await self._explain(user, said.removeprefix("why ").rstrip("?"))
        if said == "forget me":
            receipt = await self._memories.erase(f"user:{user}")
            return f"Erased {receipt.versions} versions; the receipt is event {receipt.sequence}."
        return await self._recall(user)

    async def _learn(self, user: str, name: str, wish: str) -> str:
        written = await self._memories.put(
            ("user", user, "preferences"),
            name,
            {"text": wish},
            attributes={"said": f"remember {name}: {wish}"},
            policy_attributes={"type": "preference"},
            ttl=timedelta(days=365),
        )
        return f"Noted ({written.kind}, revision {written.revision})."

    async def _recall(self, user: str) -> str:
        found = await self._memories.search(("user", user), filter={"type": "preference"}, order="key")
        known = [f"your {item.key} is {item.value['text']}" for item in found if item.value]
        return f"I know that {' and '.join(known)}." if known else "Nothing."

    async def _explain(self, user: str, name: str) -> str:
        versions = await self._memories.history(("user", user, "preferences"), name)
        told = [f'"{item.attributes["said"]}" ({item.end_reason or "holds"})' for item in versions if item.attributes]
        return "You said " + "; before that ".join(told) + "."


async def main(directory: str = ":memory:") -> None:
    """Hold the conversation, then check that the log is sound."""
    async with recollect.open(directory, actor="example-agent") as memories:
        agent = Agent(memories)
        for user, said in CONVERSATION:
            print(f"{user}: {said}")
            print(f"agent: {await agent.answer(user, said)}")
        checked = await memories.verify()
        print(f"{checked.events} events, {'sound' if checked.sound else checked.problems}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
