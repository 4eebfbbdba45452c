"""The summarizer behind a URL: any server that speaks the OpenAI protocol for chat completions.

A model promises nothing, so its answer is read strictly; wherever it cannot be relied on, the extractive one stands in.
It is told the newest lines, the summary before and what is known of the session, and nothing else that is remembered.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recollect.backends.asking import Patience
from recollect.backends.completions import Completions, Failed, Failure
from recollect.backends.summarizing.answers import Unusable, rolling_in, summary_in
from recollect.backends.summarizing.prompts import RESPONSE_FORMAT, rolling_messages, session_messages
from recollect.backends.summarizing.standing_in import Trouble, rolled, summed
from recollect.domain.conversation.extractive import condensed, points_in
from recollect.ports.summarizer import Rolled, Summarizer, Summed, Told

NAME = "llm:"
TEMPERATURE = 0.2
ROLLING_TOKENS, SESSION_TOKENS = 200, 300
_MOST_BY = 300

log = logging.getLogger("recollect.summarizing")


class LlmSummarizer(Summarizer):
    """Asks a model. Any number of threads may call it at once; they share nothing but the client."""

    name = "llm"
    asks = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        seconds: float = 2.5,
        attempts: int = 2,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`seconds` and `attempts` are for one summary with all repetitions."""
        self._server = Completions(url, key, "summarizer", log, "summarizing.status")
        self._model = model
        self._by = f"{NAME}{model}"[:_MOST_BY]
        self._seconds = seconds
        self._attempts = attempts
        self._chance = chance

    def rolling(self, told: Told) -> Rolled:
        """The conversation so far, by the model; the extractive one, and why, where it cannot be relied on."""
        if not points_in(told.lines, told.before):
            return rolled(told)
        try:
            answer = self._answer({"messages": rolling_messages(told)}, ROLLING_TOKENS, whole=False)
            return Rolled(text=rolling_in(told, answer), by=self._by)
        except Failed as failed:
            return rolled(told, _trouble(failed.failure))
        except Unusable:
            return rolled(told, Trouble.SUMMARY_EMPTY_OR_FAILED)
        except Exception as problem:  # noqa: BLE001 - a summary never fails (Z4)
            return rolled(told, _unforeseen(problem))

    def session(self, told: Told) -> Summed:
        """What a session was about, by the model; the extractive one, and why, where it cannot be relied on."""
        if not points_in(told.lines, told.before):
            return summed(told)
        try:
            question = {"messages": session_messages(told), "response_format": RESPONSE_FORMAT}
            answer = self._answer(question, SESSION_TOKENS, whole=True)
            return Summed(summary=summary_in(told, answer), by=self._by)
        except Failed as failed:
            return summed(told, _trouble(failed.failure))
        except Unusable:
            return summed(told, Trouble.SUMMARY_EMPTY_OR_FAILED)
        except Exception as problem:  # noqa: BLE001 - a summary never fails (Z4)
            return summed(told, _unforeseen(problem))

    def condensed(self, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """The most telling lines; the model is not asked for them."""
        return condensed(lines, most)

    def close(self) -> None:
        """Give up what is under way, and the connections."""
        self._server.close()

    def _answer(self, question: Mapping[str, Any], tokens: int, *, whole: bool) -> str:
        """What the model says, asked until it does or it is time to give up; a text may be cut off, JSON may not."""
        asked = {"model": self._model, "temperature": TEMPERATURE, "max_tokens": tokens, **question}
        closing = self._server.closing
        patience = Patience(self._seconds, self._chance, closing.wait, self._attempts)
        while True:
            try:
                reply = self._server.ask(asked, tokens=tokens, seconds=patience.left())
            except Failed as failed:
                if failed.passing and not closing.is_set() and patience.wait(failed.seconds):
                    continue
                raise
            if reply.failure is None or (reply.failure is Failure.CUT_OFF and not whole):
                return reply.content
            raise Failed(reply.failure)


_ANSWERED = frozenset({Failure.REFUSED, Failure.CUT_OFF, Failure.INVALID_ANSWER})


def _trouble(failure: Failure) -> Trouble:
    log.info("summarizing.failed", extra={"fields": {"failure": str(failure)}})
    return Trouble.SUMMARY_EMPTY_OR_FAILED if failure in _ANSWERED else Trouble.TIMEOUT_OR_EXCEPTION


def _unforeseen(problem: Exception) -> Trouble:
    """The name of the error alone is logged: what it says may be what was said."""
    log.error("summarizing.exception", extra={"fields": {"error": type(problem).__name__}})
    return Trouble.EXCEPTION
