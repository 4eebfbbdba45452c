"""Golden conversations: what is said in each, and where all that is told of it is kept, byte for byte.

`python -m tests.governing.golden` writes the files again, from the bare machine; what changed is then to be read.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.governance.scenes import Scene as Bare

from recollect.domain.governance.traces import as_json
from recollect.service.governing.profiles import read_profile

FOLDER = Path(__file__).parents[1] / "golden" / "traces"
ALL: dict[str, Any] = {"short_term": 2, "semantic": True, "profile": True}
Said = tuple[str, list[Any], dict[str, Any]]
_DIGEST = re.compile(r"sha256-[0-9a-f]{16}")
"""Digests that each deployment's own key gives."""
_POLICIES = {"policy", "policy_snapshot"}


def _said(*texts: str) -> list[Said]:
    return [(text, [], {}) for text in texts]


FOR_ME = "Remember this for me: I prefer concise updates."
FOR_PROJECT = "Remember this for the project: We decided to ship weekly."
SCENARIOS: dict[str, tuple[dict[str, Any], list[Said]]] = {
    # Those of the seed.
    "two greetings": ({"short_term": 2}, _said("Hello", "Hello")),
    "a name twice and a password": (ALL, _said("My name is Ada.", "My name is Ada Lovelace.", "my password is 123")),
    "hints": (ALL, _said(FOR_ME, FOR_PROJECT, "Remember this for everyone: We release weekly.")),
    "phases and their diff": (
        {"short_term": 5, "profile": True},
        [
            ("My name is Ada.", [], {}),
            ("Actually, my name is Ada Lovelace.", [], {"phase_token": "t1"}),
            ("ok", [], {"phase_diff_from": "phase-1", "phase_diff_to": "phase-2"}),
        ],
    ),
    # Ours.
    "nothing is set": ({}, _said("My name is Ada.", "I like tea.")),
    "no writing": (ALL | {"write_policy": "none"}, _said("I like tea.", "My name is Ada.")),
    "minimal writing": (
        ALL | {"write_policy": "minimal"},
        [("I like tea.", [{"tool": "x"}], {}), ("Tea is nice", [], {})],
    ),
    "aggressive writing": (
        ALL | {"write_policy": "aggressive"},
        _said("The sky is blue today", "ok", "Rain comes later"),
    ),
    "a tool was used": (ALL, [("We decided to use Postgres", [{"tool": "crm", "ok": True, "rows": None}], {})]),
    "a tool returned a secret": (ALL, [("hi there friend", [{"note": "the password is hunter2"}], {})]),
    "the same again": (ALL, _said("I like tea.", "I like TEA!", "I like tea")),
    "the same fact again": (ALL, _said("My name is Ada.", "My name is Ada.", "Call me Ada.")),
    "dedupe is off": (
        ALL | {"dedupe_enabled": False},
        _said("I like tea.", "I like tea.", "My name is Ada.", "My name is Ada."),
    ),
    "a correction": (ALL, _said("My timezone is CET.", "Actually, my timezone is UTC.", "My timezone is CET.")),
    "decay": (ALL | {"write_policy": "aggressive"}, _said(*(f"Rain falls in town {n}" for n in range(8)))),
    "a time to live": (ALL | {"forget_policy": "ttl"}, _said(*(f"I like tea number {n}" for n in range(8)))),
    "never forgotten": (
        ALL | {"forget_policy": "never", "write_policy": "aggressive"},
        _said(*(f"Snow in {n}" for n in range(8))),
    ),
    "a window of one": ({"short_term": 1}, _said("one", "two", "three")),
    "a long window": ({"short_term": 9}, _said("one", "two", "three", "four", "five", "six")),
    "long words are cut": ({"short_term": 1, "semantic": True}, _said("I like " + "tea " * 80, "and more " * 40)),
    "a denied event type": (ALL | {"deny_event_types": ["preference"]}, _said("I like tea.", "We decided to ship.")),
    "only decisions": (
        ALL | {"allow_event_types": ["decision", "context"]},
        _said("I like tea.", "We decided to ship."),
    ),
    "a pattern of our own": (ALL | {"deny_patterns": ["project x"]}, _said("I like Project X.", "I like tea.")),
    "few profile keys": (ALL | {"allow_profile_keys": ["timezone"]}, _said("My name is Ada.", "My timezone is UTC.")),
    "a fact for me": (ALL, _said("Remember this for me: my name is Ada.", "Remember this for me: my name is Grace.")),
    "a preference for the project": (ALL, _said("Remember this for the project: I prefer tea.")),
    "a decision for everyone": (ALL, _said("Remember this for everyone: We decided to rest.")),
    "fewer spaces are read": (
        ALL | {"spaces": {"read_order": ["session", "user"]}},
        _said(FOR_ME, FOR_PROJECT, "updates"),
    ),
    "nothing may be written": (ALL | {"spaces": {"write_spaces": []}}, _said("I like tea.")),
    "phases are off": (
        ALL | {"phase_enabled": False},
        [
            ("I like tea.", [], {"phase_token": "a"}),
            ("tea", [], {"phase_token": "b", "phase_diff_from": "phase-1", "phase_diff_to": "phase-2"}),
        ],
    ),
    "all phases are recalled": (
        ALL | {"allow_cross_phase_recall": True},
        [
            ("I like tea.", [], {"phase_token": "a"}),
            ("I like chess.", [], {"phase_token": "b", "phase_name": "second"}),
            ("tea", [], {}),
        ],
    ),
    "one phase is remembered": (
        ALL | {"phase_max_phases": 1},
        [
            ("I like tea.", [], {"phase_token": "a"}),
            ("tea", [], {"phase_token": "b", "phase_diff_from": "phase-1", "phase_diff_to": "phase-2"}),
        ],
    ),
    "other scripts": (ALL, _said("I like 茶。", "我叫李雷。", "I like 咖啡。", "茶")),
}


def told(events: list[dict[str, Any]]) -> str:
    """Events as they are kept; policies, which are long and say the same each time, by their digests."""
    for event in events:
        for name in _POLICIES & event.keys():
            said = json.dumps(event[name], sort_keys=True).encode()
            event[name] = f"digest {sha256(said).hexdigest()}"
    return _DIGEST.sub("sha256-…", json.dumps(events, ensure_ascii=False, indent=1, sort_keys=True)) + "\n"


def path_of(name: str) -> Path:
    """Where a conversation is kept."""
    return FOLDER / f"{name.replace(' ', '_')}.json"


def on_the_machine(name: str) -> str:
    """What the bare machine tells of a conversation."""
    given, said = SCENARIOS[name]
    settings, terms = read_profile(given)
    scene = Bare(settings, contract=terms.contract(settings))
    for text, tools, asked in said:
        scene.say(text, tools, **asked)
    return told([as_json(each) for each in scene.traces()])


def main() -> None:
    """Write every file again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in SCENARIOS:
        path_of(name).write_text(on_the_machine(name))


if __name__ == "__main__":
    main()
