"""Writes `docs/reference/` from the code, so that the pages cannot say anything else than the code does.

Run by `make generate`; a test compares the pages with what this would write.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import recollect
from recollect.backends import extraction
from recollect.backends.keyring import envelope
from recollect.backends.rego import builtins, pool
from recollect.domain import (
    address,
    attributes,
    bundles,
    callers,
    commits,
    contents,
    filters,
    indexable,
    late,
    notes,
    passages,
    queries,
    ranking,
    reasons,
    retention,
    values,
    verification,
    words,
)
from recollect.domain.compiling import codes as compiling_codes
from recollect.domain.compiling import counting, states, templates
from recollect.domain.errors import RecollectError, all_errors
from recollect.domain.governance import reasons as governance_reasons
from recollect.domain.governance import terms
from recollect.domain.promotion import codes, standing
from recollect.domain.remembering import captures, deciding
from recollect.ports import credentials, embedder, extractor, keys, policy, store, summarizer, vectors
from recollect.service import audit, identity, looking, policies, reading, transfer, tuning, views
from recollect.service.administration import Administration
from recollect.service.conversation.contexts import ConversationContexts
from recollect.service.conversation.curating import Curating
from recollect.service.conversation.entities import Entities
from recollect.service.conversation.importing import Importing
from recollect.service.conversation.personas import Personas
from recollect.service.conversation.seeds import Seeds
from recollect.service.conversation.sessions import Sessions
from recollect.service.conversation.todos import Todos
from recollect.service.conversation.turns import Conversing
from recollect.service.governing.profiles import Profiles
from recollect.service.governing.turns import Governing
from recollect.service.hands import Hands
from recollect.service.measuring.measures import Measuring
from recollect.service.pipeline.capturing import Capturing
from recollect.service.pipeline.consenting import Consenting
from recollect.service.pipeline.recording import Recording
from recollect.service.pipeline.reviewing import Reviewing
from recollect.service.pipeline.watching import Watching
from recollect.service.recalling.contexts import Contexts
from recollect.service.recalling.recall import Recalling
from recollect.service.telling.comparing import Comparing
from recollect.service.telling.traces import Tracing
from recollect.service.telling.why import Explaining
from recollect.surfaces import service as serving
from recollect.surfaces.rest import connections
from recollect.wire import requests

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/reference"
_CLAUSE = re.compile(r"([SKPCEXVZ]\d+)\s+(.*)")
_GOES_ON = re.compile(r"\n {2,}")
_MIB = 1 << 20
MEASURED = ROOT / "tests/policies/conformance.json"


@dataclass(frozen=True, slots=True)
class Limit:
    """A constant of the code that callers can run into, and what it limits."""

    module: ModuleType
    name: str
    what: str
    cut: bool = False
    """True when what goes beyond it is not refused, but merely not found by queries."""

    @property
    def value(self) -> str:
        """The number as people read it."""
        number = getattr(self.module, self.name)
        if isinstance(number, int) and number >= _MIB and number % _MIB == 0 and number < 1 << 28:
            return f"{number:,} ({number // _MIB} MiB)"
        return f"{number:,}" if isinstance(number, int) else f"{number:g}"


LIMITS = (
    Limit(address, "MAX_DEPTH", "Segments of a namespace, unless the setting `max_depth` says otherwise."),
    Limit(address, "DEPTH_CEILING", "The most that `max_depth` may be set to."),
    Limit(address, "MAX_SEGMENT_BYTES", "Bytes of one segment in UTF-8."),
    Limit(address, "MAX_KEY_BYTES", "Bytes of a key in UTF-8."),
    Limit(values, "MAX_BYTES", "Bytes of a value, and of its attributes, as JSON."),
    Limit(values, "MAX_LEVELS", "Levels of nesting in a value."),
    Limit(values, "MAX_NODES", "Members of all objects and lists of a value together."),
    Limit(attributes, "MAX_NAMES", "Policy attributes of one item."),
    Limit(attributes, "MAX_ELEMENTS", "Elements of a list in a policy attribute."),
    Limit(attributes, "MAX_BYTES", "Bytes of all policy attributes of an item as JSON."),
    Limit(filters, "MAX_CONDITIONS", "Conditions of a filter."),
    Limit(filters, "MAX_CHOICES", "Values of an `$in` condition."),
    Limit(commits, "MAX_OPERATIONS", "Operations of a batch."),
    Limit(commits, "MAX_COMMIT_BYTES", "Bytes of all values of a batch."),
    Limit(commits, "MAX_IDEMPOTENCY_KEY", "Characters of an idempotency key."),
    Limit(commits, "MAX_ACTOR", "Characters of an actor."),
    Limit(queries, "MAX_LIMIT", "The largest `limit` of a read, and `batch` of a sweep."),
    Limit(queries, "MAX_OFFSET", "The largest `offset` of a read; continue with a cursor instead."),
    Limit(looking, "MAX_QUERY", "Characters of a query."),
    Limit(looking, "MAX_QUERIES", "Queries of one search."),
    Limit(
        looking, "MAX_RANKED", "How far down a ranking goes: `offset` and `limit` of a search with a query together."
    ),
    Limit(reading, "MAX_WAIT_SECONDS", "Seconds that `events`, a search or a write may be asked to wait."),
    Limit(requests, "MAX_SEARCH", "The largest `limit` of a search over REST."),
    Limit(requests, "MAX_EVENTS", "The largest `limit` of a page of events over REST."),
    Limit(requests, "MAX_PARAMETERS", "Parameters of a URL."),
    Limit(reading, "MAX_INDEX_FIELDS", "Names in `index_fields`."),
    Limit(reading, "MAX_FIELD_NAME", "Characters of a name in `index_fields`."),
    Limit(transfer, "MAX_ENTRIES", "Entries of an import at once."),
    Limit(identity, "MAX_CREDENTIAL", "Characters of a key or a token."),
    Limit(connections, "MAX_HEAD_BYTES", "Bytes of the head of a request."),
    Limit(connections, "MAX_FIELDS", "Header fields of a request."),
    Limit(serving, "MAX_HELD_BYTES", "Bytes of bodies that requests under way may hold together, in one process."),
    Limit(callers, "MAX_NAME", "Characters of a user's, a client's or a role's name."),
    Limit(callers, "MAX_ROLES", "Roles of one credential."),
    Limit(verification, "MAX_PROBLEMS", "Problems after which `verify` stops to look."),
    Limit(bundles, "MAX_MODULES", "Modules of a policy."),
    Limit(bundles, "MAX_BUNDLE_BYTES", "Bytes of all modules of a policy together."),
    Limit(bundles, "KEPT_VERSIONS", "Versions of a policy that are kept to go back to."),
    Limit(pool, "EVALUATION_SECONDS", "Seconds that evaluating a policy may compute for one decision."),
    Limit(pool, "MEMORY_BYTES", "Bytes of memory that evaluating a policy may take."),
    Limit(audit, "MAX_JUSTIFICATION", "Characters of a justification."),
    Limit(envelope, "ROTATE_AT", "Values sealed by one data key before a new one takes over."),
    Limit(indexable, "MAX_PASSAGES", "Texts of one value.", cut=True),
    Limit(indexable, "MAX_LEAVES", "Texts, numbers and truths of one value.", cut=True),
    Limit(words, "MAX_WORDS", "Words of one text.", cut=True),
    Limit(words, "MAX_WORD", "Characters of a word.", cut=True),
    Limit(contents, "MAX_COUNT", "Times that one word counts.", cut=True),
    Limit(passages, "MAX_PIECES", "Pieces of one value that get a vector, each of up to 1,200 characters.", cut=True),
    Limit(late, "MAX_TOKENS", "Words of one value that get a vector of their own.", cut=True),
    Limit(notes, "MAX_CONTENT", "Characters of a note that an agent stores with its tools."),
    Limit(notes, "MAX_TAGS", "Tags of a note."),
    Limit(notes, "MAX_TAG", "Characters of a tag."),
    Limit(notes, "MAX_QUERY", "Characters of a query of `memory_search`."),
    Limit(notes, "MAX_RESULTS", "Notes that `memory_search` gives."),
    Limit(counting, "MAX_BUDGET", "Tokens of the budget of a context pack."),
    Limit(states, "MAX_EXCERPTS", "Texts in each part of the state that a context pack is given."),
    Limit(states, "MAX_EXCERPT", "Characters of such a text."),
    Limit(templates, "MAX_TITLE", "Characters of the title of a block of a context pack."),
    Limit(notes, "MAX_CHAIN", "Notes that may have replaced each other, one after the other."),
)


def pages() -> dict[str, str]:
    """Every page of the reference, by file name."""
    made = {
        "python.md": _python(),
        "errors.md": _errors(),
        "settings.md": _settings(),
        "reasons.md": _reasons(),
        "filters.md": _filters(),
        "limits.md": _limits(),
        "clauses.md": _clauses(),
        "rego.md": _rego(),
    }
    return {"index.md": _index(made)} | made


def _page(title: str, *parts: str) -> str:
    note = "<!-- Generated from the code by `make generate`. Change the code, not this page. -->"
    return "\n\n".join((f"# {title}", note, *(part.strip("\n") for part in parts))) + "\n"


def _index(made: dict[str, str]) -> str:
    titles = {name: text.splitlines()[0].removeprefix("# ") for name, text in made.items()}
    titles |= {"access.md": "Access", "tools.md": "Tools of an agent", "backends.md": "Backends"}
    titles |= {"langgraph-stores.md": "LangGraph stores"}
    links = [f"- [{title}]({name})" for name, title in titles.items()]
    return _page("Reference", "These pages are generated from the code.", "\n".join(links))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# -- errors, settings, reasons, filters, limits, clauses


def _errors() -> str:
    def tree(cls: type[RecollectError], depth: int) -> Iterator[str]:
        yield "    " * depth + cls.__name__
        for child in cls.__subclasses__():
            if child.__module__ == RecollectError.__module__:  # those of a backend are its own business
                yield from tree(child, depth + 1)

    rows = [
        (f"`{error.__name__}`", f"`{error.code}`", "yes" if error.retriable else "no", error.advice())
        for error in all_errors()
    ]
    return _page(
        "Errors",
        "Everything that Recollect raises on purpose is a `RecollectError`. All of them are in `recollect.errors`. "
        "An error has a `message`, a `code`, `details` and, for people, `advice()`. "
        "Codes are public: they are added and never renamed. "
        "`retriable` says whether the same call may succeed later.",
        "```text\n" + "\n".join(tree(RecollectError, 0)) + "\n```",
        _table(("error", "code", "retriable", "what to do"), rows),
    )


def _settings() -> str:
    rows = [
        (
            f"`{each.name}`",
            f"`{each.type}`",
            f"`{each.default!r}`",
            "yes" if each.metadata["live"] else "no",
            each.metadata["meaning"],
        )
        for each in dataclasses.fields(recollect.Settings)
    ]
    return _page(
        "Settings",
        "The service takes a setting from a flag of `recollect serve`, else from the environment (`RECOLLECT_` and its "
        "name in capitals), else from `recollect.toml` in the data directory, else it has its default. "
        "`recollect settings` shows what holds and where it comes from; `recollect settings --template` prints a file "
        "to begin with. A *live* setting follows the file while the service runs; the others take effect at the next "
        "start. A value outside of its range, or a name that is no setting, is refused with `InvalidSetting`.",
        "In process, settings are given when a store is opened: "
        "`recollect.open(path, settings=recollect.Settings(max_depth=5))`. Then no environment variable and no file is "
        "read, and those about the service mean nothing.",
        _table(("setting", "type", "default", "live", "meaning"), rows),
    )


def reason_sets() -> list[type[StrEnum]]:
    """The closed sets of codes, in the order of their definition."""
    found = [each for each in vars(reasons).values() if inspect.isclass(each) and issubclass(each, StrEnum)]
    return [each for each in found if each is not StrEnum] + [
        retention.Pass,
        queries.Order,
        queries.Archived,
        ranking.Mode,
        audit.Audited,
        policy.Verdict,
        *_reasons_of_the_way_in(),
    ]


def _reasons_of_the_way_in() -> list[type[StrEnum]]:
    """The closed sets of what is captured, decided, consented to and told."""
    modules = (governance_reasons, terms, captures, deciding, codes, compiling_codes)
    found = [each for module in modules for each in vars(module).values() if inspect.isclass(each)]
    sets = [each for each in found if issubclass(each, StrEnum) and each is not StrEnum]
    return list(dict.fromkeys([*sets, standing.Channel, standing.SourceClass, extraction.Trouble]))


def _reasons() -> str:
    parts = []
    for each in reason_sets():
        said = _docstrings_below(each)
        if said:
            rows = [(f"`{member.value}`", said.get(member.name, "")) for member in each]
            table = _table(("code", "meaning"), rows)
        else:
            table = ", ".join(f"`{member.value}`" for member in each) + "."
        parts.append(f"## {each.__name__}\n\n{inspect.getdoc(each)}\n\n{table}")
    return _page(
        "Reasons",
        'Every "why" and "which" is one of a closed set of codes. Codes are added, never renamed. '
        'All of these are text: `EventKind.ADD == "add"`.',
        "Of the planes, this release writes all but `session`, `turn`, `summary` and `todo`.",
        *parts,
    )


def _filters() -> str:
    spellings = {operator: [operator.value] for operator in filters.Operator}
    for spelled, operator in filters._SPELLINGS.items():
        if spelled not in spellings[operator]:
            spellings[operator].append(spelled)
    meanings = {
        filters.Operator.EQ: ("a scalar", 'equals; also meant by `{"name": value}`'),
        filters.Operator.NE: ("a scalar", "is there, and does not equal"),
        filters.Operator.IN: ("a list of scalars", 'equals one of; also meant by `{"name": [values]}`'),
        filters.Operator.GT: ("a number or a timestamp", "is greater, or later"),
        filters.Operator.GTE: ("a number or a timestamp", "is greater or equal, or not earlier"),
        filters.Operator.LT: ("a number or a timestamp", "is less, or earlier"),
        filters.Operator.LTE: ("a number or a timestamp", "is less or equal, or not later"),
        filters.Operator.EXISTS: ("`true` or `false`", "has, or has not, a value other than null"),
    }
    rows = [
        (", ".join(f"`{name}`" for name in spellings[operator]), *meanings[operator]) for operator in filters.Operator
    ]
    _, _, said = inspect.cleandoc(filters.__doc__ or "").partition("\n\n")
    return _page(
        "Filters",
        "`search` filters by policy attributes, which are stored in plain text. Values and attributes are sealed "
        "and cannot be filtered by.",
        _fenced(said),
        _table(("operator", "takes", "holds when the attribute"), rows),
        "An unknown operator, or a value of the wrong type, raises `InvalidFilter`. "
        "Timestamps are RFC 3339 text with a time zone, on both sides of a comparison.",
    )


def _fenced(said: str) -> str:
    """Indented examples as fenced blocks."""
    parts = []
    for part in said.split("\n\n"):
        code = part.startswith("    ")
        parts.append(f"```text\n{textwrap.dedent(part)}\n```" if code else " ".join(part.split()))
    return "\n\n".join(parts)


def _limits() -> str:
    def rows(*, cut: bool) -> list[tuple[str, str, str]]:
        shown = [each for each in LIMITS if each.cut is cut]
        return [(each.what, each.value, f"`{each.module.__name__}.{each.name}`") for each in shown]

    return _page(
        "Limits",
        "What goes beyond a limit is refused with an error that names the limit. Nothing is cut off silently.",
        _table(("what", "limit", "constant"), rows(cut=False)),
        "Times lie in the years 1970 to 9999. A time to live is above 0 and at most 1e12 seconds.",
        "## What queries find of a value\n\n"
        "What lies beyond these is stored and read as it is, but a query does not find it.",
        _table(("what", "limit", "constant"), rows(cut=True)),
    )


def clauses_of(module: ModuleType) -> list[tuple[str, str]]:
    """The numbered clauses in a port's docstring."""
    return [match.groups() for match in _CLAUSE.finditer(_promises(module))]  # type: ignore[misc] # two groups


