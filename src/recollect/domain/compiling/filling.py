"""Filling: which offers get into a pack, and why each of the others does not.

Blocks are filled in the order of their importance, each with its share of the budget first; what they leave is then
shared out in the same order. Entries are kept whole or not at all: half a sentence may say the opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect.domain.compiling.codes import DropReason, Form, Treatment
from recollect.domain.compiling.counting import CHARS, Counter, checked_budget
from recollect.domain.compiling.offers import Offer, offers_of
from recollect.domain.compiling.packs import VERSION, Block, Dropped, Entry, Manifest, Pack, Report, Truncation, digest
from recollect.domain.compiling.rendering import LAYOUTS, cost, taken, text_of
from recollect.domain.compiling.states import NOTHING, State
from recollect.domain.compiling.templates import DEFAULT, Section, Template
from recollect.domain.notes import SUGGESTIONS
from recollect.domain.recall.memories import Memory

_TOKEN = 16
_FINAL = frozenset({DropReason.DUPLICATE, DropReason.ENTRY_CAP, DropReason.BLOCK_CAP})
"""What a second turn does not change."""


def compiled(
    memories: Sequence[Memory],
    contradictions: Iterable[Mapping[str, Any]] = (),
    state: State = NOTHING,
    *,
    budget: int,
    counter: Counter = CHARS,
    template: Template = DEFAULT,
    form: Form = Form.JSON,
) -> Pack:
    """The context pack of what was recalled, best first, within the budget; a pure function of all that it is given."""
    checked_budget(budget)
    offers = offers_of(memories, contradictions, state)
    inputs = {
        origin: digest([each for each in offers if each.origin == origin])
        for origin in ("memories", "contradictions", "state")
    }
    used_template = {"name": template.name, "version": template.version, "hash": digest(template)}
    token = digest([VERSION, form, counter.name, budget, used_template, inputs])[:_TOKEN]
    filling = _Filling(offers, template, counter, form, budget, token)
    filling.fill()
    blocks = filling.blocks()
    return Pack(
        blocks=blocks,
        report=filling.report(blocks),
        manifest=Manifest(
            version=VERSION,
            form=form,
            counter=counter.name,
            template=used_template,
            inputs=inputs,
            token=token,
            ids=tuple(entry.id for block in blocks for entry in block.entries),
        ),
    )


@dataclass(slots=True)
class _Shelf:
    """A block while it is filled: what it holds, and what waits, by places among the offers."""

    section: Section
    waiting: list[int]
    offered: int
    kept: list[int] = field(default_factory=list)
    tokens: int = 0
    warned: bool = False


class _Filling:
    """A pack while it is filled."""

    def __init__(
        self, offers: Sequence[Offer], template: Template, counter: Counter, form: Form, budget: int, token: str
    ) -> None:
        self._offers = offers
        self._template = template
        self._counter = counter
        self._layout = LAYOUTS[form]
        self._budget = budget
        self._token = token
        self._used = 0
        self._seen: set[object] = set()
        self._order: list[tuple[_Shelf, int]] = []
        """What was taken, in the order in which it was."""
        self._dropped: dict[int, DropReason] = {}
        before, after = self._layout.frame(token)
        self._frame = self._cost([*before, *after]) + self._layout.overhead
        self._lines = [self._cost([self._layout.line(each)]) for each in offers]
        """What the line of each offer takes."""
        self._shelves = {each.source: self._shelf(each) for each in template.blocks}

    def fill(self) -> None:
        """Take what fits."""
        for place, offer in enumerate(self._offers):
            if not offer.text.strip():
                self._dropped[place] = DropReason.EMPTY
            elif offer.part not in self._shelves:
                self._dropped[place] = DropReason.NO_BLOCK
        shelves = [self._shelves[each.source] for each in self._template.by_importance()]
        for shelf in shelves:
            self._take_turn(shelf, shelf.section.share(self._budget), last=False)
        for shelf in shelves:
            self._take_turn(shelf, self._budget, last=True)
        # Lines that are counted one by one may add up to less than all of them, by a counter of another make.
        while self._order and self._rendered() > self._budget:
            shelf, place = self._order.pop()
            shelf.kept.remove(place)
            self._dropped[place] = DropReason.BUDGET

    def blocks(self) -> tuple[Block, ...]:
        """The blocks that hold something, in the order of the template."""
        shelves = [self._shelves[each.source] for each in self._template.blocks]
        return tuple(self._block(each) for each in shelves if each.kept)

    def report(self, blocks: tuple[Block, ...]) -> Report:
        """The account of the budget."""
        shelves = [self._shelves[each.source] for each in self._template.blocks]
        return Report(
            budget=self._budget,
            used=self._rendered(),
            frame=self._frame if blocks else 0,
            allocations={each.name: each.share(self._budget) for each in self._template.blocks},
            blocks={each.name: each.tokens for each in blocks},
            truncations={
                each.section.name: Truncation(
                    offered=each.offered, kept=len(each.kept), dropped=each.offered - len(each.kept)
                )
                for each in shelves
                if each.offered > len(each.kept)
            },
            dropped=tuple(self._told(place, reason) for place, reason in sorted(self._dropped.items())),
        )

    def _shelf(self, section: Section) -> _Shelf:
        mine = [place for place, each in enumerate(self._offers) if each.part is section.source]
        waiting = [place for place in mine if self._offers[place].text.strip()]
        return _Shelf(section, waiting[::-1] if section.gapless else waiting, len(mine))

    def _take_turn(self, shelf: _Shelf, share: int, *, last: bool) -> None:
        waiting, shelf.waiting = shelf.waiting, []
        gap: DropReason | None = None
        for place in waiting:
            reason = gap or self._reason_against(shelf, place, share)
            if reason is None:
                self._take(shelf, place)
                continue
            if shelf.section.gapless and reason is not DropReason.DUPLICATE:
                gap = reason
            if last or reason in _FINAL:
                self._dropped[place] = reason
            else:
                shelf.waiting.append(place)

    def _reason_against(self, shelf: _Shelf, place: int, share: int) -> DropReason | None:
        """Why an offer cannot be taken now, if it cannot."""
        offer, section = self._offers[place], shelf.section
        if not self._seen.isdisjoint(self._marks(section, offer)):
            return DropReason.DUPLICATE
        if section.entries is not None and len(shelf.kept) >= section.entries:
            return DropReason.ENTRY_CAP
        more = self._more(shelf, place)
        if section.tokens is not None and shelf.tokens + more > section.tokens:
            return DropReason.BLOCK_CAP
        frame = 0 if self._order else self._frame
        if shelf.tokens + more > share or self._used + frame + more > self._budget:
            return DropReason.BUDGET
        return None

    def _take(self, shelf: _Shelf, place: int) -> None:
        offer, more = self._offers[place], self._more(shelf, place)
        self._used += more + (0 if self._order else self._frame)
        shelf.tokens += more
        shelf.warned = shelf.warned or offer.behavioral
        shelf.kept.append(place)
        self._seen.update(self._marks(shelf.section, offer))
        self._order.append((shelf, place))

    def _more(self, shelf: _Shelf, place: int) -> int:
        """What the offer would add: its line, the heading if it is the first, and the warning if it needs it first."""
        warned = shelf.warned or self._offers[place].behavioral
        more = self._lines[place]
        if not shelf.kept:
            return more + self._heading(shelf.section, warned=warned)
        if warned and not shelf.warned:
            more += self._heading(shelf.section, warned=True) - self._heading(shelf.section, warned=False)
        return more

    def _heading(self, section: Section, *, warned: bool) -> int:
        before, after = self._layout.heading(section.name, section.title, self._token, warned=warned)
        return self._cost([*before, *after])

    def _cost(self, lines: Iterable[str]) -> int:
        return cost(self._layout, lines, self._counter)

    def _marks(self, section: Section, offer: Offer) -> set[object]:
        """What another offer must not have in common with this one. People say the same thing twice in a row."""
        return {offer.identity} if section.gapless else {offer.identity, offer.says}

    def _rendered(self) -> int:
        return taken(self._layout, text_of(self._layout, self.blocks(), self._token), self._counter)

    def _block(self, shelf: _Shelf) -> Block:
        entries = tuple(self._entry(place) for place in sorted(shelf.kept))
        warned = any(each.behavioral for each in entries)
        return Block(
            name=shelf.section.name,
            source=shelf.section.source,
            title=shelf.section.title,
            instruction_treatment=Treatment.DATA_ONLY,
            warning=SUGGESTIONS if warned else None,
            tokens=self._heading(shelf.section, warned=warned) + sum(each.tokens for each in entries),
            entries=entries,
        )

    def _entry(self, place: int) -> Entry:
        offer = self._offers[place]
        return Entry(
            id=offer.id,
            text=offer.text,
            tokens=self._lines[place],
            source=offer.source,
            at=offer.at,
            ended_at=offer.ended_at,
            provenance=offer.refs,
            behavioral=offer.behavioral,
            warning=SUGGESTIONS if offer.behavioral else None,
        )

    def _told(self, place: int, reason: DropReason) -> Dropped:
        offer = self._offers[place]
        shelf = self._shelves.get(offer.part)
        return Dropped(id=offer.id, source=offer.part, block=shelf.section.name if shelf else None, reason=reason)
