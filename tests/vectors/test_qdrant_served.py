"""What is sent to a Qdrant server, and what becomes of trouble with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.vectors.loopback import Fault, Loopback, dropped, hanging, loopback, status

from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.domain.address import namespace
from recollect.domain.errors import VectorsUnavailable
from recollect.domain.filters import parse_filter
from recollect.ports.vectors import Followed, Scope
from recollect.testing.contract.vectors import LINE, NOW, point, row, unit

KEY = "the-secret-key"
NAME = "/collections/recollect_8_test-model"
SCOPE = Scope(NOW, namespace(("user", "ann")), parse_filter({"topic": {"$ne": "x"}, "score": {"gte": 0.5}}))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def vectors(server: Loopback) -> Iterator[QdrantVectors]:
    opened = QdrantVectors(QdrantOptions(url=server.url, key=KEY, seconds=1))
    yield opened
    opened.close()


def _put(vectors: QdrantVectors) -> None:
    vectors.write(LINE, 3, [point(1, unit(1), words={2**64 - 5: 2}, attributes={"score": 0.5})], [row(2)], NOW)


CALLS: dict[str, Callable[[QdrantVectors], object]] = {
    "write": _put,
    "nearest": lambda vectors: vectors.nearest(LINE, SCOPE, unit(1), 5),
    "sharing": lambda vectors: vectors.sharing(LINE, SCOPE, {7: 1.0}, 4.0, 5),
    "statistics": lambda vectors: vectors.statistics(LINE, SCOPE, [7]),
    "followed": lambda vectors: vectors.followed(LINE),
    "follow": lambda vectors: vectors.follow(LINE, Followed(1, NOW)),
    "lines": lambda vectors: vectors.lines("acme"),
    "forget": lambda vectors: vectors.forget(LINE),
    "tidy": lambda vectors: vectors.tidy(NOW),
}
FAULTS: dict[str, Fault] = {
    "500": status(500, "oh"),
    "401": status(401, f'{{"status": {{"error": "not with {KEY}"}}}}'),
    "429": status(429),
    "garbage": status(200, "<html>"),
    "other JSON": status(200, '{"result": {"points": 7}, "status": "ok", "time": 0}'),
    "null": status(200, '{"result": null, "status": "ok", "time": 0}'),
    "dropped": dropped,
}


@pytest.mark.parametrize("call", CALLS)
def test_trouble_is_said_without_the_key_and_passes(call: str, vectors: QdrantVectors, server: Loopback) -> None:
    _put(vectors)
    for name, fault in FAULTS.items():
        server.faults.append(fault)
        with pytest.raises(VectorsUnavailable) as trouble:
            CALLS[call](vectors)
        assert KEY not in trouble.value.message, name
        assert trouble.value.__cause__ is None, name
        CALLS[call](vectors)


def test_a_server_that_does_not_answer_is_given_up(vectors: QdrantVectors, server: Loopback) -> None:
    _put(vectors)
    server.faults.append(hanging(3))
    with pytest.raises(VectorsUnavailable, match="did not answer"):
        vectors.followed(LINE)


def test_a_server_that_is_not_there_is_trouble_only_when_it_is_used() -> None:
    vectors = QdrantVectors(QdrantOptions(url="http://127.0.0.1:9", seconds=1))
    with pytest.raises(VectorsUnavailable):
        vectors.lines("acme")
    vectors.close()


@pytest.mark.parametrize("version", ["1.15.5", "0.11.0"])
def test_a_server_without_conditional_writes_is_refused(version: str, vectors: QdrantVectors, server: Loopback) -> None:
    server.version = version
    for _ in range(2):
        with pytest.raises(VectorsUnavailable, match=rf"is {version}; conditional writes need 1\.16"):
            _put(vectors)
    server.version = "1.16.0"
    _put(vectors)


@pytest.mark.parametrize("version", ["1.16.3", "1.17.0-dev", "2.0.0"])
def test_newer_servers_are_taken(version: str, vectors: QdrantVectors, server: Loopback) -> None:
    server.version = version
    _put(vectors)


def test_collections_are_made_as_documented(vectors: QdrantVectors, server: Loopback) -> None:
    _put(vectors)
    made = next(each for each in server.asked if (each.method, each.path) == ("PUT", NAME))
    assert made.body["vectors"] == {
        "meaning": {
            "size": 8,
            "distance": "Cosine",
            "multivector_config": {"comparator": "max_sim"},
            "hnsw_config": {"m": 0},
        }
    }
    assert made.body["sparse_vectors"] == {"words": {}}
    indexes = {
        each.body["field_name"]: each.body["field_schema"] for each in server.asked if each.path == f"{NAME}/index"
    }
    assert indexes["tenant"] == {"type": "keyword", "is_tenant": True, "enable_hnsw": False}
    assert indexes["words"] == {"type": "integer", "lookup": True, "range": False, "enable_hnsw": False}
    assert indexes["numbers[].value"]["type"] == "float"
    assert {each.key for each in server.asked} == {KEY}


def test_writes_wait_and_are_in_order_and_conditional(vectors: QdrantVectors, server: Loopback) -> None:
    _put(vectors)
    kept, removed = (each for each in server.asked if (each.method, each.path) == ("PUT", f"{NAME}/points"))
    for each in (kept, removed):
        assert (each.query["wait"], each.query["ordering"]) == ("true", "strong")
        assert each.body["update_filter"] == {"must": [{"key": "order", "range": {"lte": 6.0}}]}
    (written,) = kept.body["points"]
    assert written["payload"]["words"] == [-5]
    assert set(written["vector"]) == {"meaning", "words"}
    (tombstone,) = removed.body["points"]
    assert tombstone["vector"] == {}
    assert tombstone["payload"] == {"tenant": "acme", "line": "item.1", "order": 7, "removed": NOW}


def test_searches_ask_for_the_scope_and_for_little_else(vectors: QdrantVectors, server: Loopback) -> None:
    _put(vectors)
    vectors.nearest(LINE, SCOPE, unit(1), 5)
    asked = server.asked[-1]
    assert asked.path == f"{NAME}/points/query"
    numbers = [{"key": "name", "match": {"value": "n:score"}}, {"key": "value", "range": {"gte": 0.5}}]
    assert asked.body["filter"] == {
        "must": [
            {"key": "tenant", "match": {"value": "acme"}},
            {"key": "line", "match": {"value": "item.1"}},
            {"key": "expires", "range": {"gt": float(NOW)}},
            {"key": "ancestors", "match": {"value": SCOPE.within.encoded}},
            {"key": "archived", "match": {"value": 0}},
            {"key": "facts", "match": {"value": "topic"}},
            {"nested": {"key": "numbers", "filter": {"must": numbers}}},
        ],
        "must_not": [{"key": "facts", "match": {"value": "topic=sx"}}],
    }
    assert (asked.body["using"], asked.body["limit"], asked.body["with_payload"]) == ("meaning", 5, ["id"])
    assert asked.body["params"] == {"exact": True}


def test_the_mark_goes_first_when_a_line_is_forgotten(vectors: QdrantVectors, server: Loopback) -> None:
    vectors.follow(LINE, Followed(1, NOW))
    vectors.forget(LINE)
    first, rest = (each.body["filter"] for each in server.asked if each.path == f"{NAME}/points/delete")
    assert list(first["must"][0]) == ["has_id"]
    assert [each["key"] for each in rest["must"]] == ["tenant", "line"]
