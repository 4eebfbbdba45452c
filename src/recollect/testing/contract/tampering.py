"""Proofs of S29: every alteration of what is stored is found."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import itertools

from recollect.domain.address import namespace
from recollect.domain.events import Event
from recollect.domain.planning import Erasure
from recollect.domain.reasons import EventKind, Finding, Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.rows import Row
from recollect.testing.contract.scenes import TENANT, at, delete, later, log_of, put, relabel, write
from recollect.testing.contract.trial import Stored, Trial, clause


async def _story(trial: Trial, tenant: str = TENANT) -> list[Event]:
    """A log with every kind of event, and versions in every state: live, ended, emptied, erased; relabelled or not."""
    store = trial.store
    await write(store, put(at("s", key="evicted"), b"1", policy='{"p":1}', archived=True), tenant=tenant)
    await relabel(store, at("s", key="evicted"), 1, '{"p":4}', tenant)
    await write(store, put(at("s", key="evicted"), b"2"), tenant=tenant)
    trial.clock.advance(10)
    await store.sweep(tenant, Pass.EVICT, Retention(superseded=0))
    await write(store, put(at("s", key="updated"), b"1", policy='{"p":1}'), tenant=tenant, actor="ann")
    await relabel(store, at("s", key="updated"), 1, '{"p":4}', tenant)
    await write(store, put(at("s", key="updated"), b"2", policy='{"p":2}', ttl=1_000), tenant=tenant)
    await relabel(store, at("s", key="updated"), 2, '{"p":4}', tenant)
    await relabel(store, at("s", key="updated"), 2, '{"p":5}', tenant)
    await write(store, put(at("s", key="deleted"), b"1"), tenant=tenant)
    await delete(store, at("s", key="deleted"), tenant)
    await write(store, put(at("s", key="expired"), b"1", ttl=1), tenant=tenant)
    trial.clock.advance(5)
    await store.sweep(tenant, Pass.EXPIRE, Retention())
    await write(store, put(at("user", "ann"), b"1"), tenant=tenant)
    await relabel(store, at("user", "ann"), 1, '{"p":4}', tenant)
    erasure = Erasure(tenant.encode().rjust(16, b"e")[:16], tenant, "user:ann", namespace(("user", "ann")))
    await store.erase(erasure)
    await write(store, put(at("s", key="put away"), b"1", archived=True, when=later(trial.clock(), -9)), tenant=tenant)
    await write(store, put(at("s", key="last"), b"1"), tenant=tenant)
    report = await store.verify(tenant)
    assert report.sound, report.problems
    log = await log_of(store, tenant)
    assert report.events == len(log)
    assert {event.kind for event in log} == set(EventKind)
    return log


def _event_edits(event: Event) -> dict[str, tuple[Stored, Stored]]:
    """For every field of an event: what it is as stored, and something else that it could be."""
    address = event.address
    other_kind = EventKind.ADD if event.kind is not EventKind.ADD else EventKind.UPDATE
    other_plane = Plane.TODO if address.plane is not Plane.TODO else Plane.ITEM
    return {
        "kind": (event.kind.value, other_kind.value),
        "plane": (address.plane.value, other_plane.value),
        "namespace": (address.namespace.encoded, namespace(("elsewhere",)).encoded),
        "key": (address.key, address.key + "x"),
        "row_id": (event.row_id, bytes(16)),
        "revision": (event.revision, event.revision + 1),
        "at": (event.at, event.at + 1),
        "expires_at": (event.expires_at, 5),
        "actor": (event.actor, event.actor + "x"),
        "detail": (event.detail, event.detail + " "),
        "digest": (event.digest, bytes(31) + b"x"),
        "previous": (event.previous, bytes(31) + b"x"),
        "hash": (event.hash, bytes(31) + b"x"),
    }


@clause("S29")
async def every_edit_of_an_event_is_found(trial: Trial) -> None:
    store = trial.store
    for event in await _story(trial):
        for field, (stored, edited) in _event_edits(event).items():
            await trial.tamper.edit_event(TENANT, event.sequence, field, edited)
            problems = (await store.verify(TENANT)).problems
            assert problems, f"nobody noticed the edited {field} of the {event.kind} event {event.sequence}"
            await trial.tamper.edit_event(TENANT, event.sequence, field, stored)
    assert (await store.verify(TENANT)).sound


@clause("S29")
async def an_edited_event_is_named_as_altered(trial: Trial) -> None:
    log = await _story(trial)
    await trial.tamper.edit_event(TENANT, log[2].sequence, "actor", "mallory")
    problems = (await trial.store.verify(TENANT)).problems
    assert [(problem.finding, problem.sequence) for problem in problems] == [(Finding.EVENT_ALTERED, log[2].sequence)]


@clause("S29")
async def every_deleted_event_is_found(trial: Trial) -> None:
    for place in range(len(await _story(trial))):
        tenant = f"deleted-{place}"
        log = await _story(trial, tenant)
        await trial.tamper.delete_event(tenant, log[place].sequence)
        assert (await trial.store.verify(tenant)).problems, f"nobody noticed that event {place + 1} is gone"


@clause("S29")
async def every_swap_of_neighbouring_events_is_found(trial: Trial) -> None:
    store, log = trial.store, await _story(trial)
    for one, other in itertools.pairwise(log):
        await trial.tamper.swap_events(TENANT, one.sequence, other.sequence)
        assert (await store.verify(TENANT)).problems, f"nobody noticed the swap of {one.sequence}"
        await trial.tamper.swap_events(TENANT, one.sequence, other.sequence)
    assert (await store.verify(TENANT)).sound


@clause("S29")
async def a_log_that_was_cut_off_is_found(trial: Trial) -> None:
    log = await _story(trial)
    await trial.tamper.truncate(TENANT, len(log) - 1, move_head=False)
    problems = (await trial.store.verify(TENANT)).problems
    assert Finding.HEAD_MISMATCH in {problem.finding for problem in problems}


@clause("S29")
async def a_log_cut_off_together_with_its_head_is_found_by_a_head_kept_elsewhere(trial: Trial) -> None:
    store, log = trial.store, await _story(trial)
    head = await store.head(TENANT)
    kept = (head.sequence, head.hash)
    assert (await store.verify(TENANT, expected=kept)).sound
    assert (await store.verify(TENANT, expected=(log[3].sequence, log[3].hash))).sound
    assert not (await store.verify(TENANT, expected=(log[3].sequence, log[4].hash))).sound
    await trial.tamper.truncate(TENANT, len(log) - 1, move_head=True)
    problems = (await store.verify(TENANT, expected=kept)).problems
    assert {problem.finding for problem in problems} == {Finding.HEAD_MISMATCH}
    await write(store, put(at("s", key="forged")))
    problems = (await store.verify(TENANT, expected=kept)).problems
    assert {problem.finding for problem in problems} == {Finding.HEAD_MISMATCH}


@clause("S29")
async def every_edit_of_a_version_is_found(trial: Trial) -> None:
    store = trial.store
    log = await _story(trial)
    for event in log:
        if event.kind not in (EventKind.ADD, EventKind.UPDATE):
            continue
        row = await store.get_by_id(TENANT, event.row_id)
        assert row is not None
        ended_sequence = next((other.sequence for other in log if _ends(other, event)), None)
        address = row.address
        edits: dict[str, tuple[Stored, Stored]] = {
            "plane": (address.plane.value, Plane.BUDGET.value),
            "namespace": (address.namespace.encoded, namespace(("elsewhere",)).encoded),
            "key": (address.key, address.key + "x"),
            "revision": (row.revision, row.revision + 7),
            "sequence": (row.sequence, row.sequence + 1),
            "written_at": (row.written_at, row.written_at - 1),
            "expires_at": (row.expires_at, 5),
            "ended_at": (row.ended_at, (row.ended_at or 0) + 1),
            "end_reason": (row.end_reason, "erased" if row.end_reason != "erased" else "deleted"),
            "ended_sequence": (ended_sequence, len(log)),
            "archived": (int(row.archived), int(not row.archived)),
            "index_fields": (row.index_fields, '["other"]'),
            "pinned_sequence": (_pin(log, row), len(log) if row.value is None else event.sequence),
        }
        if row.value is not None:
            edits["created_at"] = (row.created_at, row.created_at - 1)
            edits["policy_attributes"] = (row.policy_attributes, '{"p":3}')
        for field, (stored, edited) in edits.items():
            await trial.tamper.edit_version(TENANT, row.id, field, edited)
            problems = (await store.verify(TENANT)).problems
            assert problems, f"nobody noticed the edited {field} of the version that event {event.sequence} opened"
            await trial.tamper.edit_version(TENANT, row.id, field, stored)
        assert (await store.verify(TENANT)).sound


def _pin(log: list[Event], row: Row) -> int | None:
    """Where a version claims that its attributes were recorded: its last relabelling, while it has contents."""
    relabelled = [each.sequence for each in log if (each.kind, each.row_id) == (EventKind.RELABELLED, row.id)]
    return relabelled[-1] if relabelled and row.value is not None else None


def _ends(event: Event, opened: Event) -> bool:
    """True when the event ended the version that the other event opened."""
    if event.sequence <= opened.sequence or event.kind is EventKind.RELABELLED:
        return False
    if event.kind is EventKind.ERASED:
        return event.address.namespace.contains(opened.address.namespace)
    return event.address == opened.address


@clause("S29", "S49")
async def every_forged_claim_to_a_relabelling_is_found(trial: Trial) -> None:
    store, log = trial.store, await _story(trial)
    opened = [event for event in log if event.kind in (EventKind.ADD, EventKind.UPDATE)]
    rows = [row for event in opened if (row := await store.get_by_id(TENANT, event.row_id))]
    assert len([row for row in rows if _pin(log, row)]) == 2
    for row in rows:
        for forged in {None, -1, 0, *range(1, len(log) + 2)} - {_pin(log, row)}:
            await trial.tamper.edit_version(TENANT, row.id, "pinned_sequence", forged)
            problems = (await store.verify(TENANT)).problems
            assert problems, f"nobody noticed that the version of event {row.sequence} claims event {forged}"
        await trial.tamper.edit_version(TENANT, row.id, "pinned_sequence", _pin(log, row))
    assert (await store.verify(TENANT)).sound


@clause("S29", "S49")
async def attributes_that_were_set_back_are_found_whatever_they_claim(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    had = {1: '{"p":1}', 2: '{"p":2}', 3: '{"p":3}'}
    await write(store, put(place, policy=had[1]), put(at("other"), policy=had[1]))
    for sequence in (2, 3):
        await relabel(store, place, 1, had[sequence])
    await relabel(store, at("other"), 1, had[2])
    log, row = await log_of(store), await store.get(TENANT, place)
    assert row is not None
    assert [event.sequence for event in log if event.row_id == row.id] == [1, 3, 4]
    for attributes in had.values():
        for claimed in (None, *range(len(log) + 2)):
            await trial.tamper.edit_version(TENANT, row.id, "policy_attributes", attributes)
            await trial.tamper.edit_version(TENANT, row.id, "pinned_sequence", claimed)
            report = await store.verify(TENANT)
            assert report.sound == ((attributes, claimed) == (had[3], 4)), (attributes, claimed)


@clause("S29", "S31", "S49")
async def attributes_that_were_set_back_are_found_in_a_trimmed_log(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    await write(store, put(place, policy='{"p":1}'))
    await relabel(store, place, 1, '{"p":2}')
    await write(store, put(at("other"), policy='{"p":1}'))
    await relabel(store, place, 1, '{"p":3}')
    log = await log_of(store)
    await store.sweep(TENANT, Pass.TRIM, Retention(events=0), limit=2)
    for event, pin in ((log[0], 4), (log[2], None)):
        row = await store.get_by_id(TENANT, event.row_id)
        assert row is not None
        for claimed in (None, *range(6)):
            await trial.tamper.edit_version(TENANT, row.id, "policy_attributes", '{"p":2}')
            await trial.tamper.edit_version(TENANT, row.id, "pinned_sequence", claimed)
            assert not (await store.verify(TENANT)).sound, f"nobody noticed the claim of {claimed}"
        await trial.tamper.edit_version(TENANT, row.id, "policy_attributes", row.policy_attributes)
        await trial.tamper.edit_version(TENANT, row.id, "pinned_sequence", pin)
        assert (await store.verify(TENANT)).sound


@clause("S29")
async def every_edited_or_forgotten_value_is_found(trial: Trial) -> None:
    for field in ("value", "attributes"):
        for edited in (b"forged", None):
            tenant = f"{field}-{edited is None}"
            log = await _story(trial, tenant)
            opened = [event for event in log if event.kind in (EventKind.ADD, EventKind.UPDATE)]
            kept = [row for event in opened if (row := await trial.store.get_by_id(tenant, event.row_id)) and row.value]
            for count, row in enumerate(kept, 1):
                if field == "attributes" and edited is None:
                    continue  # there were none: nothing is edited
                await trial.tamper.edit_version(tenant, row.id, field, edited)
                problems = (await trial.store.verify(tenant)).problems
                assert len(problems) >= count, f"nobody noticed the {field} of event {row.sequence}"


@clause("S29")
async def every_deleted_version_is_found(trial: Trial) -> None:
    log = await _story(trial)
    opened = [event for event in log if event.kind in (EventKind.ADD, EventKind.UPDATE)]
    for count, event in enumerate(opened, 1):
        await trial.tamper.delete_version(TENANT, event.row_id)
        problems = (await trial.store.verify(TENANT)).problems
        missing = [problem for problem in problems if problem.finding is Finding.VERSION_MISSING]
        assert len(missing) == count, f"nobody noticed that the version of event {event.sequence} is gone"


@clause("S29")
async def progress_is_told_and_ends_at_the_whole(trial: Trial) -> None:
    log = await _story(trial)
    told: list[tuple[int, int]] = []
    await trial.store.verify(TENANT, progress=lambda done, total: told.append((done, total)))
    assert told
    assert told[-1] == (len(log), len(log))
