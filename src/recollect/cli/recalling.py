"""Commands about what an agent is given: memories with what they rest on, a context of them, and what is used most."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.capturing import read
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, place, when
from recollect.domain.compiling.codes import Form
from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.governance.terms import EventType, Kind, Space, Tier
from recollect.domain.recall.asking import Ranker


class Sort(StrEnum):
    """By what the items that are used are put in order."""

    FETCHES = "fetch_count"
    LATEST = "last_fetched_at"


_Query = Annotated[str | None, typer.Argument(metavar="[QUERY]", help="What is asked; else what matters most.")]
_Spaces = Annotated[list[Space] | None, typer.Option("--space", help="Only these spaces; may be repeated.")]
_Session = Annotated[str | None, typer.Option(metavar="NAME", help="In which session it is asked.")]
_Project = Annotated[str | None, typer.Option(metavar="NAME", help="In which project it is asked.")]
_Persona = Annotated[str | None, typer.Option(metavar="NAME", help="As which persona the agent speaks.")]
_Phase = Annotated[str | None, typer.Option(metavar="ID", help="Only what came to be in this phase.")]
_Intent = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")]
_Classification = Annotated[str | None, typer.Option(metavar="NAME", help="How confidential it may be, at most.")]
_Fresh = Annotated[str | None, typer.Option("--fresh", metavar="TIME", help="No older than this: 2h, 7d.")]
_Kinds = Annotated[list[Kind] | None, typer.Option("--kind", help="Only of these kinds; may be repeated.")]
_Tiers = Annotated[list[Tier] | None, typer.Option("--tier", help="Only of these tiers; may be repeated.")]
_Types = Annotated[list[EventType] | None, typer.Option("--event-type", help="Only of these types; may be repeated.")]
_Ranker = Annotated[Ranker, typer.Option(help="By what they are put in order.")]
_Score = Annotated[float | None, typer.Option(metavar="N", help="Only what scores at least this.")]
_AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="As it was then; 2h is two hours ago.")]
_History = Annotated[bool, typer.Option("--history", help="Also what others stand in place of.")]
_Wait = Annotated[float | None, typer.Option(metavar="N", help="Give so many seconds to what is not indexed yet.")]
_LIMIT = 50
_APART = (
    "it has a scope of its own: only QUERY, --persona, --session, --template, --budget, --counter, --wait and --form "
    "go with it"
)


def recall(
    here: Here,
    query: _Query = None,
    space: _Spaces = None,
    session: _Session = None,
    project: _Project = None,
    persona: _Persona = None,
    phase: _Phase = None,
    intent: _Intent = None,
    classification: _Classification = None,
    fresh: _Fresh = None,
    kind: _Kinds = None,
    tier: _Tiers = None,
    event_type: _Types = None,
    ranker: _Ranker = Ranker.RELEVANCE,
    limit: Annotated[int, typer.Option(metavar="N", help="How many.")] = 10,
    min_score: _Score = None,
    as_of: _AsOf = None,
    history: _History = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each was ranked.")] = False,
    usage: Annotated[bool, typer.Option("--usage", help="Say how often each was given so far.")] = False,
    wait: _Wait = None,
) -> None:
    """Recall what answers a question: each memory with why it is given, since when it is known, and from where.

    Example: recollect recall "What is my name?" --session monday
    """
    length, moment = arguments.seconds(fresh, "--fresh"), arguments.moment(as_of, "--as-of", now=datetime.now(UTC))
    told = here.door().recall(
        query,
        **_names(space, kind, tier, event_type),
        session=session,
        project=project,
        persona=persona,
        phase=phase,
        intent=intent,
        classification=classification,
        freshness=length,
        ranker=ranker.value,
        limit=limit,
        min_score=min_score,
        as_of=moment,
        history=history,
        explain=explain,
        include_usage=usage,
        wait=wait,
    )
    if here.is_json:
        here.screen.document(told)
    else:
        _say_recalled(here, told)


def _names(*given: list[Any] | None) -> dict[str, list[str] | None]:
    chosen = [None if each is None else [one.value for one in each] for each in given]
    return dict(zip(("spaces", "kinds", "tiers", "event_types"), chosen, strict=True))


def _say_recalled(here: Here, told: dict[str, Any]) -> None:
    for number, each in enumerate(told["memories"], 1):
        for line in remembered(each):
            here.screen.say(f"{f'{number}.' if line[0] != ' ' else '':<3}{line}")
    for each in told["contradictions"]:
        here.screen.say(f"unsettled: {_disputed(each)}")
    if not told["memories"]:
        here.screen.note("nothing is remembered that answers it")
    if told["notice"]:
        here.screen.note(calm(str(told["notice"])))
    for each in told["borders"]:
        if not each["allowed"]:
            here.screen.note(f"{calm(str(each['space']))} was not read: {calm(str(each['reason']))}")
    here.screen.note(f"recollect trace {told['trace_id']} tells how this was decided")


def remembered(memory: dict[str, Any]) -> list[str]:
    """A memory in lines: its words; why it is given; since when it is known and from where."""
    source = memory["provenance"]
    captures = ", ".join(map(calm, source["captures"])) or ", ".join(map(calm, source["evidence_refs"])) or "nowhere"
    since = f"since {when(read(source['promoted_at']))}"
    ended = "" if memory.get("ended_at") is None else f" until {when(read(memory['ended_at']))}"
    suggestion = " (a suggestion)" if memory.get("behavioral") else ""
    lines = [
        calm(" ".join(str(memory["text"]).split())) + suggestion,
        f" why: {', '.join(map(calm, memory['reasons']))}",
        f" {since}{ended}, from {captures} ({calm(memory['id'])})",
    ]
    if memory.get("explanation"):
        lines.append(f" ranked by {_parts(memory['explanation'])}")
    if memory.get("usage"):
        times, last = memory["usage"]["fetch_count"], when(read(memory["usage"]["last_fetched_at"]))
        lines.append(f" given {counted(times, 'time')} so far{f', last {last}' if last else ''}")
    return lines


def _parts(told: dict[str, Any]) -> str:
    """What a score is made of: parts with their weights, or whole numbers; what search said of itself is for --json."""
    parts = {name: each for name, each in told.items() if name != "search"}
    said = [
        f"{calm(name)} {_number(each['value'])} × {_number(each['weight'])}"
        for name, each in parts.items()
        if isinstance(each, dict)
    ]
    return ", ".join(said) or _numbers(parts)


def _numbers(told: dict[str, Any]) -> str:
    return ", ".join(f"{calm(str(name))} {calm(_number(value))}" for name, value in told.items() if value is not None)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _disputed(told: dict[str, Any]) -> str:
    return calm(f"{told['entity']} {told['predicate']} ({told['event_id']}, beside {told['existing']})")


def context(
    here: Here,
    query: _Query = None,
    space: _Spaces = None,
    session: _Session = None,
    project: _Project = None,
    persona: _Persona = None,
    phase: _Phase = None,
    intent: _Intent = None,
    classification: _Classification = None,
    fresh: _Fresh = None,
    kind: _Kinds = None,
    tier: _Tiers = None,
    event_type: _Types = None,
    ranker: _Ranker = Ranker.RELEVANCE,
    limit: Annotated[int, typer.Option(metavar="N", help="How many memories are considered.")] = _LIMIT,
    min_score: _Score = None,
    as_of: _AsOf = None,
    history: _History = False,
    wait: _Wait = None,
    budget: Annotated[int, typer.Option(metavar="N", help="How many tokens it may take.")] = 1200,
    counter: Annotated[str, typer.Option(metavar="NAME", help="By what tokens are counted.")] = "chars",
    template: Annotated[
        str | None, typer.Option(metavar="JSON", help="Which blocks there are: a name, JSON, or @file.")
    ] = None,
    state: Annotated[str | None, typer.Option(metavar="JSON", help="What the conversation adds; or @file.")] = None,
    form: Annotated[Form, typer.Option(help="How it is written.")] = Form.MARKDOWN,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="What a persona is to know for its next answer.")
    ] = False,
) -> None:
    """Compile what answers a question into a context for a prompt, within a budget; what had no room is named.

    Example: recollect context "What is my name?" --budget 400
    """
    length, moment = arguments.seconds(fresh, "--fresh"), arguments.moment(as_of, "--as-of", now=datetime.now(UTC))
    blocks, said = _blocks(template), arguments.json_object(state, "--state")
    if conversation:
        given = (space, project, phase, intent, classification, fresh, kind, tier, event_type, min_score, as_of, said)
        if any(each is not None for each in given) or history or limit != _LIMIT or ranker is not Ranker.RELEVANCE:
            raise arguments.usage(_APART, "--conversation")
        found = here.door().conversation_context(
            query,
            persona=persona or DEFAULT_PERSONA,
            session=session,
            budget=budget,
            counter=counter,
            form=form.value,
            template=blocks,
            wait=wait,
        )
        _say_context(here, found)
        return
    told = here.door().context(
        query,
        **_names(space, kind, tier, event_type),
        session=session,
        project=project,
        persona=persona,
        phase=phase,
        intent=intent,
        classification=classification,
        freshness=length,
        ranker=ranker.value,
        limit=limit,
        min_score=min_score,
        as_of=moment,
        history=history,
        wait=wait,
        budget=budget,
        counter=counter,
        template=blocks,
        state=said,
        form=form.value,
    )
    _say_context(here, told)


def _blocks(text: str | None) -> dict[str, Any] | str | None:
    """A template as it is typed: a JSON object, or the name of one."""
    is_object = text is not None and text.lstrip().startswith(("{", "@", "[", "-"))
    return arguments.json_object(text, "--template") if is_object else text


def _say_context(here: Here, told: dict[str, Any]) -> None:
    if here.is_json:
        here.screen.document(told)
        return
    if told["messages"] is not None:
        here.screen.document(told["messages"])
    else:
        for line in str(told["text"]).splitlines():
            here.screen.say(calm(line))
    report = told["report"]
    here.screen.note(f"{report['used']:,} of {counted(report['budget'], 'token')}")
    for each in report["dropped"]:
        here.screen.note(f"left out: {calm(str(each['id']))} ({calm(str(each['reason']))})")


def top(
    here: Here,
    namespace: Annotated[str | None, typer.Argument(metavar="[NAMESPACE]", help="Only at or below it.")] = None,
    sort: Annotated[Sort, typer.Option(help="By what they are put in order.")] = Sort.FETCHES,
    limit: Annotated[int, typer.Option(metavar="N", help="How many.")] = 20,
) -> None:
    """List what is loaded most.

    Example: recollect usage top user/alice --limit 5
    """
    told = here.door().top_usage(sort=sort.value, namespace_prefix=arguments.scope(namespace), limit=limit)
    if here.is_json:
        here.screen.document(told)
        return
    rows = [(place(each["namespace"], each["key"]), *_counted_use(each["usage"])) for each in told["usage"]]
    if rows:
        here.screen.table(("item", "loaded", "last"), rows)
    else:
        here.screen.note("nothing was loaded")


def usage(
    here: Here,
    namespace: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Like user/alice/notes.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="The name within the namespace.")],
) -> None:
    """Show how often one memory was loaded, and when it was last.

    Example: recollect usage show user/alice/notes tea
    """
    segments = arguments.namespace(namespace)
    told = here.door().get_usage(segments, key)
    if here.is_json:
        here.screen.document(told)
        return
    times, last = _counted_use(told["usage"])
    here.screen.say(f"{place(segments, key)}: loaded {times} times{f', last {last}' if last else ''}")


def _counted_use(usage: dict[str, Any]) -> tuple[str, str]:
    return f"{usage['fetch_count']:,}", when(read(usage["last_fetched_at"]))
