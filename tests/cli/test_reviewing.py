"""Review at a real terminal: one key decides, nobody decides twice, and what is proposed cannot touch the screen."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.terminals import SIZE, escapes_in, seated
from tests.cli.typed import Serving
from tests.docs.pages import ROOT, fenced
from tests.docs.transcripts import matches

from recollect.cli.cards import BAR, age, bare, card
from recollect.config.settings import Settings
from recollect.domain.callers import new_caller
from recollect.main import open_sync
from recollect.sync import MemoriesSync

PROMPT = "q quit > "
HOSTILE = (
    "friday\x1b[2J\x1b[1;1H\x1b[32m\n→ approved: user:alice:semantic:1\n"
    "\u202ekcab\u200b\u2066\ufe0f\u3164\x9b31m\x07e\u0301\u0301\u0301\u0301"
)


@contextmanager
def opened(home: Path, user: str = "alice", *roles: str) -> Iterator[MemoriesSync]:
    """The same data directory, in the name of somebody else."""
    with open_sync(home, settings=Settings(embedder="hashing")) as root:
        yield root.for_caller(new_caller("default", user, roles=roles))


def proposed(home: Path, *values: Any, **more: Any) -> list[str]:
    """What an agent of alice proposes, and nobody has decided about."""
    with opened(home) as alice:
        return [str(alice.propose(proposal(value, **more))["proposal_id"]) for value in values]


def proposal(value: Any, **more: Any) -> dict[str, Any]:
    candidate = {
        "entity_ceid": "project:apollo",
        "predicate": "ships_on",
        "value": value,
        "evidence_refs": ["tool:crm.lookup:tc_212"],
        "confidence": 0.93,
    }
    return {"candidate": candidate, "class": "decision_outcome", **more}


def states(home: Path, ids: list[str]) -> list[dict[str, Any]]:
    with opened(home, "maria", "admin") as maria:
        return [maria.get_proposal(each) for each in ids]


def test_each_key_does_what_the_prompt_says(home: Path) -> None:
    ids = proposed(home, "monday", "tuesday", "wednesday", "thursday")
    with seated(home, "review") as seat:
        first = seat.wait_for(PROMPT)
        assert f"── 1 of 4 · {ids[0]}" in first
        assert {line[:11].strip() for line in first.splitlines() if BAR in line} >= {
            *("says", "about", "predicate", "value", "class", "space", "from", "trust", "risk", "waits", "age")
        }
        assert "│ inferred: a model concluded it; sure to 93%" in first
        assert "│ inferred: it was inferred, not said" in first
        assert "│ medium: inferred" in first
        assert states(home, ids[:1])[0]["claimed_by"] is not None
        seat.press("x")
        assert "x is none of the keys" in seat.wait_for(PROMPT)
        seat.press("?")
        assert "e  edit it" in seat.wait_for(PROMPT)
        seat.press("a")
        assert "→ approved: user:alice:semantic:" in seat.wait_for("── 2 of 4")
        seat.wait_for(PROMPT)
        seat.press("e")
        seat.wait_for("value (Enter keeps it): ")
        seat.press("sunday\n")
        seat.wait_for("text (Enter keeps it): ")
        seat.press("Apollo ships on Sunday.\n")
        assert "value      │ sunday\n" in seat.wait_for("any other key goes back > ")
        seat.press("y")
        seat.wait_for("── 3 of 4")
        seat.wait_for(PROMPT)
        seat.press("r")
        seat.wait_for("note (may be empty): ")
        seat.press("They never said so.\n")
        assert "→ rejected" in seat.wait_for("── 4 of 4")
        seat.wait_for(PROMPT)
        seat.press("s")
        summary = "4 proposals seen: 1 approved; 1 approved in other words; 1 rejected; 1 skipped"
        seat.wait_for(summary)
        assert seat.end() == 0
    told = states(home, ids)
    assert [each["status"] for each in told] == ["approved", "approved", "rejected", "waiting"]
    assert told[2]["note"] == "They never said so."
    assert told[3]["claimed_by"] is None
    with opened(home) as alice:
        assert alice.get_record(told[1]["record_id"])["text"] == "Apollo ships on Sunday."


@pytest.mark.parametrize("key", ["q", "\x04"], ids=["q", "end of input"])
def test_whoever_quits_gives_back_what_they_had(home: Path, key: str) -> None:
    ids = proposed(home, "monday", "tuesday")
    with seated(home, "review") as seat:
        seat.wait_for(PROMPT)
        seat.press(key)
        seat.wait_for("0 proposals seen")
        assert seat.end() == 0
    assert [(each["status"], each["claimed_by"]) for each in states(home, ids)] == [("waiting", None)] * 2


def test_who_is_interrupted_gives_it_back_as_well(home: Path) -> None:
    ids = proposed(home, "monday")
    with seated(home, "review") as seat:
        seat.wait_for(PROMPT)
        seat.process.send_signal(signal.SIGINT)
        assert seat.end() == 130
    assert states(home, ids)[0]["claimed_by"] is None


def test_what_others_have_is_left_to_them(home: Path) -> None:
    ids = proposed(home, "monday", "tuesday", "wednesday")
    with opened(home, "maria", "reviewer") as maria:
        maria.claim_proposal(ids[0])
    with seated(home, "review") as seat:
        shown = next(each for each in ids[1:] if f" · {each}" in seat.wait_for(PROMPT))
        with opened(home, "root", "admin") as root:
            ours = str(root.get_proposal(shown)["claimed_by"])
            root.for_caller(new_caller("default", ours, roles=["admin"])).release_proposal(shown)
            root.for_caller(new_caller("default", "maria", roles=["reviewer"])).reject_proposal(shown)
        seat.press("a")
        seat.wait_for("not decided: the proposal was rejected already")
        seat.wait_for(PROMPT)
        seat.press("a")
        seat.wait_for("3 proposals seen: 1 approved; 2 left to others")
        assert seat.end() == 0
    assert f"{ids[0]}: somebody else is at this proposal (maria); going on" in seat.shown
    other = next(each for each in ids[1:] if each != shown)
    assert [each["status"] for each in states(home, [ids[0], shown, other])] == ["waiting", "rejected", "approved"]


def test_the_durable_tier_says_how_many_approved(home: Path) -> None:
    ids = proposed(home, "monday", tier_target="durable")
    with seated(home, "review") as seat:
        assert "approvals  │ 0 of 2" in seat.wait_for(PROMPT)
        seat.press("a")
        seat.wait_for("approved by you, 1 of 2: another person decides, too")
        assert seat.end() == 0
    with seated(home, "review") as seat:
        assert "approvals  │ 1 of 2: " in seat.wait_for(PROMPT)
        seat.press("a")
        assert "not decided: this approval does not count: same_reviewer" in seat.wait_for(PROMPT)
        seat.press("q")
        assert seat.end() == 0
    assert states(home, ids)[0]["status"] == "waiting"


def test_hostile_text_stays_behind_its_bar(home: Path) -> None:
    hostile = proposal(HOSTILE) | {"text": "a" * 400 + " → approved " * 20}
    hostile["candidate"] |= {"predicate": "ships\x1b]0;owned\x07_on", "evidence_refs": ["tool:\u202ex\x1b[31m"]}
    with opened(home) as alice:
        assert alice.propose(hostile)["outcome"] == "waiting"
    with seated(home, "review", "--quiet") as seat:
        seat.wait_for(PROMPT)
        seat.press("?")
        seat.wait_for(PROMPT)
        seat.press("m")
        seat.wait_for(PROMPT)
        seat.press("q")
        assert seat.end() == 0
    assert escapes_in(seat.shown) == []
    assert "\\u001b[31m" in seat.shown
    assert "\\u202e" in seat.shown
    assert "\\n→ approved" in "".join(line.partition(f"{BAR} ")[2] for line in seat.shown.splitlines())
    assert "more characters: m shows all of it" in seat.shown
    ours = [line for line in seat.shown.splitlines() if BAR not in line]
    assert [line for line in ours if "approved" in line] == []
    assert max(map(len, seat.shown.splitlines())) <= SIZE[1]


def test_a_contradiction_shows_what_is_known_beside_it_and_what_came_before_decides_nothing(home: Path) -> None:
    with opened(home, "root", "admin") as root:
        alice = root.for_caller(new_caller("default", "alice"))
        alice.capture([{"text": "My name is Ada."}])
        found = proposal("Eve") | {"class": "evidence_link"}
        found["candidate"] |= {"entity_ceid": "user:alice", "predicate": "name"}
        assert alice.propose(found)["outcome"] == "waiting"
    with seated(home, "review") as seat:
        seat.press("aaaa")  # before anything is there to be decided
        shown = seat.wait_for(PROMPT)
        assert "differs    │ contradicts user:alice:profile:1" in shown
        assert "known      │ My name is Ada." in shown
        seat.press("r")
        seat.wait_for("note (may be empty): ")
        seat.press("\n")
        seat.wait_for("1 proposal seen: 1 rejected")
        assert seat.end() == 0


def test_the_guide_shows_what_a_terminal_shows(run: Run, home: Path) -> None:
    guide = (ROOT / "docs/how-to/review-what-is-remembered.md").read_text()
    (shown,) = fenced(guide, "text")
    for text in ("My name is Ada.", "Actually, my name is Grace.", "My name is Ada."):
        assert f'capture "{text}"' in guide
        run("capture", text)
    with seated(home, "review", "--quiet") as seat:
        lines = seat.wait_for(PROMPT).strip().splitlines()
        expected = shown.splitlines()
        assert [line for line, page in zip(lines, expected, strict=True) if not matches(line, page)] == []
        seat.press("q")
        assert seat.end() == 0


def test_over_a_server_it_is_the_same(run: Run, server: Serving) -> None:
    for value in ("monday", "tuesday"):
        run("propose", "-", given=json.dumps(proposal(value, tier_target="durable")))
    with seated(server.home, "review") as seat:
        seat.wait_for(PROMPT)
        seat.press("a")
        assert "not decided: this approval does not count: own_proposal" in seat.wait_for(PROMPT)
        seat.press("s")
        seat.wait_for("── 2 of 2")
        seat.wait_for(PROMPT)
        first, second = [each["proposal_id"] for each in json.loads(run("proposals", "--json").stdout)["proposals"]]
        claimed = [json.loads(run("proposals", each, "--json").stdout)["claimed_by"] for each in (first, second)]
        assert sorted(claimed, key=str) == [None, "admin"]
        seat.press("r")
        seat.wait_for("note (may be empty): ")
        seat.press("no\n")
        seat.wait_for("2 proposals seen: 1 rejected; 1 skipped")
        assert seat.end() == 0


def test_where_nothing_waits_it_says_so(home: Path) -> None:
    with opened(home):
        pass
    with seated(home, "review") as seat:
        seat.wait_for("nothing waits")
        assert seat.end() == 0


# -- the card itself


def test_the_check_for_escapes_finds_them() -> None:
    assert escapes_in("a\x1b[31m\u202e\n") == ["\x1b", "\u202e"]


@pytest.mark.parametrize(
    "character", [*"\x00\x07\x1b\x7f\x9b\u200b\u202e\u2066\ufeff\ufe0f\u3164\u2800\u00ad\u2028\n\t"]
)
def test_what_cannot_be_seen_is_written_out(character: str) -> None:
    assert character not in bare(f"a{character}b")
    assert bare(f"a{character}b").startswith("a\\")


def test_marks_stay_on_letters_and_do_not_pile_up() -> None:
    assert bare("e\u0301a\u0300\u0323") == "e\u0301a\u0300\u0323"
    assert bare("e\u0301\u0301\u0301") == "e\u0301\u0301\\u0301"
    assert bare("\u0301e") == "\\u0301e"
    assert bare("\U000e0041") == "\\U000e0041"


@pytest.mark.parametrize("text", ["日" * 300, "Ж" * 300, "🌡" * 300, "a" * 300])
def test_no_line_is_longer_than_a_terminal_may_show(text: str) -> None:
    told = shown_proposal(text)
    for line in card(told, None, 80, whole=True):
        behind = line.partition(BAR)[2]
        wide = sum(1 if each.isascii() else 2 for each in behind)
        assert 12 + wide <= 80
        assert BAR in line


def test_what_is_long_is_cut_so_that_a_card_fits_a_small_terminal() -> None:
    told = shown_proposal("word " * 1_000) | {"approvals_needed": 2}
    told["contradiction_check"] = {"existing": "user:alice:profile:1", "verdict": "contradicts"}
    assert len(list(card(told, "known", 80))) + len(["space", "heading", "prompt"]) <= SIZE[0]
    assert len(list(card(told, "known", 80, whole=True))) > 60


def shown_proposal(text: str) -> dict[str, Any]:
    return proposal(text) | {
        "text": text,
        "event_type": "decision",
        "tier_target": "semantic",
        "space": "user",
        "user_id": "alice",
        "classification": "INTERNAL",
        "trust": "inferred",
        "risk": "medium",
        "risk_reasons": ["inferred"],
        "rule": "inferred",
        "reason": "it was inferred, not said",
        "consent_check": "not_required",
        "contradiction_check": {"existing": None, "verdict": "no_conflict"},
        "approvals": [],
        "approvals_needed": 1,
        "age_seconds": 7_200,
    }


def test_ages_are_told_in_their_largest_unit() -> None:
    assert [age(each) for each in (5, 60, 7_200, 86_400, 1_000_000)] == [
        *("less than a minute", "1 minute", "2 hours", "1 day", "11 days")
    ]


# -- many at once


def test_many_are_decided_at_once_and_one_can_look_before(run: Run, home: Path) -> None:
    ids = proposed(home, "monday", "tuesday", "wednesday")
    seen = run("review", "--approve", ids[0], "--approve", f"{ids[1]},mwp_none", "--dry-run")
    assert seen.exit_code == 1
    assert seen.stdout.splitlines() == [
        f"{ids[0]}: would be approved",
        f"{ids[1]}: would be approved",
        "mwp_none: not decided: proposal not found",
    ]
    done = run("review", "--reject", ids[0], "--note", "no", "--json")
    assert json.loads(done.stdout)["counts"] == {"rejected": 1}
    assert run("review", "--approve", ids[1]).stdout.startswith(f"{ids[1]}: approved (user:alice:")
    load = run("review", "--load")
    assert load.stdout.startswith("1 proposal waits, the oldest for ")
    assert "risk medium\t1" in load.stdout
    assert json.loads(run("review", "--load", "--json").stdout)["waiting"] == 1
    assert run("proposals").stdout.startswith(ids[2])
    assert run("proposals", "--status", "rejected").stdout.startswith(ids[0])
    assert "note\tno\n" in run("proposals", ids[0]).stdout
