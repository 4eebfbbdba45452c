"""Registry: which refs mean the same entity, and how that changes and is changed back.

An alias is an entity that was merged into another, whether anybody ever spoke of it or not. So there is one rule by
which a ref leads to the entity that is meant, and every change of that is a list of steps that can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from recollect.domain.entities.refs import Ref, label_or_none, name_in, parsed, ref_of
from recollect.domain.errors import EntityRefused, InvalidRequest, InvalidValue, NotFound
from recollect.domain.instants import Instant

MAX_ALIASES = 50
"""So many names are given to an entity at once."""


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody or something that was spoken of under one name."""

    ref: str
    label: str
    merged_into: str | None = None
    """Whom it is another name of; None when it is nobody's."""
    created_at: Instant
    updated_at: Instant
    mention_count: int = 0
    """How often it was spoken of under this name."""
    first_mention: Instant | None = None
    last_mention: Instant | None = None

    @property
    def standing(self) -> Standing:
        """What of it is changed by saying so."""
        return Standing(self.label, self.merged_into)

    def mentioned(self, at: Instant) -> Entity:
        """The entity after it was spoken of once more."""
        first = at if self.first_mention is None else min(self.first_mention, at)
        last = at if self.last_mention is None else max(self.last_mention, at)
        count = self.mention_count + 1
        return msgspec.structs.replace(self, mention_count=count, first_mention=first, last_mention=last)


class Standing(msgspec.Struct, frozen=True):
    """What an entity is called, and whom it is another name of."""

    label: str
    merged_into: str | None = None


class Step(msgspec.Struct, frozen=True):
    """What becomes of one entity; None where there is none."""

    ref: str
    before: Standing | None
    after: Standing | None

    def back(self) -> Step:
        """The step that takes this one back."""
        return Step(self.ref, self.after, self.before)


class ChangeKind(StrEnum):
    """What somebody did with entities."""

    PUT = "put"
    """Named one, or gave it more names."""
    MERGE = "merge"
    """Said that two are the same."""
    SPLIT = "split"
    """Said that some names are somebody else's."""
    UNDO = "undo"
    """Took a change back."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What was changed, by whom, so that it can be taken back exactly."""

    id: str
    kind: ChangeKind
    steps: tuple[Step, ...]
    at: Instant
    by: str
    undoes: str | None = None
    """The change that it took back."""
    undone_by: str | None = None
    """The change by which it was taken back."""
    suggestion: str | None = None
    """The suggestion that it followed."""

    @property
    def refs(self) -> tuple[str, ...]:
        """The entities that it is about: those that were changed, and those that they were or are another name of."""
        standings = [each for step in self.steps for each in (step.before, step.after) if each is not None]
        names = [step.ref for step in self.steps] + [each.merged_into for each in standings if each.merged_into]
        return tuple(dict.fromkeys(names))


class Registry:
    """All the entities of a user, as they are at one moment."""

    def __init__(self, entities: Iterable[Entity]) -> None:
        self._entities = {each.ref: each for each in entities}
        self._links = {each.ref: each.merged_into for each in self._entities.values() if each.merged_into}

    def get(self, ref: str) -> Entity | None:
        """The entity of exactly this name."""
        return self._entities.get(ref)

    def canonical(self, ref: str) -> str:
        """The ref of whom a ref means in the end."""
        return canonical(ref, self._links)

    def held(self, ref: str) -> Entity:
        """Whom a ref means; refused when nobody was ever called so."""
        found = self._entities.get(self.canonical(ref))
        if found is None:
            raise NotFound("entity not found")
        return found

    def leads_to(self, ref: str) -> bool:
        """Whether something is directly another name of this one."""
        return ref in self._links.values()

    def is_in_circle(self, ref: str) -> bool:
        """Whether merges lead from a ref back to itself, which they never should."""
        onward, steps = self._links.get(ref), 0
        while onward is not None and onward != ref and steps <= len(self._links):
            onward, steps = self._links.get(onward), steps + 1
        return onward is not None

    def stepped(self, steps: Iterable[Step]) -> Registry:
        """The registry after these steps."""
        then = dict(self._entities)
        for step in steps:
            left = after(step, then.pop(step.ref, None), Instant(0))
            if left is not None:
                then[step.ref] = left
        return Registry(then.values())

    def group(self, ref: str) -> tuple[Entity, ...]:
        """Whom a ref means, and all that are other names of it, the first known first."""
        root = self.canonical(ref)
        others = [each for each in self._entities.values() if each.ref != root and self.canonical(each.ref) == root]
        own = [self._entities[root]] if root in self._entities else []
        return (*own, *sorted(others, key=lambda each: (each.created_at, each.ref)))


def canonical(ref: str, links: Mapping[str, str]) -> str:
    """Where merges lead from a ref; a chain that should ever bite its own tail ends at its least ref."""
    seen = {ref: None}
    while (onward := links.get(ref)) is not None:
        if onward in seen:
            ring = list(seen)[list(seen).index(onward) :]
            return min(ring)
        seen[onward] = None
        ref = onward
    return ref


# -- decisions


