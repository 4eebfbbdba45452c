"""A server on loopback that takes Qdrant's REST requests, notes them, and fails in the ways it is told to.

What it answers comes from the client's own imitation of Qdrant. It reads requests by the models that the client has
of the documented interface, so what does not fit those is refused; it does not prove what a real server makes of them.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

Fault = Callable[["Handler"], None]
"""What is done instead of answering; a fault is used up by one request."""


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    key: str | None
    body: dict[str, Any]


@dataclass
class Loopback:
    """What the server was asked, and how it behaves."""

    url: str = ""
    version: str = "1.16.0"
    asked: list[Asked] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    turn: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    loopback: Loopback

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(self.command, parts.path, query, self.headers.get("api-key"), body)
        self.loopback.asked.append(asked)
        if self.loopback.faults:
            self.loopback.faults.popleft()(self)
            return
        try:
            with self.loopback.turn:
                result = _result(self.loopback, asked)
        except ValueError as problem:
            self.answer(400, json.dumps({"status": {"error": str(problem)}, "time": 0.0}))
            return
        said = result if asked.path == "/" else {"result": result, "status": "ok", "time": 0.0}
        self.answer(200, json.dumps(said))

    def do_GET(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def answer(self, status: int, text: str) -> None:
        """Answer with this text."""
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the word of the library
        pass


def _result(loopback: Loopback, asked: Asked) -> Any:
    client = loopback.client
    if asked.path == "/":
        return {"title": "qdrant", "version": loopback.version}
    if asked.path == "/collections":
        return _plain(client.get_collections())
    _, _, name, *rest = asked.path.split("/")
    match (asked.method, "/".join(rest)):
        case "GET", "exists":
            return {"exists": client.collection_exists(name)}
        case "PUT", "":
            _make(client, name, models.CreateCollection.model_validate(asked.body))
            return True
        case "PUT", "index":
            TypeAdapter(models.CreateFieldIndex).validate_python(asked.body)
            return {"operation_id": 1, "status": "completed"}
        case "PUT", "points":
            written = models.PointsList.model_validate(asked.body)
            return _plain(client.upsert(name, written.points, update_filter=written.update_filter))
        case "POST", "points/delete":
            return _plain(client.delete(name, models.FilterSelector.model_validate(asked.body)))
        case "POST", "points/query":
            return _found(client, name, models.QueryRequest.model_validate(asked.body))
        case "POST", "points/count":
            counted = models.CountRequest.model_validate(asked.body)
            return _plain(client.count(name, counted.filter, exact=bool(counted.exact)))
        case "POST", "facet":
            facet = models.FacetRequest.model_validate(asked.body)
            hits = client.facet(name, facet.key, facet.filter, limit=facet.limit or 10, exact=bool(facet.exact))
            return _plain(hits)
        case "POST", "points":
            wanted = models.PointRequest.model_validate(asked.body)
            return [_plain(each) for each in client.retrieve(name, wanted.ids)]
        case "POST", "points/scroll":
            scroll = models.ScrollRequest.model_validate(asked.body)
            page, place = client.scroll(
                name, scroll.filter, limit=scroll.limit or 10, order_by=scroll.order_by, offset=scroll.offset
            )
            return {"points": [_plain(each) for each in page], "next_page_offset": place}
    raise ValueError(f"there is no {asked.method} {asked.path}")


def _make(client: QdrantClient, name: str, asked: models.CreateCollection) -> None:
    client.create_collection(name, asked.vectors, sparse_vectors_config=asked.sparse_vectors)


def _found(client: QdrantClient, name: str, asked: models.QueryRequest) -> Any:
    found = client.query_points(
        name,
        query=asked.query,
        using=asked.using,
        query_filter=asked.filter,
        limit=asked.limit or 10,
        with_payload=asked.with_payload or False,
        with_vectors=asked.with_vector or False,
    )
    return _plain(found)


def _plain(said: BaseModel) -> Any:
    return said.model_dump(mode="json")


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server on a free port."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Payload indexes have no effect|Local mode performs exact")
        running = Loopback()
        handler = type("Handler", (Handler,), {"loopback": running})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads = True
            running.url = f"http://127.0.0.1:{server.server_address[1]}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield running
            finally:
                server.shutdown()
                thread.join()


# -- faults


def status(code: int, text: str = '{"status": {"error": "no"}}') -> Fault:
    """An answer with this status."""
    return lambda handler: handler.answer(code, text)


def hanging(seconds: float) -> Fault:
    """No answer for so long."""

    def wait(handler: Handler) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return wait


def dropped(handler: Handler) -> None:
    """The connection ends without an answer."""
    handler.close_connection = True
