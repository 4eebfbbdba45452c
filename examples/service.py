"""A service with two users: each has a key, their own memories, and no way into the other's.

It starts a service of its own in a temporary folder, and stops it at the end:

    python examples/service.py
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from recollect_client import AsyncClient, Client
from recollect_client.errors import Forbidden

ALICE, BOB = ("user", "alice"), ("user", "bob")


@contextmanager
def service(folder: str) -> Iterator[tuple[str, str]]:
    """Start a service over a folder, on any free port; its address, and the key of its administrator."""
    command = [sys.executable, "-m", "recollect", "serve", "--home", folder, "--port", "0", "--json"]
    quietly = [*command, "--log-level", "warning"]
    with subprocess.Popen(quietly, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this very program
        try:
            started = json.loads(process.stdout.readline() if process.stdout else "")
            yield started["url"], started["admin_key"]
        finally:
            process.terminate()


def learn(alice: Client) -> None:
    """Alice's agent writes down what it learned."""
    alice.put(ALICE, "diet", {"text": "vegetarian"})
    written = alice.put(ALICE, "diet", {"text": "vegan"}, expected_revision=1)
    print(f"alice: diet is at revision {written.revision}")


async def look_around(bob: AsyncClient) -> None:
    """Bob's agent writes too, and looks where it may not."""
    await asyncio.gather(*(bob.put(BOB, key, {"text": text}) for key, text in (("city", "Porto"), ("tea", "green"))))
    print("bob:", ", ".join(item.key for item in await bob.search(order="key")))
    print("bob looks for alice's memories and finds", len(await bob.search(ALICE)))
    try:
        await bob.get(ALICE, "diet")
    except Forbidden as refused:
        print(f"bob asks for alice's diet: {refused.status} {refused.code}")


def account(admin: Client) -> None:
    """The administrator sees what happened, checks the log, and lets Alice be forgotten."""
    for event in admin.events(ALICE):
        print(f"log: {event.sequence} {event.kind} {event.key} {event.value} by {event.actor}")
    receipt = admin.erase("user:alice")
    print(f"erased {receipt.versions} versions of alice; the receipt is event {receipt.sequence}")
    print("alice's versions:", [version.value for version in admin.history(ALICE, "diet")])
    checked = admin.verify()
    print(f"{checked.events} events, {'sound' if checked.sound else checked.problems}")


async def as_bob(url: str, key: str) -> None:
    """The same client for code with an event loop."""
    async with AsyncClient(url, key) as bob:
        await look_around(bob)


def main() -> None:
    """Run all of it."""
    with tempfile.TemporaryDirectory() as folder, service(folder) as (url, admin_key), Client(url, admin_key) as admin:
        keys = {user: admin.create_token(user, client_id="example-agent").secret for user in ("alice", "bob")}
        with Client(url, keys["alice"]) as alice:
            learn(alice)
        asyncio.run(as_bob(url, keys["bob"]))
        account(admin)


if __name__ == "__main__":
    main()
