"""The command that finds memories: by place and attributes, or by what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recollect.cli import arguments, shapes
from recollect.cli.here import Here
from recollect.cli.memories import AsOf, AsUser, Scope, Why, WithArchived
from recollect.cli.screen import counted, one_line, place, when
from recollect.domain.queries import Archived, Order

if TYPE_CHECKING:
    from recollect.cli.doors import Door
    from recollect.cli.shapes import AnyFound, AnyItem

_PAGE = 100
_DEEPEST = 1_000
"""How far down a ranking can be paged through."""
_WORD = re.compile(r"\w{2,}")
Mode = Literal["hybrid", "semantic", "lexical"]
Row = tuple[str, str, str, str]


def search(
    here: Here,
    namespace: Scope = None,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[QUERY]…", help="What to look for; may be a question.")
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="The same; may be repeated, and is put together by ranks.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="By words and meaning, or by one of them.")] = "hybrid",
    min_score: Annotated[float | None, typer.Option(metavar="0…1", help="Leave out what scores less.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each arm of the search found.")] = False,
    wait: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give what was written before so long to be indexed, like 5s.")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option("--filter", metavar="NAME=VALUE", help="Or a JSON object; may be repeated.")
    ] = None,
    order: Annotated[Order, typer.Option(help="In which order, where nothing is looked for.")] = Order.NEWEST,
    limit: Annotated[int, typer.Option(metavar="N", help="How many; at most 100.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", help="How many to leave out first.")] = 0,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue an earlier search.")] = None,
    as_of: AsOf = None,
    archived: WithArchived = Archived.EXCLUDE,
    everything: Annotated[bool, typer.Option("--all", help="All there is, page by page.")] = False,
    as_user: AsUser = None,
    why: Why = None,
) -> None:
    """Find memories at or below a namespace, by what they say or by their attributes.

    Example: recollect search user/alice what does she drink

    Without words, by attributes alone: recollect search user/alice --filter kind=note --order oldest
    """
    asked = [*([" ".join(words)] if words else []), *(query or [])]
    given: dict[str, Any] = {
        "filter": arguments.conditions(condition),
        "order": order,
        "as_of": arguments.moment(as_of, "--as-of", now=datetime.now(UTC)),
        "archived": archived,
        "limit": _PAGE if everything else limit,
    }
    if asked:
        seconds = 0.0 if wait == "0" else arguments.seconds(wait, "--wait")
        given |= {"query": asked if len(asked) > 1 else asked[0], "mode": mode, "min_score": min_score}
        given |= {"explain": explain, "wait": seconds}
    elif mode != "hybrid" or min_score is not None or explain or wait is not None:
        raise arguments.usage("--mode, --min-score, --explain and --wait go with a query: say what to look for")
    shown, left = offset, None
    for page in _pages(here.reading(why, as_user), arguments.scope(namespace), given, offset, cursor, everything):
        if here.is_json and everything:
            for each in page:
                here.screen.line(shapes.found_item(each, several=len(asked) > 1))
        elif here.is_json:
            here.screen.document(shapes.found(page, several=len(asked) > 1))
        elif asked:
            _show_hits(here, page, asked, shown)
        else:
            _show_items(here, list(page), header=shown == offset)
        shown += len(page)
        left = _more(page, asked, shown, limit)
    if shown == offset:
        here.screen.note("nothing was found" + ("" if asked or not namespace else _HOW_TO_ASK))
    elif left is not None and not everything:
        here.screen.note(left)


_HOW_TO_ASK = "; to look for words, say where first: recollect search user/alice WORDS, or give --query"


def _pages(
    door: Door, prefix: tuple[str, ...], given: dict[str, Any], offset: int, cursor: str | None, everything: bool
) -> Iterator[AnyFound]:
    while True:
        page = door.search(prefix, offset=offset, cursor=cursor, **given)
        yield page
        ranked = "query" in given
        cursor, offset = page.cursor, offset + len(page) if ranked else 0
        last = len(page) < _PAGE or offset + _PAGE > _DEEPEST if ranked else cursor is None
        if not everything or last:
            return


def _more(page: AnyFound, asked: Sequence[str], shown: int, limit: int) -> str | None:
    if page.cursor is not None:
        return f"there is more: repeat it with --cursor {page.cursor}, or with --all"
    return f"there may be more: repeat it with --offset {shown}" if asked and len(page) == limit else None


def _show_items(here: Here, items: list[AnyItem], *, header: bool) -> None:
    rows = [
        (place(each.namespace, each.key), str(each.revision), when(each.updated_at), one_line(each.value))
        for each in items
    ]
    if rows:
        here.screen.table(("memory", "rev", "written", "value"), rows, header=header)


def _show_hits(here: Here, found: AnyFound, asked: Sequence[str], before: int) -> None:
    """Each with its rank and score, and the words of the query picked out; what explains it below it."""
    rows: list[Row] = []
    hits: list[AnyItem] = list(found)
    for rank, each in enumerate(hits, before + 1):
        rows.append((str(rank), f"{each.score or 0:.3f}", place(each.namespace, each.key), _said(each.value)))
        rows += _reasons(each.explanation or {}, asked)
    if rows:
        here.screen.table(("", "score", "memory", "value"), rows, marked=_WORD.findall(" ".join(asked)))
    if found.explanation is not None:
        for line in _how(found.explanation):
            here.screen.say(here.screen.styled(line, "dim"))


def _said(value: dict[str, Any] | None) -> str:
    """What a memory says: its text if it has one, whatever else it has."""
    text = None if value is None else value.get("text")
    return " ".join(text.split()) if isinstance(text, str) and text.strip() else one_line(value)


def _reasons(explanation: dict[str, Any], asked: Sequence[str]) -> Iterator[Row]:
    """What each arm of the search said of a memory; with several queries, of each of them."""
    for each in explanation.get("queries", ()):
        yield "", "", f"  {asked[each['query']]}", f"rank {each['rank']}, score {each['score']:.3f}"
        yield from _arms(each, "    ")
    yield from _arms(explanation, "  ")


def _arms(told: dict[str, Any], indent: str) -> Iterator[Row]:
    for name, arm in told.items():
        if isinstance(arm, dict):
            rest = [f"{each} {_figure(arm[each])}" for each in arm if each != "field"]
            field = [f"in {arm['field']}"] if arm.get("field") else []
            yield "", "", f"{indent}{name}", ", ".join([*rest, *field])
        elif name not in ("queries", "query", "rank", "score"):
            yield "", "", f"{indent}{name}", _figure(arm)


def _how(told: dict[str, Any]) -> Iterator[str]:
    """How the whole answer came about."""
    fusion = told.get("fusion") or {}
    weights = [f"{_figure(each)} × {name}" for name, each in (fusion.get("weights") or {}).items()]
    yield ", ".join(
        [
            str(told.get("mode")),
            *([" + ".join(weights)] if weights else []),
            f"model {told.get('model') or 'none'}",
            f"{counted(told.get('searched') or 0, 'memory', 'memories')} searched",
        ]
    )
    yield from told.get("rules") or ()


def _figure(number: object) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".") if isinstance(number, float) else str(number)
