"""A process that asks as nobody should: garbage, floods, trickles, at a steady rate for some time."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

PATIENCE = 20.0
MIB = 1 << 20
_PUT = "PUT /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
Attack = tuple[bytes, bytes]
"""What is sent at once, and what is trickled afterwards, a byte at a time."""


def attacks(token: str) -> dict[str, Callable[[], Attack]]:
    """Each kind of attack, made anew for every use."""
    chance = random.Random(1)
    known = f"Authorization: Bearer {token}\r\n"
    garbage = bytes(chance.randrange(256) for _ in range(2_000))
    deep = b'{"namespace":["a"],"key":"k","value":{"v":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    flood = b"x" * (5 * MIB)

    def with_body(headers: str, body: bytes) -> bytes:
        return f"{_PUT}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body

    chunked = f"{_PUT}{known}Transfer-Encoding: chunked\r\n\r\n{len(flood):x}\r\n".encode() + flood + b"\r\n0\r\n\r\n"
    slow = f"{_PUT}{known}Content-Length: 1000\r\n\r\n".encode()
    path = "".join(chance.choice("abc/%.?&=") for _ in range(200))
    return {
        "a bad key": lambda: (with_body("Authorization: Bearer rk_no\r\n", b"{}"), b""),
        "no key": lambda: (b"GET /v1/memories?ns=a&key=k HTTP/1.1\r\nHost: x\r\n\r\n", b""),
        "a garbage body": lambda: (with_body(known, garbage), b""),
        "not HTTP": lambda: (garbage + b"\r\n\r\n", b""),
        "a large body": lambda: (with_body(known, flood), b""),
        "a large body in chunks": lambda: (chunked, b""),
        "deep JSON": lambda: (with_body(known, deep), b""),
        "a trickled body": lambda: (slow, b"{" + b" " * 998 + b"}"),
        "a huge header": lambda: (f"GET /healthz HTTP/1.1\r\nX: {'x' * MIB}\r\n\r\n".encode(), b""),
        "many headers": lambda: (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", b""),
        "an unknown path": lambda: (f"GET /{path} HTTP/1.1\r\nHost: x\r\n{known}\r\n".encode(), b""),
    }


async def attack(host: str, port: int, sent: bytes, trickled: bytes) -> str:
    """Send, trickle, and say how it was answered; whoever is answered hangs up."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return "no connection"
    sending = asyncio.create_task(_send(writer, sent, trickled))
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read(1_000)
        return answer.split(b" ")[1].decode() if answer.startswith(b"HTTP/") else "closed"
    except (OSError, TimeoutError) as problem:
        return type(problem).__name__
    finally:
        sending.cancel()
        writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, sent: bytes, trickled: bytes) -> None:
    try:
        writer.write(sent)
        await writer.drain()
        for byte in trickled:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.2)
    except OSError:
        return


async def main(url: str, token: str, rate: float, seconds: float) -> dict[str, dict[str, int]]:
    """Attack at this rate for so long; return how each kind was answered how often."""
    place, kinds = urlsplit(url), attacks(token)
    answers: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    began = loop.time()

    async def one(kind: str) -> None:
        answers[kind][await attack(place.hostname or "", place.port or 0, *kinds[kind]())] += 1

    for number, kind in enumerate(itertools.cycle(kinds)):
        due = began + number / rate
        if due > began + seconds:
            break
        await asyncio.sleep(max(0.0, due - loop.time()))
        tasks.append(asyncio.create_task(one(kind)))
    await asyncio.gather(*tasks)
    return {kind: dict(found) for kind, found in answers.items()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))))
