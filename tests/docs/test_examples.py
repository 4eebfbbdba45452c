"""The examples run as their readers would run them, and tell what they are said to tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.engines.postgres import own_database  # noqa: F401 - a fixture

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def ran(example: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / example), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=180).stdout.splitlines()


def test_there_is_an_example_of_each_shape() -> None:
    assert EXAMPLES == [
        "companion.py",
        "embedded.py",
        "langgraph_agent.py",
        "mcp_client.py",
        "service.py",
        "three_processes.py",
    ]


@pytest.mark.parametrize("kept", [True, False], ids=["kept in a directory", "kept nowhere"])
def test_the_embedded_agent_learns_recalls_explains_and_forgets(kept: bool, tmp_path: Path) -> None:
    said = ran("embedded.py", *([str(tmp_path / "memories")] if kept else []))
    answers = [line.removeprefix("agent: ") for line in said if line.startswith("agent: ")]
    assert answers[3] == "I know that your city is Porto and your diet is vegetarian."
    assert answers[5] == 'You said "remember diet: vegan" (holds); before that "remember diet: vegetarian" (updated).'
    assert answers[6] == "Erased 3 versions; the receipt is event 5."
    assert answers[7] == "Nothing."
    assert answers[8] == "I know that your diet is everything."
    assert said[-1] == "5 events, sound"
    assert (tmp_path / "memories" / "recollect.db").exists() is kept


def test_the_users_of_a_service_have_their_own_memories_and_can_be_forgotten() -> None:
    said = ran("service.py")
    assert said[:5] == [
        "alice: diet is at revision 2",
        "bob: city, tea",
        "bob looks for alice's memories and finds 0",
        "bob asks for alice's diet: 403 forbidden",
        "log: 1 add diet {'text': 'vegetarian'} by alice via example-agent",
    ]
    assert said[6:] == [
        "erased 2 versions of alice; the receipt is event 5",
        "alice's versions: [None, None]",
        "5 events, sound",
    ]


def test_three_processes_lose_nothing_when_one_of_them_is_killed(database: str) -> None:
    assert ran("three_processes.py", database) == [
        "the second process was killed",
        "the second process was started again",
        "60 writes were acknowledged, 60 were told to a follower",
        "each process has 60 of them",
    ]


@pytest.mark.parametrize("kept", [True, False], ids=["kept in a directory", "kept nowhere"])
def test_the_langgraph_agent_remembers_across_threads(kept: bool, tmp_path: Path) -> None:
    said = ran("langgraph_agent.py", *([str(tmp_path / "memories")] if kept else []))
    assert [line.removeprefix("agent: ") for line in said if line.startswith("agent: ")] == [
        "I will remember that.",
        "I will remember that.",
        "You told me: I drink green tea without sugar.",
        "You told me: My sister lives in Porto.",
        "You have not told me yet.",
    ]
    assert said[-1] == "kept: user/alice/facts"
    assert (tmp_path / "memories" / "recollect.db").exists() is kept


@pytest.mark.parametrize("kept", [True, False], ids=["kept in a directory", "kept nowhere"])
def test_the_companion_keeps_what_two_personas_know_apart_and_says_why(kept: bool, tmp_path: Path) -> None:
    said = ran("companion.py", *([str(tmp_path / "memories")] if kept else []))
    assert '  opened: "call John tomorrow"' in said
    assert '  completed: "call John tomorrow"' in said
    assert any(line.startswith('  remembered: "My friend John lives in Austin.", because ') for line in said)
    assert "coach: In Austin, as you told me." in said
    assert said[-2:] == ["coach was promised 1, of which 1 was done", "friend was promised 0, of which 0 was done"]
    friend = said.index("you to friend: Hello, what do you know about me?")
    assert "  knew: call John tomorrow (commitments)" not in said[friend : friend + 6]


def test_an_mcp_client_finds_in_one_session_what_it_stored_in_another(tmp_path: Path) -> None:
    cat = "The user has a cat named Luna"
    assert ran("mcp_client.py", str(tmp_path / "memories")) == [f"stored: {cat}", f"found:  {cat}"]
