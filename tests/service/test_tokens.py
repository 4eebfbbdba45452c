"""API keys: their form, what is kept of them, how long they hold, and who may make, see and revoke which."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Settings
from recollect.domain.callers import ALL_SCOPES, Caller, Role, Scope, local_caller, new_caller
from recollect.domain.errors import (
    Forbidden,
    InvalidCaller,
    InvalidExpiry,
    InvalidTenant,
    NotFound,
    RecollectError,
    Unauthenticated,
)
from recollect.domain.instants import datetime_of
from recollect.main import compose
from recollect.service.memories import Memories
from recollect.service.tokens import Tokens, checked_form, new_secret
from recollect.service.workings import Workings
from recollect.testing.doubles import ManualClock
from recollect.testing.servers import running

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
OPERATOR = new_caller("home", "ops", roles=["operator"])
ADMIN = new_caller("home", "root", roles=["admin"])
FOREIGN = new_caller("away", "root", roles=["admin"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def workings(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Any:
    place = ":memory:" if request.param == "memory" else tmp_path / "data"
    made = compose(place, Settings(), clock)
    yield made
    await Memories(made, local_caller("home")).close()


@pytest.fixture
def tokens(workings: Workings) -> Tokens:
    return workings.tokens


# -- form


def test_a_key_looks_like_one_and_no_two_are_alike() -> None:
    made = [new_secret() for _ in range(200)]
    assert all(re.fullmatch(r"rk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}", secret) for _, secret in made)
    assert all(checked_form(secret) == token_id and token_id in secret for token_id, secret in made)
    assert len({secret for _, secret in made}) == len({token_id for token_id, _ in made}) == 200


def slips(secret: str) -> Iterator[str]:
    """Every text that differs in one character, lacks one, has one twice, or has two neighbours swapped."""
    for place, right in enumerate(secret):
        yield from (secret[:place] + wrong + secret[place + 1 :] for wrong in LETTERS if wrong != right)
        yield secret[:place] + secret[place + 1 :]
        yield secret[:place] + right + secret[place:]
        swapped = secret[:place] + secret[place : place + 2][::-1] + secret[place + 2 :]
        if swapped != secret:
            yield swapped


def caught(check: Callable[[str], object], secret: str) -> tuple[int, int]:
    """How many slips there are, and how many of them a check catches."""
    total = found = 0
    for wrong in slips(secret):
        total += 1
        try:
            check(wrong)
        except Unauthenticated:
            found += 1
    return total, found


def test_the_checksum_catches_every_slip_of_the_pen() -> None:
    total, found = caught(checked_form, new_secret()[1])
    print(f"slips caught: {found} of {total}")
    assert total > 4_000
    assert found == total


def test_a_check_of_the_form_alone_would_not() -> None:
    def form_only(secret: str) -> None:
        if not re.fullmatch(r"rk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}", secret):
            raise Unauthenticated("no")

    total, found = caught(form_only, new_secret()[1])
    assert found < total


@pytest.mark.parametrize(
    "text", ["", "rk_", "rk_x", "RK_" + "a" * 62, "é" * 65, "rk_" + "a" * 12 + "_" + "a" * 49 + "\n"]
)
async def test_what_is_no_key_is_refused_without_asking_the_store(text: str, tokens: Tokens) -> None:
    with pytest.raises(Unauthenticated):
        await tokens.caller_of(text)


# -- what is kept


def places_of(secret: str, folder: Path) -> list[Path]:
    """Files in which the secret, or its random part alone, can be read."""
    needles = (secret.encode(), secret[16:59].encode(), secret[16:59].encode("utf-16-le"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(needle in path.read_bytes() for needle in needles)]


async def test_the_secret_is_in_no_file(tmp_path: Path) -> None:
    workings = compose(tmp_path / "data", Settings())
    made = await workings.tokens.create(ADMIN, "alice", name="of alice")
    assert (await workings.tokens.caller_of(made.secret)).user_id == "alice"
    assert places_of(made.secret, tmp_path / "data") == []
    await workings.tokens.revoke(ADMIN, made.token.id)
    await Memories(workings, local_caller("home")).close()
    assert places_of(made.secret, tmp_path / "data") == []
    (tmp_path / "data" / "note").write_text(f"do not forget: {made.secret}")
    assert places_of(made.secret, tmp_path / "data") == [tmp_path / "data" / "note"]


def test_the_secret_is_in_no_file_of_a_server_and_not_in_its_log(tmp_path: Path) -> None:
    with running(tmp_path / "data", log_level="debug") as server:
        key = server.key_for("alice")
        assert server.request("GET", "/v1/whoami", token=key)[0] == 200
        assert server.request("GET", "/v1/nowhere", token=key)[0] == 404
        assert server.request("GET", "/v1/whoami", token=key[:-1] + "!")[0] == 401
        assert places_of(key, tmp_path / "data") == []
    assert places_of(key, tmp_path / "data") == []


async def test_the_secret_is_shown_once(tokens: Tokens) -> None:
    made = await tokens.create(ADMIN, "alice")
    assert made.secret not in repr(made)
    listed = await tokens.list(ADMIN)
    assert listed == [made.token]
    assert made.secret[16:] not in repr(listed)
    assert not hasattr(listed[0], "secret")


# -- whom a key stands for, and how long


async def test_a_key_stands_for_whom_it_was_made(tokens: Tokens) -> None:
    made = await tokens.create(
        ADMIN, "alice", client_id="editor", name="laptop", roles=["auditor", "reviewer"], scopes=["read"]
    )
    assert await tokens.caller_of(made.secret) == Caller(
        "home",
        "alice",
        "editor",
        frozenset({"auditor", "reviewer"}),
        frozenset({Scope.READ}),
        {"sub": "alice", "roles": ["auditor", "reviewer"]},
        f"token:{made.token.id}",
    )
    token = made.token
    assert (token.name, token.tenant, token.created_by, token.revoked_at) == ("laptop", "home", "root", None)


async def test_a_key_expires_at_its_very_moment(tokens: Tokens, clock: ManualClock) -> None:
    until = datetime_of(clock.now) + timedelta(hours=1)
    made = await tokens.create(ADMIN, "alice", expires_at=until)
    for seconds in (0, 1_800, 1_799.999999):
        clock.advance(seconds)
        assert (await tokens.caller_of(made.secret)).user_id == "alice"
    clock.advance(0.000001)
    with pytest.raises(Unauthenticated, match="expired"):
        await tokens.caller_of(made.secret)
    assert [token.expires_at for token in await tokens.list(ADMIN)] == [until]


async def test_a_key_cannot_be_made_too_late(tokens: Tokens, clock: ManualClock) -> None:
    for late in (0, -1):
        with pytest.raises(InvalidExpiry):
            await tokens.create(ADMIN, "alice", expires_at=datetime_of(clock.now) + timedelta(seconds=late))


async def test_a_revoked_key_is_refused_at_once_in_every_process(tmp_path: Path) -> None:
    here, there = compose(tmp_path / "data", Settings()), compose(tmp_path / "data", Settings())
    made = await here.tokens.create(ADMIN, "alice")
    for each in (here, there):
        assert (await each.tokens.caller_of(made.secret)).user_id == "alice"
    await here.tokens.revoke(ADMIN, made.token.id)
    for each in (there, here):
        with pytest.raises(Unauthenticated, match="revoked"):
            await each.tokens.caller_of(made.secret)
        await Memories(each, local_caller("home")).close()


async def test_revoking_again_changes_nothing(tokens: Tokens, workings: Workings, clock: ManualClock) -> None:
    made = await tokens.create(ADMIN, "alice")
    first = await tokens.revoke(ADMIN, made.token.id)
    clock.advance(60)
    head = await workings.store.head("recollect:system")
    assert await tokens.revoke(ADMIN, made.token.id) == first
    assert await workings.store.head("recollect:system") == head
    assert [token.revoked_at for token in await tokens.list(ADMIN)] == [first.revoked_at]


async def test_a_wrong_secret_and_an_unknown_id_look_alike(tokens: Tokens) -> None:
    made = await tokens.create(ADMIN, "alice")
    known = made.token.id
    said = set()
    for token_id in (known, "0" * 12):
        forged = _with_id(token_id)
        with pytest.raises(Unauthenticated) as refused:
            await tokens.caller_of(forged)
        said.add((refused.value.message, str(refused.value.details)))
    assert len(said) == 1


def _with_id(token_id: str) -> str:
    """A well-formed key of this id that nobody made."""
    from recollect.service import tokens as module

    body = f"rk_{token_id}_{'x' * 43}"
    return body + module._checksum(body)


# -- who may do what


@pytest.mark.parametrize("tenant", ["away", "never heard of".replace(" ", "-")])
async def test_keys_of_another_tenant_are_an_operators_business(tenant: str, tokens: Tokens) -> None:
    theirs = await tokens.create(OPERATOR, "bob", tenant=tenant)
    assert theirs.token.tenant == tenant
    for call in (
        lambda: tokens.create(ADMIN, "spy", tenant=tenant),
        lambda: tokens.list(ADMIN, tenant=tenant),
    ):
        with pytest.raises(Forbidden):
            await call()
    with pytest.raises(NotFound):
        await tokens.revoke(ADMIN, theirs.token.id)
    assert await tokens.list(ADMIN) == []
    assert (await tokens.caller_of(theirs.secret)).tenant == tenant
    assert await tokens.list(OPERATOR, tenant=tenant) == [theirs.token]
    assert (await tokens.revoke(OPERATOR, theirs.token.id)).revoked_at is not None


async def test_an_administrator_manages_the_keys_of_their_tenant(tokens: Tokens) -> None:
    made = [await tokens.create(by, "alice") for by in (ADMIN, FOREIGN)]
    assert await tokens.list(ADMIN) == [made[0].token]
    assert await tokens.list(FOREIGN) == [made[1].token]
    assert (await tokens.revoke(ADMIN, made[0].token.id)).revoked_at is not None


@pytest.mark.parametrize("roles", [[], ["auditor"], ["Admin"], ["user", "reviewer"]], ids=str)
async def test_others_manage_no_keys(roles: Sequence[str], tokens: Tokens) -> None:
    made = await tokens.create(ADMIN, "alice")
    somebody = new_caller("home", "alice", roles=roles)
    for call in (
        lambda: tokens.create(somebody, "alice"),
        lambda: tokens.list(somebody),
        lambda: tokens.revoke(somebody, made.token.id),
    ):
        with pytest.raises(Forbidden):
            await call()


async def test_nobody_makes_a_key_with_scopes_that_they_lack(tokens: Tokens) -> None:
    narrow = new_caller("home", "root", roles=["admin"], scopes=["admin", "read"])
    for scopes in (None, ["write"], ["read", "delete"], list(ALL_SCOPES)):
        with pytest.raises(Forbidden):
            await tokens.create(narrow, "alice", scopes=scopes)
    for fewer in ([], ["read"], ["read", "admin"]):
        assert set((await tokens.create(narrow, "alice", scopes=fewer)).token.scopes) == set(fewer)
    with pytest.raises(Forbidden):
        await tokens.create(new_caller("home", "root", roles=["admin"], scopes=["read", "write"]), "alice", scopes=[])


async def test_only_an_operator_makes_an_operators_key(tokens: Tokens) -> None:
    for roles in (["operator"], ["admin", "operator"]):
        with pytest.raises(Forbidden):
            await tokens.create(ADMIN, "x", roles=roles)
        assert set((await tokens.create(OPERATOR, "x", roles=roles)).token.roles) == set(roles)
    assert set((await tokens.create(ADMIN, "x", roles=["admin", "mine"])).token.roles) == {"admin", "mine"}


@pytest.mark.parametrize("roles", [{each} for each in Role], ids=str)
async def test_a_key_never_leads_to_one_that_may_do_more(roles: set[str], tokens: Tokens) -> None:
    """From any key, follow every key that it can make: an operator's rights are never among them unless it had them."""
    reached, waiting = set[frozenset[str]](), [frozenset(roles)]
    while waiting:
        now = waiting.pop()
        if now in reached:
            continue
        reached.add(now)
        for wanted in ([], ["admin"], ["auditor"], ["operator"], list(Role)):
            try:
                made = await tokens.create(new_caller("home", "x", roles=now), "y", roles=wanted)
            except Forbidden:
                continue
            waiting.append(frozenset(made.token.roles))
    assert any(Role.OPERATOR in each for each in reached) is (Role.OPERATOR in roles)


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ({"user_id": ""}, InvalidCaller),
        ({"user_id": "a\nb"}, InvalidCaller),
        ({"user_id": "x" * 129}, InvalidCaller),
        ({"user_id": "\ud800"}, InvalidCaller),
        ({"client_id": "\x00"}, InvalidCaller),
        ({"roles": "admin"}, InvalidCaller),
        ({"roles": [""]}, InvalidCaller),
        ({"roles": [f"r{number}" for number in range(33)]}, InvalidCaller),
        ({"scopes": "read"}, InvalidCaller),
        ({"scopes": ["root"]}, InvalidCaller),
        ({"name": "x" * 256}, InvalidCaller),
        ({"name": "\x00"}, InvalidCaller),
        ({"tenant": "a b"}, InvalidTenant),
        ({"tenant": "recollect:system"}, InvalidTenant),
    ],
    ids=str,
)
async def test_a_wish_that_makes_no_sense_is_refused(
    wish: dict[str, Any], error: type[RecollectError], tokens: Tokens
) -> None:
    with pytest.raises(error):
        await tokens.create(OPERATOR, **({"user_id": "x"} | wish))
    assert await tokens.list(OPERATOR) == []


@pytest.mark.parametrize("token_id", ["", "x", "0" * 12, "../../../..", "*" * 12, None, 5])
async def test_revoking_what_there_is_not_is_refused(token_id: Any, tokens: Tokens) -> None:
    with pytest.raises(NotFound):
        await tokens.revoke(OPERATOR, token_id)


# -- comparing takes the same time


def compares_in_constant_time(source: str) -> bool:
    """True when digests are compared by `hmac.compare_digest`, and never by `==`."""
    tree = ast.parse(textwrap.dedent(source))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    compared = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    return "hmac.compare_digest" in calls and not any("digest" in each for each in compared)


def test_digests_are_compared_in_constant_time() -> None:
    source = inspect.getsource(Tokens.caller_of)
    assert compares_in_constant_time(source)
    careless = source.replace(
        "not hmac.compare_digest(known.digest, _digest(secret))", "known.digest != _digest(secret)"
    )
    assert careless != source
    assert not compares_in_constant_time(careless)
