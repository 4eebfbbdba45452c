"""Nothing of what may not be kept is anywhere: not in a row of any plane, a label, an event, a log line or a metric."""

from __future__ import annotations

import logging
from contextlib import suppress
from random import Random

import pytest
from tests.pipeline.scene import TENANT, Scene
from tests.scanning.corpus import SECRETS, TEMPLATES
from tests.scanning.test_corpora import value_of

from recollect.domain.errors import RecollectError
from recollect.domain.queries import Archived, EventQuery, Find, Order
from recollect.domain.reasons import Plane


def drawn() -> list[tuple[str, str, str]]:
    """Every kind of secret: its kind, itself, and a sentence with it."""
    chance, found = Random(5), []
    for number, (kind, draw) in enumerate(SECRETS.items()):
        secret = draw(chance)
        found.append((kind, secret, TEMPLATES[number % len(TEMPLATES)].format(secret)))
    return found


async def everything(here: Scene, *, log: bool = True) -> str:
    """All that is stored, opened, as one text; with the log of what happened where, unless that is not wanted."""
    store = here.root.workings.store
    found: list[str] = []
    for plane in Plane:
        cursor: str | None = None
        while True:
            query = Find(plane, order=Order.KEY, limit=1_000, cursor=cursor, archived=Archived.INCLUDE)
            page = await store.find(TENANT, query)
            for row in page.rows:
                for version in await store.history(TENANT, row.address):
                    found += [str(version.value), str(version.attributes), version.policy_attributes]
                found += [str(row.address.namespace), row.address.key]
            cursor = page.cursor
            if cursor is None:
                break
    if log:
        events = await store.events(TENANT, EventQuery(limit=10_000))
        found += [repr(entry.event) for entry in events.entries]
    return "\n".join(found)


async def tried(here: Scene, secret: str, text: str) -> None:
    """Every way in, each with something that may not be kept."""
    alice = here.alice
    with suppress(RecollectError):
        await alice.capture([{"text": text}])
    with suppress(RecollectError):
        await alice.capture([{"text": text, "kind": "tool_result", "tool": "fetch"}], remember="later")
    candidate = {
        "entity_ceid": "user:alice",
        "predicate": "noted",
        "value": text,
        "evidence_refs": ["tool:x:1"],
        "confidence": 0.9,
    }
    for changed in ({}, {"predicate": secret[:100]}, {"value": {"deep": [secret]}}):
        with suppress(RecollectError):
            await alice.propose({"candidate": candidate | changed, "class": "evidence_link"})
    with suppress(RecollectError):
        await alice.call_tool("memory_store", {"type": "fact", "content": text}, session=f"s{hash(secret)}")
    with suppress(RecollectError):
        await alice.would_remember({"text": text})


async def test_secrets_are_nowhere(here: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    corpus = drawn()
    for _, secret, text in corpus:
        await tried(here, secret, text)
    await here.admin.remember_pending()
    stored = await everything(here)
    assert "(redacted)" in stored or "[REDACTED]" in stored, "nothing was tried"
    assert [kind for kind, secret, _ in corpus if value_of(secret) in stored] == []
    assert [kind for kind, secret, _ in corpus if value_of(secret) in caplog.text] == []


async def test_the_scan_would_find_one(here: Scene) -> None:
    await here.alice.put(("user", "alice"), "k", {"text": "canary-4711"})
    assert "canary-4711" in await everything(here)
