"""Hands: the tools of an agent, as the doors offer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.domain.callers import Caller
from recollect.domain.errors import Forbidden, InvalidNote
from recollect.domain.notes import GROUP
from recollect.service.notes import Notes, new_session
from recollect.service.toolbox import TOOLS, brief_as_markdown, described, tool_named
from recollect.service.workings import Workings

_NO_SESSION = "-"
"""Stands for the session of a call that spends no budget."""


class Hands:
    """What an agent does of its own accord, in the name of one caller."""

    _workings: Workings
    _caller: Caller

    @property
    def _in_own_name(self) -> bool:
        return True

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools of an agent: what each is for, takes and gives, and what it does to what is remembered."""
        return [described(tool) for tool in TOOLS.values() if not tool.alias]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str | None = None, group: str = GROUP
    ) -> dict[str, Any]:
        """What a tool gives for these arguments, on the notes of a group.

        A session has budgets, so it must be named to store and to delete. Session and group are told by whoever runs
        the agent, never by the agent itself.
        """
        tool = tool_named(name)
        if session is None and not tool.read_only:
            raise InvalidNote(f"{name} spends the budget of a session: say which session it is", field="session")
        return await tool.call(self._notes(session, group), arguments)

    async def brief(self, *, group: str = GROUP) -> str:
        """What an agent should know at the beginning of a session, in markdown; nothing when there is nothing.

        A session begins without it rather than not at all: what fails, or takes longer than 5 seconds, is empty too.
        """
        return await brief_as_markdown(self._notes(None, group))

    def _notes(self, session: str | None, group: str) -> Notes:
        if not self._in_own_name:
            raise Forbidden("access denied", reason="tools are used in one's own name, not with a justification")
        return Notes(self._workings, self._caller, new_session(_NO_SESSION if session is None else session, group))
