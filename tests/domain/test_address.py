"""Namespaces, keys, tenants and subjects: one text per place, one place per text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.address import (
    ROOT,
    Namespace,
    checked_key,
    checked_tenant,
    decode_namespace,
    in_subtree,
    namespace,
    namespace_of_subject,
    scope,
    subject_of,
)
from recollect.domain.errors import InvalidKey, InvalidNamespace, InvalidTenant

segments = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8),
    st.sampled_from(["a", "ab", "A", "%", "_", "\x1e", "\x1f", "\x7f", "é", "e\u0301", "日", ".", "*", " ", "%1E"]),
)
paths = st.lists(segments, min_size=1, max_size=10).map(tuple)


@given(paths)
def test_an_encoded_namespace_decodes_to_itself(path: tuple[str, ...]) -> None:
    made = namespace(path)
    assert decode_namespace(made.encoded) == made
    assert decode_namespace(made.encoded).segments == path
    assert made.encoded.isascii()


@given(paths, paths)
def test_two_namespaces_share_an_encoding_only_when_they_are_one(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert (namespace(one).encoded == namespace(two).encoded) == (one == two)


@given(paths, paths, st.integers(0, 10))
def test_the_range_of_a_subtree_is_containment_by_segments(
    one: tuple[str, ...], tail: tuple[str, ...], cut: int
) -> None:
    other = (one[:cut] + tail)[:10]
    outer, inner = namespace(one), namespace(other)
    assert in_subtree(outer.encoded, inner.encoded) == (other[: len(one)] == one) == outer.contains(inner)
    assert in_subtree(inner.encoded, outer.encoded) == inner.contains(outer)
    assert in_subtree(ROOT.encoded, inner.encoded)


@given(st.lists(paths, min_size=2, max_size=8), paths)
def test_a_subtree_lies_together_in_the_order_of_encodings(many: list[tuple[str, ...]], top: tuple[str, ...]) -> None:
    all_paths = [*many, *[(top + path)[:10] for path in many]]
    inside = [namespace(top).contains(each) for each in sorted(map(namespace, all_paths), key=lambda n: n.encoded)]
    runs = [inside[place] for place in range(len(inside)) if place == 0 or inside[place] != inside[place - 1]]
    assert runs.count(True) <= 1


@given(paths, st.integers(1, 12))
def test_a_namespace_can_be_truncated_to_an_ancestor(path: tuple[str, ...], depth: int) -> None:
    cut = namespace(path).truncated(depth)
    assert cut.segments == path[:depth]
    assert cut.contains(namespace(path))


@pytest.mark.parametrize(
    ("outer", "inner"), [("al", "alice"), ("alice", "aliced"), ("alice", "Alice"), ("é", "e\u0301")]
)
def test_alike_is_not_the_same(outer: str, inner: str) -> None:
    assert not in_subtree(namespace(("user", outer)).encoded, namespace(("user", inner)).encoded)


@pytest.mark.parametrize(
    "bad", [(), [], "user", b"user", None, 5, ("",), ("a", 1), ("\x00",), ("\ud800",), ("a",) * 11]
)
def test_what_is_no_namespace_is_refused(bad: object) -> None:
    with pytest.raises(InvalidNamespace):
        namespace(bad)  # type: ignore[arg-type] # that is the point


def test_nothing_means_everywhere_as_a_scope_only() -> None:
    assert scope(()) is ROOT
    assert scope([]) is ROOT
    assert str(ROOT) == ""
    with pytest.raises(InvalidNamespace):
        scope("")


def test_a_depth_can_be_allowed() -> None:
    assert len(namespace(("a",) * 64, 64).segments) == 64
    with pytest.raises(InvalidNamespace, match="depth 3 exceeds the limit of 2"):
        namespace(("a", "b", "c"), 2)


@given(segments)
def test_a_usable_key_comes_back_as_it_is(key: str) -> None:
    assert checked_key(key) is key or checked_key(key) == key


@pytest.mark.parametrize("bad", ["", "\x00", "a\ud800", "x" * 1_025, "é" * 513, 5, None, b"k"])
def test_what_is_no_key_is_refused(bad: object) -> None:
    with pytest.raises(InvalidKey):
        checked_key(bad)


def test_a_key_may_have_1024_bytes() -> None:
    assert checked_key("x" * 1_024)
    assert checked_key("é" * 512)


@pytest.mark.parametrize("name", ["a", "A-1_b.c@d:e", "x" * 128])
def test_plain_names_are_tenants(name: str) -> None:
    assert checked_tenant(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "a\n", "x" * 129, None, 5])
def test_other_names_are_not(name: object) -> None:
    with pytest.raises(InvalidTenant):
        checked_tenant(name)


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        (("user", "ann"), "user:ann"),
        (("user", "ann", "notes"), "user:ann"),
        (("user", "a:b"), "user:a:b"),
        (("user",), "tenant"),
        (("USER", "ann"), "tenant"),
        (("team", "user", "ann"), "tenant"),
    ],
)
def test_every_namespace_has_one_subject(path: tuple[str, ...], subject: str) -> None:
    assert subject_of(Namespace.of(*path)) == subject


@given(segments)
def test_a_subject_names_its_subtree(name: str) -> None:
    top = namespace_of_subject(f"user:{name}")
    assert top.segments == ("user", name)
    assert subject_of(top) == f"user:{name}"


@pytest.mark.parametrize("bad", ["", "user", "user:", "tenant", "team:a", None, 5, "user:\x00"])
def test_what_is_no_user_cannot_be_erased(bad: object) -> None:
    with pytest.raises(InvalidNamespace):
        namespace_of_subject(bad)  # type: ignore[arg-type] # that is the point