def _promises(module: ModuleType) -> str:
    """A port's docstring, each clause on one line."""
    return _GOES_ON.sub(" ", inspect.cleandoc(module.__doc__ or ""))


def _rego() -> str:
    measured = json.loads(MEASURED.read_text())
    counts: dict[str, list[int]] = measured["builtins"]

    def cases(name: str) -> str:
        agreed, asked = counts.get(name, (0, 0))
        return f"{agreed} of {asked}" if asked else "none"

    allowed = [
        (f"`{builtins.SPELLED.get(name, name)}`", cases(name), builtins.CAVEATS.get(name, ""))
        for name in sorted(builtins.ALLOWED)
    ]
    refused = []
    for why in builtins.Refusal:
        names = sorted(name for name, reason in builtins.REFUSED.items() if reason is why)
        spelled = ", ".join(f"`{builtins.SPELLED.get(name, name)}`" for name in names)
        refused.append(f"### It {why.sentence}\n\n{spelled}.")
    return _page(
        "Rego",
        'What a policy may use with the embedded engine (`policy_engine = "rego"`), and what is refused when it is '
        'loaded. With an OPA server (`policy_engine = "opa"`) none of this applies.',
        f"Measured with the engine {measured['engine']} and OPA {measured['opa']}: of OPA's own {measured['cases']:,} "
        f"test cases for Rego v1, {measured['agreeing']:,} give OPA's answer, and {measured['uncompiled']:,} do not "
        "compile, which a policy's author is told. A built-in is allowed if it gave OPA's answer in its cases, and to "
        "calls with unusual arguments that OPA was asked as well. Where a case of an allowed one does not agree, it is "
        "because of what the last column says, or of something else in the case that is refused here.",
        "## Allowed\n\n" + _table(("built-in", "OPA's cases that agree", "to know"), allowed),
        "## Refused\n\n" + "\n\n".join(refused),
    )