def put(registry: Registry, ref: Ref, label: object = None, aliases: object = None) -> tuple[Step, ...]:
    """Name an entity, or whom its ref means, and let these names lead to it, too."""
    root = parsed(registry.canonical(str(ref)))
    held = registry.get(str(root))
    called = None if label is None else _label(label, "label")
    before = None if held is None else held.standing
    after = Standing(called or (name_in(root) if before is None else before.label))
    steps = [] if before == after else [Step(str(root), before, after)]
    for alias in _labels(aliases):
        step = _led(registry, root, alias)
        if step is not None and step.ref not in {each.ref for each in steps}:
            steps.append(step)
    return tuple(steps)


def _led(registry: Registry, root: Ref, alias: str) -> Step | None:
    """The step after which a name leads to an entity; None when it does already."""
    named = ref_of(root.type, alias)
    if named is None:
        raise InvalidRequest("an alias has letters or digits", field="aliases")
    other, name = registry.get(str(named)), str(named)
    if registry.canonical(name) == str(root):
        return None
    if other is not None:
        raise EntityRefused("one of the aliases leads to another entity already; merge that one, or split it off first")
    return Step(name, None, Standing(alias, str(root)))


def merge(registry: Registry, ref: Ref, into: Ref, *, forced: bool = False) -> tuple[Step, ...]:
    """Say that two are the same: the first is another name of the second from now on, with all its other names."""
    gone, stays = registry.held(str(ref)), registry.held(str(into))
    if gone.ref == stays.ref:
        raise InvalidRequest("these are the same entity already", field="into")
    if parsed(gone.ref).type is not parsed(stays.ref).type and not forced:
        raise InvalidRequest("a merge is between entities of one type; force it if they are the same", field="into")
    return (Step(gone.ref, gone.standing, Standing(gone.label, stays.ref)),)


def split(registry: Registry, ref: Ref, aliases: object) -> tuple[Step, ...]:
    """Say that some names of an entity are somebody else's: the first of them, and the others are names of that one."""
    whole = registry.held(str(ref))
    named = [_member(registry, whole, alias) for alias in _labels(aliases)]
    off = list({each.ref: each for each in named}.values())
    if not off:
        raise InvalidRequest("say which names are somebody else's", field="aliases")
    first, *rest = off
    steps = [Step(first.ref, first.standing, Standing(first.label))]
    return (*steps, *(Step(each.ref, each.standing, Standing(each.label, first.ref)) for each in rest))


def _member(registry: Registry, whole: Entity, alias: str) -> Entity:
    """The other name of an entity that somebody means, by what it is called or by its ref."""
    named = ref_of(parsed(whole.ref).type, alias)
    others = registry.group(whole.ref)[1:]
    exactly = [each for each in others if each.ref in (alias, None if named is None else str(named))]
    called = [each for each in others if each.label.casefold() == alias.casefold()]
    found = exactly or called
    if not found:
        raise InvalidRequest("one of these is no other name of this entity", field="aliases")
    return found[0]


def undo(registry: Registry, change: Change) -> tuple[Step, ...]:
    """Take a change back: everything that it changed is as it was before; what was said meanwhile still counts."""
    if change.undone_by is not None:
        raise EntityRefused("this change was taken back already")
    steps = []
    for step in change.steps:
        held = registry.get(step.ref)
        if (None if held is None else held.standing) != step.after:
            raise EntityRefused("the entity was changed since; take the later change back first")
        back = step.back()
        if back.after is None and held is not None and held.mention_count:
            # It was spoken of meanwhile, so it is one of its own, as if nobody had named it.
            back = Step(step.ref, step.after, Standing(held.label))
        steps.append(back)
    found = tuple(each for each in steps if each.before != each.after)
    _check(registry.stepped(found), found)
    return found


def _check(then: Registry, steps: Sequence[Step]) -> None:
    """Refuse what would leave a name that leads nowhere, or in a circle."""
    for step in steps:
        if step.after is None and then.leads_to(step.ref):
            raise EntityRefused("another entity was merged into this one since; take that back first")
        onward = None if step.after is None else step.after.merged_into
        if onward is not None and (then.get(onward) is None or then.is_in_circle(step.ref)):
            raise EntityRefused(
                "the entity that it was another name of was changed since; take the later change back first"
            )


def after(step: Step, held: Entity | None, at: Instant) -> Entity | None:
    """The entity that a step leaves."""
    if step.after is None:
        return None
    label, merged_into = step.after.label, step.after.merged_into
    if held is None:
        return Entity(ref=step.ref, label=label, merged_into=merged_into, created_at=at, updated_at=at)
    return msgspec.structs.replace(held, label=label, merged_into=merged_into, updated_at=at)


def _label(given: object, field: str) -> str:
    found = label_or_none(given)
    if found is None:
        raise InvalidValue(f"{field} is a name of 1 to 100 characters", field=field)
    return found


def _labels(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes) or len(given) > MAX_ALIASES:
        raise InvalidValue(f"aliases are a list of at most {MAX_ALIASES} names", field="aliases")
    return tuple(dict.fromkeys(_label(each, "aliases") for each in given))
