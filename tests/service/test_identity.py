"""From what a request carries to the caller it comes from: what is taken, what is refused, and who is asked."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest

from recollect import Settings
from recollect.domain.callers import Caller, local_caller, new_caller
from recollect.domain.errors import RecollectError, Unauthenticated
from recollect.main import compose
from recollect.ports.credentials import Verifier
from recollect.service.identity import MAX_CREDENTIAL, Identity
from recollect.service.memories import Memories
from recollect.service.tokens import Tokens

ADMIN = new_caller("home", "root", roles=["admin"])


class Issuer(Verifier):
    """An issuer that knows one token, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def caller_of(self, token: str) -> Caller:
        self.asked.append(token)
        if token != "e30.e30.x":
            raise Unauthenticated("the token is not valid")
        return new_caller("home", "carol")


@pytest.fixture
async def tokens() -> AsyncIterator[Tokens]:
    workings = compose(":memory:", Settings())
    yield workings.tokens
    await Memories(workings, local_caller("home")).close()


@pytest.fixture
async def key(tokens: Tokens) -> str:
    return (await tokens.create(ADMIN, "alice")).secret


def password(text: str | bytes) -> str:
    return "Basic " + b64encode(text.encode() if isinstance(text, str) else text).decode()


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {} "])
async def test_a_key_is_recognised(form: str, tokens: Tokens, key: str) -> None:
    caller = await Identity(tokens).caller_of(form.format(key))
    assert (caller.user_id, caller.credential) == ("alice", f"token:{key[3:15]}")


WRONG: list[str | None] = [
    None,
    "",
    " ",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Bearer rk_",
    "Bearer {key}x",
    "Bearer x{key}",
    "Bearer {key} {key}",
    "Bearer {key},{key}",
    "Bearer\t{key}",
    "{key}",
    "Token {key}",
    "Digest {key}",
    "Bearer \xe9",
    "Bearer rk_\xe9",
    "Bearer " + "x" * (MAX_CREDENTIAL + 1),
    "Basic {key}",
    "Basic \xe9",
    "Basic !!!",
    "Basic",
    password("no colon"),
    password("user:"),
    password("user:wrong"),
    password(b"\xff:\xff"),
]


@pytest.mark.parametrize("header", WRONG, ids=repr)
@pytest.mark.parametrize("basic", [False, True])
async def test_what_is_no_credential_is_refused(header: str | None, basic: bool, tokens: Tokens, key: str) -> None:
    given = None if header is None else header.replace("{key}", key)
    for identity in (Identity(tokens), Identity(tokens, Issuer())):
        with pytest.raises(Unauthenticated) as refused:
            await identity.caller_of(given, basic=basic)
        assert key not in refused.value.message


async def test_a_key_is_taken_as_a_password_only_where_browsers_may(tokens: Tokens, key: str) -> None:
    identity = Identity(tokens)
    for user in ("", "alice", "anybody", "é"):
        assert (await identity.caller_of(password(f"{user}:{key}"), basic=True)).user_id == "alice"
        with pytest.raises(Unauthenticated):
            await identity.caller_of(password(f"{user}:{key}"))
    assert (await identity.caller_of(f"Bearer {key}", basic=True)).user_id == "alice"


async def test_tokens_of_an_issuer_go_to_its_verifier_and_keys_never_do(tokens: Tokens, key: str) -> None:
    issuer = Issuer()
    identity = Identity(tokens, issuer)
    assert (await identity.caller_of("Bearer e30.e30.x")).user_id == "carol"
    assert (await identity.caller_of(f"Bearer {key}")).user_id == "alice"
    with pytest.raises(Unauthenticated):
        await identity.caller_of(f"Bearer {key[:-1]}")
    assert issuer.asked == ["e30.e30.x"]


async def test_without_an_issuer_its_tokens_are_refused(tokens: Tokens) -> None:
    with pytest.raises(Unauthenticated):
        await Identity(tokens).caller_of("Bearer e30.e30.x")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"tenant": bad} for bad in ("", "a b", "recollect:system", "../x", None, 5, ["a"])),
        *({"user_id": bad} for bad in ("", "\n", "\x00", "\u202e", "\ud800", "x" * 129, None, 5, ["a"])),
        *({"client_id": bad} for bad in ("\n", "x" * 129, 5)),
        *({"roles": bad} for bad in ("admin", None, 5, [5], [""], ["x"] * 5 + ["\x00"])),
        *({"scopes": bad} for bad in ("read", 5, ["Read"], [None], ["*"])),
    ],
    ids=repr,
)
def test_no_caller_is_made_of_what_could_be_mistaken(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecollectError) as refused:
        new_caller(**({"tenant": "t", "user_id": "u"} | wrong))
    assert refused.value.code in ("invalid_caller", "invalid_tenant")
