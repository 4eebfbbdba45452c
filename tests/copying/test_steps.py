"""Copying, step by step: broken off anywhere it goes on, and what does not belong together is refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from recollect.backends.keyring import Envelope, Plain
from recollect.backends.memory import MemoryKeyStore, MemoryStore
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.domain.errors import NotAStore, StoreBusy, StoreCorrupt, StoreIncomplete
from recollect.domain.planning import Erasure
from recollect.domain.retention import Pass, Retention
from recollect.domain.stored import Name, Shelf, Stored
from recollect.ports.keys import WrappedKey
from recollect.ports.store import Store
from recollect.service import copying
from recollect.service.copying import Copied, Side
from recollect.testing.contract.copying import _lived
from recollect.testing.contract.scenes import TENANT, at, delete, put, write
from recollect.testing.contract.trial import Trial
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.drivers import OneMasterKey

FEW = 3


class Source(MemoryStore):
    """A store that gives its records out a few at a time, and may be written to meanwhile."""

    meanwhile: Callable[[Shelf], Any] | None = None

    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        async with aclosing(super().stored(shelf, after)) as batches:
            async for batch in batches:
                for start in range(0, len(batch), FEW):
                    yield batch[start : start + FEW]
        if self.meanwhile is not None:
            await self.meanwhile(shelf)


class Killed(BaseException):
    """The process was killed."""


class Mortal(SqliteStore):
    """A store whose process is killed before or after the n-th write."""

    left = 1_000_000

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        self._before()
        await super().take_over(shelf, records, gone, mark=mark)
        self._before()

    async def set_mark(self, mark: bytes | None) -> None:
        self._before()
        await super().set_mark(mark)
        self._before()

    def _before(self) -> None:
        self.left -= 1
        if not self.left:
            raise Killed


class World:
    """A source with a past, and any number of targets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.keys = MemoryKeyStore()
        self.envelope = Envelope(self.keys, OneMasterKey(), self.clock)
        self.source = Source(clock=self.clock, ids=SerialIds(), sealer=self.envelope)
        self.target_keys = MemoryKeyStore()

    @asynccontextmanager
    async def target(self, name: str = "target", *, partial: bool = True) -> AsyncIterator[Mortal]:
        options = SqliteOptions(self.folder / f"{name}.db", partial=partial)
        store = Mortal(options, clock=self.clock, ids=SerialIds(), sealer=Plain())
        try:
            yield store
        finally:
            await store.close()

    async def copy(self, target: Store, **more: Any) -> Copied:
        self.clock.advance(60)  # whoever was killed has lost the lease
        sides = Side(self.source, self.keys), Side(target, self.target_keys)
        return await copying.copy(*sides, holder=more.pop("holder", "me"), tell=more.pop("tell", _unheard), **more)

    async def check_same(self, target: Store) -> None:
        assert await records(target) == await records(self.source)
        assert list(self.target_keys.kept()) == list(self.keys.kept())
        assert self.target_keys.destructions() == self.keys.destructions()
        assert await target.mark() is None


def _unheard(title: str, done: int, total: int) -> None:
    assert title
    assert 0 <= done <= total


async def records(store: Store) -> dict[Shelf, list[Stored]]:
    found: dict[Shelf, list[Stored]] = {}
    for shelf in Shelf:
        async with aclosing(store.stored(shelf)) as batches:
            found[shelf] = [each async for batch in batches for each in batch]
    return found


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    await _lived(_trial(made))
    return made


def _trial(world: World) -> Trial:
    async def same() -> Store:
        return world.source

    unused = cast("Any", None)
    return Trial(world.source, world.clock, same, same, unused, unused, None, world.folder)


async def test_everything_is_the_same_on_both_sides(world: World) -> None:
    async with world.target() as target:
        copied = await world.copy(target)
        await world.check_same(target)
        found = await records(world.source)
        assert copied.written == sum(len(each) for each in found.values())
        assert [each.tenant for each in copied.tenants] == ["acme", "umbrella"]
        assert sum(each.versions for each in copied.tenants) == len(found[Shelf.VERSIONS])
        assert copied.tenants[0].head == (await world.source.head(TENANT)).text()
        assert (await world.copy(target)).written == 0


async def test_a_copy_that_is_killed_at_any_step_goes_on_and_doubles_nothing(world: World) -> None:
    everything = sum(len(each) for each in (await records(world.source)).values())
    for step in range(1, 1_000):
        world.target_keys = MemoryKeyStore()
        async with world.target(f"t{step}") as target:
            target.left = step
            try:
                await world.copy(target)
                break
            except Killed:
                unfinished = await target.mark()
        if unfinished is not None:
            with pytest.raises(StoreIncomplete):
                async with world.target(f"t{step}", partial=False):
                    pass
        async with world.target(f"t{step}") as target:
            copied = await world.copy(target)
            await world.check_same(target)
            assert copied.written <= everything
    assert step > 20


async def test_what_is_written_meanwhile_comes_along(world: World) -> None:
    writes = iter(range(100))

    async def meanwhile(shelf: Shelf) -> None:
        if shelf is Shelf.EVENTS and (n := next(writes)) < 2:
            await write(world.source, put(at("shelf", key="k0"), b"later"), put(at("late", key=f"k{n}"), b"new"))
            await delete(world.source, at("old", key="c"))
            await world.source.sweep(TENANT, Pass.EVICT, Retention(superseded=0))
            erasure = Erasure(bytes([n]) * 16, TENANT, "user:bob", at("user", "bob").namespace, "officer")
            await write(world.source, put(at("user", "bob"), b"secret"))
            world.envelope.destroy(erasure)
            await world.source.erase(erasure)
            world.keys.settle(erasure.id)

    world.source.meanwhile = meanwhile
    async with world.target() as target:
        await world.copy(target)
        world.source.meanwhile = None
        await world.check_same(target)


