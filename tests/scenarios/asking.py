"""Scenarios of asking: search by query, what it finds and what it must not, and how it is told."""

from __future__ import annotations

from typing import Any

from tests.scenarios.door import Door, Plain
from tests.scenarios.finding import ALICE, keys
from tests.scenarios.play import Cast, refused, scene
from tests.scenarios.writing import NOTES, op

FACTS = (*ALICE, "facts")
MEMORIES = (*ALICE, "mem")


def asked(door: Door, query: Any, within: tuple[str, ...] = ALICE, **named: Any) -> Plain:
    """What a query finds, once all that was written before is indexed."""
    return door.search(within, query=query, wait=30, **named)


def words(door: Door, query: Any, within: tuple[str, ...] = ALICE, **named: Any) -> list[str]:
    """The keys of what has the words of a query, best first."""
    return [item["key"] for item in asked(door, query, within, mode="lexical", **named)["items"]]


@scene("a query finds the memory that has its words, best first")
def by_words(cast: Cast) -> None:
    cast.alice.put(FACTS, "f1", {"text": "Python uses indentation for blocks"})
    cast.alice.put(FACTS, "f2", {"text": "Go uses braces for blocks, and braces everywhere"})
    cast.alice.put(FACTS, "f3", {"text": "nothing of the sort"})
    assert words(cast.alice, "indentation") == ["f1"]
    assert words(cast.alice, "indented") == ["f1"]
    assert words(cast.alice, "braces for blocks") == ["f2", "f1"]
    assert words(cast.alice, "tabs") == []
    found = asked(cast.alice, "braces for blocks", mode="lexical")
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert found["cursor"] is None


@scene("words and meaning together are asked for unless told otherwise")
def by_both(cast: Cast) -> None:
    cast.alice.put(FACTS, "f1", {"text": "Python uses indentation for blocks"})
    cast.alice.put(FACTS, "f2", {"text": "Alice drinks tea"})
    for mode in ("hybrid", "semantic"):
        assert asked(cast.alice, "indentation of Python blocks", mode=mode)["items"][0]["key"] == "f1"
    assert asked(cast.alice, "indentation of Python blocks") == asked(
        cast.alice, "indentation of Python blocks", mode="hybrid"
    )


@scene("a deleted memory is no longer found, nor what an update replaced")
def vanished(cast: Cast) -> None:
    cast.admin.trigger_index()  # so that no server's worker is still to count what is here
    cast.alice.put(MEMORIES, "to_delete", {"text": "delete me"})
    cast.alice.put(MEMORIES, "changed", {"text": "a lighthouse"})
    assert words(cast.alice, "delete") == ["to_delete"]
    cast.alice.delete(MEMORIES, "to_delete")
    with refused("not_found"):
        cast.alice.get(MEMORIES, "to_delete")
    cast.alice.put(MEMORIES, "changed", {"text": "a harbour"})
    assert words(cast.alice, "delete") == []
    assert words(cast.alice, "lighthouse") == []
    assert words(cast.alice, "harbour") == ["changed"]
    cast.admin.trigger_index()
    status = cast.admin.index_status()
    assert (status["pending"], status["failed"], status["indexed"]) == (0, 0, 1)


@scene("an expired memory is not found, however well it would answer")
def asked_expired(cast: Cast) -> None:
    cast.alice.put(NOTES, "soon", {"text": "umbrella"}, ttl=2, wait="indexed")
    cast.alice.put(NOTES, "later", {"text": "an umbrella, too"})
    cast.pass_time(2.1)
    assert words(cast.alice, "umbrella") == ["later"]


@scene("a query meets archived memories only where they are asked for")
def asked_archived(cast: Cast) -> None:
    cast.alice.put(NOTES, "old", {"text": "umbrella"})
    cast.alice.put(NOTES, "new", {"text": "umbrella stand"})
    cast.alice.archive(NOTES, "old")
    assert words(cast.alice, "umbrella") == ["new"]
    assert sorted(words(cast.alice, "umbrella", archived="include")) == ["new", "old"]
    assert words(cast.alice, "umbrella", archived="only") == ["old"]


@scene("a query stays below its prefix, by whole segments")
def asked_below(cast: Cast) -> None:
    cast.alice.put(NOTES, "mine", {"text": "treasure"})
    cast.alice.put(FACTS, "fact", {"text": "treasure"})
    cast.aliced.put(("user", "aliced", "notes"), "trap", {"text": "treasure"})
    for door in (cast.alice, cast.admin):
        assert sorted(words(door, "treasure")) == ["fact", "mine"]
        assert words(door, "treasure", NOTES) == ["mine"]
        assert words(door, "treasure", (*ALICE, "nowhere")) == []
    assert sorted(words(cast.admin, "treasure", ())) == ["fact", "mine", "trap"]


