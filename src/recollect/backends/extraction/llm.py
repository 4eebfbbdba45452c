"""The extractor behind a URL: any server that speaks the OpenAI protocol for chat completions, with JSON schemas.

A model promises nothing, so its answer is read strictly and kept only as far as it rests on the passage. Wherever it
cannot be relied on, the rules stand in. It is told the passage and who speaks, and nothing that is remembered.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

from recollect.backends.asking import Patience
from recollect.backends.completions import Completions, Failed
from recollect.backends.extraction.answers import Ungrounded, Unreadable
from recollect.backends.extraction.prompts import RESPONSE_FORMAT, messages_for, repair_of, sent_of
from recollect.backends.extraction.records import Trouble, by_model, by_rules, replayed
from recollect.ports.extractor import Extracted, Extractor, Passage

NAME = "llm:"
MOST_CHARACTERS = 20_000
"""Longer passages are not sent."""
SEED = 7

log = logging.getLogger("recollect.extraction")


class LlmExtractor(Extractor):
    """Asks a model. Any number of threads may call it at once; they share nothing but the client."""

    name = "llm"
    asks = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        seconds: float = 20.0,
        attempts: int = 3,
        tokens: int = 1_024,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`seconds` and `attempts` are for one passage with all repetitions; `tokens` is what one answer may have."""
        self._server = Completions(url, key, "extractor", log, "extraction.status")
        self._by = f"{NAME}{model}"[:300]
        self._asked: dict[str, Any] = {
            "model": model,
            "temperature": 0,
            "seed": SEED,
            "max_tokens": tokens,
            "response_format": RESPONSE_FORMAT,
        }
        self._tokens = tokens
        self._seconds = seconds
        self._attempts = attempts
        self._chance = chance

    def extract(self, passage: Passage, recorded: str | None = None) -> Extracted:
        """The statements that the model finds; those of the rules, and why, where it cannot be relied on."""
        if recorded is not None:
            return replayed(passage, recorded)
        if len(passage.text) > MOST_CHARACTERS:
            return by_rules(passage, Trouble.TOO_EXPENSIVE)
        sent = sent_of(passage)
        return self._asking(passage, sent) if sent.strip() else by_rules(passage)

    def close(self) -> None:
        """Give up what is under way, and the connections."""
        self._server.close()

    def _asking(self, passage: Passage, sent: str) -> Extracted:
        """Ask until there is an answer that can be used, or it is time to give up."""
        messages, closing = messages_for(sent, passage.source), self._server.closing
        patience = Patience(self._seconds, self._chance, closing.wait, self._attempts)
        tokens, repaired = 0, False
        while True:
            try:
                question = {**self._asked, "messages": messages}
                reply = self._server.ask(question, tokens=self._tokens, seconds=patience.left())
            except Failed as failed:
                if failed.passing and not closing.is_set() and patience.wait(failed.seconds):
                    continue
                trouble = Trouble.CLOSED if closing.is_set() else Trouble(failed.failure)
                return by_rules(passage, trouble, tokens=tokens)
            tokens += reply.tokens
            if reply.failure is not None:
                return by_rules(passage, Trouble(reply.failure), tokens=tokens)
            try:
                return by_model(passage, self._by, reply.content, tokens=tokens)
            except Ungrounded:
                return by_rules(passage, Trouble.UNGROUNDED, tokens=tokens)
            except Unreadable:
                if repaired or not patience.again():
                    return by_rules(passage, Trouble.INVALID_ANSWER, tokens=tokens)
            messages, repaired = repair_of(messages, reply.content), True
