"""How much is found of what should be, and how little of what should not: on corpora drawn when the tests run."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.scanning import benign
from tests.scanning.corpus import PERSONAL, SAME_KIND, SAME_PERSONAL_KIND, SECRETS, TEMPLATES, Drawn
from tests.sizes import sized

from recollect.domain import scanning
from recollect.domain.scanning import PERSONAL_KINDS, SECRET_KINDS, Class, redacted, scan, scanner

RECALL = 0.95
FALSE_ALARMS = 0.01


def value_of(drawn: str) -> str:
    """What must not be seen of a sample: its end, which is the secret where words come before it."""
    return drawn.rstrip(";")[-7:]


def missed(corpus: dict[str, Drawn], sort: Class, rounds: int, seed: int = 1) -> tuple[Counter[str], int]:
    """The kinds that were not found, or not whole, and how many were drawn."""
    chance, lost, drawn = Random(seed), Counter[str](), 0
    for kind, draw in corpus.items():
        for template in TEMPLATES * rounds:
            sample = draw(chance)
            text = template.format(sample)
            drawn += 1
            begin = text.index(sample)
            end = begin + len(sample)
            inside = [each for each in scan(text, {sort}) if each.begin < end and each.end > begin]
            if not inside or value_of(sample) in redacted(text, {sort}):
                lost[kind] += 1
    return lost, drawn


def test_there_is_a_way_to_draw_every_kind() -> None:
    assert {SAME_KIND.get(kind, kind) for kind in SECRETS} == set(SECRET_KINDS)
    assert {SAME_PERSONAL_KIND.get(kind, kind) for kind in PERSONAL} == set(PERSONAL_KINDS)
    assert len(SECRET_KINDS) >= 40


@sized(1, 50)
def test_secrets_are_found_in_sentences(count: int) -> None:
    lost, drawn = missed(SECRETS, Class.SECRET, count)
    assert lost.total() <= (1 - RECALL) * drawn, lost
    assert all(lost[kind] <= len(TEMPLATES) * count / 3 for kind in SECRETS), lost


@sized(1, 50)
def test_personal_data_is_found_in_sentences(count: int) -> None:
    lost, drawn = missed(PERSONAL, Class.PII, count)
    assert lost.total() <= (1 - RECALL) * drawn, lost
    assert all(lost[kind] <= len(TEMPLATES) * count / 3 for kind in PERSONAL), lost


@pytest.mark.parametrize("kind", list(SECRETS))
def test_a_secret_is_called_what_it_is(kind: str) -> None:
    chance = Random(7)
    texts = [f"we use {SECRETS[kind](chance)} there" for _ in range(10)]
    called = Counter(each.kind for text in texts for each in scan(text, {Class.SECRET}))
    assert called[SAME_KIND.get(kind, kind)] >= 9, called


@pytest.mark.parametrize("kind", list(PERSONAL))
def test_personal_data_is_called_what_it_is(kind: str) -> None:
    chance = Random(7)
    texts = [f"it is {PERSONAL[kind](chance)} there" for _ in range(10)]
    called = Counter(each.kind for text in texts for each in scan(text, {Class.PII}))
    assert called[SAME_PERSONAL_KIND.get(kind, kind)] >= 9, called


@sized(5_000, 100_000)
def test_plain_lines_are_left_alone(count: int) -> None:
    chance = Random(3)
    alarms = [text for text in (benign.line(chance) for _ in range(count)) if scan(text)]
    assert len(alarms) <= FALSE_ALARMS * count, Counter(each[:30] for each in alarms).most_common(10)


@pytest.mark.parametrize("kind", [*SECRETS, *PERSONAL])
def test_the_first_look_loses_no_rule(kind: str) -> None:
    chance, pack = Random(11), scanner._PACK
    for template in TEMPLATES:
        raw = template.format({**SECRETS, **PERSONAL}[kind](chance)).encode("ascii", "replace")
        matching = [place for place, pattern in enumerate(pack.patterns) if pattern.search(raw)]
        assert set(matching) <= set(pack.possible(raw))
        assert matching


# -- the corpora can fail


def test_a_rule_that_is_missing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [each for each in scanner.RULES if each.kind != "huggingface_token"]
    monkeypatch.setattr(scanner, "_PACK", scanner.Pack(kept))
    lost, _ = missed({"huggingface_token": SECRETS["huggingface_token"]}, Class.SECRET, 1)
    assert lost["huggingface_token"] == len(TEMPLATES)


def test_a_find_that_is_not_replaced_whole_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(text: str, classes: object) -> str:
        first = scanning.scan(text)[0]
        return text[: first.begin] + scanning.REDACTED + text[first.end - 12 :]

    monkeypatch.setitem(globals(), "redacted", cut)
    lost, drawn = missed({"github_token": SECRETS["github_token"]}, Class.SECRET, 1)
    assert lost.total() == drawn


def test_a_rule_that_is_too_eager_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    eager = scanning.Rule("eager", Class.SECRET, scanning.Confidence.LIKELY, r"\b[0-9a-f]{8,}\b")
    monkeypatch.setattr(scanner, "_PACK", scanner.Pack([eager]))
    chance = Random(3)
    assert sum(bool(scan(benign.line(chance))) for _ in range(1_000)) > FALSE_ALARMS * 1_000
