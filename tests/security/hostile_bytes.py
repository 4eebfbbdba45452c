"""Hostile bytes: what is no HTTP, what is odd but lawful, and requests hidden in others; and how they are sent."""

from __future__ import annotations

import json
import re
import socket

from tests.security.hostile_requests import PUT


def raw(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    """A request of which every byte counts; `KEY` stands for a valid credential."""
    return b"\r\n".join((line, *headers, b"Authorization: Bearer KEY", b"", body))


_TEXT = json.dumps(PUT).encode()
_PUT = b"PUT /v1/memories HTTP/1.1"
_WHO = b"GET /v1/whoami HTTP/1.1"
_JSON = b"Content-Type: application/json"
_LENGTH = b"Content-Length: %d" % len(_TEXT)
_CHUNKED = b"Transfer-Encoding: chunked"
_CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(_TEXT), _TEXT)
GARBAGE: dict[str, bytes] = {
    "bytes": b"\x00\x01\x02\xff\xfe\r\n\r\n",
    "a greeting in TLS": bytes.fromhex("16030100a5010000a10303") + b"x" * 100,
    "a greeting in HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": raw(b"GET /v1/whoami HTTP/9.9"),
    "a tunnel": raw(b"CONNECT elsewhere:443 HTTP/1.1"),
    "an unknown method": raw(b"TAKE /v1/whoami HTTP/1.1"),
    "a method in lower case": raw(b"get /v1/whoami HTTP/1.1"),
    "a method without end": raw(b"G" * 5_000 + b" /v1/whoami HTTP/1.1"),
    "a path without a slash": raw(b"GET v1/whoami HTTP/1.1"),
    "a path with a space": raw(b"GET /v1/who ami HTTP/1.1"),
    "a path with NUL": raw(b"GET /v1/\x00 HTTP/1.1"),
    "a path in raw UTF-8": raw("GET /v1/é HTTP/1.1".encode()),
    "a parameter in raw UTF-8": raw("GET /v1/memories?ns=user&ns=alice&key=é HTTP/1.1".encode()),
    "two lengths": raw(_PUT, _JSON, _LENGTH, b"Content-Length: 5", body=_TEXT),
    "one length twice": raw(_PUT, _JSON, _LENGTH, _LENGTH, body=_TEXT),
    "a list of lengths": raw(_PUT, _JSON, _LENGTH + b", 5", body=_TEXT),
    "a length below zero": raw(_PUT, _JSON, b"Content-Length: -5", body=_TEXT),
    "a length with a sign": raw(_PUT, _JSON, b"Content-Length: +5", body=_TEXT),
    "a length in hexadecimal": raw(_PUT, _JSON, b"Content-Length: 0x5", body=_TEXT),
    "a length of 40 digits": raw(_PUT, _JSON, b"Content-Length: " + b"9" * 40, body=_TEXT),
    "a length, and chunks": raw(_PUT, _JSON, b"Content-Length: 5", _CHUNKED, body=_CHUNKS),
    "chunks, and a length": raw(_PUT, _JSON, _CHUNKED, b"Content-Length: 5", body=_CHUNKS),
    "an encoding that never ends": raw(_PUT, _JSON, b"Transfer-Encoding: gzip", body=_TEXT),
    "an encoding that is almost chunked": raw(_PUT, _JSON, b"Transfer-Encoding: xchunked", body=_CHUNKS),
    "an encoding behind a control character": raw(_PUT, _JSON, b"Transfer-Encoding:\x0bchunked", body=_CHUNKS),
    "a space before the colon": raw(_PUT, _JSON, b"Transfer-Encoding : chunked", body=_CHUNKS),
    "a chunk of no length": raw(_PUT, _JSON, _CHUNKED, body=b"zz\r\n" + _TEXT + b"\r\n0\r\n\r\n"),
    "a chunk of 2^68 bytes": raw(_PUT, _JSON, _CHUNKED, body=b"f" * 17 + b"\r\n" + _TEXT),
    "a chunk with a line break in its extension": raw(_PUT, _JSON, _CHUNKED, body=b"4;x=\n\r\n" + _TEXT),
    "lines that end without CR": raw(_WHO, b"Host: a").replace(b"\r\n", b"\n"),
    "lines that end without LF": raw(_WHO, b"Host: a").replace(b"\r\n", b"\r"),
    "a header on two lines": raw(_WHO, b"Host: a\r\n b"),
    "a header without a colon": raw(_WHO, b"Host"),
    "a header without a name": raw(_WHO, b": x"),
    "a header with NUL": raw(_WHO, b"X: a\x00b"),
    "a line break in a request id": raw(_WHO, b"X-Request-Id: a\rSet-Cookie: b"),
    "a line break in an idempotency key": raw(_PUT, _JSON, _LENGTH, b"Idempotency-Key: a\rb", body=_TEXT),
    "a head of 1 MB": raw(_WHO, b"X: " + b"a" * 1_000_000),
    "10,000 headers": raw(_WHO, *(b"X%d: a" % number for number in range(10_000))),
}
"""What is no HTTP: the parser answers 400 in plain text, before there is a request, and hangs up."""

HARMLESS: dict[str, bytes] = {
    "HTTP/1.0": raw(b"GET /v1/whoami HTTP/1.0"),
    "no host": raw(_WHO),
    "an absurd host": raw(_WHO, b"Host: elsewhere.example:99999/../"),
    "two hosts": raw(_WHO, b"Host: a", b"Host: b"),
    "another server's address": raw(b"GET http://elsewhere.example/v1/whoami HTTP/1.1", b"Host: a"),
    "a fragment": raw(b"GET /v1/whoami#fragment HTTP/1.1", b"Host: a"),
    "a wish for WebSocket": raw(_WHO, b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"),
    "a wish for HTTP/2": raw(_WHO, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: x"),
    "a request id with markup": raw(_WHO, b"X-Request-Id: <script>"),
    "a request id without end": raw(_WHO, b"X-Request-Id: " + b"x" * 65),
    "a request id that is not ASCII": raw(_WHO, "X-Request-Id: 🦊".encode()),
    "an address that is not the caller's": raw(_WHO, b"X-Forwarded-For: 10.0.0.1", b"X-Forwarded-User: admin"),
    "somebody else's name": raw(_WHO, b"X-User-Id: bob", b"X-Tenant: other", b"Cookie: user=bob"),
}
"""What is odd but lawful: it is answered as if the oddity were not there."""

_HEAD = b"GET /admin/v1/head HTTP/1.1\r\nHost: a\r\n\r\n"
SMUGGLED: dict[str, bytes] = {
    "behind a length of nothing": raw(b"POST /v1/memories/search HTTP/1.1", _JSON, b"Content-Length: 0", body=_HEAD),
    "behind the last chunk": raw(_PUT, _JSON, _CHUNKED, body=b"2\r\n{}\r\n0\r\n\r\n" + _HEAD),
    "as the body of a question": raw(_WHO, b"Content-Length: %d" % len(_HEAD), body=_HEAD),
    "behind a body that is refused": raw(_PUT, b"Content-Length: 2", body=b"{}" + _HEAD),
}
"""A second request in the first: it is never answered in the first one's name."""


def exchanged(port: int, sent: bytes, *, whole: bool = True, cut: bool = False) -> bytes:
    """What a server answers to these bytes: one whole answer, or all until it hangs up; `cut` hangs up first."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(sent)
            if cut:
                connection.shutdown(socket.SHUT_WR)
            while not (whole and _is_whole(received)) and (piece := connection.recv(65_536)):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: ([0-9]+)", head, re.IGNORECASE)
    return bool(end) and length is not None and len(body) >= int(length[1])
