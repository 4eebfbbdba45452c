"""The client for code without an event loop; generated from `_async.py` by `make generate`."""

from __future__ import annotations

import copy
import random
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any
from uuid import UUID

import httpx

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client._answers import Answer
from recollect_client._files import Download, Progress
from recollect_client._requests import Call, Justification
from recollect_client._retries import Limits, Silence, Tries
from recollect_client._settings import address_of_server, headers_of_caller, trusted
from recollect_client._shapes import Head, History, Namespaces, Tools
from recollect_client._sync_administration import Administration
from recollect_client._sync_conversing import Conversing
from recollect_client._sync_entities import Entities
from recollect_client._sync_recalling import Recalling
from recollect_client._sync_remembering import Remembering
from recollect_client.errors import Forbidden, InvalidQuery, NotFound, RecollectError, StoreClosed
from recollect_client.models import (
    Caller,
    DeleteOp,
    Event,
    Events,
    Found,
    Item,
    PutOp,
    Verification,
    Written,
)

_WHOAMI = "/v1/whoami"


class Client(Conversing, Entities, Recalling, Remembering, Administration):
    """The memories of the tenant that a token belongs to, on a server.

    Without `url` and `token`, the environment says them: RECOLLECT_URL and RECOLLECT_TOKEN. One attempt may
    take `timeout` seconds, `retries` more may follow, and all together take no longer than `deadline` seconds.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        deadline: float = 60.0,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._url = address_of_server(url)
        self._limits = Limits(timeout, retries, deadline)
        headers = {"Accept": "application/json", "User-Agent": "recollect-client", **headers_of_caller(token)}
        self._http = httpx.Client(
            headers=headers, verify=trusted(self._url, verify), trust_env=False, follow_redirects=False
        )
        self._justification: Justification | None = None

    def justified(self, why: str, *, as_user_id: str | None = None) -> Client:
        """The same memories for an administrator who says why; every read is written down with it.

        With `as_user_id`, as that user would see them: without any roles, and to read only. It shares the
        connections to the server: closing one closes both.
        """
        if self._as_user_id is not None:
            raise _read_only()
        view = copy.copy(self)
        view._justification = Justification.checked(why, as_user_id)
        return view

    # -- writing

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        attributes: Mapping[str, Any] | None = None,
        ttl: float | timedelta | None = None,
        expires_at: datetime | None = None,
        index_fields: Sequence[str] | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> Written:
        """Remember a value under a key, in place of the one it may have.

        `attributes` are sealed like the value. `ttl` is in seconds. `index_fields` are the paths of the fields that a
        query can find, like `text` or `notes[*].text`; an empty list stands for none. `expected_revision` refuses the
        write unless the key is at that revision, 0 meaning absent. With an `idempotency_key`, repeating the call
        changes nothing. With `wait="indexed"`, it returns once queries find it.
        """
        operation = PutOp(
            namespace,
            key,
            value,
            attributes=attributes,
            ttl=ttl,
            expires_at=expires_at,
            index_fields=index_fields,
            expected_revision=expected_revision,
        )
        fields = requests.put_fields(operation) | {"wait": wait}
        call = requests.write("PUT", "/v1/memories", fields, key=idempotency_key, held=requests.seconds_indexed(wait))
        return answers.one_written(self._send(call), call)

    def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Set a key aside, so that only those who ask for archived items find it; or bring it back."""
        fields = requests.delete_fields(DeleteOp(namespace, key, expected_revision)) | {"archived": archived}
        call = requests.write("PATCH", "/v1/memories", fields, key=idempotency_key)
        return answers.one_written(self._send(call), call)

    def delete(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a key. Deleting what is not there changes nothing."""
        # As a batch of one, because the answer to DELETE has no body that could say what was deleted.
        return (self.batch((DeleteOp(namespace, key, expected_revision),), idempotency_key=idempotency_key))[0]

    def batch(
        self,
        operations: Iterable[PutOp | DeleteOp],
        *,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> list[Written]:
        """Carry out up to 1,000 operations at once: all of them or none; with `wait="indexed"`, and index them."""
        steps, held = requests.batch_fields(operations), requests.seconds_indexed(wait)
        fields = {"operations": steps, "wait": wait}
        call = requests.write("POST", "/v1/memories/batch", fields, key=idempotency_key, held=held)
        return answers.all_written(self._send(call), call, len(steps))

    # -- reading

    def get(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        as_of: datetime | None = None,
        archived: str = "exclude",
        include_usage: bool = False,
    ) -> Item | None:
        """The item under a key, or None. With `as_of`, as it was at that moment, while its history is kept.

        It counts as a load of the item, unless it is a look at the past or is justified. With `include_usage`, the
        item says how often it was loaded before.
        """
        query = [*requests.address(namespace, key), ("as_of", requests.moment(as_of)), ("archived", archived)]
        query += requests.switch("include_usage", include_usage)
        return self._item(requests.read("/v1/memories", query, justified=self._justification))

    def get_by_id(self, item_id: UUID) -> Item | None:
        """The version of an item with this id, live or not; None when there is none in this tenant."""
        if not isinstance(item_id, UUID):
            raise InvalidQuery(f"an id is a UUID, not {type(item_id).__name__}")
        path = f"/v1/memories/{requests.in_path(item_id)}"
        return self._item(requests.read(path, justified=self._justification))

    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        query: str | Sequence[str] | None = None,
        mode: str = "hybrid",
        min_score: float | None = None,
        explain: bool = False,
        wait: float | None = None,
        order: str = "newest",
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        as_of: datetime | None = None,
        archived: str = "exclude",
        include_usage: bool = False,
    ) -> Found:
        """Items at or below a namespace whose policy attributes match a filter; with a `query`, those that answer it.

        Without a query, continue with the `cursor` of the answer; in `key` order, paging meets everything that exists
        throughout exactly once. With one, the best come first: by words and by meaning, or by one of them (`mode`).
        Several queries are put together by their ranks. `explain` says what each arm found. With `wait`, so many
        seconds are given to what was written before to be indexed. A search is no load; with `include_usage`, items say
        how often they were loaded.
        """
        held = 0.0 if wait is None else requests.seconds_held(wait)
        fields = {
            "namespace_prefix": requests.segments(namespace_prefix),
            "query": requests.queries_asked(query),
            "mode": mode,
            "min_score": min_score,
            "explain": explain,
            "wait": wait,
            "filter": requests.filter_asked(filter),
            "order": order,
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
            "as_of": requests.moment(as_of),
            "archived": archived,
            "include_usage": include_usage or None,
        }
        call = requests.ask("/v1/memories/search", fields, held=held, justified=self._justification)
        return answers.decoded(self._send(call), Found)

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        archived: str = "exclude",
    ) -> list[tuple[str, ...]]:
        """The namespaces that have items, sorted. `*` in prefix or suffix stands for exactly one segment."""
        query = [
            *requests.repeated("prefix", requests.segments(prefix)),
            *requests.repeated("suffix", requests.segments(suffix)),
            ("max_depth", max_depth),
            ("limit", limit),
            ("offset", offset),
            ("archived", archived),
        ]
        call = requests.read("/v1/memories/namespaces", query, justified=self._justification)
        return answers.decoded(self._send(call), Namespaces).namespaces

    def history(
        self, namespace: Sequence[str], key: str, *, limit: int = 100, before_revision: int | None = None
    ) -> list[Item]:
        """Every kept version of a key, newest first, with when and why each ended."""
        query = [*requests.address(namespace, key), ("limit", limit), ("before_revision", before_revision)]
        call = requests.read("/v1/memories/history", query, justified=self._justification)
        return answers.decoded(self._send(call), History).versions

    # -- the log

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        wait: float = 0.0,
    ) -> Events:
        """A page of what happened, in order, after a cursor; from the beginning without one.

        With `wait`, an empty answer is held back until something happens or so many seconds have passed.
        """
        call = requests.events(namespace_prefix, after, kinds, since, until, limit, wait, self._justification)
        return answers.decoded(self._send(call), Events)

    def follow(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        wait: float = 20.0,
        patience: float = 60.0,
    ) -> Iterator[Event]:
        """Every event after a cursor, and then each new one as it happens, without end.

        A server that restarts is waited for, up to `patience` seconds without an answer; no event is missed or
        told twice. To go on another time, give the `cursor` of the last event as `after`.
        """
        place, sought = requests.segments(namespace_prefix), requests.kinds_asked(kinds)
        if not requests.seconds_held(wait) >= 0.1:
            raise InvalidQuery(f"a follower waits from 0.1 to 60 seconds, not {wait!r}")
        silence = Silence(patience)
        while True:
            call = requests.events(place, after, sought or None, None, None, 200, wait, self._justification)
            try:
                seconds = silence.seconds(self._limits, call, time.monotonic())
                page = answers.decoded(self._attempt(call, seconds), Events)
            except RecollectError as error:
                pause = silence.pause(call, error, time.monotonic(), random.random())  # noqa: S311 - no secret
                if pause is None:
                    raise
                time.sleep(pause)
                continue
            silence.broken()
            yield from page.events
            after = page.cursor

    def head(self) -> str:
        """Where the log ends, as text to keep elsewhere: given to `verify` later, it proves nothing was cut off."""
        return answers.decoded(self._send(requests.read("/admin/v1/head")), Head).head

    def verify(self, *, head: str | None = None, progress: Progress | None = None) -> Verification:
        """Check that nothing was altered, removed, swapped or cut off, in the log or in what it tells of.

        The server tells nothing before it is done, so `progress` is called once, at the end.
        """
        call = requests.ask("/admin/v1/verify", {"head": head}, slow=True)
        verification = answers.decoded(self._send(call), Verification)
        if progress is not None:
            progress(verification.events, verification.events)
        return verification

    # -- the tools of an agent

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools of an agent: what each is for, takes and gives, and what it does to what is remembered."""
        return answers.decoded(self._send(requests.read("/v1/tools")), Tools).tools

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str | None = None, group: str = "default"
    ) -> dict[str, Any]:
        """What a tool gives for these arguments, on the notes of a group.

        A session has budgets, so it must be named to store and to delete. Session and group are told by whoever runs
        the agent, never by the agent itself.
        """
        self._in_own_name()
        return answers.decoded(self._send(requests.tool(name, arguments, session, group)), dict[str, Any])

    def brief(self, *, group: str = "default") -> str:
        """What an agent should know at the beginning of a session, in markdown; nothing when there is nothing.

        A session begins without it rather than not at all: what fails, or takes longer than 5 seconds, is empty too.
        """
        self._in_own_name()
        return (self._send(requests.brief(group))).body.decode()

    # -- who may do what

    def whoami(self) -> Caller:
        """Who the server takes the holder of the token for."""
        who = answers.decoded(self._send(requests.read(_WHOAMI)), Caller)
        as_user_id = self._as_user_id
        return who if as_user_id is None else answers.seen_as(who, as_user_id)

    # -- opening and closing

    def close(self) -> None:
        """Close the connections to the server."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    # -- inner

    @property
    def _as_user_id(self) -> str | None:
        return None if self._justification is None else self._justification.as_user_id

    def _in_own_name(self) -> None:
        if self._justification is not None:
            why = "this is done in one's own name, not with a justification"
            raise Forbidden("access denied", details={"reason": why})

    def _item(self, call: Call) -> Item | None:
        try:
            return answers.decoded(self._send(call), Item)
        except NotFound as error:
            if error.code != NotFound.code:
                raise
            return None

    def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered, as often and as long as the limits allow."""
        if call.as_user_id != self._as_user_id and call.target != _WHOAMI:
            raise _read_only()  # the server would take it for the administrator's own
        tries = Tries(self._limits, call, time.monotonic())
        while True:
            try:
                return self._attempt(call, tries.seconds(time.monotonic()), download)
            except RecollectError as error:
                pause = tries.pause(error, time.monotonic(), random.random())  # noqa: S311 - no secret
                if pause is None:
                    raise
            time.sleep(pause)

    def _attempt(self, call: Call, seconds: float, download: Download | None = None) -> Answer:
        """Send a request once, and read the answer."""
        if self._http.is_closed:
            raise StoreClosed("the client was closed; make a new one")
        until = time.monotonic() + seconds
        try:
            with self._http.stream(
                call.method, self._url + call.target, content=call.body, headers=call.headers, timeout=seconds
            ) as response:
                if download is not None and response.status_code == 200:
                    self._receive(response, download)
                    return Answer(response.status_code, response.headers, b"")
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout("the answer was still coming when its time was up")
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise answers.connection_failed(error, call, self._url) from None
        return answers.checked(Answer(response.status_code, response.headers, bytes(body)))

    def _receive(self, response: httpx.Response, download: Download) -> None:
        answers.check_download(Answer(response.status_code, response.headers, b""))
        try:
            download.start(answers.length_of(response.headers))
            for chunk in response.iter_bytes():
                download.write(chunk)
            download.keep()
        except BaseException:
            download.drop()
            raise


def _read_only() -> Forbidden:
    return Forbidden("access denied", details={"reason": "in another user's place, memories can be read, and no more"})
