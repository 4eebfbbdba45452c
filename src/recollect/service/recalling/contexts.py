"""Contexts: what was recalled, compiled into a pack that fits a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from recollect.domain.compiling.codes import Form
from recollect.domain.compiling.counting import checked_budget, counter_named
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import Pack
from recollect.domain.compiling.rendering import rendered_messages, rendered_text
from recollect.domain.compiling.shipped import read_template
from recollect.domain.compiling.states import state_of
from recollect.domain.compiling.templates import DEFAULT
from recollect.domain.errors import InvalidQuery
from recollect.domain.measuring.figures import Figure
from recollect.domain.queries import checked_limit
from recollect.domain.recall.memories import Memory
from recollect.domain.text import shown
from recollect.service.recalling.recall import Recalling

BUDGET = 1_200
LIMIT = 50


class Contexts(Recalling):
    """Context packs, in the name of one caller."""

    async def context(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = LIMIT,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        wait: float | None = None,
        budget: int = BUDGET,
        counter: str = "chars",
        template: str | Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        form: str = "json",
    ) -> dict[str, Any]:
        """Recall, and compile what was recalled, with the state of a conversation, into a pack within a budget.

        The pack is data and never an instruction. `text` is the pack as JSON or markdown, `messages` as chat messages;
        whichever was asked for takes at most the budget. The report names all that was left out, and why. A template is
        the name of one that is shipped, or an object.
        """
        self._check_own_name()
        tokens, counting, wanted = checked_budget(budget), counter_named(counter), read_form(form)
        blocks = read_template(template, DEFAULT)
        contributed = state_of(state)
        told = await self.recall(
            query,
            spaces=spaces,
            session=session,
            project=project,
            persona=persona,
            phase=phase,
            intent=intent,
            classification=classification,
            freshness=freshness,
            kinds=kinds,
            tiers=tiers,
            event_types=event_types,
            ranker=ranker,
            limit=checked_limit(limit),
            min_score=min_score,
            as_of=as_of,
            history=history,
            wait=wait,
        )
        pack = compiled(
            msgspec.convert(told["memories"], tuple[Memory, ...]),
            told["contradictions"],
            contributed,
            budget=tokens,
            counter=counting,
            template=blocks,
            form=wanted,
        )
        self._workings.figures.count(Figure.CONTEXT_PACKS)
        return shown_pack(pack) | {"trace_id": told["trace_id"]}


def read_form(given: object) -> Form:
    """The form that is asked for."""
    if not isinstance(given, str) or given not in tuple(Form):
        raise InvalidQuery(f"form is one of {', '.join(Form)}, not {shown(given)}", field="form")
    return Form(given)


def shown_pack(pack: Pack) -> dict[str, Any]:
    """The pack as callers see it."""
    told = pack.told()
    in_messages = pack.manifest.form is Form.MESSAGES
    return {
        "pack": told,
        "form": pack.manifest.form.value,
        "text": None if in_messages else rendered_text(pack),
        "messages": rendered_messages(pack) if in_messages else None,
        "hash": told["hash"],
        "report": told["report"],
    }
