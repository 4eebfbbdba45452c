"""Reports: one page that needs nothing else, on which nothing of what memories say can stand."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.pipeline.scene import scene

from recollect.cli.charts import Bar, bars, columns, plain, table
from recollect.cli.reporting import lasting, page, percent
from recollect.sync import MemoriesSync

HOSTILE = "</style></title><script>alert(1)</script><img src=x onerror=\"alert('x')\">&lt;\u202e\x00"
VOID = {"meta", "rect", "line"}
PARTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "h1", "p", "ul", "li", "b", "span", "section",
    "h2", "div", "figure", "svg", "text", "rect", "line", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "footer",
}  # fmt: skip
REFERS = {"href", "src", "srcset", "action", "data", "xlink:href", "background", "poster", "formaction"}


class Page(HTMLParser):
    """The parts of a page, each begun and ended, with what is odd about them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.odd: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in PARTS:
            self.odd.append(tag)
        self.odd += [name for name, _ in attrs if name in REFERS or name.startswith("on") or name == "style"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.odd.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def check(text: str) -> Page:
    """The page, once it is sound: whole, without scripts, and without a way to anything outside."""
    found = Page(text)
    assert found.odd == []
    assert found.open == []
    assert "<script" not in text.lower()
    assert not re.search(r"https?:|url\(|@import|javascript:", text, re.IGNORECASE)
    return found


def figures(workflow: str = "chat", **more: Any) -> dict[str, Any]:
    """What `memory_metrics` says after some use."""
    rate = {"recalls": 40, "hits": 31, "hit_rate": 0.775}
    return {
        "scope": "tenant",
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-01-31T00:00:00Z",
        "recall": rate | {"by_workflow": [{"workflow": workflow} | rate]},
        "tokens": {"recalls": 40, "tokens": 9_000, "retrieval_tokens": 30_000, "ratio": 0.3},
        "pii": {"violations": 0, "target": 0, "by_kind": {}, "record_ids": []},
        "contradictions": {
            "resolved": 3, "median_seconds": 5_400.0, "p90_seconds": 90_000.0, "resolved_by_rule": 4, "open": 1,
            "oldest_open_at": "2026-01-02T00:00:00Z", "oldest_open_seconds": 172_800.0,
        },
        "corrections": {
            "corrections": 8, "adopted": 6, "missed": 1, "open": 1, "adoption_rate": 0.75, "signals": 8,
        },
        "reviews": {
            "decided": 9, "per_day": 0.3, "by_verdict": {"approved": 7, "rejected": 2},
            "by_day": [{"day": f"2026-01-{day:02d}", "decided": day % 4} for day in range(1, 29)],
            "median_waiting_seconds": 60.0, "p90_waiting_seconds": 7_200.0, "waiting": 2,
            "oldest_waiting_seconds": 30.0,
        },
        "looked_at": {"trace": 120, "record": 12},
        "complete": True,
    } | more  # fmt: skip


QUALITY = {"queries": 20, "k": 10, "answered": 20, "precision": 0.62, "recall": 0.9}


def test_a_page_is_whole_has_its_charts_and_a_table_beside_each() -> None:
    found = check(page(figures(), QUALITY))
    assert found.seen.count("svg") == 6  # nothing is drawn of violations, for there are none
    assert found.seen.count("table") == 7
    said = " ".join(found.words)
    for figure in ("77.5 %", "× 0.30", "1.5 h", "75.0 %", "62.0 %", "2026-01-28"):
        assert figure in said


@pytest.mark.parametrize("what", ["nothing", "violations", "incomplete"])
def test_a_page_is_sound_whatever_the_figures(what: str) -> None:
    nothing = {
        "recall": {"recalls": 0, "hits": 0, "hit_rate": None, "by_workflow": []},
        "tokens": {"recalls": 0, "tokens": 0, "retrieval_tokens": 0, "ratio": None},
        "reviews": figures()["reviews"] | {"by_day": [], "by_verdict": {}, "per_day": None},
        "looked_at": {},
    }
    found = {
        "nothing": nothing,
        "violations": {"pii": {"violations": 2, "target": 0, "by_kind": {"email": 2}}},
        "incomplete": {"complete": False},
    }[what]
    said = " ".join(check(page(figures(**found))).words)
    assert {"nothing": "–", "violations": "email", "incomplete": "not all there is"}[what] in said


def test_no_word_of_a_caller_breaks_out_of_the_page() -> None:
    def made(word: str) -> str:
        pii = {"violations": 1, "target": 0, "by_kind": {word: 1}}
        return page(figures(word, looked_at={word: 1}, pii=pii), QUALITY)

    hostile = made(HOSTILE)
    assert check(hostile).seen == check(made("x")).seen
    assert "\u202e" not in hostile
    assert "\x00" not in hostile


def test_a_page_that_does_not_escape_is_caught() -> None:
    planted = page(figures("MARK")).replace("MARK", HOSTILE)
    with pytest.raises(AssertionError):
        check(planted)


def test_charts_stay_within_their_frame() -> None:
    drawn = bars("x", [Bar("a", 5.0, "5"), Bar("b", 0.0, "0"), Bar("c" * 90, 50.0, "50")], 10.0)
    widths = [float(each) for each in re.findall(r'class="a" x="150" y="\d+" width="([\d.]+)"', drawn)]
    assert widths == [168.0, 0.0, 336.0]
    heights = [float(each) for each in re.findall(r'height="([\d.]+)" rx="2"', columns("x", [("m", 0), ("t", 4)]))]
    assert heights == [0.0, 126.0]
    assert bars("x", []) == columns("x", []) == ""
    assert "Nothing" in table("x", ("a",), [])
    assert len(plain("y" * 500)) == 60


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, "–"), (0.5, "0.5 s"), (90, "1.5 min"), (7_200, "2.0 h"), (172_800, "2.0 d")]
)
def test_lengths_of_time_are_told_as_people_read_them(seconds: float | None, said: str) -> None:
    assert lasting(seconds) == said
    assert (percent(None), percent(1.0), percent(0.0), percent(0.1234)) == ("–", "100 %", "0 %", "12.3 %")


