"""The registry: aliases, merges and splits lead every ref to whom it means, and each can be taken back exactly."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.sizes import sized

from recollect.domain.entities import registry as rules
from recollect.domain.entities.refs import parsed
from recollect.domain.entities.registry import Change, ChangeKind, Entity, Registry, Standing, Step
from recollect.domain.errors import Conflict, InvalidInput, InvalidRequest, InvalidValue, NotFound, RecollectError
from recollect.domain.instants import Instant

NOW = Instant(1)


def entity(ref: str, merged_into: str | None = None, mentions: int = 1) -> Entity:
    label = ref.partition(":")[2].capitalize()
    return Entity(ref=ref, label=label, merged_into=merged_into, created_at=NOW, updated_at=NOW, mention_count=mentions)


def change(steps: tuple[Step, ...], kind: ChangeKind = ChangeKind.PUT) -> Change:
    return Change(id="ech_1", kind=kind, steps=steps, at=NOW, by="alice")


JOHN, JONNY, PAUL = (parsed(f"person:{name}") for name in ("john", "jonny", "paul"))
ACME = parsed("org:acme")


def known(*refs: object) -> Registry:
    return Registry(entity(str(ref)) for ref in refs)


def test_a_ref_that_was_merged_means_the_one_it_was_merged_into() -> None:
    then = known(JOHN, JONNY).stepped(rules.merge(known(JOHN, JONNY), JONNY, JOHN))
    assert then.canonical("person:jonny") == "person:john"
    assert then.canonical("person:john") == "person:john"
    assert then.canonical("person:nobody") == "person:nobody"
    assert [each.ref for each in then.group("person:jonny")] == ["person:john", "person:jonny"]


def test_merges_in_a_chain_lead_to_its_end() -> None:
    registry = known(JOHN, JONNY, PAUL)
    registry = registry.stepped(rules.merge(registry, JONNY, JOHN))
    registry = registry.stepped(rules.merge(registry, JOHN, PAUL))
    assert {registry.canonical(str(each)) for each in (JOHN, JONNY, PAUL)} == {"person:paul"}


def test_merging_a_merged_one_merges_whom_it_means() -> None:
    registry = known(JOHN, JONNY, PAUL)
    registry = registry.stepped(rules.merge(registry, JONNY, JOHN))
    (step,) = rules.merge(registry, JONNY, PAUL)
    assert step.ref == "person:john"
    (step,) = rules.merge(registry, PAUL, JONNY)
    assert step.after == Standing("Paul", "person:john")


def test_a_circle_of_merges_is_refused() -> None:
    registry = known(JOHN, JONNY)
    registry = registry.stepped(rules.merge(registry, JONNY, JOHN))
    with pytest.raises(InvalidRequest, match="same entity already"):
        rules.merge(registry, JOHN, JONNY)
    with pytest.raises(InvalidRequest, match="same entity already"):
        rules.merge(registry, JOHN, JOHN)


def test_a_circle_that_should_be_there_all_the_same_ends_somewhere() -> None:
    links = {"person:a": "person:b", "person:b": "person:c", "person:c": "person:b"}
    assert {rules.canonical(each, links) for each in links} == {"person:b"}


def test_entities_of_two_types_are_merged_only_by_force() -> None:
    registry = known(JOHN, ACME)
    with pytest.raises(InvalidRequest, match="one type"):
        rules.merge(registry, JOHN, ACME)
    assert rules.merge(registry, JOHN, ACME, forced=True)[0].after == Standing("John", "org:acme")


def test_nobody_is_merged_whom_nobody_spoke_of() -> None:
    with pytest.raises(NotFound):
        rules.merge(known(JOHN), JOHN, PAUL)
    with pytest.raises(NotFound):
        rules.split(known(JOHN), PAUL, ["Jonny"])


def test_an_alias_leads_to_whom_it_is_a_name_of() -> None:
    registry = known(JOHN)
    then = registry.stepped(rules.put(registry, JOHN, None, ["Jonny", "Johnny B."]))
    assert then.canonical("person:jonny") == then.canonical("person:johnny_b") == "person:john"
    assert rules.put(then, JOHN, None, ["jonny"]) == ()


def test_an_entity_can_be_named_before_it_is_spoken_of_and_its_other_names_name_it() -> None:
    registry = Registry(())
    then = registry.stepped(rules.put(registry, JOHN, "John Doe", ["Jonny"]))
    held = then.get("person:john")
    assert held is not None
    assert held.label == "John Doe"
    (step,) = rules.put(then, JONNY, "Johnny")
    assert step == Step("person:john", Standing("John Doe"), Standing("Johnny"))


def test_an_alias_that_leads_to_another_entity_is_refused() -> None:
    with pytest.raises(Conflict, match="merge"):
        rules.put(known(JOHN, JONNY), JOHN, None, ["Jonny"])


@pytest.mark.parametrize("aliases", ["Jonny", [""], [7], ["a" * 101], ["x"] * 51, {"a": 1}])
def test_aliases_are_a_list_of_names(aliases: object) -> None:
    with pytest.raises(InvalidValue):
        rules.put(known(JOHN), JOHN, None, aliases)


def test_an_alias_without_letters_is_no_name() -> None:
    with pytest.raises(InvalidRequest):
        rules.put(known(JOHN), JOHN, None, ["?!"])


def test_names_that_are_split_off_are_one_entity_of_their_own() -> None:
    registry = known(JOHN)
    registry = registry.stepped(rules.put(registry, JOHN, None, ["Jonny", "Johnny", "Jack"]))
    then = registry.stepped(rules.split(registry, JOHN, ["Jonny", "person:johnny"]))
    assert [each.ref for each in then.group("person:jonny")] == ["person:jonny", "person:johnny"]
    assert [each.ref for each in then.group("person:john")] == ["person:john", "person:jack"]


def test_what_was_merged_into_a_name_that_is_split_off_goes_with_it() -> None:
    registry = known(JOHN, JONNY, PAUL)
    registry = registry.stepped(rules.merge(registry, PAUL, JONNY))
    registry = registry.stepped(rules.merge(registry, JONNY, JOHN))
    then = registry.stepped(rules.split(registry, JOHN, ["Jonny"]))
    assert then.canonical("person:paul") == "person:jonny"


@pytest.mark.parametrize("aliases", [[], None, ["Paul"], ["John"]])
def test_only_other_names_can_be_split_off(aliases: object) -> None:
    registry = known(JOHN, PAUL)
    registry = registry.stepped(rules.put(registry, JOHN, None, ["Jonny"]))
    with pytest.raises(InvalidInput):
        rules.split(registry, JOHN, aliases)


def test_a_merge_that_is_taken_back_leaves_all_as_it_was() -> None:
    registry = known(JOHN, JONNY)
    made = change(rules.merge(registry, JONNY, JOHN))
    then = registry.stepped(made.steps)
    assert standings(then.stepped(rules.undo(then, made))) == standings(registry)


def test_what_is_said_after_a_change_still_counts_when_that_is_taken_back() -> None:
    registry = known(JOHN)
    made = change(rules.put(registry, JOHN, None, ["Jonny"]))
    then = registry.stepped(made.steps)
    alias = then.get("person:jonny")
    assert alias is not None
    spoken_of = Registry([entity("person:john"), alias.mentioned(Instant(5))])
    (step,) = rules.undo(spoken_of, made)
    assert step.after == Standing("Jonny")
    assert spoken_of.stepped([step]).canonical("person:jonny") == "person:jonny"


def test_a_change_is_taken_back_once_and_the_later_one_first() -> None:
    registry = known(JOHN, JONNY, PAUL)
    first = change(rules.merge(registry, JONNY, JOHN))
    then = registry.stepped(first.steps)
    second = change(rules.split(then, JOHN, ["Jonny"]))
    later = then.stepped(second.steps)
    with pytest.raises(Conflict, match="later change"):
        rules.undo(later, first)
    with pytest.raises(Conflict, match="already"):
        rules.undo(then, Change(id="x", kind=ChangeKind.MERGE, steps=first.steps, at=NOW, by="a", undone_by="y"))


def test_taking_back_a_split_never_makes_a_circle() -> None:
    registry = known(JOHN, JONNY)
    registry = registry.stepped(rules.merge(registry, JONNY, JOHN))
    split = change(rules.split(registry, JOHN, ["Jonny"]))
    registry = registry.stepped(split.steps)
    registry = registry.stepped(rules.merge(registry, JOHN, JONNY))
    with pytest.raises(Conflict, match="later change"):
        rules.undo(registry, split)


def test_one_that_others_lean_on_is_not_unmade() -> None:
    empty = Registry(())
    named = change(rules.put(empty, JOHN, "John"))
    registry = Registry([*(empty.stepped(named.steps).group("person:john")), entity("person:paul")])
    registry = registry.stepped(rules.merge(registry, PAUL, JOHN))
    with pytest.raises(Conflict, match="merged into this one"):
        rules.undo(registry, named)


def test_mentions_are_counted_from_the_first_to_the_last_however_they_come() -> None:
    told = entity("person:john", mentions=0)
    for at in (5, 3, 9, 4):
        told = told.mentioned(Instant(at))
    assert (told.mention_count, told.first_mention, told.last_mention) == (4, Instant(3), Instant(9))


# -- whatever happens, in whichever order

NAMES = [f"person:{name}" for name in ("ann", "bob", "cid", "dan", "eve")]


def standings(registry: Registry) -> dict[str, Standing]:
    return {ref: each.standing for ref in NAMES if (each := registry.get(ref)) is not None}


class Wrong(AssertionError):
    """A rule of the registry does not hold."""


def check(registry: Registry) -> None:
    """Every name leads to one that stays and is nobody's other name."""
    for ref in standings(registry):
        held = registry.get(registry.canonical(ref))
        if held is None or held.merged_into is not None or registry.is_in_circle(ref):
            raise Wrong(ref)