@scene("nobody finds what is not theirs, nor do others' words count in their scores")
def not_theirs(cast: Cast) -> None:
    cast.alice.put(NOTES, "hers", {"text": "a treasure of words"})
    before = asked(cast.alice, "treasure", ())
    cast.bob.put(("user", "bob"), "his", {"text": "treasure"})
    cast.bob.put(("user", "bob"), "other", {"text": "treasure island"})
    after = asked(cast.alice, "treasure", ())
    assert after == before
    assert sorted(words(cast.bob, "treasure", ())) == ["his", "other"]
    assert words(cast.bob, "treasure", ALICE) == []
    view = cast.admin.justified("on duty", as_user_id="alice")
    assert words(view, "treasure", ()) == ["hers"]


@scene("a filter narrows a query before anything is ranked")
def filtered(cast: Cast) -> None:
    for number in range(12):
        cast.alice.put(NOTES, f"go{number:02}", {"text": "treasure treasure treasure"}, attributes={"lang": "go"})
    cast.alice.put(NOTES, "python", {"text": "one treasure among many other words"}, attributes={"lang": "python"})
    assert words(cast.alice, "treasure", filter={"lang": "python"}, limit=1) == ["python"]
    assert words(cast.alice, "treasure", filter={"lang": {"in": ["python", "rust"]}}) == ["python"]
    assert words(cast.alice, "treasure", filter={"lang": "rust"}) == []
    assert words(cast.alice, "treasure", filter={"sub": "bob"}) == []


@scene("the best of several fields counts")
def best_field(cast: Cast) -> None:
    sea = "the lighthouse above the harbour shows ships their way home at night"
    money = "quarterly figures of the finance department are due on the last Friday"
    cast.alice.put(NOTES, "two", {"sea": sea, "money": money})
    cast.alice.put(NOTES, "one", {"sea": f"{sea}, {money}"})
    for query, field in ((sea, "sea"), (money, "money")):
        first = asked(cast.alice, query, mode="semantic", explain=True)["items"][0]
        assert (first["key"], first["explanation"]["semantic"]["field"]) == ("two", field)


@scene("only the fields that are to be indexed are found")
def index_fields(cast: Cast) -> None:
    value = {"title": "harbour", "notes": [{"text": "lighthouse"}, {"text": "seagull"}], "secret": "treasure"}
    cast.alice.put(NOTES, "some", value, index_fields=["title", "notes[*].text"])
    cast.alice.put(NOTES, "first", value, index_fields=["notes[0].text"])
    cast.alice.put(NOTES, "none", value, index_fields=[])
    cast.alice.put(NOTES, "all", value)
    assert sorted(words(cast.alice, "treasure")) == ["all"]
    assert sorted(words(cast.alice, "lighthouse")) == ["all", "first", "some"]
    assert sorted(words(cast.alice, "seagull")) == ["all", "some"]
    assert sorted(words(cast.alice, "harbour")) == ["all", "some"]
    assert sorted(keys(cast.alice, ALICE)) == ["all", "first", "none", "some"]


@scene("a least score leaves out what answers worse")
def least_score(cast: Cast) -> None:
    cast.alice.put(NOTES, "best", {"text": "green tea"})
    cast.alice.put(NOTES, "some", {"text": "tea and a long list of other things that one may like to have at home"})
    assert words(cast.alice, "green tea") == ["best", "some"]
    scores = [item["score"] for item in asked(cast.alice, "green tea", mode="lexical")["items"]]
    assert words(cast.alice, "green tea", min_score=scores[0]) == ["best"]
    assert words(cast.alice, "green tea", min_score=scores[1]) == ["best", "some"]


@scene("several queries are answered as one, and each item says which found it")
def several(cast: Cast) -> None:
    cast.alice.put(NOTES, "tea", {"text": "tea"})
    cast.alice.put(NOTES, "rain", {"text": "rain over all the land and the sea on Friday"})
    cast.alice.put(NOTES, "both", {"text": "tea time on Friday"})
    found = asked(cast.alice, ["tea", "friday"], mode="lexical")["items"]
    assert {item["key"]: item["matched_queries"] for item in found} == {"tea": [0], "rain": [1], "both": [0, 1]}
    assert found[0]["key"] == "both"
    assert all("matched_queries" not in item for item in asked(cast.alice, "tea", mode="lexical")["items"])


@scene("an explanation tells what each arm found, and only to who asks for it")
def explained_search(cast: Cast) -> None:
    cast.alice.put(NOTES, "tea", {"text": "green tea"})
    cast.alice.put(NOTES, "rain", {"text": "rain"})
    page = asked(cast.alice, "green tea", explain=True)
    assert (page["explanation"]["mode"], page["explanation"]["searched"]) == ("hybrid", 2)
    first = page["items"][0]["explanation"]
    assert (first["lexical"]["rank"], first["semantic"]["rank"]) == (1, 1)
    plain = asked(cast.alice, "green tea")
    assert "explanation" not in plain
    assert all("explanation" not in item for item in plain["items"])


