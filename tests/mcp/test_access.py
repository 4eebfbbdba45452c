"""Who may do what at the MCP door: one table written by hand, over the callers that every route is tried with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mcp.raw import Hand
from tests.security.access import WHO, Place, placed

from recollect.service.toolbox import TOOLS

OK, NO, AWAY = "ok", "UNAUTHORIZED", "HANDLER_ERROR"
Row = tuple[str, str, str, str, str, str, str, str, str]
#                      anon    user other agent audit admin oper review foreign
TABLE: dict[str, Row] = {
    "memory_store":   ("401", OK, OK, NO, OK, OK, OK, OK, OK),
    "memory_search":  ("401", OK, OK, OK, OK, OK, OK, OK, OK),
    "memory_brief":   ("401", OK, OK, OK, OK, OK, OK, OK, OK),
    "search":         ("401", OK, OK, OK, OK, OK, OK, OK, OK),
    "fetch":          ("401", OK, AWAY, OK, AWAY, AWAY, AWAY, AWAY, AWAY),
    "memory_delete":  ("401", AWAY, AWAY, NO, AWAY, AWAY, AWAY, AWAY, AWAY),
}  # fmt: skip
"""What each gets by the order of `WHO`: for all but storing, about a note of alice, who is the user and the agent.

Notes are one's own: whoever asks for somebody else's, an administrator too, finds nothing there. What is deleted is
a note that is not there, so that the table can be read in any order.
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, str]]:
    with placed(tmp_path_factory.mktemp("access") / "home") as place:
        note = Hand(place.server, place.keys["user"]).keep("canary of alice")
        yield place, note["id"]


@pytest.mark.parametrize("tool", TABLE)
@pytest.mark.parametrize("who", WHO)
def test_everybody_may_do_what_the_table_says(tool: str, who: str, place: tuple[Place, str]) -> None:
    here, note = place
    arguments = {
        "memory_store": {"type": "fact", "content": f"of {who}"},
        "search": {"query": "canary"},
        "fetch": {"id": note},
        "memory_delete": {"id": "mem-none"},
    }.get(tool, {})
    hand = Hand(here.server, here.key(who))
    reply = hand.ask("tools/call", {"name": tool, "arguments": arguments})
    expected = TABLE[tool][WHO.index(who)]
    if expected == "401":
        assert reply.status == 401
        return
    result = reply.json()["result"]
    found = result["_meta"]["recollect/error"]["code"] if result.get("isError") else OK
    assert (reply.status, found) == (200, expected)
    if who not in ("user", "agent"):
        assert "canary" not in reply.body.decode().replace('"canary"', "")


def test_the_table_knows_every_tool() -> None:
    assert set(TABLE) == set(TOOLS)
