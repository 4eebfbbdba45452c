"""Commands about the policy: show it, test, push, roll back, simulate, and begin one of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import shapes
from recollect.cli.bundles import modules_at, shipped_modules, write_modules
from recollect.cli.doors import Local, errors
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, place, when
from recollect.domain.bundles import Package
from recollect.domain.errors import NotFound

if TYPE_CHECKING:
    from recollect.cli.shapes import AnyPolicy, AnyReport

UNSOUND = 1
"""The exit status when a policy may not be put in force."""
FOLDER = Path("policies")
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of modules, or a single one.")]
OptionalFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The directory; policies without it.")]
OfService = Annotated[bool, typer.Option("--service", help="The policy of the service, not the tenant's own.")]


def show(
    here: Here,
    service: OfService = False,
    version: Annotated[int | None, typer.Option(metavar="N", help="Only this one of the versions kept.")] = None,
    output: Annotated[Path | None, typer.Option(metavar="DIR", help="Write its modules there, as files.")] = None,
) -> None:
    """Show which policy is in force, and the versions that can be gone back to.

    Example: recollect policy show --output policies
    """
    found = here.door().show_policy(service=service)
    if version is not None and version != found.version.number:
        if output is not None:
            raise NotFound(f"version {version} is not in force, and only the texts of the one in force are told")
        _show_version(here, found, version)
        return
    written = [] if output is None else write_modules(output, found.modules)
    if here.is_json:
        here.screen.document(shapes.policy(found))
        return
    _show_policy(here, found)
    for path in written:
        here.screen.note(f"wrote {path}")


def _show_version(here: Here, found: AnyPolicy, number: int) -> None:
    wanted = next((each for each in found.versions if each.number == number), None)
    if wanted is None:
        raise NotFound(f"version {number} is not kept; `recollect policy show` lists those that are")
    told = shapes.policy_version(wanted)
    if here.is_json:
        here.screen.document(told)
    else:
        rows = [("version", str(number)), ("digest", wanted.digest), ("source", wanted.source), ("by", wanted.by)]
        rows += [("at", when(wanted.at)), ("note", wanted.note)]
        here.screen.table(("", ""), [row for row in rows if row[1]], header=False)


def _show_policy(here: Here, found: AnyPolicy) -> None:
    present = found.version
    lent = [name for name in Package if name not in found.packages]
    rows = [
        ("version", str(present.number) if present.number else f"0, {_source(present.source)}"),
        ("source", present.source),
        ("by", f"{present.by}, {when(present.at)}" if present.at else ""),
        ("note", present.note),
        ("packages", ", ".join(found.packages)),
        ("built in", ", ".join(lent)),
        ("modules", ", ".join(found.modules)),
    ]
    here.screen.table(("", ""), [row for row in rows if row[1]], header=False)
    if found.versions:
        here.screen.say()
        kept = [
            (
                f"{each.number}{' *' if each.number == present.number else ''}",
                when(each.at),
                each.by,
                each.source,
                each.digest[:12],
                each.note,
            )
            for each in found.versions
        ]
        here.screen.table(("version", "since", "by", "source", "digest", "note"), kept)


def _source(source: str) -> str:
    return "the built-in one" if source == "built-in" else "that of the service"


def try_out(here: Here, folder: OptionalFolder = FOLDER) -> int:
    """Check a policy without putting it in force: its modules, its tests, and what every policy must deny.

    It needs no server and no data. The exit status is 1 if the policy would be refused.

    Example: recollect policy test policies
    """
    modules = modules_at(folder)
    found = here.judge().check_policy(modules)
    if here.is_json:
        here.screen.document(shapes.report(found))
        return 0 if found.sound else UNSOUND
    base = folder if folder.is_dir() else folder.parent
    _show_report(here, found, {name: str(base / name) for name in modules})
    if not found.problems and not any(_is_test(each.name) for each in found.checks):
        here.screen.note("it has no tests of its own: they are rules test_… in files named …_test.rego")
    return 0 if found.sound else UNSOUND


def _show_report(here: Here, found: AnyReport, paths: dict[str, str]) -> None:
    say, styled = here.screen.say, here.screen.styled
    for problem in sorted(shapes.report(found)["problems"], key=lambda each: (each["module"], each["line"])):
        where = paths.get(problem["module"], problem["module"])
        place = f"{where}:{problem['line']}: " if problem["line"] else f"{where}: " if where else ""
        say(f"{styled('refused', 'red')}  {calm(place + problem['message'])}")
    for check in found.checks:
        mark = styled("passed ", "green") if check.passed else styled("failed ", "red")
        say(f"{mark}  {calm(check.name)}{f': {calm(check.note)}' if check.note else ''}")
    tests = sum(_is_test(check.name) for check in found.checks)
    failed = sum(not check.passed for check in found.checks)
    if not found.sound:
        say(f"{styled('not sound', 'red')}: {counted(len(found.problems), 'problem')}, {failed:,} failed")
    else:
        canaries = len(found.checks) - tests
        say(f"sound: {', '.join(found.packages)}; {counted(tests, 'test')} passed, {canaries} canaries denied")


def _is_test(name: str) -> bool:
    """Tests have the names of rules; what every policy must deny is told in words."""
    return " " not in name


def push(
    here: Here,
    folder: Folder,
    note: Annotated[str, typer.Option(metavar="TEXT", help="What changed, for those who look later.")] = "",
    service: OfService = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it there, and change nothing.")] = False,
) -> int:
    """Put a policy in force, if it is sound; the one before stays if not.

    Example: recollect policy push policies --note "agents may read shared"
    """
    modules = modules_at(folder)
    door = here.door(create=not dry_run)
    if dry_run:
        report = door.check_policy(modules)
        if here.is_json:
            here.screen.document(shapes.report(report))
        else:
            _show_report(here, report, {})
            here.screen.note("nothing was changed")
        return 0 if report.sound else UNSOUND
    found = door.push_policy(modules, note=note, service=service)
    if here.is_json:
        here.screen.document(shapes.policy(found))
    else:
        _say_in_force(here, found, service=service)
    return 0


def rollback(
    here: Here,
    number: Annotated[int | None, typer.Argument(metavar="N", help="The version; the one before without it.")] = None,
    service: OfService = False,
) -> None:
    """Put an earlier version of the policy in force again; 0 is the one that ships, or that of the service.

    Example: recollect policy rollback 3
    """
    found = here.door().rollback_policy(number, service=service)
    if here.is_json:
        here.screen.document(shapes.policy(found))
    else:
        _say_in_force(here, found, service=service)


def _say_in_force(here: Here, found: AnyPolicy, *, service: bool) -> None:
    number, whose = found.version.number, " of the service" if service else ""
    name = f"version {number}{whose}" if number else _source(found.version.source)
    here.screen.say(f"{name} is in force: {', '.join(found.packages)}")
    try:
        running = not service and here.door().index_status().extraction.running
    except errors():
        return  # it is in force all the same
    if running:
        verb = "trigger" if isinstance(here.way(), Local) else "status --watch"
        here.screen.note(f"what is stored has still to be brought up to date with it: `recollect index {verb}`")


def simulate(here: Here, folder: Folder) -> int:
    """Show which decisions of the last days a policy would change, before it is put in force.

    Example: recollect policy simulate policies
    """
    modules = modules_at(folder)
    found = here.door().simulate_policy(modules)
    if here.is_json:
        here.screen.document(shapes.simulation(found))
        return 0 if found.report.sound else UNSOUND
    if not found.report.sound:
        _show_report(here, found.report, {})
        return UNSOUND
    rows = []
    for each in map(shapes.change, found.changes):
        who = f"{each['user_id']} via {each['client_id']}" if each["client_id"] else each["user_id"]
        turn = "is denied" if each["before"]["allow"] else "is allowed"
        why = each["after"]["reason"] if each["before"]["allow"] else each["before"]["reason"]
        where = place(each["namespace"], each["key"])
        rows.append((who, ",".join(each["roles"]), each["action"], where, turn, why))
    if rows:
        here.screen.table(("who", "roles", "action", "memory", "would", "reason"), rows)
    recorded = "" if found.tried else "; a server records them while it runs"
    here.screen.note(f"{counted(len(rows), 'change')} in {counted(found.tried, 'recorded decision')}{recorded}")
    return 0


def init(here: Here, folder: OptionalFolder = FOLDER) -> None:
    """Write a copy of the policies that ship with Recollect, to start from; nothing is overwritten.

    Example: recollect policy init policies
    """
    written = write_modules(folder, shipped_modules())
    if here.is_json:
        here.screen.document({"files": [str(path) for path in written]})
        return
    for path in written:
        here.screen.say(str(path))
    here.screen.note(f"change them, then `recollect policy test {folder}` and `recollect policy push {folder}`")
