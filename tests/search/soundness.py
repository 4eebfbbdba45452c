"""Whether an index is sound: an entry for everything live that is to be found, and for nothing else."""

from __future__ import annotations

from recollect.domain.address import ROOT
from recollect.domain.filters import EVERYTHING
from recollect.domain.indexable import wants_index
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.ports.store import Store
from recollect.service.series import Lines

TENANT = "default"


async def live_rows(store: Store, tenant: str = TENANT) -> dict[bytes, Row]:
    """Every live version."""
    found: dict[bytes, Row] = {}
    cursor: str | None = None
    while True:
        wish = Find(Plane.ITEM, ROOT, EVERYTHING, Order.KEY, 1_000, 0, cursor, None, Archived.INCLUDE)
        page = await store.find(tenant, wish)
        found.update((row.id, row) for row in page.rows)
        cursor = page.cursor
        if cursor is None:
            return found


async def entered(store: Store, series: int, tenant: str = TENANT) -> set[bytes]:
    """Every version that has an entry in a series."""
    found: set[bytes] = set()
    after = None
    while True:
        page = await store.entries(tenant, Plane.ITEM, ROOT, series, after=after)
        found.update(entry.id for entry in page.entries)
        after = page.after
        if after is None:
            return found


async def unsound(store: Store, lines: Lines | None, *, poisoned: int = 0) -> list[str]:
    """What is wrong with an index that has come to rest; so many texts cannot be indexed at all."""
    assert lines is not None
    serving = lines.serving.number
    live, entries = await live_rows(store), await entered(store, serving)
    wanted = {row_id for row_id, row in live.items() if wants_index(row.index_fields)}
    flaws = [f"an orphan: {row_id.hex()}" for row_id in entries - live.keys()]
    flaws += [f"unwanted: {live[row_id].address}" for row_id in (entries & live.keys()) - wanted]
    if len(missing := wanted - entries) != poisoned:
        flaws.append(
            f"{len(missing)} missing instead of {poisoned}: {[str(live[each].address) for each in missing][:3]}"
        )
    if (lacking := (await store.lacking(TENANT, serving))[0]) != []:
        flaws.append(f"{len(lacking)} are lacking")
    figures = await store.index_figures(TENANT, serving)
    if (figures.entries, figures.pending, figures.deferred) != (len(entries), poisoned, poisoned):
        flaws.append(f"the figures are {figures}")
    if lines.building is not None or lines.leftover:
        flaws.append(f"a change of models did not come to its end: {lines}")
    for other in range(1, lines.last + 1):
        if other != serving and await entered(store, other):
            flaws.append(f"entries of series {other} were left behind")
    return flaws
