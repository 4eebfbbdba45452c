"""The command that writes a report: how well memory serves, as a page with charts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

import msgspec
import typer

from recollect.cli import arguments
from recollect.cli.here import Here
from recollect.cli.reporting import page, percent
from recollect.domain.measuring.recalls import named_in, precision, read_labels

_MOST_BYTES = 16 << 20


class Measures(Protocol):
    """What a report needs of the memories, whichever way leads there."""

    def memory_metrics(self, *, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
        """The figures."""
        ...

    def recall(self, query: str | None = None, *, limit: int = 10) -> dict[str, Any]:
        """What is recalled for a question."""
        ...


def report(
    here: Here,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where the page is written.")] = Path(
        "recollect-report.html"
    ),
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From then on; 30 days back by default.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Up to then; now by default.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions with the ids that answer them, as JSON lines.")
    ] = None,
    at: Annotated[int, typer.Option("--at", metavar="N", help="How many memories each of them is judged by.")] = 10,
) -> None:
    """Write a page of charts that says how well memory serves.

    Example: recollect report --since 7d --output week.html
    """
    asked = None if labels is None else _labels(labels)
    door = cast("Measures", here.door())
    now = datetime.now(UTC)
    metrics = door.memory_metrics(
        since=arguments.moment(since, "--since", now=now), until=arguments.moment(until, "--until", now=now)
    )
    quality = None if asked is None else _judged(door, asked, at)
    output.write_text(page(metrics, quality), encoding="utf-8")
    if here.is_json:
        here.screen.document(metrics | {"precision": quality, "output": str(output)})
        return
    recall, pii = metrics["recall"], metrics["pii"]["violations"]
    here.screen.note(f"hit rate {percent(recall['hit_rate'])} of {recall['recalls']:,} recalls, {pii:,} PII violations")
    here.screen.say(f"written: {output}")


def _labels(path: Path) -> list[tuple[str, frozenset[str]]]:
    """The labelled questions in a file; an empty line is none."""
    if path.stat().st_size > _MOST_BYTES:
        raise arguments.usage(f"{path} is larger than {_MOST_BYTES >> 20} MiB", "--labels")
    lines: list[Any] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append(msgspec.json.decode(line, type=Mapping[str, Any]))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise arguments.usage(f"line {number} of {path} is not a JSON object", "--labels") from None
    return read_labels(lines)


def _judged(door: Measures, asked: list[tuple[str, frozenset[str]]], limit: int) -> dict[str, Any]:
    answers = []
    for query, relevant in asked:
        answers.append((named_in(door.recall(query, limit=limit)["memories"], relevant), relevant))
    return precision(answers, limit)
