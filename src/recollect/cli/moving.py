"""Commands for those who look after engines: copy everything to another one, and upgrade a schema."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.here import Here
from recollect.cli.screen import calm, counted
from recollect.config.sources import load

PENDING = 4
"""The exit status when a schema is not what this program needs."""


def copy(
    here: Here,
    source: Annotated[str, typer.Argument(metavar="FROM", help="A data directory, or the URL of a server or file.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another one: new, empty, or a copy begun before.")],
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The data directory with the master key; else FROM, TO, or --home."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compare both sides, but do not verify the copied logs as well.")
    ] = False,
) -> None:
    """Copy a whole deployment to another engine, exactly as it is; stop its services first.

    Example: recollect copy ~/.recollect postgresql://recollect@db.example.com/recollect
    """
    from recollect import deployments  # here, because store and encryption are slow to load

    settings = load(here.home, environment=os.environ, flags={}).settings
    left = deployments.place_of(source, home=here.home, keys=keys)
    right = deployments.place_of(target, home=left.home if left.url is None and keys is None else here.home, keys=keys)
    if left.url is not None and right.url is None and keys is None and not left.master.is_file():
        left = deployments.place_of(source, home=right.home)
    began = time.monotonic()
    with here.screen.bars() as update:
        copied = asyncio.run(deployments.copy(left, right, settings, update, verify=not quick))
    took = time.monotonic() - began
    versions, events = (sum(getattr(each, name) for each in copied.tenants) for name in ("versions", "events"))
    if here.is_json:
        listed = [
            {"tenant": each.tenant, "versions": each.versions, "events": each.events, "head": each.head}
            for each in copied.tenants
        ]
        totals = {"versions": versions, "events": events, "keys": copied.keys, "written": copied.written}
        here.screen.document({"tenants": listed, **totals, "seconds": round(took, 3)})
        return
    rows = [
        (calm(each.tenant), f"{each.versions:,}", f"{each.events:,}", each.head[: each.head.index(":") + 17] + "…")
        for each in copied.tenants
    ]
    here.screen.table(("tenant", "versions", "events", "head"), rows)
    here.screen.say(
        f"{counted(len(copied.tenants), 'tenant')}, {counted(versions, 'version')}, {counted(events, 'event')} and "
        f"{counted(copied.keys, 'key')}: the same on both sides{'' if quick else ', and verified'}"
    )
    here.screen.note(f"{counted(copied.written, 'record')} written in {took:.1f} s")
    if deployments.lacks_master(right, settings):
        here.screen.warn(f"the master key is in {left.master}: give it to every service of {right.name}")


def migrate(
    here: Here,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 4 if something is to be done.")
    ] = False,
    finish: Annotated[bool, typer.Option("--finish", help="Remove what only older programs needed, too.")] = False,
) -> int:
    """Make the schema of the engine, or bring it to what this version needs.

    Example: recollect migrate --check
    """
    from recollect import upgrades  # here, because store and encryption are slow to load

    settings = load(here.home, environment=os.environ, flags={}).settings
    found = upgrades.migration(here.home, settings)
    if not check and (found.first or (finish and found.later)):
        upgrades.migrate(here.home, settings, finish=finish)
    left = found.first if check else ()
    waiting = found.later if check or not finish else ()
    if here.is_json:
        here.screen.document(
            {
                "pending": list(left),
                "done": [] if check else [*found.first, *(found.later if finish else ())],
                "to_finish": list(waiting),
            }
        )
        return PENDING if check and found.needed else 0
    word = "to do" if check else "done"
    for each in found.first:
        here.screen.say(f"{word}: {each}")
    for each in found.later:
        here.screen.say(f"{'done' if finish and not check else 'to finish'}: {each}")
    if not found.needed:
        here.screen.say("nothing is to be done")
    elif waiting and not check:
        here.screen.note("once no older program runs any more, run `recollect migrate --finish`")
    return PENDING if check and found.needed else 0
