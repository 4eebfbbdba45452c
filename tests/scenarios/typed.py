"""The door of the command line: everything typed as arguments, everything read from its JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from tests.scenarios import told
from tests.scenarios.door import (
    CALLER,
    EVENT,
    ITEM,
    VERSION,
    WRITTEN,
    Door,
    Person,
    Plain,
    Refused,
    confirmed,
    found,
    plain,
)
from tests.scenarios.in_process import key_for
from tests.scenarios.remembering import WAY_IN
from tests.scenarios.talks import Talks, talked
from tests.scenarios.way_in import WayIn, remembered
from tests.scenarios.way_out import WayOut, given
from typer.testing import CliRunner

from recollect.cli.program import app
from recollect.domain.queries import event_cursor
from recollect.testing.servers import Server

NOT_OFFERED = frozenset({"batch", "any value", "pages of namespaces", WAY_IN})
"""What cannot be typed: batches; values that are no objects, which are kept as text; pages of `ls`, which tells all;
and the way in but for what is said."""
READS = frozenset({"get", "search", "ls", "history", "log"})
UNTOLD = frozenset({"replayed"})
"""What is told to people, but has no place in the JSON."""


OPTIONS = {"spaces": "space", "kinds": "kind", "tiers": "tier", "event_types": "event_type", "include_usage": "usage"}
"""What an option is called that may be typed several times, or is a switch."""
COMMANDS = {
    "converse": "talk",
    "conversation_context": "context --conversation",
    "list_sessions": "session list",
    "get_session": "session show",
    "close_session": "session close",
    "list_messages": "session messages",
    "list_spines": "spine --all",
    "get_spine": "spine",
    "list_todos": "todo list",
    "add_todo": "todo add",
    "get_todo": "todo show",
    "change_todo": "todo change",
    "get_seed": "seed show",
    "put_seed": "seed put",
    "delete_seed": "seed delete",
    "list_personas": "persona list",
    "get_persona": "persona show",
    "list_entities": "entity list",
    "get_entity": "entity show",
    "put_entity": "entity put",
    "merge_entities": "entity merge",
    "split_entity": "entity split",
    "undo_entity_change": "entity undo",
    "list_entity_suggestions": "entity suggestions",
    "curate": "curate",
    "list_curations": "curations",
    "undo_curation": "curate undo",
}
"""The commands of a conversation."""


class Typed(WayIn, WayOut, Talks):
    """The commands, against a server."""

    def __init__(self, always: Sequence[str], reading: Mapping[str, str | None] | None = None) -> None:
        self._always = list(always)
        self._reading = dict(reading or {})

    def justified(self, why: str, *, as_user_id: str | None = None) -> Door:
        return Typed(self._always, {"why": why, "as_user": as_user_id})

    def _run(self, command: str, *words: str, **options: Any) -> Any:
        options |= self._reading if command in READS else {}
        given = [word for name, value in options.items() for word in _option(f"--{name.replace('_', '-')}", value)]
        typed = [*self._always, *command.split(), *given, "--", *words]
        result = CliRunner().invoke(app, typed, env={"NO_COLOR": "1"})
        if result.exit_code and not result.stdout:
            envelope = json.loads(result.stderr)
            assert set(envelope) == {"error", "code", "details"}, envelope
            raise Refused(envelope["code"])
        return json.loads(result.stdout)

    def capture(self, captures: Sequence[Plain]) -> list[Plain]:
        (each,) = captures
        return [remembered(self._run("capture", each["text"], session=each.get("session")))]

    def start_phase(self, token: str) -> Any:
        return remembered(self._run("phase", token))

    def _give(self, call: str, *asked: Any, **named: Any) -> Any:
        if call in ("put_profile", "get_usage", "top_usage"):
            return given(getattr(self, f"_{call}")(*asked, **named))
        commands = {
            "take_turn": "turn",
            "recall_turn": "turn",
            "list_traces": "trace",
            "get_trace": "trace",
            "diff_phases": "diff",
        }
        commands |= {"get_profile": "profile show", "list_profiles": "profile list", "why_not": "why-not"}
        words = list(asked)
        if call == "recall_turn":
            named["ask"] = True
        if call == "take_turn":
            words.append(named.pop("user"))
            named["no_recall"] = not named.pop("recall", True)
        if call == "context":
            named.setdefault("form", "json")
        options = {OPTIONS.get(name, name): value for name, value in named.items()}
        return given(self._run(commands.get(call, call), *words, **options))

    def _talk(self, call: str, *asked: Any, **named: Any) -> Any:
        words = list(asked)
        if call == "put_persona":
            with _files({"settings.json": json.dumps(words.pop())}) as folder:
                return talked(self._run("persona put", *words, f"{folder}/settings.json", **named))
        if call == "decide_entity_suggestion":
            return talked(self._run("entity accept" if words.pop() else "entity reject", *words))
        if call == "get_session_state":
            return talked(self._run("session state", persona=words[0] if words else None))
        if call == "list_messages" and "session" in named:
            words.append(named.pop("session"))
        if call in ("put_entity", "split_entity"):
            aliases = named.pop("aliases", [])
            words, named = (words, {**named, "alias": aliases}) if call == "put_entity" else ([*words, *aliases], named)
        if call == "conversation_context":
            named.setdefault("form", "json")
        return talked(self._run(COMMANDS[call], *map(str, words), **named))

    def _put_profile(self, name: str, settings: Plain, **named: Any) -> Any:
        with _files({"settings.json": json.dumps(settings)}) as folder:
            return self._run("profile put", name, f"{folder}/settings.json", **named)

    def _get_usage(self, namespace: Sequence[str], key: str) -> Any:
        return self._run("usage show", _place(namespace), key)

    def _top_usage(self, *, namespace_prefix: Sequence[str] = (), limit: int = 100, **named: Any) -> Any:
        return self._run("usage top", *_scope(namespace_prefix), limit=limit, **named)

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        index_fields: Sequence[str] | None = None,
        wait: str | None = None,
        **named: Any,
    ) -> Plain:
        named |= {"index": index_fields or None, "no_index": index_fields == [], "wait": wait is not None}
        return confirmed(self._run("put", _place(namespace), key, json.dumps(value), **named), WRITTEN)

    def archive(self, namespace: Sequence[str], key: str, *, archived: bool = True, **named: Any) -> Plain:
        done = self._run("archive" if archived else "unarchive", _place(namespace), key, **named)
        assert done["archived"] is archived
        return plain(done, WRITTEN)

    def delete(self, namespace: Sequence[str], key: str, **named: Any) -> Plain:
        return plain(self._run("rm", _place(namespace), key, **named), ("replayed",))

    def batch(
        self, operations: Iterable[Plain], *, idempotency_key: str | None = None, wait: str | None = None
    ) -> list[Plain]:
        raise NotImplementedError

    def get(self, namespace: Sequence[str], key: str, **named: Any) -> Plain:
        return plain(self._run("get", _place(namespace), key, **named), ITEM)

    def get_by_id(self, item_id: str) -> Plain:
        return plain(self._run("get", id=item_id), VERSION)

    def search(self, namespace_prefix: Sequence[str] = (), **named: Any) -> Plain:
        return found(self._run("search", *_scope(namespace_prefix), **named), named.get("query"))

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

    def show_policy(self, *, service: bool = False) -> Plain:
        return told.policy(self._run("policy show", service=service))

    def check_policy(self, modules: Mapping[str, str]) -> Plain:
        with _files(modules) as folder:
            return told.report(self._run("policy test", folder))

    def push_policy(self, modules: Mapping[str, str], **named: Any) -> Plain:
        with _files(modules) as folder:
            return told.policy(self._run("policy push", folder, **named))

    def rollback_policy(self, number: int | None = None, **named: Any) -> Plain:
        return told.policy(self._run("policy rollback", *([] if number is None else [str(number)]), **named))

    def explain_policy(
        self, action: str, namespace: Sequence[str], key: str = "", *, modules: Any = None, **named: Any
    ) -> Plain:
        names = {"user_id": "user", "client_id": "client", "roles": "role"}
        options = {names.get(name, name): value for name, value in named.items() if name != "claims"}
        options["claim"] = [f"{name}={json.dumps(value)}" for name, value in (named.get("claims") or {}).items()]
        words = [action, _place(namespace), *([key] if key else [])]
        if modules is None:
            return told.explanation(self._run("policy explain", *words, **options))
        with _files(modules) as folder:
            return told.explanation(self._run("policy explain", *words, dir=folder, **options))

    def simulate_policy(self, modules: Mapping[str, str]) -> Plain:
        with _files(modules) as folder:
            return told.simulation(self._run("policy simulate", folder))

    def list_audit(self, **named: Any) -> Plain:
        return told.audit(self._run("audit", **named))

    def force_delete(self, item_id: str, *, justification: str) -> None:
        assert self._run("rm", id=item_id, why=justification) == {"id": item_id, "kind": "delete"}

    def index_status(self) -> Plain:
        return told.index(self._run("index status"))

    def trigger_index(self) -> Plain:
        return told.index(self._run("index trigger"))

    def show_settings(self) -> Plain:
        return told.tuned(self._run("settings show"))

    def change_settings(self, settings: Mapping[str, float | None]) -> Plain:
        taken_back = [name for name, value in settings.items() if value is None]
        given = [f"{name}={value}" for name, value in settings.items() if value is not None]
        assert not (taken_back and given), "one command sets, another takes back"
        return told.tuned(self._run("settings set", *given) if given else self._run("settings unset", *taken_back))


@contextmanager
def _files(modules: Mapping[str, str]) -> Iterator[str]:
    """Modules as they are typed: as a directory."""
    with TemporaryDirectory() as folder:
        for name, text in modules.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        yield folder


def _place(namespace: Sequence[str]) -> str:
    return "/".join(quote(segment, safe="*") for segment in namespace)


def _scope(namespace: Sequence[str]) -> list[str]:
    return [_place(namespace)] if namespace else []


def _option(name: str, value: Any) -> list[str]:
    return [name] if value is True else [f"{name}={each}" for each in _texts(value)]


def _texts(value: Any) -> list[str]:
    """An option as it is typed: not at all, once, or once for each of a list."""
    if value is None or value is False:
        return []
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    if isinstance(value, datetime):
        return [value.isoformat()]
    return [json.dumps(value) if isinstance(value, dict) else str(value)]


class AtTheKeyboard:
    """Somebody who types, with a server to ask."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def door(self, tenant: str, person: Person) -> Door:
        return Typed(["--json", "--url", self._server.url, "--token", key_for(self._server, tenant, person)])

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        """Nothing is kept open between commands."""
