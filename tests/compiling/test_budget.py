"""The budget covers all that is rendered, and everything that was offered is accounted for exactly once."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from random import Random

import pytest
from tests.compiling.made import COUNTERS, dispute, memory, random_memories, random_state, random_template
from tests.sizes import sized

from recollect.domain.compiling import filling
from recollect.domain.compiling.codes import DropReason, Form
from recollect.domain.compiling.counting import CHARS, MAX_BUDGET, PER_MESSAGE, Counter, Named
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import Pack
from recollect.domain.compiling.rendering import rendered_messages, rendered_text
from recollect.domain.compiling.states import state_of
from recollect.domain.compiling.templates import template_of
from recollect.domain.errors import InvalidInput, InvalidQuery


def flaws(pack: Pack, offered: Iterable[tuple[str, str]], counter: Counter) -> list[str]:
    """What is wrong with the account of a pack."""
    found = []
    if pack.manifest.form is Form.MESSAGES:
        used = sum(counter(each["content"]) for each in rendered_messages(pack))
    else:
        used = counter(rendered_text(pack))
    if used > pack.report.budget:
        found.append(f"{used} of {pack.report.budget} are taken")
    if not used <= pack.report.used <= pack.report.budget:
        found.append(f"{pack.report.used} are told where {used} are taken")
    kept = [(block.source.value, entry.id) for block in pack.blocks for entry in block.entries]
    dropped = [(each.source.value, each.id) for each in pack.report.dropped]
    if Tally(kept + dropped) != Tally(offered):
        found.append("something is lost, or told twice")
    return found


def random_pack(chance: Random, counter: Counter | None = None) -> tuple[Pack, list[tuple[str, str]], Counter]:
    memories, state = random_memories(chance), random_state(chance)
    disputes = [dispute(number) for number in range(chance.randint(0, 4))]
    used = counter or chance.choice(COUNTERS)
    pack = compiled(
        memories,
        disputes,
        state,
        budget=chance.choice((chance.randint(1, 200), chance.randint(1, 2_000), chance.randint(1, 20_000))),
        counter=used,
        template=random_template(chance),
        form=chance.choice(list(Form)),
    )
    offered = [(_part(each.pinned, each.kind), each.id) for each in memories]
    offered += [("contradictions", each["event_id"]) for each in disputes]
    offered += [(part.value, each.id) for part, excerpts in state.parts() for each in excerpts]
    return pack, offered, used


def _part(pinned: bool, kind: str) -> str:
    return "pinned" if pinned else {"short_term": "turns", "profile": "profile"}.get(kind, "relevant")


@sized(300, 10_000)
def test_the_budget_is_never_exceeded_and_nothing_is_lost(count: int) -> None:
    reasons: Tally[str] = Tally()
    for seed in range(count):
        pack, offered, counter = random_pack(Random(seed))
        assert flaws(pack, offered, counter) == [], seed
        reasons.update(each.reason for each in pack.report.dropped)
    assert reasons.keys() == set(DropReason), "the packs are too tame"


def test_a_counter_that_ignores_titles_is_caught() -> None:
    blind = Named("blind", lambda text: CHARS("".join(each for each in text.splitlines() if not each.startswith("##"))))
    packs = [random_pack(Random(seed), blind) for seed in range(100)]
    assert any(flaws(pack, offered, CHARS) for pack, offered, _ in packs)


def test_a_pack_that_counts_half_of_what_it_renders_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "taken", lambda *_: 0)
    monkeypatch.setattr(filling, "cost", lambda _, lines, counter: sum(counter(each) for each in lines) // 2)
    packs = [random_pack(Random(seed)) for seed in range(100)]
    assert any(flaws(pack, offered, counter) for pack, offered, counter in packs)


def test_a_dropped_entry_that_nobody_names_is_caught() -> None:
    pack, offered, counter = random_pack(Random(3))
    assert pack.report.dropped
    assert flaws(pack, [*offered, offered[0]], counter) == ["something is lost, or told twice"]


def test_lines_that_add_up_to_more_than_the_budget_are_taken_out_again() -> None:
    whole = Named("whole", lambda text: len(text) if text.count("\n") > 1 else 0)
    pack = compiled([memory(number, f"memory {number}") for number in range(20)], budget=700, counter=whole)
    assert 0 < whole(rendered_text(pack)) <= 700
    assert {each.reason for each in pack.report.dropped} == {DropReason.BUDGET}


@pytest.mark.parametrize("form", list(Form))
def test_a_budget_too_small_for_anything_gives_an_empty_pack_that_names_all(form: Form) -> None:
    pack = compiled([memory(1), memory(2, "More.")], [dispute()], budget=1, form=form)
    assert pack.blocks == ()
    assert (rendered_text(pack), rendered_messages(pack), pack.report.used, pack.report.frame) == ("", [], 0, 0)
    assert [(each.id, each.block, each.reason) for each in pack.report.dropped] == [
        ("user:alice:semantic:1", "relevant", DropReason.BUDGET),
        ("user:alice:semantic:2", "relevant", DropReason.BUDGET),
        ("ctr_1", "contradictions", DropReason.BUDGET),
    ]


@pytest.mark.parametrize("budget", [0, -1, MAX_BUDGET + 1, 10**400, True, 1.5, "1200", None])
def test_a_budget_that_nobody_can_mean_is_refused(budget: object) -> None:
    with pytest.raises(InvalidQuery, match="whole number of tokens") as caught:
        compiled([], budget=budget)  # type: ignore[arg-type] # what callers may send
    assert isinstance(caught.value, InvalidInput)


def test_one_more_token_is_used_when_it_lets_one_more_in() -> None:
    memories = [memory(1, "a"), memory(2, "b")]
    need = compiled(memories, budget=1_000, form=Form.MARKDOWN).report
    parts = need.frame + need.blocks["relevant"]
    assert len(compiled(memories, budget=parts, form=Form.MARKDOWN).manifest.ids) == 2
    assert len(compiled(memories, budget=parts - 1, form=Form.MARKDOWN).manifest.ids) == 1


def test_what_a_block_leaves_of_its_share_is_for_the_others() -> None:
    memories = [memory(number, f"This is what memory {number} says.") for number in range(40)]
    pack = compiled(memories, budget=1_200)
    assert pack.report.allocations["relevant"] == 600
    assert pack.report.blocks["relevant"] > 900


def test_the_block_that_matters_least_gives_way_first() -> None:
    state = state_of({"summaries": [{"id": "s", "text": "Talked of tea."}]})
    full = compiled([memory(1)], (), state, budget=1_000)
    assert [each.name for each in full.blocks] == ["relevant", "summaries"]
    short = compiled([memory(1)], (), state, budget=full.report.used - 1)
    assert [each.name for each in short.blocks] == ["relevant"]
    assert [(each.id, each.reason) for each in short.report.dropped] == [("s", DropReason.BUDGET)]


def test_caps_of_a_block_hold_and_are_named() -> None:
    block = {"name": "facts", "source": "relevant", "title": "Facts", "entries": 2}
    memories = [memory(number, f"This is what memory {number} says.") for number in range(4)]
    by_entries = compiled(memories, budget=5_000, template=template_of({"name": "t", "version": 3, "blocks": [block]}))
    assert by_entries.manifest.ids == ("user:alice:semantic:0", "user:alice:semantic:1")
    assert [each.reason for each in by_entries.report.dropped] == [DropReason.ENTRY_CAP] * 2
    assert by_entries.report.truncations["facts"].dropped == 2
    capped = template_of({"name": "t", "version": 3, "blocks": [block | {"entries": None, "tokens": 60}]})
    by_tokens = compiled(memories, budget=5_000, template=capped)
    assert 0 < by_tokens.report.blocks["facts"] <= 60
    assert {each.reason for each in by_tokens.report.dropped} == {DropReason.BLOCK_CAP}


def test_recent_turns_are_kept_from_the_last_one_back_without_gaps() -> None:
    turns = [{"id": str(number), "text": "a long turn " * (20 if number == 5 else 1)} for number in range(9)]
    block = {"name": "recent", "source": "turns", "title": "Recent turns", "tokens": 60}
    pack = compiled(
        [],
        (),
        state_of({"turns": turns}),
        budget=1_000,
        form=Form.MARKDOWN,
        template=template_of({"name": "t", "version": 1, "blocks": [block]}),
    )
    assert pack.manifest.ids == ("6", "7", "8")


def test_messages_take_more_than_their_content() -> None:
    pack = compiled([memory()], budget=1_000, form=Form.MESSAGES)
    assert pack.report.used == CHARS(rendered_text(pack)) + PER_MESSAGE