def decided(chance: Random, registry: Registry) -> tuple[Step, ...]:
    one, other = parsed(chance.choice(NAMES)), parsed(chance.choice(NAMES))
    match chance.randrange(4):
        case 0:
            return rules.put(registry, one, chance.choice([None, "Called", "So"]), [other.slug])
        case 1 | 2:
            return rules.merge(registry, one, other)
        case _:
            return rules.split(registry, one, [other.slug])


def run(seed: int, undo: Callable[[Registry, Change], tuple[Step, ...]]) -> int:
    """A course of random changes, some of them taken back; says how many were."""
    chance, registry, done, undone = Random(seed), Registry(()), list[Change](), 0
    for _ in range(25):
        try:
            if done and chance.random() < 0.3:
                taken = chance.choice(done)
                registry = registry.stepped(undo(registry, taken))
                done.remove(taken)
                undone += 1
                check_undone(registry, taken)
            else:
                steps = decided(chance, registry)
                registry = registry.stepped(steps)
                done += [change(steps)] if steps else []
        except RecollectError:
            continue
        check(registry)
    return undone


def check_undone(registry: Registry, taken: Change) -> None:
    """Everything that a change changed is as it was before."""
    left = standings(registry)
    for step in taken.steps:
        if left.get(step.ref) != step.before:
            raise Wrong(step.ref)


@sized(300, 20_000)
def test_whatever_is_changed_and_taken_back_every_name_leads_to_one(count: int) -> None:
    assert sum(run(seed, rules.undo) for seed in range(count)) > count


@sized(300, 2_000)
def test_a_taking_back_that_looks_at_nothing_is_caught(count: int) -> None:
    def careless(_: Registry, made: Change) -> tuple[Step, ...]:
        return tuple(step.back() for step in made.steps)

    with pytest.raises(Wrong):
        assert sum(run(seed, careless) for seed in range(count))
