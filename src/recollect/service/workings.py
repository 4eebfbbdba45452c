"""Workings: what the memories of all callers have in common."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from recollect.domain.errors import RecollectError
from recollect.ports.clock import Clock, Ids
from recollect.ports.extractor import Extractor as Finder
from recollect.ports.keys import Keyring
from recollect.ports.policy import Engine
from recollect.ports.store import Store
from recollect.ports.summarizer import Summarizer
from recollect.ports.vectors import VectorStore
from recollect.service.audit import Audit
from recollect.service.conversation.summarizing import Summarizing
from recollect.service.decisions import Decisions
from recollect.service.extraction import Extractor
from recollect.service.figures import Figures
from recollect.service.governing.spaces import OpenSpaces
from recollect.service.guard import Guard
from recollect.service.indexing import Indexing
from recollect.service.pipeline.engine import Remembering
from recollect.service.pipeline.terms import USUAL, Terms
from recollect.service.policies import Policies
from recollect.service.rules import Rules
from recollect.service.searching import Searching
from recollect.service.series import Embedders
from recollect.service.tokens import Tokens
from recollect.service.transfer import Transfer
from recollect.service.tuning import Tuning
from recollect.service.turns import Turns
from recollect.service.usage import Usage


@dataclass(frozen=True, slots=True)
class Workings:
    """What all callers' memories have in common: the store, the keys, the guard, the time."""

    store: Store
    keyring: Keyring
    clock: Clock
    ids: Ids
    guard: Guard
    tokens: Tokens
    transfer: Transfer
    rules: Rules
    policies: Policies
    audit: Audit
    decisions: Decisions
    extractor: Extractor
    tuning: Tuning
    indexing: Indexing
    searching: Searching
    turns: Turns
    remembering: Remembering
    summarizer: Summarizer
    spaces: OpenSpaces
    summarizing: Summarizing
    usage: Usage
    figures: Figures

    @staticmethod
    def over(
        store: Store,
        keyring: Keyring,
        *,
        clock: Clock,
        ids: Ids,
        engine: Engine,
        rules: Rules,
        finder: Finder,
        summarizer: Summarizer,
        terms: Terms = USUAL,
        embedders: Embedders | None = None,
        language: str = "english",
        search_bytes: int = 512 << 20,
        vectors: VectorStore | None = None,
        exact: int = 0,
    ) -> Workings:
        """The workings over a store, its keys, an engine for policies and what makes vectors."""
        indexing = Indexing(store, keyring, embedders or Embedders(None, lambda _: None), clock, rules, language)
        searching = Searching(
            store, indexing, clock, language=language, most_bytes=search_bytes, vectors=vectors, exact=exact
        )
        audit, decisions = Audit(store, clock, ids), Decisions(store)
        policies = Policies(store, engine, audit, decisions, rules)
        guard = Guard(policies, decisions)
        tokens, transfer = Tokens(store, guard, clock), Transfer(store, guard)
        extractor, tuning = Extractor(store, policies, engine, clock), Tuning(store, audit, rules)
        turns = Turns()
        spaces = OpenSpaces(store)
        remembering = Remembering(store, keyring, guard, clock, ids, turns, finder, terms, indexing.stir)
        return Workings(
            store,
            keyring,
            clock,
            ids,
            guard,
            tokens,
            transfer,
            rules,
            policies,
            audit,
            decisions,
            extractor,
            tuning,
            indexing,
            searching,
            turns,
            remembering,
            summarizer,
            spaces,
            Summarizing(remembering, spaces, summarizer),
            Usage(store),
            Figures(),
        )

    async def close(self) -> None:
        """Finish what was acknowledged and let go of everything."""
        try:
            with suppress(RecollectError):  # it may be closed already, or broken
                await self.decisions.keep()
            with suppress(RecollectError):
                await self.usage.flush()
            with suppress(RecollectError):
                await self.store.aside(self._end_search)
            self.remembering.extractor.close()
            self.summarizer.close()
            await self.store.close()
            self.keyring.close()
        finally:
            await self.policies.close()

    def _end_search(self) -> None:
        self.searching.close()
        self.indexing.close()
