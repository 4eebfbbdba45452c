"""The client against the real service: the same answers and the same errors as in process."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import stat
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.sdk.service import Service
from tests.sdk.test_requests import HOSTILE

import recollect
import recollect_client
from recollect_client import AsyncClient, Client, DeleteOp, PutOp, errors


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


class Both:
    """Either client behind one synchronous face."""

    def __init__(self, flavour: str, url: str, token: str) -> None:
        self._runner = asyncio.Runner() if flavour == "async" else None
        self.client: Any = (AsyncClient if self._runner else Client)(url, token)

    def view(self, why: str, **named: Any) -> Both:
        """The same client with every read justified; closed together with this one."""
        view = object.__new__(Both)
        view._runner, view.client = self._runner, self.client.justified(why, **named)
        return view

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            answer = getattr(self.client, name)(*given, **named)
            return self._runner.run(answer) if self._runner and inspect.iscoroutine(answer) else answer

        return call

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self._runner:
            self._runner.close()


@pytest.fixture
def client(flavour: str, service: Service) -> Iterator[Both]:
    with Both(flavour, service.url, service.token) as both:
        yield both


@pytest.fixture
def place() -> tuple[str, ...]:
    return ("sdk", uuid4().hex)


def test_a_memory_lives_through_all_calls(client: Both, place: tuple[str, ...]) -> None:
    added = client.put(place, "k", {"n": 1, "big": 2**70}, attributes={"from": "test"})
    assert (added.kind, added.revision, added.replayed, added.namespace) == ("add", 1, False, place)
    item = client.get(place, "k")
    assert (item.value, item.attributes, item.revision, item.id) == (
        {"n": 1, "big": 2**70},
        {"from": "test"},
        1,
        added.id,
    )
    assert item.created_at.tzinfo is UTC
    assert client.get_by_id(added.id) == item
    assert client.get_by_id(uuid4()) is None
    updated = client.put(place, "k", {"n": 2}, expected_revision=1)
    assert (updated.kind, updated.revision) == ("update", 2)
    assert client.get(place, "k", as_of=item.updated_at).value == {"n": 1, "big": 2**70}
    assert [(each.revision, each.end_reason) for each in client.history(place, "k")] == [(2, None), (1, "updated")]
    assert client.list_namespaces(prefix=place[:1], suffix=place[1:]) == [place]
    gone = client.delete(place, "k", expected_revision=2)
    assert (gone.kind, gone.revision) == ("delete", 2)
    assert client.get(place, "k") is None
    nothing = client.delete(place, "k")
    assert (nothing.kind, nothing.sequence) == (None, None)
    page = client.events(place)
    assert [(each.kind, each.revision) for each in page] == [("add", 1), ("update", 2), ("delete", 2)]
    assert page.events[0].value == {"n": 1, "big": 2**70}
    assert len(client.events(place, after=page.events[1].cursor, kinds=["delete"])) == 1


def test_what_is_archived_is_found_when_asked_for(client: Both, place: tuple[str, ...]) -> None:
    client.put(place, "k", {})
    assert client.archive(place, "k").revision == 2
    assert client.get(place, "k") is None
    assert client.get(place, "k", archived="include").archived
    assert len(client.search(place)) == 0
    assert len(client.search(place, archived="only")) == 1
    assert not client.archive(place, "k", archived=False, expected_revision=2).archived
    assert not client.get(place, "k").archived
    with pytest.raises(errors.NotFound):
        client.archive(place, "missing")


def test_paging_meets_everything_once(client: Both, place: tuple[str, ...]) -> None:
    client.batch([PutOp((*place, str(n % 3)), f"k{n:02}", {"n": n}) for n in range(25)])
    found, cursor = [], None
    while True:
        page = client.search(place, order="key", limit=7, cursor=cursor)
        found += [item.key for item in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(found) == [f"k{n:02}" for n in range(25)]
    assert len(client.list_namespaces(prefix=place)) == 3


def test_what_was_waited_for_is_found_by_its_words(client: Both, place: tuple[str, ...]) -> None:
    written = client.put(place, "tea", {"text": "green tea in the morning"}, wait="indexed")
    assert written.indexed is True
    assert client.put(place, "rain", {"text": "rain on Friday"}).indexed is None
    found = client.search(place, query="morning tea", mode="lexical", explain=True, wait=30)
    assert [(item.key, item.score, item.matched_queries) for item in found] == [("tea", 1.0, ())]
    assert found.items[0].explanation["lexical"]["rank"] == 1
    assert found.explanation["mode"] == "lexical"
    several = client.search(place, query=["tea", "friday"], mode="lexical", wait=30)
    assert {item.key: item.matched_queries for item in several} == {"tea": (0,), "rain": (1,)}
    assert several.explanation is None
    assert client.search(place, query="tea", min_score=1, mode="lexical", limit=1).items[0].explanation is None
    batch = client.batch([PutOp(place, "sun", {"text": "sun"}), DeleteOp(place, "rain")], wait="indexed")
    assert [each.indexed for each in batch] == [True, True]
    assert not client.search(place, query="friday", mode="lexical").items
    with pytest.raises(errors.InvalidQuery):
        client.search(place, query=" ")


def test_hostile_names_come_back_as_they_are(client: Both, place: tuple[str, ...]) -> None:
    for text in HOSTILE:
        namespace = (*place, text)
        client.put(namespace, text, {text: text})
        item = client.get(namespace, text)
        assert (item.namespace, item.key, item.value) == (namespace, text, {text: text})
        assert [each.key for each in client.history(namespace, text)] == [text]
        assert [each.key for each in client.search(namespace, limit=5)] == [text]
        if text != "*":
            assert client.list_namespaces(prefix=namespace) == [namespace]
        assert [each.key for each in client.events(namespace)] == [text]
        assert client.delete(namespace, text).kind == "delete"


def test_a_repeated_write_changes_nothing(client: Both, place: tuple[str, ...]) -> None:
    key = uuid4().hex
    first = client.put(place, "k", {"n": 1}, ttl=3600, idempotency_key=key)
    again = client.put(place, "k", {"n": 1}, ttl=timedelta(hours=1), idempotency_key=key)
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.id, again.sequence, again.expires_at) == (first.id, first.sequence, first.expires_at)
    with pytest.raises(errors.IdempotencyMismatch):
        client.put(place, "k", {"n": 2}, idempotency_key=key)
    with pytest.raises(errors.RevisionConflict) as caught:
        client.batch([PutOp(place, "other", {}), DeleteOp(place, "k", 7)])
    error = caught.value
    assert (error.status, error.details["expected"], error.details["actual"]) == (409, 7, 1)
    assert error.request_id
    assert client.get(place, "other") is None


def test_an_event_ends_a_wait(client: Both, service: Service, place: tuple[str, ...]) -> None:
    began = datetime.now(UTC)
    assert len(client.events(place, wait=0.3)) == 0
    assert datetime.now(UTC) - began >= timedelta(seconds=0.3)
    position = client.events(place).cursor

    async def race() -> Any:
        async with AsyncClient(service.url, service.token) as other:
            waiting = asyncio.create_task(other.events(place, after=position, wait=30))
            await asyncio.sleep(0.2)
            await other.put(place, "k", {})
            return await waiting

    page = asyncio.run(race())
    assert [each.key for each in page] == ["k"]
    assert datetime.now(UTC) - began < timedelta(seconds=20)


def test_the_log_is_verified_and_a_subject_erased(client: Both) -> None:
    user = uuid4().hex
    client.put(("user", user), "k", {"secret": 1})
    head = client.head()
    told: list[tuple[int, int]] = []
    found = client.verify(head=head, progress=lambda *step: told.append(step))
    assert (found.sound, found.problems, len(told)) == (True, (), 1)
    assert found.events >= 1
    receipt = client.erase(f"user:{user}")
    assert (receipt.subject, receipt.versions, receipt.live, len(receipt.hash)) == (f"user:{user}", 1, 1, 64)
    assert isinstance(receipt.id, UUID)
    assert client.get(("user", user), "k") is None
    assert client.verify(head=head).sound
    assert client.verify(head=f"{int(head.partition(':')[0])}:{'0' * 64}").problems[0].finding == "head_mismatch"
    assert set(client.sweep()) >= {"expire"}
    assert client.rotate_keys() >= 1
    with pytest.raises(errors.InvalidQuery):
        client.verify(head="nonsense")


def test_a_backup_is_a_whole_database(client: Both, tmp_path: Path, place: tuple[str, ...]) -> None:
    client.put(place, "k", {})
    client.backup(tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with sqlite3.connect(tmp_path / "copy.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


def test_tokens_are_made_used_and_revoked(flavour: str, client: Both, service: Service) -> None:
    admin = client.whoami()
    assert (admin.tenant, "admin" in admin.roles, "write" in admin.scopes) == ("default", True, True)
    user = f"u-{uuid4().hex}"
    made = client.create_token(user, name="test", scopes=["read", "write"])
    assert made.secret.startswith("rk_")
    assert (made.token.user_id, made.token.scopes) == (user, ("read", "write"))
    assert made.token in client.list_tokens()
    with Both(flavour, service.url, made.secret) as other:
        assert other.whoami().user_id == user
        other.put(("user", user), "k", {"mine": True})
        with pytest.raises(errors.Forbidden):
            other.delete(("user", user), "k")
        with pytest.raises(errors.Forbidden):
            other.put(("user", "somebody"), "k", {})
        with pytest.raises(errors.Forbidden):
            other.list_tokens()
        assert [item.key for item in other.search()] == ["k"]
        revoked = client.revoke_token(made.token.id)
        assert revoked.revoked_at is not None
        with pytest.raises(errors.Unauthenticated) as caught:
            other.whoami()
        assert caught.value.status == 401
        assert made.secret not in str(caught.value) + str(vars(caught.value))
    with pytest.raises(errors.NotFound):
        client.revoke_token("unknown/../x")


def test_an_export_is_imported_once(client: Both, tmp_path: Path, flavour: str) -> None:
    place = ("user", uuid4().hex)
    for n in range(3):
        client.put(place, "k", {"n": n}, attributes={"n": n})
    pages, cursor = [], None
    while True:
        page = client.export_page(cursor, limit=100)
        pages.append(page)
        cursor = page.cursor
        if cursor is None:
            break
    (tmp_path / "other").mkdir()
    other = Service(tmp_path / "other")
    try:
        with Both(flavour, other.url, other.token) as there:
            assert there.import_progress(pages[0].source) == 0
            done = [there.import_page(page.source, page.entries) for page in pages]
            assert sum(each.skipped for each in done) == 0
            assert there.import_progress(pages[0].source) == done[-1].sequence
            again = there.import_page(pages[0].source, pages[0].entries)
            assert (again.imported, again.skipped) == (0, len(pages[0].entries))
            kept = [(item.revision, item.value) for item in there.history(place, "k")]
            assert kept == [(item.revision, item.value) for item in client.history(place, "k")]
            assert len(kept) == 3
    finally:
        other.end()


PROGRAM: list[tuple[str, Callable[[Any, Any], Awaitable[Any]]]] = [
    ("add", lambda m, _: m.put(("p", "a"), "k", {"n": 1}, attributes={"x": [1]})),
    ("update", lambda m, _: m.put(("p", "a"), "k", {"n": 2}, expected_revision=1)),
    ("stale", lambda m, _: m.put(("p", "a"), "k", {}, expected_revision=1)),
    ("below", lambda m, _: m.put(("p", "b", "c"), "k2", {"n": 3})),
    ("get", lambda m, _: m.get(("p", "a"), "k")),
    ("missing", lambda m, _: m.get(("p", "a"), "nope")),
    ("history", lambda m, _: m.history(("p", "a"), "k")),
    ("search", lambda m, _: m.search(("p",), order="key")),
    ("search all", lambda m, _: m.search((), limit=2, order="oldest")),
    ("namespaces", lambda m, _: m.list_namespaces(prefix=("p", "*"), max_depth=2)),
    ("archive", lambda m, _: m.archive(("p", "a"), "k")),
    ("archive nothing", lambda m, _: m.archive(("p", "a"), "nope")),
    ("delete", lambda m, _: m.delete(("p", "a"), "k")),
    ("delete again", lambda m, _: m.delete(("p", "a"), "k")),
    ("events", lambda m, _: m.events(("p",), limit=4)),
    ("no namespace", lambda m, _: m.put((), "k", {})),
    ("empty segment", lambda m, _: m.put(("",), "k", {})),
    ("NUL", lambda m, _: m.put(("a\x00",), "k", {})),
    ("empty key", lambda m, _: m.get(("a",), "")),
    ("long key", lambda m, _: m.put(("a",), "k" * 2000, {})),
    ("deep", lambda m, _: m.put(("a",) * 11, "k", {})),
    ("NaN", lambda m, _: m.put(("a",), "k", {"x": float("nan")})),
    ("NUL inside", lambda m, _: m.put(("a",), "k", {"x": "\x00"})),
    ("no object", lambda m, _: m.put(("a",), "k", [1])),
    ("None", lambda m, _: m.put(("a",), "k", None)),
    ("large", lambda m, _: m.put(("a",), "k", {"x": "y" * (1 << 20)})),
    ("ttl 0", lambda m, _: m.put(("a",), "k", {}, ttl=0)),
    ("two expiries", lambda m, _: m.put(("a",), "k", {}, ttl=1, expires_at=datetime(2030, 1, 1, tzinfo=UTC))),
    ("before time", lambda m, _: m.put(("a",), "k", {}, expires_at=datetime(1960, 1, 1, tzinfo=UTC))),
    ("bad order", lambda m, _: m.search(order="sideways")),
    ("bad limit", lambda m, _: m.search(limit=0)),
    ("bad offset", lambda m, _: m.search(offset=-1)),
    ("bad cursor", lambda m, _: m.search(cursor="nonsense")),
    ("bad event cursor", lambda m, _: m.events(after="nonsense")),
    ("bad kind", lambda m, _: m.events(kinds=["invented"])),
    ("bad filter", lambda m, _: m.search(filter={"a": {"$regex": "x"}})),
    ("bad archived", lambda m, _: m.get(("a",), "k", archived="maybe")),
    ("no operations", lambda m, _: m.batch([])),
    ("too many", lambda m, kit: m.batch([kit.DeleteOp(("a",), "k")] * 1001)),
    ("bad subject", lambda m, _: m.erase("nobody")),
    ("bad head", lambda m, _: m.verify(head="x")),
    ("bad revision", lambda m, _: m.put(("a",), "k", {}, expected_revision=-1)),
    ("bad role", lambda m, _: m.create_token("u", roles=[""])),
    ("bad scope", lambda m, _: m.create_token("u", scopes=["everything"])),
    ("no user", lambda m, _: m.create_token("")),
    ("unknown token", lambda m, _: m.revoke_token("nope")),
    ("bad source", lambda m, _: m.import_progress("nope")),
    ("bad entries", lambda m, _: m.import_page("0" * 64, [{"x": 1}])),
    ("no policy", lambda m, _: m.push_policy({})),
    ("bad module", lambda m, _: m.check_policy({"../x.rego": "package x"})),
    ("open policy", lambda m, _: m.push_policy({"authz.rego": "package memories.authz\n\nallow := true\n"})),
    ("long note", lambda m, _: m.push_policy({"authz.rego": "package memories.authz\n"}, note="n" * 1001)),
    ("unknown version", lambda m, _: m.rollback_policy(7)),
    ("bad version", lambda m, _: m.rollback_policy(-1)),
    ("bad action", lambda m, _: m.explain_policy("invent", ("a",), "k", user_id="u")),
    ("no caller", lambda m, _: m.explain_policy("read", ("a",), "k", user_id="")),
    ("bad audit", lambda m, _: m.list_audit(action="invented")),
    ("bad audit limit", lambda m, _: m.list_audit(limit=0)),
    ("bad audit cursor", lambda m, _: m.list_audit(cursor="nonsense")),
    ("unknown memory", lambda m, _: m.force_delete(UUID(int=1), justification="x")),
    ("no reason", lambda m, _: m.force_delete(UUID(int=1), justification=" ")),
    ("bad setting", lambda m, _: m.change_settings({"max_depth": 65})),
    ("no setting", lambda m, _: m.change_settings({})),
]


def outcome(answer: Any) -> Any:
    """What can be compared of an answer: everything but identities, times and places in the log."""
    if isinstance(answer, list):
        return [outcome(each) for each in answer]
    if isinstance(answer, recollect.Found | recollect_client.Found):
        return [outcome(each) for each in answer]
    if isinstance(answer, recollect.Events | recollect_client.Events):
        return [outcome(each) for each in answer], answer.complete
    if isinstance(answer, recollect.Written | recollect_client.Written):
        return answer.kind, answer.revision, answer.replayed
    if isinstance(answer, recollect.MemoryEvent | recollect_client.Event):
        return answer.kind, answer.namespace, answer.key, answer.revision, answer.value, answer.attributes
    if isinstance(answer, recollect.Item | recollect_client.Item):
        place = answer.namespace, answer.key, answer.revision
        return *place, answer.value, answer.attributes, answer.archived, answer.end_reason
    return answer


async def ran(memories: Any, kit: Any) -> list[tuple[str, Any]]:
    """The outcome of each step of the program; `kit` is the package that the operations come from."""
    told = []
    for name, step in PROGRAM:
        try:
            told.append((name, outcome(await step(memories, kit))))
        except (recollect.RecollectError, recollect_client.RecollectError) as error:
            told.append((name, (type(error).__name__, error.code)))
    return told


def differences(here: list[tuple[str, Any]], there: list[tuple[str, Any]]) -> list[Any]:
    return [pair for pair in zip(here, there, strict=True) if pair[0] != pair[1]]


async def test_a_program_has_the_same_outcome_in_process_and_over_the_network(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    async with recollect.open(tmp_path / "here") as memories:
        here = await ran(memories, recollect)
    service = await asyncio.to_thread(Service, tmp_path / "there")
    try:
        async with AsyncClient(service.url, service.token) as client:
            there = await ran(client, recollect_client)
    finally:
        await asyncio.to_thread(service.end)
    assert differences(here, there) == []
    refusals = {cls.__name__ for cls in errors.all_errors()}
    assert sum(isinstance(told, tuple) and str(told[0]) in refusals for _, told in there) > 25


class Careless:
    """Memories that answer two calls wrongly."""

    def __init__(self, memories: recollect.Memories) -> None:
        self._memories = memories

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memories, name)

    async def history(self, namespace: Any, key: str) -> list[recollect.Item]:
        return (await self._memories.history(namespace, key))[:1]

    async def erase(self, subject: str) -> None:
        raise recollect.errors.InvalidKey(subject)


async def test_an_outcome_that_differs_is_caught(tmp_path: Path) -> None:
    async with recollect.open(tmp_path / "right") as memories:
        right = await ran(memories, recollect)
    async with recollect.open(tmp_path / "wrong") as memories:
        wrong = await ran(Careless(memories), recollect)
    assert [pair[0][0] for pair in differences(right, wrong)] == ["history", "bad subject"]
