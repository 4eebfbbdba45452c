"""The command that imports a conversation: it says what it took and what not, and goes on where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.cli.doors import Asked
from recollect.cli.here import Here, Options
from recollect.cli.importing import PAGE, import_conversation
from recollect.domain.conversation.importing import Format
from recollect.domain.errors import InvalidRequest, InvalidSetting

LINES = [
    {"role": "system", "text": "Be kind."},
    *({"role": role, "text": f"I like dish {number}."} for number in range(3 * PAGE) for role in ("user", "assistant")),
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RECOLLECT_HOME", "RECOLLECT_URL", "RECOLLECT_TOKEN", "RECOLLECT_TENANT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in LINES))
    return path


def run(file: Path, **more: Any) -> None:
    here = Here(Options(Asked(home=str(file.parent / "home")), as_json=more.pop("as_json", True)))
    try:
        import_conversation(here, str(file), **more)
    finally:
        here.close()


def numbers(file: Path, persona: str = "default") -> int:
    settings = recollect.Settings(embedder="hashing")
    with recollect.open_sync(file.parent / "home", settings=settings) as door:
        found = door.list_messages(persona=persona, limit=1)["messages"]
        return int(found[0]["number"]) if found else 0


def test_a_file_is_taken_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(file, persona="coach")
    told = json.loads(capsys.readouterr().out)
    assert (told["taken"], told["position"], told["skipped"]) == (3 * PAGE, 3 * PAGE, {"role:system": 1})
    run(file, persona="coach", as_json=False)
    said = capsys.readouterr().out
    assert f"0 turns of {3 * PAGE} taken, {3 * PAGE} were here" in said
    assert "not taken: 1 message, role:system" in said
    assert numbers(file, "coach") == 3 * PAGE


def test_what_is_interrupted_goes_on_where_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = recollect.MemoriesSync.import_conversation, 0

    def pressed(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return real(self, *arguments, **named)

    monkeypatch.setattr(recollect.MemoriesSync, "import_conversation", pressed)
    with pytest.raises(KeyboardInterrupt):
        run(file)
    assert numbers(file) == PAGE
    run(file)
    assert json.loads(capsys.readouterr().out)["taken"] == 2 * PAGE
    assert numbers(file) == 3 * PAGE


def test_nothing_is_taken_of_a_file_that_cannot_be_read(file: Path) -> None:
    file.write_text(file.read_text() + "{}\n")
    with pytest.raises(InvalidRequest, match=f"line {len(LINES) + 1} has neither"):
        run(file)
    with pytest.raises(InvalidRequest, match="is not JSON"):
        run(file, form=Format.CHATML)
    with pytest.raises(InvalidSetting, match="cannot be read"):
        run(file.with_name("nowhere"))
    with pytest.raises(InvalidSetting, match="--start"):
        run(file, start="yesterday")
    assert not (file.parent / "home").exists()
