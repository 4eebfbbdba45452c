"""Hostile queries, over HTTP: each is answered or refused as documented, and none of them is a fault of the server."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.sizes import sized

from recollect.testing.servers import Server, running

MEMORIES = {
    "fts": "select * from memories where text match 'tea'",
    "rtl": "שלום עולם مرحبا بالعالم",
    "emoji": "party 🎉 👩‍👩‍👧‍👦 tonight",
    "cjk": "私は東京に住んでいる",
    "plain": "I like my tea without sugar",
    "quotes": 'O\'Brien said "hello" -- twice',
}
LONG = "tea " * 2_560
"""10 kB."""

ANSWERED: dict[str, Any] = {
    "an AND of FTS": '"tea" AND sugar',
    "a NEAR of FTS": "NEAR(tea sugar, 2)",
    "a column of FTS": "text:tea*",
    "an open quote": '"tea',
    "only operators": "AND OR NOT NEAR",
    "stars": "* ** tea* *",
    "brackets": "((((tea",
    "a caret": "^tea",
    "a minus": "-tea +sugar",
    "SQL": "'; DROP TABLE entries; --",
    "a like": "%_%",
    "ten kilobytes": LONG,
    "ten kilobytes of one word": "x" * 10_240,
    "ten kilobytes of Japanese": "東京" * 3_000,
    "the longest": "y " * 8_192,
    "emoji": "🎉",
    "a family": "👩‍👩‍👧‍👦",
    "Hebrew": "שלום",
    "Arabic": "مرحبا",
    "a right-to-left override": "\u202eaet\u202c",
    "zero-width": "te\u200ba",
    "combining marks": "t" + "\u0301" * 500,
    "only stop words": "the of and what",
    "only marks": "?!…",
    "a newline": "tea\nsugar\r\n\ttea",
    "controls": "tea\x01\x1b[31m\x7f",
    "a separator": "tea\x1eet\x1f",
    "the last of Unicode": "\U0010ffff \uffff \ufeff",
    "JSON": '{"query": "tea"}',
    "Japanese": "東京",
    "a path": "../../etc/passwd",
    "a template": "{{7*7}} ${jndi:ldap://x} %s %n",
    "eight at once": ["tea", "sugar", "東京", "🎉", "the", "שלום", "x", "y"],
    "the same eight times": ["tea"] * 8,
    "one in a list": ["tea"],
}
REFUSED: dict[str, dict[str, Any]] = {
    "empty": {"query": ""},
    "blank": {"query": " \t\n\u3000"},
    "a NUL": {"query": "tea\0"},
    "half a character": {"query": "tea \ud83d"},
    "too long": {"query": "x" * 16_385},
    "no queries": {"query": []},
    "nine queries": {"query": ["tea"] * 9},
    "a blank one of two": {"query": ["tea", " "]},
    "a number": {"query": 7},
    "a truth": {"query": True},
    "an object": {"query": {"text": "tea"}},
    "a list of numbers": {"query": [1, 2]},
    "a list of lists": {"query": [["tea"]]},
    "a null in a list": {"query": [None]},
    "an unknown mode": {"query": "tea", "mode": "telepathic"},
    "a mode of the wrong case": {"query": "tea", "mode": "HYBRID"},
    "a mode that is null": {"query": "tea", "mode": None},
    "a mode that is a list": {"query": "tea", "mode": ["lexical"]},
    "a negative score": {"query": "tea", "min_score": -0.1},
    "a score above one": {"query": "tea", "min_score": 1.01},
    "a huge score": {"query": "tea", "min_score": 1e308},
    "a score of text": {"query": "tea", "min_score": "0.5"},
    "a score of truth": {"query": "tea", "min_score": True},
    "a negative wait": {"query": "tea", "wait": -1},
    "a wait of an hour": {"query": "tea", "wait": 3_600},
    "a huge wait": {"query": "tea", "wait": 1e308},
    "a wait of text": {"query": "tea", "wait": "indexed"},
    "a wait of truth": {"query": "tea", "wait": True},
    "a limit of zero": {"query": "tea", "limit": 0},
    "a negative limit": {"query": "tea", "limit": -1},
    "a huge limit": {"query": "tea", "limit": 10**18},
    "a limit beyond numbers": {"query": "tea", "limit": 10**40},
    "a limit with a fraction": {"query": "tea", "limit": 1.5},
    "a negative offset": {"query": "tea", "offset": -1},
    "a huge offset": {"query": "tea", "offset": 10**18},
    "an offset that is too deep": {"query": "tea", "offset": 1_000, "limit": 1},
    "a cursor": {"query": "tea", "cursor": "abc"},
    "a moment": {"query": "tea", "as_of": "2024-01-01T00:00:00Z"},
    "an order": {"query": "tea", "order": "key"},
    "explain of text": {"query": "tea", "explain": "yes"},
    "archived nonsense": {"query": "tea", "archived": "perhaps"},
    "a field that nobody promised": {"query": "tea", "rank_by": "x"},
    "a filter of text": {"query": "tea", "filter": "label"},
    "a filter with an unknown operator": {"query": "tea", "filter": {"a": {"$like": "x"}}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("home"), policy_engine="builtin") as started:
        for key, text in MEMORIES.items():
            put = {"namespace": ["user", "ann"], "key": key, "value": {"text": text}, "wait": "indexed"}
            status, told, _ = started.request("PUT", "/v1/memories", put)
            assert status in (200, 201), told
        yield started
        assert "Traceback" not in started.log()


def ask(server: Server, body: dict[str, Any]) -> tuple[int, Any]:
    status, told, _ = server.request("POST", "/v1/memories/search", {"namespace_prefix": []} | body)
    return status, told


def flaws(status: int, told: Any, *, refused: bool) -> list[str]:
    """What is wrong with an answer that is to be one, or a refusal."""
    if refused:
        if status not in (400, 422):
            return [f"{status} instead of a refusal"]
        return [] if told.get("code") and told.get("error") else [f"a refusal that says nothing: {told}"]
    if status != 200:
        return [f"{status} instead of an answer: {told}"]
    wrong = [f"a score of {item['score']}" for item in told["items"] if not 0 <= item["score"] <= 1]
    scores = [item["score"] for item in told["items"]]
    return wrong + (["not in order"] if scores != sorted(scores, reverse=True) else [])


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize("name", ANSWERED)
def test_a_strange_query_is_answered(name: str, mode: str, server: Server) -> None:
    status, told = ask(server, {"query": ANSWERED[name], "mode": mode, "explain": True})
    assert flaws(status, told, refused=False) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_query_is_refused(name: str, server: Server) -> None:
    status, told = ask(server, REFUSED[name])
    assert flaws(status, told, refused=True) == []


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ('"tea" AND sugar', "plain"),
        ("שלום", "rtl"),
        ("مرحبا", "rtl"),
        ("東京", "cjk"),
        ("obrien", "quotes"),
        (f"{LONG} sugar", "plain"),
        ("MATCH", "fts"),
    ],
)
def test_the_words_in_a_strange_query_are_found(query: str, key: str, server: Server) -> None:
    status, told = ask(server, {"query": query, "mode": "lexical"})
    assert status == 200
    assert told["items"][0]["key"] == key


@pytest.mark.parametrize("query", ["the of and what", "?!…", "🎉"])
def test_a_query_without_words_finds_nothing_by_words_and_something_by_meaning(query: str, server: Server) -> None:
    assert ask(server, {"query": query, "mode": "lexical"})[1]["items"] == []
    assert ask(server, {"query": query, "mode": "hybrid"})[1]["items"]


@pytest.mark.parametrize("raw", [b'{"namespace_prefix": [], "query": "\xff"}', b'{"query": NaN}', b"[]", b'"tea"', b""])
def test_a_body_that_is_no_request_is_refused(raw: bytes, server: Server) -> None:
    status, told, _ = server.request("POST", "/v1/memories/search", raw)
    assert flaws(status, told, refused=True) == []


@sized(150, 5_000)
def test_whatever_is_asked_is_never_a_fault_of_the_server(count: int, server: Server) -> None:
    chance = random.Random(count)
    statuses: dict[int, int] = {}
    for _ in range(count):
        body = _body(chance)
        status, told, _ = server.request("POST", "/v1/memories/search", json.dumps(body).encode())
        assert status < 500, (body, told)
        statuses[status] = statuses.get(status, 0) + 1
    print(f"hostile queries: {count}, by status {statuses}")
    assert statuses.get(200, 0) > count // 10
    assert ask(server, {"query": "sugar", "mode": "lexical"})[1]["items"][0]["key"] == "plain"


def _body(chance: random.Random) -> dict[str, Any]:
    strange = [*ANSWERED.values(), *(each["query"] for each in REFUSED.values())]
    body: dict[str, Any] = {"namespace_prefix": chance.choice(([], ["user"], ["user", "ann"], ["a" * 2_000], "user"))}
    if chance.random() < 0.7:
        body["namespace_prefix"] = []
    body["query"] = chance.choice((chance.choice(strange), _noise(chance), [_noise(chance) for _ in range(3)]))
    for _ in range(chance.choice((0, 0, 1, 2))):
        body |= {name: value for name, value in chance.choice(list(REFUSED.values())).items() if name != "query"}
    return body


def _noise(chance: random.Random) -> str:
    kinds = (
        lambda: chr(chance.randrange(1, 128)),
        lambda: chr(chance.randrange(0xD800)),
        lambda: chance.choice("\"'*():^-+{}%_ "),
    )
    return "".join(chance.choice(kinds)() for _ in range(chance.choice((1, 5, 60, 900))))


def test_the_harness_finds_a_fault_and_an_answer_that_should_be_a_refusal() -> None:
    assert flaws(500, {"code": "internal", "error": "x"}, refused=True)
    assert flaws(500, {}, refused=False)
    assert flaws(200, {"items": []}, refused=True)
    assert flaws(200, {"items": [{"score": 1.5}]}, refused=False)
    assert flaws(200, {"items": [{"score": 0.1}, {"score": 0.5}]}, refused=False)
