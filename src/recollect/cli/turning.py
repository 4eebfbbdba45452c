"""Commands about governed turns: take one, take those of a session again, and say what profiles are."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from recollect.cli import arguments
from recollect.cli.capturing import json_file, listed, read, show_fields
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when

DIFFERENT = 1
_Session = Annotated[str, typer.Argument(metavar="SESSION", help="The name of the session.")]
_Profile = Annotated[str, typer.Argument(metavar="NAME", help="The name of the profile.")]


def turn(
    here: Here,
    session: _Session,
    user: Annotated[str, typer.Argument(metavar="TEXT", help="What the user said; @file, or - to read it.")],
    ai: Annotated[str, typer.Option(metavar="TEXT", help="What was answered.")] = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile that governs it.")] = "default",
    tool_events: Annotated[
        list[str] | None, typer.Option("--tool-event", metavar="TEXT", help="What a tool did: text or JSON.")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project that it belongs to.")] = None,
    state: Annotated[str | None, typer.Option(metavar="JSON", help="The state of the agent; or @file.")] = None,
    identity: Annotated[str | None, typer.Option(metavar="JSON", help="Who is speaking; or @file.")] = None,
    no_recall: Annotated[bool, typer.Option("--no-recall", help="Only write; recall nothing.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Only recall; write nothing but the trace.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Repeating the call with it changes nothing.")
    ] = None,
) -> None:
    """Take a turn of a session: recall for it, and write what it leaves behind, as its profile says.

    Example: recollect turn monday "My name is Ada." --ai "Hello Ada."
    """
    if ask and (ai or tool_events or no_recall or idempotency_key is not None):
        raise arguments.usage("--ask writes nothing: leave --ai, --tool-event, --no-recall and --idempotency-key out")
    words = arguments.source(user, "TEXT")
    given: dict[str, Any] = {"profile": profile, "project": project}
    given |= {"state": arguments.json_object(state, "--state")}
    given |= {"identity": arguments.json_object(identity, "--identity")}
    if ask:
        _say_turn(here, here.door().recall_turn(session, words, **given))
        return
    events = [_event(each) for each in tool_events or ()]
    told = here.door(create=True).take_turn(
        session,
        user=words,
        ai=ai,
        tool_events=events,
        recall=not no_recall,
        idempotency_key=idempotency_key,
        **given,
    )
    _say_turn(here, told)


def _say_turn(here: Here, told: dict[str, Any]) -> None:
    if here.is_json:
        here.screen.document(told)
        return
    governed = f"{calm(told['profile']['name'])} version {told['profile']['version']}"
    here.screen.say(f"turn {told['turn']} of {calm(told['session'])}, by the profile {governed}")
    for each in (told["recalled"] or {}).get("items", ()):
        here.screen.say(f"  recalled: {_item(each)}")
    for each in told["written"]:
        here.screen.say(f"  written: {_item(each)}")
    if not told["written"]:
        here.screen.say("  nothing was written")


def _event(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text


def _item(each: dict[str, Any]) -> str:
    return f'"{calm(" ".join(str(each["text"]).split()))}" ({calm(str(each["id"]))})'


def replay(here: Here, session: _Session) -> int:
    """Take the turns of a session again, in memory, and compare every decision with what was decided then.

    The exit status is 0 when all are equal, and 1 when one is not.

    Example: recollect replay monday
    """
    told = here.door().replay(session)
    if here.is_json:
        here.screen.document(told)
    else:
        _say_replayed(here, told)
    return 0 if told["equal"] else DIFFERENT


def _say_replayed(here: Here, told: dict[str, Any]) -> None:
    turns, found = f"{counted(told['turns'], 'turn')} of {calm(told['session'])}", told["differences"]
    if told["equal"]:
        here.screen.say(f"equal: {turns}, {counted(told['events'], 'event')}, decided as they were")
    if found:
        here.screen.say(f"different: {_difference(found[0])}")
    if len(found) > 1:
        here.screen.note(f"and {counted(len(found) - 1, 'more difference')}; --json tells all")
    for each in told["forgotten"]:
        gone = ", ".join(map(calm, each["records"]))
        here.screen.say(f"turn {each['turn']} cannot be compared: nobody can read {gone} any more")


def _difference(found: dict[str, Any]) -> str:
    event = f", event {found['event']} ({calm(found['type'])})" if found["event"] else ""
    said = f"{_short(found['recorded'])} then, {_short(found['replayed'])} now"
    rule = f" (rule: {calm(found['rule'])})" if found["rule"] else ""
    return f"turn {found['turn']}{event}, {calm(found['path'])}: {said}{rule}"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return calm(text if len(text) <= 200 else f"{text[:199]}…")


# -- profiles


def put(
    here: Here,
    name: _Profile,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A JSON object of settings; or -.")],
    expected_version: Annotated[
        int | None, typer.Option(metavar="N", help="Only if this is its latest version; 0: only if there is none.")
    ] = None,
) -> None:
    """Say what a profile is from now on; the versions before stay.

    Example: recollect profile put careful settings.json
    """
    settings = json_file(source)
    told = here.door(create=True).put_profile(name, settings, expected_version=expected_version)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(told['name'])}: version {told['version']}")


def show(
    here: Here,
    name: _Profile,
    version: Annotated[int | None, typer.Option(metavar="N", help="Not the latest version, but this one.")] = None,
) -> None:
    """Show what a profile says.

    Example: recollect profile show default
    """
    told = here.door().get_profile(name, version=version)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, {each: told[each] for each in ("name", "version", "at")} | told["settings"])


def show_all(here: Here) -> None:
    """List the profiles, each in its latest version.

    Example: recollect profile list
    """
    told = here.door().list_profiles()
    if here.is_json:
        here.screen.document(told)
        return
    rows = [(each["name"], str(each["version"]), when(read(each.get("at")))) for each in told["profiles"]]
    listed(here, ("name", "version", "since"), rows, None, "there are no profiles")