def _clauses() -> str:
    parts = []
    for title, module in (
        ("The store", store),
        ("The keys", keys),
        ("The policy", policy),
        ("The credentials", credentials),
        ("The embedder", embedder),
        ("The extractor", extractor),
        ("The summarizer", summarizer),
        ("The vector store", vectors),
    ):
        lines = _promises(module).splitlines()
        parts.append(f"## {title}\n\n{lines[0]}")
        rows: list[tuple[str, str]] = []
        for line in [*lines[1:], ""]:
            clause = _CLAUSE.fullmatch(line)
            if clause:
                rows.append((clause[1], clause[2]))
            elif rows:
                parts.append(_table(("clause", "promise"), list(rows)))
                rows = []
            if line and not clause:
                parts.append(f"### {line}")
    return _page(
        "Clauses",
        "What every backend promises, clause by clause. Tests cite these numbers.",
        *parts,
    )


# -- the Python API


def _python() -> str:
    exported = {name: getattr(recollect, name) for name in recollect.__all__}
    functions = [_function(thing, 2) for thing in exported.values() if inspect.isfunction(thing)]
    classes = [_class(thing) for name, thing in exported.items() if name in _TOLD]
    classes += [_class(store.Verification), _class(verification.Problem)]
    classes += [_class(each) for each in _OF_POLICIES]
    elsewhere = (
        "`Settings` is described in [Settings](settings.md), `errors` and `RecollectError` in [Errors](errors.md), "
        "`EventKind`, `EndReason`, `Order` and `Archived` in [Reasons](reasons.md). "
        "A `Caller` is made by `new_caller`; what its roles and scopes open is told in [Access](access.md)."
    )
    return _page(
        "Python",
        "Everything here is imported from `recollect`.",
        elsewhere,
        "## Opening and restoring",
        *functions,
        "## Memories",
        str(inspect.getdoc(recollect.Memories)),
        "`MemoriesSync` has the same methods, without `await`. It is generated from `Memories`.",
        *(_function(method, 3) for method in public_methods()),
        "## What is given and returned",
        *classes,
    )


