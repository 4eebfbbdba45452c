"""Reporting: the figures of memory as one page of HTML that needs nothing else: no script, no font, no other file.

There is no content of memories on it: only figures, and the names of workflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.cli.charts import Bar, bars, columns, plain, table

_Told = Mapping[str, Any]
_HEALTHY, _WORTH_A_LOOK = "good", "bad"
_STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5d6878;--line:#dfe3ea;--rail:#eceff4;
--a:#3563d8;--b:#8a97ab;--good:#16805a;--bad:#c0392b;--warm:#b7791f}
@media (prefers-color-scheme:dark){:root{--bg:#11151c;--card:#1a202b;--ink:#e8ecf3;--soft:#9aa6b8;--line:#2c3544;
--rail:#252d3a;--a:#7aa2ff;--b:#74829a;--good:#4cc38a;--bad:#ff7b6e;--warm:#e0b15a}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:40px 24px 64px}h1{font-size:1.9rem;line-height:1.2;margin:0 0 4px}
h2{font-size:1.15rem;margin:0 0 2px}p{margin:0}.soft,.none,figcaption{color:var(--soft)}.soft{font-size:.95rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(158px,1fr));gap:14px;margin:28px 0;padding:0;
list-style:none}.tile,section{background:var(--card);border:1px solid var(--line);border-radius:12px}
.tile{padding:16px 18px}.tile b{display:block;font-size:1.7rem;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.86rem}.tile.good b{color:var(--good)}.tile.bad b{color:var(--bad)}
section{padding:22px 24px;margin-top:18px}.pair{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:28px;
margin-top:14px;align-items:start}@media (max-width:760px){.pair{grid-template-columns:minmax(0,1fr)}}
figure{margin:0}svg{width:100%;height:auto;display:block}svg text{font-size:13px;fill:var(--ink)}
svg .label{fill:var(--soft)}svg .value{font-variant-numeric:tabular-nums;font-weight:600}.rail{fill:var(--rail)}
.a{fill:var(--a)}.b{fill:var(--b)}svg .good{fill:var(--good)}svg .bad{fill:var(--bad)}svg .warm{fill:var(--warm)}
.axis{stroke:var(--line)}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--soft);padding-bottom:6px}th,td{padding:6px 8px;border-bottom:1px solid var(--line);
text-align:right;font-variant-numeric:tabular-nums}th:first-child{text-align:left;font-weight:500}
thead th{color:var(--soft);font-weight:500}footer{margin-top:26px;color:var(--soft);font-size:.88rem}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(metrics: _Told, precision: _Told | None = None) -> str:
    """The page, from what `memory_metrics` and, where a labelled set was given, `recall_precision` say."""
    whose = "The memory of the tenant" if metrics["scope"] == "tenant" else "Your memory"
    told = f"{metrics['since']} to {metrics['until']}"
    sections = [
        _hits(metrics["recall"]),
        _tokens(metrics["tokens"]),
        _quality(precision),
        _corrections(metrics["corrections"]),
        _contradictions(metrics["contradictions"]),
        _reviews(metrics["reviews"]),
        _personal(metrics["pii"]),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>Recollect: how well memory serves</title><style>{_STYLE}</style></head><body><main>"
        f'<header><h1>How well memory serves</h1><p class="soft">{plain(whose)}, {plain(told)}</p></header>'
        f"{_tiles(metrics, precision)}{''.join(sections)}{_footer(metrics)}</main></body></html>\n"
    )


# -- words for figures


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "–" if share is None else f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %"


def lasting(seconds: float | None) -> str:
    """A length of time as people read it."""
    if seconds is None:
        return "–"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def number(value: float | None) -> str:
    """A number as people read it."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


# -- parts of the page


def _tiles(metrics: _Told, precision: _Told | None) -> str:
    pii, tokens = metrics["pii"]["violations"], metrics["tokens"]["ratio"]
    tiles = [
        ("Hit rate", percent(metrics["recall"]["hit_rate"]), ""),
        ("Tokens beside retrieval only", "–" if tokens is None else f"× {tokens:.2f}", ""),
        ("PII violations, target 0", number(pii), _WORTH_A_LOOK if pii else _HEALTHY),
        ("Contradictions settled in", lasting(metrics["contradictions"]["median_seconds"]), ""),
        ("Corrections adopted", percent(metrics["corrections"]["adoption_rate"]), ""),
        ("Reviews a day", number(metrics["reviews"]["per_day"]), ""),
    ]
    if precision is not None:
        tiles.append((f"Precision at {number(precision['k'])}", percent(precision["precision"]), ""))
    shown = "".join(
        f'<li class="tile {tone}"><b>{plain(value)}</b><span>{plain(name)}</span></li>' for name, value, tone in tiles
    )
    return f'<ul class="tiles">{shown}</ul>'


def _section(title: str, meaning: str, chart: str, beside: str) -> str:
    figure = f"<figure>{chart}</figure>" if chart else '<p class="none">Nothing to draw in this time.</p>'
    return (
        f'<section><h2>{plain(title)}</h2><p class="soft">{meaning}</p>'
        f'<div class="pair">{figure}<div>{beside}</div></div></section>'
    )


