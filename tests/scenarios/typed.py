"""The door of the command line: everything typed as arguments, everything read from its JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tests.scenarios.door import CALLER, EVENT, ITEM, VERSION, WRITTEN, Door, Person, Plain, Refused, plain
from tests.scenarios.in_process import key_for
from typer.testing import CliRunner

from recollect.cli.program import app
from recollect.domain.queries import event_cursor
from recollect.testing.servers import Server

NOT_OFFERED = frozenset({"batch", "any value", "pages of namespaces"})
"""What cannot be typed: batches; values that are no objects, which are kept as text; pages of `ls`, which tells all."""
UNTOLD = frozenset({"replayed"})
"""What is told to people, but has no place in the JSON."""


class Typed:
    """The commands, against a server."""

    def __init__(self, url: str, key: str) -> None:
        self._always = ["--json", "--url", url, "--token", key]

    def _run(self, command: str, *words: str, **options: Any) -> Any:
        given = [f"--{name.replace('_', '-')}={each}" for name, value in options.items() for each in _texts(value)]
        typed = [*self._always, command, *given, "--", *words]
        result = CliRunner().invoke(app, typed, env={"NO_COLOR": "1"})
        if result.exit_code:
            envelope = json.loads(result.stderr)
            assert set(envelope) == {"error", "code", "details"}, envelope
            raise Refused(envelope["code"])
        return json.loads(result.stdout)

    def put(self, namespace: Sequence[str], key: str, value: Any, **named: Any) -> Plain:
        return plain(self._run("put", _place(namespace), key, json.dumps(value), **named), WRITTEN)

    def archive(self, namespace: Sequence[str], key: str, *, archived: bool = True, **named: Any) -> Plain:
        done = self._run("archive" if archived else "unarchive", _place(namespace), key, **named)
        assert done["archived"] is archived
        return plain(done, WRITTEN)

    def delete(self, namespace: Sequence[str], key: str, **named: Any) -> Plain:
        return plain(self._run("rm", _place(namespace), key, **named), ("replayed",))

    def batch(self, operations: Iterable[Plain], *, idempotency_key: str | None = None) -> list[Plain]:
        raise NotImplementedError

    def get(self, namespace: Sequence[str], key: str, **named: Any) -> Plain:
        return plain(self._run("get", _place(namespace), key, **named), ITEM)

    def get_by_id(self, item_id: str) -> Plain:
        return plain(self._run("get", id=item_id), VERSION)

    def search(self, namespace_prefix: Sequence[str] = (), **named: Any) -> Plain:
        found = self._run("search", *_scope(namespace_prefix), **named)
        return {"items": [plain(item, ITEM) for item in found["items"]], "cursor": found["cursor"]}

    def list_namespaces(
        self, *, prefix: Sequence[str] = (), suffix: Sequence[str] = (), **named: Any
    ) -> list[list[str]]:
        ending = {"suffix": _place(suffix)} if suffix else {}
        found: list[list[str]] = self._run("ls", *_scope(prefix), **ending, **named)["namespaces"]
        return found

    def history(self, namespace: Sequence[str], key: str, **named: Any) -> list[Plain]:
        try:
            found = self._run("history", _place(namespace), key, **named)
        except Refused as refusal:
            if refusal.code != "not_found":  # nothing is shown to people as an error; elsewhere it is an empty list
                raise
            return []
        return [plain(each, VERSION) for each in found["versions"]]

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        **named: Any,
    ) -> Plain:
        # Without a cursor, people are shown the latest events; from the beginning is from the cursor of nothing.
        wanted = None if kinds is None else list(kinds)
        page = self._run("log", *_scope(namespace_prefix), kind=wanted, after=after or event_cursor(0), **named)
        told = [plain(event, EVENT) for event in page["events"]]
        return {"events": told, "cursor": page["after_cursor"], "complete": page["complete"]}

    def whoami(self) -> Plain:
        return plain(self._run("whoami"), CALLER)


def _place(namespace: Sequence[str]) -> str:
    return "/".join(quote(segment, safe="*") for segment in namespace)


def _scope(namespace: Sequence[str]) -> list[str]:
    return [_place(namespace)] if namespace else []


def _texts(value: Any) -> list[str]:
    """An option as it is typed: not at all, once, or once for each of a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, datetime):
        return [value.isoformat()]
    return [json.dumps(value) if isinstance(value, dict) else str(value)]


class AtTheKeyboard:
    """Somebody who types, with a server to ask."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def door(self, tenant: str, person: Person) -> Door:
        return Typed(self._server.url, key_for(self._server, tenant, person))

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        """Nothing is kept open between commands."""