_INNER = ("Row", "Entry", "Outcome")
"""Types that callers get wrapped in something else."""
_OF_POLICIES = (
    policies.PolicyInForce,
    policies.PolicyVersion,
    policies.Simulation,
    policies.Change,
    policy.Report,
    policy.Check,
    policy.Explanation,
    policy.Clause,
    policy.Decision,
    policy.Narrowed,
    audit.AuditPage,
    audit.AuditEntry,
    views.IndexStatus,
    views.Extraction,
    views.Rebuilding,
    tuning.Tuned,
)
_TOLD = ("Item", "Written", "Found", "PutOp", "DeleteOp", "Events", "MemoryEvent", "ErasureReceipt")


def public_methods() -> list[object]:
    """The methods of `Memories` that callers use, in the order of their definition."""
    return [
        method
        for cls in (
            recollect.Memories,
            Hands,
            Conversing,
            Importing,
            Sessions,
            Todos,
            Seeds,
            Personas,
            Entities,
            Curating,
            ConversationContexts,
            Capturing,
            Recording,
            Reviewing,
            Consenting,
            Watching,
            Governing,
            Profiles,
            Recalling,
            Contexts,
            Tracing,
            Explaining,
            Comparing,
            Measuring,
            Administration,
        )
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
    ]


def _function(function: object, level: int) -> str:
    node = _parsed(function)
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    heading = f"{'#' * (level + (level == 2))} {node.name}"
    return f"{heading}\n\n```text\n{_signature(node)}\n```\n\n{_prose(ast.get_docstring(node) or '')}"


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    positional = [argument for argument in node.args.args if argument.arg != "self"]
    defaults = [None] * (len(positional) - len(node.args.defaults)) + list(node.args.defaults)
    parts = [_argument(argument, default) for argument, default in zip(positional, defaults, strict=True)]
    if node.args.kwonlyargs:
        parts.append("*")
        parts += [_argument(*pair) for pair in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    end = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{prefix}{node.name}({', '.join(parts)}){end}"
    if len(line) <= 100:
        return line
    return f"{prefix}{node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    annotated = f"{argument.arg}: {ast.unparse(argument.annotation)}" if argument.annotation else argument.arg
    return annotated if default is None else f"{annotated} = {ast.unparse(default)}"


def _class(cls: type) -> str:
    node = _parsed(cls)
    assert isinstance(node, ast.ClassDef)
    rows: list[tuple[str, str, str]] = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            default = f"default `{ast.unparse(each.value)}`" if each.value else ""
            rows.append((f"`{each.target.id}`", f"`{ast.unparse(each.annotation)}`", default))
        elif isinstance(each, ast.FunctionDef) and each.name[0] != "_" and _is_property(each) and each.returns:
            rows.append((f"`{each.name}`", f"`{ast.unparse(each.returns)}`", ast.get_docstring(each) or ""))
    rows = [row for row in rows if row[1].strip("`") not in _INNER]
    return (
        f"### {cls.__name__}\n\n{_prose(ast.get_docstring(node) or '')}\n\n{_table(('field', 'type', 'meaning'), rows)}"
    )


def _is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) in ("property", "cached_property") for decorator in node.decorator_list)


def _parsed(thing: object) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]  # type: ignore[arg-type] # has source


def _prose(docstring: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in docstring.split("\n\n"))


def _docstrings_below(cls: type) -> dict[str, str]:
    """The text that stands below each member of an enumeration."""
    node = _parsed(cls)
    assert isinstance(node, ast.ClassDef)
    said: dict[str, str] = {}
    for member, below in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(member, ast.Assign)
            and isinstance(member.targets[0], ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            said[member.targets[0].id] = str(below.value.value)
    return said


def constants() -> Iterator[tuple[ModuleType, str]]:
    """Every constant named like a limit, wherever callers can run into it."""
    for path in sorted((ROOT / "src/recollect").glob("*/*.py")):
        if path.parent.name in ("domain", "service"):
            module = importlib.import_module(f"recollect.{path.parent.name}.{path.stem}")
            for node in ast.parse(path.read_text()).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                if isinstance(target, ast.Name) and target.id.startswith("MAX_"):
                    yield module, target.id


def write(folder: Path = TARGET) -> list[Path]:
    """Write every page, and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in pages().items():
        (folder / name).write_text(text)
        written.append(folder / name)
    return written


if __name__ == "__main__":
    for path in write():
        print(f"wrote {path.relative_to(ROOT)}")
