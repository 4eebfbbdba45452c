"""Judging: one proposal after the other before a person, who decides about each with a key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from recollect.cli.cards import bare, card, is_cut, written
from recollect.cli.doors import errors
from recollect.cli.keyboard import ENDED, Keyboard
from recollect.cli.screen import Screen, counted

if TYPE_CHECKING:
    from recollect.cli.doors import Door

_PAGE = 50
_FAR = frozenset({"claimed", "decided"})
"""Why somebody else has it: there is nothing left to decide here."""
_PROMPT = "a approve · e edit · r reject · s skip · ? help · q quit > "
_HELP = (
    "a  approve it: it becomes a record; for the durable tier it takes two people",
    "e  edit it: type another value, other words, or both, and approve that",
    "r  reject it, with a note or without: the same is not proposed again",
    "s  skip it: it waits on, for you or for somebody else",
    "m  show all of it, where something was cut",
    "q  quit; so does Ctrl-D",
    "Behind the bar │ stands what was proposed;",
    "\\u202e and the like are characters in it that cannot be seen.",
)
_APPROVED, _EDITED, _HALF = "approved", "approved in other words", "approved by you, waiting for another person"
_REJECTED, _SKIPPED, _TAKEN = "rejected", "skipped", "left to others"
_ENDS = (_APPROVED, _EDITED, _HALF, _REJECTED, _SKIPPED, _TAKEN)
"""What came of proposals, as the summary counts it."""


class Quit(Exception):
    """The person has had enough."""


class Judging:
    """A person before what waits. Each proposal is taken before it is shown, and given back when it is not decided."""

    def __init__(self, door: Door, screen: Screen, keyboard: Keyboard) -> None:
        self._door = door
        self._screen = screen
        self._keyboard = keyboard
        self._done: Counter[str] = Counter()

    def run(self) -> None:
        """Show what waits, until it is all decided or the person quits; and what came of it."""
        total = int(self._door.review_load()["waiting"])
        if total == 0:
            self._screen.say("nothing waits")
            return
        try:
            for place, proposal_id in enumerate(self._waiting(), 1):
                self._one(proposal_id, f"{place} of {max(place, total)}")
        except Quit:
            pass
        finally:
            self._summary()

    def _waiting(self) -> Iterator[str]:
        """What waits, each once: whatever is taken and given back may come again further down."""
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            page = self._door.list_proposals(limit=_PAGE, cursor=cursor)
            for each in page["proposals"]:
                if each["proposal_id"] not in seen:
                    seen.add(each["proposal_id"])
                    yield str(each["proposal_id"])
            cursor = page["cursor"]
            if cursor is None:
                return

    def _summary(self) -> None:
        told = [f"{self._done[word]:,} {word}" for word in _ENDS if self._done[word]]
        self._screen.say()
        self._screen.say(f"{counted(self._done.total(), 'proposal')} seen{': ' if told else ''}{'; '.join(told)}")

    # -- one proposal

    def _one(self, proposal_id: str, place: str) -> None:
        told = self._taken(proposal_id)
        if told is None:
            return
        held = True
        try:
            existing = told["existing_text"]
            self._show(told, existing, place)
            word = self._decided(told, existing)
            held = word == _SKIPPED
            self._done[word] += 1
        finally:
            if held:
                self._give_back(proposal_id)

    def _taken(self, proposal_id: str) -> dict[str, Any] | None:
        try:
            return self._door.claim_proposal(proposal_id)
        except errors() as problem:
            if problem.code not in ("review_refused", "not_found"):
                raise
            self._left(proposal_id, problem)
            return None

    def _left(self, proposal_id: str, problem: Any) -> None:
        """Say that somebody else has it, or had it."""
        by = problem.details.get("claimed_by")
        who = f" ({bare(str(by))})" if by else ""
        self._screen.say()
        self._say(f"{bare(proposal_id)}: {bare(problem.message)}{who}; going on")
        self._done[_TAKEN] += 1

    def _give_back(self, proposal_id: str) -> None:
        try:
            self._door.release_proposal(proposal_id)
        except errors():
            pass  # nobody waits for it longer than the claim lasts

    def _show(self, told: dict[str, Any], existing: str | None, place: str) -> None:
        self._keyboard.forget()  # what was pressed before this was shown decides nothing about it
        self._screen.say()
        self._screen.say(self._screen.styled(f"── {place} · {bare(told['proposal_id'])}", "bold"))
        self._lines(told, existing)

    def _lines(self, told: dict[str, Any], existing: str | None, *, whole: bool = False) -> None:
        for line in card(told, existing, get_terminal_size().columns, whole=whole):
            self._screen.say(line)

    # -- what is pressed

    def _decided(self, told: dict[str, Any], existing: str | None) -> str:
        """Ask until something is decided, and say what that is."""
        ways: dict[str, Callable[[], str | None]] = {
            "a": lambda: self._approve(told),
            "e": lambda: self._edit(told),
            "r": lambda: self._reject(told),
            "s": lambda: _SKIPPED,
            "m": lambda: self._more(told, existing),
            "?": self._help,
        }
        while True:
            pressed = self._pressed(_PROMPT)
            if pressed in (ENDED, "q"):
                raise Quit
            way = ways.get(pressed)
            if way is None:
                self._say(f"{bare(pressed)} is none of the keys; ? shows them")
                continue
            try:
                word = way()
            except errors() as problem:
                word = self._refused(problem)
            if word is not None:
                return word

    def _refused(self, problem: Any) -> str | None:
        """What a decision comes to that was refused: left to others, or to be decided otherwise."""
        gone = problem.code == "not_found" or problem.details.get("reason") in _FAR
        if not gone and problem.code not in ("review_refused", "invalid_request", "invalid_value"):
            raise problem
        who = problem.details.get("claimed_by")
        self._say(f"not decided: {bare(problem.message)}{f' ({bare(str(who))})' if who else ''}")
        return _TAKEN if gone else None

    def _approve(self, told: dict[str, Any], edit: dict[str, Any] | None = None) -> str:
        done = self._door.approve_proposal(told["proposal_id"], edit=edit)
        if done["status"] == "waiting":
            counts = f"{len(done['approvals'])} of {done['approvals_needed']}"
            self._say(f"approved by you, {counts}: another person decides, too")
            return _HALF
        self._say(f"approved: {bare(str(done['record_id']))}")
        return _APPROVED if edit is None else _EDITED

    def _edit(self, told: dict[str, Any]) -> str | None:
        before = told["candidate"]["value"]
        value = self._asked("value (Enter keeps it): ")
        text = self._asked("text (Enter keeps it): ")
        edit: dict[str, Any] = {}
        if value:
            edit["value"] = value if isinstance(before, str) else _typed(value)
        if text:
            edit["text"] = text
        if not edit:
            self._say("nothing was changed")
            return None
        for name, given in edit.items():
            self._screen.say(f"{name:<11}│ {written(given)}")
        if self._pressed("y approves this, any other key goes back > ") != "y":
            return None
        return self._approve(told, edit)

    def _reject(self, told: dict[str, Any]) -> str:
        note = self._asked("note (may be empty): ")
        self._door.reject_proposal(told["proposal_id"], note=note or None)
        self._say("rejected")
        return _REJECTED

    def _more(self, told: dict[str, Any], existing: str | None) -> None:
        if is_cut(told, existing, get_terminal_size().columns):
            self._lines(told, existing, whole=True)
        else:
            self._say("nothing was cut")

    def _help(self) -> None:
        for line in _HELP:
            self._screen.say(line)

    # -- at the terminal

    def _pressed(self, prompt: str) -> str:
        self._prompt(prompt)
        pressed = self._keyboard.key()
        self._screen.say(bare(pressed))
        return pressed

    def _asked(self, prompt: str) -> str:
        self._prompt(prompt)
        line = self._keyboard.line()
        if line is None:
            raise Quit
        return line.strip()

    def _prompt(self, prompt: str) -> None:
        self._screen.prompt(self._screen.styled(prompt, "dim"))

    def _say(self, text: str) -> None:
        self._screen.say(self._screen.styled(f"→ {text}", "bold"))


def _typed(text: str) -> Any:
    """A value that is no text: as JSON, where it is some."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
