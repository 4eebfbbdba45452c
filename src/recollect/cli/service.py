"""Commands about the service and this installation: serve, settings, doctor, version."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.here import Here
from recollect.cli.invocation import home_option, program
from recollect.cli.screen import counted
from recollect.config import Secret, Settings
from recollect.config.sources import load, template
from recollect.domain.errors import InvalidSetting

if TYPE_CHECKING:
    from recollect.server import Started

UNWELL = 4
"""The exit status when something is wrong with the installation."""
_COLORS = {"ok": "green", "warning": "yellow", "failure": "red"}


def serve(
    here: Here,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where to listen; 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(metavar="N", help="The port; 4747, or the next free one.")] = None,
    grpc_port: Annotated[
        int | None, typer.Option(metavar="N", help="The port of the gRPC door; without it there is none.")
    ] = None,
    allow_plain_http: Annotated[
        bool, typer.Option("--allow-plain-http", help="Listen beyond loopback without TLS.")
    ] = False,
    tls_certificate: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate chain (PEM).")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="The private key (PEM).")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="text|json", help="How the log is written.")] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
) -> None:
    """Serve the data directory until it is stopped; the first start makes it, with keys and an API key.

    Example: recollect serve --port 4747
    """
    for name in ("url", "token", "tenant"):
        if getattr(here.asked, name) is not None:
            raise InvalidSetting(f"--{name} says nothing to a server: it serves a data directory, named by --home")
    from recollect.server import serve as run  # here, because the server is slow to load

    flags = {
        "host": host,
        "port": port,
        "grpc_port": grpc_port,
        "allow_plain_http": allow_plain_http or None,
        "tls_certificate": tls_certificate,
        "tls_key": tls_key,
        "log_format": log_format,
        "log_level": log_level,
    }
    run(here.home, flags=flags, announce=lambda started: _announce(here, started))


def _announce(here: Here, started: Started) -> None:
    say = here.screen.say
    if here.is_json:
        told = {} if started.grpc is None else {"grpc": started.grpc}
        here.screen.line({"url": started.url, "home": str(started.home), "admin_key": started.admin_key} | told)
        return
    taken = (
        "" if started.port == started.wanted_port or not started.wanted_port else f" ({started.wanted_port} is taken)"
    )
    say(f"Recollect serves {started.home} at {started.url}{taken}")
    if started.grpc is not None:
        say(f"and gRPC at {started.grpc}")
    if started.admin_key is not None:
        typed = f"{program()}{home_option(started.home)}"
        say()
        say(f"  API key of the administrator: {here.screen.styled(started.admin_key, 'bold')}")
        say("  It is shown only now; commands on this machine find it in credentials.json.")
        say()
        say("Try, in another terminal:")
        say(f'  {typed} put user/admin/notes tea "Green, no sugar"')
        say(f"  {typed} search user/admin")
        say(f"  {typed} log --follow")
        say()
    here.screen.flush()


def settings(
    here: Here,
    show_template: Annotated[bool, typer.Option("--template", help="Print a commented recollect.toml.")] = False,
) -> None:
    """Show every setting, its value, and where that comes from.

    Example: recollect settings --template > ~/.recollect/recollect.toml
    """
    if show_template:
        text = template()
        if here.is_json:
            here.screen.document({"template": text})
        else:
            here.screen.say(text.rstrip("\n"))
        return
    loaded = load(here.home, environment=os.environ, flags={})
    listed = [
        {
            "name": each.name,
            "value": _plain(getattr(loaded.settings, each.name)),
            "from": loaded.origin[each.name],
            "live": each.metadata["live"],
            "meaning": each.metadata["meaning"],
        }
        for each in fields(Settings)
    ]
    if here.is_json:
        here.screen.document({"file": str(loaded.file), "settings": listed})
        return
    rows = [(str(each["name"]), _text(each["value"]), str(each["from"])) for each in listed]
    here.screen.table(("setting", "value", "from"), rows)
    here.screen.note(f"file: {loaded.file}{'' if loaded.file.exists() else ' (there is none)'}")


def _plain(value: Any) -> Any:
    return "(secret)" if isinstance(value, Secret) else value


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def doctor(
    here: Here,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the check of the whole log.")] = False,
) -> int:
    """Check this installation and its data; the exit status is 4 if something fails.

    Example: recollect doctor --quick
    """
    from recollect.cli.doctor import examine  # here, because only this command looks at so much

    findings = list(examine(here, quick=quick))
    failures = [each for each in findings if each.level == "failure"]
    if here.is_json:
        here.screen.document({"well": not failures, "findings": [asdict(each) for each in findings]})
        return UNWELL if failures else 0
    for each in findings:
        here.screen.say(f"{here.screen.styled(f'{each.level:<8}', _COLORS[each.level])} {each.check}: {each.message}")
        if each.advice:
            here.screen.say(f"{'':<9}{each.advice}")
    warnings = sum(each.level == "warning" for each in findings)
    here.screen.say()
    here.screen.say(f"{counted(len(failures), 'failure')}, {counted(warnings, 'warning')}")
    return UNWELL if failures else 0


def show_version(here: Here) -> None:
    """Print the version of the program and of what it stands on.

    Example: recollect version --json
    """
    found = {"recollect": installed("recollect"), "python": platform.python_version(), "apsw": installed("apsw")}
    if here.is_json:
        here.screen.document(found)
    else:
        here.screen.say(f"recollect {found['recollect']} (Python {found['python']}, apsw {found['apsw']})")


def installed(name: str) -> str:
    """The version of an installed library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