def test_the_command_writes_the_page_and_says_where(run: Run, tmp_path: Path, home: Path) -> None:
    secret = "a very particular preference"

    async def play() -> None:
        async with scene(str(home)) as here:
            await here.as_user("admin").capture([{"text": f"I prefer {secret}."}])

    asyncio.run(play())
    output = tmp_path / "r.html"
    done = run("report", "--output", str(output), "--tenant", "tenant_acme_prod", "--since", "2025-12-01T00:00:00Z")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"written: {output}\n"
    text = output.read_text()
    check(text)
    assert secret not in text
    told = run("report", "--output", str(output), "--json", "--tenant", "tenant_acme_prod")
    assert json.loads(told.stdout)["pii"]["violations"] == 0


def test_the_labelled_set_is_asked_and_a_broken_one_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall(_: MemoriesSync, query: str, *, limit: int) -> dict[str, Any]:
        return {"memories": [{"id": query, "also_known_as": "mem-1"}][:limit]}

    monkeypatch.setattr(MemoriesSync, "recall", recall, raising=False)
    assert run("put", "user/a", "k", "v").exit_code == 0
    labels, output = tmp_path / "labels.jsonl", tmp_path / "r.html"
    labels.write_text('{"query": "a", "relevant": ["a"]}\n\n{"query": "b", "relevant": ["c"]}\n')
    done = run("report", "--labels", str(labels), "--output", str(output), "--at", "3", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["precision"] == {
        "queries": 2,
        "k": 3,
        "answered": 2,
        "precision": 0.5,
        "recall": 0.5,
    }
    assert "Precision at 3" in output.read_text()
    for wrong, said in (("[1]\n", "line 1 of"), ('{"query": "a"}\n', "a label has")):
        labels.write_text(wrong)
        done = run("report", "--labels", str(labels), "--output", str(output))
        assert done.exit_code in (1, 2)
        assert said in done.stderr