def _hits(told: _Told) -> str:
    rows = told["by_workflow"]
    drawn = [Bar(each["workflow"], each["hit_rate"] or 0.0, percent(each["hit_rate"])) for each in rows[:12]]
    listed = [
        (each["workflow"], number(each["recalls"]), number(each["hits"]), percent(each["hit_rate"])) for each in rows
    ]
    return _section(
        "Hit rate by workflow",
        "Recalls that gave at least one memory, by what they were for.",
        bars("Hit rate by workflow", drawn, 1.0),
        table("Recalls", ("Workflow", "Recalls", "Hits", "Rate"), listed),
    )


def _tokens(told: _Told) -> str:
    pair = (("Memory", told["tokens"], "a"), ("Retrieval only", told["retrieval_tokens"], "b"))
    drawn = [Bar(name, size, number(size), tone) for name, size, tone in pair] if told["recalls"] else []
    listed = [(name, number(size)) for name, size, _ in pair] if told["recalls"] else []
    return _section(
        "Token cost",
        f"What {number(told['recalls'])} recalls cost, beside giving everything that retrieval alone would have found.",
        bars("Tokens of memory beside those of retrieval only", drawn),
        table("Tokens", ("Way", "Tokens"), listed),
    )


def _quality(told: _Told | None) -> str:
    if told is None:
        return ""
    pair = (("Precision", told["precision"]), ("Recall", told["recall"]))
    return _section(
        "Recall on the labelled set",
        f"Of the first {number(told['k'])} memories for each of {number(told['queries'])} questions.",
        bars("Precision and recall", [Bar(name, share or 0.0, percent(share)) for name, share in pair], 1.0),
        table("Quality", ("Measure", "Share"), [(name, percent(share)) for name, share in pair]),
    )


def _corrections(told: _Told) -> str:
    parts = (("Adopted", "adopted", "good"), ("Open", "open", "b"), ("Missed", "missed", "bad"))
    made = told["corrections"]
    drawn = [Bar(name, told[key], number(told[key]), tone) for name, key, tone in parts] if made else []
    return _section(
        "Correction adoption",
        "Adopted: the new record was recalled, and the old one never since. Missed: the old one still was.",
        bars("Corrections by what became of them", drawn, float(made) if made else None),
        table(
            "Corrections",
            ("What became of it", "Corrections"),
            _listed(told, [*parts, ("All", "corrections", "")], made),
        ),
    )


def _contradictions(told: _Told) -> str:
    parts = (
        ("Settled by people", "resolved", "good"),
        ("Settled by a rule", "resolved_by_rule", "a"),
        ("Open", "open", "warm"),
    )
    some = any(told[key] for _, key, _ in parts)
    drawn = [Bar(name, told[key], number(told[key]), tone) for name, key, tone in parts] if some else []
    rows = [
        *_listed(told, parts, some),
        ("Median time", lasting(told["median_seconds"])),
        ("90th percentile", lasting(told["p90_seconds"])),
        ("Oldest open", lasting(told["oldest_open_seconds"])),
    ]
    return _section(
        "Contradictions",
        "How long it takes until somebody says which of two records is right.",
        bars("Contradictions by what became of them", drawn),
        table("Contradictions", ("", "Figure"), rows if some else []),
    )


def _reviews(told: _Told) -> str:
    days = [(each["day"], each["decided"]) for each in told["by_day"]]
    rows = [
        ("Decided", number(told["decided"])),
        *((f"– {verdict}", number(count)) for verdict, count in told["by_verdict"].items()),
        ("Median wait", lasting(told["median_waiting_seconds"])),
        ("90th percentile", lasting(told["p90_waiting_seconds"])),
        ("Waiting now", number(told["waiting"])),
        ("Oldest waiting", lasting(told["oldest_waiting_seconds"])),
    ]
    daily = table("By day", ("Day", "Decided"), [(day, number(count)) for day, count in days]) if days else ""
    return _section(
        "Review queue",
        "Proposals that people decided about, day by day.",
        columns("Proposals decided, by day", days),
        table("Reviews", ("", "Figure"), rows) + daily,
    )


def _personal(told: _Told) -> str:
    kinds = list(told["by_kind"].items())
    return _section(
        "Personal data without consent",
        "Live records that hold personal data which no consent covers. The target is 0.",
        bars(
            "Records by what sort of personal data they hold",
            [Bar(kind, count, number(count), "bad") for kind, count in kinds],
        ),
        table("Records", ("Sort", "Records"), [(kind, number(count)) for kind, count in kinds]),
    )


def _listed(told: _Told, parts: Sequence[tuple[str, str, str]], some: object) -> list[tuple[str, str]]:
    return [(name, number(told[key])) for name, key, _ in parts] if some else []


def _footer(metrics: _Told) -> str:
    looked = ", ".join(f"{number(count)} {plain(plane)}" for plane, count in metrics["looked_at"].items()) or "nothing"
    whole = (
        "all there is" if metrics["complete"] else "not all there is: the newest were looked at, older ones were not"
    )
    return f"<footer>Rows looked at: {looked}; {whole}.</footer>"