async def test_a_later_copy_to_the_same_place_writes_only_what_changed(world: World) -> None:
    async with world.target() as target:
        await world.copy(target)
        await write(world.source, put(at("shelf", key="k0"), b"later"))
        copied = await world.copy(target)
        await world.check_same(target)
        assert copied.written == 4  # a version, the one it ended, an event, and the head


async def test_a_source_that_does_not_hold_still_is_said_to(world: World) -> None:
    async def meanwhile(shelf: Shelf) -> None:
        if shelf is Shelf.TENANTS:
            await write(world.source, put(at("busy"), b"again"))

    world.source.meanwhile = meanwhile
    async with world.target() as target:
        with pytest.raises(StoreBusy, match="stop its services"):
            await world.copy(target)
        assert await target.mark() is not None
        world.source.meanwhile = None
        await world.copy(target)
        await world.check_same(target)


async def test_a_target_with_memories_of_its_own_is_left_as_it_is(world: World) -> None:
    async with world.target() as target:
        await write(target, put(at("mine"), b"precious"), tenant="mine")
        before = await records(target)
        with pytest.raises(NotAStore, match="something else"):
            await world.copy(target)
        assert await records(target) == before
        assert await target.mark() is None


async def test_a_copy_that_was_written_to_is_left_as_it_is(world: World) -> None:
    async with world.target() as target:
        await world.copy(target)
        await write(target, put(at("mine"), b"precious"))
        await write(world.source, put(at("theirs"), b"other"), put(at("theirs", key="b"), b"other"))
        before = await records(target)
        with pytest.raises(NotAStore, match="tenant acme"):
            await world.copy(target)
        assert await records(target) == before


async def test_a_copy_that_was_begun_from_elsewhere_is_left_as_it_is(world: World, tmp_path: Path) -> None:
    async with world.target() as target:
        target.left = 12
        with pytest.raises(Killed):
            await world.copy(target)
        target.left = 1_000_000
        other = World(tmp_path)
        other.clock.advance(1_000)
        await write(other.source, put(at("other"), b"other"))
        with pytest.raises(NotAStore, match="another source"):
            await other.copy(target)
        await world.copy(target)
        await world.check_same(target)


async def test_keys_of_something_else_are_left_as_they_are(world: World) -> None:
    mine = WrappedKey(b"k" * 16, "mine", "user:me", 1, "m", b"wrapped", 1)
    world.target_keys.add(lambda: [mine])
    async with world.target() as target:
        with pytest.raises(NotAStore, match="keys of something else"):
            await world.copy(target)
    assert list(world.target_keys.kept()) == [mine]


async def test_two_do_not_copy_to_one_place_at_once(world: World) -> None:
    async with world.target() as target:
        assert await target.acquire(copying.LEASE, "another", 10_000)
        with pytest.raises(StoreBusy, match="under way"):
            await world.copy(target, lease_seconds=0.5)
        assert await target.mark() is None


async def test_keys_that_were_rewrapped_or_used_meanwhile_follow(world: World) -> None:
    async with world.target() as target:
        await world.copy(target)
        first = world.keys.kept()[0]
        world.keys.reserve([first.id], 7)
        world.keys.rewrap(lambda key: WrappedKey(**{**_fields(key), "master": "new", "wrapped": b"anew"}))
        await world.copy(target)
        await world.check_same(target)


def _fields(key: WrappedKey) -> dict[str, Any]:
    return {name: getattr(key, name) for name in WrappedKey.__slots__}


async def test_an_empty_deployment_can_be_copied(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.target() as target:
        assert await world.copy(target) == Copied((), 0, 0)
        assert await target.mark() is None


async def test_a_quick_copy_is_compared_all_the_same(world: World) -> None:
    async with world.target() as target:
        copied = await world.copy(target, verify=False)
        await world.check_same(target)
        assert copied.tenants == (await world.copy(target)).tenants


# -- the checks are checked


class Forgetful(Mortal):
    """Keeps all but the last record of every batch, and says nothing."""

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        await super().take_over(shelf, records[:-1] if shelf is Shelf.EVENTS else records, gone, mark=mark)


class Blind(Forgetful):
    """Gives back what it was given, whatever it kept."""

    source: Store

    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        found = self.source.stored(shelf, after) if self._given else super().stored(shelf, after)
        async with aclosing(found) as batches:
            async for batch in batches:
                yield batch

    _given = False

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        await super().take_over(shelf, records, gone, mark=mark)
        self._given = True


async def test_a_target_that_loses_records_never_counts_as_a_copy(world: World, tmp_path: Path) -> None:
    options = SqliteOptions(tmp_path / "forgetful.db", partial=True)
    forgetful = Forgetful(options, clock=world.clock, ids=SerialIds(), sealer=Plain())
    with pytest.raises(StoreBusy):
        await world.copy(forgetful)
    assert await forgetful.mark() is not None
    await forgetful.close()


async def test_a_target_that_hides_its_losses_is_found_out_by_its_log(world: World, tmp_path: Path) -> None:
    options = SqliteOptions(tmp_path / "blind.db", partial=True)
    blind = Blind(options, clock=world.clock, ids=SerialIds(), sealer=Plain())
    blind.source = world.source
    with pytest.raises(StoreCorrupt, match="does not verify"):
        await world.copy(blind)
    assert await blind.mark() is not None
    await blind.close()
