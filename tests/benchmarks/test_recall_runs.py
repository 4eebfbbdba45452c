"""The benchmark of recall, with two tiny conversations: it must run through, and its figures must be right."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.recall.__main__ import main
from benchmarks.recall.data import Question, conversations
from benchmarks.recall.metrics import figures_of, interval, mean

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a grey cat last week"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a cat on a sofa"},
            ],
            "session_2_date_time": "2:00 pm on 9 May, 2023",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "My train to Berlin was late again"}],
        },
        "qa": [
            {"question": "Which animal did Ann adopt?", "category": 4, "evidence": ["D1:1"]},
            {"question": "Where did Bob go?", "category": 1, "evidence": ["D2:1; D1:2", "D:1:1"]},
            {"question": "Nothing tells", "category": 4, "evidence": []},
            {"question": "Which dog did Ann adopt?", "category": 5, "evidence": ["D1:1"]},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What do I drink in the morning?",
        "question_date": "2023/05/30",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20", "2023/05/21"],
        "haystack_sessions": [
            [{"role": "user", "content": "I drink green tea every morning", "has_answer": True}],
            [{"role": "user", "content": "Tell me of the moon"}, {"role": "assistant", "content": "It is far away"}],
        ],
        "answer_session_ids": ["s1"],
    }
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "locomo-tiny.json").write_text(json.dumps(LOCOMO))
    (folder / "longmemeval-tiny.json.gz").write_bytes(gzip.compress(json.dumps(LONGMEMEVAL).encode()))
    return folder


def test_both_benchmarks_are_read(data: Path) -> None:
    locomo, longmemeval = conversations(data)
    assert [(turn.id, turn.session, turn.speaker) for turn in locomo.turns] == [
        ("D1:1", "session_1", "Ann"),
        ("D1:2", "session_1", "Bob"),
        ("D2:1", "session_2", "Bob"),
    ]
    assert locomo.turns[1].text == "Lovely! [a cat on a sofa]"
    assert [(each.category, sorted(each.turns)) for each in locomo.questions] == [
        ("single-hop", ["D1:1"]),
        ("multi-hop", ["D1:1", "D1:2", "D2:1"]),
        ("adversarial", ["D1:1"]),
    ]
    assert [sorted(each.sessions) for each in longmemeval.questions] == [["s1#0"]]


def test_a_run_leaves_the_figures_of_every_subject(data: Path, tmp_path: Path) -> None:
    for _ in range(2):  # the second time with what the first one remembers
        assert (
            main(["--data", str(data), "--cache", str(tmp_path / "made.db"), "--results", str(tmp_path / "out")]) == 0
        )
    rows = json.loads((tmp_path / "out" / "recall.json").read_text())["figures"]
    subjects = {"hybrid", "semantic", "lexical", "BM25 alone", "LangGraph InMemoryStore, same model"}
    subjects |= {"recall, relevance", "recall, blended"}
    assert {row["subject"] for row in rows} == subjects
    found = {(row["benchmark"], row["subject"], row["category"]): row for row in rows}
    assert found["LoCoMo", "hybrid", "all"]["questions"] == 2, "adversarial questions are counted apart"
    assert found["LoCoMo", "hybrid", "single-hop"]["mean"]["R@5"] == 1
    assert found["LongMemEval-S", "hybrid", "all"]["mean"]["sessions MRR"] == 1


def test_the_figures_are_what_they_say() -> None:
    question = Question("?", "single-hop", frozenset({"a", "b"}), frozenset({"s", "t"}))
    ranking = [("x", "u"), ("a", "s"), ("y", "s"), ("z", "v"), ("w", "v"), ("b", "t")]
    figures = figures_of(question, ranking)
    assert (figures["R@5"], figures["R@10"], figures["MRR"]) == (0.5, 1.0, 0.5)
    assert figures["nDCG@10"] == pytest.approx((1 / 1.584962 + 1 / 2.807355) / (1 + 1 / 1.584962), abs=1e-6)
    assert (figures["sessions any@5"], figures["sessions all@5"], figures["sessions MRR"]) == (1.0, 1.0, 0.5)
    several = [{"R@5": 0.0}, {"R@5": 1.0}, {"other": 1.0}]
    assert mean(several, "R@5") == 0.5
    low, high = interval(several, "R@5")
    assert 0 <= low < 0.5 < high <= 1
