"""Erasing a subject within a transaction: everything of it is ended and emptied, once, and a receipt is left."""

from __future__ import annotations

from recollect.backends.postgres.commits import write_plan
from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound, within_sql
from recollect.backends.postgres.writer import Group
from recollect.domain.attributes import NONE
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Erasure, Plan, after, plan_erasure
from recollect.domain.reasons import Plane
from recollect.domain.verification import Kept

_ERASED = "SELECT id, tenant, subject, sequence, hash, at, versions, live FROM erasures WHERE tenant = $1 AND id = $2"
_KEEP_ERASED = (
    "INSERT INTO erasures (id, tenant, subject, sequence, hash, at, versions, live) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
)
_PAST, _LIVE = "ended_at IS NOT NULL", "ended_at IS NULL"
_COUNT = "SELECT count(*) FROM versions WHERE {mine} AND {state}"
_NOTE_EMPTIED = f"""
UPDATE events SET kept = {Kept.EMPTIED.value}
WHERE tenant = $1 AND sequence IN (SELECT sequence FROM versions WHERE {{mine}} AND {{state}})
"""
_NONE = NONE.replace("{", "{{").replace("}", "}}")  # what follows is filled in later
_EMPTIED = f"""
UPDATE versions SET
    value = NULL, attributes = NULL, policy_attributes = '{_NONE}', archived = 0, index_fields = NULL,
    pinned_sequence = NULL, index_attempts = 0, index_after = NULL,
    index_state = CASE WHEN index_state = 'unwanted' THEN 'unwanted' ELSE 'pending' END
"""
_EMPTY_PAST = f"{_EMPTIED} WHERE {{mine}} AND {_PAST}"
_EMPTY_LIVE = f"""
{_EMPTIED}, end_reason = 'erased', ended_sequence = {{sequence}}, ended_at = greatest({{at}}, written_at)
WHERE {{mine}} AND {_LIVE}
"""
_DROP_ENTRIES = """
UPDATE entries SET content = NULL, detail = NULL, change = {base} + numbered.place
FROM (
    SELECT id, series, row_number() OVER (ORDER BY change) AS place FROM entries
    WHERE {mine} AND content IS NOT NULL
) numbered
WHERE entries.id = numbered.id AND entries.series = numbered.series RETURNING 1
"""
_COUNT_ENTRIES = "SELECT count(*) FROM entries WHERE {mine} AND content IS NOT NULL"


def apply_erasure(group: Group, erasure: Erasure, *, now: Instant) -> Erased:
    """Empty every version of the subject in all planes, once, and leave the receipt."""
    link = group.link
    known = link.row(_ERASED, erasure.tenant, erasure.id)
    if known is not None:
        return Erased(*known)
    past, live = (_count(link, erasure, _COUNT, state) for state in (_PAST, _LIVE))
    event, erased = plan_erasure(erasure, head=group.head, versions=past + live, live=live, now=now)
    for state in (_PAST, _LIVE):
        bound, mine = _mine(erasure)
        link.send(_NOTE_EMPTIED.format(mine=mine, state=state), *bound.values)
    bound, mine = _mine(erasure)
    link.send(_EMPTY_PAST.format(mine=mine), *bound.values)
    bound, mine = _mine(erasure)
    sequence, at = bound.add(event.sequence), bound.add(event.at)
    link.send(_EMPTY_LIVE.format(mine=mine, sequence=sequence, at=at), *bound.values)
    _drop_entries(group, erasure)
    write_plan(group, Plan(after(group.head, event), events=[event]))
    link.send(
        _KEEP_ERASED,
        erased.id,
        erased.tenant,
        erased.subject,
        erased.sequence,
        erased.hash,
        erased.at,
        erased.versions,
        erased.live,
    )
    return erased


def _mine(erasure: Erasure) -> tuple[Bound, str]:
    bound = Bound(erasure.tenant, [plane.value for plane in Plane])
    return bound, f"tenant = $1 AND plane = ANY($2::text[]) AND {within_sql(erasure.namespace, bound)}"


def _count(link: Link, erasure: Erasure, sql: str, state: str = "") -> int:
    bound, mine = _mine(erasure)
    found = link.row(sql.format(mine=mine, state=state), *bound.values)
    return int(found[0]) if found else 0


def _drop_entries(group: Group, erasure: Erasure) -> None:
    count = _count(group.link, erasure, _COUNT_ENTRIES)
    if count:
        bound, mine = _mine(erasure)
        base = bound.add(group.changes(count))
        group.link.send(_DROP_ENTRIES.format(mine=mine, base=base), *bound.values)