@scene("a ranking is read page by page")
def ranked_pages(cast: Cast) -> None:
    for number in range(7):
        cast.alice.put(NOTES, f"k{number}", {"text": "tea " * (number + 1) + "and so on"})
    every = words(cast.alice, "tea")
    assert sorted(every) == [f"k{number}" for number in range(7)]
    assert [*words(cast.alice, "tea", limit=4), *words(cast.alice, "tea", limit=4, offset=4)] == every
    assert words(cast.alice, "tea", offset=7) == []


@scene("a write that waits is found at once, and says so")
def read_your_writes(cast: Cast) -> None:
    for number in range(5):
        written = cast.alice.put(NOTES, f"k{number}", {"text": f"treasure number{number}"}, wait="indexed")
        assert written["indexed"] is True
        found = cast.alice.search(ALICE, query=f"number{number}", mode="lexical")
        assert [item["key"] for item in found["items"]] == [f"k{number}"]
    assert "indexed" not in cast.alice.put(NOTES, "k", {"text": "later"})


@scene("a batch that waits is found at once, and what it deletes is not", "batch")
def batch_waits(cast: Cast) -> None:
    cast.alice.put(NOTES, "old", {"text": "treasure"}, wait="indexed")
    steps = [op("put", "a", value={"text": "treasure one"}), op("put", "b", value={"text": "two"}), op("delete", "old")]
    done = cast.alice.batch(steps, wait="indexed")
    assert [each["indexed"] for each in done] == [True, True, True]
    found = cast.alice.search(ALICE, query="treasure", mode="lexical")
    assert [item["key"] for item in found["items"]] == ["a"]


@scene("whatever a query is made of, it is answered")
def any_words(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"text": 'tea, שלום and 日本語 ☕ NEAR(x) OR a* -- "quoted"'})
    for query in (
        '"',
        "a* OR b^2 NEAR/3",
        "tea AND (",
        "; DROP TABLE rows",
        "☕",
        "שלום",
        "日本語",
        "the of and",
        "%_\\",
        "- -",
    ):
        assert all(item["key"] == "k" for item in asked(cast.alice, query)["items"])
    assert words(cast.alice, "שלום") == ["k"]
    assert words(cast.alice, "tea " * 2_000) == ["k"]


@scene("a value with numbers of any length is found by its words, and holds up no other")
def long_numbers(cast: Cast) -> None:
    cast.alice.put(NOTES, "long", {"text": "treasure", "n": 2**70, "m": [-(2**64), 1e300]})
    cast.alice.put(NOTES, "short", {"text": "treasure, too", "n": 7}, wait="indexed")
    assert sorted(words(cast.alice, "treasure")) == ["long", "short"]


@scene("what is no query, mode, score or wait is refused")
def no_queries(cast: Cast) -> None:
    cast.alice.put(NOTES, "k", {"text": "tea"})
    wrong: list[Plain] = [
        {"query": ""},
        {"query": "  \n"},
        {"query": "x" * 16_385},
        {"query": ["tea", " "]},
        {"query": ["tea"] * 9},
        {"query": "tea", "mode": "guessing"},
        {"query": "tea", "min_score": 1.5},
        {"query": "tea", "min_score": -0.1},
        {"query": "tea", "wait": 61},
        {"query": "tea", "limit": 0},
        {"query": "tea", "offset": 1_000},
        {"query": "tea", "order": "oldest"},
        {"query": "tea", "cursor": cast.alice.events()["cursor"]},
        {"query": "tea", "as_of": cast.alice.get(NOTES, "k")["created_at"]},
        {"mode": "lexical"},
        {"min_score": 0.5},
        {"explain": True},
        {"wait": 1},
    ]
    for bad in wrong:
        with refused("invalid_query"):
            cast.alice.search(ALICE, **bad)
    with refused("invalid_request"):
        cast.alice.put(NOTES, "k", {}, index_fields=["x" * 257])


@scene("the index is looked after by those who keep the service, and hurried by some of them")
def index_keepers(cast: Cast) -> None:
    cast.admin.trigger_index()  # so that no server's worker is still to count what is here
    cast.alice.put(NOTES, "k", {"text": "tea"}, wait="indexed")
    for door in (cast.admin, cast.operator):
        status = door.trigger_index()
        assert (status["pending"], status["indexed"], status["rebuilding"]) == (0, 1, None)
        assert status["model"] == "hashing-256"
    assert cast.auditor.index_status()["indexed"] == 1
    for who in (cast.alice, cast.bob):
        with refused("forbidden"):
            who.index_status()
    with refused("forbidden"):
        cast.auditor.trigger_index()
