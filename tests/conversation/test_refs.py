"""Refs: one name leads to one entity, in every script, for ever."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.domain.entities.refs import (
    MAX_LABEL,
    EntityType,
    Ref,
    is_ref,
    kept,
    label_or_none,
    name_in,
    parsed,
    ref_of,
    slug,
    spelling,
)
from recollect.domain.errors import InvalidValue

NAMES = {
    "John Doe": "john_doe",
    "Mary-Jane O'Neill": "mary_jane_o_neill",
    "Anne-Marie": "anne_marie",
    "Dr. Who": "dr_who",
    "José": "jose_xd994e1d0",
    "Zoë": "zoe_x2752b886",
    "Søren Kierkegaard": "soren_kierkegaard_x2957eb15",
    "Łukasz": "lukasz_x974282d5",
    "Þórunn": "thorunn_xaa358b8e",
    "Nguyễn Thị Hoà": "nguyen_thi_hoa_x190fa3d3",
    "Nguyễn Thị Hoa": "nguyen_thi_hoa_xc262be19",
    "İbrahim": "ibrahim_xf918b8fe",
    "Иван Петров": "ivan_petrov_x9456e608",
    "Олена": "olena_xf51f4c5a",
    "Дмитрий": "dmitriy_x9cbb0aed",
    "Јелена": "jelena_xeff0bf84",
    "Ελένη": "eleni_x5237342d",
    "Γιώργος": "giorgos_x8de3e256",
    "Σωκράτης": "sokratis_x673d04f3",
    "محمد": "mhmd_x0cb4c9b2",
    "فاطمة": "ftmh_x24666a0e",
    "علی‌رضا": "lyrd_x9665d5ef",
    "יוסי": "yvsy_x63330cff",
    "מרים": "mrym_xc0646634",
    "שרה כהן": "srh_khhn_x4dc3f786",
    "अमित": "amit_x8216f3b1",
    "प्रिया शर्मा": "priya_srma_x4e47ebc9",
    "सीता": "sita_xf94e693a",
    "অনিতা": "anita_xda270c18",
    "রবীন্দ্রনাথ": "rbindrnath_x95491f48",
    "தமிழ்செல்வி": "tmilcelvi_xa32df318",
    "முருகன்": "murukn_x47162a64",
    "ประยุทธ์": "prayuthth_xfcde6b2b",
    "สมชาย": "smchay_x70a003b3",
    "李雷": "lilei_x3a47328a",
    "韩梅梅": "hanmeimei_xda16ee61",
    "東京": "dongjing_x130016b2",
    "王小明": "wangxiaoming_xacf979cc",
    "さくら": "sakura_x78d493c7",
    "たけし": "takeshi_x7f8630eb",
    "サクラ": "sakura_x975e7f4e",
    "김철수": "gimcheolsu_xf09c2129",
    "박지성": "bagjiseong_xf12f51ad",
    "이영희": "iyeonghui_x00a404c1",
    "გიორგი": "giorgi_x279d30ea",
    "ნინო": "nino_xcbf49a47",
    "Արամ": "aram_x823b4b1b",
    "Անի": "ani_x69521ec7",
    "አበበ": "abebe_x94a12bd2",
    "ገብረ": "gebre_xad70b0b9",
}
"""What these names are in refs. Records keep theirs for ever: an entry that changes parts people from their past."""
_LETTERS = st.sampled_from("aeéèoòöuńñıiİßſКкαάあア李雷محम ि'-_.  x0189\u200c\u00ad\u0301")


def test_fifty_names_in_twelve_scripts_keep_their_refs() -> None:
    assert len(NAMES) == 50
    scripts = {unicodedata.name(name[0]).split()[0] for name in NAMES}
    assert len(scripts) >= 12, scripts
    assert {name: slug(name) for name in NAMES} == NAMES
    assert len(set(NAMES.values())) == 50
    assert all(is_ref(f"person:{each}") for each in NAMES.values())


def test_refs_are_the_same_in_another_process_with_another_hash_seed() -> None:
    code = "from recollect.domain.entities.refs import slug; import sys; print([slug(each) for each in sys.argv[1:]])"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", code, *NAMES],
            check=True, capture_output=True, text=True, timeout=60,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout  # fmt: skip
        assert told.strip() == str(list(NAMES.values()))


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("  John   Doe ", "john_doe"),
        ("john-doe", "john_doe"),
        ("JOHN_DOE", "john_doe"),
        ("O'Brien", "o_brien"),
        ("O’Brien", "o_brien"),
        ("Ｊｏｈｎ", "john"),
        ("-- John --", "john"),
        ("C3PO", "c3po"),
        ("Straße", "strasse"),
    ],
)
def test_a_slug_is_lower_case_with_one_underscore_where_words_part(label: str, wanted: str) -> None:
    assert slug(label) == wanted


@pytest.mark.parametrize("label", ["", " ", "---", "___", "?!", "😀", "\u0301", "\u200b"])
def test_what_has_no_letters_and_no_digits_is_no_name(label: str) -> None:
    assert slug(label) is None
    assert ref_of(EntityType.PERSON, label) is None


def test_names_that_look_alike_in_ascii_are_two() -> None:
    for one, other in (("José", "Jose"), ("Hoà", "Hoa"), ("さくら", "サクラ"), ("Иван", "Ivan"), ("Ana", "Aña")):
        assert slug(one) != slug(other), (one, other)


def test_the_same_name_composed_otherwise_is_one() -> None:
    for name in NAMES:
        forms = {slug(unicodedata.normalize(form, name)) for form in ("NFC", "NFD", "NFKC", "NFKD")}
        assert forms == {NAMES[name]}
    assert slug("علی\u200cرضا") == slug("علیرضا")


def test_a_name_cannot_pretend_to_be_another_one() -> None:
    assert slug("jose xd994e1d0") != slug("José")


def test_long_names_are_told_apart_where_they_are_cut() -> None:
    one, other = slug("a" * 300 + "b"), slug("a" * 300 + "c")
    assert one is not None
    assert other is not None
    assert one != other
    assert is_ref(f"org:{one}")


@given(st.text(_LETTERS, max_size=8) | st.text(max_size=12), st.text(_LETTERS, max_size=8) | st.text(max_size=12))
def test_two_labels_have_one_ref_exactly_when_they_are_one_name(one: str, other: str) -> None:
    assume(slug(one) is not None)
    assert (slug(one) == slug(other)) == (spelling(one) == spelling(other))


@given(st.text(_LETTERS, max_size=12) | st.text(max_size=300))
def test_whatever_has_a_slug_has_a_ref_that_is_valid(label: str) -> None:
    ref = ref_of(EntityType.PLACE, label)
    if ref is not None:
        assert is_ref(str(ref))
        assert parsed(str(ref)) == ref
        assert spelling(spelling(label)) == spelling(label)
        assert name_in(ref)


@pytest.mark.parametrize(
    "given_ref",
    ["", "person:", ":john", "john", "person:John", "person:j ohn", "animal:rex", "person:josé", "user:alice",
     "person:john\n", "person:" + "a" * 121, None, 7, ["person:john"]],
)  # fmt: skip
def test_what_is_no_ref_is_refused_and_never_put_right(given_ref: object) -> None:
    assert not is_ref(given_ref)
    assert kept([given_ref]) == ()
    with pytest.raises(InvalidValue):
        parsed(given_ref)


def test_a_ref_is_valid_once_made() -> None:
    with pytest.raises(InvalidValue):
        Ref(EntityType.PERSON, "John Doe")
    assert str(Ref(EntityType.ORG, "acme")) == "org:acme"
    assert msgspec.json.decode(msgspec.json.encode(parsed("org:acme")), type=Ref) == parsed("org:acme")


def test_a_memory_keeps_five_refs_in_order_each_once() -> None:
    told = ["person:b", "nobody", "person:a", "person:b", "org:c", "place:d", "project:e", "person:f"]
    assert kept(told) == ("person:b", "person:a", "org:c", "place:d", "project:e")


def test_a_label_is_trimmed_and_of_a_hundred_characters_at_most() -> None:
    assert label_or_none("  Ada   Lovelace ") == "Ada Lovelace"
    assert label_or_none("a" * MAX_LABEL) == "a" * MAX_LABEL
    for flawed in ("", "  ", "a" * (MAX_LABEL + 1), "a\x00b", "\ud800", None, 7):
        assert label_or_none(flawed) is None


def test_whom_nobody_labelled_is_called_by_the_ref() -> None:
    assert name_in(parsed("person:john_doe")) == "John Doe"
    assert name_in(parsed("person:jose_xd994e1d0")) == "Jose"
